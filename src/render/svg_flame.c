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
 * attribute, of style or of script. (What a person says by --nameattr is, escaped.)
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
 *    from picture to picture; in a differential, on the change only. (With a palette of flamegraph.pl
 *    it is that palette's, as an attribute of the rectangle.)
 *
 * Example of a frame, 40 of 100 samples, at depth 2:
 *
 *	<g class="u3" data-x="10" data-v="40" data-d="2"><title>main
 *	user · /usr/bin/cc1
 *	40 samples, 40.0 % of all, self 0.0 %</title>
 *	<rect x="132.8" y="94" width="466.2" height="17"/><text x="136.8" y="106.5">main</text></g>
 */
#include "render/svg_flame.h"

#include "render/ascii_out.h"
#include "render/figure.h"
#include "render/label.h"
#include "render/svg_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PAD	   CAM_SVG_PAD
#define TOP	   CAM_SVG_TOP
#define LEAST	   3 /* columns; less of a name says nothing */
#define SHADES	   6
#define TITLE_NAME 2000 /* columns of a name that a tooltip keeps */

/* How a frame looks: a class of flame.css, or a colour of its own. */
struct look {
	char cls[8];
	bool filled;
	struct cam_rgb fill;
};

void cam_svg_text(struct cam_svg_picture *p, struct cam_text s, size_t columns)
{
	cam_label_put(p->out, s, columns, CAM_LABEL_XML);
}

/* Hundredths of a pixel, without trailing zeros; not by printf, whose point may be a comma. */
static void put_px(struct cam_svg_picture *p, double v)
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

/* What a differential compares: the frame with all below it, or the frame itself. */
static uint64_t now_of(const struct cam_svg_picture *p, const struct cam_flame_node *n)
{
	return p->o->by_self ? n->self : n->total;
}

static uint64_t before_of(const struct cam_svg_picture *p, const struct cam_flame_node *n)
{
	return p->o->by_self ? n->before_self : n->before_total;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t change_of(const struct cam_svg_picture *p, const struct cam_flame_node *n)
{
	return apart(now_of(p, n), before_of(p, n));
}

/* What a frame's width stands for; the root may be asked to be more than all that is in it. */
static uint64_t width_of(const struct cam_svg_picture *p, size_t i)
{
	return i ? p->flame->nodes[i].total : p->whole;
}

/* FNV-1a: the same on every machine and in every run, which cam_hash() is not meant to be. */
static unsigned shade_of(struct cam_text name)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return (h >> 8) % SHADES;
}

/* Wakers in a chain graph are marked in the data of some tools; the mark is not part of the name. */
static struct cam_text shown_name(const struct cam_flame *f, size_t i)
{
	struct cam_text name = cam_flame_name(f, i);
	if (name.n > 4 && cam_text_ends(name, CAM_TEXT("_[w]")))
		name.n -= 4;
	return name;
}

/* The name as it stands in folded stacks; the root has none. */
static struct cam_text annotated_name(struct cam_svg_picture *p, size_t i)
{
	static const char *const marks[CAM_FRAME_KIND_MAX] = {[CAM_FRAME_KERNEL] = "_[k]",
							      [CAM_FRAME_JIT] = "_[j]",
							      [CAM_FRAME_INLINED] = "_[i]"};
	struct cam_text name = cam_flame_name(p->flame, i);
	const char *mark = marks[cam_flame_frame_of(p->flame, i)->kind];
	bool waker = p->o->palette && p->o->palette->theme == CAM_THEME_CHAIN &&
		     p->flame->nodes[i].depth > p->separator;
	if (!i)
		return CAM_TEXT("");
	if (!mark && !waker)
		return name;
	cam_buf_clear(&p->name);
	cam_buf_put(&p->name, name.p, name.n);
	cam_buf_put(&p->name, mark ? mark : "", mark ? 4 : 0);
	cam_buf_put(&p->name, "_[w]", waker ? 4 : 0);
	if (!p->error)
		p->error = cam_buf_error(&p->name);
	return (struct cam_text){(const char *)p->name.data, p->name.len};
}

static struct look change_look(const struct cam_svg_picture *p, const struct cam_flame_node *n)
{
	struct look look = {.cls = "g0"};
	double part = p->max_change ? (double)change_of(p, n) / (double)p->max_change : 0;
	int step = (int)ceil(sqrt(part) * SHADES);
	if (step) {
		look.cls[0] = (now_of(p, n) > before_of(p, n)) != p->o->negate ? 'r' : 'b';
		look.cls[1] = (char)('0' + step - 1);
	}
	return look;
}

static struct look look_of(struct cam_svg_picture *p, size_t i)
{
	static const char letters[CAM_FRAME_KIND_MAX] = "apkujim";
	struct cam_text name = cam_flame_name(p->flame, i);
	enum cam_frame_kind kind = cam_flame_frame_of(p->flame, i)->kind;
	struct look look = {.cls = "c", .filled = true};
	bool one = cam_text_equal(name, CAM_TEXT("-")), two = cam_text_equal(name, CAM_TEXT("--"));
	if (i && (one || two))
		return (struct look){.cls = {'s', one ? '1' : '2'}};
	if (p->flame->differential && i)
		return change_look(p, &p->flame->nodes[i]);
	if (p->o->palette && !p->flame->differential) {
		int err = cam_palette_colour(p->o->palette, annotated_name(p, i), &look.fill);
		p->error = p->error ? p->error : err;
		return look;
	}
	look = (struct look){.cls = {letters[kind]}};
	if (kind != CAM_FRAME_ROOT && kind != CAM_FRAME_PROCESS && kind != CAM_FRAME_MARK)
		look.cls[1] = (char)('0' + shade_of(name));
	return look;
}

struct cam_text cam_svg_unit(const struct cam_svg_picture *p)
{
	return p->o->count_name.n ? p->o->count_name : p->flame->unit;
}

void cam_svg_value(struct cam_svg_picture *p, uint64_t v)
{
	double scaled = (double)v * p->factor;
	if (p->factor != 1)
		v = scaled < 1.8e19 ? (uint64_t)nearbyint(scaled) : UINT64_MAX;
	if (p->flame->unit_is_ns && !p->o->count_name.n) {
		cam_out_str(p->out, cam_figure_duration(v).s);
		return;
	}
	cam_out_printf(p->out, "%s ", cam_figure_count(v).s);
	cam_svg_text(p, cam_svg_unit(p), 40);
}

static const char *sign_of(const struct cam_svg_picture *p, uint64_t now, uint64_t before)
{
	return now == before ? "±" : (now > before) != p->o->negate ? "+" : "−";
}

static void put_change(struct cam_svg_picture *p, const struct cam_flame_node *n)
{
	cam_out_str(p->out, "\nbefore: ");
	cam_svg_value(p, n->before_total);
	if (!n->before_total)
		cam_out_str(p->out, ", new");
	else
		cam_out_printf(
			p->out, ", %s%s", sign_of(p, n->total, n->before_total),
			cam_figure_percent(apart(n->total, n->before_total), n->before_total).s);
	if (p->o->by_self)
		cam_out_printf(p->out, "\nself: %s%s of all", sign_of(p, n->self, n->before_self),
			       cam_figure_percent(apart(n->self, n->before_self), p->whole).s);
}

static void put_facts(struct cam_svg_picture *p, size_t i)
{
	static const char *const kinds[CAM_FRAME_KIND_MAX] = {
		"everything selected", "process", "kernel", "user", "JIT", "inlined", "not code"};
	const struct cam_flame *f = p->flame;
	const struct cam_flame_node *n = &f->nodes[i];
	struct cam_text module = cam_flame_module_path(f, n->module);
	cam_out_printf(p->out, "\n%s", kinds[cam_flame_frame_of(f, i)->kind]);
	if (n->module == CAM_MODULE_SEVERAL)
		module = CAM_TEXT("several files");
	if (module.n) {
		cam_out_str(p->out, " · ");
		cam_svg_text(p, module, 200);
	}
	cam_out_str(p->out, "\n");
	cam_svg_value(p, width_of(p, i));
	cam_out_printf(p->out, ", %s of all, self %s",
		       cam_figure_percent(width_of(p, i), p->whole).s,
		       cam_figure_percent(n->self, p->whole).s);
	if (f->differential)
		put_change(p, n);
}

static void put_title(struct cam_svg_picture *p, size_t i, const struct cam_frame_attribute *a)
{
	cam_out_str(p->out, "<title>");
	cam_svg_text(p, shown_name(p->flame, i), TITLE_NAME);
	if (a && a->title.n) {
		cam_out_str(p->out, "\n");
		cam_svg_text(p, a->title, TITLE_NAME);
	} else {
		put_facts(p, i);
	}
	cam_out_str(p->out, "</title>");
}

static double row_of(const struct cam_svg_picture *p, uint32_t depth)
{
	return TOP + p->row * (p->o->icicle ? depth : p->rows - 1 - depth);
}

static void put_label(struct cam_svg_picture *p, size_t i, double x, double w)
{
	const struct cam_flame *f = p->flame;
	double room = (w - 9) / p->column;
	size_t columns = room > 0 ? (size_t)room : 0;
	struct cam_text name = shown_name(f, i), tail = cam_label_tail(name, columns);
	size_t cut = tail.n < name.n;
	if (columns < cam_label_columns(tail) + cut && columns < LEAST + 1 + cut)
		return;
	cam_out_str(p->out, "<text x=\"");
	put_px(p, x + 4);
	cam_out_str(p->out, "\" y=\"");
	put_px(p, row_of(p, f->nodes[i].depth) + (p->row - 1) / 2 + p->font * 4 / 11);
	cam_out_str(p->out, cut ? "\">…" : "\">");
	cam_svg_text(p, tail, columns - cut);
	if (i == 0 && columns > 40) {
		cam_out_str(p->out, " · ");
		cam_svg_value(p, p->whole);
	}
	cam_out_str(p->out, "</text>");
}

static const struct cam_frame_attribute *attributes_of(struct cam_svg_picture *p, size_t i)
{
	const struct cam_frame_attributes *all = p->o->attributes;
	const struct cam_frame_attribute *a = NULL;
	if (all)
		a = cam_frame_attributes_find(all, annotated_name(p, i));
	if (all && !a)
		a = cam_frame_attributes_find(all, cam_flame_name(p->flame, i));
	return a;
}

static void put_attribute(struct cam_svg_picture *p, const char *key, struct cam_text value)
{
	if (!value.n)
		return;
	cam_out_printf(p->out, " %s=\"", key);
	cam_svg_text(p, value, TITLE_NAME);
	cam_out_str(p->out, "\"");
}

static void put_group(struct cam_svg_picture *p, size_t i, uint64_t start, const struct look *look,
		      const struct cam_frame_attribute *a)
{
	cam_out_printf(p->out, "<g class=\"%s", look->cls);
	if (a && a->cls.n) {
		cam_out_str(p->out, " ");
		cam_svg_text(p, a->cls, 200);
	}
	cam_out_printf(p->out, "\" data-x=\"%llu\" data-v=\"%llu\" data-d=\"%u\"",
		       (unsigned long long)(start / p->scale),
		       (unsigned long long)(width_of(p, i) / p->scale), p->flame->nodes[i].depth);
	if (a)
		put_attribute(p, "id", a->id);
	cam_out_str(p->out, ">");
}

static void put_frame(struct cam_svg_picture *p, size_t i, uint64_t start)
{
	const struct cam_flame_node *n = &p->flame->nodes[i];
	double x = PAD + (double)start * p->per, w = (double)width_of(p, i) * p->per;
	if (p->separator != UINT32_MAX && n->depth <= p->separator)
		p->separator = UINT32_MAX;
	if (p->separator == UINT32_MAX &&
	    cam_text_equal(cam_flame_name(p->flame, i), CAM_TEXT("--")))
		p->separator = n->depth;
	struct look look = look_of(p, i);
	const struct cam_frame_attribute *a = attributes_of(p, i);
	put_group(p, i, start, &look, a);
	put_title(p, i, a);
	if (a && a->href.n) {
		cam_out_str(p->out, "<a");
		put_attribute(p, "href", a->href);
		put_attribute(p, "target", a->target.n ? a->target : CAM_TEXT("_top"));
		cam_out_str(p->out, ">");
	}
	cam_out_str(p->out, "<rect x=\"");
	put_px(p, x);
	cam_out_printf(p->out, "\" y=\"%d\" width=\"", (int)row_of(p, n->depth));
	put_px(p, w > 3 ? w - 1 : w * 0.75);
	cam_out_printf(p->out, "\" height=\"%d\"", (int)p->row - 1);
	if (look.filled)
		cam_out_printf(p->out, " fill=\"rgb(%u,%u,%u)\"", look.fill.r, look.fill.g,
			       look.fill.b);
	cam_out_str(p->out, "/>");
	put_label(p, i, x, w);
	cam_out_str(p->out, a && a->href.n ? "</a></g>\n" : "</g>\n");
}

/* Walks the frames that are wide enough; draws them, or else finds out what will be drawn. */
static void walk(struct cam_svg_picture *p, bool draw)
{
	const struct cam_flame *f = p->flame;
	p->narrow = p->gone = 0;
	p->cursor[0] = 0;
	for (uint32_t i = 0; i < f->n_nodes;) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t start = cam_flame_start(f, i, p->cursor);
		if (i && (double)n->total * p->per < p->min_width) {
			for (uint32_t k = i; k < n->end; k++)
				*(f->nodes[k].total ? &p->narrow : &p->gone) += 1;
			i = n->end;
			continue;
		}
		if (draw) {
			put_frame(p, i, start);
		} else {
			p->kinds[cam_flame_frame_of(f, i)->kind] = true;
			p->rows = n->depth >= p->rows ? n->depth + 1 : p->rows;
			if (i && change_of(p, n) > p->max_change)
				p->max_change = change_of(p, n);
		}
		i++;
	}
}

