// SPDX-License-Identifier: Apache-2.0
#include "ingest/busiest.h"

#include <string.h>

void cam_busiest_count(struct cam_busiest *b, int32_t pid)
{
	if (pid <= 0)
		return;
	/* A busy process is met often: a few places after its own are enough to find one. */
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t at = ((uint32_t)pid * 2654435761u + i) % CAM_BUSIEST_SLOTS;
		if (b->slots[at].pid == pid || !b->slots[at].pid) {
			b->slots[at].pid = pid;
			b->slots[at].samples++;
			return;
		}
	}
}

size_t cam_busiest_take(struct cam_busiest *b, int32_t *pids, size_t max)
{
	size_t n = 0;
	while (n < max) {
		size_t best = 0;
		for (size_t i = 1; i < CAM_BUSIEST_SLOTS; i++) {
			if (b->slots[i].samples > b->slots[best].samples)
				best = i;
		}
		if (!b->slots[best].samples)
			break;
		pids[n++] = b->slots[best].pid;
		b->slots[best].samples = 0;
	}
	memset(b, 0, sizeof(*b));
	return n;
}
