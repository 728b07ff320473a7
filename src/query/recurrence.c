// SPDX-License-Identifier: Apache-2.0
/*
 * What precedes an event that recurs.
 *
 * A name (all its processes together) is high in a moment where its samples of 10 s are among the highest of
 * its own history, and 10 more than the mean: the highest 5 %, or, where the events themselves take up more of the time
 * than that, half as much again as they do. Were it nothing to do with the events, it would be high before each
 * with the chance that it is high at any time; so the number of events that it was high before is binomial, and its
 * upper tail is the chance of what was seen. That is multiplied by the number of names that were tried.
 *
 * Functions, and paths through the kernel, in the same way, where stacks were read: in the windows of the events, and in others as
 * far as that goes. They and the names are two families, so each chance counts twice; and all functions that ever had 10 samples in
 * 10 s were tried, also those that the events alone say are not before them. A function that is high before the same events as
 * a process is told with it; one that no process explains is told by itself.
 *
 * The profile is the mean over the events, second by second, from 120 s before to 30 s after: where it is highest
 * says how long before the event it comes.
 *
 * Invariants: 1. An event without 10 observed seconds before it is not used, and counted. 2. Events that are used
 * are 10 s apart: of a burst the first. What comes before a burst of 12 lines comes before one event, not before 12.
 *
 * Example: 12 resets, kubelet high before 11 of them, in 5 % of all moments: 12 × 0.05^11 × 0.95 + 0.05^12 = 6e-14.
 */
#include "query/recurrence.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/event_list.h"
#include "query/why.h"
#include "query/why_history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR	    CAM_RECURRENCE_NEAR_S
#define HIGH	    0.05 /* share of a history that counts as high */
#define MOST_HIGH   0.5
#define LEAST	    10.0 /* samples above the mean */
#define SIGNIFICANT 0.05
#define MAX_EVENTS  4096u
#define FEWEST	    3u /* events that a function must be before: or it is not looked at */
#define SAME_TENTHS 8u /* of the events that either is before: then they are told together */
#define MAX_SUM	    (1u << 22)

struct event {
	uint32_t at;	 /* second of the axis */
	uint32_t number; /* of those that are used */
	uint64_t id;
};

/* A row, and the events that it was high before, as bits. */
struct found {
	struct cam_recurrence_row row;
	uint64_t high[MAX_EVENTS / 64];
};

struct build {
	const struct cam_recurrence_options *o;
	struct cam_recurrence *out;
	struct cam_why_history h;
	struct event *events;
	int64_t *times; /* of all events that match, wall clock */
	size_t n_events, n_times;
	struct found *found;
	size_t n_found, cap_found;
	uint32_t *order;
	uint32_t *v;	/* samples of the name or function, by second */
	uint32_t *sums; /* over the 10 s that end with a second; UINT32_MAX: not observed */
	uint32_t *with; /* how many sums have a value */
	size_t cap_with, n_sums;
	uint32_t most;	 /* the largest */
	uint8_t need;	 /* flags of seconds that count */
	uint64_t *tried; /* counts who could be high; NULL: they are counted already */
	uint64_t stacked[MAX_EVENTS / 64]; /* events whose stacks were read */
};

static double tail(uint64_t n, uint64_t k, double p)
{
	double sum = 0;
	for (uint64_t i = k; i <= n; i++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) -
			   lgamma((double)(n - i) + 1) + (double)i * log(p) +
			   (double)(n - i) * log1p(-p));
	return sum < 1 ? sum : 1;
}

/* The second of the axis that holds a wall time. */
static uint32_t second_at(const struct cam_why_axis *a, int64_t wall_ns)
{
	uint32_t best = CAM_WHY_NOWHERE;
	/* Windows have clocks of their own: between two of them a few milliseconds may be missing. */
	for (uint32_t t = 0; t < a->n; t++) {
		if (a->wall_ns[t] != INT64_MIN && wall_ns >= a->wall_ns[t] &&
		    wall_ns - a->wall_ns[t] < (int64_t)(CAM_NS_PER_SEC + CAM_NS_PER_SEC / 2))
			best = t;
	}
	return best;
}

static bool seen_before(const struct cam_why_axis *a, uint8_t need, uint32_t at)
{
	if (at + 1 < NEAR)
		return false;
	for (uint32_t t = at + 1 - NEAR; t <= at; t++) {
		if ((a->flags[t] & need) != need)
			return false;
	}
	return true;
}

