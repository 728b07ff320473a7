// SPDX-License-Identifier: Apache-2.0
#include "support_live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_sample_of_an_old_process_is_asked_about(void **state)
{
	(void)state;
	struct stage s;
	stage_open(&s, NULL);
	world_process(&s, 10, "sh", "/bin/sh");
	world_map(&s, 10, 0x1000, 0x3000, 5, "/bin/sh");
	stage_tick(&s, 1 * SEC);
	stage_sample(&s, 1 * SEC + 1, 10, 10, USER(0x1010, 0x2311));
	stage_run(&s, 3 * SEC);
	stage_close(&s);
	assert_int_equal(s.n_windows, 1);
	assert_int_equal(s.windows[0].n_samples, 1);
	assert_string_equal(stage_who(&s, 0, 0), "sh|/bin/sh|/user/sh");
	assert_string_equal(stage_stack(&s, 0, 0), "sh_13;sh_0");
	assert_int_equal(s.asked[CAM_ERRAND_PROCESS], 1);
	assert_int_equal(s.asked[CAM_ERRAND_FILE], 1);
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], 1);
	stage_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_of_an_old_process_is_asked_about),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
