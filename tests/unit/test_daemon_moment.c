// SPDX-License-Identifier: Apache-2.0
#include "daemon/moment.h"
#include "support_store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* 2026-04-15T03:14:07Z */
#define WALL (INT64_C(1776222847) * 1000000000)
#define SEC  INT64_C(1000000000)

static struct cam_moment find(struct sim_disk *d, int64_t realtime_ns)
{
	struct cam_moment m = {0};
	assert_int_equal(cam_moment_find(sim_io(d), realtime_ns, &m), 0);
	return m;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * SEC + t.tv_nsec;
}

/* Windows of two boots, each 320 ms long. */
static void test_the_window_that_holds_it(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	numbered_window(
		s, &(struct numbered_window){.boot = 1, .start_ns = 500 * NS, .realtime_ns = WALL},
		0, 32, true);
	numbered_window(s,
			&(struct numbered_window){
				.boot = 2, .start_ns = 7 * NS, .realtime_ns = WALL + 3600 * SEC},
			32, 32, true);
	/* Still open: a journal. */
	numbered_window(s,
			&(struct numbered_window){
				.boot = 2, .start_ns = 9 * NS, .realtime_ns = WALL + 3602 * SEC},
			64, 32, false);
	cam_store_close(s);
	struct cam_moment m = find(d, WALL + SEC / 10);
	assert_int_equal(m.boot_id.bytes[0], 1);
	assert_int_equal(m.time_ns, 500 * NS + NS / 10);
	m = find(d, WALL);
	assert_int_equal(m.time_ns, 500 * NS);
	m = find(d, WALL + 3600 * SEC + 1);
	assert_int_equal(m.boot_id.bytes[0], 2);
	assert_int_equal(m.time_ns, 7 * NS + 1);
	m = find(d, WALL + 3602 * SEC + SEC / 4);
	assert_int_equal(m.boot_id.bytes[0], 2);
	assert_int_equal(m.time_ns, 9 * NS + NS / 4);
	sim_free(d);
}

/* The clock was set back: the same wall time twice. The later one is meant. */
static void test_a_time_that_was_twice(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	for (unsigned i = 0; i < 2; i++)
		numbered_window(s,
				&(struct numbered_window){
					.boot = 1, .start_ns = (10 + i) * NS, .realtime_ns = WALL},
				32 * i, 32, true);
	cam_store_close(s);
	assert_int_equal(find(d, WALL + 5).time_ns, 11 * NS + 5);
	sim_free(d);
}

/* Set forward by a minute in the middle of a window: what follows goes by the anchor after it. */
static void test_a_step_within_a_window(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	struct numbered n;
	unsigned sealed;
	const struct cam_anchor step = {
		.time_ns = 100 * NS + NS / 10,
		.raw_ns = CAM_TIME_NONE,
		.boottime_ns = 100 * NS + NS / 10,
		.sched_ns = CAM_TIME_NONE,
		.realtime_ns = WALL + SEC / 10 + SEC / 20,
		.uncertainty_ns = 77,
	};
	const struct cam_block block = {.anchors = &step, .n_anchors = 1};
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &(struct numbered_window){.boot = 1,
								      .start_ns = 100 * NS,
								      .realtime_ns = WALL}),
			 0);
	assert_int_equal(numbered_append(&n, 0, 32), 0);
	assert_int_equal(n.to->append(n.to, &n.t, &block), 0);
	assert_int_equal(numbered_end(&n), 0);
	assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	cam_store_close(s);
	assert_int_equal(find(d, WALL + SEC / 20).time_ns, 100 * NS + NS / 20);
	struct cam_moment m = find(d, WALL + SEC / 5);
	assert_int_equal(m.time_ns, 100 * NS + NS / 5 - NS / 20);
	assert_int_equal(m.uncertainty_ns, 77);
	sim_free(d);
}

/* No window: this boot's own clocks, or nothing. */
static void test_no_window(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_moment m;
	char expected[64], text[64] = "";
	int64_t wall = clock_ns(CLOCK_REALTIME), before = clock_ns(CLOCK_MONOTONIC);
	m = find(d, wall);
	assert_in_range(m.time_ns, (uint64_t)before - 50000000, (uint64_t)before + 50000000);
	assert_true(m.uncertainty_ns > 0);
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	assert_non_null(f);
	assert_non_null(fgets(expected, sizeof(expected), f));
	fclose(f);
	for (size_t i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		snprintf(text + strlen(text), 4, "%s%02x", dash ? "-" : "", m.boot_id.bytes[i]);
	}
	expected[strcspn(expected, "\n")] = '\0';
	assert_string_equal(text, expected);
	/* Before this boot. */
	assert_int_equal(cam_moment_find(sim_io(d), wall - before - SEC, &m), -ENOENT);
	assert_int_equal(cam_moment_find(sim_io(d), INT64_MIN, &m), -ENOENT);
	assert_int_equal(cam_moment_find(sim_io(d), wall + 3600 * SEC, &m), -ERANGE);
	assert_int_equal(cam_moment_find(sim_io(d), INT64_MAX, &m), -ERANGE);
	sim_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_window_that_holds_it),
		cmocka_unit_test(test_a_time_that_was_twice),
		cmocka_unit_test(test_a_step_within_a_window),
		cmocka_unit_test(test_no_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
