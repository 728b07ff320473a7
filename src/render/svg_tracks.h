// SPDX-License-Identifier: Apache-2.0
/* The lanes of host counters in an SVG heatmap. Colours: classes k0, k1, … by kind of counter. */
#pragma once
#include "render/heat_axis.h"
#include "render/heat_tracks.h"

/* Where they stand: the heatmap's own columns. */
struct cam_svg_tracks {
	const struct cam_tracks *tracks; /* NULL: none */
	const struct cam_heatmap *heatmap;
	struct cam_heat_zone zone;
	double left, width; /* pixels, of all bins */
	int top;
};

/* How much room they take, with their legend; 0: there is nothing to show. */
int cam_svg_tracks_height(const struct cam_tracks *t);
void cam_svg_tracks_colours(const struct cam_tracks *t, bool dark, struct cam_out *out);
void cam_svg_tracks_put(const struct cam_svg_tracks *s, struct cam_out *out);
