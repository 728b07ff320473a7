// SPDX-License-Identifier: Apache-2.0
/*
 * The one axis: clock anchors of the last minutes, by which stamps of other clocks become times of samples.
 *
 * Anchors come as they are read, in order. Between two of them a stamp is exact to some 50 µs (the kernel's
 * log) or to the anchors' own uncertainty (the wall clock); before the first and behind the last it is less so, and the
 * answer says how much. Plain data, one thread.
 */
#pragma once
#include "model/anchor.h"

#define CAM_AXIS_ANCHORS 256u

struct cam_axis {
	struct cam_anchor anchors[CAM_AXIS_ANCHORS];
	size_t n;
};

void cam_axis_add(struct cam_axis *x, const struct cam_anchor *a);
/*
 * A stamp of the kernel's log. Without any anchor that knows its clock, that is taken for CLOCK_MONOTONIC,
 * against which it drifts by up to 500 ppm.
 */
struct cam_placed cam_axis_sched(const struct cam_axis *x, uint64_t sched_ns);
/* A wall time; of one that was shown twice, the later that is not after now. False: no anchor knows the wall clock. */
bool cam_axis_wall(const struct cam_axis *x, int64_t realtime_ns, uint64_t now_ns,
		   struct cam_placed *out);
