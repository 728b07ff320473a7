// SPDX-License-Identifier: Apache-2.0
/* Windows: without a gap, with their names, and through a full disk. */
#include "support_dump.h"
#include "support_live.h"
#include "support_store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void open_stage(struct stage *s, uint64_t window_ns)
{
	struct cam_live_options o;
	stage_options(&o);
	o.window_ns = window_ns;
	stage_open(s, &o);
	for (int32_t pid = 10; pid < 14; pid++) {
		world_process(s, pid, "app", "/bin/app");
		world_map(s, pid, 0x1000, 0x100000, 5, "/bin/app");
	}
}

static unsigned dice(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % sides;
}

/* A sample that carries its number in its address. */
static void numbered_sample(struct stage *s, uint64_t time_ns, int32_t pid, unsigned number)
{
	const uint64_t user[] = {0x1000 + number, 0};
	stage_sample(s, time_ns, pid, pid, user, NULL);
}

/* Counts how often each number was found (in the address, or as CPU), and checks that it is in the
 * window of its time. */
static void count_numbers(struct stage *s, bool by_cpu, uint8_t *times, size_t n)
{
	memset(times, 0, n);
	for (size_t i = 0; i < s->n_windows; i++) {
		const struct stage_window *w = &s->windows[i];
		for (size_t k = 0; k < w->n_samples; k++) {
			uint32_t place = w->samples[k].place.v;
			uint64_t number = by_cpu ? w->samples[k].cpu
						 : w->t.locations[w->t.places.item[place]].address;
			assert_true(number < n);
			times[number]++;
			assert_true(w->samples[k].time_ns >= w->head.start_ns);
			assert_true(w->samples[k].time_ns < w->end_ns);
		}
	}
}

static void assert_gapless(const struct stage *s, uint64_t window_ns)
{
	for (size_t i = 0; i < s->n_windows; i++) {
		const struct stage_window *w = &s->windows[i];
		assert_true(w->ended);
		assert_true(w->end_ns > w->head.start_ns);
		/* Longer only where no tick came in between. */
		assert_true(w->end_ns - w->head.start_ns <= window_ns + 2 * SEC);
		assert_int_equal(w->head.start_ns % 10000, 0);
		if (i + 1 < s->n_windows) {
			assert_int_equal(w->end_ns, s->windows[i + 1].head.start_ns);
			assert_int_equal(w->end_ns % SEC, 0);
		}
	}
}

/* Samples of processes that are known, asked about and never answered, in random order of
 * answers; each is in the one window that has its time. */
static void every_sample_is_in_exactly_one_window(void **state)
{
	(void)state;
	static uint8_t times[20000];
	for (unsigned run = 0; run < 6; run++) {
		struct stage s;
		unsigned seed = run, n = 0;
		open_stage(&s, (1 + run % 3) * SEC);
		uint64_t t = 7 * SEC + dice(&seed, 1000) * MS + 123456;
		uint64_t tick = t;
		s.lag_ns = 300 * MS;
		while (n < 5000) {
			t += dice(&seed, 4) ? dice(&seed, 2 * MS) : 0;
			if (t > tick + 200 * MS) {
				tick += 200 * MS;
				if (dice(&seed, 2))
					stage_answer(&s);
				assert_int_equal(stage_tick(&s, tick + s.lag_ns), 0);
			}
			/* Exactly on a boundary, and just before it. */
			uint64_t at = dice(&seed, 50)
					      ? t
					      : t - t % SEC + (dice(&seed, 2) ? SEC : SEC - 1);
			if (at < t)
				at = t;
			t = at;
			s.cpu = n;
			numbered_sample(&s, at, 10 + (int32_t)dice(&seed, 7), n++);
		}
		s.now_ns = t + 1;
		stage_close(&s);
		assert_gapless(&s, (1 + run % 3) * SEC);
		assert_true(s.n_windows > 1);
		count_numbers(&s, true, times, n);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(times[i], 1);
		stage_free(&s);
	}
}

