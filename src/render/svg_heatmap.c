// SPDX-License-Identifier: Apache-2.0
/*
 * The heatmap as an SVG file.
 *
 * What: title, legend, one rectangle a cell that has samples or was not observed, a lane below them
 * for what was missed in each column, lanes of host counters, the time axis, and what was not seen in words.
 *
 * Invariants:
 * 1. A cell of which less than half was observed is hatched, with or without samples; only an observed
 *    cell without samples is left empty. Neighbours that are hatched and empty are one rectangle.
 * 2. The lane marks every column in which anything was missed, however little: what a cell's majority
 *    hides is still visible there.
 * 3. Names appear as text only, through cam_label_put(); no script.
 */
#include "render/svg_heatmap.h"

#include "base/units.h"
#include "model/nouns.h"
#include "render/embedded.h"
#include "render/label.h"
#include "render/svg_tracks.h"

#include <math.h>

#define LEFT   68
#define RIGHT  16
#define TOP    78
#define LANE   5
#define AXIS   26
#define LEAST  4.0 /* pixels of a column */
#define WIDEST 20.0

struct picture {
	struct cam_out *out;
	const struct cam_heatmap *h;
	const struct cam_heat_options *o;
	int width, row_px, height, tracks_px;
	double column_px;
};

unsigned cam_svg_heatmap_columns(unsigned width)
{
	double room = (width ? width : 1200) - LEFT - RIGHT;
	return room < LEAST ? 1 : (unsigned)(room / LEAST);
}

static void put_px(struct picture *p, double v)
{
	long long hundredths = llround(v * 100);
	cam_out_printf(p->out, "%lld.%02lld", hundredths / 100, hundredths % 100);
}

static double x_of(const struct picture *p, double column)
{
	return LEFT + column * p->column_px;
}

static int y_of(const struct picture *p, uint32_t row)
{
	bool up = p->h->mode == CAM_HEAT_SUBSECOND;
	return TOP + p->row_px * (int)(up ? p->h->n_rows - 1 - row : row);
}

static void put_colours(struct picture *p, bool dark)
{
	unsigned hues = p->h->has_paint ? CAM_HEAT_HUES : 1;
	for (unsigned s = 0; s <= CAM_HEAT_STEPS; s++) {
		for (unsigned u = 0; u < hues; u++) {
			struct cam_rgb c =
				cam_heat_colour((struct cam_heat_step){(uint8_t)s, (uint8_t)u},
						p->h->has_paint, dark);
			cam_out_printf(p->out, ".c%uh%u{fill:#%02x%02x%02x}\n", s, u, c.r, c.g,
				       c.b);
		}
	}
	cam_svg_tracks_colours(p->o->tracks, dark, p->out);
	struct cam_rgb u = cam_heat_unseen(dark), l = cam_heat_hatch(dark);
	cam_out_printf(p->out, ".u{fill:#%02x%02x%02x}\n.ul{stroke:#%02x%02x%02x}\n", u.r, u.g, u.b,
		       l.r, l.g, l.b);
}

static struct cam_text title_of(const struct picture *p)
{
	return p->o->title.n ? p->o->title : CAM_TEXT("Heatmap");
}

static void put_header(struct picture *p)
{
	cam_out_printf(p->out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "viewBox=\"0 0 %d %d\">\n<title>",
		       p->width, p->height, p->width, p->height);
	cam_label_put(p->out, title_of(p), 200, CAM_LABEL_XML);
	cam_out_printf(p->out, "</title>\n<style>\n%s", cam_embedded_heatmap_css);
	put_colours(p, false);
	cam_out_str(p->out, "@media (prefers-color-scheme: dark) {\n");
	put_colours(p, true);
	cam_out_printf(
		p->out,
		"}\n</style>\n<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
		"patternUnits=\"userSpaceOnUse\"><rect class=\"u\" width=\"6\" height=\"6\"/>"
		"<path class=\"ul\" d=\"M-1 1 1 -1M0 6 6 0M5 7 7 5\"/></pattern></defs>\n"
		"<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n",
		p->width, p->height);
	cam_out_printf(p->out, "<text class=\"t\" x=\"16\" y=\"30\">");
	cam_label_put(p->out, title_of(p), (size_t)((p->width - 40) / 9), CAM_LABEL_XML);
	cam_out_printf(p->out, "</text>\n<text class=\"s\" x=\"16\" y=\"54\">");
	cam_label_put(p->out, p->o->subtitle, (size_t)((p->width - 420) / 6.6), CAM_LABEL_XML);
	cam_out_str(p->out, "</text>\n");
}

