// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "cli/heading.h"
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/progress_bar.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "query/heatmap.h"
#include "query/tracks.h"
#include "render/json_heatmap.h"
#include "render/png_heatmap.h"
#include "render/text_heatmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of host counters: twelve hours of 96 CPUs, some 3 s of CPU time. More would be slower than the picture. */
#define MOST_CPU_SECONDS 5000000u

enum form { FORM_TEXT, FORM_SVG, FORM_PNG, FORM_JSON };

struct heatmap_arguments {
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	const char *out, *mode, *step, *scale, *paint, *title, *colour, *theme;
	unsigned rows, width;
	bool json;
	/* Made of them. */
	enum form form;
	struct cam_heatmap_options query;
	struct cam_heat_options look;
	struct cam_terminal terminal;
	struct cam_selection painted;
};

/* One of some words; their number where it is none of them. */
static unsigned word_of(const char *given, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!given || !strcmp(given, words[i]))
			return i;
	}
	return n;
}

/* "15;0": what a terminal that says so draws, and on what; light is 7 and the bright ones but 8. */
static bool terminal_is_light(void)
{
	const char *colours = getenv("COLORFGBG"), *last = colours ? strrchr(colours, ';') : NULL;
	int back = last ? atoi(last + 1) : 0;
	return back == 7 || (back > 8 && back < 16);
}

static bool name_ends(const char *path, const char *ending)
{
	struct cam_text p = cam_text_of(path);
	static const char *const packed[] = {".gz", ".zst"};
	for (size_t i = 0; i < 2; i++) {
		struct cam_text tail = cam_text_of(packed[i]);
		if (cam_text_ends(p, tail))
			p.n -= tail.n;
	}
	return cam_text_ends(p, cam_text_of(ending));
}

static int find_form(struct heatmap_arguments *a)
{
	a->form = FORM_TEXT;
	if (a->json || (a->out && name_ends(a->out, ".json")))
		a->form = FORM_JSON;
	else if (a->out && name_ends(a->out, ".svg"))
		a->form = FORM_SVG;
	else if (a->out && name_ends(a->out, ".png"))
		a->form = FORM_PNG;
	if (a->json && a->out && (name_ends(a->out, ".svg") || name_ends(a->out, ".png")))
		return cam_usage("-o %s and --json exclude each other", a->out);
	if (a->out && !a->json && (cam_output_is_foreign(a->out) || name_ends(a->out, ".html")))
		return cam_usage("heatmap draws .svg and .png (.txt, .json), not '%s'", a->out);
	return CAM_EXIT_OK;
}

static int find_look(struct heatmap_arguments *a)
{
	static const char *const modes[] = {"subsecond", "cores"};
	static const char *const scales[] = {"linear", "log", "sparse"};
	static const char *const themes[] = {"auto", "dark", "light"};
	unsigned mode = word_of(a->mode, modes, 2), scale = word_of(a->scale, scales, 3);
	unsigned theme = word_of(a->theme, themes, 3);
	if (mode == 2)
		return cam_usage("--mode takes subsecond or cores, not '%s'", a->mode);
	if (scale == 3)
		return cam_usage("--scale takes linear, log or sparse, not '%s'", a->scale);
	if (theme == 3)
		return cam_usage("--theme takes auto, dark or light, not '%s'", a->theme);
	a->query.mode = (enum cam_heat_mode)mode;
	a->look.scale = (enum cam_heat_scale)scale;
	a->look.dark = theme == 1 || (theme == 0 && a->form == FORM_TEXT && !terminal_is_light());
	if (a->rows && a->query.mode == CAM_HEAT_CORES)
		return cam_usage("--rows divides a second; --mode cores has a row a CPU");
	if (a->rows && (a->rows < CAM_HEAT_LEAST_ROWS || a->rows > CAM_HEAT_MOST_ROWS))
		return cam_usage("--rows takes %u to %u, not %u", CAM_HEAT_LEAST_ROWS,
				 CAM_HEAT_MOST_ROWS, a->rows);
	if (a->step && a->query.mode != CAM_HEAT_CORES)
		return cam_usage("--step is the width of a cell of --mode cores");
	if (a->step && (cam_duration_parse(cam_text_of(a->step), &a->query.step_ns) ||
			a->query.step_ns < CAM_HEAT_LEAST_STEP))
		return cam_usage("--step: '%s' is not a duration of 1ms or more; try 100ms or 1s",
				 a->step);
	if (a->width && (a->width < 640 || a->width > 20000))
		return cam_usage("--width takes 640 to 20000 pixels, not %u", a->width);
	return cam_terminal_ask(a->colour, &a->terminal);
}

