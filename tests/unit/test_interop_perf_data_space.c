// SPDX-License-Identifier: Apache-2.0
/* Mappings of a perf.data file that are more than fit, of processes that have exited and of those that have not. */
#include "interop/perf_data_space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static int map(struct cam_perf_spaces *s, int32_t pid, unsigned i)
{
	const struct cam_perf_mapping m = {
		.pid = pid,
		.tid = pid,
		.start = 0x1000 + 0x2000ull * i,
		.bytes = 0x1000,
		.path = CAM_TEXT("/a"),
		.build_id = CAM_TEXT(""),
		.executable = true,
	};
	return cam_perf_spaces_map(s, &m);
}

/* As many mappings as fit, of processes that live. Answers the next pid. */
static int32_t fill(struct cam_perf_spaces *s, int32_t pid)
{
	uint64_t refused = s->refused;
	for (; s->refused == refused; pid++) {
		for (unsigned i = 0; i < CAM_PERF_MAX_MAPS - 2 && s->refused == refused; i++)
			assert_int_equal(map(s, pid, i), 0);
	}
	/* …and what is left for small ones. */
	for (refused = s->refused; s->refused == refused; pid++)
		assert_int_equal(map(s, pid, 0), 0);
	return pid;
}

static size_t maps_of(struct cam_perf_spaces *s, int32_t pid)
{
	const struct cam_perf_space *space = cam_perf_spaces_of(s, pid);
	return space ? space->n : 0;
}

/* Its room is the only one that can be had, and it is its own. */
static void one_that_has_exited_maps_once_more(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	for (unsigned i = 0; i < 15; i++)
		assert_int_equal(map(&s, 1, i), 0);
	fill(&s, 2);
	cam_perf_spaces_exit(&s, 1, 1);
	uint64_t refused = s.refused;
	for (unsigned i = 15; i < 40; i++)
		assert_int_equal(map(&s, 1, i), 0);
	assert_true(s.refused > refused || maps_of(&s, 1) > 0);
	cam_perf_spaces_free(&s);
}

/* The longest dead go first; the living stay. */
static void the_dead_make_room(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	int32_t next = fill(&s, 1);
	assert_true(next > 10);
	for (int32_t pid = 5; pid > 2; pid--)
		cam_perf_spaces_exit(&s, pid, pid);
	cam_perf_spaces_exit(&s, 5, 5);
	uint64_t refused = s.refused;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(map(&s, next, i), 0);
	assert_int_equal(s.refused, refused);
	assert_int_equal(maps_of(&s, next), 1000);
	assert_int_equal(maps_of(&s, 5), 0);
	assert_true(maps_of(&s, 3) && maps_of(&s, 4) && maps_of(&s, 6) && maps_of(&s, 1));
	cam_perf_spaces_free(&s);
}

/* Each mapping that found no room looked at all threads: 84 MB of such records took minutes. */
static void refusing_costs_nothing(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	struct timespec from, to;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	int32_t next = fill(&s, 1);
	for (int32_t tid = 1000000; tid < 1200000; tid++)
		cam_perf_spaces_comm(&s, tid, tid, CAM_TEXT("a"));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (unsigned i = 0; i < 20000; i++) {
		assert_int_equal(map(&s, next, i), 0);
		cam_perf_spaces_exit(&s, 1000000, 1000000);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_in_range(to.tv_sec - from.tv_sec, 0, 2);
	cam_perf_spaces_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_has_exited_maps_once_more),
		cmocka_unit_test(the_dead_make_room),
		cmocka_unit_test(refusing_costs_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
