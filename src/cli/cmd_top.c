// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/heading.h"
#include "cli/reshaping.h"
#include "cli/say.h"
#include "cli/sorting.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/groups.h"
#include "query/table.h"
#include "render/json_table.h"
#include "render/label.h"
#include "render/text_moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROWS	   20u
#define EVERY_NS   (2 * CAM_NS_PER_SEC)
#define FOLLOW	   "10s"
#define HEAD_LINES 6u

struct top_arguments {
	struct cam_viewing v;
	struct cam_sorting sorting;
	struct cam_reshape_options frames;
	struct cam_reshape shape;
	const char *by, *every, *quantum, *colour;
	unsigned limit, times;
	bool follow, samples;
	struct cam_table_options table;
	struct cam_terminal terminal;
	uint64_t every_ns;
};

static const struct {
	const char *name, *sort;
} ways[] = {
	{"process", "process"}, {"thread", "tid,comm"},	    {"function", "symbol,dso"},
	{"module", "dso"},	{"cgroup", "cgroup"},	    {"core", "cpu"},
	{"command", "comm"},	{"user", "user"},	    {"program", "exe"},
	{"time", "time"},	{"container", "container"}, {"pod", "pod"},
};

static int find_keys(struct top_arguments *a)
{
	const char *sort = NULL;
	if (a->sorting.sort && a->by)
		return cam_usage("--by and --sort exclude each other");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !sort; i++) {
		if (!strcmp(ways[i].name, a->by ? a->by : "process"))
			sort = ways[i].sort;
	}
	if (!sort)
		return cam_usage(
			"--by takes process, thread, function, module, cgroup, container, pod, "
			"core, command, user, program or time, not '%s'",
			a->by);
	int status = cam_sorting_resolve(&a->sorting, sort, &a->table);
	if (status)
		return status;
	cam_sorting_want_lines(a->table.keys, a->table.n_keys, &a->v.from);
	if (a->quantum &&
	    (cam_duration_parse(cam_text_of(a->quantum), &a->table.quantum_ns) ||
	     a->table.quantum_ns < CAM_NS_PER_US || a->table.quantum_ns > 86400 * CAM_NS_PER_SEC))
		return cam_usage("--time-quantum: '%s' is not a piece of time; try 100ms or 1s",
				 a->quantum);
	return CAM_EXIT_OK;
}

/* Without filters: how busy the CPUs were. */
static void put_busy(const struct top_arguments *a, const struct cam_table *t, struct cam_out *out)
{
	char scope[400] = "";
	struct cam_coverage c = cam_coverage_of(&t->seen, &t->all, t->cpu_known);
	cam_heading_scope(&a->v.filters, scope, sizeof(scope));
	if (!c.known || a->v.filters.event_type.n || strcmp(scope, "everything recorded") != 0)
		return;
	cam_out_printf(out, "%u CPUs: ", t->seen.cpus);
	cam_text_coverage_write(&c, &t->seen, out);
	cam_out_str(out, "\n");
}

static void put_text(const struct top_arguments *a, const struct cam_table *t, struct cam_out *out)
{
	char when[400] = "", scope[400] = "";
	struct cam_time_world world = cam_range_world();
	struct cam_text_table_options o = {
		.columns = a->v.out ? 0 : a->terminal.columns,
		.samples = a->samples,
		.zone = cam_range_zone,
		.zone_arg = &world,
	};
	cam_heading_when(&t->seen, when, sizeof(when));
	cam_heading_scope(&a->v.filters, scope, sizeof(scope));
	if (when[0]) {
		cam_out_printable(out, cam_text_of(when));
		cam_out_str(out, " · ");
	}
	cam_out_printable(out, cam_text_of(scope));
	cam_out_str(out, "\n");
	put_busy(a, t, out);
	cam_text_table_write(t, &o, out);
	if (t->n_rows < t->n_all)
		cam_out_printf(out, "%zu of %zu: -n shows more\n", t->n_rows, t->n_all);
	cam_label_notes(out, "", t->notes);
}

static void put_json(const struct cam_table *t, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "unit", t->unit);
	cam_json_u64(&j, "total", t->all.weight);
	if (t->cpu_known)
		cam_json_u64(&j, "cpu_ns", t->all.cpu_ns);
	cam_json_seen(&j, &t->seen);
	cam_json_u64(&j, "rows_in_all", t->n_all);
	cam_json_table_rows(&j, "rows", t);
	cam_json_notes(&j, t->notes);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static int show(struct top_arguments *a, const struct cam_table *t)
{
	struct cam_output *output = cam_output_open(a->v.out);
	if (!output)
		return CAM_EXIT_FAILED;
	struct cam_out *out = cam_output_stream(output);
	if (a->v.json)
		put_json(t, out);
	else
		put_text(a, t, out);
	return cam_output_commit(output);
}

