// SPDX-License-Identifier: Apache-2.0
#include "render/screen.h"

#include <stdlib.h>

void cam_screen_init(struct cam_screen *s, struct cam_out *out, enum cam_text_colours colours)
{
	*s = (struct cam_screen){.out = out, .colours = colours, .fore = -1, .back = -1};
}

/* Of 6 × 6 × 6 colours and 24 greys the nearest. */
static long nearest_256(struct cam_rgb c)
{
	static const int level[] = {0, 95, 135, 175, 215, 255};
	const int v[3] = {c.r, c.g, c.b};
	int cube = 0, cube_off = 0, grey_off = 0;
	int grey = (v[0] + v[1] + v[2] - 3 * 3) / (3 * 10);
	grey = grey < 0 ? 0 : grey > 23 ? 23 : grey;
	for (int k = 0; k < 3; k++) {
		int best = 0;
		for (int i = 1; i < 6; i++) {
			if (abs(level[i] - v[k]) < abs(level[best] - v[k]))
				best = i;
		}
		cube = cube * 6 + best;
		cube_off += abs(level[best] - v[k]);
		grey_off += abs(8 + 10 * grey - v[k]);
	}
	return grey_off < cube_off ? 232 + grey : 16 + cube;
}

static void set(struct cam_screen *s, long *now, int layer, struct cam_rgb c)
{
	bool direct = s->colours == CAM_COLOURS_TRUE;
	long want = direct ? (long)c.r << 16 | c.g << 8 | c.b : nearest_256(c);
	if (s->colours == CAM_COLOURS_NONE || *now == want)
		return;
	*now = want;
	if (direct)
		cam_out_printf(s->out, "\033[%d;2;%u;%u;%um", layer, c.r, c.g, c.b);
	else
		cam_out_printf(s->out, "\033[%d;5;%ldm", layer, want);
}

void cam_screen_fore(struct cam_screen *s, struct cam_rgb c)
{
	set(s, &s->fore, 38, c);
}

void cam_screen_back(struct cam_screen *s, struct cam_rgb c)
{
	set(s, &s->back, 48, c);
}

void cam_screen_bold(struct cam_screen *s)
{
	if (s->colours != CAM_COLOURS_NONE && !s->bold)
		cam_out_str(s->out, "\033[1m");
	s->bold = true;
}

void cam_screen_plain(struct cam_screen *s)
{
	if (s->colours != CAM_COLOURS_NONE && (s->fore >= 0 || s->back >= 0 || s->bold))
		cam_out_str(s->out, "\033[0m");
	s->fore = s->back = -1;
	s->bold = false;
}
