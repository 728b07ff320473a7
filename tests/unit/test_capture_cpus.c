// SPDX-License-Identifier: Apache-2.0
#include "capture/cpus.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void lists(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int err;
		uint32_t count;
		uint32_t in, out;
	} cases[] = {
		{"0\n", 0, 1, 0, 1},
		{"0-1\n", 0, 2, 1, 2},
		{"0-3,8,10-11", 0, 7, 10, 9},
		{"3-3", 0, 1, 3, 2},
		{"0-8191", 0, 8192, 8191, 8192},
		{"63-64", 0, 2, 64, 62},
		{"", -EINVAL},
		{"\n", -EINVAL},
		{"a", -EINVAL},
		{"1-", -EINVAL},
		{"-1", -EINVAL},
		{"1,", -EINVAL},
		{"4-2", -EINVAL},
		{"1 2", -EINVAL},
		{"8192", -ERANGE},
		{"0-99999999999999999999", -ERANGE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_cpus s;
		memset(&s, 0xff, sizeof(s));
		assert_int_equal(cam_cpus_parse(cam_text_of(cases[i].text), &s), cases[i].err);
		if (cases[i].err) {
			assert_int_equal(cam_cpus_count(&s), CAM_CPUS_MAX); /* untouched */
			continue;
		}
		assert_int_equal(cam_cpus_count(&s), cases[i].count);
		assert_true(cam_cpus_has(&s, cases[i].in));
		assert_false(cam_cpus_has(&s, cases[i].out));
	}
}

static void sets(void **state)
{
	(void)state;
	struct cam_cpus a = {0}, b = {0};
	cam_cpus_add(&a, 5);
	cam_cpus_add(&a, 70);
	cam_cpus_add(&a, CAM_CPUS_MAX);
	assert_int_equal(cam_cpus_count(&a), 2);
	cam_cpus_add(&b, 70);
	cam_cpus_add(&b, 71);
	cam_cpus_intersect(&a, &b);
	assert_int_equal(cam_cpus_count(&a), 1);
	assert_true(cam_cpus_has(&a, 70));
	cam_cpus_remove(&a, 70);
	cam_cpus_remove(&a, CAM_CPUS_MAX);
	assert_int_equal(cam_cpus_count(&a), 0);
}

/* Against what the C library makes of the same file. */
static void host(void **state)
{
	(void)state;
	struct cam_cpus s;
	assert_int_equal(cam_cpus_read("/sys", "online", &s), 0);
	assert_int_equal(cam_cpus_count(&s), sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(cam_cpus_has(&s, (uint32_t)sched_getcpu()));
	assert_int_equal(cam_cpus_read("/nowhere", "online", &s), -ENOENT);
	char deep[600];
	memset(deep, 'a', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(cam_cpus_read(deep, "online", &s), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(sets),
		cmocka_unit_test(host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
