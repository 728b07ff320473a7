// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "query/flame.h"
#include "query/idle.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEC ((int64_t)CAM_NS_PER_SEC)

static struct cam_source *source_of(struct fake_window *w)
{
	return fake_source_new(&w, 1);
}

/* How many samples the filters take; the selection is freed. */
static uint64_t taken(struct cam_source *source, struct cam_selection *s, struct cam_seen *seen)
{
	struct cam_flame f;
	assert_int_equal(cam_flame_build(source, s, &(struct cam_flame_options){0}, &f), 0);
	uint64_t n = f.nodes[0].total;
	assert_int_equal(n, f.seen.samples);
	if (seen)
		*seen = f.seen;
	cam_flame_free(&f);
	cam_selection_free(s);
	return n;
}

static void add(struct cam_selection *s, enum cam_filter filter, const char *value)
{
	char why[128];
	assert_int_equal(cam_selection_add(s, filter, cam_text_of(value), why, sizeof(why)), 0);
	assert_string_equal(why, "");
}

static uint64_t with(struct cam_source *source, enum cam_filter filter, const char *value)
{
	struct cam_selection s;
	cam_selection_init(&s);
	add(&s, filter, value);
	return taken(source, &s, NULL);
}

/* 8 samples: by pid 10 (3), 20 (4), 30 (1); the rest by what the tests ask for. */
static struct fake_window *mixed_window(void)
{
	struct fake_window *w = fake_window_new();
	struct cam_task_id a = fake_task(w, 10, 11, "web server"), b = fake_task(w, 20, 20, "cc1");
	struct cam_task_id c = fake_task(w, 30, 30, "cc1plus");
	w->t.tasks[c.v].uid = 0;
	fake_sample(w, 1 * SEC, 0, a, fake_place(w, "main;poll;sys_poll@[kernel]"));
	fake_sample(w, 2 * SEC, 1, a, fake_place(w, "main;serve"));
	fake_sample(w, 3 * SEC, 9, a, fake_place(w, "main;serve;JIT@[jit]"));
	fake_sample(w, 4 * SEC, 0, b, fake_place(w, "main;lex"));
	fake_sample(w, 5 * SEC, 0, b, fake_place(w, "main;lex;page_fault@[kernel]"));
	fake_sample(w, 6 * SEC, 2, b, fake_place(w, "main;parse"));
	fake_sample(w, 7 * SEC, 3, b, fake_place(w, "main;parse"));
	fake_sample(w, 8 * SEC, CAM_CPU_NONE, c, fake_place(w, "main;parse"));
	return w;
}

static void test_filters(void **state)
{
	(void)state;
	struct cam_source *src = source_of(mixed_window());
	assert_int_equal(with(src, CAM_FILTER_PID, "10"), 3);
	assert_int_equal(with(src, CAM_FILTER_PID, "20,30"), 5);
	assert_int_equal(with(src, CAM_FILTER_TID, "11"), 3);
	assert_int_equal(with(src, CAM_FILTER_TID, "10"), 0);
	assert_int_equal(with(src, CAM_FILTER_UID, "0"), 1);
	assert_int_equal(with(src, CAM_FILTER_UID, "1000,4294967294"), 7);
	assert_int_equal(with(src, CAM_FILTER_CPU, "0"), 3);
	assert_int_equal(with(src, CAM_FILTER_CPU, "0-2,9"), 6);
	assert_int_equal(with(src, CAM_FILTER_COMM, "cc1"), 4);
	assert_int_equal(with(src, CAM_FILTER_COMM, "cc1*"), 5);
	assert_int_equal(with(src, CAM_FILTER_COMM, "web server"), 3);
	assert_int_equal(with(src, CAM_FILTER_COMM, "web"), 0);
	assert_int_equal(with(src, CAM_FILTER_ETYPE, "cpu-clock"), 8);
	assert_int_equal(with(src, CAM_FILTER_ETYPE, "*"), 8);
	assert_int_equal(with(src, CAM_FILTER_ETYPE, "cycles"), 0);
	src->ops->close(src);
}

