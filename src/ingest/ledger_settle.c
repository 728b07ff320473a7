// SPDX-License-Identifier: Apache-2.0
/*
 * Settling an account: a second of a CPU (or a longer stretch that was reported late) is turned
 * into rows, one a cause.
 *
 * All estimates are sums of rate × time (units of a sample / 1e9) that are carried from account to
 * account: what is given as whole samples is taken off, the remainder stays. So rounding, and the
 * 10 ms ticks of /proc/stat, cancel out instead of adding up.
 *
 * Invariants:
 *  1. busy + rows == due of the account, where due >= what was observed. If more fired than was due,
 *     due grows by that and the carried due shrinks: the next account is due less.
 *  2. Each cause gets at most what is left of due - observed, in the order of ledger.h.
 *  3. Idle never gets more than was reported as idle and carried; but a second that is wholly idle
 *     within 2 ticks may borrow these 2 ticks, else every other idle second would have one sample
 *     unexplained.
 *  4. A carry is at most one second's worth either way, for due two (more while COUNTS have not
 *     come: samples are ahead of them); what is beyond is counted.
 *
 * Example: due 97, 60 busy, 5 lost, steal 20 ms (1.94), idle 300 ms (29.1), nothing carried. Missing
 * 32: stolen 1 (0.94 carried), idle 29 (0.1 carried), unexplained 2. In the next second with as much
 * steal stolen is 2 (0.88 carried).
 */
#include "ingest/ledger_parts.h"

#define UNIT ((int64_t)CAM_NS_PER_SEC)
/* So many in a row off the beat, and it is another. */
#define ASTRAY 8u

uint64_t cam_ledger_error(uint32_t hz)
{
	return (2ull * hz * CAM_LEDGER_TICK_NS + CAM_NS_PER_SEC - 1) / CAM_NS_PER_SEC + 1;
}

static int give_one(struct cam_ledger *l, const struct cam_ledger_row *row)
{
	l->stats.by_cause[row->cause] += row->samples;
	return row->samples ? l->o.fn(l->o.arg, row) : 0;
}

int cam_ledger_give(struct cam_ledger *l, const struct cam_ledger_row *row)
{
	if (l->cut_ns <= row->from_ns || l->cut_ns >= row->to_ns)
		return give_one(l, row);
	struct cam_ledger_row before = *row, after = *row;
	before.to_ns = after.from_ns = l->cut_ns;
	before.samples = (uint64_t)((unsigned __int128)row->samples * (l->cut_ns - row->from_ns) /
				    (row->to_ns - row->from_ns));
	after.samples -= before.samples;
	int err = give_one(l, &before);
	int e = give_one(l, &after);
	return err ? err : e;
}

/*
 * The kernel's timer fires at phase + n × period. Where the CPU was not there it fires once, when it is back,
 * off its beat, and the ticks in between never come: those are not BPF's fault. One that another BPF
 * program kept from running leaves the beat as it was. Early is only who defines the beat anew.
 */
void cam_beat_note(struct cam_beat *b, uint32_t hz, uint64_t time_ns)
{
	if (!hz || time_ns <= b->last_ns)
		return;
	uint64_t period = CAM_NS_PER_SEC / hz, slack = period / 16, since = time_ns - b->last_ns;
	uint64_t late = time_ns >= b->phase_ns ? (time_ns - b->phase_ns) % period : 0;
	bool on_time = late <= slack || late >= period - slack;
	if (!b->last_ns || on_time || ++b->astray >= ASTRAY) {
		b->phase_ns = time_ns;
		b->astray = 0;
	} else if (since < CAM_NS_PER_SEC) {
		b->skipped += since / period - (since / period > 0);
	}
	b->last_ns = time_ns;
}

void cam_control_add(struct cam_ledger_cpu *c, const struct cam_ledger_options *o,
		     const struct cam_raw_counts *delta)
{
	struct cam_control *k = &c->control;
	if (!delta->control_hz) {
		*k = (struct cam_control){0};
		return;
	}
	if (k->hz != delta->hz || k->control_hz != delta->control_hz)
		*k = (struct cam_control){.hz = delta->hz,
					  .control_hz = delta->control_hz,
					  .skipped_seen = c->beat.skipped};
	k->skipped += (double)(c->beat.skipped - k->skipped_seen);
	k->skipped_seen = c->beat.skipped;
	double r = (double)delta->hz / delta->control_hz;
	k->enabled_s += (double)delta->enabled_ns / UNIT;
	k->control += (double)delta->control;
	k->expected += (double)delta->control * r;
	k->fired += (double)delta->fired;
	double n = k->enabled_s * k->control_hz, p = (k->control + 1) / (n + 2);
	double m = k->enabled_s * k->hz, q = (k->fired + 1) / (m + 2);
	/* One more tick each: where a tick falls at the ends of the interval. */
	double control_variance = (p < 1 ? n * p * (1 - p) : 0) + 1;
	double own_variance = (!o->due_known ? k->fired : q < 1 ? m * q * (1 - q) : 0) + 1;
	/* One in eight comes back on its beat by chance. */
	double skipped = o->due_known ? k->skipped * 8 / 7 : 0;
	double missing = k->expected - k->fired - skipped;
	bool beyond =
		missing > 0 && missing * missing > 16 * (r * r * control_variance + own_variance);
	k->of_each = beyond && k->fired >= 1 ? missing / k->fired : 0;
	k->of_second = beyond && k->fired < 1 ? missing / k->enabled_s : 0;
	if (k->enabled_s >= 64) {
		k->enabled_s /= 2;
		k->control /= 2;
		k->expected /= 2;
		k->fired /= 2;
		k->skipped /= 2;
	}
}

