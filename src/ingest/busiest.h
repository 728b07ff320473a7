// SPDX-License-Identifier: Apache-2.0
/* Which threads were sampled most since it was last asked: for the counters that are read of the
 * busiest only. Threads, not processes: who waits in a pool is not its leader. Fixed size; of more than
 * CAM_BUSIEST_SLOTS threads at a time some are missed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CAM_BUSIEST_SLOTS 256u

struct cam_busiest {
	struct {
		int32_t tid;
		uint32_t samples;
	} slots[CAM_BUSIEST_SLOTS];
};

void cam_busiest_count(struct cam_busiest *b, int32_t tid);
/* It has ended: there is nothing left to ask of it. */
void cam_busiest_drop(struct cam_busiest *b, int32_t tid);
/* At most max tids, most samples first; then all begins anew. */
size_t cam_busiest_take(struct cam_busiest *b, int32_t *tids, size_t max);
