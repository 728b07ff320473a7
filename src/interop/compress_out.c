// SPDX-License-Identifier: Apache-2.0
#include "interop/compress_out.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define CHUNK_BYTES (64u << 10)
#define ZSTD_LEVEL  3

struct cam_compress_out {
	struct cam_out stream;
	struct cam_out *to;
	enum cam_compress kind;
	z_stream z;
	bool z_open;
	ZSTD_CStream *zstd;
	unsigned char chunk[CHUNK_BYTES];
};

enum cam_compress cam_compress_of_name(struct cam_text name)
{
	if (cam_text_ends(name, CAM_TEXT(".gz")))
		return CAM_COMPRESS_GZIP;
	return cam_text_ends(name, CAM_TEXT(".zst")) ? CAM_COMPRESS_ZSTD : CAM_COMPRESS_NONE;
}

/* Compresses all n bytes; with `last` also ends the stream. */
static int gzip(struct cam_compress_out *c, const void *bytes, size_t n, bool last)
{
	const unsigned char *p = bytes;
	int got = Z_OK;
	do {
		uInt part = n < INT_MAX ? (uInt)n : INT_MAX;
		c->z.next_in = (unsigned char *)p;
		c->z.avail_in = part;
		p += part;
		n -= part;
		do {
			c->z.next_out = c->chunk;
			c->z.avail_out = CHUNK_BYTES;
			got = deflate(&c->z, last && !n ? Z_FINISH : Z_NO_FLUSH);
			if (got == Z_STREAM_ERROR)
				return -EIO;
			cam_out_bytes(c->to, c->chunk, CHUNK_BYTES - c->z.avail_out);
		} while (c->z.avail_out == 0);
	} while (n);
	return c->to->error;
}

static int zstd(struct cam_compress_out *c, const void *bytes, size_t n, bool last)
{
	ZSTD_inBuffer from = {bytes, n, 0};
	for (;;) {
		ZSTD_outBuffer to = {c->chunk, CHUNK_BYTES, 0};
		size_t left = ZSTD_compressStream2(c->zstd, &to, &from,
						   last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -ENOMEM;
		cam_out_bytes(c->to, c->chunk, to.pos);
		if (last ? left == 0 : from.pos == from.size)
			return c->to->error;
	}
}

static int compress_bytes(struct cam_compress_out *c, const void *bytes, size_t n, bool last)
{
	switch (c->kind) {
	case CAM_COMPRESS_GZIP:
		return gzip(c, bytes, n, last);
	case CAM_COMPRESS_ZSTD:
		return zstd(c, bytes, n, last);
	case CAM_COMPRESS_NONE:
		break;
	}
	cam_out_bytes(c->to, bytes, n);
	return c->to->error;
}

static int write_stream(struct cam_out *out, const void *bytes, size_t n)
{
	return compress_bytes(out->self, bytes, n, false);
}

static int open_coder(struct cam_compress_out *c)
{
	if (c->kind == CAM_COMPRESS_GZIP) {
		c->z_open = deflateInit2(&c->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS,
					 8, Z_DEFAULT_STRATEGY) == Z_OK;
		return c->z_open ? 0 : -ENOMEM;
	}
	if (c->kind == CAM_COMPRESS_ZSTD) {
		c->zstd = ZSTD_createCStream();
		if (!c->zstd)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
	}
	return 0;
}

int cam_compress_out_new(struct cam_compress_out **out, enum cam_compress kind, struct cam_out *to)
{
	struct cam_compress_out *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->kind = kind;
	c->to = to;
	cam_out_init(&c->stream, write_stream, c);
	int err = open_coder(c);
	if (err) {
		cam_compress_out_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void cam_compress_out_free(struct cam_compress_out *c)
{
	if (!c)
		return;
	if (c->z_open)
		deflateEnd(&c->z);
	ZSTD_freeCStream(c->zstd);
	free(c);
}

struct cam_out *cam_compress_out_stream(struct cam_compress_out *c)
{
	return &c->stream;
}

int cam_compress_out_finish(struct cam_compress_out *c)
{
	int err = cam_out_finish(&c->stream);
	if (!err)
		err = compress_bytes(c, "", 0, true);
	int finished = cam_out_finish(c->to);
	return err ? err : finished;
}
