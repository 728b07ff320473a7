// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void durations(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int err;
		uint64_t ns;
	} cases[] = {
		{"90s", 0, 90000000000u},
		{"2m", 0, 120000000000u},
		{"0.1s", 0, 100000000u},
		{"250ms", 0, 250000000u},
		{"1.5h", 0, 5400000000000u},
		{"7d", 0, 604800000000000u},
		{"3", 0, 3000000000u},
		{"1.000000001", 0, 1000000001u},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"1.2.3s", -EINVAL, 0},
		{"99999999999999999999s", -ERANGE, 0},
		{"9999999999h", -ERANGE, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;
		int err = cam_duration_parse(cam_text_of(cases[i].text), &ns);
		if (err != cases[i].err || ns != cases[i].ns)
			fail_msg("'%s' gave %d, %llu", cases[i].text, err, (unsigned long long)ns);
	}
}

static void sizes(void **state)
{
	(void)state;
	uint64_t bytes;
	assert_int_equal(cam_size_parse(CAM_TEXT("2G"), &bytes), 0);
	assert_true(bytes == 2ull << 30);
	assert_int_equal(cam_size_parse(CAM_TEXT("1.5K"), &bytes), 0);
	assert_true(bytes == 1536);
	assert_int_equal(cam_size_parse(CAM_TEXT("4096"), &bytes), 0);
	assert_true(bytes == 4096);
	assert_int_equal(cam_size_parse(CAM_TEXT("2g"), &bytes), -EINVAL);
	assert_int_equal(cam_size_parse(CAM_TEXT("99999999T"), &bytes), -ERANGE);
}

/* The C library's calendar is the oracle, over all of its and our range. */
static void dates_agree_with_the_c_library(void **state)
{
	(void)state;
	srand(7);
	for (int i = 0; i < 200000; i++) {
		int64_t sec = (int64_t)((double)rand() / RAND_MAX * 18000000000.0) - 9000000000;
		time_t t = (time_t)sec;
		struct tm tm;
		gmtime_r(&t, &tm);
		struct cam_utc utc = cam_utc_from_ns(sec * 1000000000 + 5);
		assert_int_equal(utc.year, tm.tm_year + 1900);
		assert_int_equal(utc.month, tm.tm_mon + 1);
		assert_int_equal(utc.day, tm.tm_mday);
		assert_int_equal(utc.hour, tm.tm_hour);
		assert_int_equal(utc.minute, tm.tm_min);
		assert_int_equal(utc.second, tm.tm_sec);
		assert_int_equal(utc.ns, 5);
		int64_t back;
		assert_int_equal(cam_utc_to_ns(&utc, &back), 0);
		assert_true(back == sec * 1000000000 + 5);
	}
	int64_t ns;
	assert_int_equal(cam_utc_to_ns(&(struct cam_utc){2026, 13, 1, 0, 0, 0, 0}, &ns), -EINVAL);
	assert_int_equal(cam_utc_to_ns(&(struct cam_utc){2300, 1, 1, 0, 0, 0, 0}, &ns), -ERANGE);
}

/* The check value of the CRC catalogue and iSCSI's published vectors (RFC 3720 B.4). */
static void crc32c_is_the_standard_one(void **state)
{
	(void)state;
	uint8_t zeros[32] = {0}, ones[32], rising[32];
	for (int i = 0; i < 32; i++) {
		ones[i] = 0xff;
		rising[i] = (uint8_t)i;
	}
	assert_int_equal(cam_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(cam_crc32c(0, zeros, 32), 0x8a9136aau);
	assert_int_equal(cam_crc32c(0, ones, 32), 0x62a8ab43u);
	assert_int_equal(cam_crc32c(0, rising, 32), 0x46dd794eu);
	assert_int_equal(cam_crc32c(cam_crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

static void utf8_is_strict(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n, want;
	} cases[] = {
		{"a", 1, 1},
		{"\xc3\xa9", 2, 2},
		{"\xe2\x82\xac", 3, 3},
		{"\xf0\x9f\x98\x80", 4, 4},
		{"\xc3", 1, 0},
		{"\x80", 1, 0},
		{"\xc0\x80", 2, 0},
		{"\xe0\x80\x80", 3, 0},
		{"\xed\xa0\x80", 3, 0},
		{"\xf5\x80\x80\x80", 4, 0},
		{"\xf4\x90\x80\x80", 4, 0},
		{"", 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cam_utf8_length((struct cam_text){cases[i].bytes, cases[i].n}),
				 cases[i].want);
}

static void json_escapes_any_bytes(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(4096);
	struct cam_out out;
	cam_out_to_buf(&out, &b);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "name", (struct cam_text){"a\"\\\n\0\xff\xc3\xa9<", 9});
	cam_json_open(&j, "list", '[');
	cam_json_u64(&j, NULL, UINT64_MAX);
	cam_json_i64(&j, NULL, -1);
	cam_json_bool(&j, NULL, true);
	cam_json_null(&j, NULL);
	cam_json_close(&j, ']');
	cam_json_open(&j, "empty", '{');
	cam_json_close(&j, '}');
	cam_json_close(&j, '}');
	assert_int_equal(cam_out_finish(&out), 0);
	const char *want = "{\"name\":\"a\\\"\\\\\\u000a\\u0000\\ufffd\xc3\xa9<\","
			   "\"list\":[18446744073709551615,-1,true,null],\"empty\":{}}";
	assert_int_equal(b.len, strlen(want));
	assert_memory_equal(b.data, want, b.len);
	cam_buf_free(&b);
}

static void what_a_terminal_gets_is_harmless(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(4096);
	struct cam_out out;
	cam_out_to_buf(&out, &b);
	cam_out_printable(&out, (struct cam_text){"a\x1b[31m\n\x7f\xff\xc2\x9b\xc3\xa9", 13});
	assert_int_equal(cam_out_finish(&out), 0);
	const char *want = "a\\x1b[31m\\x0a\\x7f\\xff\\xc2\\x9b\xc3\xa9";
	assert_int_equal(b.len, strlen(want));
	assert_memory_equal(b.data, want, b.len);
	cam_buf_free(&b);
}

static int failing_write(struct cam_out *out, const void *bytes, size_t n)
{
	(void)bytes;
	(void)n;
	++*(int *)out->self;
	return -ENOSPC;
}

static void a_stream_keeps_its_first_error(void **state)
{
	(void)state;
	int calls = 0;
	struct cam_out out;
	cam_out_init(&out, failing_write, &calls);
	for (int i = 0; i < 100000; i++)
		cam_out_str(&out, "0123456789");
	assert_int_equal(cam_out_finish(&out), -ENOSPC);
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes),
		cmocka_unit_test(dates_agree_with_the_c_library),
		cmocka_unit_test(crc32c_is_the_standard_one),
		cmocka_unit_test(utf8_is_strict),
		cmocka_unit_test(json_escapes_any_bytes),
		cmocka_unit_test(what_a_terminal_gets_is_harmless),
		cmocka_unit_test(a_stream_keeps_its_first_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
