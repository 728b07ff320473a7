// SPDX-License-Identifier: Apache-2.0
/* Who gets what, cause by cause: each by an example whose answer can be worked out by hand. */
#include "support_ledger.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const uint64_t period_ns = S / HZ;

/* Of one CPU: COUNTS and counters at each full second from `from` to `to`. */
static void feed_seconds(struct cam_ledger *l, uint32_t cpu, uint64_t from, uint64_t to,
			 uint64_t idle_ns)
{
	for (uint64_t s = from + 1; s <= to; s++) {
		feed_counts(l, cpu, s * S, (struct cam_raw_counts){.enabled_ns = s * S - 10 * S});
		feed_counter(l, cpu, s * S, S, CAM_COUNTER_IDLE, idle_ns);
		assert_int_equal(cam_ledger_tick(l, s * S + S / 2, s * S + S / 2), 0);
	}
}

/* Those of ledger.c and ledger_settle.c. */
static void the_documented_examples_hold(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint64_t i = 0; i < 60; i++)
		cam_ledger_sample(l, 0, 12 * S + i * 16 * MS, CAM_LEDGER_BUSY);
	feed_lost(l, 0, 11900 * MS, 12100 * MS, 10);
	for (uint64_t i = 1; i <= 3; i++)
		feed_counts(l, 0, 10400 * MS + i * S, (struct cam_raw_counts){.enabled_ns = i * S});
	feed_counter(l, 0, 12001 * MS, S, CAM_COUNTER_IDLE, 0);
	feed_counter(l, 0, 13001 * MS, S, CAM_COUNTER_IDLE, 300 * MS);
	assert_int_equal(cam_ledger_flush(l, 13 * S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_RING], 10);
	assert_int_equal(b->cell[0][12][CAM_CAUSE_LOST_RING], 5);
	assert_int_equal(b->cell[0][12][CAM_CAUSE_IDLE], 29);
	assert_int_equal(b->cell[0][12][CAM_CAUSE_UNEXPLAINED], 3);
	cam_ledger_free(l);
	free(b);

	b = book_new();
	l = book_ledger(b, true, false);
	for (uint64_t s = 10; s < 12; s++) {
		for (uint64_t i = 0; i < 60; i++)
			cam_ledger_sample(l, 0, s * S + i * 16 * MS, CAM_LEDGER_BUSY);
		feed_lost(l, 0, s * S + 1, s * S + MS, 5);
		feed_counts(l, 0, (s + 1) * S, (struct cam_raw_counts){.enabled_ns = (s - 9) * S});
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_STEAL, 20 * MS);
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_IDLE, 300 * MS);
	}
	assert_int_equal(cam_ledger_flush(l, 12 * S), 0);
	assert_int_equal(b->cell[0][10][CAM_CAUSE_STOLEN], 1);
	assert_int_equal(b->cell[0][10][CAM_CAUSE_IDLE], 29);
	assert_int_equal(b->cell[0][10][CAM_CAUSE_UNEXPLAINED], 2);
	assert_int_equal(b->cell[0][11][CAM_CAUSE_STOLEN], 2);
	cam_ledger_free(l);
	free(b);
}

static void idle_seconds_become_few_rows(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	b->cut_ns = 50 * S;
	cam_ledger_cut(l, b->cut_ns);
	for (uint64_t s = 11; s <= 110; s++) {
		for (uint32_t cpu = 0; cpu < BOOK_CPUS; cpu++) {
			feed_counts(l, cpu, s * S,
				    (struct cam_raw_counts){.enabled_ns = s * S - 10 * S});
			/* Ticks are never exact: 99, 101, 99, … */
			feed_counter(l, cpu, s * S, S, CAM_COUNTER_IDLE,
				     (s % 2 ? 99 : 101) * CAM_LEDGER_TICK_NS);
		}
		assert_int_equal(cam_ledger_tick(l, s * S + S / 2, s * S + S / 2), 0);
	}
	assert_int_equal(cam_ledger_flush(l, 110 * S), 0);
	for (uint32_t cpu = 0; cpu < BOOK_CPUS; cpu++)
		for (uint64_t s = 10; s < 110; s++)
			assert_int_equal(b->cell[cpu][s][CAM_CAUSE_IDLE], HZ);
	assert_int_equal(b->sum[CAM_CAUSE_IDLE], 100 * HZ * BOOK_CPUS);
	assert_int_equal(b->sum[CAM_CAUSE_UNEXPLAINED], 0);
	assert_in_range(b->rows, 20 * BOOK_CPUS, 22 * BOOK_CPUS);
	cam_ledger_free(l);
	free(b);
}

