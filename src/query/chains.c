// SPDX-License-Identifier: Apache-2.0
/*
 * Merging the chains of an entry without making them.
 *
 * A naive way appends, for each frame of each stack, the rest of the stack to that frame's chains: the
 * square of the depth, for every stack. Here a node of the merged chains is a set of cursors into the call
 * tree, and only nodes that are heavy enough to be shown are looked into. A cursor moves in one of three ways:
 *
 *	UP	to the parent, with the same weight: callee order.
 *	OWN	down to samples of the entry itself; its weight is own[node].
 *	BELOW	down to all other samples; its weight is total[node] - own[node].
 *
 * In caller order OWN begins at the group's node (chains from the outermost frame), BELOW at the entry's
 * outermost nodes. In callee order a sample counts for the innermost of an entry's nodes above it.
 *
 * Invariants:
 * 1. The weights of a node's children and of chains that end in it add up to its weight.
 * 2. Frames are in one node as long as all chains through the first go on through the next.
 *
 * Example: main;foo;leaf 3, main;foo 1. Of foo in caller order: OWN main;foo 1, BELOW foo;leaf 3.
 */
#include "query/chains.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

enum way {
	UP,
	OWN,
	BELOW,
};

/* Chains deeper than this are cut: recursion here follows theirs. */
#define MAX_DEPTH 256u

int cam_chains_init(struct cam_chains *c)
{
	c->own = calloc(c->tree->n + 1, sizeof(*c->own));
	return c->own ? 0 : -ENOMEM;
}

void cam_chains_free(struct cam_chains *c)
{
	free(c->nodes);
	free(c->frames);
	free(c->own);
	free(c->cursors);
}

static int push(struct cam_chains *c, uint32_t node, uint64_t weight, enum way way)
{
	if (!weight)
		return 0;
	int err = cam_vec_reserve(&c->cursors, &c->cap_cursors, c->n_cursors + 1,
				  sizeof(*c->cursors), CAM_MAX_ROWS);
	if (!err)
		c->cursors[c->n_cursors++] = (struct cam_cursor){cam_call_item(c->tree, node), node,
								 weight, (uint8_t)way};
	return err;
}

static uint64_t weight_of(const struct cam_chains *c, uint32_t node, enum way way)
{
	return way == OWN ? c->own[node] : c->tree->total[node] - c->own[node];
}

/* The cursors that follow one; what of its weight ends in it is added to *ends. */
static int follow(struct cam_chains *c, struct cam_cursor at, uint32_t entry, uint64_t *ends)
{
	const struct cam_call_tree *t = c->tree;
	int err = 0;
	if (at.way == UP) {
		uint32_t parent = cam_call_parent(t, at.node);
		if (cam_call_item(t, parent) & CAM_CALL_GROUP) {
			*ends += at.weight;
			return 0;
		}
		return push(c, parent, at.weight, UP);
	}
	bool self = t->entry[at.node] == entry;
	if ((at.way == OWN) == self)
		*ends += t->self[at.node].weight;
	for (uint32_t i = t->first_child[at.node]; i < t->first_child[at.node + 1] && !err; i++)
		err = push(c, t->children[i], weight_of(c, t->children[i], (enum way)at.way),
			   (enum way)at.way);
	return err;
}