/* The task of each sample gets a program and a cgroup. */
static struct cam_source *placed_source(const char *const cgroups[3])
{
	struct fake_window *w = mixed_window();
	static const char *const exes[] = {"/usr/sbin/web", "/usr/bin/cc1", "/opt/cc1plus"};
	for (size_t i = 0; i < 3; i++) {
		struct cam_task *k = &w->t.tasks[w->t.n_tasks - 3 + i];
		assert_int_equal(cam_string_intern(&w->t, cam_text_of(exes[i]), &k->exe), 0);
		assert_int_equal(cam_string_intern(&w->t, cam_text_of(cgroups[i]), &k->cgroup), 0);
	}
	return source_of(w);
}

static void test_programs_and_cgroups(void **state)
{
	(void)state;
	static const char *const cgroups[] = {"/system.slice/web.service/worker",
					      "/system.slice/web.services", "/"};
	struct cam_source *src = placed_source(cgroups);
	assert_int_equal(with(src, CAM_FILTER_EXE, "/usr/bin/cc1"), 4);
	assert_int_equal(with(src, CAM_FILTER_EXE, "cc1"), 4);
	assert_int_equal(with(src, CAM_FILTER_EXE, "cc1*"), 5);
	assert_int_equal(with(src, CAM_FILTER_EXE, "/usr/*"), 7);
	assert_int_equal(with(src, CAM_FILTER_EXE, "/usr"), 0);
	assert_int_equal(with(src, CAM_FILTER_EXE, "bin/cc1"), 0);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/system.slice/web.service"), 3);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/system.slice/web.service/"), 3);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/system.slice"), 7);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/system.slice/web*"), 7);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/"), 8);
	assert_int_equal(with(src, CAM_FILTER_CGROUP, "/system"), 0);
	struct cam_selection s;
	cam_selection_init(&s);
	add(&s, CAM_FILTER_EXE, "cc1*");
	add(&s, CAM_FILTER_CGROUP, "/system.slice");
	assert_int_equal(taken(src, &s, NULL), 4);
	src->ops->close(src);
}

static void test_containers_and_pods(void **state)
{
	(void)state;
#define ID "4d5fa1b9f4b1c8f3a6b0d2c9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e"
	static const char *const cgroups[] = {
		"/docker/7ed" ID, "/kubepods/pod8d3e2c1b-4a5f-4e6d-9c8b-7a6f5e4d3c2b/7ef" ID, "/"};
	struct cam_source *src = placed_source(cgroups);
	assert_int_equal(with(src, CAM_FILTER_CONTAINER, "7ed4d5f"), 3);
	assert_int_equal(with(src, CAM_FILTER_CONTAINER, "7ef" ID), 4);
	assert_int_equal(with(src, CAM_FILTER_CONTAINER, "7e"), 7);
	assert_int_equal(with(src, CAM_FILTER_CONTAINER, "docker"), 0);
	assert_int_equal(with(src, CAM_FILTER_POD, "8d3e2c1b"), 4);
	assert_int_equal(with(src, CAM_FILTER_POD, "7e"), 0);
	struct cam_selection s;
	cam_selection_init(&s);
	add(&s, CAM_FILTER_POD, "8d3e2c1b_4a5f");
	add(&s, CAM_FILTER_CONTAINER, "7ed");
	assert_int_equal(taken(src, &s, NULL), 0);
	src->ops->close(src);
}

