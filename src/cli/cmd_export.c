// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "interop/folded_out.h"
#include "interop/perf_script_out.h"

#include <errno.h>
#include <string.h>

struct export_arguments {
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	const char *out, *annotate, *weight;
	bool with_pid, with_tid, addrs;
};

/* The open ends of an export. */
struct export
{
	struct cam_reading in;
	struct cam_selection selection;
	struct cam_output *output;
	int read_status;
};

/* "kernel,jit" → the marks to add; these two for a bare --annotate, as stackcollapse's --all. */
static int parse_annotate(const char *list, struct cam_collapse_rules *r)
{
	if (!list)
		return CAM_EXIT_OK;
	if (!*list) {
		r->mark_kernel = r->mark_jit = true;
		return CAM_EXIT_OK;
	}
	while (*list) {
		size_t n = strcspn(list, ",");
		struct cam_text word = {list, n};
		if (cam_text_equal(word, CAM_TEXT("kernel")))
			r->mark_kernel = true;
		else if (cam_text_equal(word, CAM_TEXT("jit")))
			r->mark_jit = true;
		else if (cam_text_equal(word, CAM_TEXT("inline")))
			r->mark_inlined = true;
		else
			return cam_usage("--annotate takes kernel, jit, inline, not '%.*s'", (int)n,
					 list);
		list += n + (list[n] == ',');
	}
	return CAM_EXIT_OK;
}

/* What counts: periods of foreign files, as the other tools count; samples of perfcam's own. */
static int parse_weight(const char *given, bool foreign, enum cam_folded_weight *out)
{
	if (!given)
		*out = foreign ? CAM_FOLDED_PERIOD : CAM_FOLDED_SAMPLES;
	else if (!strcmp(given, "period"))
		*out = CAM_FOLDED_PERIOD;
	else if (!strcmp(given, "samples"))
		*out = CAM_FOLDED_SAMPLES;
	else
		return cam_usage("--weight takes samples or period, not '%s'", given);
	return CAM_EXIT_OK;
}

/* One window into the format that is being written. */
typedef int add_fn(void *to, struct cam_window *w, const struct cam_row_filter *rows);

static int add_folded(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	return cam_folded_add_rows(to, w, rows);
}

static int add_perf_script(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	return cam_perf_script_out_add(to, w, rows);
}

struct sum {
	uint64_t lost, unplaced, dead_ns;
};

static int add_window(struct cam_window *w, const struct cam_selection *s, add_fn *add, void *to,
		      struct sum *sum)
{
	struct cam_picking pick;
	int err = cam_picking_open(&pick, s, w);
	if (err)
		return err;
	sum->unplaced += pick.selector.unplaced;
	if (pick.selector.n_ranges)
		err = add(to, w, &pick.filter);
	sum->lost += cam_picking_lost(&pick);
	cam_picking_close(&pick);
	return err;
}

static int add_all(struct cam_reading *in, const struct cam_selection *s, add_fn *add, void *to)
{
	int status = CAM_EXIT_OK;
	struct sum sum = {0};
	size_t n = in->source->ops->count(in->source);
	const struct cam_window_info *before = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info, *next = NULL;
		struct cam_window *w;
		struct cam_ledger_row gap;
		int err = in->source->ops->info(in->source, i, &info);
		if (!err && before && cam_selection_gap(s, before, info, &gap) &&
		    cam_cause_is_loss(gap.cause))
			sum.dead_ns += gap.to_ns - gap.from_ns;
		before = err ? NULL : info;
		if (i + 1 < n && in->source->ops->info(in->source, i + 1, &next))
			next = NULL;
		if (!err && !cam_selection_may_touch(s, info, next))
			continue;
		if (!err)
			err = in->source->ops->open(in->source, i, &w);
		if (!err) {
			err = add_window(w, s, add, to, &sum);
			w->ops->close(w);
		}
		/* What comes from the way out will not go away with the next window. */
		if (err == -ENOMEM || err == -EPIPE || err == -ENOSPC)
			return cam_failed("%s", cam_errno_words(err));
		if (err)
			status = cam_incomplete("window %zu of %zu: %s", i + 1, n,
						cam_errno_words(err));
	}
	if (sum.unplaced)
		status = cam_incomplete("%llu windows have no wall clock and are left out",
					(unsigned long long)sum.unplaced);
	/* What a text says of itself was said when it was read. */
	if (sum.lost && in->stored)
		status = cam_incomplete(
			"%llu samples were lost before they could be kept (the ledger "
			"has them)",
			(unsigned long long)sum.lost);
	else if (sum.dead_ns)
		status = cam_incomplete("the recorder was not running for %.3f s of that time",
					(double)sum.dead_ns / 1e9);
	return status;
}

