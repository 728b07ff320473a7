// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/units.h"
#include "cli/capsule_files.h"
#include "cli/picking.h"
#include "cli/place.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "ingest/ledger.h"
#include "query/account.h"
#include "query/selector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define WIDTH 100u
/* Shares of a window below this, in per mille, are not worth a line unless something was lost. */
#define SMALL 10u

struct listing {
	struct cam_out *out;
	struct cam_json *json; /* NULL: text */
	bool names, pinned;
	struct cam_selection selection; /* only its times */
	struct cam_window_info
		before; /* the window before, listed or not, for the gap between them */
	bool has_before;
	int status;
};

/* Samples by which what a recorder estimates (idle, stolen) may be off, each. */
static uint64_t error_of(struct cam_window *w, const struct cam_account *a)
{
	const struct cam_tables *t;
	if (w->info.imported || cam_window_words(w, &t) || !t->n_etypes || !t->etypes[0].period_ns)
		return 0;
	uint64_t period = t->etypes[0].period_ns;
	return a->cpus * cam_ledger_error((uint32_t)((CAM_NS_PER_SEC + period / 2) / period));
}

static void put_gap_json(struct cam_json *j, const struct cam_ledger_row *gap, bool other_boot)
{
	if (!gap) {
		cam_json_null(j, "gap_before");
		return;
	}
	cam_json_open(j, "gap_before", '{');
	cam_json_text(j, "cause", cam_text_of(cam_cause_key(gap->cause)));
	cam_json_bool(j, "other_boot", other_boot);
	cam_json_u64(j, "from_ns", gap->from_ns);
	cam_json_u64(j, "to_ns", gap->to_ns);
	cam_json_close(j, '}');
}

static void put_json(struct cam_json *j, struct cam_window *open, const struct cam_window_info *w,
		     const struct cam_account *a, const struct cam_ledger_row *gap, bool other_boot)
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
	cam_json_u64(j, "due", a->due);
	cam_json_u64(j, "observed", a->observed);
	cam_json_u64(j, "error", error_of(open, a));
	cam_json_open(j, "ledger", '{');
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		cam_json_u64(j, cam_cause_key((enum cam_cause)i), a->by_cause[i]);
	cam_json_close(j, '}');
	put_gap_json(j, gap, other_boot);
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

/* "49.1", or "-" where nobody knows. */
static void show_share(char room[16], bool known, uint64_t part, uint64_t whole)
{
	uint32_t share = cam_account_share(part, whole);
	if (known && whole)
		snprintf(room, 16, "%u.%u", share / 10, share % 10);
	else
		snprintf(room, 16, "-");
}

static void put_row(const struct listing *l, const struct cam_window_info *w,
		    const struct cam_account *a)
{
	char start[40], span[32], size[32], busy[16], idle[16], seen[16];
	bool unnamed = !l->names && w->realtime_ns != INT64_MIN;
	cam_show_realtime(w->realtime_ns, start, sizeof(start));
	cam_show_span(w, span, sizeof(span));
	cam_show_bytes(w->file_bytes, size, sizeof(size));
	/* A file of another tool says what ran, not what was due. */
	show_share(busy, !w->imported, a->samples, a->due);
	show_share(idle, !w->imported, a->by_cause[CAM_CAUSE_IDLE], a->due);
	show_share(seen, !w->imported || a->lost, a->observed, a->due);
	cam_out_printf(l->out, "%-25s %6s %7" PRIu64 " %5s %5s %5s %5" PRIu64 " %8s %6u", start,
		       span, w->samples, busy, idle, seen, w->lost, size, w->events);
	const char *state = w->pinned ? "pinned" : w->sealed ? "" : "open";
	if (*state || !unnamed)
		cam_out_printf(l->out, unnamed ? " %s" : " %-6s ", state);
	if (!unnamed)
		cam_out_printable(l->out, w->name);
	cam_out_str(l->out, "\n");
}

/* What was not observed, by cause: one or more lines below the window's own. */
static void put_causes(struct cam_out *out, const struct cam_account *a)
{
	unsigned column = 0;
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		enum cam_cause cause = (enum cam_cause)i;
		char text[96], share[16];
		bool small = cam_account_share(a->by_cause[i], a->due) < SMALL;
		if (!a->by_cause[i] || cause == CAM_CAUSE_IDLE ||
		    (small && !cam_cause_is_loss(cause)))
			continue;
		show_share(share, true, a->by_cause[i], a->due);
		int n = snprintf(text, sizeof(text), "%s %" PRIu64 " (%s %%)",
				 cam_cause_words(cause), a->by_cause[i], share);
		if (column && column + 2 + (unsigned)n > WIDTH) {
			cam_out_str(out, ",\n");
			column = 0;
		}
		cam_out_str(out, column ? ", " : "    ");
		cam_out_str(out, text);
		column += (column ? 2 : 4) + (unsigned)n;
	}
	if (column)
		cam_out_str(out, "\n");
}

static void put_gap(struct cam_out *out, const struct cam_ledger_row *gap, bool other_boot)
{
	double seconds = (double)(gap->to_ns - gap->from_ns) / (double)CAM_NS_PER_SEC;
	/* What was before the boot no clock has measured. */
	if (other_boot)
		cam_out_printf(out, "  -- another boot; %.1f s of it: %s\n", seconds,
			       cam_cause_words(gap->cause));
	else
		cam_out_printf(out, "  -- %.1f s: %s\n", seconds, cam_cause_words(gap->cause));
}

