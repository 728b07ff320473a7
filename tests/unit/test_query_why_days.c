// SPDX-License-Identifier: Apache-2.0
/* `why` also says what was usual at the same time of the day before, who waited for a CPU, what the host was short of, and
 * who paused for less than a second or two. */
#include "base/units.h"
#include "query/why.h"
#include "render/text_why.h"
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

static struct cam_why ask_at(struct fake_window **v, size_t n, uint64_t at, uint64_t seconds)
{
	struct cam_source *source = fake_source_new(v, n);
	const struct cam_why_options o = {.limit = 5};
	struct cam_selection s;
	struct cam_why out;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_WALL;
	s.from_ns = WALL + (int64_t)(at * NS);
	s.to_ns = s.from_ns + (int64_t)(seconds * NS);
	assert_int_equal(cam_why_build(source, &s, &o, &out), 0);
	cam_selection_free(&s);
	source->ops->close(source);
	return out;
}

static struct cam_why ask(struct fake_window **v, size_t n)
{
	return ask_at(v, n, MOMENT, 1);
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

/* A thread that waited on both sides of where one window ends and the next begins is one thread. */
static void who_waited_over_the_end_of_a_window_is_told_once(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(FIRST + DAY - LENGTH), window(FIRST + DAY)};
	for (size_t i = 0; i < 2; i++)
		fake_add_counter(v[i],
				 &(struct cam_counter){(FIRST + DAY + i) * NS, NS,
						       CAM_COUNTER_RUN_DELAY, 99, NS * 8 / 10});
	struct cam_why w = ask_at(v, 2, FIRST + DAY - 1, 2);
	assert_int_equal(w.n_waits, 1);
	assert_int_equal(w.waits[0].tid, 99);
	assert_true(w.waits[0].inside > 0.79 && w.waits[0].inside < 0.81);
	cam_why_free(&w);
}

