// SPDX-License-Identifier: Apache-2.0
/* Heatmap → one SVG file: no script, colours for light and dark readers, every cell says what it is. */
#pragma once
#include "base/out.h"
#include "render/heat_axis.h"
#include "render/heat_colour.h"
#include "render/heat_tracks.h"

struct cam_heat_options {
	struct cam_text title;	  /* empty: "Heatmap" */
	struct cam_text subtitle; /* what was asked for */
	struct cam_text paint;	  /* what is painted, as it was asked for */
	enum cam_heat_scale scale;
	struct cam_heat_zone zone;
	unsigned width;			 /* pixels; 0: 1200. In a terminal: characters; 0: 100 */
	bool dark;			 /* of pictures that cannot ask their reader */
	const struct cam_tracks *tracks; /* host counters of the same time; NULL: none */
};

/* How many columns a picture of that width has room for. */
unsigned cam_svg_heatmap_columns(unsigned width);
/* The error of the stream, which the caller finishes. The same map gives the same bytes. */
int cam_svg_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			  struct cam_out *out);
