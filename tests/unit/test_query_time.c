// SPDX-License-Identifier: Apache-2.0
/* The oracle for local time is the C library, with zones given as rules: no file is needed. */
#include "base/units.h"
#include "query/time.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define BERLIN	  "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK  "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
#define KATHMANDU "<+0545>-5:45"
#define NS	  ((int64_t)1000000000)
/* 2026-04-15T03:14:07.25Z */
#define NOW_NS (1776222847 * NS + 250000000)

static int32_t libc_zone(void *arg, int64_t sec)
{
	(void)arg;
	time_t t = (time_t)sec;
	struct tm tm;
	localtime_r(&t, &tm);
	return (int32_t)tm.tm_gmtoff;
}

static char why[256];

static int parse_at(const char *text, int64_t now_ns, int64_t *ns)
{
	const struct cam_time_world w = {now_ns, libc_zone, NULL};
	why[0] = '\0';
	return cam_time_parse(cam_text_of(text), &w, ns, why, sizeof(why));
}

static int64_t good(const char *text, int64_t now_ns)
{
	int64_t ns = -1;
	if (parse_at(text, now_ns, &ns))
		fail_msg("%s: %s", text, why);
	return ns;
}

static void zone(const char *tz)
{
	setenv("TZ", tz, 1);
	tzset();
}

static void test_forms(void **state)
{
	(void)state;
	zone("UTC0");
	assert_int_equal(good("now", NOW_NS), NOW_NS);
	assert_int_equal(good("-90s", NOW_NS), NOW_NS - 90 * NS);
	assert_int_equal(good("-1.5h", NOW_NS), NOW_NS - 5400 * NS);
	assert_int_equal(good("-0s", NOW_NS), NOW_NS);
	assert_int_equal(good("+10m", NOW_NS), NOW_NS + 600 * NS);
	assert_int_equal(good("@1776222847.25", 0), NOW_NS);
	assert_int_equal(good("@0", NOW_NS), 0);
	assert_int_equal(good("2026-04-15T03:14:07.25", 0), NOW_NS);
	assert_int_equal(good("2026-04-15 03:14:07.250000000Z", 0), NOW_NS);
	assert_int_equal(good("2026-04-15T03:14", 0), NOW_NS - 7250000000);
	assert_int_equal(good("2026-04-15T05:14:07.25+02:00", 0), NOW_NS);
	assert_int_equal(good("2026-04-14T21:44:07.25-0530", 0), NOW_NS);
	assert_int_equal(good("1969-12-31T23:59:59Z", 0), -NS);
	assert_int_equal(good("2024-02-29T00:00:00Z", 0), 1709164800 * NS);
}

static void test_the_latest_such_moment(void **state)
{
	(void)state;
	zone("UTC0");
	int64_t second = NOW_NS - NOW_NS % NS;
	assert_int_equal(good("03:14:07", NOW_NS), second);
	assert_int_equal(good("03:14:07.25", NOW_NS), NOW_NS);
	/* A moment later it is yesterday's. */
	assert_int_equal(good("03:14:07.250000001", NOW_NS), NOW_NS + 1 - 86400 * NS);
	assert_int_equal(good("03:14:08", NOW_NS), second + NS - 86400 * NS);
	assert_int_equal(good("23:59:59", NOW_NS), second - (3 * 3600 + 14 * 60 + 8) * NS);
	assert_int_equal(good("05:14:07+02:00", NOW_NS), second);
	/* Another zone's today may be our tomorrow. */
	assert_int_equal(good("15:14:07+12:00", NOW_NS), second);
	zone(BERLIN);
	assert_int_equal(good("05:14:07", NOW_NS), second);
	assert_int_equal(good("03:14:07Z", NOW_NS), second);
}

static int64_t at(const char *utc)
{
	return good(utc, 0);
}

