// SPDX-License-Identifier: Apache-2.0
#include "render/svg_timeline.h"

#include "base/units.h"
#include "render/label.h"

#include <math.h>
#include <time.h>

#define WIDTH  1200
#define LEFT   46
#define TOP    24
#define HEIGHT 96
#define LABELS 8

static double x_of(const struct cam_overview *o, int64_t wall_ns)
{
	double part = ((double)wall_ns - (double)o->from_ns) / ((double)o->step_ns * (double)o->n);
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return LEFT + part * (WIDTH - LEFT);
}

static void put_clock(const struct cam_svg_timeline *t, int64_t wall_ns, struct cam_out *out)
{
	time_t sec = (time_t)(wall_ns / (int64_t)CAM_NS_PER_SEC);
	struct tm tm;
	if (t->zone.east)
		sec += t->zone.east(t->zone.arg, sec);
	gmtime_r(&sec, &tm);
	cam_out_printf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void put_head(struct cam_out *out)
{
	cam_out_printf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
		"<style>\n"
		"svg { background: #fff; font: 11px system-ui, sans-serif; } text { fill: #626c7b; }\n"
		".p { fill: #c9d7f2; } .b { fill: #3b6fd4; } .hr { stroke: #e3e6eb; }\n"
		".u { fill: url(#hatch); } .h { stroke: #c77700; }\n"
		".m { fill: #c77700; fill-opacity: .16; stroke: #c77700; }\n"
		".note { stroke: #8c96a5; } .warn { stroke: #c77700; } .bad { stroke: #c62f2f; }\n"
		"@media (prefers-color-scheme: dark) { svg { background: #0f1216; } text { fill: #8c96a5; }\n"
		".p { fill: #22375e; } .b { fill: #5b8def; } .hr { stroke: #272d36; } }\n"
		"</style>\n"
		"<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		"<path class=\"h\" d=\"M0 6 6 0\"/></pattern></defs>\n",
		WIDTH, TOP + HEIGHT + 22, WIDTH, TOP + HEIGHT + 22);
}

static void put_bar(struct cam_out *out, const char *class, double x, double width, double share)
{
	double high = (share > 1 ? 1 : share) * HEIGHT;
	if (high > 0)
		cam_out_printf(
			out,
			"<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
			class, x, TOP + HEIGHT - high, width, high);
}

static void put_bins(const struct cam_overview *o, struct cam_out *out)
{
	double width = (double)(WIDTH - LEFT) / (double)o->n;
	for (size_t i = 0; i < o->n; i++) {
		double x = LEFT + (double)i * width;
		if (o->unseen[i] > 0.5f)
			put_bar(out, "u", x, width, 1);
		put_bar(out, "p", x, width, (double)o->peak[i]);
		put_bar(out, "b", x, width, (double)o->busy[i]);
	}
}

static void put_axes(const struct cam_svg_timeline *t, struct cam_out *out)
{
	const struct cam_overview *o = t->overview;
	for (int i = 0; i <= 2; i++) {
		double y = TOP + HEIGHT * (1 - i / 2.0);
		cam_out_printf(out,
			       "<line class=\"hr\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			       "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
			       LEFT, WIDTH, y, y, LEFT - 6, y + 4, i * 50);
	}
	for (int i = 0; i < LABELS; i++) {
		int64_t at = o->from_ns +
			     (int64_t)(o->step_ns * o->n / LABELS) * i; /* no overflow: hours */
		cam_out_printf(out, "<text x=\"%.1f\" y=\"%d\">", x_of(o, at), TOP + HEIGHT + 16);
		put_clock(t, at, out);
		cam_out_str(out, "</text>\n");
	}
}

static void put_events(const struct cam_svg_timeline *t, struct cam_out *out)
{
	for (size_t i = 0; i < t->n_events; i++) {
		const struct cam_moment_event *e = &t->events[i];
		if (e->wall_ns == INT64_MIN)
			continue;
		double x = x_of(t->overview, e->wall_ns);
		const char *class = e->severity <= CAM_SEVERITY_ERR	  ? "bad"
				    : e->severity == CAM_SEVERITY_WARNING ? "warn"
									  : "note";
		cam_out_printf(out, "<path class=\"%s\" d=\"M%.1f 6V%d\"><title>", class, x,
			       TOP + HEIGHT);
		put_clock(t, e->wall_ns, out);
		cam_out_str(out, " ");
		cam_label_put(out, e->text, 400, CAM_LABEL_XML);
		cam_out_str(out, "</title></path>\n");
	}
}

int cam_svg_timeline_write(const struct cam_svg_timeline *t, struct cam_out *out)
{
	const struct cam_overview *o = t->overview;
	put_head(out);
	put_axes(t, out);
	put_bins(o, out);
	double from = x_of(o, t->from_ns), to = x_of(o, t->to_ns);
	cam_out_printf(out,
		       "<rect class=\"m\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">"
		       "<title>what this page is about</title></rect>\n",
		       from, TOP - 6, fmax(to - from, 2), HEIGHT + 6);
	put_events(t, out);
	cam_out_str(out, "</svg>\n");
	return out->error;
}
