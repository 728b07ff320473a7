// SPDX-License-Identifier: Apache-2.0
#include "serve/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

static const struct cam_guard_headers plain = {
	.method = "GET", .path = "/api/windows", .host = "127.0.0.1:9797"};

static enum cam_guard_verdict look(const char *token, struct cam_guard_headers h)
{
	struct cam_guard g;
	cam_guard_init(&g, "127.0.0.1", 9797, token, NULL);
	return cam_guard_look(&g, &h);
}

static void test_hosts(void **state)
{
	(void)state;
	static const struct {
		const char *host;
		bool ours;
	} cases[] = {
		{"127.0.0.1:9797", true},
		{"127.0.0.1", true},
		{"localhost:9797", true},
		{"LOCALHOST", true},
		{"[::1]:9797", true},
		{"127.0.0.1:80", false},
		{"evil.example", false},
		{"evil.example:9797", false},
		{"127.0.0.1.evil.example", false},
		{"localhost.evil.example:9797", false},
		{"127.0.0.1:9797@evil", false},
		{"", false},
		{NULL, false},
		{"localhost:", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_guard_headers h = plain;
		h.host = cases[i].host;
		/* The host comes first: not even a right token helps. */
		assert_int_equal(look(NULL, h),
				 cases[i].ours ? CAM_GUARD_PASS : CAM_GUARD_NOT_OURS);
		h.token = TOKEN;
		if (!cases[i].ours)
			assert_int_equal(look(TOKEN, h), CAM_GUARD_NOT_OURS);
	}
}

static void test_an_address_of_its_own(void **state)
{
	(void)state;
	struct cam_guard g;
	struct cam_guard_headers h = plain;
	cam_guard_init(&g, "fd00::7", 80, NULL, NULL);
	h.host = "[fd00::7]:80";
	assert_int_equal(cam_guard_look(&g, &h), CAM_GUARD_PASS);
	h.host = "[fd00::8]:80";
	assert_int_equal(cam_guard_look(&g, &h), CAM_GUARD_NOT_OURS);
}

/* A proxy is asked under its own name, over https. */
static void test_behind_a_proxy(void **state)
{
	(void)state;
	static const struct {
		const char *host, *origin;
		enum cam_guard_verdict verdict;
	} cases[] = {
		{"perfcam.example.org", NULL, CAM_GUARD_PASS},
		{"PERFCAM.example.org", "https://perfcam.example.org", CAM_GUARD_PASS},
		{"127.0.0.1:9797", NULL, CAM_GUARD_PASS},
		{"perfcam.example.org", "http://perfcam.example.org.evil", CAM_GUARD_FOREIGN},
		{"perfcam.example.org", "https://evil.example", CAM_GUARD_FOREIGN},
		{"perfcam.example.org.evil", NULL, CAM_GUARD_NOT_OURS},
		{"evil.example", NULL, CAM_GUARD_NOT_OURS},
	};
	struct cam_guard g;
	cam_guard_init(&g, "127.0.0.1", 9797, NULL, "perfcam.example.org");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_guard_headers h = plain;
		h.host = cases[i].host;
		h.origin = cases[i].origin;
		assert_int_equal(cam_guard_look(&g, &h), cases[i].verdict);
	}
}

static void test_tokens(void **state)
{
	(void)state;
	static const struct {
		const char *bearer, *query, *cookie;
		enum cam_guard_verdict verdict;
	} cases[] = {
		{NULL, NULL, NULL, CAM_GUARD_NO_TOKEN},
		{"Bearer " TOKEN, NULL, NULL, CAM_GUARD_PASS},
		{"Bearer " TOKEN "x", NULL, NULL, CAM_GUARD_NO_TOKEN},
		{"Bearer ", NULL, NULL, CAM_GUARD_NO_TOKEN},
		{"Basic " TOKEN, NULL, NULL, CAM_GUARD_NO_TOKEN},
		{NULL, TOKEN, NULL, CAM_GUARD_PASS},
		{NULL, "", NULL, CAM_GUARD_NO_TOKEN},
		{NULL, "0123456789abcdef0123456789abcde", NULL, CAM_GUARD_NO_TOKEN},
		{NULL, NULL, "perfcam-9797=" TOKEN, CAM_GUARD_PASS},
		{NULL, NULL, "a=b; perfcam-9797=" TOKEN "; c=d", CAM_GUARD_PASS},
		{NULL, NULL, "perfcam-9798=" TOKEN, CAM_GUARD_NO_TOKEN},
		{NULL, NULL, "xperfcam-9797=" TOKEN, CAM_GUARD_NO_TOKEN},
		{NULL, NULL, "perfcam-9797=", CAM_GUARD_NO_TOKEN},
		{NULL, NULL, "perfcam-9797", CAM_GUARD_NO_TOKEN},
		{NULL, NULL, ";;; ", CAM_GUARD_NO_TOKEN},
		/* A wrong one beside a right one: the right one counts. */
		{"Bearer no", TOKEN, NULL, CAM_GUARD_PASS},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_guard_headers h = plain;
		h.authorization = cases[i].bearer;
		h.token = cases[i].query;
		h.cookie = cases[i].cookie;
		assert_int_equal(look(TOKEN, h), cases[i].verdict);
		assert_int_equal(look(NULL, h), CAM_GUARD_PASS);
	}
}

