// SPDX-License-Identifier: Apache-2.0
/*
 * A flame chart: the same samples as a flame graph, in the order in which they were taken. Only
 * neighbours merge.
 *
 * Three steps: cam_flame_build() fills the rows beside the tree; cam_reshape_apply() may change
 * the tree, and moves the rows along; cam_chart_draw() puts what the rows tell in place of the tree.
 */
#pragma once
#include "query/views.h"

struct cam_chart_row {
	uint64_t time_ns;
	uint64_t value;
	uint32_t node;	 /* of the flame; CAM_CHART_GONE: not shown */
	uint32_t window; /* times of different windows are not compared */
	uint32_t cpu;	 /* CAM_CPU_NONE: not known */
	int64_t wall_ns; /* INT64_MIN: not known */
	uint32_t place;	 /* as it came: where times are equal, or there are none */
	bool before;	 /* the first side of a differential */
};
#define CAM_CHART_GONE UINT32_MAX

/* Zeroed is empty. */
struct cam_chart {
	struct cam_chart_row *rows;
	size_t n, cap;
	bool by_group;	  /* first by the frame below the root, then by time */
	size_t max_rows;  /* 0: as many as there can be */
	double min_share; /* what is less of all becomes a part of a [small]; 0: nothing does */
};

/* -E2BIG past max_rows or 2^24 samples, -ENOMEM. */
int cam_chart_add(struct cam_chart *c, struct cam_chart_row row);
/* Node i has become to[i], or CAM_CHART_GONE. */
void cam_chart_move(struct cam_chart *c, const uint32_t *to);
/* -E2BIG past 2^24 nodes, -ENOMEM: f is then as it was. */
int cam_chart_draw(struct cam_chart *c, struct cam_flame *f);
void cam_chart_free(struct cam_chart *c);
