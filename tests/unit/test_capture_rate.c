// SPDX-License-Identifier: Apache-2.0
#include "capture/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void beats(void **state)
{
	(void)state;
	static const uint32_t bad[] = {1,   2,	 4,   5,   8,	10,  20,   25,	 40,  50,
				       100, 125, 200, 250, 300, 500, 1000, 2500, 4000};
	static const uint32_t good[] = {0, 11, 49, 97, 99, 101, 199, 497, 499, 997, 999, 3999};
	char text[200];
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_not_equal(cam_rate_beat(bad[i]), 0);
		cam_rate_warning(bad[i], text, sizeof(text));
		assert_non_null(strstr(text, "49, 97, 99 or 497"));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(cam_rate_beat(good[i]), 0);
		cam_rate_warning(good[i], text, sizeof(text));
		assert_string_equal(text, "");
	}
	cam_rate_warning(250, text, sizeof(text));
	assert_string_equal(text,
			    "250 Hz beats with timers of 250 Hz, so that what they do is seen "
			    "too often or never: better 49, 97, 99 or 497.");
	cam_rate_warning(100, text, 8);
	assert_string_equal(text, "100 Hz ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(beats)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
