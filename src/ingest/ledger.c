// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger, who feeds it and when: everything that is said about a stretch of time is laid onto
 * the seconds it covers, and a second is settled (ledger_settle.c) when all has come.
 *
 * Why like this: the reports come at times of their own. Samples have exact times; COUNTS and
 * /proc/stat report about a second that begins anywhere; lost records belong to a drain round. A
 * row per report could not be added up; a row per second can, and is what the window's cells show.
 *
 * Invariants:
 *  1. An amount laid onto several seconds is laid on whole: the part of each is the floor of what
 *     lies before its end less that before its start, just as a window's cells spread a row.
 *  2. Nothing is laid onto settled time: what comes too late goes into the CPU's `late` account
 *     with the stretch it belongs to, and is settled, as one row a cause, with the next second.
 *  3. All CPUs are settled up to the same instant, settled_ns; seconds are open from there on, at
 *     most CAM_LEDGER_OPEN. Beyond: the oldest is settled with what it has.
 *  4. lost_given = the larger of what LOST records said and what COUNTS said an interval ago: a
 *     LOST record that is a round behind COUNTS is not counted twice, one that never comes is not
 *     missed.
 *
 * Example, 97 Hz, second 12: COUNTS at 11.4 and 12.4 and 13.4 with 1 s enabled each put 0.6 s of the
 * second and 0.4 s of the third delta onto second 12, 97 samples due. 60 samples came, 10 were lost
 * in the round 11.9 to 12.1: 5 of them here. /proc/stat, read at 12.001 and 13.001, said 300 ms idle
 * (29.1). Rows: LOST_RING 10 from 11.9 to 12.1, IDLE 29, UNEXPLAINED 97 - 60 - 5 - 29 = 3.
 */
#include "ingest/ledger_parts.h"

#include <errno.h>
#include <stdlib.h>

#define GRACE_NS  (3 * CAM_NS_PER_SEC)
#define MARGIN_NS (500 * CAM_NS_PER_MS) /* a LOST record may look back by a drain round */

#define FIELD(name) offsetof(struct cam_account, name)

int cam_ledger_new(const struct cam_ledger_options *o, struct cam_ledger **out)
{
	if (!o->hz || !o->fn)
		return -EINVAL;
	struct cam_ledger *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->o = *o;
	if (!l->o.merge_seconds)
		l->o.merge_seconds = 5;
	l->asked_hz = l->asked_hz_before = o->hz;
	l->settled_ns = CAM_TIME_NONE;
	l->patience_ns = 1;
	l->stats.bytes = sizeof(*l);
	*out = l;
	return 0;
}

void cam_ledger_free(struct cam_ledger *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n_cpus; i++)
		free(l->cpus[i]);
	free(l);
}

/* *out is NULL for a CPU beyond the bound. */
static int cpu_of(struct cam_ledger *l, uint32_t number, struct cam_ledger_cpu **out)
{
	*out = NULL;
	if (number >= CAM_LEDGER_MAX_CPUS) {
		l->stats.no_room++;
		return 0;
	}
	if (!l->cpus[number]) {
		struct cam_ledger_cpu *c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		c->number = number;
		c->throttled_since = c->offline_since = c->still_since = CAM_TIME_NONE;
		c->carry.due = c->carry.offline = CAM_NS_PER_SEC / 2; /* rounds to nearest */
		l->cpus[number] = c;
		l->stats.cpus++;
		l->stats.bytes += sizeof(*c);
		if (number >= l->n_cpus)
			l->n_cpus = number + 1;
	}
	*out = l->cpus[number];
	return 0;
}

static uint64_t part_before(uint64_t from, uint64_t to, uint64_t amount, uint64_t t)
{
	if (t <= from)
		return 0;
	if (t >= to)
		return amount;
	return (uint64_t)((unsigned __int128)amount * (t - from) / (to - from));
}

static void lay_late(struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t from, uint64_t to,
		     uint64_t amount, size_t field)
{
	struct cam_account *a = &c->late;
	if (to > l->settled_ns)
		to = l->settled_ns;
	if (a->from_ns == a->to_ns) {
		a->from_ns = from;
		a->to_ns = to > from ? to : from + 1;
	}
	if (from < a->from_ns)
		a->from_ns = from;
	if (to > a->to_ns)
		a->to_ns = to;
	*(uint64_t *)((char *)a + field) += amount;
}