static int by_second(const void *x, const void *y)
{
	const struct event *a = x, *b = y;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void keep_apart(struct build *b)
{
	size_t n = 0;
	qsort(b->events, b->n_events, sizeof(*b->events), by_second);
	for (size_t i = 0; i < b->n_events; i++)
		if (!n || b->events[i].at >= b->events[n - 1].at + NEAR)
			b->events[n++] = b->events[i];
	b->n_events = n;
	for (uint32_t i = 0; i < n; i++)
		b->events[i].number = i;
}

static int list_events(struct build *b, struct cam_source *source, const struct cam_selection *s,
		       struct cam_event_list *list)
{
	struct cam_event_list_options o = {
		.most = MAX_EVENTS, .least = CAM_SEVERITY_DEBUG, .match = b->o->match};
	int err = cam_event_list_build(source, s, &o, list);
	if (err)
		return err;
	b->out->events = list->n_all;
	b->times = calloc(list->n + 1, sizeof(*b->times));
	for (size_t i = 0; i < list->n && b->times; i++)
		b->times[i] = list->events[i].wall_ns;
	b->n_times = list->n;
	return b->times ? 0 : -ENOMEM;
}

static int place_events(struct build *b, const struct cam_event_list *list)
{
	b->events = calloc(list->n + 1, sizeof(*b->events));
	if (!b->events)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++) {
		uint32_t at = second_at(&b->h.axis, list->events[i].wall_ns);
		if (at != CAM_WHY_NOWHERE && seen_before(&b->h.axis, CAM_WHY_SEEN, at))
			b->events[b->n_events++] =
				(struct event){.at = at, .id = list->events[i].id};
	}
	keep_apart(b);
	b->out->used = b->n_events;
	return 0;
}

/* Those whose stacks were read. */
static void keep_with_stacks(struct build *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n_events; i++) {
		const struct event *e = &b->events[i];
		if (!seen_before(&b->h.axis, b->need, e->at))
			continue;
		b->stacked[e->number / 64] |= 1ull << e->number % 64;
		b->events[n++] = *e;
	}
	b->n_events = n;
}

static int sum_up(struct build *b)
{
	const struct cam_why_axis *a = &b->h.axis;
	uint32_t whole = 0, sum = 0;
	int err = 0;
	b->n_sums = 0;
	b->most = 0;
	for (uint32_t t = 0; t < a->n; t++) {
		bool seen = (a->flags[t] & b->need) == b->need;
		whole = seen ? whole + 1 : 0;
		sum = seen ? sum + b->v[t] : 0;
		if (whole > NEAR)
			sum -= b->v[t - NEAR];
		b->sums[t] = whole < NEAR ? UINT32_MAX : sum < MAX_SUM ? sum : MAX_SUM;
		if (whole >= NEAR && b->sums[t] > b->most)
			b->most = b->sums[t];
	}
	err = cam_vec_reserve(&b->with, &b->cap_with, (size_t)b->most + 1, sizeof(*b->with),
			      MAX_SUM + 1);
	if (err)
		return err;
	memset(b->with, 0, ((size_t)b->most + 1) * sizeof(*b->with));
	for (uint32_t t = 0; t < a->n; t++) {
		if (b->sums[t] == UINT32_MAX)
			continue;
		b->with[b->sums[t]]++;
		b->n_sums++;
	}
	return 0;
}

/* The value that so many sums are below. */
static uint32_t level_above(const struct build *b, size_t below)
{
	uint32_t level = 0;
	for (size_t n = b->with[0]; n <= below && level < b->most; n += b->with[level])
		level++;
	return level;
}

static void fill_profile(const struct build *b, struct cam_recurrence_row *row)
{
	const struct cam_why_axis *a = &b->h.axis;
	double best = -1;
	for (uint32_t k = 0; k < CAM_RECURRENCE_LENGTH; k++) {
		uint64_t sum = 0, n = 0;
		for (size_t i = 0; i < b->n_events; i++) {
			int64_t t = (int64_t)b->events[i].at + k - CAM_RECURRENCE_BEFORE_S;
			if (t < 0 || t >= a->n || (a->flags[t] & b->need) != b->need)
				continue;
			sum += b->v[t];
			n++;
		}
		row->profile[k] = n ? (float)((double)sum / (double)n) : 0;
		if (row->profile[k] > best) {
			best = row->profile[k];
			row->lag_s = (int32_t)k - (int32_t)CAM_RECURRENCE_BEFORE_S;
		}
	}
}

