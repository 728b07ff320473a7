// SPDX-License-Identifier: Apache-2.0
/*
 * Source lines of leaf offsets: which line of which file a sample's code is of.
 *
 * Only offsets that samples have (with addresses: those of callers, too), and only where one line is known: an inlined function has the offset of the function
 * it is inlined in, so two of these may contradict each other, and then neither is kept. A chunk is whole in itself.
 *
 * A chunk: block of varints: rows; per row function − that of the row before; offset − the one before + 1 (in another
 * function: the offset); 0 for a path that is the next line, else how many before the last one it is, + 1; zigzag line −
 * that of the row before. Then a block of lines: the paths. Rows ascend by function and offset.
 *
 * Example: (main 5, a.c:10) (main 9, b.h:3) (main 12, a.c:11), main is function 4:
 *	3   4 5 0 20   0 4 0 13   0 3 2 16      "a.c\nb.h\n"
 */
#include "base/vec.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATHS_BACK 4096u
#define RECENT_PATHS   64u

struct cam_line_row {
	uint32_t func; /* of the file */
	uint32_t line;
	uint64_t offset;
	struct cam_text file;
};

struct gathering {
	struct cam_writer *w;
	uint32_t *number; /* function of the tables → of the file; CAM_NONE: has no samples */
	struct cam_line_row *rows;
	size_t n, cap;
	struct cam_text *paths; /* that rows point to: a reader's are gone when it has told them */
	size_t n_paths, cap_paths;
};

/* Rows come by file, more or less: it is one of the last few, or new. */
static int keep_path(struct gathering *g, struct cam_text file, struct cam_text *out)
{
	size_t oldest = g->n_paths > RECENT_PATHS ? g->n_paths - RECENT_PATHS : 0;
	for (size_t i = g->n_paths; i-- > oldest;) {
		*out = g->paths[i];
		if (cam_text_equal(*out, file))
			return 0;
	}
	int err = cam_vec_reserve(&g->paths, &g->cap_paths, g->n_paths + 1, sizeof(*g->paths),
				  CAM_WINDOW_ROWS_MAX);
	char *copy = err ? NULL : malloc(file.n);
	if (!copy)
		return err ? err : -ENOMEM;
	memcpy(copy, file.p, file.n);
	*out = g->paths[g->n_paths++] = (struct cam_text){copy, file.n};
	return 0;
}

static void free_gathering(struct gathering *g)
{
	for (size_t i = 0; i < g->n_paths; i++)
		free((char *)(uintptr_t)g->paths[i].p);
	free(g->paths);
	free(g->rows);
}

static int by_place(const void *x, const void *y)
{
	const struct cam_line_row *a = x, *b = y;
	if (a->func != b->func)
		return a->func < b->func ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int gather(void *arg, const struct cam_line *l)
{
	struct gathering *g = arg;
	if (l->func.v >= g->w->t->n_functions || g->number[l->func.v] == CAM_NONE || !l->line ||
	    !l->file.n)
		return 0;
	struct cam_text file;
	int err =
		cam_vec_reserve(&g->rows, &g->cap, g->n + 1, sizeof(*g->rows), CAM_WINDOW_ROWS_MAX);
	if (!err)
		err = keep_path(g, l->file, &file);
	if (!err)
		g->rows[g->n++] =
			(struct cam_line_row){g->number[l->func.v], l->line, l->leaf_offset, file};
	return err;
}

static bool same_line(const struct cam_line_row *a, const struct cam_line_row *b)
{
	return a->line == b->line && cam_text_equal(a->file, b->file);
}

/* One row an offset, or none where they contradict each other. */
static void settle(struct gathering *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->n;) {
		size_t end = i + 1;
		bool one = true;
		for (; end < g->n && !by_place(&g->rows[i], &g->rows[end]); end++)
			one &= same_line(&g->rows[i], &g->rows[end]);
		if (one)
			g->rows[kept++] = g->rows[i];
		i = end;
	}
	g->n = kept;
}