/* By headers alone: a window is left closed only where no clock that was stepped could bring it in. */
static void test_windows_that_cannot_matter(void **state)
{
	(void)state;
	struct cam_window_info w = {.clock = CAM_CLOCK_MONOTONIC,
				    .start_ns = 1000 * SEC,
				    .end_ns = 1120 * SEC,
				    .sealed = true,
				    .realtime_ns = 500000 * SEC};
	struct cam_window_info next = w;
	next.start_ns = w.end_ns;
	next.realtime_ns += 120 * SEC;
	struct cam_selection s = {.clock = CAM_SELECT_WALL};
	s.from_ns = 500030 * SEC;
	s.to_ns = 500031 * SEC;
	assert_true(cam_selection_may_touch(&s, &w, &next));
	s.from_ns = 510000 * SEC;
	s.to_ns = 510001 * SEC;
	assert_false(cam_selection_may_touch(&s, &w, &next));
	/* A boot's last: its clock may have been stepped before it ended; an import's was not. */
	assert_true(cam_selection_may_touch(&s, &w, NULL));
	w.imported = true;
	assert_false(cam_selection_may_touch(&s, &w, NULL));
	/* Its clock may have been stepped a second ago. */
	w.sealed = false;
	assert_true(cam_selection_may_touch(&s, &w, NULL));
	w.sealed = true;
	/* Stepped by 10,000 s within it. */
	next.realtime_ns += 10000 * SEC;
	assert_true(cam_selection_may_touch(&s, &w, &next));
	next.realtime_ns = INT64_MIN;
	assert_false(cam_selection_may_touch(&s, &w, &next));
	w.realtime_uncertainty_ns = 14 * 3600 * SEC;
	assert_true(cam_selection_may_touch(&s, &w, &next));
	w.realtime_ns = INT64_MIN;
	assert_true(cam_selection_may_touch(&s, &w, NULL));
}

/* A window until 10 s, a dead recorder, a window from 20 s. */
static void test_gaps(void **state)
{
	(void)state;
	struct cam_window_info a = {
		.clock = CAM_CLOCK_MONOTONIC, .end_ns = 10 * SEC, .sealed = true};
	struct cam_window_info b = {
		.clock = CAM_CLOCK_MONOTONIC, .start_ns = 20 * SEC, .end_ns = 30 * SEC};
	struct cam_ledger_row gap;
	struct cam_selection s = {0};
	a.realtime_ns = b.realtime_ns = INT64_MIN;
	assert_true(cam_selection_gap(&s, &a, &b, &gap));
	assert_int_equal(gap.cause, CAM_CAUSE_RECORDER_DEAD);
	assert_int_equal(gap.to_ns - gap.from_ns, 10 * SEC);
	static const struct {
		int64_t from_s, to_s;
		uint64_t gap_s;
	} cases[] = {{0, 10, 0},  {0, 11, 1},	{12, 15, 3}, {19, 40, 1},
		     {20, 40, 0}, {0, 100, 10}, {-5, 5, 0},  {10, 20, 10}};
	for (unsigned wall = 0; wall < 3; wall++) {
		int64_t shift = wall ? 5000 : 0;
		s.clock = wall ? CAM_SELECT_WALL : CAM_SELECT_CLOCK;
		b.realtime_ns = wall == 1 ? 5020 * (int64_t)SEC : INT64_MIN;
		a.realtime_ns = wall == 2 ? 5000 * (int64_t)SEC : INT64_MIN;
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			s.from_ns = (cases[i].from_s + shift) * (int64_t)SEC;
			s.to_ns = (cases[i].to_s + shift) * (int64_t)SEC;
			bool touches = cam_selection_gap(&s, &a, &b, &gap);
			assert_int_equal(touches, cases[i].gap_s > 0);
			if (touches)
				assert_int_equal(gap.to_ns - gap.from_ns, cases[i].gap_s * SEC);
		}
	}
	/* Nobody knows when that was. */
	a.realtime_ns = INT64_MIN;
	assert_false(cam_selection_gap(&s, &a, &b, &gap));
	/* Another boot: what is between is on no clock of theirs. */
	s.clock = CAM_SELECT_ALWAYS;
	b.boot_id.bytes[0] = 1;
	assert_false(cam_selection_gap(&s, &a, &b, &gap));
}

