// SPDX-License-Identifier: Apache-2.0
#include "cli/exporting.h"
#include "cli/flame_show.h"
#include "cli/heading.h"
#include "cli/progress_bar.h"
#include "cli/reshaping.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "interop/folded_diff.h"
#include "interop/folded_out.h"
#include "query/diff.h"
#include "query/flame.h"
#include "query/flame_pair.h"
#include "render/text_diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct diff_arguments {
	struct cam_filter_options filters;
	struct cam_reshape_options shape; /* what stands below the root of a picture is the comm */
	const char *store, *out, *normalise, *by, *sort, *fail_above, *title;
	unsigned limit, width;
	bool flip, elided, folded, same_total, strip_hex, all, json;
	/* Made of them. */
	struct cam_diff_options query;
	struct cam_reshape table; /* the shape, as far as a table can have it */
	double most_growth;	  /* part of A's total; negative: any */
};

/* A or B: what it is called, where it comes from. */
struct side {
	const char *name;
	struct cam_exporting x; /* source and selection */
	bool open;
};

static const char *const sorts[] = {"change", "growth", "shrink", "before",
				    "after",  "share",	"p",	  "name"};
enum sort { BY_CHANGE, BY_GROWTH, BY_SHRINK, BY_BEFORE, BY_AFTER, BY_SHARE, BY_P, BY_NAME };
#define N_SORTS (sizeof(sorts) / sizeof(sorts[0]))

static int word_of(const char *option, const char *given, const char *const *words, size_t n,
		   unsigned *out)
{
	char list[128] = "";
	*out = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!given || !strcmp(given, words[i])) {
			*out = i;
			return CAM_EXIT_OK;
		}
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
	}
	return cam_usage("%s takes one of %s, not '%s'", option, list, given);
}

/* "5%", "0.5 %", "5": of A's total. */
static int find_limit(struct diff_arguments *a)
{
	char *end;
	a->most_growth = -1;
	if (!a->fail_above)
		return CAM_EXIT_OK;
	double percent = strtod(a->fail_above, &end);
	while (*end == ' ')
		end++;
	if (end == a->fail_above || (strcmp(end, "%") != 0 && *end) || !(percent >= 0) ||
	    isinf(percent))
		return cam_usage("--fail-above: '%s' is no share; try 5%%", a->fail_above);
	a->most_growth = percent / 100;
	return CAM_EXIT_OK;
}

static int check(struct diff_arguments *a, unsigned *sort)
{
	static const char *const scales[] = {"time", "total", "none"};
	static const char *const bys[] = {"self", "total"};
	unsigned scale, by;
	int status = word_of("--normalise", a->normalise, scales, 3, &scale);
	if (!status)
		status = word_of("--by", a->by, bys, 2, &by);
	if (!status)
		status = word_of("--sort", a->sort, sorts, N_SORTS, sort);
	if (!status)
		status = find_limit(a);
	if (status)
		return status;
	a->query.scale = (enum cam_diff_scale)scale;
	a->query.self = by == 0;
	struct cam_reshape *shape = &a->table;
	struct cam_flame_options build = {0};
	status = cam_reshaping_resolve(&a->shape, shape, &build);
	if (status)
		return status;
	/* A table has no leaves to merge from, and no build-ids. */
	bool drawn_group = shape->group == CAM_GROUP_LEAF_PACKAGE || build.builds;
	bool drawn = drawn_group || shape->reverse;
	if (drawn_group)
		shape->group = CAM_GROUP_NONE;
	shape->reverse = false;
	a->query.shape = shape;
	if ((a->flip || a->elided || a->title || a->width || drawn) && !a->out)
		return cam_usage("--flip, --elided, --title, --width, --reverse, --group "
				 "leaf-package and build-id are of a picture: -o X.svg");
	if ((a->same_total || a->strip_hex) && !a->folded)
		return cam_usage("-n and -s are of --folded; a table has --normalise");
	if (a->folded && (a->json || a->fail_above || a->flip || a->elided || drawn ||
			  cam_reshape_is_any(shape)))
		return cam_usage("--folded prints stacks, and nothing else");
	if (a->out && !a->folded &&
	    (cam_output_is_foreign(a->out) || cam_text_ends(cam_text_of(a->out), CAM_TEXT(".png"))))
		return cam_usage("diff draws .svg and .html (.json, .txt), not '%s'", a->out);
	if (a->width && (a->width < 200 || a->width > 20000))
		return cam_usage("--width takes 200 to 20000 pixels, not %u", a->width);
	return CAM_EXIT_OK;
}

