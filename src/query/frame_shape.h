// SPDX-License-Identifier: Apache-2.0
/*
 * The options of reshape.h, for views that are made of stacks and not of a flame tree (tables, reports, differences): focus,
 * frames, hide and group of single frames. Recursion is the view's own; reverse, and groups of leaves, are none of
 * these. Each frame is asked about once. One thread.
 */
#pragma once
#include "query/frames.h"
#include "query/reshape.h"

struct cam_frame_shape {
	const struct cam_reshape *shape; /* borrowed; NULL: frames are as they are */
	uint8_t *verdicts;		 /* of frames: what expressions say of them */
	uint32_t *groups;		 /* of frames: what they become, + 1; 0: not asked yet */
	size_t cap_verdicts, cap_groups;
	struct cam_buf name;
};

void cam_frame_shape_init(struct cam_frame_shape *s, const struct cam_reshape *shape);
void cam_frame_shape_free(struct cam_frame_shape *s);

/* Whether a frame, which is the innermost of a stack of the window, is left out: 1, 0. -ENOMEM. */
int cam_frame_shape_hides(struct cam_frame_shape *s, const struct cam_tables *names,
			  const struct cam_frames *frames, const struct cam_tables *t,
			  uint32_t stack, uint32_t frame);
/* Whether the view may start at it: 1 (also where it starts anywhere), 0. -ENOMEM. */
int cam_frame_shape_starts(struct cam_frame_shape *s, const struct cam_tables *names,
			   const struct cam_frames *frames, uint32_t frame);
/* Where a stack starts: its outermost frame that the view may start at. *from: the node, 0: none. -ENOMEM, -E2BIG. */
int cam_frame_shape_find_start(struct cam_frame_shape *s, struct cam_tables *names,
			       struct cam_frames *frames, const struct cam_tables *t,
			       uint32_t stack, uint32_t *from);
/* Its package or file as a frame, or itself. -ENOMEM, -E2BIG. */
int cam_frame_shape_group(struct cam_frame_shape *s, struct cam_tables *names,
			  struct cam_frames *frames, uint32_t frame, uint32_t *out);
/* Whether frames that are of one group as their caller go into it. */
static inline bool cam_frame_shape_merges(const struct cam_frame_shape *s)
{
	return s->shape && (s->shape->recursion || s->shape->group);
}
/* What stands for a stack of which nothing is left. */
int cam_frame_shape_hidden(struct cam_tables *names, struct cam_frames *frames, uint32_t *out);
