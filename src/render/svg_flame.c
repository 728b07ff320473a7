// SPDX-License-Identifier: Apache-2.0
/*
 * The flame graph as an SVG file.
 *
 * What: header (title, what was seen, legend), one rectangle a frame with its name where it fits,
 * footer (what was not seen). The file shows everything without script; the script that it carries
 * is the same in every file and finds all it needs in attributes and in <title> texts.
 *
 * Why this way: a name in a profile is whatever bytes a program chose. It appears in one place, as
 * text of <title> and <text>, and passes through cam_label_put() there: no name is ever part of an
 * attribute, of style or of script.
 *
 * Invariants:
 * 1. Positions are counted in the flame's unit, divided by the greatest common divisor of all
 *    values, in data-x and data-v: exact, so that zooming in loses nothing to rounded pixels. Only
 *    x and width of a rectangle are rounded.
 * 2. Frames are written depth first, data-d is their depth: parents, children and "everything
 *    below" follow from the order alone.
 * 3. A frame narrower than min_width is left out with all that is below it, and counted: the size
 *    of the file is bounded by pixels times depth, not by the profile.
 * 4. The colour depends on kind and name only (a hash of its bytes), so a name keeps its colour
 *    from picture to picture; in a differential, on the change only.
 *
 * Example of a frame, 40 of 100 samples, at depth 2:
 *
 *	<g class="u3" data-x="10" data-v="40" data-d="2"><title>main
 *	user · /usr/bin/cc1
 *	40 samples, 40.0 % of all, self 0.0 %</title>
 *	<rect x="132.8" y="94" width="466.2" height="17"/><text x="136.8" y="106.5">main</text></g>
 */
#include "render/svg_flame.h"

#include "render/embedded.h"
#include "render/figure.h"
#include "render/label.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PAD	   16
#define TOP	   76
#define ROW	   18
#define COLUMN	   6.6 /* pixels a column of 11 px text takes at most, on average */
#define LEAST	   3   /* columns; less of a name says nothing */
#define SHADES	   6
#define TITLE_NAME 2000 /* columns of a name that a tooltip keeps */

struct picture {
	struct cam_out *out;
	const struct cam_flame *flame;
	const struct cam_svg_flame_options *o;
	double width, min_width;
	double per;	/* pixels a unit of the flame */
	uint64_t scale; /* the common divisor of all values */
	uint64_t max_change;
	uint32_t rows; /* drawn */
	uint64_t narrow, gone;
	bool kinds[CAM_FRAME_KIND_MAX]; /* drawn */
	uint64_t *cursor;		/* per depth: where the next frame starts */
};

static void put_text(struct picture *p, struct cam_text s, size_t columns)
{
	cam_label_put(p->out, s, columns, CAM_LABEL_XML);
}

/* Hundredths of a pixel, without trailing zeros; not by printf, whose point may be a comma. */
static void put_px(struct picture *p, double v)
{
	long long hundredths = llround(v * 100);
	cam_out_printf(p->out, "%lld", hundredths / 100);
	if (hundredths % 100)
		cam_out_printf(p->out, hundredths % 10 ? ".%02lld" : ".%lld",
			       hundredths % 10 ? hundredths % 100 : hundredths % 100 / 10);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static uint64_t change_of(const struct cam_flame_node *n)
{
	return n->total > n->before_total ? n->total - n->before_total : n->before_total - n->total;
}

/* FNV-1a: the same on every machine and in every run, which cam_hash() is not meant to be. */
static unsigned shade_of(struct cam_text name)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return (h >> 8) % SHADES;
}

static void put_class(struct picture *p, size_t i)
{
	static const char letters[CAM_FRAME_KIND_MAX] = "apkujim";
	const struct cam_flame_node *n = &p->flame->nodes[i];
	enum cam_frame_kind kind = cam_flame_frame_of(p->flame, i)->kind;
	if (kind == CAM_FRAME_ROOT) {
		cam_out_str(p->out, "a");
	} else if (p->flame->differential) {
		double part = p->max_change ? (double)change_of(n) / (double)p->max_change : 0;
		int step = (int)ceil(sqrt(part) * SHADES);
		if (!step)
			cam_out_str(p->out, "g0");
		else
			cam_out_printf(p->out, "%c%d", n->total > n->before_total ? 'r' : 'b',
				       step - 1);
	} else if (kind == CAM_FRAME_PROCESS || kind == CAM_FRAME_MARK) {
		cam_out_printf(p->out, "%c", letters[kind]);
	} else {
		cam_out_printf(p->out, "%c%u", letters[kind],
			       shade_of(cam_flame_name(p->flame, i)));
	}
}