/* The times between which throttling lasted within an account: the kernel's own, so rows keep them. */
static void mark_throttled(struct cam_account *a, uint64_t from, uint64_t to)
{
	if (!a->throttled_to || from < a->throttled_from)
		a->throttled_from = from;
	if (to > a->throttled_to)
		a->throttled_to = to;
}

/* Onto open seconds only: from lies before the end of the last one. */
static void lay(struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t from, uint64_t to,
		uint64_t amount, size_t field)
{
	uint64_t done = part_before(from, to, amount, l->settled_ns);
	if (done)
		lay_late(l, c, from, to, done, field);
	uint64_t start = from > l->settled_ns ? from : l->settled_ns;
	uint64_t last = to > from ? (to - 1) / CAM_NS_PER_SEC : start / CAM_NS_PER_SEC;
	for (uint64_t s = start / CAM_NS_PER_SEC; s <= last && done < amount; s++) {
		struct cam_account *a = &c->second[s % CAM_LEDGER_OPEN];
		uint64_t end = (s + 1) * CAM_NS_PER_SEC;
		uint64_t upto = from == to ? amount : part_before(from, to, amount, end);
		*(uint64_t *)((char *)a + field) += upto - done;
		if (field == FIELD(throttled_hzns))
			mark_throttled(a, start > s * CAM_NS_PER_SEC ? start : s * CAM_NS_PER_SEC,
				       to < end ? to : end);
		done = upto;
	}
}

/* What is still going on is laid on as far as `upto`. */
static void lay_ongoing(struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t upto)
{
	if (c->offline_since < upto) {
		lay(l, c, c->offline_since, upto, upto - c->offline_since, FIELD(offline_ns));
		c->offline_since = upto;
	}
	if (c->throttled_since < upto) {
		lay(l, c, c->throttled_since, upto, l->o.hz * (upto - c->throttled_since),
		    FIELD(throttled_hzns));
		c->throttled_since = upto;
	}
}

static bool complete(const struct cam_ledger *l, const struct cam_ledger_cpu *c, uint64_t end)
{
	if (!c || !c->sampled || c->offline_since != CAM_TIME_NONE)
		return true;
	return c->counts_ns >= end && (l->o.of_threads || c->counters_ns >= end);
}

/* end is at most the end of the begun second. */
static int settle_upto(struct cam_ledger *l, uint64_t end)
{
	uint64_t second = l->settled_ns / CAM_NS_PER_SEC;
	int err = 0;
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		struct cam_ledger_cpu *c = l->cpus[i];
		if (!c)
			continue;
		lay_ongoing(l, c, end);
		if (!complete(l, c, end))
			l->stats.late_seconds++;
		int e = 0;
		if (c->late.from_ns != c->late.to_ns)
			e = cam_account_settle(l, c, &c->late, c->late.from_ns, c->late.to_ns);
		err = err ? err : e;
		e = cam_account_settle(l, c, &c->second[second % CAM_LEDGER_OPEN], l->settled_ns,
				       end);
		err = err ? err : e;
	}
	l->settled_ns = end;
	if (end % CAM_NS_PER_SEC == 0)
		l->closable_ns[second % CAM_LEDGER_OPEN] = 0;
	return err;
}

static uint64_t end_of_begun(const struct cam_ledger *l)
{
	return (l->settled_ns / CAM_NS_PER_SEC + 1) * CAM_NS_PER_SEC;
}

/* Makes sure that time_ns lies in an open second, or before. */
static int reach(struct cam_ledger *l, uint64_t time_ns)
{
	uint64_t second = time_ns / CAM_NS_PER_SEC;
	if (l->settled_ns == CAM_TIME_NONE)
		l->settled_ns = (second > 2 ? second - 2 : 0) * CAM_NS_PER_SEC;
	int err = 0;
	for (unsigned i = 0; second >= l->settled_ns / CAM_NS_PER_SEC + CAM_LEDGER_OPEN; i++) {
		/* All that were open are empty now: the rest is one step. */
		if (i == CAM_LEDGER_OPEN) {
			l->settled_ns = (second - CAM_LEDGER_OPEN + 1) * CAM_NS_PER_SEC;
			break;
		}
		int e = settle_upto(l, end_of_begun(l));
		err = err ? err : e;
	}
	return err;
}