/* A file, if there is one of that name; else a selection of the store, in words. */
static int open_side(const struct diff_arguments *a, struct side *s)
{
	struct cam_selection *selection = &s->x.selection;
	bool file = !strcmp(s->name, "-") || access(s->name, F_OK) == 0;
	struct cam_reading_options from = {.file = file ? s->name : NULL, .store = a->store};
	const struct cam_range_options always = {0};
	char why[CAM_WHEN_WHY_BYTES];
	int status = cam_picking_select(&always, &a->filters, selection);
	s->open = true;
	if (status)
		return status;
	int err = file ? 0 : cam_selection_read(selection, cam_text_of(s->name), why, sizeof(why));
	if (err)
		return cam_refused(err, "'%s' is no file, and no selection: %s", s->name, why);
	/* Which event of several is folded is the format's own rule. */
	if (a->folded && !a->filters.event_type.n &&
	    cam_selection_add(selection, CAM_FILTER_ETYPE, CAM_TEXT("*"), why, sizeof(why)))
		return cam_failed("'%s': %s", s->name, why);
	err = cam_selection_check(selection, why, sizeof(why));
	if (err)
		return cam_refused(err, "'%s': %s", s->name, why);
	s->x.read_status = cam_reading_open(&from, &s->x.in);
	if (s->x.read_status != CAM_EXIT_OK && s->x.read_status != CAM_EXIT_INCOMPLETE)
		return s->x.read_status;
	return cam_picking_settle(selection, &s->x.in);
}

static void close_side(struct side *s)
{
	if (!s->open)
		return;
	if (s->x.in.source)
		cam_reading_close(&s->x.in);
	cam_selection_free(&s->x.selection);
}

static int add_folded(void *to, struct cam_window *w, const struct cam_row_filter *rows)
{
	return cam_folded_add_rows(to, w, rows);
}

static int fold_side(struct side *s, struct cam_buf *text)
{
	struct cam_folded_options o = {.weight = s->x.in.foreign ? CAM_FOLDED_PERIOD
								 : CAM_FOLDED_SAMPLES};
	struct cam_folded *folded = NULL;
	struct cam_out out;
	int err = cam_folded_new(&o, &folded);
	if (err)
		return cam_failed("%s", cam_errno_words(err));
	int status = cam_exporting_each(&s->x, add_folded, folded);
	cam_out_to_buf(&out, text);
	if (status != CAM_EXIT_FAILED) {
		err = cam_folded_write(folded, &out);
		if (!err)
			err = cam_out_finish(&out);
	}
	cam_folded_free(folded);
	return err ? cam_failed("folded stacks: %s", cam_errno_words(err)) : status;
}

static int print_folded(const struct diff_arguments *a, struct side sides[2])
{
	struct cam_buf text[2] = {CAM_BUF(SIZE_MAX / 4), CAM_BUF(SIZE_MAX / 4)};
	const struct cam_folded_diff_options o = {a->same_total, a->strip_hex};
	int status = CAM_EXIT_OK;
	for (int i = 0; i < 2 && status != CAM_EXIT_FAILED; i++) {
		int one = fold_side(&sides[i], &text[i]);
		status = one ? one : status;
	}
	struct cam_output *output = status == CAM_EXIT_FAILED ? NULL : cam_output_open(a->out);
	if (output) {
		int err = cam_folded_diff_write(
			(struct cam_text){(const char *)text[0].data, text[0].len},
			(struct cam_text){(const char *)text[1].data, text[1].len}, &o,
			cam_output_stream(output));
		int written =
			err ? cam_failed("%s", cam_errno_words(err)) : cam_output_commit(output);
		if (err)
			cam_output_abandon(output);
		status = written ? written : status;
	} else {
		status = CAM_EXIT_FAILED;
	}
	cam_buf_free(&text[0]);
	cam_buf_free(&text[1]);
	return status;
}

