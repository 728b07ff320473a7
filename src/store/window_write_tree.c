// SPDX-License-Identifier: Apache-2.0
/* Cuts the tree into chunks, and gives pairs their ranks. */
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

static uint32_t limit_rows(const struct cam_tree_shape *t, uint32_t from, uint32_t to)
{
	if (to - from > CAM_TREE_ROWS)
		to = from + CAM_TREE_ROWS;
	while (to - from > 1 && t->pair_start[to] - t->pair_start[from] > CAM_TREE_ROWS)
		to = from + (to - from) / 2;
	return to;
}

/* One chunk from node `from` on; *nodes is the guess how many fit, and is corrected. */
static int write_chunk(struct cam_writer *w, uint32_t from, uint32_t *nodes, uint32_t *to)
{
	struct cam_buf out = CAM_BUF(CAM_CHUNK_BYTES_MAX);
	uint32_t n_nodes = w->shape.tree.n_nodes;
	int err;
	for (;;) {
		uint32_t want = *nodes < n_nodes - from ? *nodes : n_nodes - from;
		*to = limit_rows(&w->shape.tree, from, from + want);
		cam_buf_clear(&out);
		err = cam_tree_write_chunk(&w->tree, from, *to, &out);
		if (err != -E2BIG || *to - from == 1)
			break;
		*nodes = (*to - from) / 2;
	}
	if (!err)
		err = cam_writer_add_chunk(w, CAM_CHUNK_TREE, &out, *to - from);
	/* Well below the limit, so that guesses seldom have to be repeated. */
	if (!err)
		*nodes =
			(uint32_t)((uint64_t)(*to - from) * (w->chunk_bytes / 4 * 3) / out.len) + 1;
	cam_buf_free(&out);
	return err;
}

static int write_chunks(struct cam_writer *w)
{
	uint32_t nodes = CAM_TREE_ROWS / 8, pairs = 0;
	for (uint32_t from = 0, to; from < w->shape.tree.n_nodes; from = to) {
		int err = write_chunk(w, from, &nodes, &to);
		if (err)
			return err;
		for (; pairs < w->tree.n_pairs_coded; pairs++)
			w->pair_tree[w->tree.pair_order[pairs]] =
				(uint32_t)w->dir.sections[CAM_CHUNK_TREE].n - 1;
	}
	w->dir.n_trees = w->dir.sections[CAM_CHUNK_TREE].n;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static uint64_t class_key(const struct cam_tree_shape *t, uint32_t pair)
{
	return (uint64_t)t->pair_group[pair] << 32 | t->pair_count[pair];
}

/* The classes of the directory, and each pair's class into pair_rank. */
static int make_classes(struct cam_writer *w)
{
	const struct cam_tree_shape *t = &w->shape.tree;
	uint32_t n = w->shape.n_pairs;
	uint64_t *keys = malloc(((size_t)n + 1) * sizeof(*keys));
	size_t n_keys = 0;
	int err = 0;
	if (!keys)
		return -ENOMEM;
	for (uint32_t p = 0; p < n; p++)
		keys[p] = class_key(t, p);
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < n && !err; i++) {
		if (i && keys[i] == keys[i - 1])
			continue;
		keys[n_keys++] = keys[i];
		err = cam_dir_add_class(&w->dir, (uint32_t)(keys[i] >> 32), (uint32_t)keys[i]);
	}
	for (uint32_t p = 0; p < n && !err; p++) {
		uint64_t key = class_key(t, p);
		const uint64_t *at = bsearch(&key, keys, n_keys, sizeof(*keys), compare_keys);
		w->pair_rank[p] = (uint32_t)(at - keys);
		w->dir.class_pairs[(size_t)(at - keys) * w->dir.n_trees + w->pair_tree[p]]++;
	}
	free(keys);
	return err;
}

static int make_ranks(struct cam_writer *w)
{
	uint32_t *next = malloc((w->dir.n_classes + 1) * sizeof(*next));
	int err = next ? cam_dir_derive_ranks(&w->dir) : -ENOMEM;
	if (!err) {
		for (size_t c = 0; c < w->dir.n_classes; c++)
			next[c] = w->dir.classes[c].first_rank;
		for (uint32_t i = 0; i < w->shape.n_pairs; i++) {
			uint32_t pair = w->tree.pair_order[i];
			w->pair_rank[pair] = next[w->pair_rank[pair]]++;
		}
	}
	free(next);
	return err;
}

/* Functions get their numbers in the file: by module, in the order the tree met them. */
static int number_functions(struct cam_writer *w)
{
	const struct cam_tree_shape *t = &w->shape.tree;
	w->dir.module_start = calloc((size_t)t->n_modules + 1, sizeof(uint32_t));
	w->func_id = malloc(((size_t)t->n_functions + 1) * sizeof(uint32_t));
	w->functions = malloc(((size_t)t->n_functions + 1) * sizeof(uint32_t));
	if (!w->dir.module_start || !w->func_id || !w->functions)
		return -ENOMEM;
	for (uint32_t m = 0; m < t->n_modules; m++)
		w->dir.module_start[m + 1] = w->dir.module_start[m] + w->tree.module_next[m];
	for (uint32_t f = 0; f < t->n_functions; f++) {
		w->func_id[f] = w->dir.module_start[t->func_module[f]] + w->tree.func_number[f];
		w->functions[w->func_id[f]] = w->shape.funcs[f];
	}
	w->dir.n_functions = t->n_functions;
	w->dir.n_modules = t->n_modules;
	return 0;
}

int cam_write_trees(struct cam_writer *w)
{
	size_t n = w->shape.n_pairs;
	w->dir.n_nodes = w->shape.tree.n_nodes;
	w->dir.n_pairs = w->shape.n_pairs;
	w->pair_rank = calloc(n + 1, sizeof(uint32_t));
	w->pair_tree = calloc(n + 1, sizeof(uint32_t));
	if (!w->pair_rank || !w->pair_tree)
		return -ENOMEM;
	int err = w->rows.n ? write_chunks(w) : 0;
	if (!err)
		err = make_classes(w);
	if (!err)
		err = make_ranks(w);
	return err ? err : number_functions(w);
}
