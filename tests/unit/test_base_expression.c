// SPDX-License-Identifier: Apache-2.0
#include "base/expression.h"
#include "query/select.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int check(const char *text, unsigned *steps, char why[128])
{
	why[0] = 0;
	return cam_expression_check(cam_text_of(text), steps, why, 128);
}

static void test_steps(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned steps;
	} known[] = {
		{"main", 4},
		{"^a.c$", 5},
		{"a|b", 3},
		{"a{3,5}", 5},
		{"a{4}", 4},
		{"a{4,}", 5},
		{"a{,3}", 3},
		{"x(ab)+", 5},
		{"((a{2}){3}b){4}", 28},
		{"a*b?", 2},
		{"(a+)+", 4},
		{"(a*)+", 2},
		{"a*++", 4},
		{"[a{9}+(]]", 2}, /* in a set they are characters; the second ']' is one, too */
		{"[]{9}]{2}", 2},
		{"[^][:alpha:](]{3}", 3},
		{"\\({2}", 2},
		{"\\[a{2}", 3},
		{"a{x}", 4}, /* no repetition */
		{")a", 2},
		{"()", 1},
		{"^(foo)?(bar)?(a|b)*$", 11},
		{"(a?){200}(b?)*", 201},
		{"^(std::|boost::)?[a-z_]+(<.*>)?$", 20},
	};
	char why[128];
	unsigned steps;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(check(known[i].text, &steps, why), 0);
		if (steps != known[i].steps)
			fail_msg("%s has %u", known[i].text, steps);
	}
}

static char *nested(unsigned n)
{
	char *text = calloc(1, 2 * n + 2);
	memset(text, '(', n);
	text[n] = 'a';
	memset(text + n + 1, ')', n);
	return text;
}

static void test_what_costs_too_much(void **state)
{
	(void)state;
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"((a?){255}){40}", "repetitions"},
		{"s??+{2,}??+{3,}{1,}{6,}", "repetitions"},
		{"((((a*)*)*)*)*", "repetitions"},
		{"7??{3}{1}{6,}", "nothing"},
		{"x(a?|b?){9}y", "nothing"},
		{"((a??b??x)(a??b??x)(a??b??x)){2}", "nothing"},
		{"(a?|b?){20,}", "nothing"},
		{"(^|$|a){20,}(b?)*", "nothing"},
		{"(|a?|b?){9}(c?)*", "nothing"},
		{"((a?|)(b?|)(c?|)){3}(d?)*", "nothing"},
		{"(\\b|\\<){9}", "nothing"},
		{"(ab){151}", "repetitions"},
		{"((a{1,255}){1,255}){1,255}", "repetitions"},
		{"a{99999999999999999999}", "repetitions"},
		{"(((((((((((a+)+)+)+)+)+)+)+)+)+)+)+", "repetitions"},
		{"a*++++++", "repetitions"},
		{"(.*)(.*)\\1\\2x", "back-references"},
		{"(a)\\1", "back-references"},
		{"[a](b[^]]\\9)", "back-references"},
	};
	char why[128];
	unsigned steps;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(check(bad[i].text, &steps, why), -EINVAL);
		assert_non_null(strstr(why, bad[i].why));
	}
	for (unsigned n = 31; n < 35; n++) {
		char *text = nested(n);
		assert_int_equal(check(text, &steps, why), n > 32 ? -EINVAL : 0);
		free(text);
	}
	char open[1001];
	memset(open, '(', 1000);
	open[1000] = 0;
	assert_int_equal(check(open, &steps, why), -EINVAL);
	assert_non_null(strstr(why, "deep"));
	/* A plain text of any length that is allowed. */
	char plain[CAM_SELECT_MAX_PATTERN + 1];
	memset(plain, 'a', CAM_SELECT_MAX_PATTERN);
	plain[CAM_SELECT_MAX_PATTERN] = 0;
	assert_int_equal(check(plain, &steps, why), 0);
}

/* The same through the door of all expressions; all that is asked together is bounded, too. */
static void test_selections_refuse_them(void **state)
{
	(void)state;
	char why[128];
	struct cam_selection s;
	cam_selection_init(&s);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, CAM_TEXT("((a?){255}){40}"), why,
					   sizeof(why)),
			 -EINVAL);
	assert_non_null(strstr(why, "repetitions"));
	assert_int_equal(s.match.n, 0);
	char plain[1000];
	memset(plain, 'a', sizeof(plain));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(cam_selection_add(&s, CAM_FILTER_EXCLUDE,
						   (struct cam_text){plain, sizeof(plain)}, why,
						   sizeof(why)),
				 i < 2 ? 0 : -EINVAL);
	assert_non_null(strstr(why, "together"));
	assert_int_equal(
		cam_selection_add(&s, CAM_FILTER_EXCLUDE, CAM_TEXT("main"), why, sizeof(why)), 0);
	cam_selection_free(&s);
}

static void *compile_all(void *arg)
{
	static const char *const worst[] = {"((a?){25}){12}", "(.?){300}", "((a|b)?){100}",
					    "(a|b)*a(a|b){100}", "(a*){300}"};
	(void)arg;
	char *deep = nested(32);
	regex_t r;
	for (size_t i = 0; i < sizeof(worst) / sizeof(worst[0]) + 1; i++) {
		const char *text =
			i < sizeof(worst) / sizeof(worst[0]) ? worst[i] : (const char *)deep;
		char why[128];
		unsigned steps;
		if (cam_expression_check(cam_text_of(text), &steps, why, sizeof(why)) ||
		    regcomp(&r, text, REG_EXTENDED | REG_NOSUB))
			abort();
		regexec(&r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 0, NULL, 0);
		regfree(&r);
	}
	free(deep);
	return NULL;
}

/* What is let through is compiled on a quarter of the stack that a server's thread has. */
static void test_stack_that_is_needed(void **state)
{
	(void)state;
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstacksize(&attr, 512u << 10), 0);
	assert_int_equal(pthread_create(&thread, &attr, compile_all, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_what_costs_too_much),
		cmocka_unit_test(test_selections_refuse_them),
		cmocka_unit_test(test_stack_that_is_needed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
