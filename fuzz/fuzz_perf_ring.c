// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a perf ring: a byte of flags, two of the offset at which they begin, then records. */
#include "capture/ring.h"

#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_round(struct cam_ring *r, uint64_t round)
{
	static uint64_t packed[CAM_RAW_MAX_BYTES / 8 + 1];
	struct cam_raw raw;
	uint64_t time_ns;
	cam_ring_begin(r, round);
	for (unsigned n = 0; r->stream.peek(&r->stream, &time_ns) && (round || n < 3); n++) {
		r->stream.take(&r->stream, &raw);
		cam_raw_pack(&raw, packed); /* reads all that the record points at */
	}
	cam_ring_end(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	size_t bytes = 4096u << (data[0] & 3), n = size - 3;
	uint64_t start = (data[1] | data[2] << 8) & ~7u;
	struct perf_event_mmap_page page = {.data_tail = start, .data_head = start + n};
	uint8_t *ring = aligned_alloc(8, bytes);
	struct cam_ring_options o = {127, data[0] & 8, 0, false, data[0] & 4};
	struct cam_ring r;
	for (size_t i = 0; ring && i < bytes; i++)
		ring[(start + i) & (bytes - 1)] = i < n ? data[3 + i] : 0;
	if (ring && cam_ring_init(&r, &o, &page, ring, bytes) == 0) {
		read_round(&r, 0);
		read_round(&r, 1);
		cam_ring_free(&r);
	}
	free(ring);
	return 0;
}