/* Nobody said that it was idle: then it is not drawn so, and comes all the same. */
static void time_without_counters_is_not_idle(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint64_t s = 11; s <= 20; s++) {
		feed_counts(l, 1, s * S, (struct cam_raw_counts){.enabled_ns = s * S - 10 * S});
		assert_int_equal(cam_ledger_tick(l, s * S + S / 2, s * S + S / 2), 0);
		uint64_t settled = s >= 14 ? s - 13 : 0;
		assert_int_equal(b->sum[CAM_CAUSE_UNEXPLAINED], settled * HZ);
	}
	assert_int_equal(b->sum[CAM_CAUSE_IDLE], 0);
	cam_ledger_free(l);
	free(b);
}

static void a_cpu_that_is_offline_is_not_idle(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	feed_seconds(l, 2, 10, 20, S);
	feed_state(l, 2, 20 * S + S / 2, CAM_RAW_CPU, false);
	for (uint64_t s = 21; s <= 50; s++)
		assert_int_equal(cam_ledger_tick(l, s * S + S / 2, s * S + S / 2), 0);
	feed_state(l, 2, 50 * S + S / 4, CAM_RAW_CPU, true);
	/* Counts begin anew. */
	for (uint64_t s = 51; s <= 60; s++) {
		feed_counts(l, 2, s * S,
			    (struct cam_raw_counts){.enabled_ns = s * S - 50 * S - S / 4});
		feed_counter(l, 2, s * S, S, CAM_COUNTER_IDLE, S);
	}
	assert_int_equal(cam_ledger_flush(l, 60 * S), 0);
	for (uint64_t s = 21; s < 50; s++)
		assert_int_equal(b->cell[2][s][CAM_CAUSE_OFFLINE], HZ);
	assert_in_range(b->sum[CAM_CAUSE_OFFLINE], HZ * 2975 / 100, HZ * 2975 / 100 + 1);
	assert_in_range(b->sum[CAM_CAUSE_IDLE], HZ * 1975 / 100 - 1, HZ * 1975 / 100 + 1);
	assert_in_range(b->rows, 10, 20);
	cam_ledger_free(l);
	free(b);
}

/* It went at 20.5 s; the next counts, at 21 s, show half a second, those at 22 s none, and then it is told. */
static void a_cpu_is_offline_since_its_time_stood_still(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint64_t s = 11; s <= 20; s++) {
		feed_counts(l, 2, s * S, (struct cam_raw_counts){.enabled_ns = (s - 10) * S});
		assert_int_equal(cam_ledger_tick(l, s * S + S / 4, s * S + S / 4), 0);
	}
	for (uint64_t s = 21; s <= 22; s++)
		feed_counts(l, 2, s * S, (struct cam_raw_counts){.enabled_ns = 10 * S + S / 2});
	feed_state(l, 2, 22 * S, CAM_RAW_CPU, false);
	assert_int_equal(cam_ledger_flush(l, 30 * S), 0);
	assert_in_range(b->sum[CAM_CAUSE_OFFLINE], HZ * 95 / 10, HZ * 95 / 10 + 1);
	assert_in_range(b->sum[CAM_CAUSE_UNEXPLAINED], HZ * 105 / 10, HZ * 105 / 10 + 1);
	assert_int_equal(b->cell[2][21][CAM_CAUSE_OFFLINE], HZ);
	cam_ledger_free(l);
	free(b);
}

