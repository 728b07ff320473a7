// SPDX-License-Identifier: Apache-2.0
#include "render/embedded.h"
#include "render/figure.h"
#include "render/label.h"
#include "render/svg_parts.h"

#define NOTE_ROW 18

/* One text, so that the font itself keeps the distances. */
static void put_legend(struct cam_svg_picture *p)
{
	static const struct entry {
		const char *cls, *name;
		enum cam_frame_kind kind;
	} kinds[] = {{"lk", "kernel", CAM_FRAME_KERNEL},
		     {"lu", "user", CAM_FRAME_USER},
		     {"lj", "JIT", CAM_FRAME_JIT},
		     {"li", "inlined", CAM_FRAME_INLINED},
		     {"lm", "not code", CAM_FRAME_MARK}},
	  changes[] = {{"lb", "less", 0}, {"lm", "the same", 0}, {"lr", "more", 0}},
	  negated[] = {{"lr", "less", 0}, {"lm", "the same", 0}, {"lb", "more", 0}};
	bool change = p->flame->differential;
	/* A palette's colours mean something else, and a narrow picture has no room. */
	if ((p->o->palette && !change) || p->width < 640)
		return;
	size_t n = change ? sizeof(changes) / sizeof(changes[0]) : sizeof(kinds) / sizeof(kinds[0]);
	const struct entry *shown = !change ? kinds : p->o->negate ? negated : changes;
	cam_out_printf(p->out,
		       "<g class=\"end\"><text class=\"l\" x=\"%d\" y=\"54\" "
		       "text-anchor=\"end\">",
		       (int)p->width - CAM_SVG_PAD);
	const char *between = "";
	for (size_t i = 0; i < n; i++) {
		if (!change && !p->kinds[kinds[i].kind])
			continue;
		cam_out_printf(p->out, "%s<tspan class=\"%s\">■</tspan> %s", between, shown[i].cls,
			       shown[i].name);
		between = "\u2003";
	}
	cam_out_str(p->out, "</text></g>\n");
}

/* When it was, as exactly as is known. */
static void put_time(struct cam_svg_picture *p)
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
static void put_count(struct cam_svg_picture *p)
{
	const struct cam_flame *f = p->flame;
	if (f->differential) {
		cam_svg_value(p, f->nodes[0].before_total);
		cam_out_str(p->out, " before, ");
		cam_svg_value(p, f->nodes[0].total);
		cam_out_str(p->out, " after");
		return;
	}
	if (!cam_text_equal(f->unit, CAM_TEXT("samples")) && !p->o->count_name.n)
		cam_out_printf(p->out, "%s samples, ", cam_figure_count(f->seen.samples).s);
	cam_svg_value(p, f->nodes[0].total);
	if (f->unit_is_ns && !p->o->count_name.n) {
		cam_out_str(p->out, " of ");
		cam_svg_text(p, f->unit, 40);
	}
}

static void put_what(struct cam_svg_picture *p)
{
	const struct cam_flame *f = p->flame;
	if (p->o->scope.n) {
		cam_svg_text(p, p->o->scope, 80);
		cam_out_str(p->out, " · ");
	}
	if (p->o->when.n && !p->o->title.n) {
		/* The title has host and time. */
		cam_out_printf(p->out, "%s · ", cam_figure_duration(f->seen.observed_ns).s);
		put_count(p);
		return;
	}
	if (f->seen.host.n) {
		cam_svg_text(p, f->seen.host, 64);
		cam_out_str(p->out, " · ");
	}
	put_time(p);
	put_count(p);
}

static struct cam_text title_of(const struct cam_svg_picture *p)
{
	if (p->o->title.n)
		return p->o->title;
	if (p->o->when.n)
		return p->o->when;
	if (p->flame->differential)
		return CAM_TEXT("Differential flame graph");
	if (p->o->chart)
		return CAM_TEXT("Flame chart");
	return p->o->icicle ? CAM_TEXT("Icicle graph") : CAM_TEXT("Flame graph");
}

/* Comments of XML may not hold "--". */
static void put_comment(struct cam_svg_picture *p)
{
	struct cam_text s = p->o->notes;
	if (!s.n)
		return;
	cam_out_str(p->out, "<!-- NOTES: ");
	for (size_t i = 0; i < s.n; i++) {
		if (i && s.p[i] == '-' && s.p[i - 1] == '-')
			cam_out_str(p->out, " ");
		cam_label_put(p->out, (struct cam_text){s.p + i, 1}, 4, CAM_LABEL_XML);
	}
	cam_out_str(p->out, " -->\n");
}