/* How many columns the form has room for; of data there is no edge. */
static uint32_t columns_of(const struct heatmap_arguments *a)
{
	switch (a->form) {
	case FORM_SVG:
		return cam_svg_heatmap_columns(a->width);
	case FORM_PNG:
		return cam_png_heatmap_columns(a->width);
	case FORM_JSON:
		return CAM_HEAT_MAX_COLUMNS;
	case FORM_TEXT:
		break;
	}
	return cam_text_heatmap_columns(a->terminal.columns ? a->terminal.columns : 100);
}

static int32_t local_zone(void *arg, int64_t sec)
{
	const struct cam_time_world *world = arg;
	return world->zone(world->zone_arg, sec);
}

static int write_form(const struct heatmap_arguments *a, const struct cam_heat_options *look,
		      const struct cam_heatmap *h, struct cam_out *out)
{
	switch (a->form) {
	case FORM_SVG:
		return cam_svg_heatmap_write(h, look, out);
	case FORM_PNG:
		return cam_png_heatmap_write(h, look, out);
	case FORM_JSON:
		return cam_json_heatmap_write(h, look->tracks, out);
	case FORM_TEXT:
		break;
	}
	return cam_text_heatmap_write(h, look, a->terminal.colours, out);
}

static int draw(const struct heatmap_arguments *a, const struct cam_heatmap *h,
		const struct cam_tracks *tracks)
{
	char when[400] = "", scope[400] = "";
	struct cam_time_world world = cam_range_world();
	struct cam_heat_options look = a->look;
	cam_heading_when(&h->seen, when, sizeof(when));
	cam_heading_scope(&a->filters, scope, sizeof(scope));
	look.title = cam_text_of(a->title ? a->title : when);
	look.subtitle = cam_text_of(scope);
	look.paint = cam_text_of(a->paint ? a->paint : "");
	look.width = a->form == FORM_TEXT ? a->terminal.columns : a->width;
	look.tracks = tracks;
	look.zone = (struct cam_heat_zone){local_zone, &world};
	struct cam_output *output = cam_output_open(a->out);
	if (!output)
		return CAM_EXIT_FAILED;
	int err = write_form(a, &look, h, cam_output_stream(output));
	if (err) {
		cam_output_abandon(output);
		return cam_failed("drawing: %s", cam_errno_words(err));
	}
	int status = cam_output_commit(output);
	if (!status && a->out && strcmp(a->out, "-") != 0 && !a->json)
		printf("%s\n", a->out);
	fflush(stdout);
	return status;
}

static int refuse(const struct heatmap_arguments *a, const struct cam_reading *in, int err)
{
	if (err == -EDOM)
		return cam_failed("%s: its samples have no times in common: folded stacks have "
				  "none; there is no heatmap of that",
				  in->name);
	if (err == -ENODATA)
		return cam_picking_nothing(in, &(struct cam_seen){0});
	if (err == -E2BIG && a->step)
		return cam_failed("--step %s: more than %u columns; take a larger step, a shorter "
				  "time, or no step at all",
				  a->step, a->query.max_columns);
	return cam_failed("heatmap: %s", cam_errno_words(err));
}

/* Host counters of the same time, where windows have any: imported ones have none. */
static bool find_tracks(struct cam_reading *in, const struct cam_heatmap *h,
			struct cam_tracks *tracks)
{
	int64_t from = h->realtime_from_ns;
	size_t bins = h->n_columns < CAM_TRACKS_MAX_BINS ? h->n_columns : CAM_TRACKS_MAX_BINS;
	if (in->foreign || from == INT64_MIN)
		return false;
	uint64_t span_ns = h->column_ns * h->n_columns;
	if (span_ns / CAM_NS_PER_SEC * (h->seen.cpus + 1ull) > MOST_CPU_SECONDS) {
		cam_note("host counters are not drawn: more than they are read for; take a shorter "
			 "time");
		return false;
	}
	int64_t to = cam_time_add(from, span_ns);
	return !cam_tracks_build(in->source, from, to, bins, NULL, tracks);
}

/* Two rows a line, and some lines around them: as many as fit a low terminal. 0: the usual ones. */
static unsigned rows_of(const struct heatmap_arguments *a)
{
	unsigned lines = a->form == FORM_TEXT && !a->out && a->terminal.is ? a->terminal.rows : 0;
	if (!lines || lines >= 34 || a->query.mode != CAM_HEAT_SUBSECOND)
		return 0;
	return lines >= 22 ? 25 : 10;
}

