// SPDX-License-Identifier: Apache-2.0
/*
 * Growing the tree, and its entries.
 *
 * The total of an entry is the sum of totals of its outermost nodes: those with none of the same entry
 * above them, so that a recursive function counts a sample once.
 */
#include "query/call_tree.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_TREE_BYTES (1ull << 30)
#define UNFOCUSED      CAM_NONE /* no node yet: no frame so far is the one that the tree starts at */

int cam_call_tree_init(struct cam_call_tree *c, bool by_symbol, bool by_dso,
		       const struct cam_reshape *shape)
{
	*c = (struct cam_call_tree){.by_symbol = by_symbol,
				    .by_dso = by_dso,
				    .frames = {.by_symbol = true, .by_dso = true}};
	cam_frame_shape_init(&c->shape, shape);
	return cam_tables_init(&c->t, MAX_TREE_BYTES);
}

void cam_call_tree_free(struct cam_call_tree *c)
{
	cam_tables_free(&c->t);
	free(c->self);
	free(c->total);
	free(c->entry);
	free(c->first_child);
	free(c->children);
	free(c->by_entry);
	cam_frames_free(&c->frames);
	free(c->entries);
	cam_frame_shape_free(&c->shape);
	cam_index_free(&c->entry_index);
	*c = (struct cam_call_tree){0};
}

static int child(struct cam_call_tree *c, uint32_t parent, uint32_t item, uint32_t *out)
{
	int err = cam_vec_reserve(&c->self, &c->cap_self, c->t.stacks.n + 1, sizeof(*c->self),
				  CAM_MAX_ROWS);
	size_t had = c->t.stacks.n;
	if (!err)
		err = cam_tree_intern(&c->t, &c->t.stacks, parent, item, out);
	if (!err && c->t.stacks.n > had)
		c->self[*out] = (struct cam_measure){0};
	return err;
}

/* A frame below *out, unless the shape takes it out. Before the frame that the tree starts at *out is UNFOCUSED. */
static int step(struct cam_call_tree *c, struct cam_groups *g, const struct cam_tables *t,
		uint32_t group_node, uint32_t stack, uint32_t frame, uint32_t *out)
{
	struct cam_frame_shape *shape = &c->shape;
	int starts =
		*out == UNFOCUSED ? cam_frame_shape_starts(shape, g->names, &c->frames, frame) : 1;
	if (starts <= 0)
		return starts;
	*out = *out == UNFOCUSED ? group_node : *out;
	int hidden = cam_frame_shape_hides(shape, g->names, &c->frames, t, stack, frame);
	if (hidden)
		return hidden < 0 ? hidden : 0;
	int err = cam_frame_shape_group(shape, g->names, &c->frames, frame, &frame);
	if (err || (cam_frame_shape_merges(shape) && cam_call_item(c, *out) == frame))
		return err;
	return child(c, *out, frame, out);
}

/* The node for a stack of the window below a group's node. */
static int place(struct cam_call_tree *c, struct cam_groups *g, const struct cam_tables *t,
		 uint32_t group_node, uint32_t stack, uint32_t *out)
{
	uint32_t path[CAM_MAX_STACK_FRAMES + 1], frame;
	size_t depth = 0;
	int err = 0;
	for (; stack && c->stamps[stack] != c->stamp; stack = t->stacks.parent[stack]) {
		if (depth == sizeof(path) / sizeof(path[0]))
			return -EBADMSG;
		path[depth++] = stack;
	}
	uint32_t begin = c->shape.shape && c->shape.shape->focus.n ? UNFOCUSED : group_node;
	*out = stack ? c->placed[stack] : begin;
	while (depth && !err) {
		stack = path[--depth];
		err = cam_frames_of(&c->frames, g->names, t, t->stacks.item[stack], &frame);
		if (!err)
			err = step(c, g, t, group_node, stack, frame, out);
		c->placed[stack] = *out;
		c->stamps[stack] = c->stamp;
	}
	return err;
}

