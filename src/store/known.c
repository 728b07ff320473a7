// SPDX-License-Identifier: Apache-2.0
#include "store/known.h"

#include <string.h>

static int compare(struct cam_text a, struct cam_text b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
	return order ? order : (a.n > b.n) - (a.n < b.n);
}

uint32_t cam_known_find(struct cam_text name)
{
	uint32_t low = 0, high = CAM_KNOWN_NAMES;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = compare(cam_known_name(cam_known_sorted[middle]), name);
		if (!order)
			return cam_known_sorted[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return CAM_KNOWN_NAMES;
}