static void a_quiet_host_has_windows_too(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 5 * SEC);
	/* The first one, before any record, waits for a window to start. */
	struct cam_anchor a = {.time_ns = 1 * SEC, .boottime_ns = 2 * SEC};
	assert_int_equal(cam_live_anchor(s.live, &a), 0);
	assert_int_equal(cam_live_stats(s.live).windows, 0);
	a.time_ns = 1 * SEC + 500 * MS;
	assert_int_equal(cam_live_anchor(s.live, &a), 0);
	cam_live_fact(s.live, CAM_TEXT("kernel"), CAM_TEXT("6.1"));
	stage_run(&s, 8 * SEC);
	cam_live_fact(s.live, CAM_TEXT("kernel"), CAM_TEXT("6.2"));
	stage_run(&s, 23 * SEC);
	stage_close(&s);
	assert_int_equal(s.n_windows, 5);
	assert_int_equal(s.windows[0].head.start_ns, 1 * SEC + 500 * MS);
	assert_int_equal(s.windows[0].end_ns, 6 * SEC);
	assert_gapless(&s, 5 * SEC);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(s.windows[i].head.clock, CAM_CLOCK_MONOTONIC);
		assert_int_equal(s.windows[i].head.time_unit_ns, 10000);
		assert_false(s.windows[i].head.imported);
		/* Each has an anchor from its start on. */
		assert_int_equal(s.windows[i].anchors, i == 0 ? 2 : 1);
		assert_string_equal(s.windows[i].facts, i == 0	 ? "kernel=6.1 "
							: i == 1 ? "kernel=6.1 kernel=6.2 "
								 : "kernel=6.2 ");
	}
	stage_free(&s);
}

static void names_come_after_the_boundary(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 5 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 0x10);
	stage_run(&s, 4 * SEC);
	/* Just before the end something new, whose name takes a second. */
	numbered_sample(&s, 6 * SEC - 1 * MS, 10, 0x510);
	numbered_sample(&s, 6 * SEC + 1 * MS, 10, 0x510);
	stage_tick(&s, 6 * SEC);
	stage_tick(&s, 6 * SEC + 800 * MS);
	assert_int_equal(s.n_windows, 2);
	assert_false(s.windows[0].ended);
	size_t asked = s.asked[CAM_ERRAND_NAMES];
	stage_answer(&s);
	stage_tick(&s, 7 * SEC);
	assert_int_equal(s.windows[0].named, 2);
	stage_run(&s, 8 * SEC + 400 * MS);
	assert_false(s.windows[0].ended);
	stage_run(&s, 8 * SEC + 600 * MS);
	assert_true(s.windows[0].ended);
	/* And again in a later window: nobody is asked. */
	numbered_sample(&s, 9 * SEC, 10, 0x510);
	stage_run(&s, 12 * SEC);
	assert_int_equal(s.asked[CAM_ERRAND_NAMES], asked);
	stage_close(&s);
	assert_string_equal(stage_stack(&s, 0, 1), "app_5");
	assert_string_equal(stage_stack(&s, 1, 0), "app_5");
	assert_string_equal(stage_stack(&s, 1, 1), "app_5");
	stage_free(&s);
}

/* Nobody answers, then the recorder gets no CPU for seconds: what waited goes into its own window. */
static void what_waits_goes_into_its_own_window_however_late_it_is(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 1 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 1);
	stage_run(&s, 1800 * MS);
	s.silent = true;
	numbered_sample(&s, 1900 * MS, 12, 2);
	/* Records of the next three seconds come in one go. */
	for (uint64_t t = 2000 * MS; t < 5000 * MS; t += 100 * MS)
		numbered_sample(&s, t, 10, 3);
	stage_run(&s, 9 * SEC);
	assert_int_equal(cam_live_stats(s.live).late_samples, 0);
	stage_close(&s);
	for (size_t i = 1; i < s.n_windows; i++)
		assert_int_equal(s.windows[i].head.start_ns, s.windows[i - 1].end_ns);
	assert_int_equal(s.windows[0].n_samples, 2);
	stage_free(&s);
}

