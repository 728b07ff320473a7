// SPDX-License-Identifier: Apache-2.0
/* Names of files: the dates against libc's gmtime_r, the parser against the printer. */
#include "base/units.h"
#include "store/name.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct cam_window_info info_of(const char *host, int64_t realtime_ns, uint64_t length_ns)
{
	return (struct cam_window_info){
		.host = cam_text_of(host),
		.realtime_ns = realtime_ns,
		.start_ns = 5 * CAM_NS_PER_SEC,
		.end_ns = 5 * CAM_NS_PER_SEC + length_ns,
	};
}

static void test_window(void **state)
{
	(void)state;
	char name[CAM_NAME_BYTES];
	struct cam_window_info info = info_of("db-1", 1776222847250000000, 120 * CAM_NS_PER_SEC);
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-db-1-20260415-03-14-07-120s.pcw");
	cam_name_window(&info, 2, name);
	assert_string_equal(name, "perfcam-db-1-20260415-03-14-07-120s.2.pcw");
	info.end_ns++;
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-db-1-20260415-03-14-07-121s.pcw");
	info.end_ns = info.start_ns;
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-db-1-20260415-03-14-07-0s.pcw");
}

static void test_no_wall_clock(void **state)
{
	(void)state;
	char name[CAM_NAME_BYTES];
	struct cam_window_info info = info_of("h", INT64_MIN, CAM_NS_PER_SEC);
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-h-19700101-00-00-05-1s.pcw");
	info.start_ns = info.end_ns = CAM_TIME_NONE;
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-h-19700101-00-00-00-0s.pcw");
}

static void test_host(void **state)
{
	(void)state;
	char name[CAM_NAME_BYTES], host[300];
	struct cam_window_info info = info_of("a/b c\n..\xff", 0, CAM_NS_PER_SEC);
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-a_b_c_.._-19700101-00-00-00-1s.pcw");
	info.host = (struct cam_text){"", 0};
	cam_name_window(&info, 1, name);
	assert_string_equal(name, "perfcam-unknown-19700101-00-00-00-1s.pcw");
	memset(host, 'x', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	info.host = cam_text_of(host);
	cam_name_window(&info, CAM_NAME_MAX_COPIES, name);
	assert_int_equal(strlen(name),
			 strlen("perfcam-") + 64 + strlen("-19700101-00-00-00-1s.1000.pcw"));
	assert_null(strchr(name, '/'));
}

/* Dates of the whole range of 64 bits, as libc has them. */
static void test_dates_against_libc(void **state)
{
	(void)state;
	for (int64_t s = INT64_MIN / 1000000000 + 1; s < INT64_MAX / 1000000000; s += 86399 * 71) {
		char name[CAM_NAME_BYTES], expected[CAM_NAME_BYTES];
		time_t t = (time_t)s;
		struct tm tm;
		struct cam_window_info info = info_of("h", s * 1000000000, CAM_NS_PER_SEC);
		assert_non_null(gmtime_r(&t, &tm));
		assert_true(strftime(expected, sizeof(expected), "perfcam-h-%Y%m%d-%H-%M-%S-1s.pcw",
				     &tm));
		cam_name_window(&info, 1, name);
		assert_string_equal(name, expected);
	}
}

static void test_parse_is_the_inverse(void **state)
{
	(void)state;
	static const char *hosts[] = {
		"h", "a-b", "web-01-20240101-00-00-00-5s", "x.2", "-", "120s", "perfcam-perfcam-",
	};
	for (size_t h = 0; h < sizeof(hosts) / sizeof(hosts[0]); h++) {
		for (unsigned copy = 1; copy <= 12; copy++) {
			char name[CAM_NAME_BYTES];
			struct cam_name_parts back;
			int64_t at = (int64_t)copy * 345678901 * 1000000000;
			struct cam_window_info info = info_of(hosts[h], at, 77 * CAM_NS_PER_SEC);
			cam_name_window(&info, copy, name);
			assert_int_equal(cam_name_kind(name), CAM_FILE_WINDOW);
			assert_true(cam_name_parse(name, &back));
			assert_string_equal(back.host, hosts[h]);
			assert_int_equal(back.start_ns, at - at % 1000000000);
			assert_int_equal(back.seconds, 77);
			assert_int_equal(back.copy, copy);
		}
	}
}

static void test_parse_refuses(void **state)
{
	(void)state;
	static const char *bad[] = {
		"",
		"perfcam",
		"perfcam-.pcw",
		"perfcam--20240101-00-00-00-5s.pcw",
		"perfcam-h-20241301-00-00-00-5s.pcw",
		"perfcam-h-20240101-24-00-00-5s.pcw",
		"perfcam-h-2024010-00-00-00-5s.pcw",
		"perfcam-h-20240101-00-00-00-s.pcw",
		"perfcam-h-20240101-00-00-00-5.pcw",
		"perfcam-h-20240101-00-00-00-5s.1.pcw",
		"perfcam-h-20240101-00-00-00-5s.0.pcw",
		"perfcam-h-20240101-00-00-00-5s.2",
		"perfcam-h-20240101-00-00-00-5s.2.pcj",
		"profile-h-20240101-00-00-00-5s.pcw",
		"perfcam-h-20240101-00-00-00-99999999999999999999999s.pcw",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cam_name_parts out;
		assert_false(cam_name_parse(bad[i], &out));
	}
}

static void test_kinds(void **state)
{
	(void)state;
	char name[CAM_NAME_BYTES];
	cam_name_journal(42, name);
	assert_string_equal(name, "open-00000042.pcj");
	assert_int_equal(cam_name_kind(name), CAM_FILE_JOURNAL);
	assert_int_equal(cam_name_journal_sequence(name), 42);
	cam_name_journal(12345678901, name);
	assert_int_equal(cam_name_journal_sequence(name), 12345678901);
	assert_int_equal(cam_name_journal_sequence("open-99999999999999999999.pcj"), 0);
	assert_int_equal(cam_name_journal_sequence("open-9999999999999999999.pcj"), 0);
	assert_int_equal(cam_name_journal_sequence("open-.pcj"), 0);
	assert_int_equal(cam_name_journal_sequence("open-x1.pcj"), 0);
	assert_int_equal(cam_name_kind("events.pcj"), CAM_FILE_ANNEX);
	assert_int_equal(cam_name_kind("pins"), CAM_FILE_PINS);
	assert_int_equal(cam_name_kind("lock"), CAM_FILE_LOCK);
	assert_int_equal(cam_name_kind("open-00000042.pcj.bad"), CAM_FILE_BAD_JOURNAL);
	assert_int_equal(cam_name_kind("pins.tmp"), CAM_FILE_TEMPORARY);
	assert_int_equal(cam_name_kind("incident.pcw"), CAM_FILE_WINDOW);
	assert_int_equal(cam_name_kind("open-0.pcj"), CAM_FILE_FOREIGN);
	assert_int_equal(cam_name_kind("notes.txt"), CAM_FILE_FOREIGN);
	assert_int_equal(cam_name_kind(""), CAM_FILE_FOREIGN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_no_wall_clock),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_dates_against_libc),
		cmocka_unit_test(test_parse_is_the_inverse),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