struct order {
	const struct cam_diff *d;
	enum sort by;
};

/* Larger comes first. */
static double key_of(const struct order *o, const struct cam_diff_row *r)
{
	double change = cam_diff_growth(&r->amount);
	switch (o->by) {
	case BY_CHANGE:
		return fabs(change);
	case BY_GROWTH:
		return change;
	case BY_SHRINK:
		return -change;
	case BY_BEFORE:
		return r->amount.before;
	case BY_AFTER:
		return r->amount.after;
	case BY_SHARE:
		return fabs(cam_diff_growth(&r->share));
	case BY_P:
		return -r->p;
	case BY_NAME:
		break;
	}
	return 0;
}

static int by_key(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	double a = key_of(o, &o->d->rows[i]), b = key_of(o, &o->d->rows[j]);
	/* Rows are in order of names already. */
	return a > b ? -1 : a < b ? 1 : i < j ? -1 : i > j;
}

/* Whether how sure a change is can be said. */
static bool has_intervals(const struct cam_diff *d)
{
	return d->sides[0].stretches >= 4 && d->sides[1].stretches >= 4;
}

static int print_table(const struct diff_arguments *a, enum sort sort, const struct cam_diff *d,
		       struct side sides[2])
{
	struct order order = {d, sort};
	struct cam_terminal terminal;
	uint32_t *rows = calloc(d->n_rows + 1, sizeof(*rows));
	struct cam_diff_table t = {.diff = d, .rows = rows};
	if (!rows)
		return cam_failed("out of memory");
	bool every = a->all || !has_intervals(d);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		if (every || d->rows[i].significant)
			rows[t.n_rows++] = i;
	}
	t.n_hidden = d->n_rows - t.n_rows;
	if (sort != BY_NAME)
		qsort_r(rows, t.n_rows, sizeof(*rows), by_key, &order);
	size_t limit = a->limit ? a->limit : a->json ? d->n_rows : 20;
	t.n_rows = t.n_rows < limit ? t.n_rows : limit;
	t.names[0] = cam_text_of(sides[0].name);
	t.names[1] = cam_text_of(sides[1].name);
	cam_terminal_ask("never", &terminal);
	t.columns = terminal.columns;
	struct cam_out out;
	cam_out_to_fd(&out, STDOUT_FILENO);
	int err = a->json ? cam_json_diff_write(&t, &out) : cam_text_diff_write(&t, &out);
	if (!err)
		err = cam_out_finish(&out);
	free(rows);
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

static int build_flame(const struct diff_arguments *a, struct side *s, struct cam_flame *f)
{
	struct cam_flame_options o = {.weight = CAM_WEIGHT_SAMPLES};
	struct cam_reshape shape;
	int status = cam_reshaping_resolve(&a->shape, &shape, &o), err = 0;
	if (!status)
		err = cam_flame_build(s->x.in.source, &s->x.selection, &o, f);
	if (!status && !err && cam_reshape_is_any(&shape))
		err = cam_reshape_apply(&shape, f, NULL);
	cam_reshape_free(&shape);
	if (status)
		return status;
	return err ? cam_failed("%s: flame graph: %s", s->name, cam_errno_words(err)) : CAM_EXIT_OK;
}

static int write_picture(const struct diff_arguments *a, const struct cam_flame *f)
{
	const char *title = a->elided ? (a->flip ? "Only in B" : "Only in A")
			    : a->flip ? "A, by what became of it in B"
				      : "B, by its change against A";
	struct cam_flame_show show = {
		.form = cam_flame_form_of(a->out),
		.path = a->out,
		.quiet = a->json,
		.svg = {.title = cam_text_of(a->title ? a->title : title),
			.subtitle = cam_text_of(
				a->flip && !a->elided
					? "widths are A's; red: A had less, so it grew; blue: A had more"
					: ""),
			.width = a->width,
			.negate = a->flip},
	};
	int status = cam_terminal_ask("never", &show.terminal);
	return status ? status : cam_flame_show(&show, f);
}