/* Keeps a carry within `most`; answers the samples that were given up. */
static uint64_t clamp(int64_t *carry, int64_t least, int64_t most)
{
	int64_t over = *carry > most ? *carry - most : *carry < least ? least - *carry : 0;
	if (over)
		*carry = *carry > most ? most : least;
	return (uint64_t)(over / UNIT);
}

/* Whole samples of the carry, at most `most` (0 where the carry is negative). */
static uint64_t take(int64_t *carry, uint64_t most)
{
	uint64_t n = *carry > 0 ? (uint64_t)(*carry / UNIT) : 0;
	if (n > most)
		n = most;
	*carry -= (int64_t)n * UNIT;
	return n;
}

static int64_t scaled(uint64_t amount, uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((unsigned __int128)amount * part / whole) : 0;
}

static uint64_t observed_of(const struct cam_account *a)
{
	uint64_t n = a->lost + a->other;
	for (unsigned i = 0; i < CAM_LEDGER_FATES; i++)
		n += a->fate[i];
	return n;
}

/* Adds what the account says to what is carried. */
static void carry_on(struct cam_ledger_cpu *c, struct cam_account *a, uint64_t observed)
{
	struct cam_carry *k = &c->carry;
	/* Time in which we were not there is nobody's; ticks may run ahead. */
	uint64_t most = a->enabled_ns ? a->enabled_ns + 2 * CAM_LEDGER_TICK_NS : 0;
	if (a->steal_ns > most)
		a->steal_ns = most;
	if (a->idle_ns > most - a->steal_ns)
		a->idle_ns = most - a->steal_ns;
	uint64_t away = a->idle_ns + a->steal_ns;
	uint64_t there = away < a->enabled_ns ? a->enabled_ns - away : 0;
	k->stolen += scaled(a->due_hzns, a->steal_ns, a->enabled_ns);
	k->idle += scaled(a->due_hzns, a->idle_ns, a->enabled_ns) -
		   (int64_t)a->fate[CAM_LEDGER_IDLE] * UNIT;
	k->shed += scaled(a->shed_hzns, there, a->enabled_ns);
	k->throttled += scaled(a->slow_hzns, there, a->enabled_ns) + (int64_t)a->throttled_hzns;
	k->blocked += (int64_t)((double)observed * c->control.of_each * UNIT);
	k->blocked += (int64_t)((double)a->enabled_ns * c->control.of_second);
	k->due += (int64_t)a->due_hzns;
}

/* counted: COUNTS of that time have come; else samples are ahead of what was due by design. */
static void clamp_all(struct cam_ledger *l, struct cam_carry *k, bool counted)
{
	int64_t second = (int64_t)l->o.hz * UNIT;
	l->stats.disagreed += clamp(&k->stolen, -second, second);
	l->stats.disagreed += clamp(&k->idle, -second, second);
	clamp(&k->shed, 0, second);
	clamp(&k->throttled, 0, second);
	clamp(&k->blocked, 0, second);
	l->stats.excess += clamp(&k->due, counted ? -2 * second : -3600 * second, 2 * second);
}

/* Whether the CPU did nothing else, as far as ticks can tell. */
static bool wholly_idle(const struct cam_account *a, uint64_t observed)
{
	return a->enabled_ns && observed == a->fate[CAM_LEDGER_IDLE] &&
	       a->idle_ns + 2 * CAM_LEDGER_TICK_NS >= a->enabled_ns;
}

static uint64_t borrow(struct cam_ledger *l, struct cam_carry *k, uint64_t missing)
{
	int64_t least = -(int64_t)(2 * CAM_LEDGER_TICK_NS * l->o.hz);
	if (k->idle - (int64_t)missing * UNIT < least)
		return 0;
	k->idle -= (int64_t)missing * UNIT;
	return missing;
}

