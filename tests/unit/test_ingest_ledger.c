// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger against a simulated host whose every tick is known, and against nonsense.
 *
 * The simulated CPU lives in steps of one sampling period: busy, idle, stolen or offline, and each
 * period's tick fires in its middle, or not. So the truth is known by counting; what the ledger is
 * told is what a kernel would tell it: samples with times, LOST by drain round, COUNTS, and
 * /proc/stat cut to ticks of 10 ms.
 */
#include "support_ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum what { W_BUSY, W_IDLE, W_STOLEN, W_KINDS };

/* One simulated CPU. */
struct cpu {
	uint8_t *what; /* by period */
	uint64_t phase_ns;
	struct cam_raw_counts counts;
	uint64_t lost_in_round;
	uint64_t last_counters_ns, said_idle, said_steal;
	uint64_t idle_periods, stolen_periods;
	uint64_t next_counts_ns;
	bool ring_full;
};

struct sim {
	uint64_t random;
	uint64_t start_ns, end_ns, now_ns, last_round_ns;
	uint32_t n_cpus, late_permille, idle_fires_permille, filter_permille, full_permille;
	uint64_t counters_delay_ns;	     /* after the full second */
	uint64_t stall_from_ns, stall_to_ns; /* the recorder does not run */
	struct cpu cpu[BOOK_CPUS];
	struct cam_ledger *l;
	struct book *b;
	uint64_t fired, lost, filtered, busy, idle_fired, late;
};

static const uint64_t period_ns = S / HZ;

static void sim_make_cpu(struct sim *m, struct cpu *c)
{
	uint64_t n = (m->end_ns - m->start_ns) / period_ns + 2;
	c->what = malloc(n);
	assert_non_null(c->what);
	for (uint64_t i = 0; i < n;) {
		uint8_t what = (uint8_t)feed_random(&m->random, W_KINDS);
		uint64_t run = 1 + feed_random(&m->random, what == W_STOLEN ? 10 : 300);
		for (; run-- && i < n; i++)
			c->what[i] = what;
	}
	c->phase_ns = m->start_ns;
	c->last_counters_ns = m->start_ns;
	c->next_counts_ns = m->start_ns + 300 * MS + feed_random(&m->random, S);
}

/* Time that the CPU spent so, from its start to t. */
static uint64_t sim_time(const struct cpu *c, uint64_t t, enum what what)
{
	uint64_t whole = (t - c->phase_ns) / period_ns, n = 0;
	for (uint64_t i = 0; i < whole; i++)
		n += c->what[i] == what;
	return n * period_ns + (c->what[whole] == what ? (t - c->phase_ns) % period_ns : 0);
}

static void sim_tick_of(struct sim *m, uint32_t i, uint64_t k)
{
	struct cpu *c = &m->cpu[i];
	uint64_t t = c->phase_ns + k * period_ns + period_ns / 2;
	enum cam_ledger_fate fate = CAM_LEDGER_BUSY;
	if (c->what[k] == W_STOLEN)
		return;
	if (c->what[k] == W_IDLE) {
		if (feed_random(&m->random, 1000) >= m->idle_fires_permille)
			return;
		fate = CAM_LEDGER_IDLE;
	} else if (feed_random(&m->random, 1000) < m->late_permille) {
		m->late++;
		return;
	}
	c->counts.fired++;
	m->fired++;
	if (c->ring_full) {
		c->counts.lost++;
		c->lost_in_round++;
		m->lost++;
		return;
	}
	c->counts.emitted++;
	if (fate == CAM_LEDGER_BUSY && feed_random(&m->random, 1000) < m->filter_permille)
		fate = CAM_LEDGER_FILTERED;
	assert_int_equal(cam_ledger_sample(m->l, i, t, fate), 0);
	m->idle_fired += fate == CAM_LEDGER_IDLE;
	m->filtered += fate == CAM_LEDGER_FILTERED;
	m->busy += fate == CAM_LEDGER_BUSY;
	if (fate == CAM_LEDGER_BUSY)
		m->b->busy[i][t / S]++;
}

