// SPDX-License-Identifier: Apache-2.0
/*
 * Door E, the heatmap: when CPUs were busy, as a grid.
 *
 * Sides, ownership, thread and refusals as in query/views.h. A cell counts samples; what was not
 * observed is not zero: `seen` says how much of the cell's CPU time was, and whoever shows a cell
 * must show that, too.
 *
 * Two modes. Sub-second: a column is a second, a row a part of it, all CPUs together (what FlameScope
 * shows). Cores: a column is a stretch of time, a row a CPU. In a long span a column stands for many
 * of the finest ones (`fine_ns`): then `samples` is their sum, and `peak` the most that any one of
 * them had, so that 20 ms in 12 hours still show.
 */
#pragma once
#include "query/views.h"

enum cam_heat_mode {
	CAM_HEAT_SUBSECOND,
	CAM_HEAT_CORES,
};

#define CAM_HEAT_ALL_SEEN 255u
#define CAM_HEAT_UNKNOWN  UINT32_MAX

struct cam_heat_cell {
	uint32_t samples, peak;
	uint32_t painted, painted_peak; /* those of them that the paint takes */
	uint8_t seen;			/* 0: nothing of it was observed … CAM_HEAT_ALL_SEEN */
};

struct cam_heatmap {
	enum cam_heat_mode mode;
	/* Row by row: cells[row * n_columns + column]. Row 0 is 0 ms, or the lowest CPU. */
	struct cam_heat_cell *cells;
	uint32_t n_columns, n_rows;
	uint64_t column_ns;
	uint64_t fine_ns; /* a divisor of column_ns; 1 s in the sub-second mode */
	uint32_t *cpus;	  /* per row, in the mode cores; CAM_CPU_NONE: not known */
	/*
	 * Per column of whole seconds, in the mode cores: the most samples that all CPUs together had in any 20 ms of it, as
	 * far as the selection takes them; a CPU has no more than one or two of them, so that no row shows such a moment.
	 * CAM_HEAT_UNKNOWN: not known. NULL: not asked for, or columns are shorter.
	 */
	uint32_t *busiest;
	/* Per column: bits of the causes (1 << enum cam_cause) why some of it was not observed. */
	uint32_t *causes;
	/* The left edge of column 0, on the wall clock (since 1970), or else the windows' own. */
	int64_t from_ns;
	bool wall;
	int64_t realtime_from_ns; /* the same on the wall clock; INT64_MIN: not known */
	bool has_paint;
	uint32_t max_samples, max_peak; /* of any cell */
	uint64_t painted;		/* samples, in all */
	uint64_t outside;   /* samples that a step of the wall clock put beyond the axis */
	uint64_t period_ns; /* nominal, between two samples of a busy CPU; 0: not known */
	struct cam_seen seen;
	char *strings; /* what seen points into */
};

void cam_heatmap_free(struct cam_heatmap *h);

static inline const struct cam_heat_cell *cam_heatmap_cell(const struct cam_heatmap *h,
							   uint32_t column, uint32_t row)
{
	return &h->cells[(size_t)row * h->n_columns + column];
}
/* Less than half of it was observed: it must not look like idle time. */
static inline bool cam_heatmap_unseen(const struct cam_heat_cell *c)
{
	return c->seen < CAM_HEAT_ALL_SEEN / 2 + 1;
}
