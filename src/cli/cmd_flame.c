// SPDX-License-Identifier: Apache-2.0
#include "cli/flame_look.h"
#include "cli/flame_series.h"
#include "cli/flame_show.h"
#include "cli/heading.h"
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/progress_bar.h"
#include "cli/reading.h"
#include "cli/reshaping.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "query/flame.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FEW 100 /* samples: below that shares are rough */

struct flame_arguments {
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	struct cam_reshape_options shape;
	struct cam_flame_look look;
	const char *out, *weight, *color, *every;
	unsigned top;
	bool json, text, flamechart;
};

/* All that a picture is made of, ready. */
struct work {
	const struct flame_arguments *a;
	struct cam_reading in;
	struct cam_selection selection;
	struct cam_reshape shape;
	struct cam_flame_show show;
	struct cam_flame_options build;
};

/* Nothing to draw: the exit status says so; in a pipe a picture does, too, as whoever is behind it expects one. */
static int show_nothing(const struct work *w, const struct cam_flame_show *how,
			const struct cam_flame *f)
{
	struct cam_flame_show quiet = *how;
	quiet.quiet = true;
	int status = CAM_EXIT_OK;
	if (quiet.form == CAM_FLAME_SVG && !strcmp(quiet.path, "-"))
		status = cam_flame_show(&quiet, f);
	if (status)
		return status;
	if (f->seen.samples && w->shape.focus.n)
		return cam_failed("%s: no frame matches --focus", w->in.name);
	return cam_picking_nothing(&w->in, &f->seen);
}

/* The samples as they are to be seen. */
static int build(struct work *w, struct cam_flame *f)
{
	struct cam_chart chart = {.by_group = w->a->shape.by != NULL};
	struct cam_flame_options o = w->build;
	const struct cam_svg_flame_options *svg = &w->show.svg;
	double width = svg->width ? svg->width : 1200;
	/* What could not be drawn need not be kept. */
	chart.min_share = svg->min_share > 0   ? svg->min_share
			  : svg->min_width > 0 ? svg->min_width / width
					       : 0.1 / width;
	o.chart = w->a->flamechart ? &chart : NULL;
	struct cam_progress_bar bar;
	cam_progress_bar_init(&bar);
	o.progress = &bar.progress;
	int err = cam_flame_build(w->in.source, &w->selection, &o, f);
	cam_progress_bar_end(&bar);
	if (err) {
		cam_chart_free(&chart);
		return err;
	}
	if (cam_reshape_is_any(&w->shape))
		err = cam_reshape_apply(&w->shape, f, o.chart);
	if (!err && o.chart)
		err = cam_chart_draw(&chart, f);
	cam_chart_free(&chart);
	if (err)
		cam_flame_free(f);
	return err;
}

static bool is_empty(const struct cam_flame *f)
{
	return f->nodes[0].total == 0 && f->nodes[0].before_total == 0;
}

/* stamp: which one of a series; empty: there is only this. */
static int show(const struct work *w, const struct cam_flame *f, const char *stamp,
		const char *path)
{
	const struct flame_arguments *a = w->a;
	struct cam_flame_show how = w->show;
	char when[400] = "", scope[400] = "";
	snprintf(when, sizeof(when), "%s", stamp);
	if (!w->in.foreign) {
		cam_heading_when(&f->seen, when, sizeof(when));
		cam_heading_scope(&a->filters, scope, sizeof(scope));
	}
	how.path = path;
	how.svg.when = cam_text_of(when);
	how.svg.scope = cam_text_of(scope);
	/* Counts with a fraction were read as so many thousandths. */
	if (cam_text_equal(f->unit, CAM_TEXT("thousandths"))) {
		how.svg.factor = (a->look.factor > 0 ? a->look.factor : 1) / 1000;
		how.svg.total = a->look.total * 1000;
		if (!how.svg.count_name.n)
			how.svg.count_name = CAM_TEXT("samples");
	}
	if (is_empty(f))
		return show_nothing(w, &how, f);
	int status = cam_flame_show(&how, f);
	if (status)
		return status;
	if (a->look.total > 0 && how.svg.total < (double)f->nodes[0].total * 0.98)
		cam_note("--total %g is less than all there is, so it changes nothing",
			 a->look.total);
	/* Folded stacks have no samples but their counts. */
	uint64_t n = cam_text_equal(f->unit, CAM_TEXT("samples"))	? f->nodes[0].total
		     : cam_text_equal(f->unit, CAM_TEXT("thousandths")) ? f->nodes[0].total / 1000
									: f->seen.samples;
	if (n < FEW && how.form != CAM_FLAME_JSON && !a->every && !a->look.countname)
		cam_note("only %llu samples: shares are rough", (unsigned long long)n);
	return cam_heading_judge(&f->seen);
}

