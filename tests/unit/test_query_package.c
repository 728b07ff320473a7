// SPDX-License-Identifier: Apache-2.0
#include "query/package.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void is(struct cam_text got, const char *want, const char *of)
{
	if (got.n != strlen(want) || memcmp(got.p, want, got.n) != 0)
		fail_msg("of %s: '%.*s', not '%s'", of, (int)got.n, got.p, want);
}

static void test_package(void **state)
{
	(void)state;
	static const char *const facts[][2] = {
		{"java/util/HashMap::get", "java/util"},
		{"Ljava/util/HashMap;::get", "java/util"},
		{"java.util.HashMap.get", "java.util"},
		{"org.apache.kafka.clients.Fetcher$1.run", "org.apache.kafka.clients"},
		{"com/foo/bar/lower::x", "com/foo/bar"},
		{"LazyCompile:~next /app/node_modules/express/lib/router.js:12", "express"},
		{"*f file:///srv/node_modules/@babel/core/lib/x.js:1:2", "@babel/core"},
		{"f /a/node_modules/x/node_modules/inner/i.js:1", "inner"},
		{"processTimers node:internal/timers:505", "node:internal"},
		{"read node:fs:12", "node:fs"},
		{"main", ""},
		{"do_syscall_64", ""},
		{"std::vector<int>::push_back", ""},
		{"foo.part.0", ""},
		{"Interpreter", ""},
		{"[unknown]", ""},
		{"HashMap.get", ""},
		{"", ""},
		{"/", ""},
		{"L", ""},
		{"node_modules/", ""},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		is(cam_package_of(cam_text_of(facts[i][0])), facts[i][1], facts[i][0]);
}

static void test_steps(void **state)
{
	(void)state;
	static const char *const facts[][2] = {
		{"java/util/HashMap::get", "java|util|HashMap|get|"},
		{"java/util/HashMap;::get", "java|util|HashMap|get|"},
		{"java.util.HashMap.get", "java|util|HashMap|get|"},
		{"a/b::", "a|b::|"},
		{"::x", "::x|"},
		{"plain", "plain|"},
		{"a//b", "a||b|"},
		{"/", "|"},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		char got[128] = "";
		struct cam_text rest = cam_text_of(facts[i][0]);
		size_t n = 0;
		while (rest.n) {
			struct cam_text part = cam_package_step(&rest);
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s|", (int)part.n,
					      part.p);
		}
		assert_string_equal(got, facts[i][1]);
	}
}

static void test_tidy(void **state)
{
	(void)state;
	static const char *const facts[][2] = {
		{"Ljava/util/HashMap;::get", "java/util/HashMap::get"},
		{"Lorg/x/Y;", "org/x/Y"},
		{"LOCK;x", "LOCK;x"},
		{"Lazy/Compile", "Lazy/Compile"},
		{"java/util/HashMap::get", "java/util/HashMap::get"},
	};
	char room[64];
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		is(cam_package_tidy(cam_text_of(facts[i][0]), room, sizeof(room)), facts[i][1],
		   facts[i][0]);
	is(cam_package_tidy(CAM_TEXT("La/B;::longer_than_the_room"), room, 8),
	   "La/B;::longer_than_the_room", "a long name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_package),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_tidy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