static void put_frames(struct cam_svg_picture *p)
{
	cam_out_printf(p->out,
		       "<g class=\"f\" data-width=\"%d\" data-top=\"%d\" data-rows=\"%u\" "
		       "data-row=\"%d\" data-icicle=\"%d\" data-scale=\"%llu\" data-ns=\"%d\"",
		       (int)p->width, TOP, p->rows, (int)p->row, p->o->icicle,
		       (unsigned long long)p->scale, p->flame->unit_is_ns && !p->o->count_name.n);
	cam_out_str(p->out, " data-font=\"");
	put_px(p, p->font);
	cam_out_str(p->out, "\"");
	if (p->o->width)
		cam_out_str(p->out, " data-wide=\"1\"");
	if (p->factor != 1)
		cam_out_printf(p->out, " data-millionths=\"%lld\"", llround(p->factor * 1e6));
	put_attribute(p, "data-what", p->o->name_type);
	cam_out_str(p->out, ">\n<desc>");
	cam_svg_text(p, cam_svg_unit(p), 40);
	cam_out_str(p->out, "</desc>\n");
	walk(p, true);
	cam_out_str(p->out, "</g>\n");
}

static void prepare(struct cam_svg_picture *p)
{
	const struct cam_flame *f = p->flame;
	const struct cam_svg_flame_options *o = p->o;
	uint64_t all = f->nodes[0].total;
	p->width = o->width ? o->width : 1200;
	p->row = o->row_height ? o->row_height : 18;
	p->font = o->font_size > 0 ? o->font_size : 11;
	p->column = p->font * (o->font_width > 0 ? o->font_width : 0.6);
	p->factor = o->factor > 0 ? o->factor : 1;
	p->whole = o->total > (double)all && o->total < 1.8e19 ? (uint64_t)llround(o->total) : all;
	p->min_width = o->min_share > 0	  ? o->min_share * (p->width - 2 * PAD)
		       : o->min_width > 0 ? o->min_width
					  : 0.1;
	p->per = p->whole ? (p->width - 2 * PAD) / (double)p->whole : 0;
	p->scale = p->whole;
	for (size_t i = 0; i < f->n_nodes && p->scale != 1; i++)
		p->scale = gcd(p->scale, f->nodes[i].self);
	if (!p->scale)
		p->scale = 1;
	walk(p, false);
}

