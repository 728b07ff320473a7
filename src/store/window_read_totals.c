// SPDX-License-Identifier: Apache-2.0
/* Totals: how often each stack was sampled. No sample column is read for them. */
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

struct row {
	uint32_t stack, group;
	uint64_t samples;
};

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* Every pair of the window, as many rows. */
static struct row *pair_rows(const struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	struct row *rows = malloc(((size_t)d->n_pairs + 1) * sizeof(*rows));
	for (size_t c = 0; rows && c < d->n_classes; c++) {
		const struct cam_dir_class *class = &d->classes[c];
		for (uint32_t rank = class->first_rank; rank < class->first_rank + class->pairs;
		     rank++)
			rows[rank] = (struct row){r->rank_node[rank], class->group, class->count};
	}
	return rows;
}

/* Sorts, sums up what is of one stack and group, and hands it out. */
static int give_rows(struct cam_reader *r, struct row *rows, size_t n, cam_total_fn *fn, void *arg)
{
	int err = 0;
	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n && !err;) {
		struct row sum = rows[i++];
		for (; i < n && !compare_rows(&sum, &rows[i]); i++)
			sum.samples += rows[i].samples;
		const struct cam_dir_group *g = &r->dir.groups[sum.group];
		struct cam_total total = {.stack = {sum.stack},
					  .comm = {r->strings[g->comm]},
					  .etype = {g->etype},
					  .samples = sum.samples};
		err = fn(arg, &total);
	}
	return err;
}

int cam_read_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, CAM_PART_TREE);
	struct row *rows = err ? NULL : pair_rows(r);
	if (!err)
		err = rows ? give_rows(r, rows, r->dir.n_pairs, fn, arg) : -ENOMEM;
	free(rows);
	return err;
}

/* The [small] child of a node, made when it is first needed. */
static int small_child(struct cam_reader *r, uint32_t node, uint32_t *out)
{
	struct cam_tree *tree = &r->t.stacks;
	int err = 0;
	if (r->small_of[node] == CAM_NONE) {
		err = cam_vec_reserve(&tree->parent, &tree->parent_cap, tree->n + 1,
				      sizeof(uint32_t), SIZE_MAX);
		if (!err)
			err = cam_vec_reserve(&tree->item, &tree->item_cap, tree->n + 1,
					      sizeof(uint32_t), SIZE_MAX);
		if (err)
			return err;
		tree->parent[tree->n] = node;
		tree->item[tree->n] = r->small_func;
		r->small_of[node] = (uint32_t)tree->n++;
	}
	*out = r->small_of[node];
	return 0;
}

static int prepare_small(struct cam_reader *r)
{
	if (r->small_of)
		return 0;
	int err = cam_reader_add_mark(r, CAM_TEXT("[small]"), &r->small_func);
	r->n_small_of = r->t.stacks.n;
	r->small_of = malloc(r->n_small_of * sizeof(uint32_t));
	if (!err && !r->small_of)
		err = -ENOMEM;
	if (!err)
		memset(r->small_of, 0xff, r->n_small_of * sizeof(uint32_t));
	return err;
}

/*
 * Nodes below 1/10,000 of the samples are cut off: cut[x] is the nearest node above x (or x) that
 * stays. Parents come before their children, so one pass up sums and one pass down decides.
 */
static int prune(struct cam_reader *r, struct row *rows, uint32_t *cut, uint64_t *below)
{
	const struct cam_tree *tree = &r->t.stacks;
	uint64_t all = r->dir.info.samples;
	for (uint32_t i = 0; i < r->dir.n_pairs; i++)
		below[rows[i].stack] += rows[i].samples;
	for (size_t x = r->n_small_of; x-- > 1;)
		below[tree->parent[x]] += below[x];
	for (uint32_t x = 1; x < r->n_small_of; x++) {
		uint32_t parent = tree->parent[x];
		bool stays = cut[parent] == parent && below[x] * 10000 >= all;
		cut[x] = stays ? x : cut[parent];
	}
	for (uint32_t i = 0; i < r->dir.n_pairs; i++) {
		uint32_t x = rows[i].stack;
		int err = cut[x] == x ? 0 : small_child(r, cut[x], &rows[i].stack);
		if (err)
			return err;
	}
	return 0;
}

int cam_read_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, CAM_PART_TREE);
	if (!err)
		err = prepare_small(r);
	if (err)
		return err;
	struct row *rows = pair_rows(r);
	uint32_t *cut = calloc(r->n_small_of, sizeof(*cut));
	uint64_t *below = calloc(r->n_small_of, sizeof(*below));
	err = rows && cut && below ? prune(r, rows, cut, below) : -ENOMEM;
	if (!err)
		err = give_rows(r, rows, r->dir.n_pairs, fn, arg);
	free(rows);
	free(cut);
	free(below);
	return err;
}
