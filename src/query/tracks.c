// SPDX-License-Identifier: Apache-2.0
/*
 * A reading is of the interval before it, and is spread evenly over it: what lies in a bin counts there.
 * So bins longer than a second hold means, and shorter ones the second that they lie in. A value of the
 * instant stands for the second before it.
 *
 *	mean = sum of values / sum of times	(over CPUs: a share of the machine)
 *
 * Of a CPU the recorder leaves out zeros, but for idle: what is missing beside that was 0, and the time that
 * shares are of is idle's.
 *
 * Of a counter of several threads or processes the values add up, and the time is the wall clock's: the
 * time of the first CPU's readings of the same bin (there are some in every second that is recorded).
 *
 * Threads that waited: the sums of one window are by thread, as the readings come sorted; the longest
 * few of each window go on, by name and number.
 */
#include "query/tracks.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/overview.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES 64u
#define NAME_BYTES 16u
/* Bins of readings: then who waits is asked. A file may have millions of readings that are of all bins. */
#define STEPS_A_TELL (1u << 20)

static const struct {
	const char *key;
	enum cam_track_unit unit;
} kinds[CAM_COUNTER_MAX] = {
	[CAM_COUNTER_USER] = {"user", CAM_TRACK_MACHINE},
	[CAM_COUNTER_SYSTEM] = {"system", CAM_TRACK_MACHINE},
	[CAM_COUNTER_IRQ] = {"irq", CAM_TRACK_MACHINE},
	[CAM_COUNTER_SOFTIRQ] = {"softirq", CAM_TRACK_MACHINE},
	[CAM_COUNTER_STEAL] = {"steal", CAM_TRACK_MACHINE},
	[CAM_COUNTER_IDLE] = {"idle", CAM_TRACK_MACHINE},
	[CAM_COUNTER_RUNNABLE] = {"runnable", CAM_TRACK_NUMBER},
	[CAM_COUNTER_SWITCHES] = {"switches", CAM_TRACK_PER_SECOND},
	[CAM_COUNTER_PSI_CPU] = {"pressure_cpu", CAM_TRACK_TIME},
	[CAM_COUNTER_PSI_MEMORY] = {"pressure_memory", CAM_TRACK_TIME},
	[CAM_COUNTER_PSI_MEMORY_FULL] = {"pressure_memory_full", CAM_TRACK_TIME},
	[CAM_COUNTER_PSI_IO] = {"pressure_io", CAM_TRACK_TIME},
	[CAM_COUNTER_PSI_IO_FULL] = {"pressure_io_full", CAM_TRACK_TIME},
	[CAM_COUNTER_SOFTNET_DROPPED] = {"softnet_dropped", CAM_TRACK_PER_SECOND},
	[CAM_COUNTER_SOFTNET_SQUEEZED] = {"softnet_squeezed", CAM_TRACK_PER_SECOND},
	[CAM_COUNTER_MEMORY_CGROUPS] = {"memory_cgroups", CAM_TRACK_NUMBER},
	[CAM_COUNTER_RUN_DELAY] = {"run_delay", CAM_TRACK_CPUS},
	[CAM_COUNTER_OWN_CPU] = {"own_cpu", CAM_TRACK_CPUS},
	[CAM_COUNTER_GUESSED] = {"guessed", CAM_TRACK_NONE},
};

/* A waiter while windows are read: its name by content. */
struct candidate {
	int32_t tid;
	uint64_t waited_ns;
	char comm[NAME_BYTES];
	size_t comm_n;
	bool named;
};

struct work {
	struct cam_tracks *out;
	double *sum[CAM_COUNTER_MAX]; /* by bin */
	double *time[CAM_COUNTER_MAX];
	double *clock; /* by bin: what the first CPU's readings cover, in ns */
	struct cam_window *w;
	int64_t shift_ns; /* wall clock - the window's own */
	uint32_t first_cpu;
	bool has_first_cpu;
	struct candidate candidates[CANDIDATES];
	size_t n_candidates;
	struct candidate *waits; /* of the window: without names until its end */
	size_t n_waits, cap_waits;
	const struct cam_progress *progress; /* NULL: nobody waits */
	uint64_t done, windows, steps;
	int stopped; /* what it answered */
};