static void put_value(struct picture *p, uint64_t v)
{
	const struct cam_flame *f = p->flame;
	if (f->unit_is_ns) {
		cam_out_str(p->out, cam_figure_duration(v).s);
		return;
	}
	cam_out_printf(p->out, "%s ", cam_figure_count(v).s);
	put_text(p, f->unit, 40);
}

static void put_change(struct picture *p, const struct cam_flame_node *n)
{
	cam_out_str(p->out, "\nbefore: ");
	put_value(p, n->before_total);
	if (!n->before_total)
		cam_out_str(p->out, ", new");
	else
		cam_out_printf(p->out, ", %s%s",
			       n->total > n->before_total   ? "+"
			       : n->total < n->before_total ? "−"
							    : "±",
			       cam_figure_percent(change_of(n), n->before_total).s);
}

static void put_title(struct picture *p, size_t i)
{
	static const char *const kinds[CAM_FRAME_KIND_MAX] = {
		"everything selected", "process", "kernel", "user", "JIT", "inlined", "not code"};
	const struct cam_flame *f = p->flame;
	const struct cam_flame_node *n = &f->nodes[i];
	struct cam_text module = cam_flame_module_path(f, n->module);
	cam_out_str(p->out, "<title>");
	put_text(p, cam_flame_name(f, i), TITLE_NAME);
	cam_out_printf(p->out, "\n%s", kinds[cam_flame_frame_of(f, i)->kind]);
	if (n->module == CAM_MODULE_SEVERAL)
		module = CAM_TEXT("several files");
	if (module.n) {
		cam_out_str(p->out, " · ");
		put_text(p, module, 200);
	}
	cam_out_str(p->out, "\n");
	put_value(p, n->total);
	cam_out_printf(p->out, ", %s of all, self %s",
		       cam_figure_percent(n->total, f->nodes[0].total).s,
		       cam_figure_percent(n->self, f->nodes[0].total).s);
	if (f->differential)
		put_change(p, n);
	cam_out_str(p->out, "</title>");
}

static double row_of(const struct picture *p, uint32_t depth)
{
	return TOP + (double)ROW * (p->o->icicle ? depth : p->rows - 1 - depth);
}

static void put_label(struct picture *p, size_t i, double x, double w)
{
	const struct cam_flame *f = p->flame;
	double room = (w - 9) / COLUMN;
	size_t columns = room > 0 ? (size_t)room : 0;
	struct cam_text name = cam_flame_name(f, i), tail = cam_label_tail(name, columns);
	size_t cut = tail.n < name.n;
	if (columns < cam_label_columns(tail) + cut && columns < LEAST + 1 + cut)
		return;
	cam_out_str(p->out, "<text x=\"");
	put_px(p, x + 4);
	cam_out_str(p->out, "\" y=\"");
	put_px(p, row_of(p, f->nodes[i].depth) + 12.5);
	cam_out_str(p->out, cut ? "\">…" : "\">");
	put_text(p, tail, columns - cut);
	if (i == 0 && columns > 40) {
		cam_out_str(p->out, " · ");
		put_value(p, f->nodes[0].total);
	}
	cam_out_str(p->out, "</text>");
}

static void put_frame(struct picture *p, size_t i, uint64_t start)
{
	const struct cam_flame_node *n = &p->flame->nodes[i];
	double x = PAD + (double)start * p->per, w = (double)n->total * p->per;
	cam_out_str(p->out, "<g class=\"");
	put_class(p, i);
	cam_out_printf(p->out, "\" data-x=\"%llu\" data-v=\"%llu\" data-d=\"%u\">",
		       (unsigned long long)(start / p->scale),
		       (unsigned long long)(n->total / p->scale), n->depth);
	put_title(p, i);
	cam_out_str(p->out, "<rect x=\"");
	put_px(p, x);
	cam_out_printf(p->out, "\" y=\"%d\" width=\"", (int)row_of(p, n->depth));
	put_px(p, w > 3 ? w - 1 : w * 0.75);
	cam_out_printf(p->out, "\" height=\"%d\"/>", ROW - 1);
	put_label(p, i, x, w);
	cam_out_str(p->out, "</g>\n");
}