int cam_ledger_sample(struct cam_ledger *l, uint32_t cpu, uint64_t time_ns,
		      enum cam_ledger_fate fate)
{
	struct cam_ledger_cpu *c;
	int err = cpu_of(l, cpu, &c);
	if (err || !c)
		return err;
	c->sampled = true;
	cam_beat_note(&c->beat, c->control.hz, time_ns);
	err = reach(l, time_ns);
	if (fate == CAM_LEDGER_BUSY)
		l->stats.busy++;
	lay(l, c, time_ns, time_ns, 1, FIELD(fate) + (size_t)fate * sizeof(uint64_t));
	return err;
}

static int give_lost(struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t from, uint64_t to,
		     uint64_t upto)
{
	if (upto <= c->lost_given)
		return 0;
	struct cam_ledger_row row = {CAM_CAUSE_LOST_RING, c->number, from < to ? from : to, to,
				     upto - c->lost_given};
	c->lost_given = upto;
	lay(l, c, row.from_ns, to, row.samples, FIELD(lost));
	return cam_ledger_give(l, &row);
}

/* What the rate asked for, and the kernel's rate, cost of the time enabled in [from, to). */
static void lay_rates(struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t from, uint64_t to,
		      uint64_t enabled, uint32_t kernel_hz)
{
	uint32_t due_hz = l->o.hz > kernel_hz ? l->o.hz : kernel_hz;
	uint64_t before = part_before(from, to, enabled, l->asked_ns);
	uint64_t change = l->asked_ns < from ? from : l->asked_ns > to ? to : l->asked_ns;
	lay(l, c, from, to, enabled, FIELD(enabled_ns));
	lay(l, c, from, to, enabled * due_hz, FIELD(due_hzns));
	if (l->o.hz > l->asked_hz_before)
		lay(l, c, from, change, before * (l->o.hz - l->asked_hz_before), FIELD(shed_hzns));
	if (l->o.hz > l->asked_hz)
		lay(l, c, change, to, (enabled - before) * (l->o.hz - l->asked_hz),
		    FIELD(shed_hzns));
	if (kernel_hz && kernel_hz < l->asked_hz)
		lay(l, c, change, to, (enabled - before) * (l->asked_hz - kernel_hz),
		    FIELD(slow_hzns));
}

/* The event was opened anew: its counts begin at 0 again. */
static void forget_counts(struct cam_ledger_cpu *c)
{
	c->last = (struct cam_raw_counts){0};
	c->counts_ns = 0;
	c->lost_seen = c->lost_given = 0;
	c->lost_from_ns = 0;
	c->still_since = CAM_TIME_NONE;
}

/*
 * Until when the event was enabled. It ends with its CPU, and that is found out up to two counts later:
 * a CPU of which we hear then that it is offline has been since its time stood still.
 */
static uint64_t enabled_until(const struct cam_ledger *l, struct cam_ledger_cpu *c, uint64_t from,
			      uint64_t to, uint64_t enabled)
{
	if (l->o.of_threads || enabled >= to - from - (to - from) / 16) {
		c->still_since = CAM_TIME_NONE;
		return to;
	}
	if (c->still_since == CAM_TIME_NONE || enabled)
		c->still_since = from + enabled;
	return from + enabled;
}