/* Leaves what samples have: both lists are sorted alike. */
static int intersect(struct gathering *g)
{
	const struct cam_writer *w = g->w;
	struct cam_line_row *used = calloc(w->n_leaves + 1, sizeof(*used));
	size_t kept = 0, n = 0;
	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_leaves; i++) {
		if (w->leaves[i].offset) /* + 1; 0: not known */
			used[n++] = (struct cam_line_row){.func = w->func_id[w->leaves[i].func],
							  .offset = w->leaves[i].offset - 1};
	}
	qsort(used, n, sizeof(*used), by_place);
	for (size_t i = 0, k = 0; i < g->n; i++) {
		while (k < n && by_place(&used[k], &g->rows[i]) < 0)
			k++;
		if (k < n && !by_place(&used[k], &g->rows[i]))
			g->rows[kept++] = g->rows[i];
	}
	g->n = kept;
	free(used);
	return 0;
}

/* How many before the last path it is, + 1; 0: it is new. */
static uint64_t path_code(const struct cam_line_row *rows, const size_t *news, size_t n_news,
			  struct cam_text file)
{
	for (size_t back = 0; back < n_news && back < MAX_PATHS_BACK; back++) {
		if (cam_text_equal(rows[news[n_news - 1 - back]].file, file))
			return back + 1;
	}
	return 0;
}

static int put_lines(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	const struct cam_line_row *rows = w->lines, before_all = {0}, *before = &before_all;
	struct cam_buf numbers = CAM_BUF(CAM_TEXT_RAW_MAX), paths = CAM_BUF(CAM_TEXT_RAW_MAX);
	size_t *news = calloc(to - from + 1, sizeof(*news)), n_news = 0; /* rows with a new path */
	if (!news)
		return -ENOMEM;
	cam_buf_put_varint(&numbers, to - from);
	for (uint32_t i = from; i < to; before = &rows[i++]) {
		bool same = i > from && rows[i].func == before->func;
		uint64_t code = path_code(rows, news, n_news, rows[i].file);
		cam_buf_put_varint(&numbers, rows[i].func - before->func);
		cam_buf_put_varint(&numbers,
				   same ? rows[i].offset - before->offset - 1 : rows[i].offset);
		cam_buf_put_varint(&numbers, code);
		cam_buf_put_zigzag(&numbers, (int64_t)rows[i].line - before->line);
		if (!code) {
			news[n_news++] = i;
			cam_line_put(&paths, rows[i].file);
		}
	}
	int err = numbers.error ? numbers.error : paths.error;
	if (!err)
		err = cam_block_write(out, numbers.data, numbers.len, 9);
	if (!err)
		err = cam_block_write(out, paths.data, paths.len, 9);
	free(news);
	cam_buf_free(&numbers);
	cam_buf_free(&paths);
	return err;
}

int cam_write_lines(struct cam_writer *w)
{
	struct gathering g = {.w = w};
	if (!w->in->ops->lines || !w->rows.leaf || !w->n_leaves)
		return 0;
	g.number = malloc((w->t->n_functions + 1) * sizeof(*g.number));
	if (!g.number)
		return -ENOMEM;
	for (size_t i = 0; i < w->t->n_functions; i++)
		g.number[i] = CAM_NONE;
	for (uint32_t i = 0; i < w->dir.n_functions; i++)
		g.number[w->functions[i]] = i;
	int err = w->in->ops->lines(w->in, gather, &g);
	if (!err && g.n) {
		qsort(g.rows, g.n, sizeof(*g.rows), by_place);
		settle(&g);
		err = w->rows.place ? 0 : intersect(&g);
	}
	w->lines = g.rows;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_LINES, (uint32_t)g.n, put_lines);
	w->lines = NULL;
	free_gathering(&g);
	free(g.number);
	return err;
}
