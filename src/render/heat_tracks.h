// SPDX-License-Identifier: Apache-2.0
/*
 * Host counters under a heatmap: which lanes there are, what fills one, and what a bin says in words. The
 * same in every picture. Bins are the heatmap's columns.
 */
#pragma once
#include "base/out.h"
#include "query/view_tracks.h"
#include "render/label.h"
#include "render/rgb.h"

#define CAM_HEAT_LANES	    6u
#define CAM_HEAT_LANE_KINDS 5u

/* One lane: a counter, or several that add up. */
struct cam_heat_lane {
	const char *label; /* at most 7 columns */
	enum cam_counter_kind kinds[CAM_HEAT_LANE_KINDS];
	size_t n_kinds;
	double full; /* the value that fills it */
};

/* Those that have anything to show, in order; t may be NULL. */
size_t cam_heat_lanes(const struct cam_tracks *t, struct cam_heat_lane lanes[CAM_HEAT_LANES]);
/* What of the lane a counter fills in that bin: 0 … 1; NAN: not known. */
double cam_heat_lane_part(const struct cam_tracks *t, const struct cam_heat_lane *lane,
			  enum cam_counter_kind kind, size_t bin);
/* Whether any of the lane's counters is known in that bin. */
bool cam_heat_lane_known(const struct cam_tracks *t, const struct cam_heat_lane *lane, size_t bin);
/* "user", "waited to run", … */
const char *cam_heat_track_words(enum cam_counter_kind kind);
struct cam_rgb cam_heat_track_colour(enum cam_counter_kind kind, bool dark);
/* "12.4 %", "3.5 tasks", …: what fills the lane. */
struct cam_figure cam_heat_lane_full(const struct cam_heat_lane *lane);
/* All that is known of a bin, a line each, with a newline before it. */
void cam_heat_bin_put(const struct cam_tracks *t, size_t bin, struct cam_out *out);
/* "java (812) 3.2 s, …": at most n of those who waited longest; false: there are none. */
bool cam_heat_waiters_put(const struct cam_tracks *t, size_t n, enum cam_label_form form,
			  struct cam_out *out);
