// SPDX-License-Identifier: Apache-2.0
/*
 * Windows of a recording: one after the other without a gap, at most two open.
 *
 * `cur` takes samples; `prev`, which ended less than CLOSE_NS ago, takes what is late: samples that
 * were parked, names, the ledger's last seconds. A window ends where the next one starts, at a whole
 * second window_ns after its start, or earlier, where its tables have grown to half of their bound.
 *
 * When it is cut, a window gets a row of the ledger without samples that ends where it ends: should the
 * recorder be killed before the window has its end mark, its journal is known to reach as far as the
 * next one's start. Else it would end with its last sample, and a recorder that went on would be shown
 * as dead until the boundary.
 *
 * Where the recorder lags (it got no CPU), clocks are ahead of records. The window before is not ended until records
 * have come as far as its end, and what waits of it goes into it first; meanwhile the open one goes on past its end.
 *
 * The disk. A journal that refuses a block gets it again at the next tick, with what has come since.
 * When more is pending than PENDING_SAMPLES, all of it is dropped and noted by CPU: how many, from
 * when to when. The first block that is accepted again carries that as rows of its ledger. Meanwhile
 * nothing is cut: the window just goes on, its tables at most to half of the bound, and has the gap
 * in its own ledger. A window whose journal could not even be begun is filled in memory likewise.
 *
 * Invariants
 *  1. cur->start_ns == the end of the window before it.
 *  2. A sample is stored in exactly one window; of samples that come in time it is the one with
 *     start <= time < end.
 *  3. samples stored = samples given to the journals + pending.
 *  4. losses, and the rows made of them, sum up to the samples dropped here.
 *
 * Example: window_ns 120 s, first record at 1000.3: windows [1000.3, 1120), [1120, 1240), …. At
 * 1130.7 the tables are half full: [1120, 1130.70001), [1130.70001, 1250), ….
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

#define CLOSE_NS	(2500 * CAM_NS_PER_MS)
#define GIVE_UP_NS	(30 * CAM_NS_PER_SEC)
#define PENDING_SAMPLES 32768u
#define PENDING_ROWS	16384u

static uint64_t whole_second(uint64_t ns)
{
	return ns - ns % CAM_NS_PER_SEC;
}

/* Where a window ends that starts there. */
static uint64_t end_of(const struct cam_live *l, uint64_t start_ns)
{
	uint64_t end_ns = whole_second(start_ns + l->options.window_ns);
	return end_ns > start_ns ? end_ns : whole_second(start_ns) + CAM_NS_PER_SEC;
}

static int make_door(struct cam_live *l, struct cam_live_window *w)
{
	if (w->w.to)
		return 0;
	const struct cam_open_window_options o = {
		.max_table_bytes = l->options.max_table_bytes,
		.max_samples = PENDING_SAMPLES,
		.max_rows = PENDING_ROWS,
		.place_slots = 1, /* live_place.c has a better one */
	};
	struct cam_journal *to = l->doors.door(l->doors.self);
	return to ? cam_open_window_init(&w->w, to, &o) : -ENOMEM;
}

static int begin(struct cam_live *l, struct cam_live_window *w)
{
	struct cam_window_head head = {
		.boot_id = l->options.boot_id,
		.clock = CAM_CLOCK_MONOTONIC,
		.start_ns = w->start_ns,
		.time_unit_ns = CAM_LIVE_TIME_UNIT,
		.keep_places = l->options.keep_places,
	};
	return cam_open_window_begin(&w->w, &head, l->options.host);
}

static int make_etype(struct cam_live *l, struct cam_live_window *w)
{
	struct cam_etype e = {
		.period_ns = l->options.hz ? CAM_NS_PER_SEC / l->options.hz : 0,
		.has_weight = !cam_text_starts(l->options.event, CAM_TEXT("cpu-clock")),
	};
	int err = cam_string_intern(&w->w.tables, l->options.event, &e.name);
	return err ? err : cam_etype_intern(&w->w.tables, &e, &w->etype);
}

