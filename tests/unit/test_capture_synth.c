// SPDX-License-Identifier: Apache-2.0
#include "capture/synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void push_lost(struct cam_synth *s, uint64_t from_ns, uint64_t time_ns, uint64_t n,
		      bool side)
{
	struct cam_raw r = {.type = CAM_RAW_LOST,
			    .time_ns = time_ns,
			    .lost = {.records = n, .from_ns = from_ns, .side_band = side}};
	cam_synth_push(s, &r);
}

static void push_counts(struct cam_synth *s, uint64_t time_ns, uint64_t enabled_ns)
{
	struct cam_raw r = {
		.type = CAM_RAW_COUNTS, .time_ns = time_ns, .counts = {.enabled_ns = enabled_ns}};
	cam_synth_push(s, &r);
}

static struct cam_raw next(struct cam_synth *s)
{
	struct cam_raw r;
	uint64_t time_ns;
	assert_true(s->stream.peek(&s->stream, &time_ns));
	s->stream.take(&s->stream, &r);
	/* A loss of the side band is announced by where it began. */
	bool early = r.type == CAM_RAW_LOST && r.lost.side_band;
	assert_int_equal(early ? r.lost.from_ns : r.time_ns, time_ns);
	return r;
}

static void in_order(void **state)
{
	(void)state;
	struct cam_synth s;
	uint64_t time_ns;
	cam_synth_init(&s);
	assert_false(s.stream.peek(&s.stream, &time_ns));
	push_lost(&s, 0, 10, 3, false);
	push_counts(&s, 20, 1);
	push_counts(&s, 15, 2); /* a clock that went back: moved to 20 */
	assert_int_equal(next(&s).lost.records, 3);
	assert_int_equal(next(&s).counts.enabled_ns, 1);
	struct cam_raw r = next(&s);
	assert_int_equal(r.counts.enabled_ns, 2);
	assert_int_equal(r.time_ns, 20);
	assert_false(s.stream.peek(&s.stream, &time_ns));
}

/* Samples of the time in which mappings were lost come after the loss. */
static void a_loss_of_the_side_band_goes_before_its_time(void **state)
{
	(void)state;
	struct cam_synth s;
	cam_synth_init(&s);
	push_counts(&s, 10, 1);
	push_counts(&s, 30, 2);
	push_lost(&s, 20, 40, 5, true);
	push_counts(&s, 50, 3);
	assert_int_equal(next(&s).counts.enabled_ns, 1);
	assert_int_equal(next(&s).lost.records, 5);
	assert_int_equal(next(&s).counts.enabled_ns, 2);
	assert_int_equal(next(&s).counts.enabled_ns, 3);
}

/* Nobody reads for a thousand rounds: no loss is forgotten, the newest counts are there. */
static void overflow(void **state)
{
	(void)state;
	struct cam_synth s;
	uint64_t lost[2] = {0}, counts = 0, last_ns = 0, time_ns, covered[2] = {0};
	cam_synth_init(&s);
	for (uint64_t round = 1; round <= 1000; round++) {
		push_lost(&s, (round - 1) * 100, round * 100, round, false);
		if (round % 3 == 0)
			push_lost(&s, (round - 3) * 100, round * 100, 1, true);
		push_counts(&s, round * 100, round);
	}
	assert_int_equal(s.n, CAM_SYNTH_RECORDS);
	while (s.stream.peek(&s.stream, &time_ns)) {
		struct cam_raw r = next(&s);
		assert_true(time_ns >= last_ns);
		last_ns = time_ns;
		if (r.type == CAM_RAW_LOST) {
			/* Each begins where the one before ended. */
			assert_int_equal(r.lost.from_ns, covered[r.lost.side_band]);
			covered[r.lost.side_band] = r.time_ns;
			lost[r.lost.side_band] += r.lost.records;
		} else {
			counts = r.counts.enabled_ns;
		}
	}
	assert_int_equal(lost[false], 1000 * 1001 / 2);
	assert_int_equal(lost[true], 333);
	assert_int_equal(counts, 1000);
}

/* A queue that many CPUs share has no two of a kind: the oldest goes. */
static void many_cpus(void **state)
{
	(void)state;
	struct cam_synth s;
	cam_synth_init(&s);
	for (uint32_t cpu = 0; cpu < CAM_SYNTH_RECORDS + 1; cpu++) {
		struct cam_raw r = {.type = CAM_RAW_CPU, .cpu = cpu, .time_ns = cpu};
		cam_synth_push(&s, &r);
	}
	assert_int_equal(s.n, CAM_SYNTH_RECORDS);
	assert_int_equal(next(&s).cpu, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(a_loss_of_the_side_band_goes_before_its_time),
		cmocka_unit_test(overflow),
		cmocka_unit_test(many_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