static int by_frame(const void *x, const void *y)
{
	const struct cam_cursor *a = x, *b = y;
	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Cursors of one frame, next to each other. */
struct set {
	uint32_t frame;
	size_t from, n;
	uint64_t weight;
};

static int heavier(const void *x, const void *y, void *arg)
{
	const struct set *a = x, *b = y;
	const struct cam_chains *c = arg;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	struct cam_text s =
		cam_string(c->names, (struct cam_str_id){c->tree->frames.v[a->frame].symbol});
	struct cam_text t =
		cam_string(c->names, (struct cam_str_id){c->tree->frames.v[b->frame].symbol});
	size_t n = s.n < t.n ? s.n : t.n;
	int order = n ? memcmp(s.p, t.p, n) : 0;
	if (!order)
		order = s.n < t.n ? -1 : s.n > t.n;
	return order ? order : a->frame < b->frame ? -1 : 1;
}

/* The cursors from `from` on as sets, heaviest first. *out: to be freed. */
static int make_sets(struct cam_chains *c, size_t from, struct set **out, size_t *n_out)
{
	size_t n = c->n_cursors - from, cap = 0;
	struct set *sets = NULL;
	int err = 0;
	*n_out = 0;
	if (n > 1)
		qsort(c->cursors + from, n, sizeof(*c->cursors), by_frame);
	for (size_t i = from; i < c->n_cursors && !err; i++) {
		const struct cam_cursor *at = &c->cursors[i];
		if (!*n_out || sets[*n_out - 1].frame != at->frame) {
			err = cam_vec_reserve(&sets, &cap, *n_out + 1, sizeof(*sets), CAM_MAX_ROWS);
			if (err)
				break;
			sets[(*n_out)++] = (struct set){.frame = at->frame, .from = i};
		}
		sets[*n_out - 1].n++;
		sets[*n_out - 1].weight += at->weight;
	}
	if (!err && *n_out > 1)
		qsort_r(sets, *n_out, sizeof(*sets), heavier, c);
	*out = sets;
	return err;
}

static int put_frame(struct cam_chains *c, uint32_t frame)
{
	int err = cam_vec_reserve(&c->frames, &c->cap_frames, c->n_frames + 1, sizeof(*c->frames),
				  CAM_MAX_ROWS);
	if (!err) {
		c->frames[c->n_frames++] = frame;
		c->nodes[c->n_nodes - 1].n_frames++;
	}
	return err;
}

static int put_sets(struct cam_chains *c, size_t from, uint32_t entry, uint32_t depth,
		    uint32_t frames);

/* Cursors in c->cursors[from …) are one set: their node, as many frames as always follow, and below. */
static int put_set(struct cam_chains *c, struct set s, uint32_t entry, uint32_t depth,
		   uint32_t frames)
{
	uint32_t max = c->options->max_depth ? c->options->max_depth : UINT32_MAX;
	int err = cam_vec_reserve(&c->nodes, &c->cap_nodes, c->n_nodes + 1, sizeof(*c->nodes),
				  CAM_MAX_ROWS);
	if (err)
		return err;
	size_t node = c->n_nodes++, base = c->n_cursors;
	c->nodes[node] = (struct cam_report_node){
		.frames_at = (uint32_t)c->n_frames, .depth = depth, .weight = s.weight};
	while (!err) {
		uint64_t ends = 0;
		err = put_frame(c, s.frame);
		if (err || ++frames >= max)
			break;
		size_t had = c->n_cursors;
		for (size_t i = 0; i < s.n && !err; i++)
			err = follow(c, c->cursors[s.from + i], entry, &ends);
		size_t n = c->n_cursors - had;
		bool one = n > 0 && !ends;
		for (size_t i = had + 1; i < c->n_cursors && one; i++)
			one = c->cursors[i].frame == c->cursors[had].frame;
		if (err || !one) {
			if (!err && n && depth < MAX_DEPTH)
				err = put_sets(c, had, entry, depth + 1, frames);
			break;
		}
		s = (struct set){c->cursors[had].frame, had, n, s.weight};
	}
	c->n_cursors = base;
	c->nodes[node].end = (uint32_t)c->n_nodes;
	return err;
}

static int put_sets(struct cam_chains *c, size_t from, uint32_t entry, uint32_t depth,
		    uint32_t frames)
{
	struct set *sets;
	size_t n;
	int err = make_sets(c, from, &sets, &n);
	for (size_t i = 0; i < n && !err && sets[i].weight >= c->least; i++)
		err = put_set(c, sets[i], entry, depth, frames);
	free(sets);
	c->n_cursors = from;
	return err;
}

/* own[] of all nodes above the entry's samples; sign -1 takes it back. */
static void mark_own(struct cam_chains *c, const struct cam_call_entry *e, bool back)
{
	const struct cam_call_tree *t = c->tree;
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		uint32_t node = t->by_entry[e->nodes_at + i];
		uint64_t v = t->self[node].weight;
		for (uint32_t above = node; v && above; above = cam_call_parent(t, above))
			c->own[above] += back ? -v : v;
	}
}

/* The nearest node of the same entry above one; 0: none. */
static uint32_t above_of(const struct cam_call_tree *t, uint32_t node)
{
	uint32_t entry = t->entry[node];
	do
		node = cam_call_parent(t, node);
	while (node && t->entry[node] != entry);
	return node;
}

static int start_caller(struct cam_chains *c, const struct cam_call_entry *e)
{
	const struct cam_call_tree *t = c->tree;
	uint32_t group = 0;
	int err = 0;
	for (uint32_t i = 0; i < e->n_nodes && !err; i++) {
		uint32_t node = t->by_entry[e->nodes_at + i];
		for (group = node; cam_call_parent(t, group);)
			group = cam_call_parent(t, group);
		if (c->options->children && !above_of(t, node))
			err = push(c, node, weight_of(c, node, BELOW), BELOW);
	}
	/* All nodes of an entry are below one group. */
	for (uint32_t i = t->first_child[group];
	     e->n_nodes && i < t->first_child[group + 1] && !err; i++)
		err = push(c, t->children[i], weight_of(c, t->children[i], OWN), OWN);
	return err;
}

static int start_callee(struct cam_chains *c, const struct cam_call_entry *e)
{
	const struct cam_call_tree *t = c->tree;
	int err = 0;
	if (c->options->children) {
		/* own[] holds here what is the innermost entry's business. */
		for (uint32_t i = 0; i < e->n_nodes; i++) {
			uint32_t node = t->by_entry[e->nodes_at + i], above = above_of(t, node);
			c->own[node] += t->total[node];
			if (above)
				c->own[above] -= t->total[node];
		}
	}
	for (uint32_t i = 0; i < e->n_nodes && !err; i++) {
		uint32_t node = t->by_entry[e->nodes_at + i];
		err = push(c, node, c->options->children ? c->own[node] : t->self[node].weight, UP);
	}
	for (uint32_t i = 0; i < e->n_nodes && c->options->children; i++)
		c->own[t->by_entry[e->nodes_at + i]] = 0;
	return err;
}

int cam_chains_add(struct cam_chains *c, uint32_t entry)
{
	const struct cam_call_entry *e = &c->tree->entries[entry];
	bool caller = c->options->chains == CAM_CHAINS_CALLER;
	c->n_cursors = 0;
	if (caller)
		mark_own(c, e, false);
	int err = caller ? start_caller(c, e) : start_callee(c, e);
	if (!err)
		err = put_sets(c, 0, entry, 0, 0);
	if (caller)
		mark_own(c, e, true);
	return err;
}
