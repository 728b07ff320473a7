// SPDX-License-Identifier: Apache-2.0
/* Selection → heatmap. */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/view_heatmap.h"

#define CAM_HEAT_LEAST_ROWS  10u
#define CAM_HEAT_MOST_ROWS   100u
#define CAM_HEAT_LEAST_STEP  1000000u /* ns */
#define CAM_HEAT_MAX_COLUMNS 65536u

struct cam_heatmap_options {
	enum cam_heat_mode mode;
	uint32_t rows;	  /* of the sub-second mode; 0: 50 */
	uint64_t step_ns; /* a column, in the sub-second mode of whole seconds; 0: whatever fits */
	uint32_t max_columns; /* 0: 1000. Longer spans get wider columns, step_ns refuses them */
	/* What to paint: a selection of which filters by name count; NULL: nothing. */
	const struct cam_selection *paint;
	/* Of the mode cores: cam_heatmap.busiest is wanted. */
	bool busiest;
	const struct cam_progress *progress;
};

/*
 * Of a selection whose times are settled (cam_selection_settle()).
 *
 * The axis is the wall clock where all windows know it to a tenth of a second, else the windows' own clock
 * where they have one in common, else the wall clock as well as it is known. It begins and ends with
 * what was recorded; or, unless more than nine tenths of that are empty, with what was asked for.
 *
 * In the mode cores, where a column is whole seconds and no filter needs the samples, windows that
 * are taken whole are answered from their footers; their seconds are put in the nearest one of the axis. So are they in the
 * other mode, of all CPUs, where a column is several seconds and `rows` divides 50: by 20 ms of their clock, so that a row may be off by 10 ms.
 *
 * Errors, with *out empty: -EDOM: nothing of the selection has times, -ENODATA: no window is
 * touched, -E2BIG: more columns than max_columns at that step, or more cells than 2^24; -EINVAL, -ENOMEM; what
 * progress answered.
 */
int cam_heatmap_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_heatmap_options *o, struct cam_heatmap *out);
