// SPDX-License-Identifier: Apache-2.0
/*
 * Flame tree → one SVG file: self-contained, readable without script and in <img>, interactive in
 * a browser. See docs/svg.md for what a reader of the file may rely on.
 */
#pragma once
#include "base/out.h"
#include "query/views.h"

struct cam_svg_flame_options {
	struct cam_text title;	  /* empty: "Flame graph" and the like */
	struct cam_text when;	  /* host and time: the title where there is none, if not empty */
	struct cam_text scope;	  /* what was asked for, "pid 2997": first in the subtitle */
	struct cam_text subtitle; /* empty: host, time and count of what was seen */
	bool icicle;		  /* root on top */
	unsigned width;		  /* pixels; 0: 1200 */
	double min_width;	  /* pixels; narrower frames are left out; 0: 0.1 */
};

/* The error of the stream, which the caller finishes. The same flame gives the same bytes. */
int cam_svg_flame_write(const struct cam_flame *flame, const struct cam_svg_flame_options *o,
			struct cam_out *out);