static int draw(const struct diff_arguments *a, const struct cam_diff *d, struct side sides[2])
{
	struct cam_flame one = {0}, two = {0}, pair = {0};
	if (!a->out)
		return CAM_EXIT_OK;
	int status = build_flame(a, &sides[0], &one);
	if (!status)
		status = build_flame(a, &sides[1], &two);
	if (!status) {
		/* Widths are the second one's: flipped, A's; what is before is scaled to it. */
		const struct cam_flame *before = a->flip ? &two : &one;
		const struct cam_flame *after = a->flip ? &one : &two;
		double factor = a->elided ? 1 : a->flip ? 1 / d->factor : d->factor;
		int err = cam_flame_pair(before, after, factor,
					 a->elided ? CAM_PAIR_ELIDED : CAM_PAIR_DIFFERENTIAL, 0,
					 &pair);
		status = err ? cam_failed("flame graph: %s", cam_errno_words(err))
			     : write_picture(a, &pair);
	}
	cam_flame_free(&one);
	cam_flame_free(&two);
	cam_flame_free(&pair);
	return status;
}

/* What must be known before any of it is believed. */
static void warn(const struct cam_diff *d)
{
	const struct cam_diff_side *a = &d->sides[0], *b = &d->sides[1];
	if (d->other_event)
		cam_note("A was sampled by %s, B by %s: they count different things", a->event,
			 b->event);
	else if (d->other_rate)
		cam_note("A was sampled at %.0f Hz, B at %.0f Hz: amounts are CPU-seconds of "
			 "either, but the rarer one sees less",
			 a->hz, b->hz);
}

/*
 * Whether a growth counts. Without times nobody knows how much counts vary: then it does if even samples that know nothing of
 * each other would not vary so much (three standard errors). That finds too much rather than nothing, and is said.
 */
static bool is_growth(const struct cam_diff *d, const struct cam_diff_row *r)
{
	double before = (double)r->samples_before, after = (double)r->samples_after;
	if (has_intervals(d))
		return r->significant;
	double change = after - before * d->factor;
	return before + after >= 10 && change > 0 &&
	       change * change > 9 * (after + d->factor * d->factor * before);
}

static int judge_growth(const struct diff_arguments *a, const struct cam_diff *d)
{
	double total = d->all.amount.before;
	size_t n = 0;
	const struct cam_diff_row *worst = NULL;
	for (size_t i = 0; i <= d->n_rows && a->most_growth >= 0; i++) {
		const struct cam_diff_row *r = i < d->n_rows ? &d->rows[i] : &d->all;
		double growth = cam_diff_growth(&r->amount);
		if (!is_growth(d, r) || !(growth > a->most_growth * total))
			continue;
		n++;
		worst = worst && cam_diff_growth(&worst->amount) >= growth ? worst : r;
	}
	if (!worst)
		return CAM_EXIT_OK;
	struct cam_text name =
		worst == &d->all ? CAM_TEXT("everything together") : cam_diff_name(d, worst);
	return cam_failed("%zu grew by more than %s of A's total; most of all %.*s: +%.1f %%%s", n,
			  a->fail_above, (int)name.n, name.p,
			  100 * cam_diff_growth(&worst->amount) / total,
			  has_intervals(d) ? ""
					   : " (there are no times, or less than 400 ms of them: "
					     "each sample was taken for one of its own)");
}

static int judge_seen(const struct cam_diff *d)
{
	int first = cam_heading_judge(&d->sides[0].seen);
	int second = cam_heading_judge(&d->sides[1].seen);
	return first ? first : second;
}

static int compare(const struct diff_arguments *a, enum sort sort, struct side sides[2])
{
	struct cam_diff d;
	const struct cam_diff_input in[2] = {{sides[0].x.in.source, &sides[0].x.selection},
					     {sides[1].x.in.source, &sides[1].x.selection}};
	struct cam_progress_bar bar;
	struct cam_diff_options query = a->query;
	cam_progress_bar_init(&bar);
	query.progress = &bar.progress;
	int err = cam_diff_build(&in[0], &in[1], &query, &d);
	cam_progress_bar_end(&bar);
	if (err == -ENODATA)
		return cam_failed("nothing to compare: no samples in %s or in %s", sides[0].name,
				  sides[1].name);
	if (err)
		return cam_failed("diff: %s", cam_errno_words(err));
	warn(&d);
	int status = draw(a, &d, sides);
	if (!status)
		status = print_table(a, sort, &d, sides);
	if (!status)
		status = judge_growth(a, &d);
	if (!status)
		status = judge_seen(&d);
	cam_diff_free(&d);
	return status;
}