static void a_record_later_than_its_window_goes_into_the_open_one(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 5 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 1);
	stage_run(&s, 6 * SEC);
	/* Within 2.5 s of the end it still gets into its own. */
	numbered_sample(&s, 4 * SEC, 10, 2);
	stage_run(&s, 9 * SEC);
	assert_true(s.windows[0].ended);
	assert_int_equal(cam_live_stats(s.live).late_samples, 0);
	numbered_sample(&s, 4 * SEC, 10, 3);
	stage_run(&s, 10 * SEC);
	assert_int_equal(cam_live_stats(s.live).late_samples, 1);
	stage_close(&s);
	assert_int_equal(s.windows[0].n_samples, 2);
	assert_int_equal(s.windows[1].n_samples, 1);
	stage_free(&s);
}

/* Every stack is another one: the tables fill, and windows are cut where they are half full. */
static void full_tables_cut_a_window_early(void **state)
{
	(void)state;
	struct stage s;
	struct cam_live_options o;
	static uint8_t times[40000];
	stage_options(&o);
	o.window_ns = 100 * SEC;
	o.max_table_bytes = 1u << 20;
	stage_open(&s, &o);
	world_process(&s, 10, "app", "/bin/app");
	world_map(&s, 10, 0x1000, 0x100000, 5, "/bin/app");
	stage_tick(&s, 1 * SEC);
	for (unsigned i = 0; i < 40000; i++) {
		if (i % 1000 == 999)
			stage_run(&s, 1 * SEC + i * 100000ull);
		numbered_sample(&s, 1 * SEC + i * 100000ull, 10, i);
	}
	stage_run(&s, 6 * SEC);
	assert_int_equal(cam_live_stats(s.live).dropped, 0);
	assert_true(cam_live_stats(s.live).late_samples == 0);
	stage_close(&s);
	assert_true(s.n_windows > 2);
	for (size_t i = 0; i + 1 < s.n_windows; i++) {
		assert_int_equal(s.windows[i].end_ns, s.windows[i + 1].head.start_ns);
		assert_true(s.windows[i].t.bytes <= o.max_table_bytes);
	}
	count_numbers(&s, false, times, 40000);
	for (unsigned i = 0; i < 40000; i++)
		assert_int_equal(times[i], 1);
	stage_free(&s);
}

static void a_cut_is_followed_without_a_gap(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 100 * SEC);
	stage_tick(&s, 1 * SEC);
	s.silent = true;
	numbered_sample(&s, 1 * SEC, 10, 1);
	/* A snapshot: at once, with what is known. */
	assert_int_equal(cam_live_cut(s.live, 1 * SEC + 70 * MS + 1234567), 0);
	assert_int_equal(s.n_windows, 1);
	assert_true(s.windows[0].ended);
	assert_int_equal(s.windows[0].n_samples, 1);
	/* Nothing to cut: nothing happens. */
	assert_int_equal(cam_live_cut(s.live, 1 * SEC + 80 * MS), 0);
	assert_int_equal(s.n_windows, 1);
	s.silent = false;
	numbered_sample(&s, 2 * SEC, 10, 2);
	stage_run(&s, 4 * SEC);
	stage_close(&s);
	assert_int_equal(s.n_windows, 2);
	assert_int_equal(s.windows[0].end_ns, 1 * SEC + 71230000);
	assert_int_equal(s.windows[1].head.start_ns, s.windows[0].end_ns);
	assert_int_equal(s.windows[1].n_samples, 1);
	stage_free(&s);
}

/* A clock anchor passes a boundary before the last records of the window before it have come: a cut
 * there would send these into the next one, which would begin with them. */
static void a_cut_waits_for_the_boundary(void **state)
{
	(void)state;
	struct stage s;
	const struct cam_anchor anchor = {.time_ns = 5020 * MS, .realtime_ns = 1};
	open_stage(&s, 4 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 1);
	stage_run(&s, 2 * SEC);
	assert_true(cam_live_may_cut(s.live, 4900 * MS));
	assert_int_equal(cam_live_anchor(s.live, &anchor), 0);
	assert_false(cam_live_may_cut(s.live, 4900 * MS));
	numbered_sample(&s, 4950 * MS, 10, 2);
	numbered_sample(&s, 5100 * MS, 10, 3);
	assert_true(cam_live_may_cut(s.live, 5200 * MS));
	assert_int_equal(cam_live_cut(s.live, 5200 * MS), 0);
	stage_close(&s);
	assert_int_equal(s.n_windows, 2);
	assert_gapless(&s, 4 * SEC);
	uint8_t times[4];
	count_numbers(&s, false, times, 4);
	assert_true(times[1] == 1 && times[2] == 1 && times[3] == 1);
	stage_free(&s);
}