static void test_expressions(void **state)
{
	(void)state;
	struct cam_source *src = source_of(mixed_window());
	assert_int_equal(with(src, CAM_FILTER_MATCH, "poll"), 1);
	assert_int_equal(with(src, CAM_FILTER_MATCH, "^(serve|lex)$"), 4);
	assert_int_equal(with(src, CAM_FILTER_MATCH, "main"), 8);
	assert_int_equal(with(src, CAM_FILTER_MATCH, "cc1p"), 1); /* the comm is a frame too */
	assert_int_equal(with(src, CAM_FILTER_MATCH, "main;lex"), 0);
	assert_int_equal(with(src, CAM_FILTER_EXCLUDE, "lex|JIT"), 5);
	assert_int_equal(with(src, CAM_FILTER_EXCLUDE, "web"), 5);
	struct cam_selection s;
	cam_selection_init(&s);
	add(&s, CAM_FILTER_MATCH, "main"); /* both, in whichever frames */
	add(&s, CAM_FILTER_MATCH, "page");
	assert_int_equal(taken(src, &s, NULL), 1);
	for (unsigned i = 0; i < CAM_SELECT_MAX_EXPRESSIONS; i++)
		add(&s, CAM_FILTER_MATCH, i % 2 ? "main" : "parse");
	assert_int_equal(taken(src, &s, NULL), 3);
	add(&s, CAM_FILTER_MATCH, "parse");
	add(&s, CAM_FILTER_EXCLUDE, "nothing like it");
	add(&s, CAM_FILTER_EXCLUDE, "plus");
	assert_int_equal(taken(src, &s, NULL), 2);
	add(&s, CAM_FILTER_COMM, "cc1"); /* different filters narrow */
	add(&s, CAM_FILTER_COMM, "cc1plus");
	add(&s, CAM_FILTER_CPU, "0");
	add(&s, CAM_FILTER_CPU, "3");
	assert_int_equal(taken(src, &s, NULL), 3);
	src->ops->close(src);
}

static void test_modes(void **state)
{
	(void)state;
	struct cam_source *src = source_of(mixed_window());
	struct cam_selection s;
	cam_selection_init(&s);
	s.mode = CAM_SELECT_KERNEL;
	assert_int_equal(taken(src, &s, NULL), 2);
	s.mode = CAM_SELECT_USER;
	assert_int_equal(taken(src, &s, NULL), 6);
	src->ops->close(src);
}

static void test_bad_values(void **state)
{
	(void)state;
	static const struct {
		enum cam_filter filter;
		const char *value;
		int err;
	} bad[] = {
		{CAM_FILTER_PID, "", -EINVAL},		 {CAM_FILTER_PID, "1,", -EINVAL},
		{CAM_FILTER_PID, "-1", -EINVAL},	 {CAM_FILTER_PID, "1 2", -EINVAL},
		{CAM_FILTER_PID, "x", -EINVAL},		 {CAM_FILTER_PID, "2147483648", -ERANGE},
		{CAM_FILTER_UID, "4294967295", -ERANGE}, {CAM_FILTER_CPU, "3-1", -EINVAL},
		{CAM_FILTER_CPU, "0-", -EINVAL},	 {CAM_FILTER_CPU, "8192", -ERANGE},
		{CAM_FILTER_COMM, "", -EINVAL},		 {CAM_FILTER_MATCH, "(", -EINVAL},
		{CAM_FILTER_MATCH, "", -EINVAL},	 {CAM_FILTER_EXCLUDE, "[", -EINVAL},
		{CAM_FILTER_MAX, "x", -EINVAL},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cam_selection s;
		char why[128];
		cam_selection_init(&s);
		assert_int_equal(cam_selection_add(&s, bad[i].filter, cam_text_of(bad[i].value),
						   why, sizeof(why)),
				 bad[i].err);
		assert_true(why[0] != 0);
		cam_selection_free(&s);
	}
	struct cam_selection s;
	char why[128], *long_text = malloc(5000);
	cam_selection_init(&s);
	memset(long_text, 'a', 5000);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, (struct cam_text){long_text, 1025},
					   why, sizeof(why)),
			 -E2BIG);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_COMM, (struct cam_text){"a\0b", 3}, why,
					   1),
			 -EINVAL);
	for (unsigned i = 0; i < CAM_SELECT_MAX_VALUES; i++)
		add(&s, CAM_FILTER_PID, "7");
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_PID, CAM_TEXT("7"), why, sizeof(why)),
			 -E2BIG);
	cam_selection_free(&s);
	free(long_text);
}