int cam_cmd_diff(const struct cam_verb *verb, int argc, char **argv)
{
	struct diff_arguments a = {0};
	const struct cam_option options[] = {
		{"store", 0, CAM_OPTION_TEXT, &a.store, "DIR", "the store that selections are of"},
		{"output", 'o', CAM_OPTION_TEXT, &a.out, "X.svg|X.html",
		 "a differential flame graph, too; its path is printed"},
		{"flip", 0, CAM_OPTION_FLAG, &a.flip, NULL,
		 "widths are A's, not B's; red is still what grew"},
		{"elided", 0, CAM_OPTION_FLAG, &a.elided, NULL,
		 "only what A has and B has not; with --flip the other way round"},
		{"normalise", 0, CAM_OPTION_TEXT, &a.normalise, "time|total|none",
		 "A as if it had lasted as long as B (default), or had as much, or as it is"},
		{"by", 0, CAM_OPTION_TEXT, &a.by, "self|total",
		 "functions by themselves (default), or with all that they call"},
		{"sort", 0, CAM_OPTION_TEXT, &a.sort, "KEY",
		 "change growth shrink before after share p name"},
		{"limit", 0, CAM_OPTION_COUNT, &a.limit, "N", "rows (default: 20; JSON: all)"},
		{"all", 0, CAM_OPTION_FLAG, &a.all, NULL, "also changes that may be chance"},
		{"fail-above", 0, CAM_OPTION_TEXT, &a.fail_above, "5%",
		 "exit 1 if anything grew significantly, by more than this of A's total"},
		{"folded", 0, CAM_OPTION_FLAG, &a.folded, NULL,
		 "stacks with two columns, as difffolded.pl prints them"},
		{"same-total", 'n', CAM_OPTION_FLAG, &a.same_total, NULL,
		 "of --folded: A scaled to B's total"},
		{"strip-hex", 's', CAM_OPTION_FLAG, &a.strip_hex, NULL,
		 "of --folded: addresses as 0x..."},
		{"title", 0, CAM_OPTION_TEXT, &a.title, "TEXT", "above the picture"},
		{"width", 0, CAM_OPTION_COUNT, &a.width, "PX", "of the picture (default: 1200)"},
		{"json", 0, CAM_OPTION_FLAG, &a.json, NULL, "the table as JSON"},
		CAM_OPTION_TITLE("Which samples:"),
		CAM_FILTER_OPTIONS(a.filters, "idle CPUs, too", "without them (the default)",
				   "only this event (default: the first one met; * is all)"),
		CAM_OPTION_TITLE("Which frames, of table and picture (of this alone: --reverse):"),
		CAM_RESHAPE_FRAME_OPTIONS(a.shape),
		{0},
	};
	int n_rest;
	bool done;
	unsigned sort;
	int status = cam_options_parse(verb, options, argc, argv, &n_rest, &done);
	if (done)
		return status;
	if (n_rest != 2)
		return cam_usage("diff compares two: files, or quoted selections "
				 "(diff '--at 03:14' '--at 02:14')");
	struct side sides[2] = {{.name = argv[0]}, {.name = argv[1]}};
	status = check(&a, &sort);
	if (!status)
		status = open_side(&a, &sides[0]);
	if (!status)
		status = open_side(&a, &sides[1]);
	if (!status)
		status = a.folded ? print_folded(&a, sides) : compare(&a, (enum sort)sort, sides);
	for (int i = 0; i < 2; i++) {
		if (!status && sides[i].x.read_status)
			status = sides[i].x.read_status;
		close_side(&sides[i]);
	}
	cam_reshape_free(&a.table);
	return status;
}
