// SPDX-License-Identifier: Apache-2.0
/*
 * The small tree: the window's tree without what has less than 1/10,000 of the samples, which is
 * summed up in a child [small] of the node it hangs on, group by group. So the flame graph of
 * hundreds of large windows reads one small chunk of each.
 *
 * It is a tree chunk like the others, in which every function is one "of an earlier chunk" and
 * [small] is the only function of a module behind the last one; before it stands a varint, its
 * number of pairs. It is written where the tree is larger than one chunk and the small one is at
 * most half as large; where it would not fit into a chunk, less is kept (the directory says what
 * divisor). Everywhere else, and where the chunk is lost, readers make the same from the tree.
 */
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

#define DIVISOR 10000u

struct small {
	struct cam_tree_shape shape;
	uint32_t *cut;	     /* per node of the tree: the nearest one kept, at or above it */
	uint32_t *number;    /* per kept node: its node in the small tree */
	uint32_t *has_small; /* per kept node: something is cut off right below it */
	uint64_t *below;     /* samples in the subtree */
	struct row {
		uint32_t node, group, count;
	} * rows;
	size_t n_rows;
};

static void free_small(struct small *s)
{
	void *const all[] = {s->shape.parent,
			     s->shape.end,
			     s->shape.func,
			     s->shape.func_module,
			     s->shape.pair_start,
			     s->shape.pair_group,
			     s->shape.pair_count,
			     s->cut,
			     s->number,
			     s->has_small,
			     s->below,
			     s->rows};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
	*s = (struct small){0};
}

static int make_room(struct small *s, const struct cam_tree_shape *t, uint32_t n_pairs)
{
	/* A [small] stands for at least one node. */
	size_t n = (size_t)t->n_nodes + 2;
	uint32_t **const arrays[] = {&s->shape.parent,	   &s->shape.end, &s->shape.func,
				     &s->shape.pair_start, &s->cut,	  &s->number,
				     &s->has_small};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (!(*arrays[i] = calloc(n, sizeof(uint32_t))))
			return -ENOMEM;
	s->below = calloc(n, sizeof(*s->below));
	s->rows = calloc((size_t)n_pairs + 1, sizeof(*s->rows));
	s->shape.func_module = calloc((size_t)t->n_functions + 1, sizeof(uint32_t));
	s->shape.pair_group = calloc((size_t)n_pairs + 1, sizeof(uint32_t));
	s->shape.pair_count = calloc((size_t)n_pairs + 1, sizeof(uint32_t));
	return s->below && s->rows && s->shape.func_module && s->shape.pair_group &&
			       s->shape.pair_count
		       ? 0
		       : -ENOMEM;
}

/* Nodes come in preorder: a parent before its children. */
static void cut_nodes(struct small *s, const struct cam_tree_shape *t, uint64_t samples,
		      uint32_t divisor)
{
	for (uint32_t x = 0; x < t->n_nodes; x++)
		for (uint32_t p = t->pair_start[x]; p < t->pair_start[x + 1]; p++)
			s->below[x] += t->pair_count[p];
	for (uint32_t x = t->n_nodes; x-- > 1;)
		s->below[t->parent[x]] += s->below[x];
	for (uint32_t x = 1; x < t->n_nodes; x++) {
		uint32_t parent = t->parent[x];
		bool stays = s->cut[parent] == parent && s->below[x] * divisor >= samples;
		s->cut[x] = stays ? x : s->cut[parent];
		if (!stays)
			s->has_small[s->cut[x]] = 1;
	}
}

