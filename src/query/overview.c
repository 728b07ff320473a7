// SPDX-License-Identifier: Apache-2.0
/*
 * The footer of a window has, of each second and CPU, how many samples were taken, and by cause how many
 * that were due were not. They are summed over CPUs into seconds of the wall clock, and those into bins: only
 * so is a bin's busiest second the machine's, and not the sum of each CPU's own.
 *
 *	busy of a second = samples / (everything due in it - what was lost)
 *
 * An imported window has no ledger: in each of its seconds its CPUs' nominal rate was due.
 *
 * The last seconds of a window that is being recorded have no ledger yet: nothing is said of them.
 *
 * A second of a window's clock lies across two of the wall clock; it is put where its middle is. A second
 * that no window has a row for was not observed.
 *
 * Spans of more than MAX_SECONDS seconds are summed by 2, 4, … seconds: still far finer than a bin.
 */
#include "query/overview.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND_NS   1000000000
#define MAX_SECONDS (1u << 20)
#define FRESH_NS    (3 * (int64_t)SECOND_NS)

struct second {
	uint32_t busy, due, lost;
};

struct work {
	struct second *seconds;
	size_t n;
	int64_t from_ns, to_ns;
	int64_t length_ns; /* of a `second` */
	int64_t shift_ns;  /* of the window: wall clock - its own */
	bool imported;	   /* it has no ledger */
	int64_t fresh_ns;  /* from here on the ledger is still to come */
	/* The second of the cell before, and where it counts; NULL: nowhere. */
	uint64_t last_second;
	struct second *last;
};

void cam_overview_free(struct cam_overview *o)
{
	free(o->busy);
	free(o->peak);
	free(o->unseen);
	free(o->pinned);
	*o = (struct cam_overview){0};
}

static void add(uint32_t *to, uint64_t n)
{
	*to = n > UINT32_MAX - *to ? UINT32_MAX : (uint32_t)(*to + n);
}

bool cam_overview_place(const struct cam_window_info *w, int64_t *end_ns)
{
	return w->realtime_ns >= 0 && w->end_ns >= w->start_ns &&
	       !__builtin_add_overflow(w->realtime_ns, w->end_ns - w->start_ns, end_ns);
}

/* Where a second of the window counts; NULL: not in the span. */
static struct second *find_second(const struct work *k, uint64_t second)
{
	int64_t at;
	if (second > INT64_MAX / SECOND_NS / 2 ||
	    __builtin_add_overflow(k->shift_ns, (int64_t)second * SECOND_NS + SECOND_NS / 2, &at) ||
	    at < k->from_ns || at >= k->to_ns)
		return NULL;
	size_t i = (size_t)((at - k->from_ns) / k->length_ns);
	return &k->seconds[i < k->n ? i : k->n - 1];
}

static int take_cell(void *arg, const struct cam_cell *c)
{
	struct work *k = arg;
	if (c->second != k->last_second) {
		k->last = find_second(k, c->second);
		k->last_second = c->second;
	}
	struct second *s = k->last;
	if (!s)
		return 0;
	add(&s->busy, c->busy);
	if (k->imported)
		return 0;
	add(&s->due, c->busy);
	for (uint32_t left = c->causes; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		add(&s->due, c->by_cause[i]);
		if (cam_cause_is_loss((enum cam_cause)i))
			add(&s->lost, c->by_cause[i]);
	}
	return 0;
}

/* Samples of a busy second of all CPUs; 0: not known. */
static int nominal_rate(struct cam_window *w, uint64_t *rate)
{
	const struct cam_tables *t;
	int err = cam_window_words(w, &t);
	*rate = 0;
	if (err)
		return err;
	for (size_t i = 0; i < t->n_etypes && !*rate; i++)
		if (t->etypes[i].period_ns)
			*rate = w->info.cpus * (uint64_t)SECOND_NS / t->etypes[i].period_ns;
	return 0;
}

/* The first second of the window's clock, in ns, that counts at or behind a time: its middle is what is placed. */
static int64_t first_second_ns(const struct work *k, int64_t time_ns)
{
	int64_t at;
	if (__builtin_sub_overflow(time_ns - SECOND_NS / 2, k->shift_ns, &at) ||
	    at > INT64_MAX - SECOND_NS)
		return INT64_MAX;
	return at <= 0 ? 0 : (at + SECOND_NS - 1) / SECOND_NS * SECOND_NS;
}

/*
 * As much was due in a second as the window has of it: the one in which two windows meet has a part of each.
 * Without a rate, a second is as busy as it has samples: its own measure is all there is.
 */
static int make_due(struct work *k, struct cam_window *w)
{
	uint64_t rate;
	int err = nominal_rate(w, &rate);
	int64_t start = (int64_t)w->info.start_ns, end = (int64_t)w->info.end_ns;
	int64_t from = w->info.realtime_ns - k->from_ns;
	for (size_t i = from > SECOND_NS ? (size_t)((from - SECOND_NS) / k->length_ns) : 0;
	     !err && end >= start && i < k->n; i++) {
		int64_t at = k->from_ns + (int64_t)i * k->length_ns;
		int64_t low = first_second_ns(k, at);
		int64_t high = first_second_ns(k, i + 1 < k->n ? at + k->length_ns : k->to_ns);
		if (low >= end)
			break;
		low = low > start ? low : start;
		high = high < end ? high : end;
		struct second *s = &k->seconds[i];
		if (high > low)
			add(&s->due,
			    (uint64_t)((double)rate * (double)(high - low) / SECOND_NS + 0.5));
		if (s->due < s->busy)
			s->due = s->busy;
	}
	return err;
}

