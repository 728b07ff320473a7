// SPDX-License-Identifier: Apache-2.0
/*
 * Door E, the overview: how busy the machine was over all that is kept, in bins of equal length.
 *
 * Sides, ownership, thread and refusals as in query/views.h. Shares are of the machine: 1 is every CPU
 * busy all the time. What was not observed is no idle time: `unseen` has it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct cam_overview {
	int64_t from_ns; /* wall clock, since 1970 */
	uint64_t step_ns;
	size_t n;
	float *busy;		       /* mean of what was observed of the bin */
	float *peak;		       /* its busiest second */
	float *unseen;		       /* 0 … 1 of the bin */
	uint8_t *pinned;	       /* 1: some of it is kept by a pin */
	uint64_t unreadable, unplaced; /* windows left out: damaged, or without a wall clock */
};

void cam_overview_free(struct cam_overview *o);