/* The kept nodes in their order, each [small] right behind its parent. */
static void number_nodes(struct small *s, const struct cam_tree_shape *t)
{
	struct cam_tree_shape *to = &s->shape;
	uint32_t n = 0;
	for (uint32_t x = 0; x < t->n_nodes; x++) {
		if (s->cut[x] != x)
			continue;
		s->number[x] = n;
		to->parent[n] = s->number[t->parent[x]];
		to->func[n++] = t->func[x];
		if (s->has_small[x]) {
			to->parent[n] = s->number[x];
			to->func[n++] = t->n_functions;
		}
	}
	to->n_nodes = n;
	/* Sizes first, from the last node up; then ends. */
	for (uint32_t x = n; x-- > 0;) {
		to->end[x]++;
		if (x)
			to->end[to->parent[x]] += to->end[x];
	}
	for (uint32_t x = 0; x < n; x++)
		to->end[x] += x;
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

static void sum_pairs(struct small *s, const struct cam_tree_shape *t)
{
	struct cam_tree_shape *to = &s->shape;
	uint32_t n = 0;
	for (uint32_t x = 0; x < t->n_nodes; x++) {
		uint32_t node = s->number[s->cut[x]] + (s->cut[x] != x);
		for (uint32_t p = t->pair_start[x]; p < t->pair_start[x + 1]; p++)
			s->rows[s->n_rows++] =
				(struct row){node, t->pair_group[p], t->pair_count[p]};
	}
	qsort(s->rows, s->n_rows, sizeof(*s->rows), compare_rows);
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct row *r = &s->rows[i];
		if (i && !compare_rows(r, r - 1)) {
			to->pair_count[n - 1] += r->count;
			continue;
		}
		to->pair_group[n] = r->group;
		to->pair_count[n++] = r->count;
		to->pair_start[r->node + 1]++;
	}
	for (uint32_t x = 0; x < to->n_nodes; x++)
		to->pair_start[x + 1] += to->pair_start[x];
}

static int write_shape(struct cam_writer *w, const struct cam_tree_shape *shape,
		       struct cam_buf *out)
{
	const struct cam_tree_shape *t = &w->shape.tree;
	struct cam_tree_writer small;
	int err = cam_tree_writer_init(&small, shape, w->chunk_bytes);
	if (err)
		return err;
	memcpy(small.func_number, w->tree.func_number, t->n_functions * sizeof(uint32_t));
	small.func_number[t->n_functions] = 0;
	cam_buf_put_varint(out, shape->pair_start[shape->n_nodes]);
	err = cam_tree_write_chunk(&small, 0, shape->n_nodes, out);
	cam_tree_writer_free(&small);
	return err;
}

/* One try: -E2BIG where it does not fit. */
static int write_small(struct cam_writer *w, uint32_t divisor, struct cam_buf *out, uint32_t *nodes)
{
	const struct cam_tree_shape *t = &w->shape.tree;
	struct small s = {0};
	int err = make_room(&s, t, w->shape.n_pairs);
	if (!err) {
		cut_nodes(&s, t, w->rows.n, divisor);
		number_nodes(&s, t);
		sum_pairs(&s, t);
		s.shape.n_functions = t->n_functions + 1;
		s.shape.n_modules = t->n_modules + 1;
		s.shape.n_groups = t->n_groups;
		memcpy(s.shape.func_module, t->func_module, t->n_functions * sizeof(uint32_t));
		s.shape.func_module[t->n_functions] = t->n_modules;
		cam_buf_clear(out);
		err = write_shape(w, &s.shape, out);
		*nodes = s.shape.n_nodes;
	}
	free_small(&s);
	return err;
}

int cam_write_small(struct cam_writer *w)
{
	struct cam_buf out = CAM_BUF(CAM_CHUNK_BYTES_MAX);
	uint32_t divisor = DIVISOR, nodes = 0;
	w->dir.small_divisor = DIVISOR;
	if (w->dir.n_trees < 2)
		return 0;
	int err = write_small(w, divisor, &out, &nodes);
	while (err == -E2BIG && divisor > 1) {
		divisor /= 2;
		err = write_small(w, divisor, &out, &nodes);
	}
	if (!err && out.len <= w->chunks[CAM_CHUNK_TREE].len / 2) {
		w->dir.small_divisor = divisor;
		err = cam_writer_add_chunk(w, CAM_CHUNK_SMALL, &out, nodes);
	}
	cam_buf_free(&out);
	return err == -E2BIG ? 0 : err;
}