static void test_clocks_that_go_back(void **state)
{
	(void)state;
	zone(BERLIN);
	int64_t noon = at("2026-10-25T12:00:00Z");
	assert_int_equal(good("02:30", noon), at("2026-10-25T01:30:00Z"));
	/* Between the two of them there was only the first. */
	assert_int_equal(good("02:30", at("2026-10-25T01:10:00Z")), at("2026-10-25T00:30:00Z"));
	assert_int_equal(good("2026-10-25T02:30", noon), at("2026-10-25T01:30:00Z"));
	assert_int_equal(good("2026-10-25T02:30", 0), at("2026-10-25T00:30:00Z"));
	assert_int_equal(good("2026-10-25T02:30+02:00", noon), at("2026-10-25T00:30:00Z"));
	/* By half an hour, on the other side of the world. */
	zone(LORD_HOWE);
	noon = at("2026-04-05T02:00:00Z");
	assert_int_equal(good("01:45", noon), at("2026-04-04T15:15:00Z"));
	assert_int_equal(good("01:45", at("2026-04-04T15:00:00Z")), at("2026-04-04T14:45:00Z"));
}

static void test_clocks_that_go_forward(void **state)
{
	(void)state;
	int64_t ns;
	zone(BERLIN);
	assert_int_equal(parse_at("2026-03-29T02:30:00", 0, &ns), -EINVAL);
	assert_string_equal(why,
			    "'2026-03-29T02:30:00' is not a time here: clocks went forward and "
			    "skipped it; add Z or an offset");
	assert_int_equal(good("2026-03-29T03:00:00", 0), at("2026-03-29T01:00:00Z"));
	assert_int_equal(good("2026-03-29T01:59:59", 0), at("2026-03-29T00:59:59Z"));
	/* The latest 02:30 that has been was the day before. */
	assert_int_equal(good("02:30", at("2026-03-29T10:00:00Z")), at("2026-03-28T01:30:00Z"));
}

/* Any moment, written as the C library's local time, is read as that moment again. */
static void test_against_the_c_library(void **state)
{
	(void)state;
	static const char *const zones[] = {"UTC0", BERLIN, NEW_YORK, LORD_HOWE, KATHMANDU};
	uint64_t seed = 42;
	for (size_t z = 0; z < sizeof(zones) / sizeof(zones[0]); z++) {
		zone(zones[z]);
		for (int i = 0; i < 20000; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			time_t t = (time_t)(seed >> 33) % 2000000000 + 100000000;
			struct tm tm, again;
			char text[64];
			localtime_r(&t, &tm);
			strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
			/* Read right after it happened: of two such moments, then, this one. */
			int64_t ns = good(text, (int64_t)t * NS);
			assert_int_equal(ns, (int64_t)t * NS);
			strftime(text, sizeof(text), "%H:%M:%S", &tm);
			assert_int_equal(good(text, (int64_t)t * NS), ns);
			/* Up to a day later it is still the latest, unless it happened again. */
			ns = good(text, ((int64_t)t + (int64_t)(seed % 80000)) * NS);
			time_t found = (time_t)(ns / NS);
			localtime_r(&found, &again);
			assert_int_equal(again.tm_hour, tm.tm_hour);
			assert_int_equal(again.tm_min, tm.tm_min);
			assert_int_equal(again.tm_sec, tm.tm_sec);
			assert_true(found >= t);
			strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S%z", &tm);
			assert_int_equal(good(text, 0), (int64_t)t * NS);
		}
	}
}

