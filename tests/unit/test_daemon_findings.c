// SPDX-License-Identifier: Apache-2.0
/* Findings: which of them are news. */
#include "daemon/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NS  UINT64_C(1000000000)
#define DAY (86400 * NS)

static bool is_news(struct cam_found *known, unsigned boot, uint64_t time_ns, const char *who)
{
	struct cam_finding f = {.time_ns = time_ns, .length_ns = NS};
	memset(&f.boot_id, (int)boot, sizeof(f.boot_id));
	snprintf(f.who, sizeof(f.who), "%s", who);
	return cam_finding_is_news(known, &f);
}

static void three_in_ten_minutes(void **state)
{
	struct cam_found known[CAM_FOUND] = {0};
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(is_news(known, 1, DAY + i * 59 * NS, "kubelet"), i < 3);
	assert_true(is_news(known, 1, DAY + 590 * NS, "other"));
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(is_news(known, 1, DAY + (600 + i * 59) * NS, "kubelet"), i < 3);
}

/* The last window of a boot that was up for a month is sealed by the next one, whose clock begins at nothing. */
static void another_boot_has_another_clock(void **state)
{
	struct cam_found known[CAM_FOUND] = {0};
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		is_news(known, 1, 30 * DAY + i * NS, "kubelet");
	for (unsigned i = 0; i < 50; i++)
		assert_true(is_news(known, 2, (60 + i * 600) * NS, "kubelet"));
}

static void those_of_another_boot_make_room(void **state)
{
	struct cam_found known[CAM_FOUND] = {0};
	char who[16];
	(void)state;
	for (unsigned i = 0; i < 2 * CAM_FOUND; i++) {
		snprintf(who, sizeof(who), "old-%u", i);
		assert_true(is_news(known, 1, 30 * DAY, who));
	}
	for (unsigned turn = 0; turn < 5; turn++) {
		for (unsigned i = 0; i < CAM_FOUND; i++) {
			snprintf(who, sizeof(who), "new-%u", i);
			assert_int_equal(is_news(known, 2, (60 + turn) * NS, who), turn < 3);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_in_ten_minutes),
		cmocka_unit_test(another_boot_has_another_clock),
		cmocka_unit_test(those_of_another_boot_make_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
