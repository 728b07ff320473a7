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

struct event {
	uint32_t at; /* second of the axis */
	uint64_t id;
};

struct build {
	const struct cam_recurrence_options *o;
	struct cam_recurrence *out;
	struct cam_why_history h;
	struct event *events;
	size_t n_events, cap_rows;
	uint32_t *starts, *order;
	uint32_t *v; /* samples of the name, by second */
	uint32_t *sums,
		*sorted; /* over the 10 s that end with a second; UINT32_MAX: not observed */
	size_t n_sums;
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

static bool seen_before(const struct cam_why_axis *a, uint32_t at)
{
	if (at + 1 < NEAR)
		return false;
	for (uint32_t t = at + 1 - NEAR; t <= at; t++) {
		if (!(a->flags[t] & CAM_WHY_SEEN))
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
}

static int place_events(struct build *b, struct cam_source *source, const struct cam_selection *s)
{
	struct cam_event_list_options o = {
		.most = MAX_EVENTS, .least = CAM_SEVERITY_DEBUG, .match = b->o->match};
	struct cam_event_list list;
	int err = cam_event_list_build(source, s, &o, &list);
	if (err)
		return err;
	b->out->events = list.n_all;
	b->events = calloc(list.n + 1, sizeof(*b->events));
	for (size_t i = 0; i < list.n && b->events; i++) {
		uint32_t at = second_at(&b->h.axis, list.events[i].wall_ns);
		if (at != CAM_WHY_NOWHERE && seen_before(&b->h.axis, at))
			b->events[b->n_events++] = (struct event){at, list.events[i].id};
	}
	cam_event_list_free(&list);
	if (!b->events)
		return -ENOMEM;
	keep_apart(b);
	b->out->used = b->n_events;
	return 0;
}

static int ascending(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;
	return *a < *b ? -1 : *a > *b;
}

static void sum_up(struct build *b)
{
	const struct cam_why_axis *a = &b->h.axis;
	uint32_t whole = 0, sum = 0;
	b->n_sums = 0;
	for (uint32_t t = 0; t < a->n; t++) {
		bool seen = a->flags[t] & CAM_WHY_SEEN;
		whole = seen ? whole + 1 : 0;
		sum = seen ? sum + b->v[t] : 0;
		if (whole > NEAR)
			sum -= b->v[t - NEAR];
		b->sums[t] = whole >= NEAR ? sum : UINT32_MAX;
		if (whole >= NEAR)
			b->sorted[b->n_sums++] = sum;
	}
	qsort(b->sorted, b->n_sums, sizeof(*b->sorted), ascending);
}

static void fill_profile(const struct build *b, struct cam_recurrence_row *row)
{
	const struct cam_why_axis *a = &b->h.axis;
	double best = -1;
	for (uint32_t k = 0; k < CAM_RECURRENCE_LENGTH; k++) {
		uint64_t sum = 0, n = 0;
		for (size_t i = 0; i < b->n_events; i++) {
			int64_t t = (int64_t)b->events[i].at + k - CAM_RECURRENCE_BEFORE_S;
			if (t < 0 || t >= a->n || !(a->flags[t] & CAM_WHY_SEEN))
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

/* b->v is the name's. */
static int judge_name(struct build *b, uint32_t name)
{
	struct cam_recurrence_row row = {.process = {NULL, name}};
	uint64_t high = 0, most = 0;
	double all = 0, before = 0;
	sum_up(b);
	if (!b->n_sums)
		return 0;
	for (size_t i = 0; i < b->n_sums; i++)
		all += b->sorted[i];
	row.expected = all / (double)b->n_sums;
	double share = fmax(HIGH, 1.5 * (double)b->n_events * NEAR / (double)b->n_sums);
	uint32_t level = b->sorted[(size_t)((1 - fmin(share, MOST_HIGH)) * (double)b->n_sums)];
	if (level < row.expected + LEAST)
		level = (uint32_t)(row.expected + LEAST) + 1;
	if (b->sorted[b->n_sums - 1] < level)
		return 0;
	for (size_t i = 0; i < b->n_sums; i++)
		high += b->sorted[i] >= level;
	for (size_t i = 0; i < b->n_events; i++) {
		uint32_t sum = b->sums[b->events[i].at];
		before += sum;
		row.before += sum >= level;
		if (sum > most) {
			most = sum;
			row.event = b->events[i].id;
		}
	}
	b->out->tried++;
	row.usually = (double)high / (double)b->n_sums;
	row.mean = before / (double)b->n_events;
	row.p = tail(b->n_events, row.before, row.usually);
	/* Kept by the chance alone for now: how many are tried is known at the end. */
	if (row.p > SIGNIFICANT)
		return 0;
	fill_profile(b, &row);
	int err = cam_vec_reserve(&b->out->rows, &b->cap_rows, b->out->n_rows + 1, sizeof(row),
				  CAM_MAX_ROWS);
	if (!err)
		b->out->rows[b->out->n_rows++] = row;
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
	int err = 0;
	for (uint32_t i = 0; i < n; i++)
		b->order[i] = i;
	qsort_r(b->order, n, sizeof(*b->order), by_name, b->h.processes);
	for (size_t i = 0; i < n && !err;) {
		uint32_t name = p[b->order[i]].name;
		memset(b->v, 0, (b->h.axis.n + 1) * sizeof(*b->v));
		for (; i < n && p[b->order[i]].name == name; i++) {
			uint32_t of = b->order[i];
			for (uint32_t k = b->starts[of]; k < b->starts[of + 1]; k++)
				b->v[b->h.by_process.v[k].at] += b->h.by_process.v[k].n;
		}
		err = judge_name(b, name);
	}
	return err;
}

static int by_chance(const void *x, const void *y)
{
	const struct cam_recurrence_row *a = x, *b = y;
	return a->p < b->p ? -1 : a->p > b->p;
}

static void finish(struct build *b)
{
	struct cam_recurrence *r = b->out;
	size_t n = 0;
	if (r->n_rows)
		qsort(r->rows, r->n_rows, sizeof(*r->rows), by_chance);
	for (size_t i = 0; i < r->n_rows; i++) {
		r->rows[i].p = fmin(1, r->rows[i].p * (double)r->tried);
		if (r->rows[i].p <= SIGNIFICANT && n < b->o->limit)
			r->rows[n++] = r->rows[i];
	}
	r->n_rows = n;
	for (size_t i = 0; i < n; i++)
		r->rows[i].process =
			cam_string(b->h.names, (struct cam_str_id){(uint32_t)r->rows[i].process.n});
	for (uint32_t t = 0; t < b->h.axis.n; t++)
		r->history_s += b->h.axis.flags[t] & CAM_WHY_SEEN;
	r->names = b->h.names;
	r->seen = b->h.seen;
	r->strings = b->h.strings;
	b->h.names = NULL;
	b->h.strings = NULL;
}

static int run(struct build *b, struct cam_source *source, const struct cam_selection *s)
{
	struct cam_why_history_options from = {.asked = s,
					       .keep_near = true,
					       .progress = b->o->progress,
					       .room = cam_why_room_of(0)};
	int err = cam_why_history_build(source, &from, &b->h);
	if (!err)
		err = place_events(b, source, s);
	if (!err)
		err = cam_why_cells_sort(&b->h.by_process, b->h.n_processes, &b->starts);
	if (err)
		return err;
	size_t n = (size_t)b->h.axis.n + 1;
	b->order = calloc(b->h.n_processes + 1, sizeof(*b->order));
	b->v = calloc(n, sizeof(*b->v));
	b->sums = calloc(n, sizeof(*b->sums));
	b->sorted = calloc(n, sizeof(*b->sorted));
	if (!b->order || !b->v || !b->sums || !b->sorted)
		return -ENOMEM;
	if (b->n_events)
		err = judge_names(b);
	if (!err)
		finish(b);
	return err;
}

int cam_recurrence_build(struct cam_source *source, const struct cam_selection *s,
			 const struct cam_recurrence_options *o, struct cam_recurrence *out)
{
	struct build b = {.o = o, .out = out};
	*out = (struct cam_recurrence){0};
	int err = run(&b, source, s);
	free(b.events);
	free(b.starts);
	free(b.order);
	free(b.v);
	free(b.sums);
	free(b.sorted);
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
