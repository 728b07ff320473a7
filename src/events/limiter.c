// SPDX-License-Identifier: Apache-2.0
#include "events/limiter.h"

#include "base/units.h"

bool cam_limiter_take(struct cam_limiter *l, uint64_t now_ns)
{
	uint64_t price = CAM_NS_PER_SEC / l->per_second;
	uint64_t passed = now_ns > l->last_ns ? now_ns - l->last_ns : 0;
	l->spent_ns -= passed < l->spent_ns ? passed : l->spent_ns;
	if (now_ns > l->last_ns)
		l->last_ns = now_ns;
	if (l->spent_ns + price > price * l->burst)
		return false;
	l->spent_ns += price;
	return true;
}