static void test_what_is_none(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "'' is not a time; try 03:14:07, -90s, boot+123.4, "},
		{"yesterday", "'yesterday' is not a time; try"},
		{"03:99",
		 "'03:99' is not a time: minutes go to 59; try 03:14:07, -90s, boot+123.4"},
		{"boot+", "boot+ is followed by a kernel log's stamp"},
		{"boot+1.2.3", "boot+ is followed by a kernel log's stamp"},
		{"boot+12m", "boot+ is followed by a kernel log's stamp"},
		{"boot+-5", "boot+ is followed by a kernel log's stamp"},
		{"boot+12.5", "is not a time here: boot+ needs recorded windows"},
		{"24:00", "hours go to 23"},
		{"23:59:60", "seconds go to 59"},
		{"3:14", "; try"},
		{"03:14:7", "; try"},
		{"03:14:07.", "; try"},
		{"03:14:07.1234567890", "at most 9 digits"},
		{"03:14:07 ", "; try"},
		{"03:14:07+2", "; try"},
		{"03:14:07+02:60", "a zone is Z or like +02:00"},
		{"03:14:07+24:00", "a zone is Z or like +02:00"},
		{"03:14:07Zulu", "; try"},
		{"2026-13-01T00:00", "months go from 01 to 12"},
		{"2026-02-29T00:00", "2026-02 has no day 29"},
		{"2026-04-31T00:00", "2026-04 has no day 31"},
		{"2026-04-00T00:00", "2026-04 has no day 0"},
		{"2026-04-32T00:00", "2026-04 has no day 32"},
		{"2026-04-15", "a date needs a clock: 2026-04-15T03:14:07"},
		{"2026-04-15T", "; try"},
		{"2026-4-15T03:14", "; try"},
		{"9999-01-01T00:00", "years go from 1678 to 2261"},
		{"-90x", "a time before now is like -90s"},
		{"-", "a time before now is like -90s"},
		{"--90s", "a time before now is like -90s"},
		{"-99999999d", "too far away"},
		{"@", "@ is followed by seconds since 1970"},
		{"@12m", "@ is followed by seconds since 1970"},
		{"@-5", "@ is followed by seconds since 1970"},
		{"@99999999999999", "@ is followed by seconds since 1970"},
	};
	zone("UTC0");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns;
		if (parse_at(cases[i].text, NOW_NS, &ns) != -EINVAL || !strstr(why, cases[i].says))
			fail_msg("'%s' said \"%s\"", cases[i].text, why);
	}
}

static int64_t end_of(const char *text, int64_t after_ns)
{
	const struct cam_time_world w = {NOW_NS, libc_zone, NULL};
	struct cam_time t;
	if (cam_time_read_end(cam_text_of(text), &w, after_ns, &t, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	assert_false(t.of_boot);
	return t.ns;
}

/* "23:50 to 00:10": the end is the first such moment behind the beginning. */
static void test_the_end_of_a_range(void **state)
{
	(void)state;
	zone("UTC0");
	int64_t evening = at("2026-04-10T23:50:00Z");
	assert_int_equal(end_of("00:10", evening), at("2026-04-11T00:10:00Z"));
	assert_int_equal(end_of("23:50", evening), at("2026-04-11T23:50:00Z"));
	assert_int_equal(end_of("23:50:00.000000001", evening), evening + 1);
	assert_int_equal(end_of("03:00+06:00", evening), at("2026-04-11T21:00:00Z"));
	/* What has a date, or is told from now, stays what it is. */
	assert_int_equal(end_of("2026-04-01T00:10", evening), at("2026-04-01T00:10:00Z"));
	assert_int_equal(end_of("-90s", evening), NOW_NS - 90 * NS);
	zone(BERLIN);
	/* Twice shown: the first one behind it. */
	assert_int_equal(end_of("02:30", at("2026-10-24T23:00:00Z")), at("2026-10-25T00:30:00Z"));
	assert_int_equal(end_of("02:30", at("2026-10-25T00:30:00Z")), at("2026-10-25T01:30:00Z"));
	/* Skipped: the next day's. */
	assert_int_equal(end_of("02:30", at("2026-03-29T00:00:00Z")), at("2026-03-30T00:30:00Z"));
}

static void test_stamps_of_a_boot(void **state)
{
	(void)state;
	const struct cam_time_world w = {NOW_NS, libc_zone, NULL};
	struct cam_time t;
	assert_int_equal(cam_time_read(CAM_TEXT("boot+12345.678"), &w, &t, why, sizeof(why)), 0);
	assert_true(t.of_boot);
	assert_int_equal(t.ns, 12345678000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_the_latest_such_moment),
		cmocka_unit_test(test_clocks_that_go_back),
		cmocka_unit_test(test_clocks_that_go_forward),
		cmocka_unit_test(test_against_the_c_library),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_the_end_of_a_range),
		cmocka_unit_test(test_stamps_of_a_boot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
