// SPDX-License-Identifier: Apache-2.0
/*
 * All stacks of a selection as one tree, for whoever asks it about single functions: below the root a
 * node for each group (groups.h), below that the frames, told apart by symbol and dso. Made once, then only
 * read; a parent's number is smaller than its children's. Plain arrays: n of each.
 */
#pragma once
#include "query/frame_shape.h"

/* What a node is: a frame, or with this bit a group. */
#define CAM_CALL_GROUP (1u << 31)

/* An entry: a frame in a group; all its nodes. */
struct cam_call_entry {
	uint32_t group, frame;
	struct cam_measure self, total;
	uint32_t nodes_at, n_nodes; /* in by_entry */
	/* Its longest chains in frames: from the outermost frame to it, and in caller order. */
	uint32_t longest_up, longest_down;
};

struct cam_call_tree {
	struct cam_tables t; /* the tree itself: its stacks */
	size_t n;
	struct cam_measure *self;
	size_t cap_self;
	uint64_t *total; /* weight */
	uint32_t *entry; /* of each frame's node */
	uint32_t *first_child,
		*children; /* those of i: children[first_child[i] … first_child[i + 1]) */
	uint32_t *by_entry;
	struct cam_frames frames;
	struct cam_call_entry *entries;
	size_t n_entries, cap_entries;
	struct cam_index entry_index;
	bool by_symbol, by_dso;	      /* what tells entries apart */
	bool chained;		      /* an event of these was sampled with call chains */
	struct cam_frame_shape shape; /* which frames there are, and as what */
	/* Of the window being added. */
	uint32_t *placed, *stamps;
	size_t n_placed;
	uint32_t stamp;
};

/* by_symbol, by_dso: what tells entries apart. shape: frame_shape.h; NULL: all frames, as they are. Borrowed. */
int cam_call_tree_init(struct cam_call_tree *c, bool by_symbol, bool by_dso,
		       const struct cam_reshape *shape);
void cam_call_tree_free(struct cam_call_tree *c);
/* For struct cam_groups_options.window; self is the tree. */
int cam_call_tree_add_window(void *self, struct cam_groups *g, struct cam_walk_window *x,
			     struct cam_group_item *items, size_t n);
/* Totals, entries, children: nothing may be added any more. -ENOMEM, -E2BIG. */
int cam_call_tree_finish(struct cam_call_tree *c);

static inline uint32_t cam_call_parent(const struct cam_call_tree *c, uint32_t node)
{
	return c->t.stacks.parent[node];
}
static inline uint32_t cam_call_item(const struct cam_call_tree *c, uint32_t node)
{
	return c->t.stacks.item[node];
}
