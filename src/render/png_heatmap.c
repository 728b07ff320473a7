// SPDX-License-Identifier: Apache-2.0
#include "render/png_heatmap.h"

#include "base/units.h"
#include "render/raster.h"

#include <math.h>
#include <stdio.h>

#define LEFT  92
#define RIGHT 16
#define TOP   64
#define BELOW 68
#define LEAST 3

struct picture {
	struct cam_raster raster;
	const struct cam_heatmap *h;
	const struct cam_heat_options *o;
	int column_px, row_px, plot_px, tracks_px;
	struct cam_rgb ink, faint, warn;
};

unsigned cam_png_heatmap_columns(unsigned width)
{
	unsigned room = (width ? width : 1200) - LEFT - RIGHT;
	return room / LEAST;
}

static void put_text(struct picture *p, int x, int y, const char *s, struct cam_rgb c)
{
	cam_raster_text(&p->raster, x, y, cam_text_of(s), c);
}

static void put_cells(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	bool dark = p->o->dark, up = h->mode == CAM_HEAT_SUBSECOND;
	int gap_x = p->column_px >= 6, gap_y = p->row_px >= 6;
	for (uint32_t row = 0; row < h->n_rows; row++) {
		int y = TOP + p->row_px * (int)(up ? h->n_rows - 1 - row : row);
		for (uint32_t column = 0; column < h->n_columns; column++) {
			const struct cam_heat_cell *c = cam_heatmap_cell(h, column, row);
			int x = LEFT + p->column_px * (int)column;
			if (cam_heatmap_unseen(c)) {
				cam_raster_rect(&p->raster, x, y, p->column_px, p->row_px,
						cam_heat_unseen(dark));
				cam_raster_hatch(&p->raster, x, y, p->column_px, p->row_px,
						 cam_heat_hatch(dark));
				continue;
			}
			struct cam_heat_step s = cam_heat_step_of(h, c, p->o->scale);
			cam_raster_rect(&p->raster, x, y, p->column_px - (s.strength ? gap_x : 0),
					p->row_px - (s.strength ? gap_y : 0),
					cam_heat_colour(s, h->has_paint, dark));
		}
	}
	for (uint32_t column = 0; column < h->n_columns; column++) {
		if (h->causes[column])
			cam_raster_rect(&p->raster, LEFT + p->column_px * (int)column,
					TOP + p->plot_px + 2, p->column_px, 3, p->warn);
	}
}

static int lane_height(const struct cam_heat_lane *lane)
{
	return lane->n_kinds > 1 ? 34 : 16;
}

static int tracks_height(const struct cam_tracks *t)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(t, lanes);
	int height = n ? 4 : 0;
	for (size_t i = 0; i < n; i++)
		height += lane_height(&lanes[i]) + 4;
	return height;
}

/* A lane of host counters, those that add up upon each other. */
static void put_lane(struct picture *p, const struct cam_heat_lane *lane, int top)
{
	const struct cam_tracks *t = p->o->tracks;
	int wide = p->column_px * (int)p->h->n_columns, height = lane_height(lane);
	cam_raster_rect(&p->raster, LEFT, top, wide, height,
			cam_heat_colour((struct cam_heat_step){0}, false, p->o->dark));
	for (size_t bin = 0; bin < t->n; bin++) {
		int x = LEFT + (int)((size_t)wide * bin / t->n), y = top + height;
		int w = LEFT + (int)((size_t)wide * (bin + 1) / t->n) - x;
		if (!cam_heat_lane_known(t, lane, bin)) {
			cam_raster_rect(&p->raster, x, top, w, height, cam_heat_unseen(p->o->dark));
			cam_raster_hatch(&p->raster, x, top, w, height, cam_heat_hatch(p->o->dark));
			continue;
		}
		for (size_t k = 0; k < lane->n_kinds; k++) {
			double part = cam_heat_lane_part(t, lane, lane->kinds[k], bin);
			int high = isnan(part) ? 0 : (int)(part * height + 0.5);
			high = high < y - top ? high : y - top;
			y -= high;
			cam_raster_rect(&p->raster, x, y, w, high,
					cam_heat_track_colour(lane->kinds[k], p->o->dark));
		}
	}
}

static void put_tracks(struct picture *p)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(p->o->tracks, lanes);
	int top = TOP + p->plot_px + 8;
	for (size_t i = 0; i < n; i++) {
		int width = cam_raster_text_width(cam_text_of(lanes[i].label));
		put_lane(p, &lanes[i], top);
		put_text(p, LEFT - 8 - width > 2 ? LEFT - 8 - width : 2,
			 top + lane_height(&lanes[i]) / 2 - 7, lanes[i].label, p->faint);
		top += lane_height(&lanes[i]) + 4;
	}
}

