// SPDX-License-Identifier: Apache-2.0
/*
 * Frames by content: a function of any window is the frame of its symbol, dso and kind, so that windows
 * whose ids have nothing in common merge. Texts are strings of the names that are given. One thread.
 */
#pragma once
#include "query/groups.h"

struct cam_call_frame {
	uint32_t symbol, dso;
	uint32_t kind; /* enum cam_frame_kind */
};

/* Zeroed but for what tells frames apart is empty. */
struct cam_frames {
	bool by_symbol, by_dso; /* what is not told apart is 0 */
	struct cam_call_frame *v;
	size_t n, cap;
	struct cam_index index;
	uint32_t *of; /* of the window: its functions' frames, + 1; 0: not yet asked */
};

void cam_frames_free(struct cam_frames *f);
int cam_frames_intern(struct cam_frames *f, const struct cam_call_frame *frame, uint32_t *out);
/* Before and behind the functions of one window. -ENOMEM. */
int cam_frames_begin(struct cam_frames *f, const struct cam_tables *t);
void cam_frames_end(struct cam_frames *f);
/* The frame of a function; of one that is not there (CAM_NONE): "[unknown]". -ENOMEM, -E2BIG. */
int cam_frames_of(struct cam_frames *f, struct cam_tables *names, const struct cam_tables *t,
		  uint32_t function, uint32_t *out);