static void draw(struct cam_svg_picture *p)
{
	bool empty = !p->flame->nodes[0].total;
	int foot = TOP + (int)(empty ? 72 : p->row * p->rows) + 8;
	cam_svg_sheet_open(p, foot + cam_svg_sheet_foot_height(p));
	if (empty)
		cam_svg_sheet_nothing(p);
	else
		put_frames(p);
	cam_svg_sheet_foot(p, foot);
	cam_svg_sheet_head(p);
	cam_svg_sheet_close(p, !empty);
}

int cam_svg_flame_write(const struct cam_flame *flame, const struct cam_svg_flame_options *o,
			struct cam_out *out)
{
	struct cam_ascii_out ascii;
	struct cam_svg_picture p = {.out = out,
				    .flame = flame,
				    .o = o,
				    .separator = UINT32_MAX,
				    .name = CAM_BUF(1u << 24)};
	p.cursor = calloc(flame->depth + 2ul, sizeof(*p.cursor));
	if (!p.cursor)
		return -ENOMEM;
	if (o->encoding.n)
		p.out = cam_ascii_out_init(&ascii, out);
	prepare(&p);
	draw(&p);
	int err = o->encoding.n ? cam_out_finish(&ascii.out) : out->error;
	free(p.cursor);
	cam_buf_free(&p.name);
	return p.error ? p.error : err;
}