static int take_counts(struct cam_ledger *l, struct cam_ledger_cpu *c, const struct cam_raw *r)
{
	const struct cam_raw_counts *now = &r->counts;
	if (now->enabled_ns < c->last.enabled_ns || now->fired < c->last.fired ||
	    now->lost < c->last.lost || now->filtered < c->last.filtered)
		forget_counts(c);
	if (r->time_ns <= c->counts_ns)
		return 0;
	const struct cam_raw_counts *old = &c->last;
	struct cam_raw_counts delta = {
		.fired = now->fired - old->fired,
		.emitted = now->emitted > old->emitted ? now->emitted - old->emitted : 0,
		.filtered = now->filtered - old->filtered,
		.enabled_ns = now->enabled_ns - old->enabled_ns,
		.control = now->control > old->control ? now->control - old->control : 0,
		.control_hz = now->control_hz,
		.hz = now->hz ? now->hz : l->asked_hz,
	};
	uint64_t from = c->counts_ns;
	if (!from) /* the first: from when it was opened */
		from = r->time_ns - (delta.enabled_ns < r->time_ns ? delta.enabled_ns : r->time_ns);
	/* A clock that counted on through a suspend: that time is SUSPENDED, and not due here. */
	uint64_t most = (r->time_ns - from) + (r->time_ns - from) / 512;
	if (delta.enabled_ns > most)
		delta.enabled_ns = most;
	uint64_t until = enabled_until(l, c, from, r->time_ns, delta.enabled_ns);
	lay_rates(l, c, from, until, delta.enabled_ns, now->hz);
	lay(l, c, from, r->time_ns, delta.filtered,
	    FIELD(fate) + CAM_LEDGER_FILTERED * sizeof(uint64_t));
	cam_control_add(c, &l->o, &delta);
	l->stats.fired += delta.fired;
	l->stats.emitted += delta.emitted;
	int err = c->counts_ns ? give_lost(l, c, c->lost_from_ns, c->counts_ns, old->lost) : 0;
	c->lost_from_ns = from;
	c->last = *now;
	c->counts_ns = r->time_ns;
	return err;
}

static void take_cpu(struct cam_ledger *l, struct cam_ledger_cpu *c, const struct cam_raw *r)
{
	lay_ongoing(l, c, r->time_ns);
	c->throttled_since = CAM_TIME_NONE;
	bool away = !r->cpu_state.online && !l->o.of_threads;
	c->offline_since = !away			 ? CAM_TIME_NONE
			   : c->still_since < r->time_ns ? c->still_since
							 : r->time_ns;
	if (r->cpu_state.online)
		forget_counts(c);
}

int cam_ledger_raw(struct cam_ledger *l, const struct cam_raw *r)
{
	bool ours = r->type == CAM_RAW_LOST
			    ? !r->lost.side_band
			    : r->type == CAM_RAW_THROTTLE || r->type == CAM_RAW_UNTHROTTLE ||
				      r->type == CAM_RAW_COUNTS || r->type == CAM_RAW_CPU;
	struct cam_ledger_cpu *c = NULL;
	int err = ours ? cpu_of(l, r->cpu, &c) : 0;
	if (err || !c)
		return err;
	c->sampled = true;
	err = reach(l, r->time_ns);
	int e = 0;
	if (r->type == CAM_RAW_LOST && r->lost.queue) {
		/* The source emitted these: they are not in its own count of what it lost. */
		const struct cam_ledger_row row = {CAM_CAUSE_LOST_QUEUE, r->cpu, r->lost.from_ns,
						   r->time_ns, r->lost.records};
		e = cam_ledger_add(l, &row);
	} else if (r->type == CAM_RAW_LOST) {
		c->lost_seen += r->lost.records;
		e = give_lost(l, c, r->lost.from_ns, r->time_ns, c->lost_seen);
	} else if (r->type == CAM_RAW_COUNTS) {
		l->source_hz = r->counts.hz ? r->counts.hz : l->source_hz;
		e = take_counts(l, c, r);
	} else if (r->type == CAM_RAW_CPU) {
		take_cpu(l, c, r);
	} else {
		lay_ongoing(l, c, r->time_ns);
		c->throttled_since = r->type == CAM_RAW_THROTTLE ? r->time_ns : CAM_TIME_NONE;
	}
	return err ? err : e;
}

int cam_ledger_counter(struct cam_ledger *l, const struct cam_counter *k)
{
	struct cam_ledger_cpu *c = NULL;
	bool ours =
		!l->o.of_threads && (k->kind == CAM_COUNTER_IDLE || k->kind == CAM_COUNTER_STEAL);
	int err = ours ? cpu_of(l, k->subject, &c) : 0;
	if (err || !c)
		return err;
	err = reach(l, k->time_ns);
	uint64_t from = k->time_ns - (k->span_ns < k->time_ns ? k->span_ns : k->time_ns);
	lay(l, c, from, k->time_ns, k->value,
	    k->kind == CAM_COUNTER_IDLE ? FIELD(idle_ns) : FIELD(steal_ns));
	if (k->kind == CAM_COUNTER_IDLE && k->time_ns > c->counters_ns)
		c->counters_ns = k->time_ns;
	return err;
}

uint32_t cam_ledger_source_hz(const struct cam_ledger *l)
{
	return l->source_hz;
}

