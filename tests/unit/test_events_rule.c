// SPDX-License-Identifier: Apache-2.0
/* Rules as people write them, and as they should not. */
#include "events/rule.h"

#include "base/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void good(struct cam_rule *r, const char *text)
{
	char why[256] = "";
	if (cam_rule_parse(r, cam_text_of(text), why, sizeof(why)))
		fail_msg("%s: %s", text, why);
}

static bool about(const struct cam_rule *r, const char *source, const char *text)
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
	assert_true(about(&r, "whatever", "x a/b\\ y"));
	assert_false(about(&r, "whatever", "a/b"));
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
		"kmsg /x/ capsule",
		"kmsg /x/ pin 5m before,",
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_read),
		cmocka_unit_test(what_is_wrong_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
