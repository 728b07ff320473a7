// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/place.h"
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

/* Whether something is missing from the picture that the selection asked for. */
static int judge(const struct cam_seen *seen)
{
	if (seen->unreadable)
		return cam_incomplete("%llu windows could not be read and are missing",
				      (unsigned long long)seen->unreadable);
	if (seen->damaged || seen->damaged_stacks)
		return cam_incomplete("damaged data: %llu samples are missing, %llu are under "
				      "[damaged]",
				      (unsigned long long)seen->damaged,
				      (unsigned long long)seen->damaged_stacks);
	if (seen->lost)
		return cam_incomplete(
			"%llu samples were lost before they could be kept (the ledger has "
			"them)",
			(unsigned long long)seen->lost);
	if (seen->dead_ns)
		return cam_incomplete("the recorder was not running for %.3f s of that time",
				      (double)seen->dead_ns / 1e9);
	if (seen->other_events)
		cam_note("%llu samples of other events are not in it: --event-type",
			 (unsigned long long)seen->other_events);
	return CAM_EXIT_OK;
}

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

/* Host and time as one reads them here: "web1 · 2026-04-15 03:14:07 – 03:15:07 +02:00". */
static void say_when(const struct cam_seen *seen, char *room, size_t bytes)
{
	char from[40], to[40];
	if (!seen->observed_ns || seen->realtime_from_ns == INT64_MIN ||
	    seen->realtime_to_ns == INT64_MIN)
		return;
	cam_show_realtime(seen->realtime_from_ns, from, sizeof(from));
	cam_show_realtime(seen->realtime_to_ns, to, sizeof(to));
	/* "2026-04-15 03:14:07+02:00": the date once, and the zone, where they are the same. */
	bool one_day = !strncmp(from, to, 11), one_zone = !strcmp(from + 19, to + 19);
	snprintf(room, bytes, "%.*s%s%.19s%s – %.*s %s", (int)seen->host.n, seen->host.p,
		 seen->host.n ? " · " : "", from, one_zone ? "" : from + 19, one_day ? 8 : 19,
		 one_day ? to + 11 : to, to + 19);
}

static void add_scope(char *room, size_t bytes, const char *name,
		      const struct cam_option_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t n = strlen(room);
		snprintf(room + n, bytes - n, "%s%s %s", n ? ", " : "", name, list->values[i]);
	}
}

/* What was asked for: "pid 2997, user git". */
static void say_scope(const struct cam_filter_options *o, char *room, size_t bytes)
{
	add_scope(room, bytes, "pid", &o->pid);
	add_scope(room, bytes, "thread", &o->tid);
	add_scope(room, bytes, "command", &o->comm);
	add_scope(room, bytes, "user", &o->user);
	add_scope(room, bytes, "user", &o->uid);
	add_scope(room, bytes, "cgroup", &o->cgroup);
	add_scope(room, bytes, "program", &o->exe);
	add_scope(room, bytes, "CPU", &o->cpu);
	add_scope(room, bytes, "with", &o->match);
	add_scope(room, bytes, "without", &o->exclude);
	size_t n = strlen(room);
	if (o->user_only || o->kernel_only)
		snprintf(room + n, bytes - n, "%s%s", n ? ", " : "",
			 o->user_only ? "user space" : "kernel");
	if (!room[0])
		snprintf(room, bytes, "everything recorded");
}

static int draw(const struct flame_arguments *a, const struct cam_flame *f, bool foreign)
{
	char when[400] = "", scope[400] = "";
	if (!foreign)
		say_when(&f->seen, when, sizeof(when));
	if (!foreign)
		say_scope(&a->filters, scope, sizeof(scope));

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
			status = judge(&f.seen);
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
		status =
			build_and_draw(a, &in, &s, period ? CAM_WEIGHT_PERIOD : CAM_WEIGHT_SAMPLES);
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