/* Walks the frames that are wide enough; draws them, or else finds out what will be drawn. */
static void walk(struct picture *p, bool draw)
{
	const struct cam_flame *f = p->flame;
	p->narrow = p->gone = 0;
	p->cursor[0] = 0;
	for (uint32_t i = 0; i < f->n_nodes;) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t start = p->cursor[n->depth];
		p->cursor[n->depth] += n->total;
		if (i && (double)n->total * p->per < p->min_width) {
			for (uint32_t k = i; k < n->end; k++)
				*(f->nodes[k].total ? &p->narrow : &p->gone) += 1;
			i = n->end;
			continue;
		}
		p->cursor[n->depth + 1] = start;
		if (draw) {
			put_frame(p, i, start);
		} else {
			p->kinds[cam_flame_frame_of(f, i)->kind] = true;
			p->rows = n->depth >= p->rows ? n->depth + 1 : p->rows;
			if (i && change_of(n) > p->max_change)
				p->max_change = change_of(n);
		}
		i++;
	}
}

/* One text, so that the font itself keeps the distances. */
static void put_legend(struct picture *p)
{
	static const struct {
		const char *cls, *name;
		enum cam_frame_kind kind;
	} kinds[] = {{"lk", "kernel", CAM_FRAME_KERNEL},
		     {"lu", "user", CAM_FRAME_USER},
		     {"lj", "JIT", CAM_FRAME_JIT},
		     {"li", "inlined", CAM_FRAME_INLINED},
		     {"lm", "not code", CAM_FRAME_MARK}},
	  changes[] = {{"lb", "less", 0}, {"lm", "the same", 0}, {"lr", "more", 0}};
	bool change = p->flame->differential;
	size_t n = change ? sizeof(changes) / sizeof(changes[0]) : sizeof(kinds) / sizeof(kinds[0]);
	cam_out_printf(p->out,
		       "<g class=\"end\"><text class=\"l\" x=\"%d\" y=\"54\" "
		       "text-anchor=\"end\">",
		       (int)p->width - PAD);
	const char *between = "";
	for (size_t i = 0; i < n; i++) {
		if (!change && !p->kinds[kinds[i].kind])
			continue;
		cam_out_printf(p->out, "%s<tspan class=\"%s\">■</tspan> %s", between,
			       change ? changes[i].cls : kinds[i].cls,
			       change ? changes[i].name : kinds[i].name);
		between = "\u2003";
	}
	cam_out_str(p->out, "</text></g>\n");
}

/* When it was, as exactly as is known. */
static void put_time(struct picture *p)
{
	const struct cam_seen *s = &p->flame->seen;
	if (!s->observed_ns)
		return;
	if (s->realtime_from_ns != INT64_MIN && s->realtime_to_ns != INT64_MIN) {
		bool same_day =
			s->realtime_from_ns / 86400000000000 == s->realtime_to_ns / 86400000000000;
		cam_out_printf(p->out, "%s – %s UTC, ", cam_figure_utc(s->realtime_from_ns, true).s,
			       cam_figure_utc(s->realtime_to_ns, !same_day).s);
	} else if (s->one_clock) {
		cam_out_printf(p->out, "clock %s – %s, ", cam_figure_stamp(s->from_ns).s,
			       cam_figure_stamp(s->to_ns).s);
	}
	cam_out_printf(p->out, "%s · ", cam_figure_duration(s->observed_ns).s);
}

/* How much it is. */
static void put_count(struct picture *p)
{
	const struct cam_flame *f = p->flame;
	if (f->differential) {
		put_value(p, f->nodes[0].before_total);
		cam_out_str(p->out, " before, ");
		put_value(p, f->nodes[0].total);
		cam_out_str(p->out, " after");
		return;
	}
	if (!cam_text_equal(f->unit, CAM_TEXT("samples")))
		cam_out_printf(p->out, "%s samples, ", cam_figure_count(f->seen.samples).s);
	put_value(p, f->nodes[0].total);
	if (f->unit_is_ns) {
		cam_out_str(p->out, " of ");
		put_text(p, f->unit, 40);
	}
}