/* flame.css; a background of one's own is as light as paper, so the dark half is left out then. */
static void put_style(struct cam_svg_picture *p)
{
	const struct cam_svg_flame_options *o = p->o;
	struct cam_rgb top, bottom;
	const char *dark = strstr(cam_embedded_flame_css, "@media");
	bool paper = o->background.n && cam_background_find(o->background, &top, &bottom);
	size_t n = paper && dark ? (size_t)(dark - cam_embedded_flame_css)
				 : strlen(cam_embedded_flame_css);
	cam_out_str(p->out, "<style>\n");
	cam_out_bytes(p->out, cam_embedded_flame_css, n);
	if (o->font_size > 0)
		cam_out_printf(p->out, ".f { font-size: %d.%02dpx; }\n", (int)p->font,
			       (int)(p->font * 100) % 100);
	if (o->font.n)
		cam_out_printf(p->out, "svg { font-family: %.*s; }\n", (int)o->font.n, o->font.p);
	if (paper)
		cam_out_printf(p->out,
			       "svg { background: #%02x%02x%02x; }\n"
			       ".bg { fill: url(#paper); }\n.head .bg { fill: #%02x%02x%02x; }\n",
			       bottom.r, bottom.g, bottom.b, top.r, top.g, top.b);
	cam_out_str(p->out, "</style>\n");
	if (paper)
		cam_out_printf(p->out,
			       "<linearGradient id=\"paper\" x2=\"0\" y2=\"1\">"
			       "<stop offset=\".05\" stop-color=\"#%02x%02x%02x\"/>"
			       "<stop offset=\".95\" stop-color=\"#%02x%02x%02x\"/>"
			       "</linearGradient>\n",
			       top.r, top.g, top.b, bottom.r, bottom.g, bottom.b);
}

static void put_page_head(struct cam_svg_picture *p)
{
	cam_out_printf(p->out,
		       "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		       "style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; "
		       "form-action 'none'\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width\">\n"
		       "<meta name=\"color-scheme\" content=\"%s\">\n<title>",
		       cam_embedded_flame_js_sha256, p->o->background.n ? "light" : "light dark");
	cam_svg_text(p, title_of(p), 200);
	cam_out_str(p->out, "</title>\n<style>body { margin: 0; } svg { display: block; } ");
	/* Below a picture that is lower than the window. */
	struct cam_rgb top, bottom;
	if (p->o->background.n && cam_background_find(p->o->background, &top, &bottom))
		cam_out_printf(p->out, "body { background: #%02x%02x%02x; }", bottom.r, bottom.g,
			       bottom.b);
	else
		cam_out_str(p->out,
			    "body { background: #fff; } @media (prefers-color-scheme: dark) "
			    "{ body { background: #101319; } }");
	cam_out_str(p->out, "</style>\n</head>\n<body>\n");
}

void cam_svg_sheet_open(struct cam_svg_picture *p, int height)
{
	int width = (int)p->width;
	if (p->o->html)
		put_page_head(p);
	else if (p->o->encoding.n)
		cam_out_printf(p->out,
			       "<?xml version=\"1.0\" encoding=\"%.*s\" standalone=\"no\"?>\n",
			       (int)p->o->encoding.n, p->o->encoding.p);
	cam_out_printf(p->out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "viewBox=\"0 0 %d %d\"%s>\n",
		       width, height, width, height, p->o->html ? " class=\"page\"" : "");
	put_comment(p);
	if (!p->o->html) {
		cam_out_str(p->out, "<title>");
		cam_svg_text(p, title_of(p), 200);
		cam_out_str(p->out, "</title>\n");
	}
	put_style(p);
	cam_out_printf(p->out, "<rect class=\"bg wide\" width=\"%d\" height=\"%d\"/>\n", width,
		       height);
}

/* How many characters of some pixels each stand in what is left of a line. */
static size_t room(const struct cam_svg_picture *p, double taken, double each)
{
	double left = p->width - (p->width < 640 ? 2 * CAM_SVG_PAD : taken);
	return left > 0 ? (size_t)(left / each) : 0;
}

