// SPDX-License-Identifier: Apache-2.0
/*
 * Flame tree → one SVG file: self-contained, readable without script and in <img>, interactive in
 * a browser. See docs/svg.md for what a reader of the file may rely on.
 */
#pragma once
#include "base/out.h"
#include "query/views.h"
#include "render/frame_attributes.h"
#include "render/palette.h"

/* Zeroed is perfcam's own look. */
struct cam_svg_flame_options {
	struct cam_text title;	    /* empty: "Flame graph" and the like */
	struct cam_text when;	    /* host and time: the title where there is none, if not empty */
	struct cam_text scope;	    /* what was asked for, "pid 2997": first in the subtitle */
	struct cam_text subtitle;   /* empty: host, time and count of what was seen */
	struct cam_text notes;	    /* a comment at the start of the file */
	struct cam_text count_name; /* of the counts; empty: the flame's unit */
	struct cam_text name_type;  /* before the name in the line below the picture */
	/* These three stand in markup as they are: the caller has checked them. */
	struct cam_text font;	    /* a font family */
	struct cam_text encoding;   /* of the XML declaration; empty: UTF-8, not declared */
	struct cam_text background; /* as cam_background_find() takes it; empty: white or black */
	bool icicle;		    /* root on top */
	bool chart;		    /* frames are in order of time, not of name: say so */
	bool html;		    /* a page that holds the picture, and may run nothing else */
	bool negate;		    /* of a differential: blue where there is more */
	bool by_self;	     /* … colour by the frame's own change, not with all below it */
	unsigned width;	     /* pixels; 0: 1200, and as wide as the window in a browser */
	unsigned row_height; /* pixels; 0: 18 */
	double font_size;    /* of frames, pixels; 0: 11 */
	double font_width;   /* of a character on average, parts of the size; 0: 0.6 */
	double min_width;    /* pixels; narrower frames are left out; 0: 0.1 */
	double min_share;    /* instead, if not 0: a part of all, up to 1 */
	double total;	     /* in the flame's unit: what the whole width is, if more than all */
	double factor;	     /* counts are multiplied by it where shown; 0: 1 */
	struct cam_palette *palette;		       /* NULL: colours by kind of code */
	const struct cam_frame_attributes *attributes; /* NULL: none */
};

/* The error of the stream, which the caller finishes; -ENOMEM, -E2BIG. The same flame and options give
 * the same bytes, but with random colours. */
int cam_svg_flame_write(const struct cam_flame *flame, const struct cam_svg_flame_options *o,
			struct cam_out *out);