static void suspended_time_has_its_samples(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	feed_seconds(l, 0, 10, 20, S);
	feed_seconds(l, 3, 10, 20, S);
	/* Only its counters are known: it is not sampled. */
	feed_counter(l, 1, 20 * S, S, CAM_COUNTER_IDLE, S);
	assert_int_equal(cam_ledger_suspended(l, 19 * S, 20 * S - 1, 3600 * S), 0);
	/* A kernel whose event clock ran on through it. */
	feed_counts(l, 0, 21 * S, (struct cam_raw_counts){.enabled_ns = 11 * S + 3600 * S});
	feed_counts(l, 3, 21 * S, (struct cam_raw_counts){.enabled_ns = 11 * S});
	assert_int_equal(cam_ledger_flush(l, 21 * S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_SUSPENDED], 2ull * 3600 * HZ);
	assert_int_equal(b->cell[0][19][CAM_CAUSE_SUSPENDED], 3600 * HZ);
	assert_int_equal(b->cell[1][19][CAM_CAUSE_SUSPENDED], 0);
	assert_int_equal(b->sum[CAM_CAUSE_IDLE], 2 * 10 * HZ);
	assert_in_range(b->sum[CAM_CAUSE_UNEXPLAINED], 2 * HZ, 2 * HZ + 1);
	cam_ledger_free(l);
	free(b);
}

static void throttled_rows_have_the_kernels_times(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint64_t i = 0; i < HZ * 2; i++)
		if (i < 20 || i >= 71) /* from 10.2 to 10.73 it was throttled */
			cam_ledger_sample(l, 0, 10 * S + i * period_ns + MS, CAM_LEDGER_BUSY);
	feed_state(l, 0, 10 * S + 200 * MS, CAM_RAW_THROTTLE, false);
	feed_state(l, 0, 10 * S + 730 * MS, CAM_RAW_UNTHROTTLE, false);
	feed_seconds(l, 0, 10, 12, 0);
	assert_int_equal(cam_ledger_flush(l, 12 * S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_THROTTLED], 51);
	assert_int_equal(b->last[CAM_CAUSE_THROTTLED].from_ns, 10 * S + 200 * MS);
	assert_int_equal(b->last[CAM_CAUSE_THROTTLED].to_ns, 10 * S + 730 * MS);
	assert_int_equal(b->sum[CAM_CAUSE_UNEXPLAINED], 0);
	/* Over the end of a second, and never ended: as far as it is settled. */
	feed_state(l, 0, 12 * S + 500 * MS, CAM_RAW_THROTTLE, false);
	feed_seconds(l, 0, 12, 14, 0);
	assert_int_equal(cam_ledger_flush(l, 14 * S), 0);
	assert_in_range(b->sum[CAM_CAUSE_THROTTLED], 51 + 145, 51 + 146);
	cam_ledger_free(l);
	free(b);
}

static void lost_records_that_only_counts_know_are_not_missed(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	struct cam_raw_counts k = {.enabled_ns = S, .fired = 97, .lost = 40, .emitted = 57};
	feed_lost(l, 0, 10 * S, 10 * S + 200 * MS, 30);
	feed_counts(l, 0, 11 * S, k);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_RING], 30);
	/* It comes a round later: by its own round, and not twice. */
	feed_lost(l, 0, 10 * S + 900 * MS, 11 * S + 100 * MS, 10);
	assert_int_equal(b->last[CAM_CAUSE_LOST_RING].from_ns, 10 * S + 900 * MS);
	k.enabled_ns = 2 * S;
	k.lost = 45;
	k.fired = 2 * 97;
	feed_counts(l, 0, 12 * S, k);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_RING], 40);
	k.enabled_ns = 3 * S;
	feed_counts(l, 0, 13 * S, k);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_RING], 45);
	assert_int_equal(b->last[CAM_CAUSE_LOST_RING].from_ns, 11 * S);
	assert_int_equal(b->last[CAM_CAUSE_LOST_RING].to_ns, 12 * S);
	/* A lost side band is not samples. */
	struct cam_raw r = {.type = CAM_RAW_LOST, .time_ns = 13 * S, .lost = {9, 12 * S, true}};
	assert_int_equal(cam_ledger_raw(l, &r), 0);
	assert_int_equal(cam_ledger_flush(l, 13 * S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_RING], 45);
	cam_ledger_free(l);
	free(b);
}