static int build_and_draw(struct heatmap_arguments *a, struct cam_reading *in,
			  const struct cam_selection *s)
{
	struct cam_heatmap h;
	a->query.rows = a->rows ? a->rows : rows_of(a);
	a->query.max_columns = columns_of(a);
	a->query.paint = a->paint ? &a->painted : NULL;
	struct cam_progress_bar bar;
	cam_progress_bar_init(&bar);
	a->query.progress = &bar.progress;
	int err = cam_heatmap_build(in->source, s, &a->query, &h);
	cam_progress_bar_end(&bar);
	a->query.progress = NULL;
	if (err)
		return refuse(a, in, err);
	struct cam_tracks tracks = {0};
	bool host = find_tracks(in, &h, &tracks);
	int status = draw(a, &h, host ? &tracks : NULL);
	cam_tracks_free(&tracks);
	if (!status)
		status = cam_heading_judge(&h.seen);
	if (!status && h.outside)
		cam_note("%llu samples lie outside: the wall clock was set meanwhile",
			 (unsigned long long)h.outside);
	cam_heatmap_free(&h);
	return status;
}

static int find_paint(struct heatmap_arguments *a)
{
	char why[200] = "";
	cam_selection_init(&a->painted);
	a->painted.with_idle = true;
	if (!a->paint)
		return CAM_EXIT_OK;
	int err = cam_selection_add(&a->painted, CAM_FILTER_MATCH, cam_text_of(a->paint), why,
				    sizeof(why));
	if (!err)
		err = cam_selection_add(&a->painted, CAM_FILTER_ETYPE, CAM_TEXT("*"), why,
					sizeof(why));
	return err ? cam_refused(err, "--paint '%s': %s", a->paint, why) : CAM_EXIT_OK;
}

static int heatmap(struct heatmap_arguments *a)
{
	struct cam_selection s;
	int status = cam_picking_select(&a->range, &a->filters, &s);
	if (!status)
		status = find_paint(a);
	else
		cam_selection_init(&a->painted);
	/* When something ran does not depend on its stack, unless that is asked for. */
	a->from.want.no_stacks = !a->paint && !a->filters.match.n && !a->filters.exclude.n &&
				 !a->filters.user_only && !a->filters.kernel_only;
	a->from.want.no_tasks = !status && cam_selection_is_plain(&s);
	struct cam_reading in = {0};
	int read_status = status ? status : cam_reading_open(&a->from, &in);
	if (read_status == CAM_EXIT_OK || read_status == CAM_EXIT_INCOMPLETE) {
		status = cam_picking_settle(&s, &in);
		if (!status)
			status = build_and_draw(a, &in, &s);
		cam_reading_close(&in);
	}
	cam_selection_free(&s);
	cam_selection_free(&a->painted);
	return status ? status : read_status;
}

int cam_cmd_heatmap(const struct cam_verb *verb, int argc, char **argv)
{
	struct heatmap_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "X.svg|X.png",
		 "a picture instead of the terminal; its path is printed"},
		{"mode", 0, CAM_OPTION_TEXT, &a.mode, "subsecond|cores",
		 "rows are parts of a second (default), or CPUs"},
		{"rows", 0, CAM_OPTION_COUNT, &a.rows, "N",
		 "parts of a second: 10 to 100 (default: 50, in a low terminal 25 or 10)"},
		{"step", 0, CAM_OPTION_TEXT, &a.step, "100ms",
		 "width of a cell of --mode cores (default: as fits)"},
		{"scale", 0, CAM_OPTION_TEXT, &a.scale, "linear|log|sparse",
		 "how counts become colours; sparse shows single samples"},
		{"paint", 0, CAM_OPTION_TEXT, &a.paint, "RE",
		 "colour by the share of stacks with such a frame"},
		{"title", 0, CAM_OPTION_TEXT, &a.title, "TEXT", "above the picture"},
		{"width", 0, CAM_OPTION_COUNT, &a.width, "PX", "of a picture (default: 1200)"},
		{"theme", 0, CAM_OPTION_TEXT, &a.theme, "dark|light",
		 "of terminal and PNG (default: COLORFGBG; light)"},
		{"color", 0, CAM_OPTION_TEXT, &a.colour, "auto|always|never",
		 "colours in the terminal; NO_COLOR is honoured"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL, "the cells as JSON"},
		CAM_RANGE_OPTIONS(a.range),
		CAM_FILTER_OPTIONS(a.filters, "idle CPUs, too", "without them (the default)",
				   "only this event (default: the first one met; * is all)"),
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("heatmap takes one time or window, not also '%s'", argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &a.range, &a.filters);
	if (!status)
		status = find_form(&a);
	if (!status)
		status = find_look(&a);
	return status ? status : heatmap(&a);
}
