// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of bytes inside a chunk, compressed where it pays, and lists of strings in them.
 *
 * A block: coder byte (CAM_CODER_STORED, CAM_CODER_ZSTD or CAM_CODER_ZSTD_KNOWN), varint raw bytes, for zstd varint
 * compressed bytes, then the bytes. A list of strings is a block of lines: '\n' ends each string;
 * inside one, "\\n" stands for '\n' and "\\\\" for '\\', so any bytes can be kept.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"

void cam_line_put(struct cam_buf *lines, struct cam_text s);

/* Appends raw as a block. 0, -ENOMEM. */
int cam_block_write(struct cam_buf *out, const void *raw, size_t n, int level);
/* The same for text that is like the names of store/known.h: what it has in common with them takes little. */
int cam_block_write_names(struct cam_buf *out, const void *raw, size_t n, int level);

struct cam_block_in {
	uint8_t *bytes; /* owned; CAM_STREAM_SLACK zeros behind */
	size_t n;
};
/* Reads a block of at most max bytes. 0, -EBADMSG, -ENOMEM. Free it in any case. */
int cam_block_read(struct cam_block_in *b, struct cam_rd *r, size_t max);
void cam_block_free(struct cam_block_in *b);
/* A reader of what was read; of nothing, where that failed. */
static inline struct cam_rd cam_block_rd(const struct cam_block_in *b)
{
	return cam_rd_make(b->bytes ? (const void *)b->bytes : "", b->n);
}

/*
 * The next line of a block, decoded in place (so each line is read once). -EBADMSG: no line is
 * left, or an unknown escape.
 */
int cam_line_get(struct cam_rd *lines, struct cam_text *out);