enum cam_track_unit cam_track_unit(enum cam_counter_kind kind)
{
	return kind < CAM_COUNTER_MAX ? kinds[kind].unit : CAM_TRACK_NONE;
}

const char *cam_track_key(enum cam_counter_kind kind)
{
	return kind < CAM_COUNTER_MAX ? kinds[kind].key : "";
}

void cam_tracks_free(struct cam_tracks *t)
{
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		free(t->by_kind[k].mean);
		free(t->by_kind[k].peak);
		free(t->by_kind[k].peak_who);
	}
	free(t->strings);
	*t = (struct cam_tracks){0};
}

static void free_work(struct work *k)
{
	for (unsigned i = 0; i < CAM_COUNTER_MAX; i++) {
		free(k->sum[i]);
		free(k->time[i]);
	}
	free(k->clock);
	free(k->waits);
}

static int make_track(struct work *k, enum cam_counter_kind kind)
{
	struct cam_track *t = &k->out->by_kind[kind];
	size_t n = k->out->n;
	if (t->mean)
		return 0;
	k->sum[kind] = calloc(n, sizeof(double));
	k->time[kind] = calloc(n, sizeof(double));
	t->peak = calloc(n, sizeof(*t->peak));
	t->peak_who = calloc(n, sizeof(*t->peak_who));
	t->mean = calloc(n, sizeof(*t->mean)); /* last: it says that all are there */
	return k->sum[kind] && k->time[kind] && t->peak && t->peak_who && t->mean ? 0 : -ENOMEM;
}

/* A reading in its kind's unit. */
static double rate_of(const struct cam_counter *c, uint64_t span_ns)
{
	switch (cam_track_unit(c->kind)) {
	case CAM_TRACK_PER_SECOND:
		return (double)c->value * (double)CAM_NS_PER_SEC / (double)span_ns;
	case CAM_TRACK_NUMBER:
		return (double)c->value;
	default:
		return (double)c->value / (double)span_ns;
	}
}