/* b->v is the row's. */
static int judge_row(struct build *b, struct cam_recurrence_row row)
{
	struct found f = {.row = row};
	uint64_t high = 0, most = 0;
	double all = 0, before = 0;
	int err = sum_up(b);
	if (err || !b->n_sums)
		return err;
	for (uint32_t i = 1; i <= b->most; i++)
		all += (double)i * b->with[i];
	f.row.expected = all / (double)b->n_sums;
	f.row.of = (uint32_t)b->n_events;
	double share = fmax(HIGH, 1.5 * (double)b->n_events * NEAR / (double)b->n_sums);
	uint32_t level = level_above(b, (size_t)((1 - fmin(share, MOST_HIGH)) * (double)b->n_sums));
	if (level < f.row.expected + LEAST)
		level = (uint32_t)(f.row.expected + LEAST) + 1;
	if (b->most < level)
		return 0;
	for (uint32_t i = level; i <= b->most; i++)
		high += b->with[i];
	for (size_t i = 0; i < b->n_events; i++) {
		uint32_t sum = b->sums[b->events[i].at];
		before += sum;
		f.row.before += sum >= level;
		uint32_t number = b->events[i].number;
		f.high[number / 64] |= (uint64_t)(sum >= level) << number % 64;
		if (sum > most) {
			most = sum;
			f.row.event = b->events[i].id;
		}
	}
	if (b->tried)
		++*b->tried;
	f.row.usually = (double)high / (double)b->n_sums;
	f.row.mean = before / (double)b->n_events;
	f.row.p = tail(b->n_events, f.row.before, f.row.usually);
	/* Kept by the chance alone for now: how many are tried is known at the end. */
	if (f.row.p > SIGNIFICANT)
		return 0;
	fill_profile(b, &f.row);
	err = cam_vec_reserve(&b->found, &b->cap_found, b->n_found + 1, sizeof(f), CAM_MAX_ROWS);
	if (!err)
		b->found[b->n_found++] = f;
	return err;
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct cam_why_process *p = arg;
	uint32_t a = p[*(const uint32_t *)x].name, b = p[*(const uint32_t *)y].name;
	return a < b ? -1 : a > b;
}

static int judge_names(struct build *b)
{
	size_t n = b->h.n_processes;
	const struct cam_why_process *p = b->h.processes;
	uint32_t *starts;
	int err = cam_why_cells_sort(&b->h.by_process, n, &starts);
	if (err)
		return err;
	b->need = CAM_WHY_SEEN;
	b->tried = &b->out->tried;
	for (uint32_t i = 0; i < n; i++)
		b->order[i] = i;
	qsort_r(b->order, n, sizeof(*b->order), by_name, b->h.processes);
	for (size_t i = 0; i < n && !err;) {
		uint32_t name = p[b->order[i]].name;
		memset(b->v, 0, (b->h.axis.n + 1) * sizeof(*b->v));
		for (; i < n && p[b->order[i]].name == name; i++) {
			uint32_t of = b->order[i];
			for (uint32_t k = starts[of]; k < starts[of + 1]; k++)
				b->v[b->h.by_process.v[k].at] += b->h.by_process.v[k].n;
		}
		err = judge_row(b, (struct cam_recurrence_row){.process = {NULL, name}});
	}
	free(starts);
	return err;
}

/* Before how many events it had enough to be high, whatever its history: most functions are out by that. near: by second, event + 1. */
static bool may_precede(const struct build *b, const struct cam_why_cell *c, size_t n,
			const uint16_t *near, uint32_t *sums)
{
	uint32_t enough = 0;
	for (size_t i = 0; i < n; i++) {
		uint16_t event = near[c[i].at];
		if (!event)
			continue;
		bool was = sums[event] >= (uint32_t)LEAST;
		sums[event] += c[i].n;
		enough += !was && sums[event] >= (uint32_t)LEAST;
	}
	for (size_t i = 0; i < n; i++)
		sums[near[c[i].at]] = 0;
	return enough >= (b->n_events < FEWEST ? b->n_events : FEWEST);
}

/* Whether it had enough to be high at any time. b->v is the function's. */
static bool may_be_high(const struct build *b, const struct cam_why_cell *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t at = c[i].at, from = at < NEAR ? 0 : at + 1 - NEAR;
		uint64_t sum = 0;
		for (uint32_t t = from; t <= at; t++)
			sum += b->v[t];
		if (sum >= (uint64_t)LEAST)
			return true;
	}
	return false;
}

