// SPDX-License-Identifier: Apache-2.0
#include "store/window_shape.h"

#include "base/vec.h"
#include "store/format.h"

#include <errno.h>
#include <string.h>

static uint32_t *numbers(size_t n)
{
	return calloc(n + 1, sizeof(uint32_t));
}

void cam_shape_free(struct cam_shape *s)
{
	void *const all[] = {
		s->tree.parent,	    s->tree.end,	s->tree.func,	    s->tree.func_module,
		s->tree.pair_start, s->tree.pair_group, s->tree.pair_count, s->node_of,
		s->at_of,	    s->funcs,		s->modules,	    s->module_of,
		s->row_pair};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
	*s = (struct cam_shape){0};
}

/* Marks in at_of the nodes some sample needs (0), the others stay CAM_NONE. */
static int mark_used(struct cam_shape *s, const struct cam_rows *rows, const struct cam_tree *tree)
{
	uint32_t n = 1;
	memset(s->at_of, 0xff, tree->n * sizeof(uint32_t));
	s->at_of[0] = 0;
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t depth = 0;
		for (uint32_t x = rows->stack[i]; s->at_of[x] == CAM_NONE; x = tree->parent[x]) {
			if (tree->parent[x] >= x)
				return -EBADMSG;
			s->at_of[x] = 0;
			n++;
			if (++depth > CAM_MAX_STACK_FRAMES)
				return -E2BIG;
		}
	}
	s->tree.n_nodes = n;
	return n <= CAM_WINDOW_ROWS_MAX ? 0 : -E2BIG;
}

/*
 * Preorder numbers without a stack: a node's number is its parent's plus what its earlier
 * siblings' subtrees take. Sizes are summed from the last node up, since parents come first;
 * siblings are in the order of their ids.
 */
static int number_nodes(struct cam_shape *s, const struct cam_tables *t)
{
	const struct cam_tree *tree = &t->stacks;
	uint32_t *size = numbers(tree->n), *taken = numbers(tree->n), *depth = numbers(tree->n);
	int err = size && taken && depth ? 0 : -ENOMEM;
	for (size_t x = tree->n; x-- > 1 && !err;)
		if (s->at_of[x] != CAM_NONE)
			size[tree->parent[x]] += ++size[x];
	for (size_t x = 1; x < tree->n && !err; x++) {
		if (s->at_of[x] == CAM_NONE)
			continue;
		uint32_t parent = tree->parent[x], at = s->at_of[parent] + 1 + taken[parent];
		taken[parent] += size[x];
		depth[x] = depth[parent] + 1;
		s->at_of[x] = at;
		s->node_of[at] = (uint32_t)x;
		s->tree.parent[at] = s->at_of[parent];
		s->tree.end[at] = at + size[x];
		if (depth[x] > CAM_MAX_STACK_FRAMES)
			err = -E2BIG;
		else if (tree->item[x] >= t->n_functions)
			err = -EBADMSG;
	}
	s->tree.end[0] = s->tree.n_nodes;
	free(size);
	free(taken);
	free(depth);
	return err;
}

static int number_module(struct cam_shape *s, const struct cam_tables *t, uint32_t module)
{
	if (module >= t->n_modules)
		return -EBADMSG;
	if (module && !s->module_of[module]) {
		s->modules[s->tree.n_modules] = module;
		s->module_of[module] = s->tree.n_modules++;
	}
	return 0;
}

/* Functions and modules by their first use in the preorder. */
static int number_functions(struct cam_shape *s, const struct cam_tables *t)
{
	uint32_t *key_of = numbers(t->n_functions);
	int err = key_of ? 0 : -ENOMEM;
	s->tree.n_modules = 1;
	for (uint32_t at = 1; at < s->tree.n_nodes && !err; at++) {
		uint32_t func = t->stacks.item[s->node_of[at]];
		if (!key_of[func]) {
			uint32_t key = s->tree.n_functions++;
			uint32_t module = t->functions[func].module.v;
			err = number_module(s, t, module);
			if (err)
				break;
			s->funcs[key] = func;
			s->tree.func_module[key] = s->module_of[module];
			key_of[func] = key + 1;
		}
		s->tree.func[at] = key_of[func] - 1;
	}
	free(key_of);
	return err;
}

