// SPDX-License-Identifier: Apache-2.0
#include "render/heat_colour.h"

#include <math.h>

/* Where on the way from nothing to the most a value lies: 0 … 1. */
static double part_of(enum cam_heat_scale scale, uint32_t value, uint32_t max)
{
	if (!value || !max)
		return 0;
	double v = value, m = max;
	if (v >= m)
		return 1;
	switch (scale) {
	case CAM_SCALE_LOG:
		return log1p(v) / log1p(m);
	case CAM_SCALE_SPARSE: {
		/* 1 at a third, 3 at a half, half of the most at three quarters. */
		const double at[] = {0, 1, 3, m / 2, m}, part[] = {0, 0.34, 0.5, 0.75, 1};
		for (int i = 1; i < 5; i++) {
			if (v <= at[i] && at[i] > at[i - 1])
				return part[i - 1] + (part[i] - part[i - 1]) * (v - at[i - 1]) /
							     (at[i] - at[i - 1]);
		}
		return 1;
	}
	case CAM_SCALE_LINEAR:
		break;
	}
	return v / m;
}

unsigned cam_heat_strength(enum cam_heat_scale scale, uint32_t value, uint32_t max)
{
	return (unsigned)ceil(part_of(scale, value, max) * CAM_HEAT_STEPS - 1e-9);
}

uint32_t cam_heat_least(enum cam_heat_scale scale, unsigned strength, uint32_t max)
{
	uint32_t low = 0, high = max;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (cam_heat_strength(scale, middle, max) >= strength)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct cam_heat_step cam_heat_step_of(const struct cam_heatmap *h, const struct cam_heat_cell *c,
				      enum cam_heat_scale scale)
{
	struct cam_heat_step s = {(uint8_t)cam_heat_strength(scale, c->peak, h->max_peak), 0};
	if (h->has_paint && c->peak) {
		double share = (double)c->painted_peak / c->peak;
		s.hue = (uint8_t)ceil((share > 1 ? 1 : share) * (CAM_HEAT_HUES - 1) - 1e-9);
	}
	return s;
}

static struct cam_rgb mix(struct cam_rgb a, struct cam_rgb b, double part)
{
	return (struct cam_rgb){(uint8_t)lround(a.r + (b.r - a.r) * part),
				(uint8_t)lround(a.g + (b.g - a.g) * part),
				(uint8_t)lround(a.b + (b.b - a.b) * part)};
}

/* Five stops from an empty cell to the fullest. */
static struct cam_rgb along(const struct cam_rgb stops[5], double part)
{
	double at = part * 4;
	int i = at >= 4 ? 3 : (int)at;
	return mix(stops[i], stops[i + 1], at - i);
}

struct cam_rgb cam_heat_colour(struct cam_heat_step step, bool has_paint, bool dark)
{
	static const struct cam_rgb heat[2][5] = {
		{{246, 247, 249}, {253, 214, 176}, {248, 157, 95}, {222, 78, 38}, {138, 16, 12}},
		{{22, 25, 31}, {84, 38, 24}, {168, 66, 22}, {240, 128, 36}, {255, 226, 140}},
	};
	static const struct cam_rgb grey[2][5] = {
		{{246, 247, 249},
		 {222, 226, 232},
		 {192, 199, 209},
		 {152, 161, 174},
		 {104, 113, 127}},
		{{22, 25, 31}, {46, 52, 61}, {74, 82, 94}, {112, 121, 134}, {164, 172, 184}},
	};
	static const struct cam_rgb violet[2][5] = {
		{{246, 247, 249}, {226, 184, 246}, {198, 112, 232}, {158, 44, 206}, {96, 8, 140}},
		{{22, 25, 31}, {84, 30, 116}, {142, 52, 190}, {196, 94, 240}, {240, 190, 255}},
	};
	double part = (double)step.strength / CAM_HEAT_STEPS;
	if (!has_paint)
		return along(heat[dark], part);
	return mix(along(grey[dark], part), along(violet[dark], part),
		   (double)step.hue / (CAM_HEAT_HUES - 1));
}

struct cam_rgb cam_heat_unseen(bool dark)
{
	return dark ? (struct cam_rgb){44, 48, 56} : (struct cam_rgb){231, 234, 239};
}

struct cam_rgb cam_heat_hatch(bool dark)
{
	return dark ? (struct cam_rgb){92, 100, 112} : (struct cam_rgb){158, 167, 180};
}
