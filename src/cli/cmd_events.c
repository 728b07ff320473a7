// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/picking.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "events/event_kind.h"
#include "model/severity.h"
#include "query/event_id.h"
#include "query/event_list.h"
#include "render/figure.h"
#include "render/label.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define USUAL_EVENTS 1000u
/* A doubt that nobody would see in a table is not worth a word. */
#define DOUBT_NS     CAM_NS_PER_MS
#define TEXT_COLUMNS 4096u
#define ZONE_HOUR    3600
#define ZONE_MINUTE  60

struct events_arguments {
	struct cam_reading_options from;
	struct cam_range_options range;
	const char *match, *severity, *source;
	unsigned limit;
	bool json;
};

static void put_json(const struct cam_event_list *l, struct cam_out *out)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_u64(&j, "all", l->n_all);
	cam_json_u64(&j, "unreadable", l->unreadable);
	cam_json_open(&j, "events", '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct cam_moment_event *e = &l->events[i];
		const struct cam_event_kind *kind = cam_event_kind_of(e->text);
		char id[CAM_EVENT_ID_BYTES];
		cam_event_id_write(e->id, id);
		cam_json_open(&j, NULL, '{');
		cam_json_text(&j, "id", cam_text_of(id));
		if (e->wall_ns != INT64_MIN)
			cam_json_i64(&j, "time_ns", e->wall_ns);
		cam_json_u64(&j, "clock_ns", e->time_ns);
		cam_json_u64(&j, "uncertainty_ns", e->uncertainty_ns);
		cam_json_u64(&j, "severity", (uint64_t)e->severity);
		cam_json_text(&j, "source", e->source);
		if (kind)
			cam_json_text(&j, "kind", cam_text_of(kind->name));
		cam_json_text(&j, "text", e->text);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

/* "2026-04-15 03:14:07.250+02:00" */
static void put_time(const struct cam_moment_event *e, struct cam_time_world *world,
		     struct cam_out *out)
{
	const int64_t ns = (int64_t)CAM_NS_PER_SEC;
	if (e->wall_ns == INT64_MIN) {
		cam_out_printf(out, "%-29s", cam_figure_stamp(e->time_ns).s);
		return;
	}
	int32_t east = cam_range_zone(world, e->wall_ns / ns - (e->wall_ns % ns < 0));
	int32_t off = east < 0 ? -east : east;
	cam_out_printf(out, "%s%c%02d:%02d", cam_figure_utc(e->wall_ns + east * ns, true).s,
		       east < 0 ? '-' : '+', off / ZONE_HOUR, off / ZONE_MINUTE % ZONE_MINUTE);
}

static void put_text(const struct cam_event_list *l, struct cam_out *out)
{
	struct cam_time_world world = cam_range_world();
	cam_out_printf(out, "%-29s  %-15s  %-8s %-8s %s\n", "TIME", "ID", "SEVERITY", "SOURCE",
		       "TEXT");
	for (size_t i = 0; i < l->n; i++) {
		const struct cam_moment_event *e = &l->events[i];
		put_time(e, &world, out);
		cam_out_printf(out, "  ev-%012" PRIx64 "  %-8s ", e->id,
			       cam_severity_name(e->severity));
		size_t used = cam_label_put(out, e->source, 24, CAM_LABEL_PLAIN);
		cam_out_printf(out, "%*s ", used < 8 ? (int)(8 - used) : 0, "");
		if (e->uncertainty_ns >= DOUBT_NS)
			cam_out_printf(out, "(± %s) ", cam_figure_duration(e->uncertainty_ns).s);
		cam_label_put(out, e->text, TEXT_COLUMNS, CAM_LABEL_PLAIN);
		cam_out_str(out, "\n");
	}
	if (l->n < l->n_all)
		cam_out_printf(out, "… and %zu more, less severe or older: -n %zu shows all\n",
			       l->n_all - l->n, l->n_all);
}

static int show(const struct cam_event_list *l, bool json)
{
	struct cam_out out;
	cam_out_to_fd(&out, 1);
	if (json)
		put_json(l, &out);
	else if (l->n)
		put_text(l, &out);
	else
		cam_out_str(&out, "no such event in that time\n");
	int err = cam_out_finish(&out);
	if (err)
		return cam_failed("standard output: %s", cam_errno_words(err));
	return l->unreadable ? cam_incomplete("%llu windows could not be read",
					      (unsigned long long)l->unreadable)
			     : CAM_EXIT_OK;
}

static int list(const struct events_arguments *a, const struct cam_event_list_options *o,
		struct cam_selection *s, struct cam_reading *in)
{
	struct cam_event_list l;
	int status = cam_picking_settle(s, in);
	if (status)
		return status;
	int err = cam_event_list_build(in->source, s, o, &l);
	if (err == -E2BIG)
		return cam_failed("%s: more than a million events; ask for less time", in->name);
	if (err)
		return cam_failed("%s: %s", in->name, cam_errno_words(err));
	status = show(&l, a->json);
	cam_event_list_free(&l);
	return status;
}

/* What is asked of the events themselves. An exit status. */
static int read_filters(const struct events_arguments *a, struct cam_select_expressions *match,
			struct cam_event_list_options *o)
{
	char why[200];
	*o = (struct cam_event_list_options){
		.most = a->limit ? a->limit : USUAL_EVENTS,
		.least = CAM_SEVERITY_DEBUG,
		.match = match,
		.source = cam_text_of(a->source ? a->source : ""),
	};
	if (a->severity && !cam_severity_parse(cam_text_of(a->severity), &o->least))
		return cam_usage(
			"--severity: '%s' is not emerg, alert, crit, err, warning, notice, info "
			"or debug",
			a->severity);
	if (!a->match)
		return CAM_EXIT_OK;
	int err = cam_select_expression_add(match, cam_text_of(a->match), why, sizeof(why));
	return err ? cam_refused(err, "--match '%s': %s", a->match, why) : CAM_EXIT_OK;
}

int cam_cmd_events(const struct cam_verb *verb, int argc, char **argv)
{
	struct events_arguments a = {0};
	const struct cam_option options[] = {
		{"match", 0, CAM_OPTION_TEXT, &a.match, "RE", "whose text this expression matches"},
		{"severity", 0, CAM_OPTION_TEXT, &a.severity, "S",
		 "at least as severe as: emerg, alert, crit, err, warning, notice, info, debug"},
		{"source", 0, CAM_OPTION_TEXT, &a.source, "NAME", "only of kmsg, mark, perfcam, …"},
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N",
		 "at most so many: the most severe, of those alike the newest (default: 1000)"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL, "as JSON"},
		CAM_RANGE_OPTIONS(a.range),
		CAM_READING_OPTIONS(a.from),
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("events takes one time or window; '%s' is one too many", argv[1]);
	struct cam_select_expressions match = {0};
	struct cam_event_list_options o;
	struct cam_selection s;
	const struct cam_filter_options none = {0};
	struct cam_reading in = {0};
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &a.range, NULL);
	if (status)
		return status;
	status = cam_picking_select(&a.range, &none, &s);
	if (!status)
		status = read_filters(&a, &match, &o);
	int read_status = status ? status : cam_reading_open(&a.from, &in);
	if (!status && (read_status == CAM_EXIT_OK || read_status == CAM_EXIT_INCOMPLETE))
		status = list(&a, &o, &s, &in);
	cam_reading_close(&in);
	cam_select_expressions_free(&match);
	cam_selection_free(&s);
	return status ? status : read_status;
}
