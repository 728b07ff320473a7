// SPDX-License-Identifier: Apache-2.0
/*
 * From one clock to another, by a window's anchors. Pure: no clock is read here.
 *
 * Anchors are in order of time_ns; two of the same time are a step of the wall clock there, the
 * later one holds from then on. Those that lack the clock in question (CAM_TIME_NONE, INT64_MIN) are
 * passed over; with none left, the answer is false.
 *
 * Whatever the clocks did, each function is monotone: of two stamps the larger one never maps to the
 * smaller time, so no interval gets a negative width.
 */
#pragma once
#include "model/nouns.h"

/* Who makes an anchor leaves sched_ns out where it is not known to this. */
#define CAM_ANCHOR_SCHED_NS 50000u

/* A time on the window's clock, and how far off it may be. */
struct cam_placed {
	uint64_t time_ns;
	uint64_t uncertainty_ns;
};

/* The kernel log's stamp (sched_clock). Interpolated: that clock drifts against the window's. */
bool cam_anchor_place_sched(const struct cam_anchor *a, size_t n, uint64_t sched_ns,
			    struct cam_placed *out);
/*
 * A wall time. Where the clock was stepped back it was shown twice: *first is when it (or more) was
 * first shown, *last when it (or less) was last shown. Where it was stepped forward over it, both are
 * the step. A range of wall time [from, to) lies between first of from and last of to.
 */
bool cam_anchor_place_wall(const struct cam_anchor *a, size_t n, int64_t realtime_ns,
			   struct cam_placed *first, struct cam_placed *last);
/* What the wall clock showed then. */
bool cam_anchor_wall_of(const struct cam_anchor *a, size_t n, uint64_t time_ns,
			int64_t *realtime_ns, uint64_t *uncertainty_ns);