static void move(uint64_t *time, uint64_t back_ns)
{
	if (*time != CAM_TIME_NONE)
		*time -= back_ns < *time ? back_ns : *time;
}

/*
 * The anchor that a window begins with. The first one is read after sampling has begun, and may lie
 * behind the first window's end: as if it had been read at the start then, since the last of a
 * journal without its end is where it ends. Clocks that are slewed differ by 500 ppm at most.
 */
static void add_first_anchor(const struct cam_live *l, struct cam_live_window *w)
{
	struct cam_anchor a = l->anchor;
	if (!l->has_anchor)
		return;
	if (a.time_ns >= w->end_ns) {
		uint64_t back_ns = a.time_ns - w->start_ns;
		move(&a.time_ns, back_ns);
		move(&a.raw_ns, back_ns);
		move(&a.boottime_ns, back_ns);
		move(&a.sched_ns, back_ns);
		if (a.realtime_ns != INT64_MIN)
			a.realtime_ns -= (int64_t)back_ns;
		a.uncertainty_ns += back_ns / 2000;
	}
	cam_open_window_anchor(&w->w, &a);
}

static int open_window(struct cam_live *l, uint64_t start_ns)
{
	struct cam_live_window *w = &l->windows[l->prev == &l->windows[0]];
	int err = make_door(l, w);
	if (!err)
		err = cam_open_window_start(&w->w);
	if (err)
		return err;
	w->number = ++l->window_number;
	w->start_ns = w->last_ns = start_ns;
	w->ending = false;
	w->end_ns = end_of(l, start_ns);
	w->n_wants = 0;
	w->unknown.v = CAM_NONE;
	for (unsigned i = 0; i < CAM_STACK_ENDS; i++)
		w->marks[i].v = CAM_NONE;
	w->dynamic_turn = 0;
	err = make_etype(l, w);
	if (err) {
		cam_open_window_drop(&w->w);
		w->number = 0;
		return err;
	}
	l->cur = w;
	l->stats.windows++;
	/* If it is refused the next tick tries again. */
	l->refused = begin(l, w);
	add_first_anchor(l, w);
	return 0;
}

int cam_live_window_at(struct cam_live *l, uint64_t time_ns, struct cam_live_window **out)
{
	if (!l->cur) {
		uint64_t start_ns = l->next_start_ns != CAM_TIME_NONE
					    ? l->next_start_ns
					    : time_ns - time_ns % CAM_LIVE_TIME_UNIT;
		int err = open_window(l, start_ns);
		if (err)
			return err;
	}
	/* Also what is older than the one before: samples of a run's first moments may have waited while
	 * its first window was begun by later ones. In the newest they would make both overlap. */
	*out = time_ns < l->cur->start_ns && l->prev ? l->prev : l->cur;
	return 0;
}

void cam_live_window_lose(struct cam_live *l, uint32_t cpu, uint64_t time_ns)
{
	struct cam_live_loss *loss = &l->losses[cpu < CAM_LIVE_MAX_CPUS ? cpu : CAM_LIVE_MAX_CPUS];
	if (!loss->samples || time_ns < loss->from_ns)
		loss->from_ns = time_ns;
	if (time_ns >= loss->to_ns)
		loss->to_ns = time_ns + 1;
	loss->samples++;
	l->has_losses = true;
	l->stats.dropped++;
}

static void lose_pending(struct cam_live *l, struct cam_live_window *w)
{
	for (size_t i = 0; i < w->w.n_samples; i++)
		cam_live_window_lose(l, w->w.samples[i].cpu, w->w.samples[i].time_ns);
	l->stats.samples -= w->w.n_samples;
	w->w.n_samples = 0;
}

