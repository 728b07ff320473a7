// SPDX-License-Identifier: Apache-2.0
#include "events/axis.h"

#include <string.h>

#define DRIFT 2000u /* 500 ppm */

void cam_axis_add(struct cam_axis *x, const struct cam_anchor *a)
{
	/* Half at a time: moved seldom, and the last minutes are always there. */
	if (x->n == CAM_AXIS_ANCHORS) {
		x->n = CAM_AXIS_ANCHORS / 2;
		memmove(x->anchors, x->anchors + CAM_AXIS_ANCHORS - x->n,
			x->n * sizeof(x->anchors[0]));
	}
	x->anchors[x->n++] = *a;
}

struct cam_placed cam_axis_sched(const struct cam_axis *x, uint64_t sched_ns)
{
	struct cam_placed p;
	if (cam_anchor_place_sched(x->anchors, x->n, sched_ns, &p))
		return p;
	return (struct cam_placed){sched_ns, CAM_ANCHOR_SCHED_NS + sched_ns / DRIFT};
}

bool cam_axis_wall(const struct cam_axis *x, int64_t realtime_ns, uint64_t now_ns,
		   struct cam_placed *out)
{
	struct cam_placed first, last;
	if (!cam_anchor_place_wall(x->anchors, x->n, realtime_ns, &first, &last))
		return false;
	*out = last.time_ns <= now_ns ? last : first;
	return true;
}