static int add_item(struct cam_call_tree *c, struct cam_groups *g, const struct cam_tables *t,
		    uint32_t group_node, const struct cam_group_item *item)
{
	uint32_t node, frame;
	if (item->stack >= t->stacks.n)
		return -EBADMSG;
	int err = place(c, g, t, group_node, item->stack, &node);
	if (!err && node == UNFOCUSED) {
		g->all.samples -= item->m.samples;
		g->all.weight -= item->m.weight;
		g->all.cpu_ns -= item->m.cpu_ns;
		return 0;
	}
	/* Of the empty stack not even the innermost function is known; of others all may be hidden. */
	if (!err && node == group_node) {
		err = item->stack ? cam_frame_shape_hidden(g->names, &c->frames, &frame)
				  : cam_frames_of(&c->frames, g->names, t, CAM_NONE, &frame);
		if (!err)
			err = child(c, group_node, frame, &node);
	}
	if (err)
		return err;
	c->self[node].samples += item->m.samples;
	c->self[node].weight += item->m.weight;
	c->self[node].cpu_ns += item->m.cpu_ns;
	return 0;
}

static bool has_chains(const struct cam_walk_window *x)
{
	const struct cam_selector *s = &x->selector;
	const struct cam_tables *t = x->tables;
	for (uint32_t i = 0; i < t->n_etypes; i++) {
		bool asked = s->selection->etypes.n || s->main_etype.v == CAM_NONE ||
			     t->etypes[s->main_etype.v].name.v == t->etypes[i].name.v;
		if (asked && !t->etypes[i].flat)
			return true;
	}
	return !t->n_etypes;
}

int cam_call_tree_add_window(void *self, struct cam_groups *g, struct cam_walk_window *x,
			     struct cam_group_item *items, size_t n)
{
	struct cam_call_tree *c = self;
	const struct cam_tables *t = x->tables;
	uint32_t group_node = 0;
	c->chained |= has_chains(x);
	c->placed = calloc(t->stacks.n + 1, sizeof(*c->placed));
	c->stamps = calloc(t->stacks.n + 1, sizeof(*c->stamps));
	c->stamp = 0;
	int err = c->placed && c->stamps ? cam_frames_begin(&c->frames, t) : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		if (!i || items[i].group != items[i - 1].group) {
			c->stamp++;
			err = child(c, 0, items[i].group | CAM_CALL_GROUP, &group_node);
		}
		if (!err)
			err = add_item(c, g, t, group_node, &items[i]);
	}
	cam_frames_end(&c->frames);
	free(c->placed);
	free(c->stamps);
	c->placed = c->stamps = NULL;
	return err;
}

static bool same_entry(const void *rows, uint32_t id, const void *key)
{
	const struct cam_call_entry *a = (const struct cam_call_entry *)rows + id, *b = key;
	return a->group == b->group && a->frame == b->frame;
}

static int intern_entry(struct cam_call_tree *c, uint32_t group, uint32_t frame, uint32_t *out)
{
	struct cam_call_entry key = {.group = group, .frame = frame};
	uint64_t hash = cam_hash_u64((uint64_t)group << 32 | frame, 3);
	*out = cam_index_find(&c->entry_index, hash, same_entry, c->entries, &key);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&c->entries, &c->cap_entries, c->n_entries + 1,
				  sizeof(*c->entries), CAM_MAX_ROWS);
	if (!err)
		err = cam_index_reserve(&c->entry_index);
	if (err)
		return err;
	*out = (uint32_t)c->n_entries++;
	c->entries[*out] = key;
	cam_index_add(&c->entry_index, hash, *out);
	return 0;
}

/* The frame by which entries are told apart: without what is no key. */
static int entry_frames(struct cam_call_tree *c, uint32_t **out)
{
	size_t n = c->frames.n;
	uint32_t *v = calloc(n + 1, sizeof(*v));
	int err = v ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct cam_call_frame f = c->frames.v[i];
		if (!c->by_symbol)
			f.symbol = f.kind = 0;
		if (!c->by_dso)
			f.dso = 0;
		err = cam_frames_intern(&c->frames, &f, &v[i]);
	}
	*out = v;
	return err;
}

/* Entry of each node; self of each entry. */
static int find_entries(struct cam_call_tree *c)
{
	uint32_t *frames = NULL, *group = calloc(c->n + 1, sizeof(*group));
	int err = group ? entry_frames(c, &frames) : -ENOMEM;
	for (uint32_t i = 1; i < c->n && !err; i++) {
		uint32_t item = cam_call_item(c, i);
		if (item & CAM_CALL_GROUP) {
			group[i] = item & ~CAM_CALL_GROUP;
			c->entry[i] = CAM_NONE;
			continue;
		}
		group[i] = group[cam_call_parent(c, i)];
		err = intern_entry(c, group[i], frames[item], &c->entry[i]);
		if (err)
			break;
		struct cam_call_entry *e = &c->entries[c->entry[i]];
		e->n_nodes++;
		e->self.samples += c->self[i].samples;
		e->self.weight += c->self[i].weight;
		e->self.cpu_ns += c->self[i].cpu_ns;
	}
	free(frames);
	free(group);
	return err;
}