/* The gap before a window, where there is one and the times touch it. */
static bool find_gap(const struct listing *l, const struct cam_window_info *w,
		     struct cam_ledger_row *gap, bool *other_boot)
{
	const struct cam_window_info *before = &l->before;
	struct cam_ledger_row touched;
	bool live = w->clock == CAM_CLOCK_MONOTONIC && before->clock == CAM_CLOCK_MONOTONIC;
	*other_boot = memcmp(&before->boot_id, &w->boot_id, sizeof(w->boot_id)) != 0;
	if (!l->has_before || !live || !cam_gap_between(before, w, gap))
		return false;
	return *other_boot || cam_selection_gap(&l->selection, before, w, &touched);
}

static void list_window(struct listing *l, struct cam_window *w, const struct cam_window_info *info)
{
	struct cam_account a;
	struct cam_ledger_row gap;
	bool other_boot, has_gap = find_gap(l, info, &gap, &other_boot);
	int err = cam_account_window(w, &a);
	if (err || !a.complete)
		l->status = cam_incomplete("%.*s: its ledger is damaged", (int)info->name.n,
					   info->name.p);
	if (l->json) {
		put_json(l->json, w, info, &a, has_gap ? &gap : NULL, other_boot);
		return;
	}
	if (has_gap)
		put_gap(l->out, &gap, other_boot);
	put_row(l, info, &a);
	put_causes(l->out, &a);
}

/* Whether the times touch an open window: by its anchors, whatever the wall clock did in it. -errno. */
static int is_touched(const struct listing *l, struct cam_window *w)
{
	struct cam_selector x;
	const struct cam_etype_id none = {CAM_NONE};
	if (l->selection.clock == CAM_SELECT_ALWAYS)
		return 1;
	int err = cam_selector_open(&x, &l->selection, w, none, none);
	if (err)
		return err;
	bool touched = x.n_ranges > 0;
	cam_selector_close(&x);
	return touched;
}

static void list_one(struct listing *l, struct cam_source *source, size_t i,
		     const struct cam_window_info *info)
{
	struct cam_window *w;
	int err = source->ops->open(source, i, &w);
	if (!err) {
		err = is_touched(l, w);
		if (err > 0)
			list_window(l, w, info);
		w->ops->close(w);
	}
	/* Gone since it was listed is not incomplete: it has expired. */
	if (err < 0 && err != -ENOENT)
		l->status = cam_incomplete("window %zu: %s", i, cam_errno_words(err));
}

static void list_all(struct listing *l, struct cam_source *source)
{
	size_t n = source->ops->count(source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info, *next = NULL;
		int err = source->ops->info(source, i, &info);
		if (i + 1 < n && source->ops->info(source, i + 1, &next))
			next = NULL;
		if (err) {
			l->status = cam_incomplete("window %zu: %s", i, cam_errno_words(err));
			continue;
		}
		if ((!l->pinned || info->pinned) &&
		    cam_selection_may_touch(&l->selection, info, next))
			list_one(l, source, i, info);
		l->before = *info;
		l->has_before = true;
	}
}

static void list_windows(struct listing *l, const struct cam_reading *in)
{
	if (l->json)
		cam_json_open(l->json, NULL, '[');
	else
		cam_out_printf(l->out, "%-25s %6s %7s %5s %5s %5s %5s %8s %6s%s\n", "START",
			       "LENGTH", "SAMPLES", "BUSY%", "IDLE%", "SEEN%", "LOST", "SIZE",
			       "EVENTS", l->names ? "        WINDOW" : "");
	list_all(l, in->source);
	if (l->json)
		cam_json_close(l->json, ']');
	else if (in->stored)
		cam_capsule_files_mention(in->name, &l->selection, l->out);
}

int cam_cmd_ls(const struct cam_verb *verb, int argc, char **argv)
{
	struct cam_reading_options from = {0};
	struct cam_range_options range = {0};
	bool json = false, capsules = false;
	struct listing l = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(from),
		CAM_RANGE_OPTIONS(range),
		{"pinned", 0, CAM_OPTION_FLAG, &l.pinned, NULL, "only windows that a pin keeps"},
		{"capsules", 0, CAM_OPTION_FLAG, &capsules, NULL,
		 "the capsules that rules have written, instead of windows"},
		{"names", 0, CAM_OPTION_FLAG, &l.names, NULL, "with the names of their files"},
		{"json", 0, CAM_OPTION_FLAG, &json, NULL, "as JSON"},
		{0},
	};
	int n_rest, status;
	bool done;
	status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest > 1)
		return cam_usage("ls takes one time or window, not also '%s'; for a file use -i",
				 argv[1]);
	status = cam_picking_argument(n_rest ? argv[0] : NULL, &range, NULL);
	if (status)
		return status;
	if (capsules && (l.pinned || l.names || from.file))
		return cam_usage("--capsules lists files of a store, not windows: it goes without "
				 "--pinned, --names and -i");
	const struct cam_filter_options none = {0};
	struct cam_reading in = {0};
	status = cam_picking_select(&range, &none, &l.selection);
	if (!status) {
		l.status = cam_reading_open(&from, &in);
		status = l.status == CAM_EXIT_INCOMPLETE ? CAM_EXIT_OK : l.status;
	}
	if (!status)
		status = cam_picking_settle(&l.selection, &in);
	if (status) {
		cam_reading_close(&in);
		cam_selection_free(&l.selection);
		return status;
	}
	struct cam_out out;
	struct cam_json j = {&out, false};
	cam_out_to_fd(&out, 1);
	l.out = &out;
	l.json = json ? &j : NULL;
	if (capsules)
		l.status = cam_capsule_files_list(in.name, &l.selection, &out, l.json);
	else
		list_windows(&l, &in);
	if (json)
		cam_out_str(&out, "\n");
	int err = cam_out_finish(&out);
	cam_reading_close(&in);
	cam_selection_free(&l.selection);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : l.status;
}
