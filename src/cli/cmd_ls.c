// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/place.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <stdio.h>

static void put_json(struct cam_json *j, const struct cam_window_info *w)
{
	cam_json_open(j, NULL, '{');
	cam_json_text(j, "name", w->name);
	cam_json_text(j, "host", w->host);
	if (w->realtime_ns == INT64_MIN)
		cam_json_null(j, "realtime_ns");
	else
		cam_json_i64(j, "realtime_ns", w->realtime_ns);
	cam_json_u64(j, "realtime_uncertainty_ns", w->realtime_uncertainty_ns);
	if (w->clock != CAM_CLOCK_ABSENT) {
		cam_json_u64(j, "start_ns", w->start_ns);
		cam_json_u64(j, "end_ns", w->end_ns);
	}
	cam_json_u64(j, "samples", w->samples);
	cam_json_u64(j, "lost", w->lost);
	cam_json_u64(j, "bytes", w->file_bytes);
	cam_json_u64(j, "events", w->events);
	cam_json_u64(j, "cpus", w->cpus);
	cam_json_bool(j, "sealed", w->sealed);
	cam_json_bool(j, "clean_end", w->clean_end);
	cam_json_bool(j, "imported", w->imported);
	cam_json_bool(j, "addresses", w->has_places);
	cam_json_bool(j, "pinned", w->pinned);
	cam_json_close(j, '}');
}

static void put_row(struct cam_out *out, const struct cam_window_info *w)
{
	char start[40], span[32], size[32];
	cam_show_realtime(w->realtime_ns, start, sizeof(start));
	cam_show_span(w, span, sizeof(span));
	cam_show_bytes(w->file_bytes, size, sizeof(size));
	cam_out_printf(out, "%-25s %10s %10llu %8llu %10s %6u %-6s ", start, span,
		       (unsigned long long)w->samples, (unsigned long long)w->lost, size, w->events,
		       w->pinned   ? "pinned"
		       : w->sealed ? ""
				   : "open");
	cam_out_printable(out, w->name);
	cam_out_str(out, "\n");
}

int cam_cmd_ls(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_reading_options from = {0};
	bool json = false, pinned = false;
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(from),
		{"pinned", 0, CAM_OPTION_FLAG, &pinned, NULL, "only windows that a pin keeps"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		{0},
	};
	int n_rest, status;
	bool done;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest)
		return cam_usage("ls takes no argument '%s'; for a file use -i", argv[0]);
	struct cam_reading in;
	status = cam_reading_open(&from, &in);
	if (status == CAM_EXIT_FAILED || status == CAM_EXIT_USAGE)
		return status;
	struct cam_out out;
	struct cam_json j = {&out, false};
	cam_out_to_fd(&out, 1);
	if (json)
		cam_json_open(&j, NULL, '[');
	else
		cam_out_printf(&out, "%-25s %10s %10s %8s %10s %6s %-6s %s\n", "START", "LENGTH",
			       "SAMPLES", "LOST", "SIZE", "EVENTS", "", "WINDOW");
	size_t n = in.source->ops->count(in.source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *w;
		int err = in.source->ops->info(in.source, i, &w);
		if (err)
			status = cam_incomplete("window %zu: %s", i, cam_errno_words(err));
		else if (pinned && !w->pinned)
			continue;
		else if (json)
			put_json(&j, w);
		else
			put_row(&out, w);
	}
	if (json) {
		cam_json_close(&j, ']');
		cam_out_str(&out, "\n");
	}
	int err = cam_out_finish(&out);
	cam_reading_close(&in);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : status;
}