void cam_ledger_rate(struct cam_ledger *l, uint64_t time_ns, uint32_t hz)
{
	l->asked_hz_before = l->asked_hz;
	l->asked_hz = hz;
	l->asked_ns = time_ns;
}

int cam_ledger_suspended(struct cam_ledger *l, uint64_t from_ns, uint64_t to_ns, uint64_t asleep_ns)
{
	int err = 0;
	uint64_t n = (uint64_t)((unsigned __int128)l->o.hz * asleep_ns / CAM_NS_PER_SEC);
	for (uint32_t i = 0; i < l->n_cpus && n && !l->o.of_threads; i++) {
		if (!l->cpus[i] || !l->cpus[i]->sampled)
			continue;
		struct cam_ledger_row row = {CAM_CAUSE_SUSPENDED, i, from_ns, to_ns, n};
		int e = cam_ledger_give(l, &row);
		l->stats.due += n;
		err = err ? err : e;
	}
	return err;
}

int cam_ledger_add(struct cam_ledger *l, const struct cam_ledger_row *row)
{
	if ((unsigned)row->cause >= CAM_CAUSE_MAX || row->to_ns < row->from_ns)
		return -EINVAL;
	struct cam_ledger_cpu *c = NULL;
	int err = row->cpu == CAM_CPU_NONE ? 0 : cpu_of(l, row->cpu, &c);
	if (c) {
		int e = reach(l, row->to_ns);
		err = err ? err : e;
		lay(l, c, row->from_ns, row->to_ns, row->samples, FIELD(other));
	}
	int e = cam_ledger_give(l, row);
	return err ? err : e;
}

static bool all_complete(const struct cam_ledger *l, uint64_t end)
{
	for (uint32_t i = 0; i < l->n_cpus; i++)
		if (!complete(l, l->cpus[i], end))
			return false;
	return true;
}

int cam_ledger_tick(struct cam_ledger *l, uint64_t now_ns, uint64_t released_ns)
{
	uint64_t step = now_ns > l->last_now_ns ? now_ns - l->last_now_ns : 0;
	l->patience_ns += step < CAM_NS_PER_SEC ? step : CAM_NS_PER_SEC;
	l->last_now_ns = now_ns;
	if (l->settled_ns == CAM_TIME_NONE)
		return 0;
	uint64_t begun = l->settled_ns / CAM_NS_PER_SEC;
	for (unsigned i = 0; i < CAM_LEDGER_OPEN; i++) {
		uint64_t *since = &l->closable_ns[(begun + i) % CAM_LEDGER_OPEN];
		if (released_ns < (begun + i + 1) * CAM_NS_PER_SEC + MARGIN_NS)
			break;
		if (!*since)
			*since = l->patience_ns;
	}
	int err = 0;
	for (;;) {
		uint64_t end = end_of_begun(l);
		uint64_t since = l->closable_ns[(end / CAM_NS_PER_SEC - 1) % CAM_LEDGER_OPEN];
		if (!since || (!all_complete(l, end) && l->patience_ns - since < GRACE_NS))
			return err;
		int e = settle_upto(l, end);
		err = err ? err : e;
	}
}

void cam_ledger_cut(struct cam_ledger *l, uint64_t at_ns)
{
	l->cut_ns = at_ns;
}

int cam_ledger_flush(struct cam_ledger *l, uint64_t end_ns)
{
	if (l->settled_ns == CAM_TIME_NONE)
		return 0;
	int err = reach(l, end_ns);
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		struct cam_ledger_cpu *c = l->cpus[i];
		int e = c ? give_lost(l, c, c->lost_from_ns, c->counts_ns, c->last.lost) : 0;
		err = err ? err : e;
	}
	while (l->settled_ns < end_ns) {
		uint64_t end = end_of_begun(l);
		int e = settle_upto(l, end < end_ns ? end : end_ns);
		err = err ? err : e;
	}
	for (uint32_t i = 0; i < l->n_cpus; i++) {
		struct cam_ledger_cpu *c = l->cpus[i];
		if (!c)
			continue;
		int e = cam_account_end_run(l, c);
		err = err ? err : e;
	}
	return err;
}

struct cam_ledger_stats cam_ledger_stats(const struct cam_ledger *l)
{
	return l->stats;
}