/* "0 ▢▤▥▩ 41 samples", at the right. */
static void put_legend(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	int x = p->width - RIGHT - 330, y = 44;
	cam_out_printf(p->out,
		       "<rect fill=\"url(#hatch)\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"/>"
		       "<text class=\"s\" x=\"%d\" y=\"54\">not observed</text>\n"
		       "<text class=\"s\" x=\"%d\" y=\"54\" text-anchor=\"end\">0</text>\n",
		       x, y, x + 17, x + 122);
	x += 127;
	for (unsigned s = 0; s <= CAM_HEAT_STEPS; s++, x += 9) {
		cam_out_printf(p->out,
			       "<rect class=\"c%uh%u\" x=\"%d\" y=\"%d\" width=\"9\" height=\"12\">"
			       "<title>%s%u samples</title></rect>\n",
			       s, h->has_paint ? CAM_HEAT_HUES - 1 : 0, x, y, s ? "from " : "",
			       cam_heat_least(p->o->scale, s, h->max_peak));
	}
	cam_out_printf(p->out, "<text class=\"s\" x=\"%d\" y=\"54\">%s samples</text>\n", x + 5,
		       cam_figure_count(h->max_peak).s);
}

static void put_causes(struct picture *p, uint32_t causes)
{
	const char *between = "";
	for (unsigned c = 0; c < CAM_CAUSE_MAX; c++) {
		if (causes >> c & 1) {
			cam_out_printf(p->out, "%s%s", between, cam_cause_words((enum cam_cause)c));
			between = ", ";
		}
	}
	if (!causes)
		cam_out_str(p->out, "no recording");
}

static void put_cell_title(struct picture *p, uint32_t column, uint32_t row)
{
	const struct cam_heatmap *h = p->h;
	const struct cam_heat_cell *c = cam_heatmap_cell(h, column, row);
	cam_out_printf(p->out, "<title>%s", cam_heat_when(h, &p->o->zone, column, row).s);
	if (h->mode == CAM_HEAT_CORES || h->column_ns != h->fine_ns)
		cam_out_printf(p->out, "\n%s", cam_heat_row(h, row).s);
	cam_out_printf(p->out, "\n%s %s", cam_figure_count(c->samples).s,
		       c->samples == 1 ? "sample" : "samples");
	if (h->column_ns != h->fine_ns)
		cam_out_printf(p->out, ", at most %s in %s", cam_figure_count(c->peak).s,
			       cam_figure_duration(h->fine_ns).s);
	if (h->has_paint)
		cam_out_printf(p->out, "\n%s of them match: %s", cam_figure_count(c->painted).s,
			       cam_figure_percent(c->painted, c->samples).s);
	if (c->seen < CAM_HEAT_ALL_SEEN) {
		cam_out_printf(p->out, "\n%u %% of it observed; the rest: ", c->seen * 100u / 255);
		put_causes(p, h->causes[column]);
	}
	cam_out_str(p->out, "</title>");
}

static void put_rect(struct picture *p, uint32_t column, uint32_t row, uint32_t columns)
{
	cam_out_str(p->out, " x=\"");
	put_px(p, x_of(p, column));
	cam_out_printf(p->out, "\" y=\"%d\" width=\"", y_of(p, row));
	put_px(p, p->column_px * columns - (p->column_px >= 6 ? 0.6 : 0));
	cam_out_printf(p->out, "\" height=\"%d\">", p->row_px - (p->row_px >= 6));
}

/* From this cell on: how many are not observed, empty, and for the same reasons. */
static uint32_t unseen_run(const struct cam_heatmap *h, uint32_t column, uint32_t row)
{
	uint32_t n = 0;
	for (; column + n < h->n_columns; n++) {
		const struct cam_heat_cell *c = cam_heatmap_cell(h, column + n, row);
		if (c->samples || c->seen || h->causes[column + n] != h->causes[column])
			break;
	}
	return n;
}

