// SPDX-License-Identifier: Apache-2.0
#include "ingest/busiest.h"

#include <string.h>

#define PLACES \
	8u /* a busy thread is met often: a few places after its own are enough to find one */

static uint32_t place_of(int32_t tid, uint32_t i)
{
	return ((uint32_t)tid * 2654435761u + i) % CAM_BUSIEST_SLOTS;
}

void cam_busiest_count(struct cam_busiest *b, int32_t tid)
{
	if (tid <= 0)
		return;
	for (uint32_t i = 0; i < PLACES; i++) {
		uint32_t at = place_of(tid, i);
		if (b->slots[at].tid == tid || !b->slots[at].tid) {
			b->slots[at].tid = tid;
			b->slots[at].samples++;
			return;
		}
	}
}

/* Its place stays taken, lest those behind it be looked for in vain. */
void cam_busiest_drop(struct cam_busiest *b, int32_t tid)
{
	for (uint32_t i = 0; i < PLACES; i++) {
		if (b->slots[place_of(tid, i)].tid == tid)
			b->slots[place_of(tid, i)].samples = 0;
	}
}

size_t cam_busiest_take(struct cam_busiest *b, int32_t *tids, size_t max)
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
		tids[n++] = b->slots[best].tid;
		b->slots[best].samples = 0;
	}
	memset(b, 0, sizeof(*b));
	return n;
}
