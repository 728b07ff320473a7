// SPDX-License-Identifier: Apache-2.0
/*
 * From a cell to its colour, the same in every picture.
 *
 * The count gives the strength, by one of three scales; the paint, where there is one, the hue: grey
 * (nothing of the cell matches) to violet (all of it). Strengths and hues come in steps, so
 * that a picture needs few distinct colours.
 */
#pragma once
#include "query/view_heatmap.h"
#include "render/rgb.h"

enum cam_heat_scale {
	CAM_SCALE_LINEAR,
	CAM_SCALE_LOG,
	CAM_SCALE_SPARSE, /* one sample is a third of the way already: rare ones stand out */
};

#define CAM_HEAT_STEPS 12u /* of strength, 1 … STEPS; 0 is an empty cell */
#define CAM_HEAT_HUES  5u  /* of paint, 0 … HUES - 1 */

struct cam_heat_step {
	uint8_t strength, hue;
};

/* 0 for 0, else at least 1. */
unsigned cam_heat_strength(enum cam_heat_scale scale, uint32_t value, uint32_t max);
/* The smallest value of that strength: for a legend. */
uint32_t cam_heat_least(enum cam_heat_scale scale, unsigned strength, uint32_t max);
struct cam_heat_step cam_heat_step_of(const struct cam_heatmap *h, const struct cam_heat_cell *c,
				      enum cam_heat_scale scale);
struct cam_rgb cam_heat_colour(struct cam_heat_step step, bool has_paint, bool dark);
/* What is drawn where nothing was observed, and the lines over it. */
struct cam_rgb cam_heat_unseen(bool dark);
struct cam_rgb cam_heat_hatch(bool dark);
