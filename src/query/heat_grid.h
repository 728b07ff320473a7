// SPDX-License-Identifier: Apache-2.0
/*
 * The grid of a heatmap while it is filled: samples and what was observed, both by place on the
 * axis: nanoseconds from the left edge of column 0. Knows nothing of windows. heat_grid.c opens
 * with how it works.
 */
#pragma once
#include "query/view_heatmap.h"

#define CAM_HEAT_MAX_CELLS (1u << 24)
#define CAM_HEAT_RING	   8u

struct cam_heat_row {
	uint32_t cpu;
	struct cam_heat_cell *cells;
	float *missing; /* share of each column, by the ledger; NULL: nothing is */
};

/* A finest column that samples still come for. */
struct cam_heat_slot {
	uint64_t fine;
	bool used;
	uint32_t *samples, *painted; /* by row */
	size_t cap_samples, cap_painted;
};

struct cam_heat_grid {
	enum cam_heat_mode mode;
	uint64_t column_ns, fine_ns;
	uint32_t n_columns, n_rows;
	struct cam_heat_row *rows;
	size_t cap_rows;
	uint32_t *row_of; /* CPU → row + 1 */
	size_t n_row_of;
	uint32_t none; /* the row of an unknown CPU + 1; 0: none yet */
	struct cam_heat_slot ring[CAM_HEAT_RING];
	/* Share of each cell that lay within a window: by row, or (cores) once for all rows. */
	float *observed;
	float *missing; /* by column: what the ledger says of all CPUs */
	uint32_t *causes;
	uint64_t outside; /* samples left of column 0 or right of the last */
	/* What was asked for last: most of what comes lies in the same. */
	struct cam_heat_place {
		uint64_t from_ns, number;
	} column, fine;
};

/* n_rows: of the sub-second mode; the rows of the other come as CPUs turn up. -E2BIG, -ENOMEM. */
int cam_heat_grid_init(struct cam_heat_grid *g, enum cam_heat_mode mode, uint32_t n_columns,
		       uint32_t n_rows, uint64_t column_ns, uint64_t fine_ns);
void cam_heat_grid_free(struct cam_heat_grid *g);
/* n samples at a place, of which `painted` are painted. -E2BIG: too many CPUs, -ENOMEM. */
int cam_heat_grid_add(struct cam_heat_grid *g, int64_t at_ns, uint32_t cpu, uint32_t n,
		      uint32_t painted);
/* [from, to) lay within a window. */
void cam_heat_grid_observe(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns);
/*
 * In [from, to) so much of a CPU's time (CAM_CPU_NONE: of each CPU's) was not observed, spread
 * evenly. cpus: how many there are, for the sub-second mode. Errors as of add.
 */
int cam_heat_grid_miss(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns, uint32_t cpu,
		       double missing_ns, uint32_t cpus, enum cam_cause cause);
/* [from, to) lay between windows: unobserved anyway, and this is why. */
void cam_heat_grid_gap(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns,
		       enum cam_cause cause);
/* Fills cells, sizes, CPUs, causes and maxima of a heatmap; the grid is then empty, error or not. */
int cam_heat_grid_finish(struct cam_heat_grid *g, struct cam_heatmap *out);
