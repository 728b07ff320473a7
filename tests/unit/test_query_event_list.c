// SPDX-License-Identifier: Apache-2.0
#include "query/event_list.h"

#include "base/units.h"
#include "query/event_id.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define WALL (1776222847ll * 1000000000)

static struct fake_window *window(uint64_t start_s, unsigned seconds)
{
	struct fake_window *f = fake_window_new();
	const struct cam_anchor a = {.time_ns = start_s * NS,
				     .raw_ns = CAM_TIME_NONE,
				     .boottime_ns = CAM_TIME_NONE,
				     .sched_ns = CAM_TIME_NONE,
				     .realtime_ns = WALL + (int64_t)(start_s * NS)};
	fake_sample(f, start_s * NS, 0, fake_task(f, 1, 1, "sh"), fake_place(f, "main"));
	fake_add_anchor(f, &a);
	f->w.info.start_ns = start_s * NS;
	f->w.info.end_ns = (start_s + seconds) * NS;
	f->w.info.sealed = true;
	return f;
}

static struct cam_source *source(struct fake_window **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fake_window_ready(v[i]);
	return fake_source_new(v, n);
}

static struct cam_event_list list(struct cam_source *s, int64_t from_s, int64_t to_s, size_t most,
				  enum cam_severity least)
{
	const struct cam_event_list_options o = {.most = most, .least = least};
	struct cam_event_list l;
	struct cam_selection what;
	cam_selection_init(&what);
	what.clock = CAM_SELECT_WALL;
	what.from_ns = WALL + from_s * (int64_t)NS;
	what.to_ns = WALL + to_s * (int64_t)NS;
	assert_int_equal(cam_event_list_build(s, &what, &o, &l), 0);
	cam_selection_free(&what);
	return l;
}

static void test_in_order_with_wall_times(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10), window(110, 10), window(120, 10)};
	fake_add_event(v[0], 103 * NS, CAM_SEVERITY_ERR, "kmsg", "ena eth0: Tx timeout");
	fake_add_event(v[2], 121 * NS, CAM_SEVERITY_NOTICE, "mark", "deploy");
	fake_add_event(v[2], 129 * NS, CAM_SEVERITY_NOTICE, "mark", "too late");
	struct cam_source *s = source(v, 3);
	struct cam_event_list l = list(s, 100, 125, 0, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.n_all, 2);
	assert_int_equal(l.events[0].wall_ns, WALL + 103ll * (int64_t)NS);
	assert_int_equal(l.events[0].severity, CAM_SEVERITY_ERR);
	assert_true(cam_text_equal(l.events[0].source, CAM_TEXT("kmsg")));
	assert_true(cam_text_equal(l.events[0].text, CAM_TEXT("ena eth0: Tx timeout")));
	assert_true(cam_text_equal(l.events[1].text, CAM_TEXT("deploy")));
	assert_int_not_equal(l.events[0].id, l.events[1].id);
	cam_event_list_free(&l);
	s->ops->close(s);
}

/* Too many: nothing severe gives way to something harmless, and of those alike the newest stay. */
static void test_the_severe_ones_stay(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 100);
	char text[32];
	for (unsigned i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		fake_add_event(f, (100 + i) * NS,
			       i == 3	? CAM_SEVERITY_ERR
			       : i == 7 ? CAM_SEVERITY_DEBUG
					: CAM_SEVERITY_INFO,
			       "kmsg", text);
	}
	struct cam_source *s = source(&f, 1);
	struct cam_event_list l = list(s, 100, 200, 5, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.n_all, 50);
	assert_true(cam_text_equal(l.events[0].text, CAM_TEXT("line 3")));
	assert_true(cam_text_equal(l.events[1].text, CAM_TEXT("line 46")));
	assert_true(cam_text_equal(l.events[4].text, CAM_TEXT("line 49")));
	cam_event_list_free(&l);
	l = list(s, 100, 200, 5, CAM_SEVERITY_WARNING);
	assert_int_equal(l.n_all, 1);
	cam_event_list_free(&l);
	l = list(s, 100, 200, 49, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 49);
	for (size_t i = 0; i < l.n; i++)
		assert_int_not_equal(l.events[i].severity, CAM_SEVERITY_DEBUG);
	cam_event_list_free(&l);
	s->ops->close(s);
}

