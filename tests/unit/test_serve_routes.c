// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include "serve/asked.h"

#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int make_source(void *self, struct cam_source **out)
{
	int *err = self;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "sh");
	w->w.info.start_ns = 7000000000;
	w->w.info.end_ns = 11000000000;
	w->w.info.realtime_ns = 1776222847000000000;
	w->w.info.sealed = true;
	for (unsigned i = 0; i < 40; i++)
		fake_sample(w, 7000000000 + i * 100000000ull, i % 2, task,
			    fake_place(w, i % 2 ? "main;work" : "main;wait"));
	fake_window_ready(w);
	*out = fake_source_new(&w, 1);
	if (*err)
		(*out)->ops->close(*out);
	return *err;
}

static void release(void *self, struct cam_source *source)
{
	(void)self;
	source->ops->close(source);
}

static struct cam_select_world world(void *self)
{
	(void)self;
	return (struct cam_select_world){.time = {.now_ns = 1776222860000000000}};
}

static struct cam_server_doors doors(int *err)
{
	return (struct cam_server_doors){.self = err,
					 .id = "s1",
					 .label = "a test",
					 .windows = make_source,
					 .release = release,
					 .world = world};
}

static struct cam_shared shared;

static int enter(void *self, unsigned i, struct cam_server_doors *out)
{
	const struct cam_server_doors *d = self;
	*out = *d;
	return i ? -ENOENT : 0;
}

static int find(void *self, const char *id, struct cam_server_doors *out)
{
	return enter(self, strcmp(id, "s1") != 0, out);
}

static void leave(void *self, const struct cam_server_doors *d)
{
	(void)self;
	(void)d;
}

static struct cam_server_limits limits(void *self)
{
	(void)self;
	return (struct cam_server_limits){.why = "it is a test"};
}

static struct cam_server_house house(const struct cam_server_doors *d)
{
	return (struct cam_server_house){.self = (void *)(uintptr_t)d,
					 .given = 1,
					 .enter = enter,
					 .find = find,
					 .leave = leave,
					 .limits = limits};
}

static const char *const paths[] = {"/healthz",	    "/metrics",	     "/api/grafana/flame",
				    "/api/windows", "/api/status",   "/api/store",
				    "/api/time",    "/api/timeline", "/api/flame",
				    "/api/diff",    "/api/heatmap",  "/api/counters",
				    "/api/events",  "/api/why",	     "/api/moments",
				    "/api/sources", "/api/chart",    "/api/quality"};

/* Whatever does not fit into memory is answered by its status, at the latest. */
static void test_no_room_for_an_answer(void **state)
{
	(void)state;
	int err = 0;
	const struct cam_server_doors d = doors(&err);
	const struct cam_server_house h = house(&d);
	for (size_t room = 0; room < 56; room += 7) {
		struct cam_answer a = {.body = CAM_BUF(room)};
		cam_answer_error(&a, 404, "there is nothing of that name here, nor was there");
		assert_int_equal(a.status, 404);
		assert_int_equal(a.body.len, 0);
		cam_buf_free(&a.body);
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			struct cam_request q = {.path = paths[i], .house = &h, .shared = &shared};
			a = (struct cam_answer){.body = CAM_BUF(room)};
			cam_route(&q, &a);
			assert_true(a.status >= 400 || a.body.len);
			assert_true(a.body.len <= room);
			cam_buf_free(&a.body);
		}
	}
}

static unsigned ask(const struct cam_server_doors *d, const char *path, const char *key,
		    const char *value, char text[256])
{
	const struct cam_server_house h = house(d);
	struct cam_request q = {.path = path,
				.house = &h,
				.shared = &shared,
				.params = {{key, value}},
				.n_params = key != NULL};
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES)};
	cam_route(&q, &a);
	size_t n = a.body.len < 255 ? a.body.len : 255;
	if (n)
		memcpy(text, a.body.data, n);
	text[n] = 0;
	cam_buf_free(&a.body);
	return a.status;
}