static void note_losses(struct cam_live *l, struct cam_live_window *w)
{
	for (uint32_t i = 0; l->has_losses && i <= CAM_LIVE_MAX_CPUS; i++) {
		struct cam_ledger_row row = {
			.cause = CAM_CAUSE_DISK_FULL,
			.cpu = i < CAM_LIVE_MAX_CPUS ? i : CAM_CPU_NONE,
			.from_ns = l->losses[i].from_ns,
			.to_ns = l->losses[i].to_ns,
			.samples = l->losses[i].samples,
		};
		if (row.samples)
			cam_open_window_ledger(&w->w, &row);
	}
}

static void forget_losses(struct cam_live *l)
{
	for (uint32_t i = 0; i <= CAM_LIVE_MAX_CPUS; i++) {
		l->stats.by_cause[CAM_CAUSE_DISK_FULL] += l->losses[i].samples;
		l->stats.lost += l->losses[i].samples;
		l->losses[i] = (struct cam_live_loss){0};
	}
	l->has_losses = false;
}

static int flush(struct cam_live *l, struct cam_live_window *w)
{
	if (w->ending)
		return 0;
	int err = w->w.begun ? 0 : begin(l, w);
	if (err)
		return l->refused = err;
	/* What is said now is not about a window that is over. */
	static const struct cam_facts no_facts;
	size_t had = w->w.n_ledger;
	bool losses = l->has_losses && w == l->cur && had + CAM_LIVE_MAX_CPUS < PENDING_ROWS;
	if (losses)
		note_losses(l, w);
	err = cam_open_window_flush(&w->w, w == l->cur ? &l->facts : &no_facts);
	/* The first block takes the ledger along, whatever becomes of the others. */
	if (losses && w->w.n_ledger == 0)
		forget_losses(l);
	else if (w->w.n_ledger > had)
		w->w.n_ledger = had;
	return l->refused = err;
}

static bool is_half_full(const struct cam_live *l, const struct cam_live_window *w)
{
	/* Tables grow by doubling: below half of the bound, one more sample cannot pass it. */
	return w->w.tables.bytes > l->options.max_table_bytes / 2;
}

bool cam_live_window_is_stuck(const struct cam_live *l, const struct cam_live_window *w)
{
	return l->refused && is_half_full(l, w);
}

int cam_live_window_put(struct cam_live *l, struct cam_live_window *w, const struct cam_sample *s)
{
	if (w->ending) {
		cam_live_window_lose(l, s->cpu, s->time_ns);
		return 0;
	}
	if (w->w.n_samples >= CAM_OPEN_WINDOW_BLOCK && !l->refused)
		flush(l, w);
	int err = cam_open_window_sample(&w->w, s);
	if (err == -E2BIG) {
		if (flush(l, w))
			lose_pending(l, w);
		err = cam_open_window_sample(&w->w, s);
	}
	if (err)
		return err;
	l->stats.samples++;
	if (s->time_ns > w->last_ns)
		w->last_ns = s->time_ns;
	return 0;
}

/* Its names have come, or never will. */
static void close_window(struct cam_live *l, struct cam_live_window *w)
{
	l->stats.unnamed += w->n_wants;
	w->n_wants = 0;
	w->number = 0;
	if (l->prev == w)
		l->prev = NULL;
	if (l->cur == w)
		l->cur = NULL;
}

/* Writes the last of it and ends it. */
static int end_window(struct cam_live *l, struct cam_live_window *w)
{
	int err = 0;
	if (!w->ending) {
		cam_ledger_flush(l->ledger, w->end_ns);
		err = flush(l, w);
		w->ending = !err;
	}
	if (!err)
		err = l->refused = cam_open_window_end(&w->w, w->end_ns, true);
	if (err && (w == l->cur || l->now_ns < w->end_ns + GIVE_UP_NS))
		return err;
	/* Its journal is left as it is, to be sealed without its end. */
	if (err) {
		lose_pending(l, w);
		cam_open_window_drop(&w->w);
	}
	close_window(l, w);
	return 0;
}