static void test_idle_is_hidden(void **state)
{
	(void)state;
	static const struct {
		const char *stack;
		bool idle;
	} stacks[] = {
		{"do_idle@[kernel];cpuidle_enter@[kernel];intel_idle@[kernel]", true},
		{"do_idle@[kernel];default_idle_call@[kernel];pv_native_safe_halt@[kernel]", true},
		{"do_idle@[kernel];acpi_idle_do_entry@[kernel];raw_local_irq_enable@[kernel]",
		 true},
		{"do_idle@[kernel];mwait_idle_with_hints.constprop.0@[kernel]", true},
		{"do_idle;cpuidle_idle_call;poll_idle", true}, /* a text that says no kinds */
		{"do_idle@[kernel]", false},
		{"do_idle@[kernel];schedule_idle@[kernel]", false},
		{"do_idle@[kernel];intel_idle@[kernel];asm_common_interrupt@[kernel];"
		 "irq_exit_rcu@[kernel];handle_softirqs@[kernel];net_rx_action@[kernel]",
		 false},
		{"cpu_startup_entry@[kernel];default_idle@[kernel];apic_timer_interrupt@[kernel]",
		 false},
		{"intel_idle@/usr/bin/mine", false},
		{"", false},
	};
	size_t n = sizeof(stacks) / sizeof(stacks[0]);
	for (size_t i = 0; i < n; i++) {
		struct fake_window *w = fake_window_new();
		struct cam_task_id idle = fake_task(w, 0, 0, "swapper/1");
		fake_sample(w, SEC, 0, idle, fake_place(w, stacks[i].stack));
		/* The same stack elsewhere is never idle. */
		struct cam_task_id other = fake_task(w, 5, 5, "kworker/1");
		fake_sample(w, SEC, 0, other, fake_place(w, stacks[i].stack));
		struct cam_source *src = source_of(w);
		struct cam_selection s;
		struct cam_seen seen;
		cam_selection_init(&s);
		assert_int_equal(taken(src, &s, &seen), stacks[i].idle ? 1 : 2);
		assert_int_equal(seen.idle, stacks[i].idle);
		assert_int_equal(w->samples_calls, 0);
		s.with_idle = true;
		assert_int_equal(taken(src, &s, &seen), 2);
		assert_int_equal(seen.idle, 0);
		src->ops->close(src);
	}
}

/* A process that calls itself swapper cannot hide; the real idle task beside it still does. */
static void test_false_swapper_is_shown(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	const char *stack = "do_idle@[kernel];intel_idle@[kernel]";
	fake_sample(w, SEC, 0, fake_task(w, 0, 0, "swapper"), fake_place(w, stack));
	fake_sample(w, SEC, 1, fake_task(w, 666, 666, "swapper"), fake_place(w, stack));
	fake_sample(w, SEC, 2, fake_task(w, CAM_PID_NONE, 0, "swapper"), fake_place(w, stack));
	struct cam_source *src = source_of(w);
	struct cam_selection s;
	struct cam_seen seen;
	cam_selection_init(&s);
	assert_int_equal(taken(src, &s, &seen), 1);
	assert_int_equal(seen.idle, 2);
	assert_true(w->samples_calls > 0);
	src->ops->close(src);
}

static void test_times(void **state)
{
	(void)state;
	struct fake_window *w = mixed_window();
	struct cam_source *src = source_of(w);
	struct cam_selection s;
	struct cam_seen seen;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = 2 * SEC;
	s.to_ns = 5 * SEC;
	assert_int_equal(taken(src, &s, &seen), 3);
	assert_int_equal(seen.observed_ns, 3 * SEC);
	/* No wall clock: said, not guessed. */
	s.clock = CAM_SELECT_WALL;
	s.from_ns = INT64_MIN;
	s.to_ns = INT64_MAX;
	assert_int_equal(taken(src, &s, &seen), 0);
	assert_int_equal(seen.unplaced, 1);
	assert_int_equal(seen.windows, 0);
	src->ops->close(src);
}

