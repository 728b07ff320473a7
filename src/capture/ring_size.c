// SPDX-License-Identifier: Apache-2.0
#include "capture/ring_size.h"

#include <errno.h>

size_t cam_ring_size_total(const struct cam_ring_size *s, size_t page_bytes, uint32_t sample_cpus,
			   uint32_t side_cpus)
{
	return (s->sample_bytes + page_bytes) * sample_cpus +
	       (s->side_bytes + page_bytes) * side_cpus;
}

bool cam_ring_size_shrink(struct cam_ring_size *s, size_t page_bytes)
{
	size_t *larger = s->sample_bytes >= s->side_bytes ? &s->sample_bytes : &s->side_bytes;
	if (*larger <= page_bytes)
		return false;
	*larger /= 2;
	return true;
}

int cam_ring_size_choose(size_t max_bytes, size_t page_bytes, uint32_t sample_cpus,
			 uint32_t side_cpus, struct cam_ring_size *out)
{
	size_t most = page_bytes > CAM_RING_MAX_BYTES ? page_bytes : CAM_RING_MAX_BYTES;
	struct cam_ring_size s = {sample_cpus ? most : 0, side_cpus ? most : 0};

	while (cam_ring_size_total(&s, page_bytes, sample_cpus, side_cpus) > max_bytes)
		if (!cam_ring_size_shrink(&s, page_bytes))
			return -ENOMEM;
	*out = s;
	return 0;
}
