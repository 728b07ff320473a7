// SPDX-License-Identifier: Apache-2.0
#include "render/text_heatmap.h"

#include "base/units.h"
#include "render/label.h"

#include <math.h>

#define MARGIN	   8  /* characters for the rows' labels */
#define WIDEST	   4  /* characters a column, of a short span */
#define ONE_A_LINE 24 /* up to so many rows each get a line of their own */

static const char characters[] = " .:-=+*#%@";

struct screen {
	struct cam_out *out;
	const struct cam_heatmap *h;
	const struct cam_heat_options *o;
	enum cam_text_colours colours;
	struct cam_screen colour;
	uint32_t wide; /* characters a column */
};

/* A row's place from the top; NONE: below the last row of an odd number. */
#define NONE UINT32_MAX

unsigned cam_text_heatmap_columns(unsigned terminal_columns)
{
	return terminal_columns > MARGIN + 10 ? terminal_columns - MARGIN - 1 : 10;
}

static uint32_t row_at(const struct cam_heatmap *h, uint32_t from_top)
{
	if (from_top >= h->n_rows)
		return NONE;
	return h->mode == CAM_HEAT_SUBSECOND ? h->n_rows - 1 - from_top : from_top;
}

/* The same way through colours that a terminal of 256 has: the nearest ones are no even steps. */
static struct cam_rgb colour_of_256(unsigned strength, bool dark)
{
	static const uint8_t codes[2][CAM_HEAT_STEPS + 1] = {
		{255, 230, 223, 222, 216, 215, 209, 208, 202, 166, 160, 124, 88},
		{234, 52, 88, 124, 130, 166, 202, 208, 214, 220, 221, 222, 230},
	};
	static const uint8_t level[] = {0, 95, 135, 175, 215, 255};
	unsigned code = codes[dark][strength], cube = code - 16;
	if (code >= 232) {
		uint8_t grey = (uint8_t)(8 + 10 * (code - 232));
		return (struct cam_rgb){grey, grey, grey};
	}
	return (struct cam_rgb){level[cube / 36], level[cube / 6 % 6], level[cube % 6]};
}

static struct cam_rgb colour_of_step(const struct screen *s, struct cam_heat_step step)
{
	if (s->colours == CAM_COLOURS_256 && !s->h->has_paint)
		return colour_of_256(step.strength, s->o->dark);
	return cam_heat_colour(step, s->h->has_paint, s->o->dark);
}

static struct cam_rgb colour_of(const struct screen *s, const struct cam_heat_cell *c)
{
	if (cam_heatmap_unseen(c))
		return cam_heat_unseen(s->o->dark);
	return colour_of_step(s, cam_heat_step_of(s->h, c, s->o->scale));
}

static char character_of(const struct screen *s, const struct cam_heat_cell *c)
{
	uint32_t value = s->h->has_paint ? c->painted_peak : c->peak;
	if (cam_heatmap_unseen(c))
		return '?';
	unsigned strength = cam_heat_strength(s->o->scale, value, s->h->max_peak);
	return characters[(strength * 9 + CAM_HEAT_STEPS - 1) / CAM_HEAT_STEPS];
}

/* Two cells, the second one possibly the same. */
static void put_one_pair(struct screen *s, const struct cam_heat_cell *a,
			 const struct cam_heat_cell *b)
{
	if (s->colours == CAM_COLOURS_NONE) {
		char x = character_of(s, a), y = character_of(s, b);
		char c = x == '?' ? y : x;
		if (x != '?' && y != '?' && strchr(characters, y) > strchr(characters, x))
			c = y;
		cam_out_printf(s->out, "%c", c);
		return;
	}
	if (cam_heatmap_unseen(a) && cam_heatmap_unseen(b)) {
		cam_screen_back(&s->colour, cam_heat_unseen(s->o->dark));
		cam_screen_fore(&s->colour, cam_heat_hatch(s->o->dark));
		cam_out_str(s->out, "?");
		return;
	}
	struct cam_rgb top = colour_of(s, a), bottom = colour_of(s, b);
	cam_screen_back(&s->colour, bottom);
	if (top.r == bottom.r && top.g == bottom.g && top.b == bottom.b) {
		cam_out_str(s->out, " ");
		return;
	}
	cam_screen_fore(&s->colour, top);
	cam_out_str(s->out, "▀");
}