/* cur becomes prev. */
static int cut(struct cam_live *l, uint64_t end_ns)
{
	struct cam_live_window *w = l->cur;
	int err = l->prev ? end_window(l, l->prev) : 0;
	if (!err) {
		const struct cam_ledger_row reached = {CAM_CAUSE_UNEXPLAINED, CAM_CPU_NONE, end_ns,
						       end_ns, 0};
		cam_open_window_ledger(&w->w, &reached);
		err = flush(l, w);
	}
	if (err)
		return err;
	w->end_ns = l->next_start_ns = end_ns;
	cam_ledger_cut(l->ledger, end_ns);
	l->prev = w;
	l->cur = NULL;
	return open_window(l, end_ns);
}

/* The window goes on: the journal is not to be had, or nothing happened for so long. */
static void extend(struct cam_live *l, uint64_t time_ns)
{
	uint64_t next = whole_second(time_ns) + CAM_NS_PER_SEC;
	if (l->cur->end_ns < next)
		l->cur->end_ns = next;
}

/* Whether all records of the window before have come: where the recorder lags, clocks are ahead of them. */
static bool prev_is_complete(const struct cam_live *l)
{
	return !l->prev || l->no_more || l->released_ns >= l->prev->end_ns ||
	       l->now_ns >= l->prev->end_ns + GIVE_UP_NS;
}

void cam_live_window_settle(struct cam_live *l, uint64_t time_ns)
{
	if (l->prev && l->cur && time_ns >= l->cur->end_ns && prev_is_complete(l))
		cam_live_release_before(l, l->prev->end_ns);
}

int cam_live_window_turn(struct cam_live *l, uint64_t time_ns)
{
	struct cam_live_window *w = l->cur;
	if (!w || time_ns < w->start_ns)
		return 0;
	if (time_ns >= w->end_ns && !prev_is_complete(l)) {
		extend(l, time_ns);
		return 0;
	}
	if (time_ns >= w->end_ns) {
		if (cut(l, w->end_ns) == 0 && l->cur->end_ns > time_ns)
			return 0;
		if (!l->cur)
			return -ENOMEM;
		extend(l, time_ns);
		return 0;
	}
	time_ns -= time_ns % CAM_LIVE_TIME_UNIT;
	if (is_half_full(l, w) && !l->refused && time_ns > w->last_ns)
		cut(l, time_ns);
	else if (l->prev && l->prev->w.tables.bytes + w->w.tables.bytes >
				    l->options.max_table_bytes + l->options.max_table_bytes / 2)
		end_window(l, l->prev);
	return l->cur ? 0 : -ENOMEM;
}

int cam_live_window_tick(struct cam_live *l, uint64_t released_ns)
{
	int err = 0, first = 0;
	cam_live_window_settle(l, released_ns);
	if (l->cur && released_ns >= l->cur->end_ns)
		first = cam_live_window_turn(l, released_ns);
	if (l->prev && l->now_ns >= l->prev->end_ns + CLOSE_NS && prev_is_complete(l)) {
		cam_live_release_before(l, l->prev->end_ns);
		first = end_window(l, l->prev);
	}
	if (l->prev)
		err = flush(l, l->prev);
	if (!first)
		first = err;
	if (l->cur)
		err = flush(l, l->cur);
	return first ? first : err;
}

int cam_live_window_end_all(struct cam_live *l, uint64_t end_ns)
{
	int err = l->prev ? end_window(l, l->prev) : 0;
	struct cam_live_window *w = l->cur;
	/* One that has just begun, behind what is asked for, goes on. */
	if (!w || (end_ns <= w->start_ns && w->last_ns == w->start_ns))
		return err;
	if (end_ns <= w->last_ns)
		end_ns = w->last_ns + 1;
	uint64_t planned = w->end_ns;
	w->end_ns = end_ns - end_ns % CAM_LIVE_TIME_UNIT;
	if (w->end_ns <= w->last_ns)
		w->end_ns += CAM_LIVE_TIME_UNIT;
	uint64_t ended = w->end_ns;
	int last = end_window(l, w);
	if (last)
		w->end_ns = planned;
	else
		l->next_start_ns = ended;
	return err ? err : last;
}
