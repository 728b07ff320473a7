// SPDX-License-Identifier: Apache-2.0
/*
 * Texts of a span's samples, in pieces that each cover some of them. A piece, varint: number of
 * texts; a stream of one value a sample (0: none, 1: the next text, 1 + distance back from it), and
 * a block of lines, the texts.
 */
#include "store/window_reader.h"
#include "store/window_text.h"

#include <errno.h>

/* The texts met so far wait in s->order, which no other column needs now. */
static int read_rows(struct cam_reader *r, struct cam_stream_in *which, struct cam_rd *lines,
		     uint64_t texts, uint32_t *out, uint32_t n)
{
	uint32_t *met = r->span->order;
	uint64_t next = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = cam_stream_get(which, 0);
		struct cam_str_id id = {0};
		struct cam_text text;
		if (v == 1) {
			int err = next < texts ? cam_line_get(lines, &text) : -EBADMSG;
			if (!err)
				err = cam_reader_intern(r, text, &id);
			if (err)
				return err;
			met[next++] = id.v;
		} else if (v > 1) {
			if (v - 1 > next)
				return -EBADMSG;
			id.v = met[next - (v - 1)];
		}
		out[i] = id.v;
	}
	return next == texts && cam_rd_left(lines) == 0 ? 0 : -EBADMSG;
}

static int read_piece(struct cam_reader *r, uint32_t from, uint32_t n)
{
	struct cam_span_in *s = r->span;
	struct cam_rd rd = cam_rd_make(s->chunk.data, s->chunk.n);
	struct cam_stream_in which;
	struct cam_block_in block = {0};
	uint64_t texts = cam_rd_varint(&rd);
	if (cam_rd_error(&rd) || texts > n)
		return -EBADMSG;
	int err = cam_stream_open(&which, &rd, 1, CAM_DETAIL_SPLIT);
	if (!err)
		err = cam_block_read(&block, &rd, CAM_TEXT_RAW_MAX);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	if (!err) {
		struct cam_rd lines = cam_block_rd(&block);
		err = read_rows(r, &which, &lines, texts, s->detail + from, n);
	}
	if (!err && !cam_stream_done(&which))
		err = -EBADMSG;
	cam_stream_in_free(&which);
	cam_block_free(&block);
	return err;
}

int cam_span_detail(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	const struct cam_dir_chunk *chunks = r->dir.sections[CAM_CHUNK_DETAIL].chunks;
	uint32_t at = 0, damaged = 0;
	int err = 0;
	for (uint32_t i = 0; i < s->span->details && !err; i++) {
		size_t piece = s->span->first_detail + i;
		uint32_t n = chunks[piece].rows;
		if (n > s->span->samples - at)
			return cam_reader_mark_bad(r, CAM_CHUNK_DETAIL, piece);
		err = cam_reader_chunk(r, CAM_CHUNK_DETAIL, piece, &s->chunk);
		if (!err)
			err = read_piece(r, at, n);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_DETAIL, piece);
			err = cam_reader_damaged_string(r, &damaged);
			for (uint32_t k = 0; k < n; k++)
				s->detail[at + k] = damaged;
		}
		at += n;
	}
	for (; at < s->span->samples; at++)
		s->detail[at] = 0;
	return err;
}