static int build_and_show(struct work *w)
{
	struct cam_flame f;
	int err = build(w, &f);
	if (err)
		return cam_failed("flame graph: %s", cam_errno_words(err));
	int status = show(w, &f, "", w->a->out);
	cam_flame_free(&f);
	return status;
}

static int show_stretch(struct work *w, const struct cam_flame_series *series, size_t i,
			bool *drawn)
{
	char stamp[64], path[PATH_MAX];
	struct cam_flame f;
	cam_flame_series_select(series, i, &w->selection);
	int err = build(w, &f);
	if (err)
		return cam_failed("flame graph: %s", cam_errno_words(err));
	cam_flame_series_stamp(series, i, stamp, sizeof(stamp));
	bool files = w->a->out && strcmp(w->a->out, "-") != 0;
	if (files)
		cam_flame_series_path(w->a->out, stamp, path, sizeof(path));
	*drawn = !is_empty(&f);
	int status = *drawn ? show(w, &f, stamp, files ? path : w->a->out) : CAM_EXIT_OK;
	cam_flame_free(&f);
	return status;
}

/* One picture after the other; a stretch in which nothing ran has none. */
static int show_series(struct work *w)
{
	struct cam_flame_series series = {0};
	int worst = cam_flame_series_find(w->a->every, w->in.source, &w->selection, &series);
	size_t n = 0;
	for (size_t i = 0; i < series.n && (worst == CAM_EXIT_OK || worst == CAM_EXIT_INCOMPLETE);
	     i++) {
		bool drawn = false;
		int status = show_stretch(w, &series, i, &drawn);
		worst = status ? status : worst;
		n += drawn;
	}
	if (!worst && !n)
		return cam_picking_nothing(&w->in, &(struct cam_seen){0});
	return worst;
}

/* Where it goes, and in which form. */
static int check_output(const struct flame_arguments *a, struct cam_flame_show *show)
{
	bool to_stdout = !a->out || strcmp(a->out, "-") == 0;
	int status = cam_terminal_ask(a->color, &show->terminal);
	if (status)
		return status;
	show->path = a->out;
	show->top = a->top;
	show->form = a->text		    ? CAM_FLAME_TEXT
		     : a->out && !to_stdout ? cam_flame_form_of(a->out)
		     : a->json		    ? CAM_FLAME_JSON
		     : a->out		    ? CAM_FLAME_SVG
					    : CAM_FLAME_TEXT;
	show->json = a->json && !to_stdout && show->form != CAM_FLAME_JSON;
	if (!to_stdout &&
	    (cam_output_is_foreign(a->out) || cam_text_ends(cam_text_of(a->out), CAM_TEXT(".png"))))
		return cam_usage("flame draws .svg and .html (.json, .txt), not '%s'", a->out);
	if (show->form == CAM_FLAME_TEXT && !a->text && to_stdout && !show->terminal.is)
		return cam_usage(
			"a picture needs a file: -o X.svg or X.html (--text draws it here)");
	if (show->form == CAM_FLAME_SVG && to_stdout && show->terminal.is)
		return cam_usage(
			"a picture needs a file: -o X.svg or X.html (--text draws it here)");
	if (to_stdout && a->every && show->form == CAM_FLAME_SVG)
		return cam_usage("--every makes several pictures: they need -o X.svg");
	if (to_stdout && a->top && show->form == CAM_FLAME_SVG)
		return cam_usage("--top prints to standard output: the picture needs -o X.svg");
	if (show->form == CAM_FLAME_TEXT && a->out && !to_stdout)
		show->terminal = (struct cam_terminal){.columns = show->terminal.columns};
	return CAM_EXIT_OK;
}