/* A recorder that did not run did not wait either: its 3 s of patience are of its own time. */
static void a_stall_is_no_reason_to_give_up(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	feed_seconds(l, 0, 10, 12, S);
	assert_int_equal(cam_ledger_tick(l, 13 * S + 600 * MS, 13 * S + 600 * MS), 0);
	assert_int_equal(cam_ledger_tick(l, 20 * S, 20 * S), 0);
	assert_int_equal(cam_ledger_stats(l).late_seconds, 0);
	feed_counts(l, 0, 20 * S, (struct cam_raw_counts){.enabled_ns = 10 * S});
	feed_counter(l, 0, 20 * S, 8 * S, CAM_COUNTER_IDLE, 8 * S);
	assert_int_equal(cam_ledger_tick(l, 20 * S + 200 * MS, 20 * S + 600 * MS), 0);
	assert_int_equal(cam_ledger_flush(l, 20 * S), 0);
	assert_int_equal(cam_ledger_stats(l).late_seconds, 0);
	for (uint64_t s = 10; s < 20; s++)
		assert_int_equal(b->cell[0][s][CAM_CAUSE_IDLE], HZ);
	cam_ledger_free(l);
	free(b);
}

/* Ours fires with probability `own`, the control event as the CPU does. */
static struct book *with_control(uint64_t seed, uint32_t own_permille, uint32_t busy_permille,
				 bool due_known)
{
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, due_known, true);
	struct cam_raw_counts k = {.control_hz = 11};
	for (uint64_t s = 10; s < 130; s++) {
		for (unsigned i = 0; i < 11; i++)
			k.control += feed_random(&seed, 1000) < busy_permille;
		for (unsigned i = 0; i < HZ; i++) {
			if (feed_random(&seed, 1000) >= busy_permille ||
			    feed_random(&seed, 1000) >= own_permille)
				continue;
			k.fired++;
			k.emitted++;
			cam_ledger_sample(l, 0, s * S + i * period_ns, CAM_LEDGER_BUSY);
			b->busy[0][s]++;
		}
		k.enabled_ns += S;
		feed_counts(l, 0, (s + 1) * S, k);
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_IDLE, (1000 - busy_permille) * MS);
		assert_int_equal(cam_ledger_tick(l, (s + 2) * S, (s + 2) * S), 0);
	}
	assert_int_equal(cam_ledger_flush(l, 130 * S), 0);
	struct cam_ledger_stats st = cam_ledger_stats(l);
	assert_int_equal(st.busy + b->sum[CAM_CAUSE_BLOCKED] + b->sum[CAM_CAUSE_IDLE] +
				 b->sum[CAM_CAUSE_UNEXPLAINED],
			 st.due);
	cam_ledger_free(l);
	return b;
}

static void what_other_bpf_blocks_is_found(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		struct book *b = with_control(5, 750, 1000, known);
		/* A quarter of 120 s, less what passed until it was sure. */
		assert_in_range(b->sum[CAM_CAUSE_BLOCKED], HZ * 120 / 4 * 75 / 100,
				HZ * 120 / 4 * 115 / 100);
		free(b);
		b = with_control(6, 600, 500, known);
		assert_in_range(b->sum[CAM_CAUSE_BLOCKED], HZ * 120 / 5 * 50 / 100,
				HZ * 120 / 5 * 130 / 100);
		free(b);
		b = with_control(7, 0, 1000, known);
		assert_in_range(b->sum[CAM_CAUSE_BLOCKED], HZ * 110, HZ * 120);
		free(b);
	}
}

