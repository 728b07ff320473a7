// SPDX-License-Identifier: Apache-2.0
/*
 * Leaf offsets: where in its function a sample was taken.
 *
 * Per function the distinct offsets, ascending, and how often each came; a sample then names one
 * of them by its place in the order of use, which is nothing at all where there is only one. How
 * many each function has is in the directory, so the column stays decodable without any chunk of
 * offsets.
 *
 * A chunk, for a range of functions: stream of offsets (+ 1; 0: not known), each as the difference
 * to the one before - 1, and a stream of counts - 1.
 */
#include "base/vec.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>

static bool same_leaf(const void *rows, uint32_t id, const void *key)
{
	const struct cam_leaf *a = &((const struct cam_writer *)rows)->leaves[id], *b = key;
	return a->func == b->func && a->offset == b->offset;
}

static int find_leaf(struct cam_writer *w, struct cam_index *ix, const struct cam_leaf *want,
		     uint32_t *out)
{
	uint64_t hash = cam_hash_u64(want->func, want->offset);
	*out = cam_index_find(ix, hash, same_leaf, w, want);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&w->leaves, &w->cap_leaves, w->n_leaves + 1, sizeof(*w->leaves),
				  CAM_WINDOW_ROWS_MAX);
	if (!err)
		err = cam_index_reserve(ix);
	if (err)
		return err;
	*out = (uint32_t)w->n_leaves++;
	w->leaves[*out] = *want;
	cam_index_add(ix, hash, *out);
	return 0;
}

static int meet_leaves(struct cam_writer *w)
{
	const struct cam_tree_shape *t = &w->shape.tree;
	struct cam_index ix = {0};
	int err = 0;
	for (size_t i = 0; i < w->rows.n && !err; i++) {
		uint32_t node = w->shape.at_of[w->rows.stack[i]];
		if (!node)
			continue;
		struct cam_leaf want = {.func = t->func[node], .offset = w->rows.leaf[i]};
		err = find_leaf(w, &ix, &want, &w->row_leaf[i]);
		if (!err && !w->leaves[w->row_leaf[i]].count++)
			w->leaf_sizes[want.func]++;
	}
	cam_index_free(&ix);
	return err;
}

/* By function of the file; inside one by offset, or by use. */
static int by_offset(const void *x, const void *y)
{
	const struct cam_leaf *a = *(struct cam_leaf *const *)x, *b = *(struct cam_leaf *const *)y;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_use(const void *x, const void *y)
{
	const struct cam_leaf *a = *(struct cam_leaf *const *)x, *b = *(struct cam_leaf *const *)y;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int put_leaves(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_stream_out s[CAM_LEAF_STREAMS];
	int err = 0;
	for (unsigned i = 0; i < CAM_LEAF_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_leaf_splits[i]);
	for (uint32_t f = from; f < to; f++) {
		uint64_t next = 0;
		for (uint32_t i = w->leaf_start[f]; i < w->leaf_start[f + 1]; i++) {
			const struct cam_leaf *leaf = w->leaf_order[i];
			cam_stream_put(&s[0], i > w->leaf_start[f], leaf->offset - next);
			cam_stream_put(&s[1], 0, leaf->count - 1);
			next = leaf->offset + 1;
		}
	}
	for (unsigned i = 0; i < CAM_LEAF_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&s[i], cam_leaf_contexts[i], out);
		cam_stream_out_free(&s[i]);
	}
	return err;
}

static int write_tables(struct cam_writer *w)
{
	uint32_t n = w->dir.n_functions;
	for (size_t i = 0; i < w->n_leaves; i++) {
		w->leaf_order[i] = &w->leaves[i];
		w->leaves[i].rank = w->func_id[w->leaves[i].func];
	}
	for (uint32_t f = 0; f < n; f++)
		w->dir.leaf_sizes[w->func_id[f]] = w->leaf_sizes[f];
	for (uint32_t f = 0; f < n; f++)
		w->leaf_start[f + 1] = w->leaf_start[f] + w->dir.leaf_sizes[f];
	qsort(w->leaf_order, w->n_leaves, sizeof(struct cam_leaf *), by_offset);
	int err = cam_writer_cut(w, CAM_CHUNK_LEAVES, n, put_leaves);
	for (uint32_t f = 0; f < n; f++) {
		uint32_t from = w->leaf_start[f], sizes = w->dir.leaf_sizes[f];
		qsort(w->leaf_order + from, sizes, sizeof(struct cam_leaf *), by_use);
		for (uint32_t i = 0; i < sizes; i++)
			w->leaf_order[from + i]->rank = i;
	}
	return err;
}

int cam_write_leaves(struct cam_writer *w)
{
	size_t n = w->dir.n_functions;
	if (!w->rows.leaf)
		return 0;
	w->row_leaf = calloc(w->rows.n + 1, sizeof(uint32_t));
	w->leaf_sizes = calloc(n + 1, sizeof(uint32_t));
	w->leaf_start = calloc(n + 1, sizeof(uint32_t));
	w->dir.leaf_sizes = calloc(n + 1, sizeof(uint32_t));
	int err = w->row_leaf && w->leaf_sizes && w->leaf_start && w->dir.leaf_sizes
			  ? meet_leaves(w)
			  : -ENOMEM;
	w->leaf_order = malloc((w->n_leaves + 1) * sizeof(struct cam_leaf *));
	if (!err)
		err = w->leaf_order ? write_tables(w) : -ENOMEM;
	return err;
}
