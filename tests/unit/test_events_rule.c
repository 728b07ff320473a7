// SPDX-License-Identifier: Apache-2.0
/* Rules as people write them, and as they should not. */
#include "events/rule.h"

#include "base/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

static void good(struct cam_rule *r, const char *text)
{
	char why[256] = "";
	if (cam_rule_parse(r, cam_text_of(text), why, sizeof(why)))
		fail_msg("%s: %s", text, why);
}

static bool about(struct cam_rule *r, const char *source, const char *text)
{
	return cam_rule_is_about(r, cam_text_of(source), cam_text_of(text));
}

static void rules_are_read(void **state)
{
	(void)state;
	struct cam_rule r;
	good(&r, "kmsg /ena.*reset|Tx timeout/ pin 5m before 1m after");
	assert_true(r.pins);
	assert_int_equal(r.before_ns, 300 * CAM_NS_PER_SEC);
	assert_int_equal(r.after_ns, 60 * CAM_NS_PER_SEC);
	assert_int_equal(r.severity, CAM_SEVERITY_MAX);
	assert_null(r.argv[0]);
	assert_true(about(&r, "kmsg", "ena eth0: now reset"));
	assert_false(about(&r, "kmsg", "ena eth0"));
	assert_false(about(&r, "mark", "Tx timeout"));
	assert_false(about(&r, "kms", "Tx timeout"));
	cam_rule_free(&r);
	good(&r, "any /a\\/b\\\\/  severity crit ,  pin 10m after, run /bin/echo  two  words");
	assert_string_equal(r.source, "");
	assert_int_equal(r.severity, CAM_SEVERITY_CRIT);
	assert_int_equal(r.after_ns, 600 * CAM_NS_PER_SEC);
	assert_int_equal(r.before_ns, CAM_NS_PER_SEC);
	assert_string_equal(r.argv[0], "/bin/echo");
	assert_string_equal(r.argv[1], "two");
	assert_string_equal(r.argv[2], "words");
	assert_null(r.argv[3]);
	assert_true(about(&r, "mark", "x a/b\\ y"));
	assert_false(about(&r, "mark", "a/b"));
	cam_rule_free(&r);
	assert_false(r.capsule);
	good(&r, "finding /kubelet/ pin 5m before 1m after, capsule");
	assert_true(r.capsule && r.pins);
	cam_rule_free(&r);
	good(&r, "log /^$/ pin 1m after 2m before");
	assert_int_equal(r.before_ns, 120 * CAM_NS_PER_SEC);
	assert_true(about(&r, "log:/var/log/x", ""));
	assert_false(about(&r, "logs", ""));
	cam_rule_free(&r);
}

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"kmsg",
		"/x/ pin 5m before",
		"kmsg x pin 5m before",
		"kmsg // pin 5m before",
		"kmsg /x pin 5m before",
		"kmsg /(/ pin 5m before",
		"kmsg /(a)\\1/ pin 5m before",
		"kmsg /((a{200}){200}){200}/ pin 1m before",
		"kmsg /x/",
		"kmsg /x/ pin",
		"kmsg /x/ pin 5m",
		"kmsg /x/ pin five before",
		"kmsg /x/ pin 2d before",
		"kmsg /x/ pin 5m before 1m",
		"kmsg /x/ pin 5m before pin 1m after",
		"kmsg /x/ severity loud",
		"kmsg /x/ run",
		"kmsg /x/ run page",
		"kmsg /x/ capsules",
		"kmsg /x/ pin 5m before,",
		"kmgs /x/ pin 5m before",
		"journald /x/ pin 5m before",
		"a-source-with-a-name-that-is-far-too-long /x/ pin 5m before",
		"kmsg /x/ run /b 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cam_rule r;
		char why[256] = "";
		if (cam_rule_parse(&r, cam_text_of(bad[i]), why, sizeof(why)) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_true(why[0]);
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* A text made for the expression: without a bound this takes minutes, and gigabytes. */
static void an_expression_that_takes_long_is_given_up(void **state)
{
	(void)state;
	struct cam_rule dear, plain;
	char text[1025] = "";
	struct rusage before, after;
	uint32_t random = 1;
	good(&dear, "any /.*x.{100}y/ severity crit");
	good(&plain, "any /q.*y$|deploy/ severity crit");
	getrusage(RUSAGE_SELF, &before);
	uint64_t from = cpu_ns();
	for (unsigned i = 0; i < 200; i++) {
		for (unsigned j = 0; j < 1024; j++) {
			random = random * 1664525 + 1013904223;
			text[j] = random >> 31 ? 'x' : 'a';
		}
		assert_false(about(&dear, "log:app.log", text));
		assert_false(about(&plain, "log:app.log", text));
	}
	uint64_t took = cpu_ns() - from;
	getrusage(RUSAGE_SELF, &after);
	assert_true(dear.untried > 100);
	assert_true(took < 10 * CAM_NS_PER_SEC);
	assert_true(after.ru_maxrss - before.ru_maxrss < 256 << 10);
	/* Others are not held up; and what begins a text is not taken for it. */
	assert_int_equal(plain.untried, 0);
	text[32] = 'q';
	text[63] = 'y';
	assert_false(about(&plain, "mark", text));
	for (unsigned i = 0; i < 6; i++)
		text[900 + i] = "deploy"[i];
	assert_true(about(&plain, "mark", text));
	cam_rule_free(&dear);
	cam_rule_free(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_read),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(an_expression_that_takes_long_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
