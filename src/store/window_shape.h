// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a window's tree that its samples use, in a fixed preorder, with the pairs (stack,
 * group): what the tree chunks are made from.
 */
#pragma once
#include "store/window_rows.h"
#include "store/window_tree.h"

struct cam_shape {
	struct cam_tree_shape tree;
	uint32_t n_pairs;
	uint32_t *node_of;   /* shape's node → node of the tables */
	uint32_t *at_of;     /* node of the tables → shape's node, CAM_NONE: not used */
	uint32_t *funcs;     /* key → function of the tables */
	uint32_t *modules;   /* module of the file → module of the tables; 0 is "no module" */
	uint32_t *module_of; /* module of the tables → module of the file, 0: none */
	uint32_t *row_pair;  /* per sample */
};

/* -EBADMSG: the tables contradict themselves; -E2BIG: stacks deeper than allowed. */
int cam_shape_build(struct cam_shape *s, const struct cam_rows *rows, const struct cam_tables *t);
void cam_shape_free(struct cam_shape *s);
