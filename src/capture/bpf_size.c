// SPDX-License-Identifier: Apache-2.0
#include "capture/bpf_size.h"

#include "capture/bpf_ring.h"

#include <errno.h>

#define MAX_RING_BYTES (4u << 20) /* 256 KiB a CPU, counted twice */
#define MAX_SIDE_BYTES (512u << 10)
#define MAX_CONTROLS   256u
/* A ring with room for less than two samples of the longest kind, without their copies (the program
 * makes none where they would take more than half of it), would lose the second. */
#define MIN_RING_BYTES 16384u
_Static_assert(MIN_RING_BYTES >= 2 * (CAM_WIRE_MAX_PLAIN_BYTES + 8), "");

size_t cam_bpf_size_total(const struct cam_bpf_size *s, const struct cam_bpf_places *p)
{
	size_t controls =
		s->control_every ? (p->cpus + s->control_every - 1) / s->control_every : 0;
	return cam_bpf_ring_mapped_bytes(s->ring_bytes, p->page_bytes) * p->rings +
	       (s->side_bytes + p->page_bytes) * p->cpus + 2 * p->page_bytes * controls;
}

bool cam_bpf_size_shrink(struct cam_bpf_size *s, size_t page_bytes)
{
	size_t least = page_bytes > MIN_RING_BYTES ? page_bytes : MIN_RING_BYTES;
	bool samples = 2 * s->ring_bytes / CAM_WIRE_CPUS_A_RING >= s->side_bytes;
	if (samples && s->ring_bytes > least)
		s->ring_bytes /= 2;
	else if (s->side_bytes > page_bytes)
		s->side_bytes /= 2;
	else if (s->ring_bytes > least)
		s->ring_bytes /= 2;
	else
		return false;
	return true;
}

/* A ring that fewer CPUs share begins with their part of it. */
static size_t first_ring_bytes(const struct cam_bpf_places *p)
{
	uint32_t sharing = (p->cpus + p->rings - 1) / p->rings;
	size_t bytes = MAX_RING_BYTES;
	while (sharing * 2 <= CAM_WIRE_CPUS_A_RING && bytes > p->page_bytes) {
		sharing *= 2;
		bytes /= 2;
	}
	return bytes;
}

int cam_bpf_size_choose(size_t max_bytes, const struct cam_bpf_places *p, struct cam_bpf_size *out)
{
	struct cam_bpf_size s = {
		.side_bytes = MAX_SIDE_BYTES > p->page_bytes ? MAX_SIDE_BYTES : p->page_bytes,
		.control_every = (p->cpus + MAX_CONTROLS - 1) / MAX_CONTROLS,
	};
	if (!p->cpus || !p->rings)
		return -EINVAL;
	s.ring_bytes = first_ring_bytes(p);
	while (cam_bpf_size_total(&s, p) > max_bytes)
		if (!cam_bpf_size_shrink(&s, p->page_bytes))
			return -ENOMEM;
	*out = s;
	return 0;
}