/* What the reader of the lines must know: on stderr, since the lines are for programs. */
static int report_folded(const struct cam_folded_stats *st, const struct export_arguments *a)
{
	bool one_event = a->filters.event_type.n;
	if (!one_event && st->other.n && st->filtered)
		cam_note("only event %.*s; %llu samples of others (%.*s …) left out: --event-type",
			 (int)st->event.n, st->event.p, (unsigned long long)st->filtered,
			 (int)st->other.n, st->other.p);
	if (one_event && !st->counted && st->filtered)
		cam_note("no sample is of event %s; the first other is %.*s",
			 a->filters.event_type.values[0], (int)st->other.n, st->other.p);
	if (st->left_out_frames)
		cam_note("%llu frames left out, as stackcollapse does: bare addresses, or names "
			 "that start with '('",
			 (unsigned long long)st->left_out_frames);
	if (st->left_out_samples)
		cam_note(
			"%llu samples of exiting threads (\":-1\") left out, as stackcollapse does",
			(unsigned long long)st->left_out_samples);
	if (a->addrs && st->entry_addresses)
		cam_note("%llu frames show the start of their function: the window keeps no "
			 "addresses",
			 (unsigned long long)st->entry_addresses);
	if (st->dropped)
		return cam_incomplete("%llu samples had no room in memory and are missing",
				      (unsigned long long)st->dropped);
	return CAM_EXIT_OK;
}

static int report_damage(const struct cam_damage *d)
{
	if (!d->chunks)
		return CAM_EXIT_OK;
	return cam_incomplete("%llu damaged chunks: %llu samples are missing, %llu are under "
			      "[damaged]",
			      (unsigned long long)d->chunks, (unsigned long long)d->samples,
			      (unsigned long long)d->stacks);
}

/*
 * Everything that can be wrong before the first byte. OK: close_export() ends it. Otherwise nothing
 * is open.
 */
static int open_export(const struct export_arguments *a, const char *events,
		       const struct cam_wanted *want, struct export *x)
{
	struct cam_reading_options from = a->from;
	struct cam_filter_options filters = a->filters;
	from.want = *want;
	*x = (struct export){0};
	if (events)
		filters.event_type = (struct cam_option_list){.values = {events}, .n = 1};
	int status = cam_picking_select(&a->range, &filters, &x->selection);
	x->selection.with_idle = !filters.no_idle;
	if (!status)
		status = x->read_status = cam_reading_open(&from, &x->in);
	if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE) {
		cam_selection_free(&x->selection);
		return status;
	}
	x->output = cam_output_open(a->out);
	if (x->output)
		return CAM_EXIT_OK;
	cam_reading_close(&x->in);
	cam_selection_free(&x->selection);
	return CAM_EXIT_FAILED;
}

/* `worst` so far, and what became of the file. */
static int close_export(struct export *x, int worst)
{
	if (worst == CAM_EXIT_FAILED)
		cam_output_abandon(x->output);
	else if (cam_output_commit(x->output))
		worst = CAM_EXIT_FAILED;
	cam_reading_close(&x->in);
	cam_selection_free(&x->selection);
	return worst != CAM_EXIT_OK ? worst : x->read_status;
}

static int write_folded(const struct export_arguments *a, struct export *x,
			const struct cam_folded_options *o)
{
	struct cam_folded *folded = NULL;
	int err = cam_folded_new(o, &folded);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	int worst = add_all(&x->in, &x->selection, add_folded, folded);
	if (worst != CAM_EXIT_FAILED) {
		err = cam_folded_write(folded, cam_output_stream(x->output));
		struct cam_folded_stats st = cam_folded_stats(folded);
		int reported = worst ? CAM_EXIT_OK : report_folded(&st, a);
		worst = worst ? worst : reported ? reported : report_damage(&st.damage);
		if (err)
			worst = cam_failed("writing folded stacks: %s", cam_errno_words(err));
	}
	cam_folded_free(folded);
	return worst;
}

