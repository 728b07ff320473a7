// SPDX-License-Identifier: Apache-2.0
/*
 * Flame tree → a terminal: an icicle, root on top, as wide as the terminal and no higher. With colours
 * edges lie at eighths of a character; without, frames are "|name---".
 */
#pragma once
#include "query/views.h"
#include "render/screen.h"

struct cam_text_flame_options {
	struct cam_text title;	    /* first line; empty: none */
	struct cam_text count_name; /* of the counts; empty: the flame's unit */
	double factor;		    /* counts are multiplied by it where shown; 0: 1 */
	unsigned columns;	    /* 0: 100; at least 20 are used */
	unsigned rows;		    /* lines to use in all, at most; 0: as many as it takes */
	enum cam_text_colours colours;
	bool chart;   /* in order of time, not of name: say so */
	bool by_self; /* of a differential: colour by the frame's own change */
	bool negate;  /* … and blue where there is more */
};

/* The error of the stream, or -ENOMEM. */
int cam_text_flame_write(const struct cam_flame *flame, const struct cam_text_flame_options *o,
			 struct cam_out *out);