/* Splits what did not fire; answers what was due. */
static uint64_t split(struct cam_ledger *l, struct cam_ledger_cpu *c, struct cam_account *a,
		      uint64_t to_ns, uint64_t n[CAM_CAUSE_MAX])
{
	struct cam_carry *k = &c->carry;
	uint64_t observed = observed_of(a), missing = UINT64_MAX, due = observed;
	enum cam_cause blocked = l->o.bpf ? CAM_CAUSE_BLOCKED : CAM_CAUSE_UNEXPLAINED;
	carry_on(c, a, observed);
	if (l->o.due_known) {
		int64_t whole = k->due / UNIT;
		if (whole > 0 && (uint64_t)whole > due)
			due = (uint64_t)whole;
		k->due -= (int64_t)due * UNIT;
		missing = due - observed;
	}
	uint64_t left = missing;
	left -= n[CAM_CAUSE_STOLEN] = take(&k->stolen, left);
	left -= n[CAM_CAUSE_SHED] = take(&k->shed, left);
	left -= n[CAM_CAUSE_THROTTLED] = take(&k->throttled, left);
	left -= n[blocked] = take(&k->blocked, left);
	uint64_t idle = take(&k->idle, left);
	left -= idle;
	if (l->o.due_known && left && wholly_idle(a, observed)) {
		uint64_t more = borrow(l, k, left);
		left -= more;
		idle += more;
	}
	n[CAM_CAUSE_IDLE] = a->fate[CAM_LEDGER_IDLE] + idle;
	n[CAM_CAUSE_FILTERED] = a->fate[CAM_LEDGER_FILTERED];
	n[CAM_CAUSE_BOUND] = a->fate[CAM_LEDGER_BOUND];
	if (l->o.due_known)
		n[CAM_CAUSE_UNEXPLAINED] += left;
	else
		due = observed + (missing - left);
	clamp_all(l, k, c->counts_ns >= to_ns);
	return due;
}

int cam_account_end_run(struct cam_ledger *l, struct cam_ledger_cpu *c)
{
	if (!c->run_each)
		return 0;
	c->run_each = 0;
	return cam_ledger_give(l, &c->run);
}

/*
 * A row of several seconds is read as the same number in each (journal_sums.h), so only seconds of
 * the same number are joined. Runs of different CPUs end in different seconds: no second pays
 * for all.
 */
static int join_run(struct cam_ledger *l, struct cam_ledger_cpu *c,
		    const struct cam_ledger_row *row)
{
	int err = 0;
	bool joins = c->run_each == row->samples && c->run.cause == row->cause &&
		     c->run.to_ns == row->from_ns;
	if (!joins) {
		err = cam_account_end_run(l, c);
		c->run = *row;
		c->run_each = row->samples;
	} else {
		c->run.to_ns = row->to_ns;
		c->run.samples += row->samples;
	}
	uint64_t next = row->to_ns / CAM_NS_PER_SEC;
	if ((next + c->number) % l->o.merge_seconds == 0) {
		int e = cam_account_end_run(l, c);
		err = err ? err : e;
	}
	return err;
}

int cam_account_settle(struct cam_ledger *l, struct cam_ledger_cpu *c, struct cam_account *a,
		       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t n[CAM_CAUSE_MAX] = {0};
	unsigned rows = 0;
	uint64_t due = split(l, c, a, to_ns, n);
	c->carry.offline += (int64_t)(a->offline_ns * l->o.hz);
	n[CAM_CAUSE_OFFLINE] = take(&c->carry.offline, UINT64_MAX);
	l->stats.due += due + n[CAM_CAUSE_OFFLINE];
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		rows += n[i] != 0;
	bool alone = rows == 1 && !a->lost && !a->other && !a->fate[CAM_LEDGER_BUSY] &&
		     to_ns - from_ns == CAM_NS_PER_SEC;
	int err = 0;
	if (!alone && due + n[CAM_CAUSE_OFFLINE])
		err = cam_account_end_run(l, c);
	for (unsigned i = 0; i < CAM_CAUSE_MAX && rows; i++) {
		struct cam_ledger_row row = {(enum cam_cause)i, c->number, from_ns, to_ns, n[i]};
		if (!n[i])
			continue;
		if (i == CAM_CAUSE_THROTTLED && a->throttled_to) {
			row.from_ns = a->throttled_from;
			row.to_ns = a->throttled_to;
		}
		bool joins = alone && (i == CAM_CAUSE_IDLE || i == CAM_CAUSE_OFFLINE);
		int e = joins ? join_run(l, c, &row) : cam_ledger_give(l, &row);
		err = err ? err : e;
	}
	*a = (struct cam_account){0};
	return err;
}
