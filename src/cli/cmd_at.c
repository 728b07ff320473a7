// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/heading.h"
#include "cli/place.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/event_id.h"
#include "query/moment.h"
#include "render/json_table.h"
#include "render/label.h"
#include "render/text_moment.h"

#include <errno.h>
#include <stdio.h>

#define ROWS	   10u
#define MAX_EVENTS 50u

struct at_arguments {
	struct cam_viewing v;
	unsigned limit;
};

static void put_heading(const struct cam_moment *m, struct cam_out *out)
{
	char when[400] = "", moment[48];
	cam_heading_when(&m->processes.seen, when, sizeof(when));
	if (m->wall_ns != INT64_MIN) {
		cam_show_realtime(m->wall_ns, moment, sizeof(moment));
		/* "2026-04-15 03:14:07+02:00", with the milliseconds between. */
		int64_t ms = m->wall_ns / (int64_t)CAM_NS_PER_MS % 1000;
		cam_out_printf(out, "%.19s.%03d%s · ", moment, (int)(ms < 0 ? ms + 1000 : ms),
			       moment + 19);
	}
	if (when[0])
		cam_out_printable(out, cam_text_of(when));
	cam_out_str(out, "\n");
}

static void put_text(const struct cam_viewing *v, const struct cam_moment *m, struct cam_out *out)
{
	struct cam_terminal terminal = {0};
	struct cam_time_world world = cam_range_world();
	cam_terminal_ask(NULL, &terminal);
	struct cam_text_table_options o = {.columns = v->out ? 0 : terminal.columns,
					   .zone = cam_range_zone,
					   .zone_arg = &world};
	put_heading(m, out);
	cam_text_moment_write(m, &o, out);
	cam_label_notes(out, "", m->functions.notes);
}

static void json_coverage(struct cam_json *j, const struct cam_coverage *c)
{
	if (!c->known) {
		cam_json_null(j, "coverage");
		return;
	}
	cam_json_open(j, "coverage", '{');
	cam_json_text(j, "unit", c->by_ledger ? CAM_TEXT("samples") : CAM_TEXT("cpu_ns"));
	cam_json_u64(j, "due", c->due);
	cam_json_u64(j, "busy", c->busy);
	cam_json_u64(j, "idle", c->idle);
	cam_json_u64(j, "lost", c->lost);
	cam_json_u64(j, c->by_ledger ? "other" : "not_sampled", c->other);
	cam_json_close(j, '}');
}

static void json_events(struct cam_json *j, const struct cam_moment *m)
{
	cam_json_open(j, "events", '[');
	for (size_t i = 0; i < m->n_events; i++) {
		const struct cam_moment_event *e = &m->events[i];
		char id[CAM_EVENT_ID_BYTES];
		cam_event_id_write(e->id, id);
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "id", cam_text_of(id));
		if (e->wall_ns != INT64_MIN)
			cam_json_i64(j, "time_ns", e->wall_ns);
		cam_json_u64(j, "clock_ns", e->time_ns);
		cam_json_u64(j, "uncertainty_ns", e->uncertainty_ns);
		cam_json_u64(j, "severity", (uint64_t)e->severity);
		cam_json_text(j, "source", e->source);
		cam_json_text(j, "text", e->text);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
	cam_json_u64(j, "events_in_all", m->n_all_events);
}

static void json_counters(struct cam_json *j, const struct cam_moment *m)
{
	cam_json_open(j, "host_counters", '[');
	for (size_t i = 0; i < m->n_counters; i++) {
		const struct cam_moment_counter *c = &m->counters[i];
		cam_json_open(j, NULL, '{');
		cam_json_text(j, "name", cam_text_of(cam_text_counter_words(c->kind)));
		cam_json_u64(j, "mean_thousandths", c->inside);
		if (c->has_outside)
			cam_json_u64(j, "mean_of_the_rest_thousandths", c->outside);
		cam_json_bool(j, "stands_out", c->stands_out);
		cam_json_close(j, '}');
	}
	cam_json_close(j, ']');
}

