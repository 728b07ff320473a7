// SPDX-License-Identifier: Apache-2.0
#include "symbol/xz.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define DECODER_BYTES (72u << 20) /* level 9 takes 65 MiB */

static int error_of(lzma_ret state)
{
	switch (state) {
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	default:
		return -EBADMSG;
	}
}

/* Room for as much again; -E2BIG past the bound. */
static int grow(lzma_stream *z, uint8_t **out, size_t *cap, size_t max_bytes)
{
	size_t more = *cap ? *cap * 2 : 64u << 10;
	if (*cap >= max_bytes)
		return -E2BIG;
	more = more < max_bytes ? more : max_bytes;
	uint8_t *p = realloc(*out, more);
	if (!p)
		return -ENOMEM;
	*out = p;
	z->next_out = p + z->total_out;
	z->avail_out = more - (size_t)z->total_out;
	*cap = more;
	return 0;
}

int cam_xz_inflate(const struct cam_bytes *b, uint64_t at, uint64_t n, size_t max_bytes,
		   uint8_t **out, size_t *out_bytes)
{
	lzma_stream z = LZMA_STREAM_INIT;
	uint8_t block[16384];
	size_t cap = 0;
	lzma_ret state = lzma_stream_decoder(&z, DECODER_BYTES, 0);
	int error = state == LZMA_OK ? 0 : -ENOMEM;
	*out = NULL;
	while (!error && state == LZMA_OK) {
		if (!z.avail_in && n) {
			size_t piece = n < sizeof(block) ? (size_t)n : sizeof(block);
			error = cam_bytes_read(b, at, block, piece);
			z.next_in = block;
			z.avail_in = piece;
			at += piece;
			n -= piece;
		}
		if (!error && !z.avail_out)
			error = grow(&z, out, &cap, max_bytes);
		if (!error)
			state = lzma_code(&z, n || z.avail_in ? LZMA_RUN : LZMA_FINISH);
	}
	*out_bytes = (size_t)z.total_out;
	lzma_end(&z);
	if (!error)
		error = error_of(state);
	if (error) {
		free(*out);
		*out = NULL;
	}
	return error;
}