static void add_totals(struct cam_call_tree *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->total[i] = c->self[i].weight;
	for (size_t i = c->n; i-- > 1;)
		c->total[cam_call_parent(c, (uint32_t)i)] += c->total[i];
	for (uint32_t i = 1; i < c->n; i++) {
		uint32_t entry = c->entry[i], above = cam_call_parent(c, i);
		if (entry == CAM_NONE)
			continue;
		while (above && c->entry[above] != entry)
			above = cam_call_parent(c, above);
		if (!above)
			c->entries[entry].total.weight += c->total[i];
	}
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Of entries that weigh the same the caller is to come first: it has the longer chain below it. */
static int find_longest(struct cam_call_tree *c)
{
	uint32_t *depth = calloc(c->n + 1, sizeof(*depth));
	uint32_t *height = calloc(c->n + 1, sizeof(*height));
	int err = depth && height ? 0 : -ENOMEM;
	for (uint32_t i = 1; i < c->n && !err; i++)
		depth[i] = c->entry[i] == CAM_NONE ? 0 : depth[cam_call_parent(c, i)] + 1;
	for (uint32_t i = (uint32_t)c->n; i-- > 1 && !err;) {
		uint32_t *above = &height[cam_call_parent(c, i)];
		*above = larger(*above, height[i] + 1);
		if (c->entry[i] == CAM_NONE)
			continue;
		struct cam_call_entry *e = &c->entries[c->entry[i]];
		e->longest_up = larger(e->longest_up, depth[i]);
		e->longest_down = larger(e->longest_down, height[i] + 1);
		if (c->self[i].weight)
			e->longest_down = larger(e->longest_down, depth[i]);
	}
	free(depth);
	free(height);
	return err;
}

static void sort_by_parent_and_entry(struct cam_call_tree *c)
{
	for (uint32_t i = 1; i < c->n; i++)
		c->first_child[cam_call_parent(c, i) + 1]++;
	for (size_t i = 0; i < c->n; i++)
		c->first_child[i + 1] += c->first_child[i];
	uint32_t at = 0;
	for (size_t i = 0; i < c->n_entries; i++) {
		c->entries[i].nodes_at = at;
		at += c->entries[i].n_nodes;
		c->entries[i].n_nodes = 0;
	}
	/* Backwards through the parents' ends, so that firsts are where they belong afterwards. */
	for (uint32_t i = (uint32_t)c->n; i-- > 1;)
		c->children[--c->first_child[cam_call_parent(c, i) + 1]] = i;
	for (size_t i = 0; i < c->n; i++)
		c->first_child[i] = c->first_child[i + 1];
	c->first_child[c->n] = (uint32_t)(c->n ? c->n - 1 : 0);
	for (uint32_t i = 1; i < c->n; i++) {
		struct cam_call_entry *e =
			c->entry[i] == CAM_NONE ? NULL : &c->entries[c->entry[i]];
		if (e)
			c->by_entry[e->nodes_at + e->n_nodes++] = i;
	}
}

int cam_call_tree_finish(struct cam_call_tree *c)
{
	c->n = c->t.stacks.n;
	/* The root was made before there was room for its numbers. */
	int err = cam_vec_reserve(&c->self, &c->cap_self, c->n + 1, sizeof(*c->self),
				  CAM_MAX_ROWS + 1ul);
	if (err)
		return err;
	c->self[0] = (struct cam_measure){0};
	c->total = calloc(c->n + 1, sizeof(*c->total));
	c->entry = calloc(c->n + 1, sizeof(*c->entry));
	c->first_child = calloc(c->n + 2, sizeof(*c->first_child));
	c->children = calloc(c->n + 1, sizeof(*c->children));
	c->by_entry = calloc(c->n + 1, sizeof(*c->by_entry));
	if (!c->total || !c->entry || !c->first_child || !c->children || !c->by_entry)
		return -ENOMEM;
	err = find_entries(c);
	if (err)
		return err;
	add_totals(c);
	sort_by_parent_and_entry(c);
	return find_longest(c);
}