static void put_pair(struct screen *s, const struct cam_heat_cell *a, const struct cam_heat_cell *b)
{
	for (uint32_t i = 0; i < s->wide; i++)
		put_one_pair(s, a, b);
}

static void put_lines(struct screen *s)
{
	const struct cam_heatmap *h = s->h;
	static const struct cam_heat_cell nothing = {.seen = CAM_HEAT_ALL_SEEN};
	uint32_t step = h->n_rows <= ONE_A_LINE ? 1 : 2;
	uint32_t every = h->mode == CAM_HEAT_CORES ? 1 : h->n_rows >= 10 ? h->n_rows / 5 : 1;
	for (uint32_t at = 0; at < h->n_rows; at += step) {
		uint32_t top = row_at(h, at), bottom = step == 1 ? top : row_at(h, at + 1);
		uint32_t labelled = bottom != NONE && bottom % every == 0 ? bottom : top;
		labelled = h->mode == CAM_HEAT_CORES ? top : labelled;
		cam_out_printf(s->out, "%*s ", MARGIN - 1,
			       labelled % every ? "" : cam_heat_row(h, labelled).s);
		for (uint32_t column = 0; column < h->n_columns; column++)
			put_pair(s, cam_heatmap_cell(h, column, top),
				 bottom == NONE ? &nothing : cam_heatmap_cell(h, column, bottom));
		cam_screen_plain(&s->colour);
		cam_out_str(s->out, "\n");
	}
}

/* Under each column in which something was missed, but not all: '!'. */
static void put_lane(struct screen *s)
{
	const struct cam_heatmap *h = s->h;
	bool any = false;
	for (uint32_t c = 0; c < h->n_columns; c++)
		any |= h->causes[c] != 0;
	if (!any)
		return;
	cam_out_printf(s->out, "%*s ", MARGIN - 1, "missed");
	for (uint32_t c = 0; c < h->n_columns * s->wide; c++)
		cam_out_str(s->out, h->causes[c / s->wide] ? "!" : " ");
	cam_out_str(s->out, "\n");
}

/* One counter, a bin as high as a block: of the lane's full value. */
static void put_track(struct screen *s, const struct cam_heat_lane *lane,
		      enum cam_counter_kind kind, const char *label)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	const struct cam_tracks *t = s->o->tracks;
	size_t all = (size_t)s->h->n_columns * s->wide;
	cam_out_printf(s->out, "%*s ", MARGIN - 1, label);
	cam_screen_fore(&s->colour, cam_heat_track_colour(kind, s->o->dark));
	for (size_t i = 0; i < all; i++) {
		double part = cam_heat_lane_part(t, lane, kind, i * t->n / all);
		unsigned eighths = isnan(part) ? 0 : (unsigned)(part * 8 + 0.5);
		eighths = part > 0 && !eighths ? 1 : eighths;
		cam_out_str(s->out, isnan(part) ? "?" : blocks[eighths]);
	}
	cam_screen_plain(&s->colour);
	cam_out_str(s->out, "\n");
}

/* The part of CPU time from which a line of its own is worth it. */
static bool counts(const struct cam_tracks *t, const struct cam_heat_lane *lane,
		   enum cam_counter_kind kind)
{
	bool any = kind == CAM_COUNTER_USER || kind == CAM_COUNTER_SYSTEM;
	for (size_t i = 0; i < t->n && !any; i++)
		any = cam_heat_lane_part(t, lane, kind, i) >= 0.005;
	return any;
}

/* Host counters: of CPU time a line each, the others one. */
static void put_tracks(struct screen *s)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	const struct cam_tracks *t = s->o->tracks;
	size_t n = cam_heat_lanes(t, lanes);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < lanes[i].n_kinds; k++) {
			enum cam_counter_kind kind = lanes[i].kinds[k];
			if (lanes[i].n_kinds == 1)
				put_track(s, &lanes[i], kind, lanes[i].label);
			else if (counts(t, &lanes[i], kind))
				put_track(s, &lanes[i], kind, cam_heat_track_words(kind));
		}
	}
}

