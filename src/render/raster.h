// SPDX-License-Identifier: Apache-2.0
/*
 * A picture of pixels, and the PNG file of it. Text is drawn in capitals, digits and a few signs, 5 × 7
 * dots: enough for axes, and no font has to be found.
 */
#pragma once
#include "base/out.h"
#include "render/heat_colour.h"

struct cam_raster {
	unsigned width, height;
	uint8_t *rgb;
};

#define CAM_RASTER_MAX 32768u /* pixels a side */

/* -EINVAL: no pixels or too many, -ENOMEM. */
int cam_raster_init(struct cam_raster *r, unsigned width, unsigned height, struct cam_rgb fill);
void cam_raster_free(struct cam_raster *r);
/* What lies outside of the picture is left out. */
void cam_raster_rect(struct cam_raster *r, int x, int y, int width, int height, struct cam_rgb c);
/* Diagonal lines, 6 pixels apart, whose places do not depend on the rectangle's. */
void cam_raster_hatch(struct cam_raster *r, int x, int y, int width, int height, struct cam_rgb c);
/* Dots of 2 × 2 pixels; characters that it has not are left out. */
void cam_raster_text(struct cam_raster *r, int x, int y, struct cam_text s, struct cam_rgb c);
/* Pixels of such a text. */
int cam_raster_text_width(struct cam_text s);
/* As a PNG file. The stream's error, -ENOMEM. */
int cam_raster_png(const struct cam_raster *r, struct cam_out *out);