/* A run's first window is begun by something that came after a sample that waits for an answer; when that
 * sample goes on the second window has begun. It would begin before the first one's end with it. */
static void what_is_older_than_the_first_window_is_not_in_the_second(void **state)
{
	(void)state;
	struct stage s;
	const struct cam_anchor anchor = {.time_ns = 8050 * MS, .realtime_ns = 1};
	open_stage(&s, 1 * SEC);
	stage_tick(&s, 7800 * MS);
	s.silent = true;
	numbered_sample(&s, 7800 * MS, 10, 1);
	assert_int_equal(cam_live_event(s.live, 7900 * MS, 0, CAM_SEVERITY_NOTICE, CAM_TEXT("mark"),
					CAM_TEXT("x")),
			 0);
	assert_int_equal(cam_live_anchor(s.live, &anchor), 0);
	stage_run(&s, 8600 * MS);
	stage_close(&s);
	assert_int_equal(s.n_windows, 2);
	assert_int_equal(s.windows[0].n_samples, 1);
	assert_int_equal(s.windows[1].n_samples, 0);
	stage_free(&s);
}

/* The journal has a sample within the parking time and a tick. */
static void samples_reach_the_journal_in_time(void **state)
{
	(void)state;
	struct stage s;
	unsigned seed = 5;
	open_stage(&s, 5 * SEC);
	s.silent = true;
	uint64_t given[100];
	unsigned n = 0;
	for (unsigned tick = 0; tick < 60; tick++) {
		uint64_t t = 1 * SEC + tick * 200 * MS;
		if (dice(&seed, 3) == 0)
			stage_answer(&s);
		assert_int_equal(stage_tick(&s, t), 0);
		given[tick] = n;
		/* All that was given until two ticks ago is written. */
		if (tick >= 2)
			assert_true(s.appended >= given[tick - 2]);
		unsigned more = dice(&seed, 20);
		for (unsigned i = 0; i < more; i++, n++)
			numbered_sample(&s, t + i * MS, 10 + (int32_t)dice(&seed, 7), n);
	}
	assert_true(n > 300);
	stage_close(&s);
	assert_int_equal(stage_samples(&s), n);
	stage_free(&s);
}

/* Disk full for a while, with less than fits into memory: nothing is lost, nothing is double. */
static void a_short_refusal_loses_nothing(void **state)
{
	(void)state;
	static uint8_t times[3000];
	struct stage s;
	open_stage(&s, 3 * SEC);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t t = 1 * SEC + i * 5 * MS;
		if (i % 40 == 0) {
			stage_answer(&s);
			int err = stage_tick(&s, t);
			assert_int_equal(err, s.refuse);
			s.refuse = i >= 600 && i < 1800 ? -ENOSPC : 0;
		}
		numbered_sample(&s, t, 10, i);
	}
	s.now_ns = 20 * SEC;
	assert_int_equal(cam_live_stats(s.live).dropped, 0);
	stage_close(&s);
	count_numbers(&s, false, times, 3000);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(times[i], 1);
	for (size_t i = 0; i + 1 < s.n_windows; i++)
		assert_int_equal(s.windows[i].end_ns, s.windows[i + 1].head.start_ns);
	assert_int_equal(stage_lost_samples(&s, CAM_CAUSE_DISK_FULL), 0);
	stage_free(&s);
}