/* "█ 100 %; run queue 12; waited 0.80 s a second; longest: java (812) 3.2 s" */
static void put_tracks_legend(struct screen *s)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	const struct cam_tracks *t = s->o->tracks;
	size_t n = cam_heat_lanes(t, lanes);
	if (!n)
		return;
	cam_out_printf(s->out, "%*s host: █ 100 %%", MARGIN - 1, "");
	for (size_t i = 0; i < n; i++) {
		if (cam_track_unit(lanes[i].kinds[0]) != CAM_TRACK_TIME && lanes[i].n_kinds == 1)
			cam_out_printf(s->out, ", %s %s", lanes[i].label,
				       cam_heat_lane_full(&lanes[i]).s);
	}
	if (t->n_waiters) {
		cam_out_printf(s->out, "\n%*s waited to run: ", MARGIN - 1, "");
		cam_heat_waiters_put(t, 3, CAM_LABEL_PLAIN, s->out);
	}
	cam_out_str(s->out, "\n");
}

static void put_axis(struct screen *s)
{
	const struct cam_heatmap *h = s->h;
	uint32_t all = h->n_columns * s->wide;
	uint64_t tick = cam_heat_tick_ns(h, all / 12 + 1), at;
	size_t used = 0;
	uint32_t column = cam_heat_next_tick(h, &s->o->zone, tick, 0, &at);
	cam_out_printf(s->out, "%*s ", MARGIN - 1, cam_heat_offset(h, &s->o->zone, 0).s);
	while (column < h->n_columns) {
		struct cam_figure label = cam_heat_time(h, &s->o->zone, at, tick < CAM_NS_PER_SEC);
		size_t place = at * all / (h->column_ns * h->n_columns);
		if (place >= used && place + strlen(label.s) + 1 <= all + 8) {
			cam_out_printf(s->out, "%*s╵%s", (int)(place - used), "", label.s);
			used = place + 1 + strlen(label.s);
		}
		column = cam_heat_next_tick(h, &s->o->zone, tick, column + 1, &at);
	}
	cam_out_str(s->out, "\n");
}

static void put_legend(struct screen *s)
{
	const struct cam_heatmap *h = s->h;
	cam_out_printf(s->out, "%*s 0 ", MARGIN - 1, "");
	for (unsigned i = 0; i <= CAM_HEAT_STEPS; i++) {
		if (s->colours == CAM_COLOURS_NONE) {
			cam_out_printf(s->out, "%c",
				       characters[(i * 9 + CAM_HEAT_STEPS - 1) / CAM_HEAT_STEPS]);
			continue;
		}
		struct cam_heat_step step = {(uint8_t)i, CAM_HEAT_HUES - 1};
		cam_screen_back(&s->colour, colour_of_step(s, step));
		cam_out_str(s->out, " ");
	}
	cam_screen_plain(&s->colour);
	cam_out_printf(s->out, " %s samples", cam_figure_count(h->max_peak).s);
	if (h->column_ns != h->fine_ns)
		cam_out_printf(s->out, " (the most in %s)", cam_figure_duration(h->fine_ns).s);
	cam_out_printf(s->out, "   ? not observed   a column: %s\n",
		       cam_figure_duration(h->column_ns).s);
	if (h->has_paint) {
		cam_out_printf(s->out, "%*s %s%s samples (%s) with ", MARGIN - 1, "",
			       s->colours == CAM_COLOURS_NONE ? "shown: " : "violet: ",
			       cam_figure_count(h->painted).s,
			       cam_figure_percent(h->painted, h->seen.samples).s);
		cam_label_put(s->out, s->o->paint, 60, CAM_LABEL_PLAIN);
		cam_out_str(s->out, "\n");
	}
}

int cam_text_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			   enum cam_text_colours colours, struct cam_out *out)
{
	struct screen s = {.out = out, .h = h, .o = o, .colours = colours};
	cam_screen_init(&s.colour, out, colours);
	unsigned room = o->width ? o->width : 100;
	s.wide = cam_text_heatmap_columns(room) / h->n_columns;
	s.wide = s.wide < 1 ? 1 : s.wide > WIDEST ? WIDEST : s.wide;
	cam_label_put(out, o->title, room, CAM_LABEL_PLAIN);
	cam_out_str(out, "\n");
	put_lines(&s);
	put_lane(&s);
	put_tracks(&s);
	put_axis(&s);
	put_legend(&s);
	put_tracks_legend(&s);
	return out->error;
}
