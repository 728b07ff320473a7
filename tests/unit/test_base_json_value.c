// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/json_value.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct cam_json_value parse(const char *text)
{
	struct cam_json_value v;
	if (cam_json_value_parse(cam_text_of(text), &v))
		fail_msg("refused: %s", text);
	return v;
}

/* By RFC 8259. */
static void test_what_is_json(void **state)
{
	(void)state;
	static const char *const good[] = {
		"0",
		"-0",
		"10.50",
		"1e9",
		"1E-9",
		"-1.5e+30",
		"true",
		"false",
		"null",
		"\"\"",
		" [ ] ",
		"{}",
		"[1,2]",
		"{\"a\":[{}],\"b\":null}",
		"\t\r\n1 ",
		"\"\\u00e9\\n\\\\\"",
		"\"\xc3\xa9\"",
		"[[[[[[[[1]]]]]]]]",
	};
	static const char *const bad[] = {
		"",	    " ",	  "01",		 "-",	 "+1",	   ".5",
		"1.",	    "1e",	  "0x10",	 "True", "nul",	   "'a'",
		"\"",	    "\"\\x\"",	  "\"\\u12g4\"", "\"\\", "\"\n\"", "[",
		"[1,]",	    "[1 2]",	  "[,1]",	 "{",	 "{1:2}",  "{\"a\"}",
		"{\"a\":}", "{\"a\":1,}", "{\"a\" 1}",	 "1 2",	 "[1]]",   "nan",
		"[1}",
	};
	struct cam_json_value v;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		parse(good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (cam_json_value_parse(cam_text_of(bad[i]), &v) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
	}
}

static void test_depth(void **state)
{
	(void)state;
	char text[2 * CAM_JSON_DEPTH + 4];
	struct cam_json_value v;
	for (int depth = CAM_JSON_DEPTH - 1; depth <= CAM_JSON_DEPTH + 1; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		struct cam_text t = {text, 2 * (size_t)depth};
		assert_int_equal(cam_json_value_parse(t, &v),
				 depth > CAM_JSON_DEPTH ? -EBADMSG : 0);
	}
}

static void test_members(void **state)
{
	(void)state;
	struct cam_json_value v = parse("{ \"a\" : [ 1 , {\"b\":\"x\"}, [] ], \"ab\":2, \"\":3, "
					"\"q\\u0000\":4, \"\\u0061b\":5 }");
	struct cam_json_value list, e;
	uint64_t n = 0;
	assert_true(cam_json_value_get(v, "a", &list));
	assert_true(cam_json_value_at(list, 0, &e) && cam_json_value_u64(e, &n));
	assert_int_equal(n, 1);
	assert_true(cam_json_value_at(list, 1, &e) && cam_json_value_get(e, "b", &e));
	assert_string_equal("x", (char[2]){e.text.p[1]});
	assert_true(cam_json_value_at(list, 2, &e));
	assert_false(cam_json_value_at(e, 0, &e));
	assert_false(cam_json_value_at(list, 3, &e));
	assert_int_equal(cam_json_value_count(list), 3);
	assert_true(cam_json_value_at(list, 2, &e));
	assert_int_equal(cam_json_value_count(e), 0);
	assert_int_equal(cam_json_value_count(v), 0);
	/* The first of that name, however it is written. */
	assert_true(cam_json_value_get(v, "ab", &e) && cam_json_value_u64(e, &n));
	assert_int_equal(n, 2);
	assert_true(cam_json_value_get(v, "", &e) && cam_json_value_u64(e, &n));
	assert_int_equal(n, 3);
	assert_false(cam_json_value_get(v, "q", &e));
	assert_false(cam_json_value_get(v, "b", &e));
	assert_false(cam_json_value_get(list, "a", &e));
	assert_false(cam_json_value_at(v, 0, &e));
	assert_false(cam_json_value_get(parse("{}"), "a", &e));
}

static void test_numbers(void **state)
{
	(void)state;
	uint64_t u = 0;
	int64_t i = 0;
	bool b;
	assert_true(cam_json_value_u64(parse("18446744073709551615"), &u));
	assert_true(u == UINT64_MAX);
	assert_false(cam_json_value_u64(parse("18446744073709551616"), &u));
	assert_false(cam_json_value_u64(parse("-1"), &u));
	assert_false(cam_json_value_u64(parse("1.0"), &u));
	assert_false(cam_json_value_u64(parse("\"1\""), &u));
	assert_true(cam_json_value_i64(parse("-9223372036854775808"), &i));
	assert_true(i == INT64_MIN);
	assert_false(cam_json_value_i64(parse("-9223372036854775809"), &i));
	assert_false(cam_json_value_i64(parse("9223372036854775808"), &i));
	assert_true(cam_json_value_i64(parse("9223372036854775807"), &i));
	assert_true(i == INT64_MAX);
	assert_true(cam_json_value_bool(parse("true"), &b) && b);
	assert_true(cam_json_value_bool(parse("false"), &b) && !b);
	assert_false(cam_json_value_bool(parse("1"), &b));
}

static void test_strings(void **state)
{
	(void)state;
	char room[32];
	assert_true(cam_json_value_string(parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\""), room, 32));
	assert_string_equal(room, "a\"\\/\b\f\n\r\t");
	assert_true(cam_json_value_string(parse("\"\\u00e9\\u20AC\\ud83d\\ude00\""), room, 32));
	assert_string_equal(room, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_true(cam_json_value_string(parse("\"\\ud83dx\\ude00\""), room, 32));
	assert_string_equal(room, "\xef\xbf\xbdx\xef\xbf\xbd");
	/* Cut between characters. */
	assert_true(cam_json_value_string(parse("\"ab\\u20ac\""), room, 5));
	assert_string_equal(room, "ab");
	assert_false(cam_json_value_string(parse("12"), room, 32));
}

/* What this program writes it can read. */
static void test_our_own(void **state)
{
	(void)state;
	struct cam_buf buf = CAM_BUF(4096);
	struct cam_out out;
	struct cam_json j = {&out, false};
	cam_out_to_buf(&out, &buf);
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "t", (struct cam_text){"\x01\"\\\xff\n<\xc3\xa9", 8});
	cam_json_open(&j, "l", '[');
	cam_json_u64(&j, NULL, UINT64_MAX);
	cam_json_null(&j, NULL);
	cam_json_i64(&j, NULL, INT64_MIN);
	cam_json_close(&j, ']');
	cam_json_close(&j, '}');
	assert_int_equal(cam_out_finish(&out), 0);
	struct cam_json_value v, e;
	char room[32];
	int64_t i = 0;
	assert_int_equal(cam_json_value_parse((struct cam_text){(char *)buf.data, buf.len}, &v), 0);
	assert_true(cam_json_value_get(v, "t", &e) && cam_json_value_string(e, room, 32));
	assert_string_equal(room, "\x01\"\\\xef\xbf\xbd\n<\xc3\xa9");
	assert_true(cam_json_value_get(v, "l", &e) && cam_json_value_at(e, 2, &e));
	assert_true(cam_json_value_i64(e, &i) && i == INT64_MIN);
	cam_buf_free(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_json), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_members),	     cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),	     cmocka_unit_test(test_our_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