static void test_wall_clock_that_was_stepped(void **state)
{
	(void)state;
	struct fake_window *w = mixed_window();
	/* Wall = clock + 1000 s; at 5 s it is set back by 3 s. */
	fake_add_anchor(w, &(struct cam_anchor){.time_ns = 5 * SEC, .realtime_ns = 1002 * SEC});
	fake_add_anchor(w, &(struct cam_anchor){.time_ns = 2 * SEC, .realtime_ns = 1002 * SEC});
	struct cam_source *src = source_of(w);
	struct cam_selection s;
	struct cam_seen seen;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_WALL;
	s.from_ns = 1002 * SEC; /* at 2 s, and again at 5 s */
	s.to_ns = 1003 * SEC;
	assert_int_equal(taken(src, &s, &seen), 2);
	assert_int_equal(seen.observed_ns, 2 * SEC);
	s.clock = CAM_SELECT_WALL;
	s.from_ns = 1003 * SEC;
	s.to_ns = 1005 * SEC; /* 3, 4 and 6, 7 s */
	assert_int_equal(taken(src, &s, NULL), 4);
	s.clock = CAM_SELECT_WALL;
	s.from_ns = 0;
	s.to_ns = 2000 * SEC; /* all of it: one range, no sample read */
	w->samples_calls = 0;
	assert_int_equal(taken(src, &s, NULL), 8);
	assert_int_equal(w->samples_calls, 0);
	src->ops->close(src);
}

static int count_down(void *arg, uint64_t done, uint64_t all)
{
	int *left = arg;
	(void)done;
	(void)all;
	return (*left)-- > 0 ? 0 : -ETIMEDOUT;
}

/* Who has no patience for an expression is asked before each name, and what is tried is then a name of 1,024 bytes. */
static void test_patience(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "sh");
	struct cam_buf room = CAM_BUF(1u << 16);
	struct cam_selection s;
	struct cam_flame f;
	char why[128], name[1025];
	int left = 5;
	const struct cam_progress patience = {count_down, &left};
	for (unsigned i = 0; i < 20; i++) {
		char stack[32];
		snprintf(stack, sizeof(stack), "main;f%u", i);
		fake_sample(w, 1000 + i, 0, task, fake_place(w, stack));
	}
	fake_window_ready(w);
	struct cam_source *src = fake_source_new(&w, 1);
	cam_selection_init(&s);
	assert_int_equal(cam_selection_add(&s, CAM_FILTER_MATCH, CAM_TEXT("f1$|x$"), why, 128), 0);
	s.match.patience = &patience;
	const struct cam_flame_options o = {0};
	assert_int_equal(cam_flame_build(src, &s, &o, &f), -ETIMEDOUT);
	assert_int_equal(left, -1); /* it ended there */
	left = 1000;
	assert_int_equal(cam_flame_build(src, &s, &o, &f), 0);
	assert_int_equal(f.nodes[0].total, 1);
	cam_flame_free(&f);
	memset(name, 'y', sizeof(name));
	name[1024] = 'x';
	struct cam_text text = {name, sizeof(name)};
	assert_int_equal(cam_select_expressions_try(&s.match, text, &room, NULL), 0);
	s.match.patience = NULL;
	assert_int_equal(cam_select_expressions_try(&s.match, text, &room, NULL), 1);
	cam_buf_free(&room);
	cam_selection_free(&s);
	src->ops->close(src);
}

/* As the page searches: without capitals none matter. */
static void test_any_case(void **state)
{
	(void)state;
	struct fake_window *w = mixed_window();
	fake_window_ready(w);
	struct cam_source *src = source_of(w);
	assert_int_equal(with(src, CAM_FILTER_MATCH, "^SERVE$"), 0);
	uint64_t n = with(src, CAM_FILTER_MATCH, "^serve$");
	assert_true(n > 0);
	assert_int_equal(with(src, CAM_FILTER_MATCH, "(?i)^SerVE$"), n);
	src->ops->close(src);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_programs_and_cgroups),
		cmocka_unit_test(test_containers_and_pods),
		cmocka_unit_test(test_windows_that_cannot_matter),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_idle_is_hidden),
		cmocka_unit_test(test_false_swapper_is_shown),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_wall_clock_that_was_stepped),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_any_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
