// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "interop/folded_out.h"

#include <string.h>

struct folded_arguments {
	struct cam_reading_options from;
	const char *out, *annotate, *weight, *event_type;
	bool with_pid, with_tid, addrs;
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

static int fold_all(struct cam_reading *in, struct cam_folded *folded)
{
	int status = CAM_EXIT_OK;
	uint64_t lost = 0;
	size_t n = in->source->ops->count(in->source);
	for (size_t i = 0; i < n; i++) {
		struct cam_window *w;
		int err = in->source->ops->open(in->source, i, &w);
		if (!err) {
			err = cam_folded_add(folded, w, CAM_RANGE_ALL);
			lost += w->info.lost;
			w->ops->close(w);
		}
		if (err)
			status = cam_incomplete("window %zu of %zu: %s", i + 1, n,
						cam_errno_words(err));
	}
	/* What a text says of itself was said when it was read. */
	if (lost && in->stored)
		status = cam_incomplete(
			"%llu samples were lost before they could be kept (the ledger "
			"has them)",
			(unsigned long long)lost);
	return status;
}

/* What the reader of the lines must know: on stderr, since the lines are for programs. */
static int report(const struct cam_folded_stats *st, const struct folded_arguments *a)
{
	if (!a->event_type && st->other.n && st->filtered)
		cam_note("only event %.*s; %llu samples of others (%.*s …) left out: --event-type",
			 (int)st->event.n, st->event.p, (unsigned long long)st->filtered,
			 (int)st->other.n, st->other.p);
	if (a->event_type && !st->counted && st->filtered)
		cam_note("no sample is of event %s; the first other is %.*s", a->event_type,
			 (int)st->other.n, st->other.p);
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
	if (st->damage.chunks)
		return cam_incomplete("%llu damaged chunks: %llu samples are missing, %llu are "
				      "under [damaged]",
				      (unsigned long long)st->damage.chunks,
				      (unsigned long long)st->damage.samples,
				      (unsigned long long)st->damage.stacks);
	return CAM_EXIT_OK;
}

static int export_folded(const struct folded_arguments *a)
{
	struct cam_folded_options o = {
		.rules = {.with_pid = a->with_pid, .with_tid = a->with_tid, .addrs = a->addrs},
		.event_type = cam_text_of(a->event_type ? a->event_type : ""),
	};
	int status = parse_annotate(a->annotate, &o.rules);
	if (!status)
		status = parse_weight(a->weight, true, &o.weight);
	if (status)
		return status;
	struct cam_reading_options from = a->from;
	from.want.addresses = a->addrs;
	struct cam_reading in;
	status = cam_reading_open(&from, &in);
	if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE)
		return status;
	parse_weight(a->weight, in.foreign, &o.weight);
	struct cam_folded *folded = NULL;
	struct cam_output *output = cam_output_open(a->out);
	int err = output ? cam_folded_new(&o, &folded) : 0;
	if (!output || err) {
		if (output)
			cam_output_abandon(output);
		cam_reading_close(&in);
		return err ? cam_failed("%s", cam_errno_words(err)) : CAM_EXIT_FAILED;
	}
	int worst = fold_all(&in, folded);
	err = cam_folded_write(folded, cam_output_stream(output));
	struct cam_folded_stats st = cam_folded_stats(folded);
	if (worst == CAM_EXIT_OK)
		worst = report(&st, a);
	if (err) {
		cam_output_abandon(output);
		worst = cam_failed("writing folded stacks: %s", cam_errno_words(err));
	} else if (cam_output_commit(output)) {
		worst = CAM_EXIT_FAILED;
	}
	cam_folded_free(folded);
	cam_reading_close(&in);
	return worst != CAM_EXIT_OK ? worst : status;
}

int cam_cmd_export(const struct cam_verb *verb, int argc, char **argv)
{
	struct folded_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "OUT",
		 "write here (.gz and .zst compress); default: standard output"},
		{"annotate", 0, CAM_OPTION_OPTIONAL, &a.annotate, "kernel,jit,inline",
		 "mark frames: _[k] _[j] _[i]; without a list kernel and jit"},
		{"with-pid", 0, CAM_OPTION_FLAG, &a.with_pid, NULL, "comm-pid as the first frame"},
		{"with-tid", 0, CAM_OPTION_FLAG, &a.with_tid, NULL, "comm-pid/tid"},
		{"addrs", 0, CAM_OPTION_FLAG, &a.addrs, NULL, "addresses of frames without a name"},
		{"weight", 0, CAM_OPTION_TEXT, &a.weight, "samples|period",
		 "what is counted (default: period in other tools' files, else samples)"},
		{"event-type", 0, CAM_OPTION_TEXT, &a.event_type, "EV",
		 "only this event (default: the first one met)"},
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest != 1)
		return cam_usage("export needs one format: perfcam export folded");
	if (strcmp(argv[0], "folded") != 0)
		return cam_usage("export cannot write '%s'; it writes: folded", argv[0]);
	return export_folded(&a);
}
