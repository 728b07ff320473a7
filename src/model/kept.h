// SPDX-License-Identifier: Apache-2.0
/*
 * When a core is kept: by samples alone, so the same words for windows that are searched (query/starve.h) and for the samples
 * of now (ingest/keeping.h).
 *
 * A run goes on as long as at least 85 % of a core's samples are its own, and none is missing between two: a sampler sees
 * no waiting, so samples without a hole are a core that nobody else got. From half a second on the core was kept, if the machine
 * had room meanwhile: less than 85 % of what all CPUs have.
 */
#pragma once
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

#define CAM_KEPT_PERCENT      85u /* of a core's samples */
#define CAM_KEPT_LEAST_NS     (CAM_NS_PER_SEC / 2)
#define CAM_KEPT_BUSY_PERCENT 85u /* of the machine: it has no room from there on */
#define CAM_KEPT_TENTH_NS     (CAM_NS_PER_SEC / 10) /* by which the machine's samples are counted */

struct cam_kept_run {
	uint64_t from_ns, end_ns;
	uint64_t own, all;	   /* so far; all: 0: there is none */
	uint64_t own_end, all_end; /* at its last own sample that was still enough */
};

static inline void cam_kept_begin(struct cam_kept_run *r, uint64_t time_ns)
{
	*r = (struct cam_kept_run){time_ns, time_ns, 1, 1, 1, 1};
}

/* True: it goes on. */
static inline bool cam_kept_extend(struct cam_kept_run *r, uint64_t time_ns, bool own)
{
	r->own += own;
	r->all++;
	bool enough = r->own * 100 >= r->all * CAM_KEPT_PERCENT;
	if (own && enough) {
		r->end_ns = time_ns;
		r->own_end = r->own;
		r->all_end = r->all;
	}
	return enough || r->all - r->own <= 2;
}

/* A sample stands for the period that it ends. */
static inline uint64_t cam_kept_length(const struct cam_kept_run *r, uint64_t period_ns)
{
	return r->own_end ? r->end_ns - r->from_ns + period_ns : 0;
}

/* Whether samples are missing between two of a core. */
static inline bool cam_kept_is_hole(uint64_t from_ns, uint64_t to_ns, uint64_t period_ns)
{
	return (to_ns - from_ns) * 10 > period_ns * 25;
}