/* One table of what is there now. */
static int once(struct top_arguments *a, bool following)
{
	struct cam_table t;
	int status = cam_viewing_open(&a->v);
	if (status)
		return status;
	a->table.weight = a->v.weigh;
	a->table.progress = following ? NULL : &a->v.bar.progress;
	int err = cam_table_build(a->v.in.source, &a->v.selection, &a->table, &t);
	cam_progress_bar_end(&a->v.bar);
	if (err)
		return cam_viewing_close(&a->v, cam_viewing_failed(&a->v, err));
	if (!t.all.weight && !following) {
		status = cam_viewing_nothing(&a->v, &t.seen);
	} else {
		/* Home, and each line wiped as it is written over: no flicker. */
		if (following && a->terminal.is)
			printf("\033[H\033[J");
		fflush(stdout);
		status = show(a, &t);
		if (!status && !following)
			status = cam_heading_judge(&t.seen);
	}
	cam_table_free(&t);
	return cam_viewing_close(&a->v, status);
}

static int follow(struct top_arguments *a)
{
	int status = CAM_EXIT_OK;
	if (a->v.from.file || a->v.out)
		return cam_usage(
			"--follow looks at a store that is being recorded, on standard output");
	if (cam_range_is_empty(&a->v.range))
		a->v.range.last = FOLLOW;
	for (unsigned i = 0; status == CAM_EXIT_OK && (!a->times || i < a->times); i++) {
		struct timespec pause = {(time_t)(a->every_ns / CAM_NS_PER_SEC),
					 (long)(a->every_ns % CAM_NS_PER_SEC)};
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		status = once(a, true);
		if (!a->terminal.is && !a->v.json && !status)
			printf("\n");
		fflush(stdout);
	}
	return status;
}

/* Which frames, where rows are of frames. */
static int find_shape(struct top_arguments *a)
{
	bool frames = false;
	for (size_t i = 0; i < a->table.n_keys; i++)
		frames |= cam_key_is_of_frames(a->table.keys[i]);
	int status = cam_reshaping_pick(&a->frames, &a->shape);
	if (!status && !frames && cam_reshape_is_any(&a->shape))
		return cam_usage(
			"--focus, --hide, --frames, --group and --collapse-recursion are of "
			"frames: --by function or --by module; whole stacks: --match");
	a->table.shape = &a->shape;
	return status;
}

static int check(struct top_arguments *a)
{
	int status = find_keys(a);
	if (!status)
		status = find_shape(a);
	if (!status)
		status = cam_terminal_ask(a->colour, &a->terminal);
	if (status)
		return status;
	a->every_ns = EVERY_NS;
	if (a->every && (cam_duration_parse(cam_text_of(a->every), &a->every_ns) ||
			 a->every_ns < 100 * CAM_NS_PER_MS || a->every_ns > 3600 * CAM_NS_PER_SEC))
		return cam_usage("--every: '%s' is not a pause of 100ms to 1h", a->every);
	if ((a->every || a->times) && !a->follow)
		return cam_usage("--every and --times need --follow");
	a->table.limit = a->limit ? a->limit : ROWS;
	if (!a->limit && a->follow && a->terminal.is && a->terminal.rows > HEAD_LINES + 4)
		a->table.limit = a->terminal.rows - HEAD_LINES;
	return CAM_EXIT_OK;
}

int cam_cmd_top(const struct cam_verb *verb, int argc, char **argv)
{
	struct top_arguments a = {0};
	const struct cam_option options[] = {
		{"by", 0, CAM_OPTION_TEXT, &a.by, "WHAT",
		 "process (default), thread, function, module, cgroup, container, pod, core, …"},
		{"sort", 's', CAM_OPTION_TEXT, &a.sorting.sort, "KEYS",
		 "perf's way: comm,dso,symbol,pid,tid,cpu,socket,parent,srcline,time,…"},
		CAM_SORTING_PARENT(a.sorting),
		CAM_RESHAPE_PICK_OPTIONS(a.frames),
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N", "rows (default: 20)"},
		{"samples", 0, CAM_OPTION_FLAG, &a.samples, NULL, "with the number of samples"},
		{"time-quantum", 0, CAM_OPTION_TEXT, &a.quantum, "100ms", "pieces of the key time"},
		{"follow", 'f', CAM_OPTION_FLAG, &a.follow, NULL,
		 "again and again, of the last 10 s (or --last) of a running recording"},
		{"every", 0, CAM_OPTION_TEXT, &a.every, "2s", "with --follow: how often"},
		{"times", 0, CAM_OPTION_COUNT, &a.times, "N", "with --follow: so often, then end"},
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&a.v, verb, options, argc, argv, &status))
		return status;
	status = check(&a);
	if (!status && a.follow && a.v.range.bare)
		status = cam_usage("--follow looks at now, not at '%s'", a.v.range.bare);
	if (!status)
		status = a.follow ? follow(&a) : once(&a, false);
	cam_sorting_free(&a.sorting);
	cam_reshape_free(&a.shape);
	return status;
}