/* The longest waiters of all windows stay: where there is no room, in place of the shortest. */
static void keep_waiter(struct work *k, const struct candidate *w)
{
	struct candidate *to = NULL;
	for (size_t i = 0; i < k->n_candidates && !to; i++) {
		struct candidate *c = &k->candidates[i];
		if (c->tid == w->tid && c->comm_n == w->comm_n &&
		    !memcmp(c->comm, w->comm, w->comm_n))
			to = c;
	}
	if (to) {
		to->waited_ns += w->waited_ns;
	} else if (k->n_candidates < CANDIDATES) {
		k->candidates[k->n_candidates++] = *w;
	} else {
		to = &k->candidates[0];
		for (size_t i = 1; i < CANDIDATES; i++)
			if (k->candidates[i].waited_ns < to->waited_ns)
				to = &k->candidates[i];
		if (to->waited_ns < w->waited_ns)
			*to = *w;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return (x->waited_ns < y->waited_ns) - (x->waited_ns > y->waited_ns);
}

static int by_tid(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool waited_before(const struct work *k, int32_t tid)
{
	for (size_t i = 0; i < k->n_candidates; i++)
		if (k->candidates[i].tid == tid)
			return true;
	return false;
}

/* As the last of its tasks is called: those at hand in one go over all tasks, of which there may be very many. */
static void name_waiters(struct cam_window *w, struct candidate *waits, size_t n)
{
	const struct cam_tables *t;
	size_t left = n;
	qsort(waits, n, sizeof(*waits), by_tid);
	if (w->ops->tables(w, &t))
		return;
	for (size_t i = t->n_tasks; i-- > 0 && left;) {
		const struct candidate key = {.tid = t->tasks[i].tid};
		struct candidate *c = bsearch(&key, waits, n, sizeof(*waits), by_tid);
		if (!c || c->named)
			continue;
		struct cam_text comm = cam_string(t, t->tasks[i].comm);
		c->comm_n = comm.n < NAME_BYTES ? comm.n : NAME_BYTES;
		memcpy(c->comm, comm.p, c->comm_n);
		c->named = true;
		left--;
	}
}

/* The window's longest waiters, and those that waited in others: the rest cannot matter. */
static void end_waiting(struct work *k)
{
	size_t n = 0;
	if (!k->n_waits)
		return;
	qsort(k->waits, k->n_waits, sizeof(*k->waits), longest_first);
	for (size_t i = 0; i < k->n_waits; i++)
		if (k->waits[i].waited_ns && (i < CANDIDATES || waited_before(k, k->waits[i].tid)))
			k->waits[n++] = k->waits[i];
	if (n)
		name_waiters(k->w, k->waits, n);
	for (size_t i = 0; i < n; i++)
		keep_waiter(k, &k->waits[i]);
	k->n_waits = 0;
}

/* Readings of one thread come one after the other. */
static int add_waiting(struct work *k, const struct cam_counter *c, uint64_t inside_ns,
		       uint64_t span_ns)
{
	if (!k->n_waits || k->waits[k->n_waits - 1].tid != (int32_t)c->subject) {
		int err = cam_vec_reserve(&k->waits, &k->cap_waits, k->n_waits + 1,
					  sizeof(*k->waits), CAM_MAX_ROWS);
		if (err)
			return err;
		k->waits[k->n_waits++] = (struct candidate){.tid = (int32_t)c->subject};
	}
	k->waits[k->n_waits - 1].waited_ns +=
		(uint64_t)((double)c->value * (double)inside_ns / (double)span_ns);
	return 0;
}

/* So many nanoseconds of the reading lie in this bin. */
static void add_to_bin(struct work *k, const struct cam_counter *c, size_t bin, double ns,
		       double rate)
{
	struct cam_track *t = &k->out->by_kind[c->kind];
	if (c->kind == CAM_COUNTER_IDLE) {
		if (!k->has_first_cpu)
			k->first_cpu = c->subject;
		k->has_first_cpu = true;
		if (c->subject == k->first_cpu)
			k->clock[bin] += ns;
	}
	if (!(k->time[c->kind][bin] > 0) || rate > (double)t->peak[bin]) {
		t->peak[bin] = (float)rate;
		t->peak_who[bin] = c->subject;
	}
	k->sum[c->kind][bin] += rate * ns;
	k->time[c->kind][bin] += ns;
}

static int take_counter(void *arg, const struct cam_counter *c)
{
	struct work *k = arg;
	struct cam_tracks *o = k->out;
	int64_t whole = (int64_t)(o->step_ns * o->n);
	uint64_t span = c->span_ns ? c->span_ns : CAM_NS_PER_SEC;
	if (cam_track_unit(c->kind) == CAM_TRACK_NONE || span > (uint64_t)INT64_MAX / 4 ||
	    c->time_ns > (uint64_t)INT64_MAX / 4)
		return 0;
	int64_t to, from;
	if (__builtin_sub_overflow(k->shift_ns, o->from_ns, &from) ||
	    __builtin_add_overflow(from, (int64_t)c->time_ns, &to) || to <= 0)
		return 0;
	from = to - (int64_t)span;
	if (from >= whole)
		return 0;
	int err = make_track(k, c->kind);
	if (err)
		return err;
	from = from > 0 ? from : 0;
	to = to < whole ? to : whole;
	if (c->kind == CAM_COUNTER_RUN_DELAY)
		err = add_waiting(k, c, (uint64_t)(to - from), span);
	double rate = rate_of(c, span);
	for (int64_t at = from; at < to;) {
		size_t bin = (size_t)at / o->step_ns;
		int64_t end = (int64_t)((bin + 1) * o->step_ns);
		end = end < to ? end : to;
		add_to_bin(k, c, bin, (double)(end - at), rate);
		at = end;
		k->steps++;
	}
	if (!err && k->progress && k->steps >= STEPS_A_TELL) {
		k->steps = 0;
		err = k->stopped = k->progress->tell(k->progress->arg, k->done, k->windows);
	}
	return err;
}

static int take_window(struct work *k, struct cam_source *source, size_t i)
{
	const struct cam_window_info *info;
	struct cam_tracks *o = k->out;
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
	if (info->realtime_ns >= o->from_ns + (int64_t)(o->step_ns * o->n) || end <= o->from_ns)
		return 0;
	int err = source->ops->open(source, i, &k->w);
	if (!err) {
		k->shift_ns = shift;
		k->has_first_cpu = false;
		if (k->w->ops->counters)
			err = k->w->ops->counters(k->w, take_counter, k);
		end_waiting(k);
		k->w->ops->close(k->w);
	}
	if (k->stopped)
		return k->stopped;
	if (err && err != -ENOMEM)
		o->unreadable++;
	return err == -ENOMEM ? err : 0;
}

static void finish_tracks(struct work *k)
{
	for (unsigned kind = 0; kind < CAM_COUNTER_MAX; kind++) {
		struct cam_track *t = &k->out->by_kind[kind];
		const double *sum = k->sum[kind], *time = k->time[kind];
		enum cam_track_unit unit = cam_track_unit((enum cam_counter_kind)kind);
		bool adds_up = unit == CAM_TRACK_CPUS;
		if (!t->mean || !sum || !time)
			continue;
		if (unit == CAM_TRACK_MACHINE && k->time[CAM_COUNTER_IDLE])
			time = k->time[CAM_COUNTER_IDLE];
		for (size_t i = 0; i < k->out->n; i++) {
			double by = time[i] > 0 && adds_up ? k->clock[i] : time[i];
			t->mean[i] = by > 0 ? (float)(sum[i] / by) : NAN;
			if (!(time[i] > 0))
				t->peak[i] = NAN;
		}
	}
}

static int finish_waiters(struct work *k)
{
	struct cam_tracks *o = k->out;
	o->strings = malloc(CAM_TRACK_WAITERS * NAME_BYTES);
	if (!o->strings)
		return -ENOMEM;
	qsort(k->candidates, k->n_candidates, sizeof(k->candidates[0]), longest_first);
	for (; o->n_waiters < k->n_candidates && o->n_waiters < CAM_TRACK_WAITERS; o->n_waiters++) {
		const struct candidate *c = &k->candidates[o->n_waiters];
		char *name = o->strings + o->n_waiters * NAME_BYTES;
		memcpy(name, c->comm, c->comm_n);
		o->waiters[o->n_waiters] = (struct cam_track_waiter){
			.tid = c->tid, .comm = {name, c->comm_n}, .waited_ns = c->waited_ns};
	}
	return 0;
}

int cam_tracks_build(struct cam_source *source, int64_t from_ns, int64_t to_ns, size_t n,
		     const struct cam_progress *progress, struct cam_tracks *out)
{
	*out = (struct cam_tracks){0};
	if (from_ns < 0 || from_ns >= to_ns || !n || n > CAM_TRACKS_MAX_BINS ||
	    (uint64_t)(to_ns - from_ns) < n)
		return -EINVAL;
	*out = (struct cam_tracks){
		.from_ns = from_ns, .step_ns = (uint64_t)(to_ns - from_ns) / n, .n = n};
	struct work k = {.out = out,
			 .clock = calloc(n, sizeof(double)),
			 .progress = progress,
			 .windows = source->ops->count(source)};
	int err = k.clock ? 0 : -ENOMEM;
	while (!err && k.done < k.windows) {
		err = take_window(&k, source, k.done);
		k.done++;
		if (!err && progress)
			err = progress->tell(progress->arg, k.done, k.windows);
	}
	if (!err) {
		finish_tracks(&k);
		err = finish_waiters(&k);
	}
	free_work(&k);
	if (err)
		cam_tracks_free(out);
	return err;
}
