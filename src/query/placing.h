// SPDX-License-Identifier: Apache-2.0
/*
 * From the ids of one window to the nodes of a merged tree: which node a stack is, below its comm or group.
 *
 * A map from the window's stacks to nodes serves one (group, comm) after the other: a stack is walked
 * upwards only as far as this one has not been before. So stacks should come sorted by these two; in any
 * other order each is walked wholly. One window, one thread.
 */
#pragma once
#include "query/grouping.h"
#include "query/merge.h"

#define CAM_NO_GROUP UINT32_MAX /* the first level is the comm */

struct cam_placing {
	struct cam_merge *merge;
	const struct cam_tables *tables; /* of the window */
	enum cam_flame_by by;
	bool builds; /* files are told apart by their build-id, which is shown */
	/* This room's own. From the window's ids to the merged ones. */
	uint32_t *frame_of, *module_of, *group_of;
	size_t n_frame_of, n_module_of, n_group_of;
	struct cam_grouping grouping;
	/* Nodes of stacks, good for one group and comm: stamp tells which. */
	struct cam_placed {
		uint32_t node, stamp;
	} * placed;
	size_t n_placed;
	uint32_t stamp, comm_node, group, comm;
};

void cam_placing_open(struct cam_placing *p, struct cam_merge *m, const struct cam_tables *t,
		      enum cam_flame_by by, bool builds);
void cam_placing_close(struct cam_placing *p);

/* Both: -E2BIG and -ENOMEM as the merge, -EBADMSG for what the window's tables do not have. */

/* The frame of the first level for a task or CPU (as in cam_sum.extra); CAM_NO_GROUP by comm. */
int cam_placing_group(struct cam_placing *p, uint32_t extra, uint32_t *group);
/* The node of a stack, by ids of the window. */
int cam_placing_stack(struct cam_placing *p, uint32_t group, uint32_t comm, uint32_t stack,
		      uint32_t *node);