/*
 * A virtual CPU that its host keeps from running for 40 to 70 ms at a time, and no steal is told: the control,
 * at 11 Hz, fires late but fires; ours fires once for all it missed.
 */
static void a_cpu_that_was_not_there_is_not_blocking(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, true);
	struct cam_raw_counts k = {.control_hz = 11};
	uint64_t seed = 99, tick = 10 * S, away = 10 * S, back = 10 * S;
	for (uint64_t s = 10; s < 130; s++) {
		while (tick < (s + 1) * S) {
			uint64_t at = tick;
			while (back <= tick) {
				away = back + 60 * MS + feed_random(&seed, 30) * MS;
				back = away + 40 * MS + feed_random(&seed, 30000) * MS / 1000;
			}
			if (at > away)
				at = back;
			k.fired++;
			k.emitted++;
			cam_ledger_sample(l, 0, at, CAM_LEDGER_BUSY);
			b->busy[0][s]++;
			while (tick <= at)
				tick += period_ns;
		}
		k.control += 11;
		k.enabled_ns += S;
		feed_counts(l, 0, (s + 1) * S, k);
		assert_int_equal(cam_ledger_tick(l, (s + 2) * S, (s + 2) * S), 0);
	}
	assert_int_equal(cam_ledger_flush(l, 130 * S), 0);
	print_message("# of %lu due %lu unexplained, %lu blocked\n", cam_ledger_stats(l).due,
		      b->sum[CAM_CAUSE_UNEXPLAINED], b->sum[CAM_CAUSE_BLOCKED]);
	assert_true(b->sum[CAM_CAUSE_UNEXPLAINED] > HZ * 120 / 5);
	assert_int_equal(b->sum[CAM_CAUSE_BLOCKED], 0);
	cam_ledger_free(l);
	free(b);
}

static void chance_is_not_taken_for_blocking(void **state)
{
	(void)state;
	unsigned wrong = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct book *b = with_control(seed * 31337, 1000, 200 + (uint32_t)seed * 4, true);
		wrong += b->sum[CAM_CAUSE_BLOCKED] > 0;
		free(b);
	}
	/* 4 standard deviations, one-sided: 3 in 100,000; 120 tests a run, not independent. */
	assert_in_range(wrong, 0, 1);
}

static void a_lower_rate_is_shed_and_an_idle_cpu_sheds_nothing(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	cam_ledger_rate(l, 20 * S, 49);
	for (uint64_t s = 10; s < 30; s++) {
		struct cam_raw_counts k = {.enabled_ns = (s + 1) * S - 10 * S};
		k.hz = s < 20 ? HZ : 49;
		for (unsigned i = 0; i < k.hz; i++) {
			cam_ledger_sample(l, 0, s * S + i * (S / k.hz), CAM_LEDGER_BUSY);
			b->busy[0][s]++;
		}
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			feed_counts(l, cpu, (s + 1) * S, k);
			feed_counter(l, cpu, (s + 1) * S, S, CAM_COUNTER_IDLE, cpu ? S : 0);
		}
	}
	assert_int_equal(cam_ledger_flush(l, 30 * S), 0);
	for (uint64_t s = 10; s < 30; s++) {
		assert_int_equal(book_cell(b, 0, s), HZ);
		assert_int_equal(b->cell[0][s][CAM_CAUSE_SHED], s < 20 ? 0 : HZ - 49);
		assert_int_equal(b->cell[1][s][CAM_CAUSE_IDLE], HZ);
	}
	/* The kernel took the rate down: nobody asked for it. */
	cam_ledger_rate(l, 30 * S, HZ);
	feed_counts(l, 0, 31 * S, (struct cam_raw_counts){.enabled_ns = 21 * S, .hz = 50});
	assert_int_equal(cam_ledger_flush(l, 31 * S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_SHED], 10 * (HZ - 49));
	assert_int_equal(b->sum[CAM_CAUSE_THROTTLED], HZ - 50);
	cam_ledger_free(l);
	free(b);
}

