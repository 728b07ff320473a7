// SPDX-License-Identifier: Apache-2.0
/* Who keeps a core, as samples come: told once, while the machine has room, under the name that it had. */
#include "ingest/keeping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PERIOD (10 * CAM_NS_PER_MS)
#define START  (1000 * CAM_NS_PER_SEC)

static int set_up(void **state)
{
	struct cam_keeping *k = calloc(1, sizeof(*k));
	*state = k;
	if (k)
		cam_keeping_period(k, PERIOD);
	return k ? 0 : -1;
}

static int tear_down(void **state)
{
	cam_keeping_free(*state);
	free(*state);
	return 0;
}

/* One sample a period, from a time on. */
static uint64_t run(struct cam_keeping *k, uint32_t cpu, uint64_t from_ns, unsigned samples,
		    int32_t tid)
{
	for (unsigned i = 0; i < samples; i++)
		cam_keeping_sample(k, cpu, from_ns + i * PERIOD, tid - tid % 10, tid);
	return from_ns + samples * PERIOD;
}

static size_t told(struct cam_keeping *k, uint32_t cpus, struct cam_kept_core *first)
{
	struct cam_kept_core c;
	size_t n = 0;
	for (size_t at = 0; cam_keeping_next(k, cpus, &at, &c); n++) {
		if (!n)
			*first = c;
		cam_keeping_told(k, &c);
	}
	return n;
}

static void it_is_told_while_it_goes_on(void **state)
{
	struct cam_kept_core c;
	uint64_t at = run(*state, 1, START, 49, 72);
	assert_int_equal(told(*state, 4, &c), 0); /* 0.49 s */
	at = run(*state, 1, at, 11, 72);
	assert_int_equal(told(*state, 4, &c), 1);
	assert_int_equal(c.cpu, 1);
	assert_int_equal(c.pid, 70);
	assert_int_equal(c.tid, 72);
	assert_int_equal(c.from_ns, START);
	assert_int_equal(c.length_ns, 60 * PERIOD);
	assert_true(c.goes_on);
	assert_int_equal(c.busy_percent, 25);
	run(*state, 1, at, 300, 72);
	assert_int_equal(told(*state, 4, &c), 0); /* again: no */
}

static void one_that_has_ended_is_told(void **state)
{
	struct cam_kept_core c;
	uint64_t at = run(*state, 0, START, 60, 72);
	/* The core is idle, another one is not: time goes on. */
	run(*state, 3, at + PERIOD, 20, 5);
	assert_int_equal(told(*state, 4, &c), 1);
	assert_false(c.goes_on);
	/* Its last sample was told with it. */
	run(*state, 0, at + CAM_NS_PER_SEC, 3, 72);
	assert_int_equal(told(*state, 4, &c), 0);
}

static void two_of_one_core_are_two(void **state)
{
	struct cam_kept_core c[2];
	size_t at = 0;
	uint64_t then = run(*state, 0, START, 60, 72);
	run(*state, 0, then, 60, 73);
	assert_true(cam_keeping_next(*state, 4, &at, &c[0]));
	assert_true(cam_keeping_next(*state, 4, &at, &c[1]));
	assert_int_equal(c[0].tid, 72);
	assert_false(c[0].goes_on);
	assert_int_equal(c[1].tid, 73);
	assert_true(c[1].goes_on);
	/* Nobody told of them: both come again. */
	at = 0;
	assert_true(cam_keeping_next(*state, 4, &at, &c[0]));
	cam_keeping_told(*state, &c[0]);
	assert_true(cam_keeping_next(*state, 4, &at, &c[1]));
	cam_keeping_told(*state, &c[1]);
	at = 0;
	assert_false(cam_keeping_next(*state, 4, &at, &c[0]));
}

static void a_hole_is_an_end(void **state)
{
	struct cam_kept_core c;
	uint64_t at = run(*state, 0, START, 30, 72);
	run(*state, 0, at + 3 * PERIOD, 30, 72);
	assert_int_equal(told(*state, 4, &c), 0);
	/* Two of a hundred are missing now and then: late timers. */
	at = START + CAM_NS_PER_SEC;
	for (unsigned i = 0; i < 60; i++) {
		if (i % 20 != 7)
			cam_keeping_sample(*state, 2, at + i * PERIOD, 70, 72);
	}
	assert_int_equal(told(*state, 4, &c), 1);
}

static void others_may_have_a_little_of_it(void **state)
{
	struct cam_kept_core c;
	for (unsigned i = 0; i < 100; i++) {
		cam_keeping_sample(*state, 0, START + i * PERIOD, 70, i % 10 ? 72 : 5);
		cam_keeping_sample(*state, 1, START + i * PERIOD, 80, i % 4 ? 82 : 6);
	}
	assert_int_equal(told(*state, 4, &c), 1);
	assert_int_equal(c.tid, 72);
}

static void a_machine_without_room_keeps_nobody_waiting(void **state)
{
	struct cam_kept_core c;
	for (unsigned i = 0; i < 100; i++) {
		for (uint32_t cpu = 0; cpu < 4; cpu++)
			cam_keeping_sample(*state, cpu, START + i * PERIOD, 10 * (int32_t)cpu + 10,
					   10 * (int32_t)cpu + 10);
	}
	assert_int_equal(told(*state, 4, &c), 0);
	/* Once it has room, the one that is left is told, by what the machine did lately. */
	run(*state, 2, START + 100 * PERIOD, 700, 30);
	assert_int_equal(told(*state, 4, &c), 1);
	assert_int_equal(c.from_ns, START);
	assert_int_equal(c.busy_percent, 25);
	assert_int_equal(told(*state, 1, &c), 0); /* of one CPU nothing is */
}

static void another_name_is_another_run(void **state)
{
	struct cam_kept_core c;
	uint64_t at = run(*state, 0, START, 45, 72);
	cam_keeping_renamed(*state, 72);
	at = run(*state, 0, at, 45, 72);
	assert_int_equal(told(*state, 4, &c), 0);
	run(*state, 0, at, 10, 72);
	assert_int_equal(told(*state, 4, &c), 1);
	assert_int_equal(c.from_ns, START + 45 * PERIOD);
	/* One that has ended and was not told under its old name is not told under the new one. */
	at = run(*state, 1, at + CAM_NS_PER_SEC, 60, 82);
	run(*state, 1, at, 3, 5);
	cam_keeping_renamed(*state, 82);
	assert_int_equal(told(*state, 4, &c), 0);
}

static void what_cannot_be_is_left_out(void **state)
{
	struct cam_kept_core c;
	run(*state, UINT32_MAX, START, 100, 72);
	run(*state, 4096, START, 100, 72);
	run(*state, 1, START, 100, 0);
	assert_int_equal(told(*state, 4, &c), 0);
	run(*state, 4095, START, 100, 72);
	assert_int_equal(told(*state, 4, &c), 1);
	cam_keeping_period(*state, 0);
	run(*state, 2, START, 100, 72);
	assert_int_equal(told(*state, 4, &c), 0);
	/* Another rate: what was counted by the old one is no measure. */
	cam_keeping_period(*state, 2 * PERIOD);
	run(*state, 2, START, 30, 72);
	assert_int_equal(told(*state, 4, &c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_told_while_it_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_has_ended_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_of_one_core_are_two, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_hole_is_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_may_have_a_little_of_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_machine_without_room_keeps_nobody_waiting, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_name_is_another_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_left_out, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