static void sim_counters(struct sim *m, uint32_t i, uint64_t t)
{
	struct cpu *c = &m->cpu[i];
	uint64_t span = t - c->last_counters_ns, tick = CAM_LEDGER_TICK_NS;
	uint64_t idle = sim_time(c, t, W_IDLE) / tick * tick;
	uint64_t steal = sim_time(c, t, W_STOLEN) / tick * tick;
	feed_counter(m->l, i, t, span, CAM_COUNTER_STEAL, steal - c->said_steal);
	feed_counter(m->l, i, t, span, CAM_COUNTER_IDLE, idle - c->said_idle);
	c->said_idle = idle;
	c->said_steal = steal;
	c->last_counters_ns = t;
}

/* One drain round: what happened since the last one comes in, then the clock ticks. */
static void sim_round(struct sim *m, uint64_t t)
{
	for (uint32_t i = 0; i < m->n_cpus; i++) {
		struct cpu *c = &m->cpu[i];
		c->ring_full = feed_random(&m->random, 1000) < m->full_permille;
		uint64_t k = (m->last_round_ns - c->phase_ns + period_ns / 2) / period_ns;
		for (; c->phase_ns + k * period_ns + period_ns / 2 < t; k++)
			sim_tick_of(m, i, k);
		if (c->lost_in_round)
			feed_lost(m->l, i, m->last_round_ns, t, c->lost_in_round);
		c->lost_in_round = 0;
		if (t >= c->next_counts_ns) {
			c->counts.enabled_ns = t - m->start_ns;
			feed_counts(m->l, i, t, c->counts);
			c->next_counts_ns += S;
		}
		uint64_t read = (t - m->counters_delay_ns) / S * S + m->counters_delay_ns;
		if (read > m->last_round_ns && read > c->last_counters_ns)
			sim_counters(m, i, read);
	}
	assert_int_equal(cam_ledger_tick(m->l, t, m->last_round_ns), 0);
	m->last_round_ns = t;
}

static void sim_run(struct sim *m)
{
	m->b = book_new();
	m->l = book_ledger(m->b, true, false);
	for (uint32_t i = 0; i < m->n_cpus; i++)
		sim_make_cpu(m, &m->cpu[i]);
	m->last_round_ns = m->start_ns;
	m->b->cut_ns = m->start_ns + 17 * S + feed_random(&m->random, 2) * 123 * MS;
	cam_ledger_cut(m->l, m->b->cut_ns);
	for (uint64_t t = m->start_ns + 100 * MS; t < m->end_ns; t += 100 * MS)
		if (t <= m->stall_from_ns || t >= m->stall_to_ns)
			sim_round(m, t);
	for (uint32_t i = 0; i < m->n_cpus; i++)
		m->cpu[i].next_counts_ns = 0;
	sim_round(m, m->end_ns);
	assert_int_equal(cam_ledger_flush(m->l, m->end_ns), 0);
}

static void sim_free(struct sim *m)
{
	for (uint32_t i = 0; i < m->n_cpus; i++)
		free(m->cpu[i].what);
	cam_ledger_free(m->l);
	free(m->b);
}

static struct sim sim_random(uint64_t seed)
{
	struct sim m = {.random = seed, .n_cpus = 2, .start_ns = 5 * S + seed % S};
	m.end_ns = m.start_ns + 40 * S + feed_random(&m.random, 20 * S);
	m.late_permille = (uint32_t)feed_random(&m.random, 100);
	m.idle_fires_permille =
		(uint32_t)(feed_random(&m.random, 2) ? feed_random(&m.random, 1000) : 0);
	m.filter_permille = (uint32_t)(feed_random(&m.random, 2) ? feed_random(&m.random, 300) : 0);
	m.full_permille = (uint32_t)(feed_random(&m.random, 2) ? feed_random(&m.random, 50) : 0);
	m.counters_delay_ns = feed_random(&m.random, 300) * MS;
	m.stall_from_ns = UINT64_MAX;
	return m;
}

