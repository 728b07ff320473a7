// SPDX-License-Identifier: Apache-2.0
/* `why` also says what was usual at the same time of the day before, and who waited for a CPU. */
#include "base/units.h"
#include "query/why.h"
#include "support_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS     CAM_NS_PER_SEC
#define WALL   (1776222847ll * 1000000000)
#define DAY    86400u
#define LENGTH 300u
#define FIRST  1000u
#define MOMENT (FIRST + DAY + 150u)
#define VICTIM 77

/* A second of a process: so many samples, on both CPUs. */
static void second(struct fake_window *f, uint64_t at, unsigned n, struct cam_task_id task)
{
	struct cam_place_id place = fake_place(f, "main;work");
	for (unsigned i = 0; i < n; i++)
		fake_sample(f, at * NS + (i + 1) * NS / (n + 2), i % 2, task, place);
}

/* Steady load; batch runs all the time on the first day, and on the second in one second alone. */
static struct fake_window *window(uint64_t start)
{
	struct fake_window *f = fake_window_new();
	const struct cam_anchor a = {.time_ns = start * NS,
				     .raw_ns = CAM_TIME_NONE,
				     .boottime_ns = CAM_TIME_NONE,
				     .sched_ns = CAM_TIME_NONE,
				     .realtime_ns = WALL + (int64_t)(start * NS)};
	struct cam_task_id web = fake_task(f, 10, 10, "web"), batch = fake_task(f, 20, 20, "batch"),
			   victim = fake_task(f, VICTIM, VICTIM, "victim");
	fake_add_anchor(f, &a);
	for (uint64_t t = start; t < start + LENGTH; t++) {
		unsigned n = start == FIRST ? 14 + t % 3 : t == MOMENT ? 80 : 0;
		second(f, t, 20 + (unsigned)(t * 7 % 5), web);
		second(f, t, 2, victim);
		second(f, t, n, batch);
		fake_add_counter(f, &(struct cam_counter){(t + 1) * NS, NS, CAM_COUNTER_RUN_DELAY,
							  VICTIM,
							  t == MOMENT ? NS * 6 / 10 : NS / 100});
	}
	f->w.info.start_ns = start * NS;
	f->w.info.end_ns = (start + LENGTH) * NS;
	f->w.info.sealed = true;
	f->w.info.cpus = 2;
	fake_window_ready(f);
	return f;
}

static struct cam_why ask(struct fake_window **v, size_t n)
{
	struct cam_source *source = fake_source_new(v, n);
	const struct cam_why_options o = {.limit = 5};
	struct cam_selection s;
	struct cam_why out;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_WALL;
	s.from_ns = WALL + (int64_t)(MOMENT * NS);
	s.to_ns = s.from_ns + (int64_t)NS;
	assert_int_equal(cam_why_build(source, &s, &o, &out), 0);
	cam_selection_free(&s);
	source->ops->close(source);
	return out;
}

static const struct cam_why_finding *find(const struct cam_why *w, const char *process)
{
	for (size_t i = 0; i < w->n_findings; i++) {
		if (cam_text_equal(w->findings[i].process, cam_text_of(process)))
			return &w->findings[i];
	}
	fail_msg("%s is not among them", process);
	return NULL;
}

static void the_same_time_of_the_day_before_is_a_baseline(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(FIRST), window(FIRST + DAY)};
	struct cam_why w = ask(v, 2);
	const struct cam_why_finding *f = find(&w, "batch");
	assert_int_equal(f->samples, 80);
	assert_true(f->days > 14 && f->days < 16);
	cam_why_free(&w);
}

static void without_one_nothing_is_said_of_it(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(FIRST + DAY)};
	struct cam_why w = ask(v, 1);
	assert_true(find(&w, "batch")->days < 0);
	cam_why_free(&w);
}

static void who_waited_for_a_cpu_is_told(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(FIRST + DAY)};
	struct cam_why w = ask(v, 1);
	assert_int_equal(w.n_waits, 1);
	assert_int_equal(w.waits[0].tid, VICTIM);
	assert_true(cam_text_equal(w.waits[0].name, CAM_TEXT("victim")));
	assert_true(w.waits[0].inside > 0.55 && w.waits[0].inside < 0.65);
	assert_true(w.waits[0].outside > 0.005 && w.waits[0].outside < 0.02);
	cam_why_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_time_of_the_day_before_is_a_baseline),
		cmocka_unit_test(without_one_nothing_is_said_of_it),
		cmocka_unit_test(who_waited_for_a_cpu_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
