// SPDX-License-Identifier: Apache-2.0
/* The call chains of one entry of a call tree, merged: what report.h describes. */
#pragma once
#include "query/call_tree.h"
#include "query/report.h"

/* Where nodes and frames of all entries go. Zeroed but for tree, names and options is empty. */
struct cam_chains {
	const struct cam_call_tree *tree;
	const struct cam_tables *names;
	const struct cam_report_options *options;
	uint64_t least; /* weight: lighter nodes are left out */
	struct cam_report_node *nodes;
	size_t n_nodes, cap_nodes;
	uint32_t *frames; /* of the tree */
	size_t n_frames, cap_frames;
	/* Room while an entry is looked at. */
	uint64_t *own; /* per node of the tree: samples of the entry itself, at or below it */
	struct cam_cursor {
		uint32_t frame, node;
		uint64_t weight;
		uint8_t way;
	} * cursors;
	size_t n_cursors, cap_cursors;
};

int cam_chains_init(struct cam_chains *c);
void cam_chains_free(struct cam_chains *c);
/* Adds the chains of an entry: the nodes from n_nodes on. -ENOMEM, -E2BIG. */
int cam_chains_add(struct cam_chains *c, uint32_t entry);