/* Up to each second, what was due is rate × time since the start, rounded, and nothing else. */
static void check_cumulative(const struct sim *m, uint64_t slack)
{
	for (uint32_t i = 0; i < m->n_cpus; i++) {
		uint64_t sum = 0;
		for (uint64_t s = m->start_ns / S; s <= m->end_ns / S; s++) {
			uint64_t end = (s + 1) * S < m->end_ns ? (s + 1) * S : m->end_ns;
			uint64_t due = (HZ * (end - m->start_ns) + S / 2) / S;
			sum += book_cell(m->b, i, s);
			assert_in_range(sum + slack, due, due + 2 * slack);
		}
	}
}

static void every_second_adds_up(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct sim m = sim_random(seed * 7919);
		sim_run(&m);
		struct cam_ledger_stats st = cam_ledger_stats(m.l);
		uint64_t all = m.busy;
		for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
			all += m.b->sum[i];
		assert_int_equal(all, st.due);
		assert_int_equal(st.busy, m.busy);
		assert_int_equal(st.fired, m.fired);
		/* Exact: error 0. */
		assert_int_equal(m.b->sum[CAM_CAUSE_LOST_RING], m.lost);
		assert_int_equal(m.b->sum[CAM_CAUSE_FILTERED], m.filtered);
		assert_int_equal(m.fired, m.busy + m.lost + m.filtered + m.idle_fired);
		assert_int_equal(st.excess, 0);
		/* A tick in the middle of its period may lie on the other side of a full second, and
		 * a round's lost are spread evenly over it. */
		check_cumulative(&m, m.lost ? 10 : 1);
		sim_free(&m);
	}
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void idle_and_stolen_are_within_their_error(void **state)
{
	(void)state;
	uint64_t error = cam_ledger_error(HZ);
	assert_int_equal(error, 3);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct sim m = sim_random(seed * 104729);
		m.full_permille = 0;
		m.n_cpus = 1;
		/* Read at full seconds, or late by so much that it shows at the end. */
		m.counters_delay_ns = seed % 2 ? 0 : feed_random(&m.random, 300) * MS;
		m.end_ns = m.end_ns / S * S + m.counters_delay_ns;
		uint64_t misplaced = (m.counters_delay_ns * HZ + S - 1) / S;
		sim_run(&m);
		uint64_t idle = 0, stolen = 0, ticks = (m.end_ns - m.start_ns) / period_ns;
		for (uint64_t k = 0; k < ticks; k++) {
			idle += m.cpu[0].what[k] == W_IDLE;
			stolen += m.cpu[0].what[k] == W_STOLEN;
		}
		error = cam_ledger_error(HZ) + misplaced;
		assert_in_range(distance(m.b->sum[CAM_CAUSE_IDLE], idle), 0, error);
		assert_in_range(distance(m.b->sum[CAM_CAUSE_STOLEN], stolen), 0, error);
		assert_in_range(distance(m.b->sum[CAM_CAUSE_UNEXPLAINED], m.late), 0, 2 * error);
		sim_free(&m);
	}
}

/* The recorder is stopped, the ring holds the first seconds; all comes at once afterwards. */
static void a_stalled_recorder_keeps_its_accounts(void **state)
{
	(void)state;
	static const uint64_t stalls[] = {5 * S, 40 * S, 90 * S};
	for (unsigned i = 0; i < 3; i++) {
		struct sim m = sim_random(1234567 + i);
		m.full_permille = 0;
		m.end_ns = m.start_ns + 150 * S;
		m.stall_from_ns = m.start_ns + 20 * S;
		m.stall_to_ns = m.stall_from_ns + stalls[i];
		sim_run(&m);
		struct cam_ledger_stats st = cam_ledger_stats(m.l);
		uint64_t all = m.busy;
		for (unsigned k = 0; k < CAM_CAUSE_MAX; k++)
			all += m.b->sum[k];
		assert_int_equal(all, st.due);
		uint64_t due = HZ * (m.end_ns - m.start_ns) / S * m.n_cpus;
		assert_in_range(all, due - m.n_cpus, due + m.n_cpus);
		assert_int_equal(st.excess, 0);
		if (stalls[i] <= 5 * S)
			check_cumulative(&m, 1);
		sim_free(&m);
	}
}