static int export_folded(const struct export_arguments *a)
{
	const struct cam_option_list *event = &a->filters.event_type;
	if (event->n > 1)
		return cam_usage("export folded counts one event; --event-type is given %zu times",
				 event->n);
	struct cam_folded_options o = {
		.rules = {.with_pid = a->with_pid, .with_tid = a->with_tid, .addrs = a->addrs},
		.event_type = cam_text_of(event->n ? event->values[0] : ""),
	};
	int status = parse_annotate(a->annotate, &o.rules);
	if (!status)
		status = parse_weight(a->weight, true, &o.weight);
	if (status)
		return status;
	struct export x;
	/* Which event counts is the format's own rule. */
	status = open_export(a, "*", &(struct cam_wanted){.addresses = a->addrs}, &x);
	if (status)
		return status;
	parse_weight(a->weight, x.in.foreign, &o.weight);
	return close_export(&x, write_folded(a, &x, &o));
}

static int write_perf_script(const struct export_arguments *a, struct export *x)
{
	struct cam_perf_script_out *text = NULL;
	int err = cam_perf_script_out_new(cam_output_stream(x->output), &text);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	int worst = add_all(&x->in, &x->selection, add_perf_script, text);
	struct cam_perf_script_out_stats st = cam_perf_script_out_stats(text);
	cam_perf_script_out_free(text);
	if (cam_output_stream(x->output)->error)
		return cam_failed("%s: %s", a->out ? a->out : "standard output",
				  cam_errno_words(cam_output_stream(x->output)->error));
	if (worst)
		return worst;
	if (!st.samples && st.folded)
		return cam_failed("%s: folded stacks are counts; perf script text is one sample "
				  "after the other",
				  x->in.name);
	if (!st.samples)
		return cam_failed("%s: no samples in the selection", x->in.name);
	if (st.folded)
		return cam_incomplete("%llu windows of folded stacks are left out: they hold no "
				      "samples",
				      (unsigned long long)st.folded);
	return report_damage(&st.damage);
}

static int export_perf_script(const struct export_arguments *a)
{
	if (a->annotate || a->weight || a->with_pid || a->with_tid || a->addrs)
		return cam_usage("--annotate, --with-pid, --with-tid, --addrs and --weight are for "
				 "export folded");
	struct export x;
	const char *events = a->filters.event_type.n ? NULL : "*";
	int status = open_export(a, events,
				 &(struct cam_wanted){.details = true, .addresses = true}, &x);
	return status ? status : close_export(&x, write_perf_script(a, &x));
}

int cam_cmd_export(const struct cam_verb *verb, int argc, char **argv)
{
	struct export_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "OUT",
		 "write here (.gz and .zst compress); default: standard output"},
		CAM_RANGE_OPTIONS(a.range),
		CAM_FILTER_OPTIONS(a.filters, "idle CPUs, too (the default)", "without them",
				   "only this event (folded: by default the first one met)"),
		{"annotate", 0, CAM_OPTION_OPTIONAL, &a.annotate, "kernel,jit,inline",
		 "folded: mark frames: _[k] _[j] _[i]; without a list kernel and jit"},
		{"with-pid", 0, CAM_OPTION_FLAG, &a.with_pid, NULL,
		 "folded: comm-pid as the first frame"},
		{"with-tid", 0, CAM_OPTION_FLAG, &a.with_tid, NULL, "folded: comm-pid/tid"},
		{"addrs", 0, CAM_OPTION_FLAG, &a.addrs, NULL,
		 "folded: addresses of frames without a name"},
		{"weight", 0, CAM_OPTION_TEXT, &a.weight, "samples|period",
		 "folded: what is counted (default: period in other tools' files, else samples)"},
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest != 1)
		return cam_usage("export needs one format: perfcam export folded, or perf-script");
	if (!strcmp(argv[0], "folded"))
		return export_folded(&a);
	if (!strcmp(argv[0], "perf-script"))
		return export_perf_script(&a);
	return cam_usage("export cannot write '%s'; it writes: folded, perf-script", argv[0]);
}