/* What the host said in the second asked about, beside what it says in all others. */
static char *host_then(enum cam_counter_kind kind, uint64_t usual, uint64_t then)
{
	struct fake_window *v[] = {window(FIRST + DAY)};
	const struct cam_text_why_options o = {.table = {.columns = 100}};
	struct cam_buf buf = CAM_BUF(1 << 20);
	struct cam_out out;
	for (uint64_t t = FIRST + DAY; t < FIRST + DAY + LENGTH; t++) {
		for (uint32_t cpu = 0; cpu < 2; cpu++)
			fake_add_counter(v[0], &(struct cam_counter){(t + 1) * NS, NS,
								     CAM_COUNTER_IDLE, cpu, 0});
		fake_add_counter(v[0], &(struct cam_counter){(t + 1) * NS, NS, kind, 0,
							     t == MOMENT ? then : usual});
	}
	struct cam_why w = ask(v, 1);
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_text_why_write(&w, &o, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	char *text = strndup((const char *)buf.data, buf.len);
	cam_buf_free(&buf);
	cam_why_free(&w);
	assert_non_null(text);
	return text;
}

static void what_the_host_was_short_of_is_told(void **state)
{
	/* Of times: nanoseconds of a second, those of CPUs of two of them. Before a % is a narrow space. */
	static const struct {
		enum cam_counter_kind kind;
		uint64_t usual, then;
		const char *sentence; /* NULL: nothing is said */
	} cases[] = {
		{CAM_COUNTER_SOFTIRQ, NS / 100, NS / 2,
		 "  soft interrupts 25.0 % of CPU time; in the rest of the window 0.5 %\n"},
		{CAM_COUNTER_SOFTIRQ, NS / 2, NS / 2, NULL},
		{CAM_COUNTER_IRQ, 0, NS / 5,
		 "  interrupts 10.0 % of CPU time; in the rest of the window 0.0 %\n"},
		{CAM_COUNTER_STEAL, NS / 5, NS / 5,
		 "  stolen by the hypervisor 10.0 % of CPU time; in the rest of the window 10.0 %\n"},
		{CAM_COUNTER_STEAL, 0, NS / 100, NULL},
		{CAM_COUNTER_PSI_CPU, NS / 10, NS * 4 / 5,
		 "  some task waited for a CPU 80.0 % of the time; in the rest of the window 10.0 %\n"},
		{CAM_COUNTER_PSI_CPU, NS * 4 / 5, NS * 4 / 5, NULL},
		{CAM_COUNTER_PSI_MEMORY, 0, NS / 4,
		 "  some task waited for memory 25.0 % of the time; in the rest of the window 0.0 %\n"},
		{CAM_COUNTER_PSI_MEMORY_FULL, 0, NS / 4,
		 "  all tasks waited for memory 25.0 % of the time; in the rest of the window 0.0 %\n"},
		{CAM_COUNTER_PSI_IO, NS / 20, NS / 2,
		 "  some task waited for I/O 50.0 % of the time; in the rest of the window 5.0 %\n"},
		{CAM_COUNTER_PSI_IO_FULL, 0, NS / 2,
		 "  all tasks waited for I/O 50.0 % of the time; in the rest of the window 0.0 %\n"},
		{CAM_COUNTER_SOFTNET_DROPPED, 0, 7,
		 "  packets dropped 7.0 a second; in the rest of the window 0.0\n"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = host_then(cases[i].kind, cases[i].usual, cases[i].then);
		if (cases[i].sentence && !strstr(text, cases[i].sentence))
			fail_msg("not \"%s\" but: %s", cases[i].sentence, text);
		if (!cases[i].sentence && strstr(text, "the host then"))
			fail_msg("case %zu is no news: %s", i, text);
		free(text);
	}
}

/* One at 40 samples a second, another at 5 in bursts; neither has any in [from, to) ms of the moment. */
static struct fake_window *pausing(uint64_t start, unsigned from_ms, unsigned to_ms, bool unseen)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id web = fake_task(f, 10, 10, "web"), idler = fake_task(f, 11, 11, "idler");
	struct cam_place_id place = fake_place(f, "main;work");
	uint64_t ms = NS / 1000, moment = (start + 150) * 1000;
	uint32_t noise = 12345;
	for (uint64_t t = start * 1000; t < (start + LENGTH) * 1000; t++) {
		noise = noise * 1664525 + 1013904223;
		bool held = t >= moment + from_ms && t < moment + to_ms;
		if (!held && (noise >> 16) % 1000 < 40)
			fake_sample(f, t * ms, 0, web, place);
		if (!held && t / 400 % 5 == 0 && (noise >> 8) % 1000 < 25)
			fake_sample(f, t * ms + 1, 1, idler, place);
	}
	if (unseen)
		fake_add_ledger(f,
				&(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 0, (start + 150) * NS,
							 (start + 151) * NS, 90});
	f->w.info.start_ns = start * NS;
	f->w.info.end_ns = (start + LENGTH) * NS;
	f->w.info.sealed = true;
	f->w.info.cpus = 2;
	fake_window_ready(f);
	return f;
}

static size_t stops(struct fake_window *f, struct cam_why_finding *first)
{
	struct cam_source *source = fake_source_new(&f, 1);
	const struct cam_why_options o = {.limit = 5};
	struct cam_selection s;
	struct cam_why w;
	size_t n = 0;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = (int64_t)((FIRST + 145) * NS);
	s.to_ns = (int64_t)((FIRST + 155) * NS);
	assert_int_equal(cam_why_build(source, &s, &o, &w), 0);
	for (size_t i = 0; i < w.n_significant; i++) {
		if (w.findings[i].kind != CAM_WHY_STOPPED)
			continue;
		*first = n++ ? *first : w.findings[i];
		assert_true(cam_text_equal(w.findings[i].process, CAM_TEXT("web")));
	}
	cam_selection_free(&s);
	source->ops->close(source);
	cam_why_free(&w);
	return n;
}

static void one_that_paused_within_two_seconds_is_told(void **state)
{
	struct cam_why_finding f = {0};
	(void)state;
	/* 0.7 s, a part of each of two seconds: neither is without a sample. */
	assert_int_equal(stops(pausing(FIRST, 650, 1350, false), &f), 1);
	assert_in_range(f.length_ns, NS * 7 / 10, NS * 9 / 10);
	assert_in_range(f.clock_ns, (FIRST + 150) * NS + NS / 2,
			(FIRST + 150) * NS + NS * 65 / 100);
	assert_in_range((uint64_t)f.expected, 25, 36);
	assert_int_equal(f.samples, 0);
	assert_in_range(f.pause_other_ns, NS / 10, NS / 2);
	assert_int_equal(f.episodes, 0);
	/* What it does by itself is nothing; who pauses for seconds has not stopped. */
	assert_int_equal(stops(pausing(FIRST, 500, 500, false), &f), 0);
	assert_int_equal(stops(pausing(FIRST, 500, 700, false), &f), 0);
	/* Nobody watched. */
	assert_int_equal(stops(pausing(FIRST, 0, 1000, true), &f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_time_of_the_day_before_is_a_baseline),
		cmocka_unit_test(without_one_nothing_is_said_of_it),
		cmocka_unit_test(who_waited_for_a_cpu_is_told),
		cmocka_unit_test(who_waited_over_the_end_of_a_window_is_told_once),
		cmocka_unit_test(what_the_host_was_short_of_is_told),
		cmocka_unit_test(one_that_paused_within_two_seconds_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