void cam_svg_sheet_head(struct cam_svg_picture *p)
{
	int width = (int)p->width;
	cam_out_printf(p->out,
		       "<g class=\"head\"><rect class=\"bg wide\" width=\"%d\" height=\"%d\"/>"
		       "<text class=\"t\" x=\"%d\" y=\"30\">",
		       width, CAM_SVG_TOP - 8, CAM_SVG_PAD);
	cam_svg_text(p, title_of(p), room(p, 420, 9));
	cam_out_printf(p->out, "</text><text class=\"s\" x=\"%d\" y=\"54\">", CAM_SVG_PAD);
	if (p->o->subtitle.n)
		cam_svg_text(p, p->o->subtitle, room(p, 380, 6.6));
	else
		put_what(p);
	cam_out_str(p->out, "</text>");
	put_legend(p);
	cam_out_printf(p->out,
		       "<line class=\"hr wide\" x1=\"0\" x2=\"%d\" y1=\"67.5\" y2=\"67.5\"/></g>\n",
		       width);
}

void cam_svg_sheet_nothing(struct cam_svg_picture *p)
{
	const struct cam_seen *s = &p->flame->seen;
	cam_out_printf(p->out, "<text class=\"s\" x=\"%d\" y=\"%d\">", CAM_SVG_PAD,
		       CAM_SVG_TOP + 48);
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
static void put_note(struct cam_svg_picture *p, const char *cls, uint64_t n, const char *one,
		     const char *many)
{
	if (!n)
		return;
	cam_out_printf(p->out, "<tspan%s>%s %s</tspan> · ", cls, cam_figure_count(n).s,
		       n == 1 ? one : many);
}

static void put_notes(struct cam_svg_picture *p)
{
	static const char warn[] = " class=\"w\"";
	const struct cam_seen *s = &p->flame->seen;
	put_note(p, warn, s->lost, "sample lost", "samples lost");
	put_note(p, warn, s->damaged, "sample damaged", "samples damaged");
	put_note(p, warn, s->damaged_stacks, "stack damaged", "stacks damaged");
	if (!s->damaged && !s->damaged_stacks)
		put_note(p, warn, s->damaged_parts, "part with names damaged",
			 "parts with names damaged");
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
		cam_svg_text(p, s->first, 80);
		if (s->windows > 1)
			cam_out_printf(p->out, " and %s more", cam_figure_count(s->windows - 1).s);
		cam_out_str(p->out, " · ");
	}
	cam_out_str(p->out, "perfcam " PERFCAM_VERSION);
}

void cam_svg_sheet_foot(struct cam_svg_picture *p, int y)
{
	cam_out_printf(p->out,
		       "<line class=\"hr wide\" x1=\"0\" x2=\"%d\" y1=\"%d.5\" y2=\"%d.5\"/>\n"
		       "<text class=\"s status\" x=\"%d\" y=\"%d\">",
		       (int)p->width, y, y, CAM_SVG_PAD, y + 20);
	if (p->flame->differential) {
		cam_out_printf(p->out, "Width: after. Colour: change %sagainst before.",
			       p->o->by_self ? "of the frame itself " : "");
	} else {
		cam_out_str(p->out, "Width: share of ");
		cam_svg_value(p, p->whole);
		cam_out_str(p->out,
			    p->o->chart ? ". Order: by time." : ". Order: by name, not by time.");
	}
	cam_out_printf(p->out, "</text>\n<text class=\"n\" x=\"%d\" y=\"%d\">", CAM_SVG_PAD,
		       y + 40);
	put_notes(p);
	cam_out_str(p->out, "</text>\n");
	y += 40;
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (p->flame->notes >> i & 1)
			cam_out_printf(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">%s</text>\n",
				       CAM_SVG_PAD, y += NOTE_ROW, cam_view_note_words(i));
	}
}

int cam_svg_sheet_foot_height(const struct cam_svg_picture *p)
{
	return 52 + NOTE_ROW * __builtin_popcount(p->flame->notes);
}

void cam_svg_sheet_close(struct cam_svg_picture *p, bool with_script)
{
	if (with_script)
		cam_out_printf(p->out, "<script><![CDATA[%s]]></script>\n", cam_embedded_flame_js);
	cam_out_str(p->out, p->o->html ? "</svg>\n</body>\n</html>\n" : "</svg>\n");
}