static void put_what(struct picture *p)
{
	const struct cam_flame *f = p->flame;
	if (p->o->scope.n) {
		put_text(p, p->o->scope, 80);
		cam_out_str(p->out, " · ");
	}
	if (p->o->when.n && !p->o->title.n) {
		/* The title has host and time. */
		cam_out_printf(p->out, "%s · ", cam_figure_duration(f->seen.observed_ns).s);
		put_count(p);
		return;
	}
	if (f->seen.host.n) {
		put_text(p, f->seen.host, 64);
		cam_out_str(p->out, " · ");
	}
	put_time(p);
	put_count(p);
}

static struct cam_text title_of(const struct picture *p)
{
	if (p->o->title.n)
		return p->o->title;
	if (p->o->when.n)
		return p->o->when;
	if (p->flame->differential)
		return CAM_TEXT("Differential flame graph");
	return p->o->icicle ? CAM_TEXT("Icicle graph") : CAM_TEXT("Flame graph");
}

static void put_header(struct picture *p, int height)
{
	cam_out_printf(p->out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "viewBox=\"0 0 %d %d\">\n<title>",
		       (int)p->width, height, (int)p->width, height);
	put_text(p, title_of(p), 200);
	cam_out_printf(p->out, "</title>\n<style>\n%s</style>\n", cam_embedded_flame_css);
	cam_out_printf(p->out, "<rect class=\"bg wide\" width=\"%d\" height=\"%d\"/>\n",
		       (int)p->width, height);
}

/* Drawn after the frames: it stays in sight, above them, while the page is scrolled. */
static void put_head(struct picture *p)
{
	int width = (int)p->width;
	cam_out_printf(p->out,
		       "<g class=\"head\"><rect class=\"bg wide\" width=\"%d\" height=\"%d\"/>"
		       "<text class=\"t\" x=\"%d\" y=\"30\">",
		       width, TOP - 8, PAD);
	put_text(p, title_of(p), (size_t)((p->width - 420) / 9));
	cam_out_printf(p->out, "</text><text class=\"s\" x=\"%d\" y=\"54\">", PAD);
	if (p->o->subtitle.n)
		put_text(p, p->o->subtitle, (size_t)((p->width - 380) / 6.6));
	else
		put_what(p);
	cam_out_str(p->out, "</text>");
	put_legend(p);
	cam_out_printf(p->out,
		       "<line class=\"hr wide\" x1=\"0\" x2=\"%d\" y1=\"67.5\" y2=\"67.5\"/></g>\n",
		       width);
}

static void put_nothing(struct picture *p)
{
	const struct cam_seen *s = &p->flame->seen;
	cam_out_printf(p->out, "<text class=\"s\" x=\"%d\" y=\"%d\">", PAD, TOP + ROW + 30);
	if (s->idle)
		cam_out_printf(p->out, "Nothing ran: all %s samples are idle.",
			       cam_figure_count(s->idle).s);
	else if (s->lost || s->damaged || s->gap_ns || s->unreadable)
		cam_out_str(p->out, "Not observed: there is nothing to show, and this is not "
				    "idle time.");
	else
		cam_out_str(p->out, "No sample matches the selection.");
	cam_out_str(p->out, "</text>\n");
}

/* One part of the note below the picture: nothing for 0. */
static void put_note(struct picture *p, const char *cls, uint64_t n, const char *one,
		     const char *many)
{
	if (!n)
		return;
	cam_out_printf(p->out, "<tspan%s>%s %s</tspan> · ", cls, cam_figure_count(n).s,
		       n == 1 ? one : many);
}

