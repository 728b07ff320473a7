// SPDX-License-Identifier: Apache-2.0
/* From a window's functions to frames of a merge, each asked once. Zeroed is empty; for one window. */
#pragma once
#include "query/merge.h"

struct cam_frame_cache {
	uint32_t *frames; /* CAM_NONE: not yet asked */
	size_t n;
};

/* Errors as cam_merge_frame()'s. A function that the tables lack is [unknown]. */
int cam_frame_cache_find(struct cam_frame_cache *c, struct cam_merge *m, const struct cam_tables *t,
			 uint32_t function, uint32_t *frame);
void cam_frame_cache_free(struct cam_frame_cache *c);