static struct cam_recurrence_row row_of(const struct cam_why_function *f)
{
	if (!f->leaf)
		return (struct cam_recurrence_row){.kind = CAM_BEFORE_FUNCTION,
						   .function = {NULL, f->name}};
	return (struct cam_recurrence_row){
		.kind = CAM_BEFORE_PATH, .function = {NULL, f->leaf}, .entry = {NULL, f->name}};
}

static int judge_each(struct build *b, const uint32_t *starts, const uint16_t *near, uint32_t *sums)
{
	int err = 0;
	for (uint32_t f = 0; f < b->h.n_functions && !err; f++) {
		const struct cam_why_cell *c = b->h.by_function.v + starts[f];
		size_t n = starts[f + 1] - starts[f];
		if (b->h.functions[f].role != CAM_WHY_TELLS)
			continue;
		for (size_t i = 0; i < n; i++)
			b->v[c[i].at] += c[i].n;
		b->out->tried_functions += may_be_high(b, c, n);
		if (may_precede(b, c, n, near, sums)) {
			err = cam_why_go_on(b->o->progress, &b->h);
			err = err ? err : judge_row(b, row_of(&b->h.functions[f]));
		}
		for (size_t i = 0; i < n; i++)
			b->v[c[i].at] = 0;
	}
	return err;
}

/* Functions and paths. Events that are left have their stacks. */
static int judge_functions(struct build *b)
{
	uint32_t *starts = NULL, *sums = calloc(MAX_EVENTS + 1, sizeof(*sums));
	uint16_t *near = calloc((size_t)b->h.axis.n + 1, sizeof(*near));
	b->need = CAM_WHY_SEEN | CAM_WHY_FUNCTIONS;
	b->tried = NULL;
	memset(b->v, 0, (b->h.axis.n + 1) * sizeof(*b->v));
	keep_with_stacks(b);
	int err = near && sums ? cam_why_cells_sort(&b->h.by_function, b->h.n_functions, &starts)
			       : -ENOMEM;
	for (size_t i = 0; i < b->n_events && !err; i++)
		for (uint32_t t = b->events[i].at + 1 - NEAR; t <= b->events[i].at; t++)
			near[t] = (uint16_t)(i + 1);
	if (!err && b->n_events)
		err = judge_each(b, starts, near, sums);
	free(starts);
	free(near);
	free(sums);
	return err;
}

/* Processes first; then by chance; of what is as likely, paths first: they say more. */
static int by_chance(const void *x, const void *y)
{
	const struct cam_recurrence_row *a = &((const struct found *)x)->row,
					*b = &((const struct found *)y)->row;
	bool process = a->kind == CAM_BEFORE_PROCESS;
	if (process != (b->kind == CAM_BEFORE_PROCESS))
		return process ? -1 : 1;
	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return (int)b->kind - (int)a->kind;
}

/* Whether they are high before the same events, of those that both were looked at for. */
static bool same_events(const struct build *of, const struct found *a, const struct found *b)
{
	uint32_t both = 0, either = 0;
	for (size_t i = 0; i < MAX_EVENTS / 64; i++) {
		both += (uint32_t)__builtin_popcountll(a->high[i] & b->high[i] & of->stacked[i]);
		either +=
			(uint32_t)__builtin_popcountll((a->high[i] | b->high[i]) & of->stacked[i]);
	}
	return both * 10 >= either * SAME_TENTHS;
}

/* A path is told rather than a function, and of two alike who has more of it. */
static bool says_more(const struct cam_recurrence_row *a, const struct found *b)
{
	if (!b)
		return true;
	if ((a->kind == CAM_BEFORE_PATH) != (b->row.kind == CAM_BEFORE_PATH))
		return a->kind == CAM_BEFORE_PATH;
	return a->mean - a->expected > b->row.mean - b->row.expected;
}

/*
 * Processes are told first. What is high before the same events as one of them goes with it, the rest by itself, likewise; and
 * all together are put in order of chance.
 */
static int choose(struct build *b)
{
	struct cam_recurrence *r = b->out;
	size_t n = 0, *told = calloc(b->n_found + 1, sizeof(*told));
	const struct found **with = calloc(b->n_found + 1, sizeof(*with));
	int err = told && with ? 0 : -ENOMEM;
	for (size_t i = 0; i < b->n_found && !err; i++) {
		struct found *f = &b->found[i];
		bool process = f->row.kind == CAM_BEFORE_PROCESS;
		size_t k = 0;
		while (k < n && (process || !same_events(b, f, &b->found[told[k]])))
			k++;
		if (k == n)
			told[n++] = i;
		else if (says_more(&f->row, with[k]))
			with[k] = f;
	}
	r->rows = err ? NULL : calloc(n + 1, sizeof(*r->rows));
	for (size_t i = 0; i < n && r->rows; i++) {
		struct cam_recurrence_row *row = &r->rows[i];
		*row = b->found[told[i]].row;
		if (row->kind == CAM_BEFORE_PROCESS && with[i]) {
			row->function = with[i]->row.function;
			row->entry = with[i]->row.entry;
		}
	}
	r->n_rows = r->rows ? n : 0;
	err = err ? err : r->rows ? 0 : -ENOMEM;
	free(told);
	free(with);
	return err;
}