static void put_cells(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	cam_out_printf(p->out, "<rect class=\"c0h0\" x=\"%d\" y=\"%d\" width=\"", LEFT, TOP);
	put_px(p, p->column_px * h->n_columns);
	cam_out_printf(p->out, "\" height=\"%d\"/>\n<g class=\"cells\">\n",
		       p->row_px * (int)h->n_rows);
	for (uint32_t row = 0; row < h->n_rows; row++) {
		for (uint32_t column = 0; column < h->n_columns; column++) {
			const struct cam_heat_cell *c = cam_heatmap_cell(h, column, row);
			uint32_t run = unseen_run(h, column, row);
			if (run) {
				cam_out_str(p->out, "<rect fill=\"url(#hatch)\"");
				put_rect(p, column, row, run);
				cam_out_printf(p->out, "<title>%s – %s\nnot observed: ",
					       cam_heat_time(h, &p->o->zone, column * h->column_ns,
							     true)
						       .s,
					       cam_heat_time(h, &p->o->zone,
							     (column + run) * h->column_ns, true)
						       .s);
				put_causes(p, h->causes[column]);
				cam_out_str(p->out, "</title></rect>\n");
				column += run - 1;
				continue;
			}
			bool unseen = cam_heatmap_unseen(c);
			if (!c->samples && !unseen)
				continue;
			if (unseen) {
				cam_out_str(p->out, "<rect fill=\"url(#hatch)\"");
			} else {
				struct cam_heat_step s = cam_heat_step_of(h, c, p->o->scale);
				cam_out_printf(p->out, "<rect class=\"c%uh%u\"", s.strength, s.hue);
			}
			put_rect(p, column, row, 1);
			put_cell_title(p, column, row);
			cam_out_str(p->out, "</rect>\n");
		}
	}
	cam_out_str(p->out, "</g>\n");
}

/* What was missed: every column in which anything was. */
static void put_lane(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	int y = TOP + p->row_px * (int)h->n_rows + 2;
	for (uint32_t column = 0; column < h->n_columns; column++) {
		uint32_t n = 0;
		while (column + n < h->n_columns && h->causes[column + n] &&
		       h->causes[column + n] == h->causes[column])
			n++;
		if (!n)
			continue;
		cam_out_str(p->out, "<rect class=\"lost\" x=\"");
		put_px(p, x_of(p, column));
		cam_out_printf(p->out, "\" y=\"%d\" width=\"", y);
		put_px(p, p->column_px * n);
		cam_out_printf(p->out,
			       "\" height=\"%d\"><title>%s – %s\nnot all observed: ", LANE - 2,
			       cam_heat_time(h, &p->o->zone, column * h->column_ns, true).s,
			       cam_heat_time(h, &p->o->zone, (column + n) * h->column_ns, true).s);
		put_causes(p, h->causes[column]);
		cam_out_str(p->out, "</title></rect>\n");
		column += n - 1;
	}
}

static void put_time_axis(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	double span = p->column_px * h->n_columns;
	uint64_t tick = cam_heat_tick_ns(h, (unsigned)(span / 85) + 1), at;
	int y = TOP + p->row_px * (int)h->n_rows + LANE + p->tracks_px;
	uint32_t column = cam_heat_next_tick(h, &p->o->zone, tick, 0, &at);
	double last = -100;
	while (column < h->n_columns) {
		double x = LEFT + span * (double)at / (double)(h->column_ns * h->n_columns);
		cam_out_str(p->out, "<line class=\"hr\" x1=\"");
		put_px(p, x);
		cam_out_str(p->out, "\" x2=\"");
		put_px(p, x);
		cam_out_printf(p->out, "\" y1=\"%d\" y2=\"%d\"/>\n", y, y + 5);
		double half = tick < CAM_NS_PER_SEC ? 38 : 26;
		if (x - last > 2 * half + 12 && x - half >= LEFT - 8 && x < p->width - half) {
			cam_out_str(p->out, "<text class=\"n\" text-anchor=\"middle\" x=\"");
			put_px(p, x);
			cam_out_printf(p->out, "\" y=\"%d\">%s</text>\n", y + 18,
				       cam_heat_time(h, &p->o->zone, at, tick < CAM_NS_PER_SEC).s);
			last = x;
		}
		column = cam_heat_next_tick(h, &p->o->zone, tick, column + 1, &at);
	}
	cam_out_printf(p->out, "<text class=\"n\" x=\"16\" y=\"%d\">%s</text>\n", y + 18,
		       cam_heat_offset(h, &p->o->zone, 0).s);
}