/* Lines from before the recorder started are in its first window, and count by their own time. */
static void test_what_was_before_the_window(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 10);
	fake_add_event(f, 40 * NS, CAM_SEVERITY_ERR, "kmsg", "long before");
	fake_add_event(f, 95 * NS, CAM_SEVERITY_ERR, "kmsg", "before");
	fake_add_event(f, 105 * NS, CAM_SEVERITY_ERR, "kmsg", "in it");
	struct cam_source *s = source(&f, 1);
	struct cam_event_list l = list(s, 90, 200, 0, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 2);
	assert_true(cam_text_equal(l.events[0].text, CAM_TEXT("before")));
	assert_int_equal(l.events[0].wall_ns, WALL + 95ll * (int64_t)NS);
	cam_event_list_free(&l);
	l = list(s, 100, 200, 0, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 1);
	cam_event_list_free(&l);
	s->ops->close(s);
}

static void test_by_text_and_source(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 10);
	fake_add_event(f, 101 * NS, CAM_SEVERITY_ERR, "kmsg", "ena eth0: Tx timeout");
	fake_add_event(f, 102 * NS, CAM_SEVERITY_ERR, "kmsg", "ena eth1: reset");
	fake_add_event(f, 103 * NS, CAM_SEVERITY_ERR, "mark", "ena eth0: Tx timeout seen");
	fake_add_event(f, 104 * NS, CAM_SEVERITY_ERR, "kmsg", "");
	struct cam_source *s = source(&f, 1);
	struct cam_select_expressions e = {0};
	char why[200];
	struct cam_selection all;
	cam_selection_init(&all);
	assert_int_equal(cam_select_expression_add(&e, CAM_TEXT("^ena"), why, sizeof(why)), 0);
	assert_int_equal(cam_select_expression_add(&e, CAM_TEXT("timeout"), why, sizeof(why)), 0);
	struct cam_event_list_options o = {.least = CAM_SEVERITY_DEBUG, .match = &e};
	struct cam_event_list l;
	assert_int_equal(cam_event_list_build(s, &all, &o, &l), 0);
	assert_int_equal(l.n, 2);
	cam_event_list_free(&l);
	o.source = CAM_TEXT("kmsg");
	assert_int_equal(cam_event_list_build(s, &all, &o, &l), 0);
	assert_int_equal(l.n, 1);
	assert_true(cam_text_equal(l.events[0].text, CAM_TEXT("ena eth0: Tx timeout")));
	cam_event_list_free(&l);
	cam_select_expressions_free(&e);
	cam_selection_free(&all);
	s->ops->close(s);
}

static void test_nothing(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 10);
	struct cam_source *s = source(&f, 1);
	struct cam_event_list l = list(s, 100, 125, 10, CAM_SEVERITY_DEBUG);
	assert_int_equal(l.n, 0);
	cam_event_list_free(&l);
	s->ops->close(s);
}

static int lose_patience(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	(void)done;
	(void)all;
	return -ETIMEDOUT;
}

static void test_many_take_no_longer_than_is_waited(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 10);
	const struct cam_progress patience = {lose_patience, NULL};
	const struct cam_event_list_options o = {.least = CAM_SEVERITY_DEBUG,
						 .progress = &patience};
	struct cam_selection all;
	struct cam_event_list l;
	for (unsigned i = 0; i < 100; i++)
		fake_add_event(f, 103 * NS, CAM_SEVERITY_ERR, "kmsg", "ena eth0: Tx timeout");
	struct cam_source *s = source(&f, 1);
	cam_selection_init(&all);
	assert_int_equal(cam_event_list_build(s, &all, &o, &l), -ETIMEDOUT);
	cam_selection_free(&all);
	s->ops->close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order_with_wall_times),
		cmocka_unit_test(test_the_severe_ones_stay),
		cmocka_unit_test(test_what_was_before_the_window),
		cmocka_unit_test(test_by_text_and_source),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_many_take_no_longer_than_is_waited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