static void json_host(struct cam_json *j, const struct cam_moment *m)
{
	const struct cam_track *groups = &m->host.by_kind[CAM_COUNTER_MEMORY_CGROUPS];
	cam_json_waiters(j, &m->host);
	if (m->host.n && groups->mean && groups->mean[0] > 0)
		cam_json_u64(j, "memory_cgroups", (uint64_t)(groups->mean[0] + 0.5f));
}

static void put_json(const struct cam_moment *m, const struct cam_selection *s, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	if (m->window.n) {
		cam_json_text(&j, "window", m->window);
		cam_json_u64(&j, "offset_ns", m->offset_ns);
		cam_json_u64(&j, "clock_ns", m->clock_ns);
	} else {
		cam_json_null(&j, "window");
	}
	if (m->wall_ns != INT64_MIN)
		cam_json_i64(&j, "time_ns", m->wall_ns);
	cam_json_open(&j, "selected", '{');
	cam_json_text(&j, "clock",
		      s->clock == CAM_SELECT_WALL ? CAM_TEXT("wall") : CAM_TEXT("window"));
	cam_json_i64(&j, "from_ns", s->from_ns);
	cam_json_i64(&j, "to_ns", s->to_ns);
	cam_json_close(&j, '}');
	cam_json_seen(&j, &m->processes.seen);
	json_coverage(&j, &m->coverage);
	cam_json_text(&j, "unit", m->processes.unit);
	cam_json_u64(&j, "total", m->processes.all.weight);
	cam_json_table_rows(&j, "processes", &m->processes);
	cam_json_table_rows(&j, "functions", &m->functions);
	cam_json_table_rows(&j, "cores", &m->cores);
	cam_json_table_rows(&j, "busiest_core", &m->busiest);
	json_events(&j, m);
	json_counters(&j, m);
	json_host(&j, m);
	cam_json_notes(&j, m->functions.notes);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static void put(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	if (v->json)
		put_json(view, &v->selection, out);
	else
		put_text(v, view, out);
}

static int show(struct at_arguments *a, const struct cam_moment *m)
{
	struct cam_seen seen = m->processes.seen;
	/* Its parts read the windows one after the other: what could not be read may have been missing in any of them. */
	const uint64_t unreadable[] = {m->unreadable, m->functions.seen.unreadable,
				       m->cores.seen.unreadable, m->busiest.seen.unreadable,
				       m->host.unreadable};
	for (size_t i = 0; i < sizeof(unreadable) / sizeof(unreadable[0]); i++)
		if (seen.unreadable < unreadable[i])
			seen.unreadable = unreadable[i];
	if (!seen.windows && !seen.dead_ns && !seen.unreadable)
		return cam_viewing_nothing(&a->v, &seen);
	if (!seen.observed_ns && !seen.dead_ns && !seen.unreadable)
		return cam_viewing_failed(&a->v, -EDOM);
	return cam_viewing_write(&a->v, put, m, &seen);
}

int cam_cmd_at(const struct cam_verb *verb, int argc, char **argv)
{
	struct at_arguments a = {0};
	const struct cam_option options[] = {
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N", "rows of each table (default: 10)"},
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&a.v, verb, options, argc, argv, &status))
		return status;
	if (cam_range_is_empty(&a.v.range))
		return cam_usage("at what time? %s", CAM_TIME_TRY);
	status = cam_viewing_open(&a.v);
	if (status)
		return status;
	struct cam_moment_options o = {.weight = a.v.weigh,
				       .rows = a.limit ? a.limit : ROWS,
				       .max_events = MAX_EVENTS,
				       .progress = &a.v.bar.progress};
	struct cam_moment m;
	int err = cam_moment_build(a.v.in.source, &a.v.selection, &o, &m);
	cam_progress_bar_end(&a.v.bar);
	if (err)
		return cam_viewing_close(&a.v, cam_viewing_failed(&a.v, err));
	/* A file is called by the name it was given. */
	if (!a.v.in.stored && m.window.n)
		m.window = cam_text_of(a.v.in.name);
	status = show(&a, &m);
	cam_moment_free(&m);
	return cam_viewing_close(&a.v, status);
}
