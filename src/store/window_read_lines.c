// SPDX-License-Identifier: Apache-2.0
/* Source lines; window_write_lines.c has their layout. */
#include "base/vec.h"
#include "store/window_reader.h"
#include "store/window_text.h"

#include <errno.h>

#define MAX_ROWS (1u << 20) /* of a chunk */

/* A chunk while it is read. All its rows are decoded before any is handed out. */
struct getting {
	struct cam_block_in numbers_block, paths_block;
	struct cam_rd numbers, paths;
	struct cam_text *texts; /* the paths met so far */
	size_t n_texts, cap_texts;
	struct cam_line *rows;
	size_t n, cap;
};

static int get_path(struct getting *g, uint64_t code, struct cam_text *out)
{
	if (code > g->n_texts)
		return -EBADMSG;
	if (code) {
		*out = g->texts[g->n_texts - code];
		return 0;
	}
	int err = cam_line_get(&g->paths, out);
	if (!err)
		err = cam_vec_reserve(&g->texts, &g->cap_texts, g->n_texts + 1, sizeof(*g->texts),
				      CAM_WINDOW_ROWS_MAX);
	if (!err)
		g->texts[g->n_texts++] = *out;
	return err;
}

static int get_rows(struct getting *g, uint64_t n, uint32_t n_functions)
{
	struct cam_line row = {0};
	uint64_t func = 0, offset = 0, line = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t step = cam_rd_varint(&g->numbers), gap = cam_rd_varint(&g->numbers);
		func += step;
		if (gap > UINT64_MAX - 1 - offset && i && !step)
			return -EBADMSG;
		offset = i && !step ? offset + 1 + gap : gap;
		int err = get_path(g, cam_rd_varint(&g->numbers), &row.file);
		line += (uint64_t)cam_rd_zigzag(&g->numbers);
		if (err || g->numbers.error || step > n_functions || func >= n_functions || !line ||
		    line > UINT32_MAX)
			return err ? err : -EBADMSG;
		row.func.v = (uint32_t)func;
		row.leaf_offset = offset;
		row.line = (uint32_t)line;
		err = cam_vec_reserve(&g->rows, &g->cap, g->n + 1, sizeof(*g->rows),
				      CAM_WINDOW_ROWS_MAX);
		if (err)
			return err;
		g->rows[g->n++] = row;
	}
	return cam_rd_left(&g->numbers) || cam_rd_left(&g->paths) ? -EBADMSG : 0;
}

static int decode(struct getting *g, const struct cam_chunk_in *chunk, uint32_t n_functions)
{
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	int err = cam_block_read(&g->numbers_block, &rd, CAM_TEXT_RAW_MAX);
	if (!err)
		err = cam_block_read(&g->paths_block, &rd, CAM_TEXT_RAW_MAX);
	if (err || cam_rd_left(&rd))
		return err ? err : -EBADMSG;
	g->numbers = cam_block_rd(&g->numbers_block);
	g->paths = cam_block_rd(&g->paths_block);
	uint64_t n = cam_rd_varint(&g->numbers);
	/* Before memory is taken for it. */
	if (n > MAX_ROWS || n > cam_rd_left(&g->numbers) / 4)
		return -EBADMSG;
	return get_rows(g, n, n_functions);
}

int cam_read_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_LINES];
	struct cam_chunk_in chunk = {0};
	int err = 0;
	for (size_t i = 0; i < s->n && !err; i++) {
		struct getting g = {0};
		err = cam_reader_chunk(r, CAM_CHUNK_LINES, i, &chunk);
		if (!err)
			err = decode(&g, &chunk, r->dir.n_functions);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_LINES, i);
			g.n = 0;
			err = 0;
		}
		for (size_t k = 0; k < g.n && !err; k++)
			err = fn(arg, &g.rows[k]);
		cam_block_free(&g.numbers_block);
		cam_block_free(&g.paths_block);
		free(g.texts);
		free(g.rows);
	}
	free(chunk.data);
	return err;
}