/* cycles: a busy CPU fires more or less than nominal, and nothing of it is unexplained. */
static void where_due_is_not_known_nothing_is_unexplained(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, false, false);
	for (uint64_t s = 10; s < 20; s++) {
		for (unsigned i = 0; i < (s % 2 ? 80u : 30u); i++)
			cam_ledger_sample(l, 0, s * S + i * 10 * MS, CAM_LEDGER_BUSY);
		feed_counts(l, 0, (s + 1) * S,
			    (struct cam_raw_counts){.enabled_ns = (s + 1) * S - 10 * S});
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_STEAL, 100 * MS);
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_IDLE, 400 * MS);
	}
	assert_int_equal(cam_ledger_flush(l, 20 * S), 0);
	assert_in_range(b->sum[CAM_CAUSE_IDLE], 387, 388);
	assert_in_range(b->sum[CAM_CAUSE_STOLEN], 96, 97);
	assert_int_equal(b->sum[CAM_CAUSE_UNEXPLAINED], 0);
	assert_int_equal(cam_ledger_stats(l).due,
			 550 + b->sum[CAM_CAUSE_IDLE] + b->sum[CAM_CAUSE_STOLEN]);
	cam_ledger_free(l);
	free(b);
}

/* Threads that were recorded ran for 300 ms of each second; what the CPU did besides is not theirs. */
static void of_threads_only_their_time_is_due(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger_options o = {
		.hz = HZ, .due_known = true, .of_threads = true, .fn = book_row, .arg = b};
	struct cam_ledger *l;
	assert_int_equal(cam_ledger_new(&o, &l), 0);
	for (uint64_t s = 10; s < 20; s++) {
		for (unsigned i = 0; i < 28; i++)
			cam_ledger_sample(l, 0, s * S + i * MS, CAM_LEDGER_BUSY);
		feed_counts(l, 0, (s + 1) * S,
			    (struct cam_raw_counts){.enabled_ns = (s - 9) * 300 * MS});
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_IDLE, 700 * MS);
		assert_int_equal(cam_ledger_tick(l, (s + 1) * S + 600 * MS, (s + 1) * S + 600 * MS),
				 0);
		assert_true(cam_ledger_stats(l).due >= 28 * (s - 9));
	}
	assert_int_equal(cam_ledger_stats(l).late_seconds, 0);
	feed_state(l, 0, 20 * S, CAM_RAW_CPU, false);
	assert_int_equal(cam_ledger_suspended(l, 20 * S, 21 * S, 60 * S), 0);
	assert_int_equal(cam_ledger_flush(l, 30 * S), 0);
	assert_int_equal(cam_ledger_stats(l).due, 291);
	assert_int_equal(b->sum[CAM_CAUSE_UNEXPLAINED], 11);
	cam_ledger_free(l);
	free(b);
}

/* A cut in the middle of a second: both sides together are what one would have been. */
static void a_cut_splits_the_second(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint64_t s = 10; s < 20; s++) {
		for (unsigned i = 0; i < HZ; i++) {
			uint64_t t = s * S + i * period_ns;
			if (s == 15 && i == 40)
				assert_int_equal(cam_ledger_flush(l, t), 0);
			cam_ledger_sample(l, 0, t, i % 2 ? CAM_LEDGER_BUSY : CAM_LEDGER_IDLE);
			b->busy[0][s] += i % 2;
		}
		feed_counts(l, 0, (s + 1) * S,
			    (struct cam_raw_counts){.enabled_ns = (s + 1) * S - 10 * S});
		feed_counter(l, 0, (s + 1) * S, S, CAM_COUNTER_IDLE, 500 * MS);
	}
	struct cam_ledger_row queue = {CAM_CAUSE_LOST_QUEUE, 0, 19 * S, 20 * S, 5};
	assert_int_equal(cam_ledger_add(l, &queue), 0);
	assert_int_equal(cam_ledger_flush(l, 20 * S), 0);
	uint64_t sum = 0;
	for (uint64_t s = 10; s < 20; s++)
		sum += book_cell(b, 0, s);
	assert_int_equal(sum, 10 * HZ + 5);
	assert_int_equal(book_cell(b, 0, 15), HZ);
	assert_int_equal(sum, cam_ledger_stats(l).due);
	assert_int_equal(b->sum[CAM_CAUSE_LOST_QUEUE], 5);
	cam_ledger_free(l);
	free(b);
}

