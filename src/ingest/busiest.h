// SPDX-License-Identifier: Apache-2.0
/* Which processes were sampled most since it was last asked: for the counters that are read of the
 * busiest only. Fixed size; of more than CAM_BUSIEST_SLOTS processes at a time some are missed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CAM_BUSIEST_SLOTS 256u

struct cam_busiest {
	struct {
		int32_t pid;
		uint32_t samples;
	} slots[CAM_BUSIEST_SLOTS];
};

void cam_busiest_count(struct cam_busiest *b, int32_t pid);
/* At most max pids, most samples first; then all begins anew. */
size_t cam_busiest_take(struct cam_busiest *b, int32_t *pids, size_t max);