static int by_p(const void *x, const void *y)
{
	const struct cam_recurrence_row *a = x, *b = y;
	return a->p < b->p ? -1 : a->p > b->p;
}

static void finish_text(const struct build *b, struct cam_text *t)
{
	*t = cam_string(b->h.names, (struct cam_str_id){(uint32_t)t->n});
}

static int finish(struct build *b)
{
	struct cam_recurrence *r = b->out;
	size_t n = 0;
	for (size_t i = 0; i < b->n_found; i++) {
		struct found *f = &b->found[i];
		uint64_t tried = f->row.kind == CAM_BEFORE_PROCESS ? r->tried : r->tried_functions;
		f->row.p = fmin(1, f->row.p * 2 * (double)tried);
		if (f->row.p <= SIGNIFICANT)
			b->found[n++] = *f;
	}
	b->n_found = n;
	if (n)
		qsort(b->found, n, sizeof(*b->found), by_chance);
	int err = choose(b);
	if (err)
		return err;
	if (r->n_rows)
		qsort(r->rows, r->n_rows, sizeof(*r->rows), by_p);
	r->n_rows = r->n_rows < b->o->limit ? r->n_rows : b->o->limit;
	for (size_t i = 0; i < r->n_rows; i++) {
		finish_text(b, &r->rows[i].process);
		finish_text(b, &r->rows[i].function);
		finish_text(b, &r->rows[i].entry);
	}
	for (uint32_t t = 0; t < b->h.axis.n; t++) {
		uint8_t flags = b->h.axis.flags[t];
		r->history_s += !!(flags & CAM_WHY_SEEN);
		r->functions_s += (flags & CAM_WHY_SEEN) && (flags & CAM_WHY_FUNCTIONS);
	}
	r->names = b->h.names;
	r->seen = b->h.seen;
	r->strings = b->h.strings;
	b->h.names = NULL;
	b->h.strings = NULL;
	return 0;
}

static int run(struct build *b, struct cam_source *source, const struct cam_selection *s,
	       struct cam_event_list *list)
{
	struct cam_why_history_options from = {.asked = s,
					       .keep_near = true,
					       .samples = CAM_WHY_SAMPLES,
					       .progress = b->o->progress,
					       .room = cam_why_room_of(0)};
	int err = list_events(b, source, s, list);
	from.times = b->times;
	from.n_times = b->n_times;
	if (!err)
		err = cam_why_history_build(source, &from, &b->h);
	if (!err)
		err = place_events(b, list);
	if (err)
		return err;
	size_t n = (size_t)b->h.axis.n + 1;
	b->order = calloc(b->h.n_processes + 1, sizeof(*b->order));
	b->v = calloc(n, sizeof(*b->v));
	b->sums = calloc(n, sizeof(*b->sums));
	if (!b->order || !b->v || !b->sums)
		return -ENOMEM;
	if (b->n_events)
		err = judge_names(b);
	if (!err && b->n_events)
		err = judge_functions(b);
	return err ? err : finish(b);
}

int cam_recurrence_build(struct cam_source *source, const struct cam_selection *s,
			 const struct cam_recurrence_options *o, struct cam_recurrence *out)
{
	struct build b = {.o = o, .out = out};
	*out = (struct cam_recurrence){0};
	struct cam_event_list list = {0};
	int err = run(&b, source, s, &list);
	cam_event_list_free(&list);
	free(b.events);
	free(b.times);
	free(b.found);
	free(b.order);
	free(b.v);
	free(b.sums);
	free(b.with);
	cam_why_history_free(&b.h);
	if (err)
		cam_recurrence_free(out);
	return err;
}

void cam_recurrence_free(struct cam_recurrence *r)
{
	free(r->rows);
	if (r->names)
		cam_tables_free(r->names);
	free(r->names);
	free(r->strings);
	*r = (struct cam_recurrence){0};
}