/* Modules that only locations name: behind those of the functions. */
static int number_place_modules(struct cam_shape *s, const struct cam_rows *rows,
				const struct cam_tables *t)
{
	bool *seen = calloc(t->places.n + 1, sizeof(*seen));
	int err = seen ? 0 : -ENOMEM;
	for (size_t i = 0; i < rows->n && rows->place && !err; i++) {
		for (uint32_t x = rows->place[i]; x && !seen[x] && !err; x = t->places.parent[x]) {
			uint32_t loc = t->places.item[x];
			seen[x] = true;
			if (loc >= t->n_locations || t->places.parent[x] >= x)
				err = -EBADMSG;
			else
				err = number_module(s, t, t->locations[loc].module.v);
		}
	}
	free(seen);
	return err;
}

struct pair {
	uint32_t node, group, count;
};

struct pairs {
	struct pair *rows;
	size_t n, cap;
};

static bool same_pair(const void *rows, uint32_t id, const void *key)
{
	const struct pair *a = &((const struct pairs *)rows)->rows[id], *b = key;
	return a->node == b->node && a->group == b->group;
}

/* Pairs in the order they are met; row_pair holds these first numbers. */
static int meet_pairs(struct cam_shape *s, const struct cam_rows *rows, struct pairs *p)
{
	struct cam_index ix = {0};
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		struct pair want = {s->at_of[rows->stack[i]], rows->group[i], 1};
		uint64_t hash = cam_hash_u64(want.node, want.group);
		uint32_t at = cam_index_find(&ix, hash, same_pair, p, &want);
		if (at == CAM_INDEX_NONE) {
			err = cam_vec_reserve(&p->rows, &p->cap, p->n + 1, sizeof(*p->rows),
					      CAM_WINDOW_ROWS_MAX);
			if (!err)
				err = cam_index_reserve(&ix);
			if (err)
				break;
			at = (uint32_t)p->n++;
			p->rows[at] = want;
			cam_index_add(&ix, hash, at);
		} else {
			p->rows[at].count++;
		}
		s->row_pair[i] = at;
	}
	cam_index_free(&ix);
	return err;
}

/* Sorted by node, those of one node in the order they were met. */
static int sort_pairs(struct cam_shape *s, const struct cam_rows *rows, const struct pairs *p)
{
	uint32_t *start = s->tree.pair_start;
	uint32_t *at_of = numbers(p->n);
	s->tree.pair_group = numbers(p->n);
	s->tree.pair_count = numbers(p->n);
	if (!at_of || !s->tree.pair_group || !s->tree.pair_count) {
		free(at_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->n; i++)
		start[p->rows[i].node + 1]++;
	for (uint32_t x = 0; x < s->tree.n_nodes; x++)
		start[x + 1] += start[x];
	for (size_t i = 0; i < p->n; i++) {
		uint32_t at = start[p->rows[i].node]++;
		s->tree.pair_group[at] = p->rows[i].group;
		s->tree.pair_count[at] = p->rows[i].count;
		at_of[i] = at;
	}
	/* Placing moved each start to the next one's place. */
	memmove(start + 1, start, s->tree.n_nodes * sizeof(*start));
	start[0] = 0;
	for (size_t i = 0; i < rows->n; i++)
		s->row_pair[i] = at_of[s->row_pair[i]];
	s->n_pairs = (uint32_t)p->n;
	free(at_of);
	return 0;
}

int cam_shape_build(struct cam_shape *s, const struct cam_rows *rows, const struct cam_tables *t)
{
	*s = (struct cam_shape){0};
	s->at_of = numbers(t->stacks.n);
	s->row_pair = numbers(rows->n);
	s->funcs = numbers(t->n_functions);
	s->modules = numbers(t->n_modules);
	s->module_of = numbers(t->n_modules);
	s->tree.func_module = numbers(t->n_functions);
	if (!s->at_of || !s->row_pair || !s->funcs || !s->modules || !s->module_of ||
	    !s->tree.func_module)
		return -ENOMEM;
	int err = mark_used(s, rows, &t->stacks);
	if (err)
		return err;
	size_t n = s->tree.n_nodes;
	s->tree.n_groups = (uint32_t)rows->n_groups;
	s->node_of = numbers(n);
	s->tree.parent = numbers(n);
	s->tree.end = numbers(n);
	s->tree.func = numbers(n);
	s->tree.pair_start = numbers(n + 1);
	if (!s->node_of || !s->tree.parent || !s->tree.end || !s->tree.func || !s->tree.pair_start)
		return -ENOMEM;
	err = number_nodes(s, t);
	if (!err)
		err = number_functions(s, t);
	if (!err)
		err = number_place_modules(s, rows, t);
	struct pairs pairs = {0};
	if (!err)
		err = meet_pairs(s, rows, &pairs);
	if (!err)
		err = sort_pairs(s, rows, &pairs);
	free(pairs.rows);
	return err;
}