/* Longer than fits: what is dropped is in the ledger, to the sample and by CPU. */
static void run_through_a_long_refusal(unsigned from, unsigned to, uint64_t window_ns)
{
	enum { SAMPLES = 120000 };
	static uint8_t times[SAMPLES];
	struct stage s;
	struct cam_live_options o;
	stage_options(&o);
	o.window_ns = window_ns;
	stage_open(&s, &o);
	world_process(&s, 10, "app", "/bin/app");
	world_map(&s, 10, 0x1000, 0x100000, 5, "/bin/app");
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t t = 1 * SEC + i * 50000ull;
		if (i % 4000 == 0) {
			stage_answer(&s);
			stage_tick(&s, t);
			s.refuse = i >= from && i < to ? -ENOSPC : 0;
		}
		s.cpu = i % 3;
		numbered_sample(&s, t, 10, i);
	}
	stage_run(&s, 12 * SEC);
	struct cam_live_stats stats = cam_live_stats(s.live);
	stage_close(&s);
	assert_int_equal(stats.samples + stats.dropped, SAMPLES);
	assert_int_equal(stage_samples(&s), stats.samples);
	assert_int_equal(stage_lost_samples(&s, CAM_CAUSE_DISK_FULL), stats.dropped);
	assert_int_equal(stats.by_cause[CAM_CAUSE_DISK_FULL], stats.dropped);
	assert_true(stats.dropped > 0);
	count_numbers(&s, false, times, SAMPLES);
	/* Each number is there once, or lost; then a row of its CPU covers its time. */
	uint64_t lost[3] = {0}, first[3], last[3];
	for (unsigned i = 0; i < SAMPLES; i++) {
		assert_true(times[i] <= 1);
		if (times[i])
			continue;
		if (!lost[i % 3]++)
			first[i % 3] = 1 * SEC + i * 50000ull;
		last[i % 3] = 1 * SEC + i * 50000ull;
	}
	size_t rows = 0;
	for (size_t i = 0; i < s.n_windows; i++) {
		for (size_t k = 0; k < s.windows[i].n_ledger; k++) {
			const struct cam_ledger_row *row = &s.windows[i].ledger[k];
			if (row->cause != CAM_CAUSE_DISK_FULL)
				continue;
			rows++;
			assert_int_equal(row->from_ns, first[row->cpu]);
			assert_int_equal(row->to_ns, last[row->cpu] + 1);
			assert_int_equal(row->samples, lost[row->cpu]);
			/* It went on in the same window: the gap is in its own time. */
			assert_true(row->from_ns >= s.windows[i].head.start_ns);
			assert_true(row->to_ns <= s.windows[i].end_ns);
		}
		if (i + 1 < s.n_windows)
			assert_int_equal(s.windows[i].end_ns, s.windows[i + 1].head.start_ns);
	}
	assert_int_equal(rows, 3);
	stage_free(&s);
}

static void a_long_refusal_is_in_the_ledger(void **state)
{
	(void)state;
	run_through_a_long_refusal(20000, 80000, 100 * SEC);
}

static void a_refusal_across_boundaries_is_in_the_ledger(void **state)
{
	(void)state;
	run_through_a_long_refusal(20000, 80000, 2 * SEC);
}

static void a_recording_that_starts_on_a_full_disk_has_its_gap(void **state)
{
	(void)state;
	run_through_a_long_refusal(0, 70000, 3 * SEC);
}

/* The last block and the end are refused for longer than anyone waits. */
static void a_window_that_cannot_be_ended_is_left(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 5 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 1);
	stage_run(&s, 7 * SEC);
	assert_int_equal(s.n_windows, 2);
	s.refuse = -EIO;
	for (uint64_t t = 9 * SEC; t < 35 * SEC; t += 200 * MS)
		assert_int_equal(stage_tick(&s, t), -EIO);
	for (uint64_t t = 35 * SEC; t < 50 * SEC; t += 200 * MS)
		stage_tick(&s, t);
	s.refuse = 0;
	numbered_sample(&s, 50 * SEC, 10, 2);
	stage_run(&s, 60 * SEC);
	stage_close(&s);
	assert_false(s.windows[0].ended);
	assert_true(s.windows[1].ended);
	assert_int_equal(s.windows[1].head.start_ns, 6 * SEC);
	assert_int_equal(stage_samples(&s), 2);
	stage_free(&s);
}

/* Written, but its sync failed: only the end is asked for again, until it holds. A sample that is late beyond all
 * measure is lost, and counted. */
