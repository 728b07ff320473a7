// SPDX-License-Identifier: Apache-2.0
#include "store/window_text.h"

#include "store/format.h"
#include "store/known.h"
#include "store/stream.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* By itself zstd takes megabytes of tables for so long a prefix, and a sealer lives for one window: to clear them was half of what
 * it did. Measured in a new process, with 7 to 64 KB of names: a third to a half of the CPU, 0.7 % more bytes of names. */
#define NAMES_HASH_LOG 17

void cam_line_put(struct cam_buf *lines, struct cam_text s)
{
	while (s.n) {
		size_t plain = 0;
		while (plain < s.n && s.p[plain] != '\n' && s.p[plain] != '\\')
			plain++;
		cam_buf_put(lines, s.p, plain);
		if (plain < s.n) {
			cam_buf_put(lines, s.p[plain] == '\n' ? "\\n" : "\\\\", 2);
			plain++;
		}
		s.p += plain;
		s.n -= plain;
	}
	cam_buf_put_u8(lines, '\n');
}

int cam_line_get(struct cam_rd *lines, struct cam_text *out)
{
	uint8_t *from = (uint8_t *)lines->p;
	uint8_t *end = cam_rd_left(lines) ? memchr(from, '\n', cam_rd_left(lines)) : NULL;
	if (!end)
		return -EBADMSG;
	lines->p = end + 1;
	uint8_t *to = memchr(from, '\\', (size_t)(end - from));
	out->p = (const char *)from;
	out->n = (size_t)((to ? to : end) - from);
	for (uint8_t *p = to; p && p < end; p++) {
		uint8_t c = *p;
		if (c == '\\') {
			/* The end of the line stops an escape that is cut off. */
			c = *++p;
			if (c != 'n' && c != '\\')
				return -EBADMSG;
			c = c == 'n' ? '\n' : '\\';
		}
		*to++ = c;
		out->n++;
	}
	return 0;
}

/* Appends what `coded` bytes of room hold, or raw as it is where that is no worse. */
static int put_block(struct cam_buf *out, enum cam_coder coder, const void *room, size_t coded,
		     const void *raw, size_t n)
{
	if (ZSTD_isError(coded) || coded >= n || n / CAM_TEXT_PER_BYTE > coded) {
		cam_buf_put_u8(out, CAM_CODER_STORED);
		cam_buf_put_varint(out, n);
		cam_buf_put(out, raw, n);
	} else {
		cam_buf_put_u8(out, (uint8_t)coder);
		cam_buf_put_varint(out, n);
		cam_buf_put_varint(out, coded);
		cam_buf_put(out, room, coded);
	}
	return cam_buf_error(out);
}

int cam_block_write(struct cam_buf *out, const void *raw, size_t n, int level)
{
	size_t bound = ZSTD_compressBound(n);
	uint8_t *room = malloc(bound);
	if (!room)
		return -ENOMEM;
	size_t coded = ZSTD_compress(room, bound, raw, n, level);
	int err = put_block(out, CAM_CODER_ZSTD, room, coded, raw, n);
	free(room);
	return err;
}

int cam_block_write_names(struct cam_buf *out, const void *raw, size_t n, int level)
{
	size_t bound = ZSTD_compressBound(n);
	uint8_t *room = malloc(bound);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	int err = -ENOMEM;
	if (room && c) {
		size_t coded = ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
		if (!ZSTD_isError(coded))
			coded = ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, NAMES_HASH_LOG);
		if (!ZSTD_isError(coded))
			coded = ZSTD_CCtx_refPrefix(c, cam_known_text, CAM_KNOWN_BYTES);
		if (!ZSTD_isError(coded))
			coded = ZSTD_compress2(c, room, bound, raw, n);
		err = put_block(out, CAM_CODER_ZSTD_KNOWN, room, coded, raw, n);
	}
	ZSTD_freeCCtx(c);
	free(room);
	return err;
}

static bool is_text_coder(uint8_t coder)
{
	return coder == CAM_CODER_STORED || coder == CAM_CODER_ZSTD ||
	       coder == CAM_CODER_ZSTD_KNOWN;
}

static bool unpack(const struct cam_block_in *b, uint8_t coder, const uint8_t *bytes, size_t coded)
{
	if (coder == CAM_CODER_ZSTD)
		return ZSTD_decompress(b->bytes, b->n, bytes, coded) == b->n;
	ZSTD_DCtx *d = ZSTD_createDCtx();
	bool good = d && !ZSTD_isError(ZSTD_DCtx_refPrefix(d, cam_known_text, CAM_KNOWN_BYTES)) &&
		    ZSTD_decompressDCtx(d, b->bytes, b->n, bytes, coded) == b->n;
	ZSTD_freeDCtx(d);
	return good;
}

int cam_block_read(struct cam_block_in *b, struct cam_rd *r, size_t max)
{
	uint8_t coder = cam_rd_u8(r);
	uint64_t n = cam_rd_varint(r);
	uint64_t coded = coder != CAM_CODER_STORED ? cam_rd_varint(r) : n;
	const uint8_t *bytes = coded <= cam_rd_left(r) ? cam_rd_bytes(r, (size_t)coded) : NULL;
	*b = (struct cam_block_in){0};
	if (cam_rd_error(r) || !bytes || n > max || !is_text_coder(coder) ||
	    n / CAM_TEXT_PER_BYTE > coded)
		return -EBADMSG;
	/* A frame that says another size is wrong before anything is allocated for it. */
	if (coder != CAM_CODER_STORED && ZSTD_getFrameContentSize(bytes, (size_t)coded) != n)
		return -EBADMSG;
	b->bytes = malloc((size_t)n + CAM_STREAM_SLACK);
	if (!b->bytes)
		return -ENOMEM;
	b->n = (size_t)n;
	memset(b->bytes + n, 0, CAM_STREAM_SLACK);
	if (coder == CAM_CODER_STORED)
		memcpy(b->bytes, bytes, b->n);
	else if (!unpack(b, coder, bytes, (size_t)coded))
		return -EBADMSG;
	return 0;
}

void cam_block_free(struct cam_block_in *b)
{
	free(b->bytes);
	*b = (struct cam_block_in){0};
}
