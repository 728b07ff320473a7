// SPDX-License-Identifier: Apache-2.0
#include "cli/exporting.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "interop/json_out.h"
#include "interop/perf_script_fields.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct script_arguments {
	struct cam_exporting_options what;
	struct cam_option_list fields;
	bool header, ns, reltime, deltatime, no_chains, json;
	unsigned max_stack;
};

static int parse_fields(const struct script_arguments *a, struct cam_perf_script_options *o)
{
	char why[256] = "";
	*o = (struct cam_perf_script_options){
		.header = a->header,
		.nanoseconds = a->ns,
		.since_first = a->reltime,
		.since_last = a->deltatime,
		.no_chains = a->no_chains,
		.max_stack = a->max_stack,
		.terminal = (!a->what.out || !strcmp(a->what.out, "-")) && isatty(STDOUT_FILENO),
		.fields = CAM_PERF_DEFAULT,
		.trace_fields = a->no_chains ? CAM_PERF_TRACE_FLAT : CAM_PERF_TRACE_DEFAULT,
	};
	if (a->json && (a->fields.n || a->header || a->ns || a->reltime || a->deltatime ||
			a->no_chains || a->max_stack))
		return cam_usage(
			"script --json has all fields as they are: leave out what is of the text");
	if (a->reltime && a->deltatime)
		return cam_usage("--reltime and --deltatime: one of them");
	for (size_t i = 0; i < a->fields.n; i++) {
		struct cam_text list = cam_text_of(a->fields.values[i]);
		if (cam_perf_fields_parse(list, o, why, sizeof(why)))
			return cam_usage("-F '%s': %s", a->fields.values[i], why);
	}
	if (cam_perf_fields_check(o, why, sizeof(why)))
		return cam_usage("-F '%s': %s", a->fields.values[a->fields.n - 1], why);
	return CAM_EXIT_OK;
}

static int write_script(struct cam_exporting *x, const struct cam_perf_script_options *o)
{
	struct cam_exporter *to = NULL;
	int failed = 0, err = cam_perf_script_out_new(cam_output_stream(x->output), o, &to);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	int status = cam_exporting_write(x, to, "perf script text is one sample after the other",
					 &failed);
	if (failed == -ENODATA)
		status = cam_failed("%s: a sample has no '%s'; leave it out: -F -%s", x->in.name,
				    cam_perf_field_name(cam_perf_script_missing(to)),
				    cam_perf_field_name(cam_perf_script_missing(to)));
	cam_exporter_free(to);
	return status;
}

static int write_json(struct cam_exporting *x)
{
	struct cam_exporter *to = NULL;
	int err = cam_json_array_out_new(cam_output_stream(x->output), &to);
	int status = err ? cam_failed("%s", cam_errno_words(err))
			 : cam_exporting_write(x, to, NULL, NULL);
	cam_exporter_free(to);
	return status;
}

int cam_cmd_script(const struct cam_verb *verb, int argc, char **argv)
{
	struct script_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.what.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.what.out, "OUT",
		 "write here (.gz and .zst compress); default: standard output"},
		{"fields", 'F', CAM_OPTION_LIST, &a.fields, "LIST",
		 "comm,pid,tid,cpu,time,period,event,trace,ip,sym,symoff,dso,cgroup,srcline; +x and -x "
		 "change the default; trace: before it for tracepoints"},
		{"header", 0, CAM_OPTION_FLAG, &a.header, NULL, "the # lines first"},
		{"ns", 0, CAM_OPTION_FLAG, &a.ns, NULL, "times with 9 decimals instead of 6"},
		{"reltime", 0, CAM_OPTION_FLAG, &a.reltime, NULL,
		 "times since the first sample that is printed"},
		{"deltatime", 0, CAM_OPTION_FLAG, &a.deltatime, NULL,
		 "times since the sample before"},
		{"hide-call-graph", 'G', CAM_OPTION_FLAG, &a.no_chains, NULL,
		 "of each stack the innermost frame, on the sample's line"},
		{"max-stack", 0, CAM_OPTION_COUNT, &a.max_stack, "N",
		 "at most N frames of a stack, from the innermost on"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL,
		 "as JSON: one array, of each sample what export json has"},
		CAM_RANGE_OPTIONS(a.what.range),
		CAM_FILTER_OPTIONS(a.what.filters, "idle CPUs, too (the default)", "without them",
				   "only this event (default: all)"),
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("script takes one time or window, not also '%s'", argv[1]);
	struct cam_perf_script_options o;
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &a.what.range, &a.what.filters);
	if (!status)
		status = parse_fields(&a, &o);
	if (status)
		return status;
	/* perf.data has no lines: they come from debug information. */
	a.what.from.told.inlines |= ((o.fields | o.trace_fields) & CAM_PERF_SRCLINE) != 0;
	struct cam_exporting x;
	const char *events = a.what.filters.event_type.n ? NULL : "*";
	status = cam_exporting_open(&a.what, events,
				    &(struct cam_wanted){.details = true, .addresses = true}, &x);
	return status ? status
		      : cam_exporting_close(&x, a.json ? write_json(&x) : write_script(&x, &o));
}