static void put_row_axis(struct picture *p)
{
	const struct cam_heatmap *h = p->h;
	uint32_t every = (uint32_t)(16 / p->row_px) + 1;
	if (h->mode == CAM_HEAT_SUBSECOND)
		every = h->n_rows >= 10 ? h->n_rows / 5 : every;
	for (uint32_t row = 0; row < h->n_rows; row += every)
		cam_out_printf(
			p->out,
			"<text class=\"n\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%s</text>\n",
			LEFT - 6, y_of(p, row) + p->row_px / 2 + 4, cam_heat_row(h, row).s);
}

static void put_note(struct picture *p, const char *cls, uint64_t n, const char *words)
{
	if (n)
		cam_out_printf(p->out, "<tspan%s>%s %s</tspan> · ", cls, cam_figure_count(n).s,
			       words);
}

static void put_footer(struct picture *p)
{
	static const char warn[] = " class=\"w\"";
	const struct cam_heatmap *h = p->h;
	const struct cam_seen *s = &h->seen;
	int y = TOP + p->row_px * (int)h->n_rows + LANE + p->tracks_px + AXIS + 20;
	cam_out_printf(p->out,
		       "<line class=\"hr\" x1=\"0\" x2=\"%d\" y1=\"%d.5\" y2=\"%d.5\"/>\n"
		       "<text class=\"s\" x=\"16\" y=\"%d\">",
		       p->width, y - 18, y - 18, y);
	if (h->mode == CAM_HEAT_CORES)
		cam_out_printf(p->out, "Each column is %s, each row a CPU. ",
			       cam_figure_duration(h->column_ns).s);
	else
		cam_out_printf(p->out, "Each column is %s, each row %s of a second. ",
			       cam_figure_duration(h->column_ns).s,
			       cam_figure_duration(CAM_NS_PER_SEC / h->n_rows).s);
	if (h->column_ns != h->fine_ns)
		cam_out_printf(p->out, "Colour: the most in any %s of the column. ",
			       cam_figure_duration(h->fine_ns).s);
	if (h->has_paint) {
		cam_out_printf(p->out, "Violet: %s samples (%s) with ",
			       cam_figure_count(h->painted).s,
			       cam_figure_percent(h->painted, s->samples).s);
		cam_label_put(p->out, p->o->paint, 60, CAM_LABEL_XML);
		cam_out_str(p->out, ".");
	}
	cam_out_printf(p->out, "</text>\n<text class=\"n\" x=\"16\" y=\"%d\">%s samples · ", y + 20,
		       cam_figure_count(s->samples).s);
	put_note(p, warn, s->lost, "samples lost");
	put_note(p, warn, s->damaged, "samples damaged");
	put_note(p, warn, s->unreadable, "windows unreadable");
	put_note(p, warn, s->unplaced, "windows without wall clock left out");
	if (s->gap_ns)
		cam_out_printf(p->out, "<tspan%s>%s not observed between windows</tspan> · ", warn,
			       cam_figure_duration(s->gap_ns).s);
	put_note(p, "", s->idle, "idle samples hidden");
	put_note(p, "", s->other_events, "samples of other events not shown");
	cam_out_str(p->out, "perfcam " PERFCAM_VERSION "</text>\n");
}

int cam_svg_heatmap_write(const struct cam_heatmap *h, const struct cam_heat_options *o,
			  struct cam_out *out)
{
	struct picture p = {.out = out, .h = h, .o = o, .width = o->width ? (int)o->width : 1200};
	if (p.width < 640)
		p.width = 640;
	p.column_px = (double)(p.width - LEFT - RIGHT) / h->n_columns;
	double widest = h->mode == CAM_HEAT_SUBSECOND ? WIDEST : 40;
	if (p.column_px > widest)
		p.column_px = widest;
	p.row_px = 400 / (int)h->n_rows;
	p.row_px = p.row_px < 4 ? 4 : p.row_px > 22 ? 22 : p.row_px;
	p.tracks_px = cam_svg_tracks_height(o->tracks);
	p.height = TOP + p.row_px * (int)h->n_rows + LANE + p.tracks_px + AXIS + 54;
	put_header(&p);
	put_legend(&p);
	put_cells(&p);
	put_lane(&p);
	cam_svg_tracks_put(&(struct cam_svg_tracks){.tracks = o->tracks,
						    .heatmap = h,
						    .zone = o->zone,
						    .left = LEFT,
						    .width = p.column_px * h->n_columns,
						    .top = TOP + p.row_px * (int)h->n_rows + LANE},
			   out);
	put_time_axis(&p);
	put_row_axis(&p);
	put_footer(&p);
	cam_out_str(out, "</svg>\n");
	return out->error;
}
