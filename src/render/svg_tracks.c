// SPDX-License-Identifier: Apache-2.0
/*
 * Each lane is one path a counter (a rectangle a bin), and over it a transparent rectangle a bin that says all that
 * is known of it. A bin without any reading is hatched: it must not look like one in which nothing happened.
 */
#include "render/svg_tracks.h"

#include <math.h>

#define GAP    4
#define HIGH   34 /* of the lane that adds up */
#define LOW    16
#define LEGEND 17 /* a line of it */

static int height_of(const struct cam_heat_lane *lane)
{
	return lane->n_kinds > 1 ? HIGH : LOW;
}

int cam_svg_tracks_height(const struct cam_tracks *t)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(t, lanes);
	int height = n ? GAP + LEGEND * (1 + (t->n_waiters > 0)) : 0;
	for (size_t i = 0; i < n; i++)
		height += height_of(&lanes[i]) + GAP;
	return height;
}

void cam_svg_tracks_colours(const struct cam_tracks *t, bool dark, struct cam_out *out)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(t, lanes);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < lanes[i].n_kinds; k++) {
			struct cam_rgb c = cam_heat_track_colour(lanes[i].kinds[k], dark);
			cam_out_printf(out, ".k%u{fill:#%02x%02x%02x}\n",
				       (unsigned)lanes[i].kinds[k], c.r, c.g, c.b);
		}
	}
}

static double bin_px(const struct cam_svg_tracks *s)
{
	return s->width / (double)s->tracks->n;
}

/* One counter of a lane, upon those below it. */
static void put_counter(const struct cam_svg_tracks *s, const struct cam_heat_lane *lane, size_t k,
			int bottom, struct cam_out *out)
{
	int height = height_of(lane);
	bool any = false;
	for (size_t bin = 0; bin < s->tracks->n; bin++) {
		double below = 0, part = 0;
		for (size_t i = 0; i <= k; i++) {
			part = cam_heat_lane_part(s->tracks, lane, lane->kinds[i], bin);
			part = isnan(part) ? 0 : part;
			below += i < k ? part : 0;
		}
		double high = fmin(part, 1 - below) * height;
		if (high < 0.05)
			continue;
		cam_out_str(out, any ? "" : "<path");
		if (!any)
			cam_out_printf(out, " class=\"k%u\" d=\"", (unsigned)lane->kinds[k]);
		any = true;
		cam_out_printf(out, "M%.2f %.2fh%.2fv-%.2fh-%.2fz",
			       s->left + (double)bin * bin_px(s), bottom - below * height,
			       bin_px(s), high, bin_px(s));
	}
	cam_out_str(out, any ? "\"/>\n" : "");
}

static void put_bins(const struct cam_svg_tracks *s, const struct cam_heat_lane *lane, int top,
		     struct cam_out *out)
{
	const struct cam_tracks *t = s->tracks;
	for (size_t bin = 0; bin < t->n; bin++) {
		cam_out_printf(out, "<rect %s x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">",
			       cam_heat_lane_known(t, lane, bin) ? "fill-opacity=\"0\""
								 : "fill=\"url(#hatch)\"",
			       s->left + (double)bin * bin_px(s), top, bin_px(s), height_of(lane));
		cam_out_printf(out, "<title>%s",
			       cam_heat_time(s->heatmap, &s->zone, bin * t->step_ns, true).s);
		if (cam_heat_lane_known(t, lane, bin))
			cam_heat_bin_put(t, bin, out);
		else
			cam_out_str(out, "\nnot observed");
		cam_out_str(out, "</title></rect>\n");
	}
}

/* What the colours are, and who waited longest. */
static void put_legend(const struct cam_svg_tracks *s, const struct cam_heat_lane *lanes, size_t n,
		       int y, struct cam_out *out)
{
	cam_out_printf(out, "<text class=\"n\" x=\"%.0f\" y=\"%d\">", s->left, y + 12);
	for (size_t k = 0; k < lanes[0].n_kinds && lanes[0].n_kinds > 1; k++)
		cam_out_printf(out, "<tspan class=\"k%u\">■</tspan> %s  ",
			       (unsigned)lanes[0].kinds[k],
			       cam_heat_track_words(lanes[0].kinds[k]));
	for (size_t i = 0; i < n; i++) {
		if (lanes[i].n_kinds == 1 && cam_track_unit(lanes[i].kinds[0]) != CAM_TRACK_TIME)
			cam_out_printf(out, " · %s: up to %s", lanes[i].label,
				       cam_heat_lane_full(&lanes[i]).s);
	}
	cam_out_str(out, "</text>\n");
	if (!s->tracks->n_waiters)
		return;
	cam_out_printf(out, "<text class=\"n\" x=\"%.0f\" y=\"%d\">waited to run: ", s->left,
		       y + LEGEND + 12);
	cam_heat_waiters_put(s->tracks, 4, CAM_LABEL_XML, out);
	cam_out_str(out, "</text>\n");
}

void cam_svg_tracks_put(const struct cam_svg_tracks *s, struct cam_out *out)
{
	struct cam_heat_lane lanes[CAM_HEAT_LANES];
	size_t n = cam_heat_lanes(s->tracks, lanes);
	int top = s->top + GAP;
	if (!n)
		return;
	cam_out_str(out, "<g class=\"tracks\">\n");
	for (size_t i = 0; i < n; i++) {
		int height = height_of(&lanes[i]);
		cam_out_printf(out,
			       "<rect class=\"c0h0\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
			       "height=\"%d\"/>\n<text class=\"n\" text-anchor=\"end\" x=\"%.0f\" "
			       "y=\"%d\">%s</text>\n",
			       s->left, top, s->width, height, s->left - 6, top + height / 2 + 4,
			       lanes[i].label);
		for (size_t k = 0; k < lanes[i].n_kinds; k++)
			put_counter(s, &lanes[i], k, top + height, out);
		put_bins(s, &lanes[i], top, out);
		top += height + GAP;
	}
	put_legend(s, lanes, n, top, out);
	cam_out_str(out, "</g>\n");
}
