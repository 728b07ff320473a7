// SPDX-License-Identifier: Apache-2.0
/*
 * The heaviest functions of a flame tree.
 *
 * A recursive function stands in its own subtree; adding up its nodes' totals would count the same
 * samples once a level. So the walk keeps, per frame, how many of the open nodes are of it, and
 * only the outermost adds to the total. Nodes are in depth-first order, so "open" means "its end
 * lies ahead", and the open ones are the path from the root.
 *
 * Example: main(self 1) → fib(2) → fib(3): fib has self 5 and total 5, not 8.
 */
#include "query/top.h"

#include <errno.h>
#include <stdlib.h>

#define UNSET_MODULE (UINT32_MAX - 1)
#define FEW_ROWS     64u /* as many are found by inserting: sorting all takes longer */

/* open: per frame, how many of the nodes on the path are of it; path: room for the deepest. */
static void walk(const struct cam_flame *f, struct cam_top_row *rows, uint32_t *open,
		 uint32_t *path)
{
	size_t depth = 0;
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct cam_flame_node *n = &f->nodes[i];
		while (depth > n->depth)
			open[f->nodes[path[--depth]].frame]--;
		struct cam_top_row *row = &rows[n->frame];
		row->self += n->self;
		if (!open[n->frame]++)
			row->total += n->total;
		row->module = row->module == UNSET_MODULE || row->module == n->module
				      ? n->module
				      : CAM_MODULE_SEVERAL;
		path[depth++] = (uint32_t)i;
	}
}

static int heavier(const void *x, const void *y, void *arg)
{
	const struct cam_flame *f = arg;
	const struct cam_top_row *a = x, *b = y;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	const struct cam_flame_frame *s = &f->frames[a->frame], *t = &f->frames[b->frame];
	size_t n = s->name_n < t->name_n ? s->name_n : t->name_n;
	int order = n ? memcmp(f->text + s->name_at, f->text + t->name_at, n) : 0;
	if (!order)
		order = s->name_n < t->name_n ? -1 : s->name_n > t->name_n;
	return order ? order : (int)s->kind - (int)t->kind;
}

/* The `limit` heaviest first, in order; the others behind them, in any. */
static void sort_heaviest(const struct cam_flame *f, struct cam_top_row *rows, size_t n,
			  size_t limit)
{
	void *arg = (void *)(uintptr_t)f;
	if (limit > FEW_ROWS) {
		qsort_r(rows, n, sizeof(*rows), heavier, arg);
		return;
	}
	size_t kept = 0;
	for (size_t i = 0; i < n && limit; i++) {
		struct cam_top_row row = rows[i];
		if (kept == limit && heavier(&rows[kept - 1], &row, arg) < 0)
			continue;
		size_t at = kept < limit ? kept++ : kept - 1;
		rows[i] = rows[at];
		for (; at && heavier(&row, &rows[at - 1], arg) < 0; at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
}

int cam_top_build(const struct cam_flame *flame, size_t limit, struct cam_top *out)
{
	*out = (struct cam_top){.flame = flame};
	struct cam_top_row *rows = calloc(flame->n_frames, sizeof(*rows));
	uint32_t *open = calloc(flame->n_frames, sizeof(*open));
	uint32_t *path = calloc(flame->depth + 1ul, sizeof(*path));
	bool good = rows && open && path;
	for (size_t i = 0; good && i < flame->n_frames; i++)
		rows[i] = (struct cam_top_row){.frame = (uint32_t)i, .module = UNSET_MODULE};
	if (good)
		walk(flame, rows, open, path);
	free(open);
	free(path);
	if (!good) {
		free(rows);
		return -ENOMEM;
	}
	/* Processes and the root are no functions; neither is what only the baseline saw. */
	size_t n = 0;
	for (size_t i = 0; i < flame->n_frames; i++) {
		if (flame->frames[i].kind > CAM_FRAME_PROCESS && rows[i].total)
			rows[n++] = rows[i];
	}
	if (n)
		sort_heaviest(flame, rows, n, limit);
	out->rows = rows;
	out->n_functions = n;
	out->n_rows = n < limit ? n : limit;
	for (size_t i = 0; i < out->n_rows; i++) {
		if (rows[i].self)
			out->notes |= flame->frames[rows[i].frame].notes;
	}
	return 0;
}

void cam_top_free(struct cam_top *t)
{
	free(t->rows);
	*t = (struct cam_top){0};
}