static void put_notes(struct picture *p)
{
	static const char warn[] = " class=\"w\"";
	const struct cam_seen *s = &p->flame->seen;
	put_note(p, warn, s->lost, "sample lost", "samples lost");
	put_note(p, warn, s->damaged, "sample damaged", "samples damaged");
	put_note(p, warn, s->damaged_stacks, "stack damaged", "stacks damaged");
	put_note(p, warn, s->unreadable, "window unreadable", "windows unreadable");
	put_note(p, warn, s->unplaced, "window without wall clock left out",
		 "windows without wall clock left out");
	if (s->gap_ns)
		cam_out_printf(p->out, "<tspan%s>%s not observed between windows</tspan> · ", warn,
			       cam_figure_duration(s->gap_ns).s);
	put_note(p, "", s->idle, "idle sample hidden", "idle samples hidden");
	put_note(p, "", s->other_events, "sample of another event not shown",
		 "samples of other events not shown");
	put_note(p, "", p->narrow, "frame too narrow to draw", "frames too narrow to draw");
	put_note(p, "", p->gone, "frame only before, without width",
		 "frames only before, without width");
	/* "(file)" and the like stand for a window that has no file of its own. */
	if (s->windows && s->first.n && s->first.p[0] != '(') {
		put_text(p, s->first, 80);
		if (s->windows > 1)
			cam_out_printf(p->out, " and %s more", cam_figure_count(s->windows - 1).s);
		cam_out_str(p->out, " · ");
	}
	cam_out_str(p->out, "perfcam " PERFCAM_VERSION);
}

static void put_footer(struct picture *p, int y)
{
	cam_out_printf(p->out,
		       "<line class=\"hr wide\" x1=\"0\" x2=\"%d\" y1=\"%d.5\" y2=\"%d.5\"/>\n"
		       "<text class=\"s status\" x=\"%d\" y=\"%d\">",
		       (int)p->width, y, y, PAD, y + 20);
	if (p->flame->differential) {
		cam_out_str(p->out, "Width: after. Colour: change against before.");
	} else {
		cam_out_str(p->out, "Width: share of ");
		put_value(p, p->flame->nodes[0].total);
		cam_out_str(p->out, ". Order: by name, not by time.");
	}
	cam_out_printf(p->out, "</text>\n<text class=\"n\" x=\"%d\" y=\"%d\">", PAD, y + 40);
	put_notes(p);
	cam_out_str(p->out, "</text>\n");
	y += 40;
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (p->flame->notes >> i & 1)
			cam_out_printf(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">%s</text>\n",
				       PAD, y += ROW, cam_view_note_words(i));
	}
}

static void put_frames(struct picture *p)
{
	cam_out_printf(p->out,
		       "<g class=\"f\" data-width=\"%d\" data-top=\"%d\" data-rows=\"%u\" "
		       "data-icicle=\"%d\" data-scale=\"%llu\" data-ns=\"%d\">\n<desc>",
		       (int)p->width, TOP, p->rows, p->o->icicle, (unsigned long long)p->scale,
		       p->flame->unit_is_ns);
	put_text(p, p->flame->unit, 40);
	cam_out_str(p->out, "</desc>\n");
	walk(p, true);
	cam_out_str(p->out, "</g>\n");
}

static void prepare(struct picture *p)
{
	const struct cam_flame *f = p->flame;
	p->width = p->o->width ? p->o->width : 1200;
	if (p->width < 640)
		p->width = 640;
	p->min_width = p->o->min_width > 0 ? p->o->min_width : 0.1;
	p->per = f->nodes[0].total ? (p->width - 2 * PAD) / (double)f->nodes[0].total : 0;
	p->scale = 0;
	for (size_t i = 0; i < f->n_nodes && p->scale != 1; i++)
		p->scale = gcd(p->scale, f->nodes[i].self);
	if (!p->scale)
		p->scale = 1;
	walk(p, false);
}

int cam_svg_flame_write(const struct cam_flame *flame, const struct cam_svg_flame_options *o,
			struct cam_out *out)
{
	struct picture p = {.out = out, .flame = flame, .o = o};
	p.cursor = calloc(flame->depth + 2ul, sizeof(*p.cursor));
	if (!p.cursor)
		return -ENOMEM;
	prepare(&p);
	bool empty = !flame->nodes[0].total;
	int foot = TOP + ROW * (int)(empty ? 4 : p.rows) + 8;
	put_header(&p, foot + 52 + ROW * __builtin_popcount(flame->notes));
	if (empty)
		put_nothing(&p);
	else
		put_frames(&p);
	put_footer(&p, foot);
	put_head(&p);
	if (!empty)
		cam_out_printf(out, "<script><![CDATA[%s]]></script>\n", cam_embedded_flame_js);
	cam_out_str(out, "</svg>\n");
	free(p.cursor);
	return out->error;
}
