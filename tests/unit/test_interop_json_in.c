// SPDX-License-Identifier: Apache-2.0
/* JSON token by token: what RFC 8259 calls JSON and what it does not, in pieces of every size. */
#include "interop/json_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct bytes {
	const char *p;
	size_t left, step;
};

static ssize_t read_some(void *arg, void *room, size_t n)
{
	struct bytes *b = arg;
	n = n < b->left ? n : b->left;
	n = n < b->step ? n : b->step;
	memcpy(room, b->p, n);
	b->p += n;
	b->left -= n;
	return (ssize_t)n;
}

/* One letter a token, texts in brackets. */
static void walk(struct cam_text s, size_t step, char *out, size_t bytes)
{
	static const char letters[] = {'.', '!', '{', '}', '[', ']', 'k', 's', 'n', 't', 'f', '0'};
	struct bytes b = {s.p, s.n, step};
	struct cam_input *in;
	struct cam_json_in j;
	size_t n = 0;
	assert_int_equal(cam_input_open_fn(&in, read_some, &b, NULL), 0);
	cam_json_in_init(&j, in);
	for (;;) {
		enum cam_json_token token = cam_json_in_next(&j);
		if (token == CAM_JSON_END && j.depth)
			token = CAM_JSON_BAD;
		assert_true(n + 100 < bytes);
		out[n++] = letters[token];
		if (token == CAM_JSON_KEY || token == CAM_JSON_STRING || token == CAM_JSON_NUMBER)
			n += (size_t)snprintf(out + n, 90, "(%.*s)", (int)j.text.n, j.text.p);
		if (token == CAM_JSON_END || token == CAM_JSON_BAD)
			break;
	}
	out[n] = 0;
	cam_json_in_free(&j);
	cam_input_close(in);
}

static void check(const char *json, const char *want)
{
	char got[4096];
	for (size_t step = 1; step < 4; step++) {
		walk(cam_text_of(json), step, got, sizeof(got));
		assert_string_equal(got, want);
	}
}

static void test_values(void **state)
{
	(void)state;
	check("{}", "{}.");
	check(" [ ] ", "[].");
	check("[1,-2.5e+3,\"x\",true,false,null]", "[n(1)n(-2.5e+3)s(x)tf0].");
	check("{\"a\":{\"b\":[[],{}]},\"c\":0}", "{k(a){k(b)[[]{}]}k(c)n(0)}.");
	check("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s(\"\\/\b\f\n\r\t).");
	check("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
	      "s(A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80).");
	check("\"\\ud83d\"", "s(\xef\xbf\xbd).");
	check("\"\\ud83d\\ud83d\\ude00\"", "s(\xef\xbf\xbd\xf0\x9f\x98\x80).");
	check("\"\\ude00\"", "s(\xef\xbf\xbd).");
	check("7", "n(7).");
	check("\"\xff\"", "s(\xff).");
}

static void test_what_is_not_json(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"[1,]",	   "[,1]",	  "{\"a\"}", "{\"a\":}", "{a:1}",     "{\"a\":1,}",
		"[1 2]",   "01",	  "1.",	     ".5",	 "1e",	      "+1",
		"--1",	   "tru",	  "nul",     "[}",	 "{]",	      "1 2",
		"\"\\x\"", "\"\\u12g4\"", "\"\n\"",  "]",	 "{\"a\" 1}", "'a'",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char got[4096];
		walk(cam_text_of(bad[i]), 1, got, sizeof(got));
		assert_true(strchr(got, '!') || strcmp(got, ".") == 0);
	}
	char got[64];
	walk(CAM_TEXT("[1"), 1, got, sizeof(got) + 100);
	assert_string_equal(got, "[n(1)!");
}

static void test_bounds(void **state)
{
	(void)state;
	size_t n = 70000;
	char *s = malloc(n + 3);
	struct cam_input *in;
	struct cam_json_in j;
	assert_non_null(s);
	memset(s, '[', n);
	struct bytes b = {s, n, 4096};
	assert_int_equal(cam_input_open_fn(&in, read_some, &b, NULL), 0);
	cam_json_in_init(&j, in);
	size_t tokens = 0;
	while (cam_json_in_next(&j) == CAM_JSON_ARRAY)
		tokens++;
	assert_int_equal(tokens, CAM_JSON_IN_DEPTH);
	assert_int_equal(j.token, CAM_JSON_BAD);
	assert_int_equal(cam_json_in_next(&j), CAM_JSON_BAD);
	cam_json_in_free(&j);
	cam_input_close(in);

	memset(s, 'x', n + 2);
	s[0] = s[n + 1] = '"';
	b = (struct bytes){s, n + 2, 4096};
	assert_int_equal(cam_input_open_fn(&in, read_some, &b, NULL), 0);
	cam_json_in_init(&j, in);
	assert_int_equal(cam_json_in_next(&j), CAM_JSON_STRING);
	assert_int_equal(j.text.n, CAM_JSON_IN_TEXT);
	assert_int_equal(j.cut_texts, 1);
	assert_int_equal(cam_json_in_next(&j), CAM_JSON_END);
	cam_json_in_free(&j);
	cam_input_close(in);
	free(s);
}

static void test_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t scale;
		int64_t want;
		bool good;
	} cases[] = {
		{"1794710713987956001", 1, 1794710713987956001, true},
		{"36948001600.123", 1000, 36948001600123, true},
		{"-5", 1000, -5000, true},
		{"1e3", 1, 1000, true},
		{"1e40", 1, 0, false},
		{"0.0004", 1000, 0, true},
		{"\"17\"", 1, 17, true},
		{"\"main\"", 1, 0, false},
		{"true", 1, 0, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {cases[i].text, strlen(cases[i].text), 1};
		struct cam_input *in;
		struct cam_json_in j;
		int64_t got = 0;
		assert_int_equal(cam_input_open_fn(&in, read_some, &b, NULL), 0);
		cam_json_in_init(&j, in);
		cam_json_in_next(&j);
		assert_int_equal(cam_json_in_scaled(&j, cases[i].scale, &got), cases[i].good);
		assert_true(got == cases[i].want);
		cam_json_in_free(&j);
		cam_input_close(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_not_json),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
