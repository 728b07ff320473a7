// SPDX-License-Identifier: Apache-2.0
#include "base/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* What was put in comes out, whatever the numbers are. */
static void test_there_and_back(void **state)
{
	(void)state;
	unsigned seed = 7;
	for (int round = 0; round < 200; round++) {
		struct cam_runs r = {0};
		int numbers[300];
		for (int i = 0; i < 300; i++) {
			seed = seed * 1103515245u + 12345u;
			unsigned draw = seed >> 16;
			numbers[i] = i && draw % 4 ? numbers[i - 1] : (int)(draw / 4 % 70) - 1;
			cam_runs_add(&r, numbers[i]);
		}
		struct cam_text text = cam_runs_end(&r);
		for (uint32_t i = 0; i < 300; i++)
			assert_int_equal(cam_runs_at(text, i), numbers[i]);
		assert_int_equal(cam_runs_at(text, 300), CAM_RUNS_NONE);
	}
}

static void test_looks_like_this(void **state)
{
	(void)state;
	struct cam_runs r = {0};
	for (int i = 0; i < 6; i++)
		cam_runs_add(&r, i < 4 ? 0 : i < 5 ? CAM_RUNS_NONE : 12);
	struct cam_text text = cam_runs_end(&r);
	assert_true(cam_text_equal(text, CAM_TEXT("0*4 -1*1 12*1")));
	assert_int_equal(cam_runs_at(CAM_TEXT(""), 0), CAM_RUNS_NONE);
}

/* What does not fit is not known; what does is right. */
static void test_full(void **state)
{
	(void)state;
	struct cam_runs r = {0};
	for (int i = 0; i < 9000; i++)
		cam_runs_add(&r, i % 2);
	struct cam_text text = cam_runs_end(&r);
	uint32_t known = 0;
	while (cam_runs_at(text, known) == (int)(known % 2))
		known++;
	assert_in_range(known, 4000, 5000);
	for (uint32_t i = known; i < 9000; i++)
		assert_int_equal(cam_runs_at(text, i), CAM_RUNS_NONE);
}

static void test_garbage(void **state)
{
	(void)state;
	static const char *const texts[] = {"*",   "1",	   "1*", "*2",	  "1*99999999", "x*1",
					    "1 2", "1**2", "-",	 "--1*1", "99999999*1"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cam_runs_at(cam_text_of(texts[i]), 0), CAM_RUNS_NONE);
	assert_int_equal(cam_runs_at(CAM_TEXT("3*2 rest"), 1), 3);
	assert_int_equal(cam_runs_at(CAM_TEXT("3*2 rest"), 2), CAM_RUNS_NONE);
	assert_int_equal(cam_runs_at(CAM_TEXT("1*9999999 2*9999999"), UINT32_MAX), CAM_RUNS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_looks_like_this),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