static void an_end_that_is_not_durable_is_tried_again_alone(void **state)
{
	(void)state;
	struct stage s;
	open_stage(&s, 5 * SEC);
	stage_tick(&s, 1 * SEC);
	numbered_sample(&s, 1 * SEC, 10, 1);
	stage_run(&s, 7 * SEC);
	assert_int_equal(s.n_windows, 2);
	s.refuse_end = -EIO;
	for (uint64_t t = 9 * SEC; t < 12 * SEC; t += 200 * MS)
		assert_int_equal(stage_tick(&s, t), -EIO);
	numbered_sample(&s, 2 * SEC, 10, 2);
	s.refuse_end = 0;
	numbered_sample(&s, 12 * SEC, 10, 3);
	assert_int_equal(stage_tick(&s, 12 * SEC), 0);
	assert_true(s.windows[0].ended);
	stage_run(&s, 20 * SEC);
	stage_close(&s);
	assert_true(s.windows[1].ended);
	assert_int_equal(s.windows[0].end_ns, 6 * SEC);
	assert_int_equal(stage_samples(&s), 2);
	assert_int_equal(stage_lost_samples(&s, CAM_CAUSE_DISK_FULL), 1);
	stage_free(&s);
}

struct store_stage {
	struct stage s;
	struct cam_store *store;
};

static struct cam_journal *store_door(void *self)
{
	struct store_stage *k = self;
	return cam_store_journal(k->store, 0);
}

static int gather_stacks(void *arg, const struct cam_batch *b)
{
	struct store_lines {
		struct cam_window *w;
		size_t n[3];
	} *out = arg;
	const struct cam_tables *t;
	assert_int_equal(out->w->ops->tables(out->w, &t), 0);
	for (size_t i = 0; i < b->n; i++) {
		char text[256] = "", room[64];
		for (uint32_t node = b->stack[i]; node; node = t->stacks.parent[node]) {
			struct cam_text f = cam_function_label(
				t, (struct cam_func_id){t->stacks.item[node]}, room, sizeof(room));
			size_t n = strlen(text);
			snprintf(text + n, sizeof(text) - n, "%.*s,", (int)f.n, f.p);
		}
		const struct cam_task *k = &t->tasks[b->task[i]];
		assert_true(cam_text_equal(cam_string(t, k->comm), CAM_TEXT("app")));
		assert_true(cam_text_equal(cam_string(t, k->exe), CAM_TEXT("/bin/app")));
		assert_true(cam_text_equal(cam_string(t, k->cgroup), CAM_TEXT("/user/app")));
		if (strcmp(text, "k_810000,app_0,") == 0)
			out->n[0]++;
		else if (strcmp(text, "app_5,app_0,") == 0)
			out->n[1]++;
		else
			out->n[2]++;
	}
	return 0;
}

/* A recorder with windows of 4 s in a real store; one process is known. */
static void store_stage_open(struct store_stage *k, struct sim_disk *disk)
{
	struct cam_live_options o;
	stage_options(&o);
	stage_open(&k->s, NULL);
	cam_live_free(k->s.live);
	k->store = store_open(sim_io(disk));
	struct cam_live_doors doors = {k, store_door, &k->s.errands};
	o.window_ns = 4 * SEC;
	assert_int_equal(cam_live_new(&o, &doors, &k->s.live), 0);
	world_process(&k->s, 10, "app", "/bin/app");
	world_map(&k->s, 10, 0x1000, 0x100000, 5, "/bin/app");
}