static void put_axes(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	int wide = p->column_px * (int)h->n_columns, below = TOP + p->plot_px + p->tracks_px;
	uint64_t tick = cam_heat_tick_ns(h, (unsigned)wide / 120 + 1), at;
	uint32_t column = cam_heat_next_tick(h, &p->o->zone, tick, 0, &at);
	int free_from = LEFT;
	while (column < h->n_columns) {
		int x = LEFT +
			(int)((double)wide * (double)at / (double)(h->column_ns * h->n_columns));
		struct cam_figure label = cam_heat_time(h, &p->o->zone, at, tick < CAM_NS_PER_SEC);
		int half = cam_raster_text_width(cam_text_of(label.s)) / 2;
		cam_raster_rect(&p->raster, x, below + 6, 2, 5, p->faint);
		if (x - half >= free_from && x + half <= (int)p->raster.width) {
			put_text(p, x - half, below + 15, label.s, p->faint);
			free_from = x + half + 12;
		}
		column = cam_heat_next_tick(h, &p->o->zone, tick, column + 1, &at);
	}
	put_text(p, 6, below + 15, cam_heat_offset(h, &p->o->zone, 0).s, p->faint);
	uint32_t every = (uint32_t)(20 / p->row_px) + 1;
	if (h->mode == CAM_HEAT_SUBSECOND && h->n_rows >= 10)
		every = h->n_rows / 5;
	for (uint32_t row = 0; row < h->n_rows; row += every) {
		struct cam_figure label = cam_heat_row(h, row);
		bool up = h->mode == CAM_HEAT_SUBSECOND;
		int y = TOP + p->row_px * (int)(up ? h->n_rows - 1 - row : row);
		put_text(p, LEFT - 8 - cam_raster_text_width(cam_text_of(label.s)),
			 y + p->row_px / 2 - 7, label.s, p->faint);
	}
}

static void put_legend(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	int y = TOP + p->plot_px + p->tracks_px + 42, x = LEFT;
	char text[128];
	put_text(p, x, y, "0", p->faint);
	x += 16;
	for (unsigned s = 0; s <= CAM_HEAT_STEPS; s++, x += 14)
		cam_raster_rect(
			&p->raster, x, y, 14, 14,
			cam_heat_colour((struct cam_heat_step){(uint8_t)s, CAM_HEAT_HUES - 1},
					h->has_paint, p->o->dark));
	snprintf(text, sizeof(text), " %u samples", h->max_peak);
	put_text(p, x, y, text, p->faint);
	x += cam_raster_text_width(cam_text_of(text)) + 36;
	cam_raster_rect(&p->raster, x, y, 14, 14, cam_heat_unseen(p->o->dark));
	cam_raster_hatch(&p->raster, x, y, 14, 14, cam_heat_hatch(p->o->dark));
	put_text(p, x + 20, y, "not observed", p->faint);
	x += 20 + cam_raster_text_width(CAM_TEXT("not observed")) + 36;
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(p->o->tracks, lanes);
	for (size_t k = 0; n && k < lanes[0].n_kinds && lanes[0].n_kinds > 1; k++) {
		const char *words = cam_heat_track_words(lanes[0].kinds[k]);
		cam_raster_rect(&p->raster, x, y, 14, 14,
				cam_heat_track_colour(lanes[0].kinds[k], p->o->dark));
		put_text(p, x + 20, y, words, p->faint);
		x += 20 + cam_raster_text_width(cam_text_of(words)) + 16;
	}
}

static struct cam_rgb pick(bool dark, uint32_t light_rgb, uint32_t dark_rgb)
{
	uint32_t v = dark ? dark_rgb : light_rgb;
	return (struct cam_rgb){(uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
}

int cam_png_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			  struct cam_out *out)
{
	struct picture p = {.h = h, .o = o};
	unsigned width = o->width < 640 ? (o->width ? 640 : 1200) : o->width;
	p.ink = pick(o->dark, 0x14181f, 0xe8ecf2);
	p.faint = pick(o->dark, 0x47515f, 0xaab3c0);
	p.warn = pick(o->dark, 0xc77700, 0xf0b03c);
	p.column_px = (int)((width - LEFT - RIGHT) / h->n_columns);
	int widest = h->mode == CAM_HEAT_SUBSECOND ? 20 : 40;
	p.column_px = p.column_px < 1 ? 1 : p.column_px > widest ? widest : p.column_px;
	p.row_px = 400 / (int)h->n_rows;
	p.row_px = p.row_px < 4 ? 4 : p.row_px > 22 ? 22 : p.row_px;
	p.plot_px = p.row_px * (int)h->n_rows;
	p.tracks_px = tracks_height(o->tracks);
	int err =
		cam_raster_init(&p.raster, width, (unsigned)(TOP + p.plot_px + p.tracks_px + BELOW),
				pick(o->dark, 0xffffff, 0x0f1216));
	if (err)
		return err;
	cam_raster_text(&p.raster, 16, 14, o->title, p.ink);
	cam_raster_text(&p.raster, 16, 38, o->subtitle, p.faint);
	put_cells(&p);
	put_tracks(&p);
	put_axes(&p);
	put_legend(&p);
	err = cam_raster_png(&p.raster, out);
	cam_raster_free(&p.raster);
	return err;
}
