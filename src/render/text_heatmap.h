// SPDX-License-Identifier: Apache-2.0
/*
 * Heatmap → a terminal: two cells a character (upper and lower half), by colour; or one of ten
 * characters where there is none. What was not observed is a '?', never a blank.
 */
#pragma once
#include "render/screen.h"
#include "render/svg_heatmap.h"

/* How many columns of a heatmap a terminal of that many characters shows. */
unsigned cam_text_heatmap_columns(unsigned terminal_columns);
int cam_text_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			   enum cam_text_colours colours, struct cam_out *out);