/* Whatever it is fed, in whatever order: nothing negative, and all of it adds up. */
static void nonsense_adds_up_too(void **state)
{
	(void)state;
	uint64_t seed = 42;
	for (unsigned round = 0; round < 300; round++) {
		struct book *b = book_new();
		struct cam_ledger *l = book_ledger(b, round % 3 != 0, round % 2);
		uint64_t busy = 0, base = 20 * S;
		for (unsigned i = 0; i < 400; i++) {
			base += feed_random(&seed, S);
			if (base > 180 * S)
				base = feed_random(&seed, 180 * S);
			uint64_t t = base + feed_random(&seed, 3 * S);
			uint32_t cpu = (uint32_t)feed_random(&seed, BOOK_CPUS);
			struct cam_ledger_row row = {(enum cam_cause)feed_random(&seed,
										 CAM_CAUSE_MAX),
						     cpu, t - feed_random(&seed, S), t, 1};
			switch (feed_random(&seed, 9)) {
			case 0:
				feed_counts(l, cpu, t,
					    (struct cam_raw_counts){
						    .fired = feed_random(&seed, 5000),
						    .lost = feed_random(&seed, 500),
						    .filtered = feed_random(&seed, 500),
						    .enabled_ns = feed_random(&seed, 100 * S),
						    .control = feed_random(&seed, 500),
						    .control_hz =
							    (uint32_t)feed_random(&seed, 3) * 11,
						    .hz = (uint32_t)feed_random(&seed, 200)});
				break;
			case 1:
				feed_counter(l, cpu, t, feed_random(&seed, 5 * S),
					     feed_random(&seed, 2) ? CAM_COUNTER_IDLE
								   : CAM_COUNTER_STEAL,
					     feed_random(&seed, 6 * S));
				break;
			case 2:
				feed_state(l, cpu, t, CAM_RAW_CPU, feed_random(&seed, 2));
				break;
			case 3:
				feed_state(l, cpu, t,
					   feed_random(&seed, 2) ? CAM_RAW_THROTTLE
								 : CAM_RAW_UNTHROTTLE,
					   false);
				break;
			case 4:
				feed_lost(l, cpu, feed_random(&seed, t + S), t,
					  feed_random(&seed, 100));
				break;
			case 5:
				assert_int_equal(cam_ledger_add(l, &row), 0);
				break;
			case 6:
				cam_ledger_rate(l, t, (uint32_t)feed_random(&seed, 2 * HZ));
				assert_int_equal(cam_ledger_tick(l, t, t), 0);
				break;
			case 7:
				if (feed_random(&seed, 20) == 0)
					assert_int_equal(cam_ledger_flush(l, t), 0);
				break;
			default:
				for (uint64_t n = feed_random(&seed, 150); n--; busy++)
					cam_ledger_sample(l, cpu, t, CAM_LEDGER_BUSY);
			}
		}
		assert_int_equal(cam_ledger_flush(l, 190 * S), 0);
		struct cam_ledger_stats st = cam_ledger_stats(l);
		uint64_t all = busy;
		for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
			assert_int_equal(b->sum[i], st.by_cause[i]);
			all += b->sum[i];
		}
		assert_int_equal(st.busy, busy);
		assert_int_equal(all, st.due);
		cam_ledger_free(l);
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_second_adds_up),
		cmocka_unit_test(idle_and_stolen_are_within_their_error),
		cmocka_unit_test(a_stalled_recorder_keeps_its_accounts),
		cmocka_unit_test(nonsense_adds_up_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
