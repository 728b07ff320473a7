// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/search.h"
#include "render/json_table.h"
#include "render/label.h"
#include "render/text_search.h"

#define MOMENTS 20u

struct search_arguments {
	struct cam_viewing v;
	unsigned limit;
};

static void put_when(struct cam_json *j, const char *key, int64_t wall_ns)
{
	if (wall_ns == INT64_MIN)
		cam_json_null(j, key);
	else
		cam_json_i64(j, key, wall_ns);
}

static void put_json(const struct cam_search *s, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_u64(&j, "seconds", s->seconds);
	cam_json_seen(&j, &s->seen);
	cam_json_open(&j, "moments", '[');
	for (size_t i = 0; i < s->n_moments; i++) {
		const struct cam_search_moment *m = &s->moments[i];
		cam_json_open(&j, NULL, '{');
		put_when(&j, "time_ns", m->wall_ns);
		cam_json_u64(&j, "clock_ns", m->clock_ns);
		cam_json_u64(&j, "length_ns", m->length_ns);
		cam_json_u64(&j, "samples", m->samples);
		cam_json_u64(&j, "of_samples", m->all);
		put_when(&j, "peak_time_ns", m->peak_wall_ns);
		cam_json_u64(&j, "peak_samples", m->peak_samples);
		cam_json_u64(&j, "peak_of_samples", m->peak_all);
		cam_json_i64(&j, "pid", m->pid);
		cam_json_text(&j, "comm", m->comm);
		cam_json_u64(&j, "process_samples", m->process_samples);
		if (m->cpu == CAM_CPU_NONE)
			cam_json_null(&j, "cpu");
		else
			cam_json_u64(&j, "cpu", m->cpu);
		cam_json_u64(&j, "cpu_samples", m->cpu_samples);
		cam_json_text(&j, "window", m->window);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_notes(&j, s->notes);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static void put(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	const struct cam_search *s = view;
	struct cam_time_world world = cam_range_world();
	struct cam_text_table_options o = {.zone = cam_range_zone, .zone_arg = &world};
	if (v->json) {
		put_json(s, out);
	} else {
		cam_text_search_write(s, &o, out);
		cam_out_printf(out, "%llu samples in %llu seconds match\n",
			       (unsigned long long)s->seen.samples, (unsigned long long)s->seconds);
		cam_label_notes(out, "", s->notes);
	}
}

int cam_cmd_search(const struct cam_verb *verb, int argc, char **argv)
{
	struct search_arguments a = {0};
	const struct cam_option options[] = {
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N", "moments (default: 20)"},
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest < 1 || n_rest > 2)
		return cam_usage("search takes one expression, and where to look: a time, a window "
				 "or a quoted selection");
	char why[200];
	status = cam_picking_argument(n_rest > 1 ? argv[1] : NULL, &a.v.range, &a.v.filters);
	if (!status)
		status = cam_viewing_open(&a.v);
	if (status)
		return status;
	int err = cam_selection_add(&a.v.selection, CAM_FILTER_MATCH, cam_text_of(argv[0]), why,
				    sizeof(why));
	if (err)
		return cam_viewing_close(&a.v, cam_refused(err, "'%s': %s", argv[0], why));
	struct cam_search_options o = {.limit = a.limit ? a.limit : MOMENTS,
				       .progress = &a.v.bar.progress};
	struct cam_search s;
	err = cam_search_build(a.v.in.source, &a.v.selection, &o, &s);
	cam_progress_bar_end(&a.v.bar);
	if (err)
		return cam_viewing_close(&a.v, cam_viewing_failed(&a.v, err));
	if (s.n_moments || a.v.json)
		status = cam_viewing_write(&a.v, put, &s, &s.seen);
	if (!s.n_moments && (!status || status == CAM_EXIT_INCOMPLETE))
		status = cam_failed("%s: nothing that matches '%s' ran in the selection",
				    a.v.in.name, argv[0]);
	cam_search_free(&s);
	return cam_viewing_close(&a.v, status);
}
