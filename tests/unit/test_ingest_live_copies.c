// SPDX-License-Identifier: Apache-2.0
/* Samples that come with a copy of their stack: walked, late, refused, too many. */
#include "support_live.h"
#include "support_unwinder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COPY ((struct stage_walk){.end = CAM_STACK_PENDING, .copy_bytes = 16384})

static struct stage s;

static const uint64_t whole[] = {0x1010, 0x5011, 0x2011, 0};

static void open_shell(struct cam_unwinder *u)
{
	stage_open_with(&s, NULL, u);
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	world_map(&s, 10, 0x5000, 0x6000, 6, "/lib/c");
	s.walked = whole;
	stage_tick(&s, 1 * SEC);
}

/* Answers as they come, ticks every 200 ms. */
static void run(uint64_t until_ns)
{
	while (s.now_ns < until_ns) {
		uint64_t next = s.now_ns + 10 * MS;
		s.now_ns = next;
		if (!s.silent)
			stage_answer(&s);
		if (next % (200 * MS) == 0)
			stage_tick(&s, next);
	}
}

static void the_first_sample_of_an_unknown_process_has_its_stack(void **state)
{
	(void)state;
	struct fake_unwinder u;
	fake_unwinder_init(&u);
	open_shell(&u.base);
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), COPY);
	run(2 * SEC);
	struct cam_live_stats st = cam_live_stats(s.live);
	assert_int_equal(st.copies, 1);
	assert_int_equal(st.copies_unwound, 1);
	assert_int_equal(st.ends[CAM_STACK_COMPLETE], 1);
	assert_false(cam_live_has_copies(s.live));
	/* The next sample needs no copy. */
	assert_non_null(fake_process(&u, 10));
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 0), "sh_10;c_0;sh_0");
	stage_free(&s);
}

static void a_missing_table_is_sent_for_and_the_walk_repeated(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.needs = "c";
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), COPY);
	/* Walked, lacks; table and again: two answers, no tick in between. */
	assert_int_equal(s.asked[CAM_ERRAND_UNWIND], 1);
	stage_answer(&s);
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 1);
	assert_int_equal(s.asked[CAM_ERRAND_UNWIND], 2);
	assert_int_equal(s.sent[0].e.type, CAM_ERRAND_TABLE);
	assert_int_equal(s.sent[1].e.type, CAM_ERRAND_UNWIND);
	assert_int_equal(s.sent[1].first, 10);
	stage_answer(&s);
	assert_int_equal(cam_live_stats(s.live).copies_unwound, 1);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "sh_10;c_0;sh_0");
	stage_free(&s);
}

static void only_who_needs_one_answer_waits_for_the_tick(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	/* Nobody has asked for its tables: the walk will lack them, one after the other. */
	s.needs = "c";
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), COPY);
	assert_int_equal(s.asked[CAM_ERRAND_UNWIND], 1);
	assert_true(cam_live_copies_hurry(s.live));
	run(2 * SEC + 200 * MS);
	s.needs = "sh";
	stage_sample_walked(&s, 2 * SEC + 200 * MS, 10, 10, USER(0x1010), COPY);
	run(3 * SEC);
	assert_false(cam_live_has_copies(s.live));
	/* Both are made by now. */
	stage_sample_walked(&s, 3 * SEC, 10, 10, USER(0x1010), COPY);
	assert_true(cam_live_has_copies(s.live));
	assert_false(cam_live_copies_hurry(s.live));
	run(4 * SEC);
	stage_close(&s);
	stage_free(&s);
}

static void a_table_that_never_comes_ends_the_walk(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.needs = "c";
	s.table_error = -EBADMSG;
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), COPY);
	run(3 * SEC);
	/* Once more; then it is known that there is none. (And that of the file where it stopped.) */
	assert_int_equal(s.asked[CAM_ERRAND_UNWIND], 2);
	assert_int_equal(s.asked[CAM_ERRAND_TABLE], 2);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "[truncated];sh_0");
	assert_int_equal(stage_end(&s, 0, 1), CAM_STACK_PENDING);
	stage_free(&s);
}