static void mark_pinned(const struct cam_window_info *info, struct cam_overview *o)
{
	int64_t from = info->realtime_ns - o->from_ns;
	int64_t to = from + (int64_t)(info->end_ns - info->start_ns);
	for (size_t i = 0; i < o->n; i++) {
		int64_t at = (int64_t)(i * o->step_ns);
		if (at < to && at + (int64_t)o->step_ns > from)
			o->pinned[i] = 1;
	}
}

static int take_window(struct work *k, struct cam_source *source, size_t i, struct cam_overview *o)
{
	const struct cam_window_info *info;
	struct cam_window *w;
	if (source->ops->info(source, i, &info)) {
		o->unreadable++;
		return 0;
	}
	int64_t end, shift;
	if (!cam_overview_place(info, &end) ||
	    __builtin_sub_overflow(info->realtime_ns, info->start_ns, &shift)) {
		o->unplaced++;
		return 0;
	}
	if (info->realtime_ns >= k->to_ns || end <= k->from_ns)
		return 0;
	/* One that came to no end, of a recorder that was killed, is not fresh any more once there is a later one. */
	if (!info->sealed)
		k->fresh_ns = end - FRESH_NS;
	else if (end > k->fresh_ns)
		k->fresh_ns = INT64_MAX;
	if (info->pinned)
		mark_pinned(info, o);
	int err = source->ops->open(source, i, &w);
	if (!err) {
		k->shift_ns = shift;
		k->imported = info->imported;
		k->last_second = UINT64_MAX;
		k->last = NULL;
		err = cam_window_seconds(w, take_cell, k);
		if (!err && info->imported)
			err = make_due(k, w);
		w->ops->close(w);
	}
	if (err && err != -ENOMEM)
		o->unreadable++;
	return err == -ENOMEM ? err : 0;
}

/* Seconds of a bin with no row at all were not observed; all others as far as the ledger says. */
static void fill_bin(const struct work *k, size_t from, size_t to, struct cam_overview *o,
		     size_t bin)
{
	uint64_t busy = 0, due = 0, lost = 0, dark = 0;
	float peak = 0;
	for (size_t i = from; i < to; i++) {
		const struct second *s = &k->seconds[i];
		dark += !s->due && k->from_ns + (int64_t)i * k->length_ns < k->fresh_ns;
		busy += s->busy;
		due += s->due;
		lost += s->lost;
		float share = s->due > s->lost ? (float)s->busy / (float)(s->due - s->lost) : 0;
		peak = share > peak ? share : peak;
	}
	o->busy[bin] = due > lost ? (float)busy / (float)(due - lost) : 0;
	o->peak[bin] = peak;
	float seen = due ? (float)(due - lost) / (float)due : 1;
	o->unseen[bin] = 1 - seen * (float)(to - from - dark) / (float)(to - from);
}

static void fill_bins(const struct work *k, struct cam_overview *o)
{
	for (size_t b = 0; b < o->n; b++) {
		size_t from = k->n * b / o->n, to = k->n * (b + 1) / o->n;
		if (to == from)
			to = from + 1; /* bins shorter than a second share it */
		fill_bin(k, from, to, o, b);
	}
}

static int make_room(struct cam_overview *o, size_t n)
{
	o->n = n;
	o->busy = calloc(n, sizeof(*o->busy));
	o->peak = calloc(n, sizeof(*o->peak));
	o->unseen = calloc(n, sizeof(*o->unseen));
	o->pinned = calloc(n, sizeof(*o->pinned));
	return o->busy && o->peak && o->unseen && o->pinned ? 0 : -ENOMEM;
}

int cam_overview_build(struct cam_source *source, int64_t from_ns, int64_t to_ns, size_t n,
		       const struct cam_progress *progress, struct cam_overview *out)
{
	*out = (struct cam_overview){0};
	if (from_ns < 0 || from_ns >= to_ns || !n || n > CAM_OVERVIEW_MAX_BINS)
		return -EINVAL;
	struct work k = {
		.from_ns = from_ns, .to_ns = to_ns, .length_ns = SECOND_NS, .fresh_ns = INT64_MAX};
	while ((to_ns - from_ns) / k.length_ns >= MAX_SECONDS)
		k.length_ns *= 2;
	/* Of a rest shorter than half a second no window need have a row: it is no second that nobody saw. */
	k.n = (size_t)((to_ns - from_ns + k.length_ns / 2) / k.length_ns);
	k.n = k.n ? k.n : 1;
	k.seconds = calloc(k.n, sizeof(*k.seconds));
	int err = make_room(out, n);
	out->from_ns = from_ns;
	out->step_ns = (uint64_t)(to_ns - from_ns) / n;
	if (!k.seconds)
		err = -ENOMEM;
	size_t windows = source->ops->count(source);
	for (size_t i = 0; !err && i < windows; i++) {
		err = take_window(&k, source, i, out);
		if (!err && progress)
			err = progress->tell(progress->arg, i + 1, windows);
	}
	if (!err)
		fill_bins(&k, out);
	free(k.seconds);
	if (err)
		cam_overview_free(out);
	return err;
}
