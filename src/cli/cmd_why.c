// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "cli/heading.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/viewing.h"
#include "query/recurrence.h"
#include "query/why.h"
#include "render/json_why.h"
#include "render/text_recurrence.h"

#include <errno.h>
#include <string.h>

#define FINDINGS 3u

struct why_arguments {
	struct cam_viewing v;
	unsigned limit;
	const char *baseline, *match;
	struct cam_selection against;
};

static void put_heading(const struct cam_why *w, struct cam_out *out)
{
	char when[400] = "";
	cam_heading_when(&w->seen, when, sizeof(when));
	if (when[0])
		cam_out_printable(out, cam_text_of(when));
	if (w->cpus)
		cam_out_printf(out, " · %u CPUs", w->cpus);
	if (w->busy >= 0)
		cam_out_printf(out, ", %.0f %% busy", w->busy * 100);
	cam_out_str(out, "\n");
}

static void put_why(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	const struct cam_why *w = view;
	char where[CAM_VIEWING_WHERE_BYTES];
	struct cam_time_world world = cam_range_world();
	struct cam_text_why_options o = {.table = {.zone = cam_range_zone, .zone_arg = &world}};
	cam_viewing_where(v, where);
	o.where = cam_text_of(where);
	if (v->json) {
		struct cam_json j = {out, false};
		cam_json_open(&j, NULL, '{');
		cam_json_why(&j, w, &o);
		cam_json_close(&j, '}');
		cam_out_str(out, "\n");
	} else {
		put_heading(w, out);
		cam_text_why_write(w, &o, out);
	}
}

/* --baseline: "auto", or a selection in words. */
static int read_baseline(struct why_arguments *a)
{
	char why[CAM_WHEN_WHY_BYTES];
	cam_selection_init(&a->against);
	if (!a->baseline || !strcmp(a->baseline, "auto"))
		return CAM_EXIT_OK;
	a->against.world = cam_filters_world();
	a->against.when.world = a->against.world.time;
	int err = cam_selection_read(&a->against, cam_text_of(a->baseline), why, sizeof(why));
	if (!err)
		err = cam_selection_check(&a->against, why, sizeof(why));
	if (err)
		return cam_refused(err, "--baseline: %s", why);
	if (cam_when_is_empty(&a->against.when) || !cam_selection_is_plain(&a->against) ||
	    a->against.cpus)
		return cam_usage("--baseline takes times, like 'from=02:00 to=03:00' or 'last=2h'; "
				 "filters hold for both sides");
	a->against.clock = CAM_SELECT_WHEN;
	return cam_picking_settle(&a->against, &a->v.in);
}

static int say_error(const struct why_arguments *a, int err)
{
	if (err == -ENODATA)
		return cam_failed("%s: nothing was recorded then; see perfcam ls", a->v.in.name);
	if (err == -E2BIG)
		return cam_failed("%s: that is too long to explain: choose at most 10 minutes",
				  a->v.in.name);
	return cam_viewing_failed(&a->v, err);
}

static int answer(struct why_arguments *a)
{
	struct cam_why w;
	int status = read_baseline(a);
	if (status)
		return status;
	struct cam_why_options o = {.limit = a->limit ? a->limit : FINDINGS,
				    .baseline = a->against.clock == CAM_SELECT_ALWAYS ? NULL
										      : &a->against,
				    .progress = &a->v.bar.progress};
	int err = cam_why_build(a->v.in.source, &a->v.selection, &o, &w);
	cam_progress_bar_end(&a->v.bar);
	if (err)
		return say_error(a, err);
	status = cam_viewing_write(&a->v, put_why, &w, &w.seen);
	cam_why_free(&w);
	return status;
}

static void put_recurrence(const struct cam_viewing *v, const void *view, struct cam_out *out)
{
	const struct cam_recurrence *r = view;
	char where[CAM_VIEWING_WHERE_BYTES];
	cam_viewing_where(v, where);
	if (v->json) {
		struct cam_json j = {out, false};
		cam_json_open(&j, NULL, '{');
		cam_json_recurrence(&j, r, cam_text_of(where));
		cam_json_close(&j, '}');
		cam_out_str(out, "\n");
	} else {
		cam_text_recurrence_write(r, cam_text_of(where), out);
	}
}

/* --event-match: all events of a kind at once. */
static int answer_recurrence(struct why_arguments *a)
{
	struct cam_select_expressions match = {0};
	struct cam_recurrence r;
	char why[200];
	if (a->baseline)
		return cam_usage("--baseline is for one moment, not for --event-match");
	int refused = cam_select_expression_add(&match, cam_text_of(a->match), why, sizeof(why));
	if (refused)
		return cam_refused(refused, "--event-match '%s': %s", a->match, why);
	struct cam_recurrence_options o = {.match = &match,
					   .limit = a->limit ? a->limit : FINDINGS,
					   .progress = &a->v.bar.progress};
	int err = cam_recurrence_build(a->v.in.source, &a->v.selection, &o, &r);
	cam_progress_bar_end(&a->v.bar);
	cam_select_expressions_free(&match);
	if (err)
		return say_error(a, err);
	int status = r.events ? cam_viewing_write(&a->v, put_recurrence, &r, &r.seen)
			      : cam_failed("%s: no event matches '%s'; see perfcam events",
					   a->v.in.name, a->match);
	cam_recurrence_free(&r);
	return status;
}

int cam_cmd_why(const struct cam_verb *verb, int argc, char **argv)
{
	struct why_arguments a = {0};
	const struct cam_option options[] = {
		{"limit", 'n', CAM_OPTION_COUNT, &a.limit, "N", "findings (default: 3)"},
		{"baseline", 0, CAM_OPTION_TEXT, &a.baseline, "auto|SELECTION",
		 "compare with this (default: all that is kept)"},
		{"event-match", 0, CAM_OPTION_TEXT, &a.match, "RE",
		 "what comes before all events with such a text"},
		CAM_VIEWING_OPTIONS(a.v),
		{0},
	};
	int status;
	if (!cam_viewing_parse(&a.v, verb, options, argc, argv, &status))
		return status;
	if (a.match && (a.v.range.bare || a.v.range.at || a.v.range.event))
		return cam_usage(
			"--event-match looks at all such events: --last or --from says of when");
	if (!a.match && cam_range_is_empty(&a.v.range))
		return cam_usage("why what? a time or an event: %s", CAM_TIME_TRY);
	status = cam_viewing_open(&a.v);
	if (status)
		return status;
	status = a.match ? answer_recurrence(&a) : answer(&a);
	cam_selection_free(&a.against);
	return cam_viewing_close(&a.v, status);
}