/* perl takes the beginning of an option's name for it, and people write --color=java. */
static void find_palette(struct flame_arguments *a)
{
	enum cam_theme theme;
	if (!a->color || a->look.colors || !cam_theme_find(cam_text_of(a->color), &theme))
		return;
	a->look.colors = a->color;
	a->color = NULL;
}

static int check(const struct flame_arguments *a, struct work *w)
{
	int status = cam_reshaping_resolve(&a->shape, &w->shape, &w->build);
	if (!status)
		status = cam_flame_look_resolve((struct cam_flame_look *)&a->look, &w->show.svg);
	w->show.svg.chart = a->flamechart;
	if (!status)
		status = check_output(a, &w->show);
	if (!status && a->weight && strcmp(a->weight, "samples") != 0 &&
	    strcmp(a->weight, "period") != 0)
		status = cam_usage("--weight takes samples or period, not '%s'", a->weight);
	return status;
}

static int flame(struct flame_arguments *a)
{
	struct work w = {.a = a};
	find_palette(a);
	int status = check(a, &w), read_status = CAM_EXIT_OK;
	cam_selection_init(&w.selection);
	if (!status)
		status = cam_picking_select(&a->range, &a->filters, &w.selection);
	if (!status)
		read_status = cam_reading_open(&a->from, &w.in);
	if (!status && (read_status == CAM_EXIT_OK || read_status == CAM_EXIT_INCOMPLETE)) {
		bool period = a->weight ? a->weight[0] == 'p' : w.in.foreign;
		w.build.weight = period ? CAM_WEIGHT_PERIOD : CAM_WEIGHT_SAMPLES;
		status = cam_picking_settle(&w.selection, &w.in);
		if (!status)
			status = a->every ? show_series(&w) : build_and_show(&w);
		cam_reading_close(&w.in);
		if (!status || status == CAM_EXIT_INCOMPLETE) {
			int kept = cam_flame_look_keep(&a->look);
			status = kept ? kept : status;
		}
	}
	cam_selection_free(&w.selection);
	cam_reshape_free(&w.shape);
	cam_flame_look_free(&a->look);
	return status ? status : read_status;
}

int cam_cmd_flame(const struct cam_verb *verb, int argc, char **argv)
{
	struct flame_arguments a = {0};
	const struct cam_option options[] = {
		CAM_OPTION_TITLE("What to read:"),
		CAM_READING_OPTIONS(a.from),
		CAM_RANGE_OPTIONS(a.range),
		CAM_OPTION_TITLE("Which samples:"),
		CAM_FILTER_OPTIONS(a.filters, "idle CPUs, too", "without them (the default)",
				   "only this event (default: the first one met; * is all)"),
		CAM_OPTION_TITLE("Which frames:"),
		CAM_RESHAPE_OPTIONS(a.shape),
		{"flamechart", 0, CAM_OPTION_FLAG, &a.flamechart, NULL,
		 "in order of time: only neighbours merge"},
		{"weight", 0, CAM_OPTION_TEXT, &a.weight, "samples|period",
		 "what widths are (default: period in other tools' files, else samples)"},
		CAM_OPTION_TITLE("Where to:"),
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "FILE",
		 ".svg, .html, .json, .txt (.gz, .zst compress); its path is printed"},
		{"every", 0, CAM_OPTION_TEXT, &a.every, "5s",
		 "one picture for each such stretch: X-TIME.svg, …"},
		{"text", 0, CAM_OPTION_FLAG, &a.text, NULL,
		 "with characters (without -o the default in a terminal)"},
		{"color", 0, CAM_OPTION_TEXT, &a.color, "auto|always|never",
		 "of that text; a PALETTE is --colors"},
		{"top", 0, CAM_OPTION_COUNT, &a.top, "N", "print the N heaviest functions, too"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL,
		 "the tree and the heaviest functions as JSON"},
		CAM_OPTION_TITLE("How a picture looks (as flamegraph.pl):"),
		CAM_FLAME_LOOK_OPTIONS(a.look),
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("flame takes one time or window, not also '%s'", argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &a.range, &a.filters);
	return status ? status : flame(&a);
}