static void one_that_is_late_goes_on_with_what_it_has(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.silent = true;
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010, 0x5011), COPY);
	run(2 * SEC + 200 * MS);
	assert_true(cam_live_has_copies(s.live));
	run(2 * SEC + 400 * MS);
	assert_false(cam_live_has_copies(s.live));
	assert_int_equal(cam_live_stats(s.live).copies_late, 1);
	/* The answer finds nobody. */
	s.silent = false;
	run(3 * SEC);
	assert_int_equal(cam_live_stats(s.live).copies_unwound, 0);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 2);
	assert_string_equal(stage_stack(&s, 0, 1), "[truncated];c_0;sh_0");
	stage_free(&s);
}

static void a_name_that_came_since_is_not_the_waiting_sample_s(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.silent = true;
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), COPY);
	/* It calls itself something else, and is sampled under that name, which is stored at once. */
	stage_comm(&s, 2 * SEC + 10 * MS, 10, 10, "turned");
	stage_sample(&s, 2 * SEC + 20 * MS, 10, 10, USER(0x1010, 0x5011));
	s.silent = false;
	run(3 * SEC);
	assert_int_equal(cam_live_stats(s.live).copies_unwound, 1);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 3);
	for (size_t i = 0; i < 3; i++) {
		bool after = s.windows[0].samples[i].time_ns > 2 * SEC;
		assert_memory_equal(stage_who(&s, 0, i), after ? "turned|" : "sh|", 3);
	}
	stage_free(&s);
}

static void refusals_cost_the_stack_not_the_sample(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.unwind_error = -EIO;
	stage_sample_walked(&s, 2 * SEC, 10, 10, USER(0x1010), COPY);
	run(2 * SEC + 200 * MS);
	assert_int_equal(cam_live_stats(s.live).samples, 2);
	/* Nobody takes errands now: tried again at the tick. */
	s.unwind_error = 0;
	s.full = true;
	stage_sample_walked(&s, 2 * SEC + 210 * MS, 10, 10, USER(0x1010), COPY);
	run(2 * SEC + 300 * MS);
	s.full = false;
	run(3 * SEC);
	assert_int_equal(cam_live_stats(s.live).copies_unwound, 1);
	stage_close(&s);
	assert_int_equal(stage_end(&s, 0, 1), CAM_STACK_PENDING);
	assert_string_equal(stage_stack(&s, 0, 2), "sh_10;c_0;sh_0");
	stage_free(&s);
}

static void copies_are_bounded_by_bytes(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x5011));
	run(2 * SEC);
	s.silent = true;
	for (unsigned i = 0; i < 400; i++)
		stage_sample_walked(&s, 2 * SEC + i * 10000, 10, 10, USER(0x1010), COPY);
	struct cam_live_stats st = cam_live_stats(s.live);
	/* 4 MiB of 16 KiB and what is around them. */
	assert_in_range(400 - st.copies_refused, 240, 256);
	assert_int_equal(st.samples, 1 + st.copies_refused);
	/* All are stored in the end, whatever becomes of their copies. */
	run(3 * SEC);
	assert_int_equal(cam_live_stats(s.live).samples, 401);
	stage_close(&s);
	stage_free(&s);
}

static void what_is_cut_short_loses_nothing(void **state)
{
	(void)state;
	open_shell(NULL);
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), COPY);
	stage_sample_walked(&s, 1 * SEC + 2, 10, 10, USER(0x1010), COPY);
	s.now_ns += 100 * MS;
	stage_close(&s);
	assert_int_equal(stage_samples(&s), 2);
	stage_free(&s);
	/* Freed without a cut: nothing leaks (the sanitizer's to see). */
	open_shell(NULL);
	stage_sample_walked(&s, 1 * SEC + 1, 10, 10, USER(0x1010), COPY);
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_sample_of_an_unknown_process_has_its_stack),
		cmocka_unit_test(a_missing_table_is_sent_for_and_the_walk_repeated),
		cmocka_unit_test(only_who_needs_one_answer_waits_for_the_tick),
		cmocka_unit_test(a_table_that_never_comes_ends_the_walk),
		cmocka_unit_test(one_that_is_late_goes_on_with_what_it_has),
		cmocka_unit_test(a_name_that_came_since_is_not_the_waiting_sample_s),
		cmocka_unit_test(refusals_cost_the_stack_not_the_sample),
		cmocka_unit_test(copies_are_bounded_by_bytes),
		cmocka_unit_test(what_is_cut_short_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
