// SPDX-License-Identifier: Apache-2.0
/* Between svg_flame.c, which draws the frames, and svg_sheet.c, which draws what is around them. */
#pragma once
#include "render/svg_flame.h"

#define CAM_SVG_PAD 16 /* left and right of the frames */
#define CAM_SVG_TOP 76 /* where they start */

struct cam_svg_picture {
	struct cam_out *out;
	const struct cam_flame *flame;
	const struct cam_svg_flame_options *o;
	double width, min_width;
	double row, font, column; /* pixels: height of a frame, of its text, width of a character */
	double factor;
	double per;	/* pixels a unit of the flame */
	uint64_t whole; /* what the whole width is: all, or more */
	uint64_t scale; /* the common divisor of all values */
	uint64_t max_change;
	uint32_t rows; /* drawn */
	uint64_t narrow, gone;
	uint32_t separator;		/* depth of the "--" we are below; UINT32_MAX: none */
	bool kinds[CAM_FRAME_KIND_MAX]; /* drawn */
	uint64_t *cursor;		/* per depth: where the next frame starts */
	struct cam_buf name;		/* the one being drawn, annotated */
	int error;			/* of the palette's map */
};

void cam_svg_text(struct cam_svg_picture *p, struct cam_text s, size_t columns);
/* An amount with its unit. */
void cam_svg_value(struct cam_svg_picture *p, uint64_t v);
struct cam_text cam_svg_unit(const struct cam_svg_picture *p);

/* The start of the file, up to where frames come; then what stands above and below them. */
void cam_svg_sheet_open(struct cam_svg_picture *p, int height);
void cam_svg_sheet_nothing(struct cam_svg_picture *p);
/* Drawn after the frames: it stays in sight, above them, while the page is scrolled. */
void cam_svg_sheet_head(struct cam_svg_picture *p);
void cam_svg_sheet_foot(struct cam_svg_picture *p, int y);
int cam_svg_sheet_foot_height(const struct cam_svg_picture *p);
void cam_svg_sheet_close(struct cam_svg_picture *p, bool with_script);
