// SPDX-License-Identifier: Apache-2.0
#include "cli/exporting.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "interop/csv_out.h"
#include "interop/firefox_out.h"
#include "interop/folded_diff.h"
#include "interop/folded_out.h"
#include "interop/json_out.h"
#include "interop/perf_data_out.h"
#include "interop/perf_script_out.h"
#include "interop/pprof_out.h"
#include "interop/speedscope_out.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FORMATS "folded, perf-script, pprof, speedscope, firefox, perf-data, csv, json"

struct export_arguments {
	struct cam_exporting_options what;
	const char *annotate, *weight, *symbols;
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

static int add_folded(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	return cam_folded_add_rows(to, w, rows);
}

/* What the reader of the lines must know: on stderr, since the lines are for programs. */
static int report_folded(const struct cam_folded_stats *st, const struct export_arguments *a)
{
	bool one_event = a->what.filters.event_type.n;
	if (!one_event && st->other.n && st->filtered && !st->two_columns)
		cam_note("only event %.*s; %llu samples of others (%.*s …) left out: --event-type",
			 (int)st->event.n, st->event.p, (unsigned long long)st->filtered,
			 (int)st->other.n, st->other.p);
	if (one_event && !st->counted && st->filtered)
		cam_note("no sample is of event %s; the first other is %.*s",
			 a->what.filters.event_type.values[0], (int)st->other.n, st->other.p);
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

/* Folded stacks that came in two columns: the second pass is of the other one. */
static int write_two_columns(struct cam_exporting *x, const struct cam_folded_options *o,
			     struct cam_folded *before)
{
	struct cam_buf text[2] = {CAM_BUF(SIZE_MAX / 4), CAM_BUF(SIZE_MAX / 4)};
	struct cam_folded_options other = *o;
	struct cam_folded *after = NULL;
	other.event_type = CAM_TEXT("after");
	int err = cam_folded_new(&other, &after);
	if (!err && cam_exporting_each(x, add_folded, after) == CAM_EXIT_FAILED)
		err = -EIO;
	for (int i = 0; i < 2 && !err; i++) {
		struct cam_out out;
		cam_out_to_buf(&out, &text[i]);
		err = cam_folded_write(i ? after : before, &out);
		err = err ? err : cam_out_finish(&out);
	}
	if (!err)
		err = cam_folded_diff_write(
			(struct cam_text){(const char *)text[0].data, text[0].len},
			(struct cam_text){(const char *)text[1].data, text[1].len},
			&(struct cam_folded_diff_options){0}, cam_output_stream(x->output));
	cam_folded_free(after);
	cam_buf_free(&text[0]);
	cam_buf_free(&text[1]);
	return err;
}

static int write_folded(const struct export_arguments *a, struct cam_exporting *x,
			const struct cam_folded_options *o)
{
	struct cam_folded *folded = NULL;
	int err = cam_folded_new(o, &folded);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	int worst = cam_exporting_each(x, add_folded, folded);
	if (worst != CAM_EXIT_FAILED) {
		struct cam_folded_stats st = cam_folded_stats(folded);
		st.two_columns &= !a->what.filters.event_type.n;
		err = st.two_columns ? write_two_columns(x, o, folded)
				     : cam_folded_write(folded, cam_output_stream(x->output));
		int reported = worst ? CAM_EXIT_OK : report_folded(&st, a);
		worst = worst ? worst : reported ? reported : cam_exporting_damage(&st.damage);
		if (err)
			worst = cam_failed("writing folded stacks: %s", cam_errno_words(err));
	}
	cam_folded_free(folded);
	return worst;
}

static int export_folded(const struct export_arguments *a)
{
	const struct cam_option_list *event = &a->what.filters.event_type;
	if (event->n > 1)
		return cam_usage("export folded counts one event; --event-type is given %zu times",
				 event->n);
	/* With wildcards the selection decides, and of what it takes the first event counts. */
	bool pattern = event->n && strpbrk(event->values[0], "*?[");
	struct cam_folded_options o = {
		.rules = {.with_pid = a->with_pid, .with_tid = a->with_tid, .addrs = a->addrs},
		.event_type = cam_text_of(event->n && !pattern ? event->values[0] : ""),
	};
	int status = parse_annotate(a->annotate, &o.rules);
	if (!status)
		status = parse_weight(a->weight, true, &o.weight);
	if (status)
		return status;
	struct cam_exporting x;
	/* Which event counts is the format's own rule. */
	status = cam_exporting_open(&a->what, pattern ? NULL : "*",
				    &(struct cam_wanted){.addresses = a->addrs}, &x);
	if (status)
		return status;
	parse_weight(a->weight, x.in.foreign, &o.weight);
	return cam_exporting_close(&x, write_folded(a, &x, &o));
}

static int new_perf_script(struct cam_out *out, struct cam_exporter **made)
{
	return cam_perf_script_out_new(out, &CAM_PERF_SCRIPT_EVERYTHING, made);
}

static const struct format {
	const char *name;
	int (*make)(struct cam_out *out, struct cam_exporter **made);
	const char *needs; /* what it is, said to those who give counts; NULL: it takes them */
	bool gzip;	   /* its files always are */
} formats[] = {
	{"perf-script", new_perf_script, "perf script text is one sample after the other", false},
	{"pprof", cam_pprof_out_new, NULL, true},
	{"speedscope", cam_speedscope_out_new, NULL, false},
	{"firefox", cam_firefox_out_new, "the Firefox Profiler shows samples in time", false},
	{"perf-data", cam_perf_data_out_new, "perf.data holds one sample after the other", false},
	{"csv", cam_csv_out_new, NULL, false},
	{"json", cam_json_out_new, NULL, false},
};

/* One file of the names, below the directory that was given. */
static int write_names(void *arg, const char *path, const void *bytes, size_t n)
{
	char whole[PATH_MAX];
	int length = snprintf(whole, sizeof(whole), "%s/%s", (const char *)arg, path);
	if (length < 0 || (size_t)length >= sizeof(whole))
		return -ENAMETOOLONG;
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int err = mkdir(whole, 0777) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	struct cam_output *output = cam_output_open(whole);
	if (!output)
		return CAM_EXIT_FAILED;
	cam_out_bytes(cam_output_stream(output), bytes, n);
	return cam_output_commit(output);
}

/* perf.data has no names in it; beside it there may be some. */
static int finish_perf_data(const struct export_arguments *a, struct cam_exporter *to)
{
	if (cam_perf_data_out_lacks_names(to))
		cam_note("perf will show no names of functions whose addresses the window did not "
			 "keep: --symbols DIR writes them for it");
	if (!a->symbols)
		return CAM_EXIT_OK;
	int err = cam_perf_data_out_names(to, write_names, (void *)a->symbols);
	if (err < 0)
		return cam_failed("%s: %s", a->symbols, cam_errno_words(err));
	if (!err)
		cam_note("with the names: perf --buildid-dir %s report -i %s", a->symbols,
			 a->what.out ? a->what.out : "-");
	return err;
}

static int export_format(const struct export_arguments *a, const struct format *f)
{
	bool perf_data = f->make == cam_perf_data_out_new;
	if (a->symbols && !perf_data)
		return cam_usage("--symbols is for export perf-data");
	if (a->annotate || a->weight || a->with_pid || a->with_tid || a->addrs)
		return cam_usage("--annotate, --with-pid, --with-tid, --addrs and --weight are for "
				 "export folded");
	struct cam_exporting x;
	struct cam_exporter *to = NULL;
	struct cam_exporting_options what = a->what;
	const char *events = what.filters.event_type.n ? NULL : "*";
	what.gzip = f->gzip;
	int status = cam_exporting_open(
		&what, events, &(struct cam_wanted){.details = true, .addresses = true}, &x);
	if (status)
		return status;
	int err = f->make(cam_output_stream(x.output), &to);
	uint64_t salt = 0;
	if (!err && a->symbols && getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
		err = -EIO;
	if (!err && a->symbols)
		cam_perf_data_out_named(to, salt);
	status = err ? cam_failed("%s", cam_errno_words(err))
		     : cam_exporting_write(&x, to, f->needs, NULL);
	if (perf_data && (status == CAM_EXIT_OK || status == CAM_EXIT_INCOMPLETE)) {
		int named = finish_perf_data(a, to);
		status = named ? named : status;
	}
	cam_exporter_free(to);
	return cam_exporting_close(&x, status);
}

int cam_cmd_export(const struct cam_verb *verb, int argc, char **argv)
{
	struct export_arguments a = {0};
	const struct cam_option options[] = {
		CAM_READING_OPTIONS(a.what.from),
		{"output", 'o', CAM_OPTION_TEXT, &a.what.out, "OUT",
		 "write here (.gz and .zst compress); default: standard output"},
		CAM_RANGE_OPTIONS(a.what.range),
		CAM_FILTER_OPTIONS(a.what.filters, "idle CPUs, too (the default)", "without them",
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
		{"symbols", 0, CAM_OPTION_TEXT, &a.symbols, "DIR",
		 "perf-data: our names, too, where perf finds them; says by which command"},
		{0},
	};
	int n_rest;
	bool done;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest < 1)
		return cam_usage("export needs one format: " FORMATS);
	if (n_rest > 2)
		return cam_usage("export takes a format and one time, window or quoted selection, "
				 "not also '%s'",
				 argv[2]);
	status = cam_picking_argument(n_rest > 1 ? argv[1] : NULL, &a.what.range, &a.what.filters);
	if (status)
		return status;
	if (!strcmp(argv[0], "folded") && a.symbols)
		return cam_usage("--symbols is for export perf-data");
	if (!strcmp(argv[0], "folded"))
		return export_folded(&a);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(argv[0], formats[i].name))
			return export_format(&a, &formats[i]);
	}
	return cam_usage("export cannot write '%s'; it writes: " FORMATS, argv[0]);
}
