// SPDX-License-Identifier: Apache-2.0
/*
 * The tree of a flame graph while it grows: names, frames and nodes interned by content, so that
 * windows whose ids have nothing in common merge. flame.c fills it; cam_merge_finish() puts it in
 * order and hands it over as the arrays of door E. One thread.
 */
#pragma once
#include "model/tables.h"
#include "query/views.h"

struct cam_merge {
	struct cam_tables t; /* names; frames, as functions; nodes, as stacks */
	/* Per node. */
	uint64_t *self, *before;
	uint32_t *module;
	size_t cap_self, cap_before, cap_module;
	uint32_t root_frame;
};

/* All of these: -E2BIG past max_bytes (of the tables), -ENOMEM. */
int cam_merge_init(struct cam_merge *m, size_t max_bytes);
void cam_merge_free(struct cam_merge *m);
int cam_merge_frame(struct cam_merge *m, struct cam_text label, enum cam_frame_kind kind,
		    uint32_t *frame);
int cam_merge_module(struct cam_merge *m, struct cam_text path, uint32_t *module);
/* The child of a node (the root is 0) for a frame. */
int cam_merge_node(struct cam_merge *m, uint32_t parent, uint32_t frame, uint32_t *node);
/* What the node was seen in: once two modules differ, it is CAM_MODULE_SEVERAL. */
void cam_merge_note_module(struct cam_merge *m, uint32_t node, uint32_t module);

/*
 * Fills nodes, frames, modules, text, depth; the merge is then empty, error or not. positions: where each
 * node of the merge has gone, for the caller to free; NULL: nobody asks.
 */
int cam_merge_finish(struct cam_merge *m, struct cam_flame *out, uint32_t **positions);
