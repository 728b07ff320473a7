// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/heading.h"
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "query/flame.h"
#include "query/top.h"
#include "render/svg_flame.h"
#include "render/text_top.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct flame_arguments {
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	const char *out, *weight, *title, *subtitle;
	unsigned top, width;
	bool inverted, json;
};

static void put_json(struct cam_out *out, const struct cam_flame *f, const struct cam_top *top)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "unit", f->unit);
	cam_json_u64(&j, "total", f->nodes[0].total);
	cam_json_u64(&j, "samples", f->seen.samples);
	cam_json_u64(&j, "idle", f->seen.idle);
	cam_json_u64(&j, "lost", f->seen.lost);
	cam_json_u64(&j, "damaged", f->seen.damaged);
	cam_json_u64(&j, "windows", f->seen.windows);
	cam_json_bool(&j, "differential", f->differential);
	cam_json_open(&j, "functions", '[');
	for (size_t i = 0; i < top->n_rows; i++) {
		const struct cam_top_row *row = &top->rows[i];
		const struct cam_flame_frame *frame = &f->frames[row->frame];
		cam_json_open(&j, NULL, '{');
		cam_json_text(&j, "name",
			      (struct cam_text){f->text + frame->name_at, frame->name_n});
		cam_json_text(&j, "module", cam_flame_module_path(f, row->module));
		cam_json_u64(&j, "self", row->self);
		cam_json_u64(&j, "total", row->total);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_open(&j, "notes", '[');
	for (unsigned i = 0; i < CAM_VIEW_NOTES; i++) {
		if (top->notes >> i & 1)
			cam_json_text(&j, NULL, cam_text_of(cam_view_note_words(i)));
	}
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static unsigned terminal_columns(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40)
		return 0;
	return size.ws_col;
}

/* The table beside the picture: on stdout, which then must not be the picture. */
static int print_top(const struct flame_arguments *a, const struct cam_flame *f)
{
	if (!a->top && !a->json)
		return CAM_EXIT_OK;
	struct cam_top top;
	int err = cam_top_build(f, a->top ? a->top : 10, &top);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	struct cam_out out;
	cam_out_to_fd(&out, STDOUT_FILENO);
	if (a->json)
		put_json(&out, f, &top);
	else
		cam_text_top_write(&top, terminal_columns(), &out);
	err = cam_out_finish(&out);
	cam_top_free(&top);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

static int draw(const struct flame_arguments *a, const struct cam_flame *f, bool foreign)
{
	char when[400] = "", scope[400] = "";
	if (!foreign)
		cam_heading_when(&f->seen, when, sizeof(when));
	if (!foreign)
		cam_heading_scope(&a->filters, scope, sizeof(scope));

	if (!a->out && a->json)
		return CAM_EXIT_OK;
	struct cam_output *output = cam_output_open(a->out);
	if (!output)
		return CAM_EXIT_FAILED;
	struct cam_svg_flame_options o = {
		.title = cam_text_of(a->title ? a->title : ""),
		.subtitle = cam_text_of(a->subtitle ? a->subtitle : ""),
		.when = cam_text_of(when),
		.scope = cam_text_of(scope),
		.icicle = a->inverted,
		.width = a->width,
	};
	int err = cam_svg_flame_write(f, &o, cam_output_stream(output));
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

static int build_and_draw(const struct flame_arguments *a, struct cam_reading *in,
			  const struct cam_selection *s, enum cam_weight weight)
{
	struct cam_flame_options o = {.weight = weight};
	struct cam_flame f;
	int err = cam_flame_build(in->source, s, &o, &f);
	if (err)
		return cam_failed("flame graph: %s", cam_errno_words(err));
	int status;
	if (f.nodes[0].total == 0 && f.nodes[0].before_total == 0) {
		status =
			f.seen.idle
				? cam_failed("%s: nothing but %llu idle samples: --idle shows them",
					     in->name, (unsigned long long)f.seen.idle)
				: cam_failed("%s: no samples in the selection", in->name);
	} else {
		status = draw(a, &f, in->foreign);
		if (!status)
			status = print_top(a, &f);
		if (!status)
			status = cam_heading_judge(&f.seen);
	}
	cam_flame_free(&f);
	return status;
}

static int flame(const struct flame_arguments *a)
{
	bool to_stdout = !a->out || strcmp(a->out, "-") == 0;
	if (!a->json && (!a->out || (to_stdout && isatty(STDOUT_FILENO))))
		return cam_usage("a picture needs a file: -o X.svg");
	if (to_stdout && a->top && !a->json)
		return cam_usage("--top prints to standard output: the picture needs -o X.svg");
	if (a->weight && strcmp(a->weight, "samples") != 0 && strcmp(a->weight, "period") != 0)
		return cam_usage("--weight takes samples or period, not '%s'", a->weight);
	if (a->width && (a->width < 200 || a->width > 20000))
		return cam_usage("--width takes 200 to 20000 pixels, not %u", a->width);
	struct cam_selection s;
	int status = cam_picking_select(&a->range, &a->filters, &s);
	struct cam_reading in = {0};
	int read_status = status ? status : cam_reading_open(&a->from, &in);
	if (read_status == CAM_EXIT_OK || read_status == CAM_EXIT_INCOMPLETE) {
		bool period = a->weight ? a->weight[0] == 'p' : in.foreign;
		status = cam_picking_settle(&s, &in);
		if (!status)
			status = build_and_draw(a, &in, &s,
						period ? CAM_WEIGHT_PERIOD : CAM_WEIGHT_SAMPLES);
		cam_reading_close(&in);
	}
	cam_selection_free(&s);
	return status ? status : read_status;
}

int cam_cmd_flame(const struct cam_verb *verb, int argc, char **argv)
{
	struct flame_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "X.svg",
		 "write here (.gz and .zst compress); its path is printed"},
		{"top", 0, CAM_OPTION_COUNT, &a.top, "N", "print the N heaviest functions, too"},
		{"title", 0, CAM_OPTION_TEXT, &a.title, "TEXT", "above the picture"},
		{"subtitle", 0, CAM_OPTION_TEXT, &a.subtitle, "TEXT", "below the title"},
		{"width", 0, CAM_OPTION_COUNT, &a.width, "PX", "of the picture (default: 1200)"},
		{"inverted", 0, CAM_OPTION_FLAG, &a.inverted, NULL, "icicle: roots at the top"},
		{"weight", 0, CAM_OPTION_TEXT, &a.weight, "samples|period",
		 "what widths are (default: period in other tools' files, else samples)"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL, "the heaviest functions as JSON"},
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
	if (n_rest)
		return cam_usage("flame takes no argument '%s'; for a file use -i", argv[0]);
	return flame(&a);
}
