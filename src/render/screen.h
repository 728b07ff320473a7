// SPDX-License-Identifier: Apache-2.0
/*
 * Colours on a terminal: said only where they change, and taken back at the end of a line. With
 * CAM_COLOURS_NONE nothing of this writes anything.
 */
#pragma once
#include "base/out.h"
#include "render/rgb.h"

enum cam_text_colours {
	CAM_COLOURS_NONE,
	CAM_COLOURS_256,
	CAM_COLOURS_TRUE,
};

struct cam_screen {
	struct cam_out *out;
	enum cam_text_colours colours;
	long fore, back; /* as the terminal draws now; -1: its own */
	bool bold;
};

void cam_screen_init(struct cam_screen *s, struct cam_out *out, enum cam_text_colours colours);
void cam_screen_fore(struct cam_screen *s, struct cam_rgb c);
void cam_screen_back(struct cam_screen *s, struct cam_rgb c);
void cam_screen_bold(struct cam_screen *s);
/* The terminal's own colours again. */
void cam_screen_plain(struct cam_screen *s);