/* Through the real journal and sealing: names that came late are in the sealed windows. */
static void the_store_seals_what_was_recorded(void **state)
{
	(void)state;
	struct store_stage k;
	struct sim_disk *disk = sim_new();
	store_stage_open(&k, disk);
	stage_tick(&k.s, 1 * SEC);
	static const uint64_t user[] = {0x1010, 0}, kernel[] = {0x81000010, 0};
	for (unsigned i = 0; i < 1000; i++) {
		if (i % 2)
			stage_sample(&k.s, 1 * SEC + i * 10 * MS, 10, 10, user, kernel);
		else
			stage_sample(&k.s, 1 * SEC + i * 10 * MS, 10, 10, USER(0x1510, 0x1011));
		if (i % 20 == 19)
			stage_run(&k.s, 1 * SEC + i * 10 * MS);
	}
	stage_run(&k.s, 11 * SEC);
	k.s.now_ns = 11 * SEC;
	stage_close(&k.s);
	unsigned sealed;
	assert_int_equal(cam_store_seal_pending(k.store, &sealed), 0);
	assert_int_equal(sealed, 3);
	cam_store_close(k.store);
	struct cam_source *source;
	assert_int_equal(cam_store_open_read(sim_io(disk), &source), 0);
	assert_int_equal(source->ops->count(source), 3);
	uint64_t at = 1 * SEC;
	struct {
		struct cam_window *w;
		size_t n[3];
	} found = {0};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(source->ops->open(source, i, &found.w), 0);
		assert_true(found.w->info.sealed && found.w->info.clean_end);
		assert_int_equal(found.w->info.start_ns, at);
		assert_int_equal(found.w->info.time_unit_ns, 10000);
		assert_int_equal(found.w->ops->samples(found.w, CAM_RANGE_ALL,
						       CAM_COL_TASK | CAM_COL_STACK, gather_stacks,
						       &found),
				 0);
		at = found.w->info.end_ns;
		found.w->ops->close(found.w);
	}
	assert_int_equal(at, 11 * SEC);
	assert_int_equal(found.n[0], 500);
	assert_int_equal(found.n[1], 500);
	assert_int_equal(found.n[2], 0);
	source->ops->close(source);
	stage_free(&k.s);
	sim_free(disk);
}

/* It is killed; the next one seals what it left. */
static struct cam_source *store_stage_kill(struct store_stage *k, struct sim_disk *disk)
{
	struct cam_source *source;
	unsigned sealed;
	cam_live_free(k->s.live);
	k->s.live = NULL;
	cam_store_close(k->store);
	k->store = store_open(sim_io(disk));
	assert_int_equal(cam_store_seal_pending(k->store, &sealed), 0);
	cam_store_close(k->store);
	assert_int_equal(cam_store_open_read(sim_io(disk), &source), 0);
	stage_free(&k->s);
	return source;
}

/* Killed 300 ms behind a boundary, on a host where little happens: the window before, which has no end
 * mark yet, reaches as far as the next one's start; nobody was dead in between. */