static void memory_and_answers_are_bounded(void **state)
{
	(void)state;
	struct book *b = book_new();
	struct cam_ledger *l = book_ledger(b, true, false);
	for (uint32_t cpu = 0; cpu < CAM_LEDGER_MAX_CPUS + 5; cpu++)
		assert_int_equal(cam_ledger_sample(l, cpu, 10 * S, CAM_LEDGER_IDLE), 0);
	struct cam_ledger_stats st = cam_ledger_stats(l);
	assert_int_equal(st.cpus, CAM_LEDGER_MAX_CPUS);
	assert_int_equal(st.no_room, 5);
	assert_in_range(st.bytes, 1, 3u << 20);
	/* What the taker of the rows answers is handed on, and does not stop the others. */
	b->answer = -ENOSPC;
	assert_int_equal(cam_ledger_flush(l, 11 * S), -ENOSPC);
	assert_int_equal(b->sum[CAM_CAUSE_IDLE], CAM_LEDGER_MAX_CPUS);
	b->answer = 0;
	/* A time far ahead costs nothing, and what comes after it is late, not lost. */
	assert_int_equal(cam_ledger_sample(l, 9, 1ull << 62, CAM_LEDGER_IDLE), 0);
	assert_int_equal(cam_ledger_sample(l, 9, 12 * S, CAM_LEDGER_IDLE), 0);
	assert_int_equal(cam_ledger_flush(l, (1ull << 62) + S), 0);
	assert_int_equal(b->sum[CAM_CAUSE_IDLE], CAM_LEDGER_MAX_CPUS + 2);
	struct cam_ledger_row bad = {CAM_CAUSE_MAX, 0, 0, 1, 1};
	assert_int_equal(cam_ledger_add(l, &bad), -EINVAL);
	bad = (struct cam_ledger_row){CAM_CAUSE_SHED, 0, 2, 1, 1};
	assert_int_equal(cam_ledger_add(l, &bad), -EINVAL);
	cam_ledger_free(l);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_examples_hold),
		cmocka_unit_test(idle_seconds_become_few_rows),
		cmocka_unit_test(time_without_counters_is_not_idle),
		cmocka_unit_test(a_cpu_that_is_offline_is_not_idle),
		cmocka_unit_test(a_cpu_is_offline_since_its_time_stood_still),
		cmocka_unit_test(suspended_time_has_its_samples),
		cmocka_unit_test(throttled_rows_have_the_kernels_times),
		cmocka_unit_test(lost_records_that_only_counts_know_are_not_missed),
		cmocka_unit_test(a_stall_is_no_reason_to_give_up),
		cmocka_unit_test(what_other_bpf_blocks_is_found),
		cmocka_unit_test(a_cpu_that_was_not_there_is_not_blocking),
		cmocka_unit_test(chance_is_not_taken_for_blocking),
		cmocka_unit_test(a_lower_rate_is_shed_and_an_idle_cpu_sheds_nothing),
		cmocka_unit_test(where_due_is_not_known_nothing_is_unexplained),
		cmocka_unit_test(of_threads_only_their_time_is_due),
		cmocka_unit_test(a_cut_splits_the_second),
		cmocka_unit_test(memory_and_answers_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