/* Whoever opens the printed address gets the cookie, and only there. */
static void test_entering(void **state)
{
	(void)state;
	struct cam_guard_headers h = plain;
	h.path = "/";
	h.token = TOKEN;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_ENTER);
	h.cookie = "perfcam-9797=" TOKEN;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_ENTER);
	h.token = NULL;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_PASS);
	h.path = "/healthz";
	h.cookie = NULL;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_PASS);
}

static void test_other_sites(void **state)
{
	(void)state;
	static const struct {
		const char *path, *site, *mode, *origin;
		enum cam_guard_verdict verdict;
	} cases[] = {
		{"/api/windows", "same-origin", "cors", NULL, CAM_GUARD_PASS},
		{"/api/windows", "none", "navigate", NULL, CAM_GUARD_PASS},
		{"/api/windows", "cross-site", "no-cors", NULL, CAM_GUARD_FOREIGN},
		{"/api/windows", "same-site", "cors", NULL, CAM_GUARD_FOREIGN},
		{"/api/windows", "cross-site", "navigate", NULL, CAM_GUARD_FOREIGN},
		{"/", "cross-site", "navigate", NULL, CAM_GUARD_PASS},
		{"/", "cross-site", "no-cors", NULL, CAM_GUARD_FOREIGN},
		{"/", "cross-site", NULL, NULL, CAM_GUARD_FOREIGN},
		{"/", NULL, NULL, "http://evil.example", CAM_GUARD_FOREIGN},
		{"/", NULL, NULL, "null", CAM_GUARD_FOREIGN},
		{"/", NULL, NULL, "http://127.0.0.1:9797", CAM_GUARD_PASS},
		{"/", NULL, NULL, "http://127.0.0.1:9798", CAM_GUARD_FOREIGN},
		{"/", NULL, NULL, "http://127.0.0.1:9797.evil.example", CAM_GUARD_FOREIGN},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_guard_headers h = plain;
		h.path = cases[i].path;
		h.sec_fetch_site = cases[i].site;
		h.sec_fetch_mode = cases[i].mode;
		h.origin = cases[i].origin;
		h.cookie = "perfcam-9797=" TOKEN;
		assert_int_equal(look(TOKEN, h), cases[i].verdict);
	}
}

static void test_methods(void **state)
{
	(void)state;
	static const char *const others[] = {"POST",  "PUT", "DELETE", "OPTIONS",
					     "TRACE", "get", ""};
	struct cam_guard_headers h = plain;
	h.method = "HEAD";
	assert_int_equal(look(NULL, h), CAM_GUARD_PASS);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		h.method = others[i];
		assert_int_equal(look(NULL, h), CAM_GUARD_METHOD);
		assert_int_equal(look(TOKEN, h), CAM_GUARD_NO_TOKEN);
	}
}

static bool agree(struct cam_guard_seen *seen, const char *name, const char *value)
{
	return cam_guard_headers_agree(seen, name, strlen(name), value, strlen(value));
}

static void test_where_a_request_ends(void **state)
{
	static const char *const refused[][2] = {
		{"Transfer-Encoding", "chunked"},
		{"transfer-encoding", "identity"},
		{"Content-Length ", "3"},
		{"", "x"},
		{"X y", "z"},
		{"X", "a\rContent-Length: 3"},
		{"X", "a\nb"},
		{"Host", "twice"},
		{"CONTENT-LENGTH", "3"},
		{"H\xc3\xb6st", "x"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct cam_guard_seen seen = {0};
		assert_true(agree(&seen, "Host", "localhost"));
		assert_true(agree(&seen, "Content-Length", "3"));
		assert_true(agree(&seen, "X-Any_1!", "\xff \t\"quoted\""));
		assert_false(agree(&seen, refused[i][0], refused[i][1]));
	}
	struct cam_guard_seen seen = {0};
	assert_false(cam_guard_headers_agree(&seen, "X", 1, "a\0b", 3));
	assert_false(cam_guard_headers_agree(&seen, "X\0", 2, "a", 1));
	assert_true(cam_guard_headers_agree(&seen, "X", 1, NULL, 0));
}

/* What changes something takes POST alone, and only where there is a token. */
static void test_changes(void **state)
{
	(void)state;
	struct cam_guard_headers h = plain;
	h.path = "/api/mark";
	h.posts = h.changes = true;
	assert_int_equal(look(NULL, h), CAM_GUARD_METHOD);
	h.method = "POST";
	assert_int_equal(look(NULL, h), CAM_GUARD_NO_CHANGE);
	assert_int_equal(look(TOKEN, h), CAM_GUARD_NO_TOKEN);
	h.authorization = "Bearer " TOKEN;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_PASS);
	h.origin = "http://evil.example";
	assert_int_equal(look(TOKEN, h), CAM_GUARD_FOREIGN);
	h.origin = "http://127.0.0.1"; /* port 80 of this machine is somebody else */
	assert_int_equal(look(TOKEN, h), CAM_GUARD_FOREIGN);
	h.origin = "http://127.0.0.1:9797";
	assert_int_equal(look(TOKEN, h), CAM_GUARD_PASS);
	h.sec_fetch_site = "same-site";
	assert_int_equal(look(TOKEN, h), CAM_GUARD_FOREIGN);
	h.sec_fetch_site = "same-origin";
	assert_int_equal(look(TOKEN, h), CAM_GUARD_PASS);
	h.posts = h.changes = false;
	assert_int_equal(look(TOKEN, h), CAM_GUARD_METHOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_an_address_of_its_own),
		cmocka_unit_test(test_behind_a_proxy),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_entering),
		cmocka_unit_test(test_other_sites),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_where_a_request_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