static void a_kill_behind_a_boundary_leaves_no_gap_before_it(void **state)
{
	(void)state;
	struct store_stage k;
	struct sim_disk *disk = sim_new();
	store_stage_open(&k, disk);
	stage_tick(&k.s, 1 * SEC);
	for (uint64_t t = 1 * SEC; t < 9300 * MS; t += 100 * MS) {
		if (t % (900 * MS) == 100 * MS || t == 9 * SEC)
			stage_sample(&k.s, t, 10, 10, USER(0x1510, 0x1011));
		stage_run(&k.s, t);
	}
	struct cam_source *source = store_stage_kill(&k, disk);
	const struct cam_window_info *info[3];
	struct cam_ledger_row gap;
	assert_int_equal(source->ops->count(source), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(source->ops->info(source, i, &info[i]), 0);
	assert_true(info[0]->clean_end && !info[1]->clean_end && !info[2]->clean_end);
	assert_int_equal(info[1]->end_ns, 9 * SEC);
	assert_int_equal(info[2]->start_ns, 9 * SEC);
	assert_false(cam_gap_between(info[1], info[2], &gap));
	assert_true(info[1]->samples > 0 && info[1]->lost == 0);
	source->ops->close(source);
	sim_free(disk);
}

/* The first anchor is read 50 ms after the first sample, behind the first window's end; then a kill. */
static void an_anchor_behind_the_first_window_does_not_stretch_it(void **state)
{
	(void)state;
	struct store_stage k;
	struct sim_disk *disk = sim_new();
	struct cam_anchor anchor = {.time_ns = 8024 * MS,
				    .raw_ns = CAM_TIME_NONE,
				    .boottime_ns = 9024 * MS,
				    .sched_ns = 7024 * MS,
				    .realtime_ns = 1000 * (int64_t)SEC};
	store_stage_open(&k, disk);
	assert_int_equal(cam_live_anchor(k.s.live, &anchor), 0);
	stage_tick(&k.s, 4974 * MS);
	for (uint64_t t = 4974 * MS; t < 8400 * MS; t += 100 * MS) {
		stage_sample(&k.s, t, 10, 10, USER(0x1510, 0x1011));
		stage_run(&k.s, t);
	}
	struct cam_source *source = store_stage_kill(&k, disk);
	const struct cam_window_info *info[2];
	assert_int_equal(source->ops->count(source), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(source->ops->info(source, i, &info[i]), 0);
	assert_int_equal(info[0]->start_ns, 4974 * MS);
	assert_int_equal(info[0]->end_ns, 8 * SEC);
	assert_int_equal(info[1]->start_ns, 8 * SEC);
	/* The wall time is as the anchor said: 3.05 s before it. */
	assert_int_equal(info[0]->realtime_ns, 1000 * (int64_t)SEC - 3050 * (int64_t)MS);
	assert_in_range(info[0]->realtime_uncertainty_ns, 1525000, 1600000);
	source->ops->close(source);
	sim_free(disk);
}

/* A count of the host is read behind a boundary that records have not passed yet; then a kill. */
static void a_counter_behind_a_boundary_does_not_stretch_the_window_before(void **state)
{
	(void)state;
	struct store_stage k;
	struct sim_disk *disk = sim_new();
	const struct cam_counter counter = {9020 * MS, SEC, CAM_COUNTER_USER, 0, 100 * MS};
	store_stage_open(&k, disk);
	stage_tick(&k.s, 1 * SEC);
	for (uint64_t t = 1 * SEC; t < 9300 * MS; t += 100 * MS) {
		stage_sample(&k.s, t, 10, 10, USER(0x1510, 0x1011));
		stage_run(&k.s, t);
		if (t == 8900 * MS)
			assert_int_equal(cam_live_counter(k.s.live, &counter), 0);
	}
	struct cam_source *source = store_stage_kill(&k, disk);
	const struct cam_window_info *info[3];
	assert_int_equal(source->ops->count(source), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(source->ops->info(source, i, &info[i]), 0);
	assert_false(info[1]->clean_end);
	assert_int_equal(info[1]->end_ns, 9 * SEC);
	assert_int_equal(info[2]->start_ns, 9 * SEC);
	source->ops->close(source);
	sim_free(disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_in_exactly_one_window),
		cmocka_unit_test(a_quiet_host_has_windows_too),
		cmocka_unit_test(names_come_after_the_boundary),
		cmocka_unit_test(what_waits_goes_into_its_own_window_however_late_it_is),
		cmocka_unit_test(a_record_later_than_its_window_goes_into_the_open_one),
		cmocka_unit_test(full_tables_cut_a_window_early),
		cmocka_unit_test(a_cut_is_followed_without_a_gap),
		cmocka_unit_test(a_cut_waits_for_the_boundary),
		cmocka_unit_test(what_is_older_than_the_first_window_is_not_in_the_second),
		cmocka_unit_test(samples_reach_the_journal_in_time),
		cmocka_unit_test(a_short_refusal_loses_nothing),
		cmocka_unit_test(a_long_refusal_is_in_the_ledger),
		cmocka_unit_test(a_refusal_across_boundaries_is_in_the_ledger),
		cmocka_unit_test(a_recording_that_starts_on_a_full_disk_has_its_gap),
		cmocka_unit_test(a_window_that_cannot_be_ended_is_left),
		cmocka_unit_test(an_end_that_is_not_durable_is_tried_again_alone),
		cmocka_unit_test(the_store_seals_what_was_recorded),
		cmocka_unit_test(a_kill_behind_a_boundary_leaves_no_gap_before_it),
		cmocka_unit_test(an_anchor_behind_the_first_window_does_not_stretch_it),
		cmocka_unit_test(a_counter_behind_a_boundary_does_not_stretch_the_window_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