/* A word that is not understood is refused by every path, and named. */
static void test_unknown_words(void **state)
{
	(void)state;
	int err = 0;
	const struct cam_server_doors d = doors(&err);
	char text[256];
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(ask(&d, paths[i], "sorbet", "1", text), 400);
		if (strcmp(paths[i], "/api/diff") != 0)
			assert_non_null(strstr(text, "sorbet"));
	}
	assert_int_equal(ask(&d, "/api/flame", "recursion", "folded", text), 400);
	assert_non_null(strstr(text, "recursion"));
	assert_int_equal(ask(&d, "/api/flame", "recursion", "collapse", text), 200);
	assert_int_equal(ask(&d, "/api/flame", "recursion", "keep", text), 200);
	assert_int_equal(ask(&d, "/api/flame", "show", "elided", text), 400);
}

/* What a store that cannot be opened leads to. */
static void test_errors_in_words(void **state)
{
	(void)state;
	char text[256];
	int err = -ENOMEM;
	const struct cam_server_doors d = doors(&err);
	assert_int_equal(ask(&d, "/api/flame", NULL, NULL, text), 503);
	assert_non_null(strstr(text, "memory"));
	err = -E2BIG;
	assert_int_equal(ask(&d, "/api/flame", NULL, NULL, text), 413);
	assert_non_null(strstr(text, "less time"));
	/* Who took too long once will again: only the other 503s ask to come again. */
	struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES)};
	cam_asked_failed(&a, -ETIMEDOUT);
	assert_int_equal(a.status, 503);
	assert_true(a.in_vain);
	cam_asked_failed(&a, -ENOMEM);
	assert_int_equal(a.status, 503);
	assert_false(a.in_vain);
	cam_buf_free(&a.body);
}

/* Times are needed, and not too long; 4 s are no history in which anything is unusual. */
static void test_why(void **state)
{
	(void)state;
	int err = 0;
	const struct cam_server_doors d = doors(&err);
	char text[256];
	assert_int_equal(ask(&d, "/api/why", NULL, NULL, text), 413);
	assert_non_null(strstr(text, "10 minutes"));
	assert_int_equal(ask(&d, "/api/why", "at", "@5", text), 404);
	assert_int_equal(ask(&d, "/api/why", "limit", "0", text), 400);
	assert_int_equal(ask(&d, "/api/why", "at", "@1776222848", text), 200);
	assert_non_null(strstr(text, "{\"answer\":\"not"));
	assert_int_equal(ask(&d, "/api/moments", NULL, NULL, text), 200);
	assert_non_null(strstr(text, "\"moments\":[]"));
}

static int write_for_long(void *self, const struct cam_server_capsule *c, struct cam_out *out)
{
	(void)self;
	cam_out_printf(out, "<p>");
	return c->progress->tell(c->progress->arg, 1, 2);
}

/* A capsule may take a minute; a server that is to end does not wait for it. */
static void test_capsule_at_the_end(void **state)
{
	(void)state;
	char text[256];
	int err = 0;
	struct cam_server_doors d = doors(&err);
	d.capsule = write_for_long;
	assert_int_equal(ask(&d, "/api/export", "format", "capsule", text), 200);
	atomic_store(&shared.stopping, true);
	assert_int_equal(ask(&d, "/api/export", "format", "capsule", text), 503);
	atomic_store(&shared.stopping, false);
	assert_int_equal(atomic_load(&shared.exports), 0);
	assert_int_equal(atomic_load(&shared.capsules), 0);
}

static uint64_t beat(void *self)
{
	(void)self;
	return 7;
}

static uint64_t no_beat(void *self)
{
	(void)self;
	return 0;
}

/* Without a token, and without a turn: so it must be cheap. Windows are asked for only where the store does not list. */
static void test_health_is_cheap(void **state)
{
	int cannot = -EACCES, can = 0;
	struct cam_server_doors good = doors(&cannot), bad = doors(&cannot), back = doors(&can);
	(void)state;
	good.pulse = beat;
	bad.pulse = back.pulse = no_beat;
	const struct cam_server_doors *const all[] = {&good, &bad, &back};
	const unsigned want[] = {200, 503, 200};
	for (size_t i = 0; i < 3; i++) {
		const struct cam_server_house h = house(all[i]);
		const struct cam_request q = {.path = "/healthz", .house = &h, .shared = &shared};
		struct cam_answer a = {.body = CAM_BUF(CAM_ANSWER_BYTES)};
		cam_route(&q, &a);
		assert_int_equal(a.status, want[i]);
		cam_buf_free(&a.body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_room_for_an_answer),
		cmocka_unit_test(test_unknown_words),
		cmocka_unit_test(test_errors_in_words),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_capsule_at_the_end),
		cmocka_unit_test(test_health_is_cheap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
