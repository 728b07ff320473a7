// SPDX-License-Identifier: Apache-2.0
#include "query/heatmap.h"

#include "base/units.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEC CAM_NS_PER_SEC
#define MS  CAM_NS_PER_MS
#define DAY (1000 * 86400 * (int64_t)SEC) /* some day, at midnight */

static const struct cam_heatmap_options cores = {.mode = CAM_HEAT_CORES, .step_ns = SEC};

static struct cam_heatmap build(struct cam_source *source, const struct cam_selection *given,
				const struct cam_heatmap_options *o)
{
	struct cam_selection all;
	struct cam_heatmap h;
	cam_selection_init(&all);
	assert_int_equal(cam_heatmap_build(source, given ? given : &all, o, &h), 0);
	uint64_t in_cells = 0, painted = 0;
	for (size_t i = 0; i < (size_t)h.n_rows * h.n_columns; i++) {
		in_cells += h.cells[i].samples;
		painted += h.cells[i].painted;
		assert_true(h.cells[i].peak <= h.cells[i].samples);
		assert_true(h.cells[i].painted <= h.cells[i].samples);
		assert_true(h.cells[i].peak <= h.max_peak);
	}
	assert_int_equal(in_cells + h.outside, h.seen.samples);
	assert_int_equal(painted, h.painted);
	cam_selection_free(&all);
	return h;
}

static struct cam_source *one(struct fake_window *f)
{
	fake_window_ready(f);
	return fake_source_new(&f, 1);
}

static uint32_t samples_at(const struct cam_heatmap *h, uint32_t column, uint32_t row)
{
	assert_true(column < h->n_columns && row < h->n_rows);
	return cam_heatmap_cell(h, column, row)->samples;
}

/* Windows without wall clock: columns are seconds of their own clock, as in FlameScope. */
static void test_subsecond_by_hand(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	struct cam_place_id place = fake_place(f, "main");
	fake_sample(f, 5 * SEC + 999 * MS, 0, task, place);
	fake_sample(f, 6 * SEC, 0, task, place);
	fake_sample(f, 6 * SEC, 1, task, place);
	fake_sample(f, 6 * SEC + 100 * MS, 1, task, place);
	fake_sample(f, 8 * SEC + 50 * MS, 1, task, place);
	struct cam_source *source = one(f);
	struct cam_heatmap_options o = {.rows = 10};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_false(h.wall);
	assert_int_equal(h.from_ns, 5 * SEC);
	assert_int_equal(h.n_columns, 4);
	assert_int_equal(h.n_rows, 10);
	assert_int_equal(samples_at(&h, 0, 9), 1);
	assert_int_equal(samples_at(&h, 1, 0), 2);
	assert_int_equal(samples_at(&h, 1, 1), 1);
	assert_int_equal(samples_at(&h, 3, 0), 1);
	/* From the first sample to the last was observed; before and after it nothing was. */
	assert_int_equal(cam_heatmap_cell(&h, 0, 5)->seen, 0);
	assert_int_equal(cam_heatmap_cell(&h, 2, 5)->seen, CAM_HEAT_ALL_SEEN);
	assert_true(cam_heatmap_cell(&h, 3, 0)->seen > 120);
	assert_int_equal(cam_heatmap_cell(&h, 3, 1)->seen, 0);
	cam_heatmap_free(&h);
	source->ops->close(source);
}

/* Twelve hours in windows of two minutes, and 20 ms in which four CPUs were busy. */
static void test_a_spike_in_12_hours(void **state)
{
	(void)state;
	struct fake_window *windows[360];
	for (unsigned i = 0; i < 360; i++) {
		struct fake_window *f = windows[i] = fake_window_new();
		struct cam_task_id task = fake_task(f, 7, 7, "sh");
		struct cam_place_id place = fake_place(f, "main");
		uint64_t start = i * 120 * SEC;
		f->w.info.start_ns = start;
		f->w.info.end_ns = start + 120 * SEC;
		for (unsigned k = 0; k < 120; k++)
			fake_sample(f, start + k * SEC + k * 37 % 50 * 20 * MS, 0, task, place);
		for (unsigned k = 0; k < 9 && i == 200; k++)
			fake_sample(f, start + 61 * SEC + 404 * MS + k % 4 * MS, k % 4, task,
				    place);
		fake_window_ready(f);
	}
	struct cam_source *source = fake_source_new(windows, 360);
	struct cam_heatmap_options o = {.max_columns = 250};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_int_equal(h.n_columns, 144);
	assert_int_equal(h.column_ns, 300 * SEC);
	assert_int_equal(h.fine_ns, SEC);
	uint32_t column = (200 * 120 + 61) / 300, others = 0;
	assert_int_equal(h.max_peak, 9 + (61 * 37 % 50 == 20));
	assert_int_equal(cam_heatmap_cell(&h, column, 20)->peak, h.max_peak);
	for (uint32_t row = 0; row < h.n_rows; row++) {
		for (uint32_t c = 0; c < h.n_columns; c++) {
			const struct cam_heat_cell *cell = cam_heatmap_cell(&h, c, row);
			assert_int_equal(cell->seen, CAM_HEAT_ALL_SEEN);
			others = (c != column || row != 20) && cell->peak > others ? cell->peak
										   : others;
		}
	}
	assert_int_equal(others, 1);
	cam_heatmap_free(&h);
	source->ops->close(source);
}

static void check_same(const struct cam_heatmap *a, const struct cam_heatmap *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_columns, b->n_columns);
	assert_int_equal(a->from_ns, b->from_ns);
	assert_memory_equal(a->cpus, b->cpus, a->n_rows * sizeof(*a->cpus));
	for (size_t i = 0; i < (size_t)a->n_rows * a->n_columns; i++) {
		assert_int_equal(a->cells[i].samples, b->cells[i].samples);
		assert_int_equal(a->cells[i].peak, b->cells[i].peak);
		assert_int_equal(a->cells[i].seen, b->cells[i].seen);
	}
}

/* Footers and samples give the same cells, also where the wall clock is part of a second off. */
static void test_footers_say_the_same(void **state)
{
	(void)state;
	for (unsigned step = 1; step <= 7; step += 6) {
		struct fake_window *f = fake_window_new();
		struct cam_task_id task = fake_task(f, 7, 7, "sh");
		struct cam_place_id place = fake_place(f, "main");
		fake_add_anchor(f, &(struct cam_anchor){.time_ns = 100 * SEC,
							.realtime_ns = DAY + 333 * MS});
		for (unsigned i = 0; i < 3000; i++)
			fake_sample(f, 100 * SEC + i * 7 * MS, i * i % 5 * 3, task, place);
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 3, 104 * SEC,
							    105 * SEC, 40});
		struct cam_source *source = one(f);
		struct cam_selection every;
		char why[64];
		cam_selection_init(&every);
		/* A filter that takes everything, yet needs the samples. */
		cam_selection_add(&every, CAM_FILTER_MATCH, CAM_TEXT("main"), why, sizeof(why));
		struct cam_heatmap_options o = {.mode = CAM_HEAT_CORES, .step_ns = step * SEC};
		struct cam_heatmap footer = build(source, NULL, &o);
		assert_int_equal(f->samples_calls, 0);
		struct cam_heatmap samples = build(source, &every, &o);
		assert_true(f->samples_calls > 0);
		assert_true(footer.wall);
		check_same(&footer, &samples);
		assert_int_equal(footer.n_rows, 3);
		assert_int_equal(footer.cpus[0], 0);
		assert_int_equal(footer.cpus[1], 3);
		assert_int_equal(footer.cpus[2], 12);
		cam_heatmap_free(&footer);
		cam_heatmap_free(&samples);
		cam_selection_free(&every);
		source->ops->close(source);
	}
}

/* Where the wall clock is known, a second is one of the wall clock. */
static void test_wall_seconds(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	fake_add_anchor(f,
			&(struct cam_anchor){.time_ns = 10 * SEC, .realtime_ns = DAY + 700 * MS});
	fake_sample(f, 10 * SEC, 0, task, fake_place(f, "main"));
	fake_sample(f, 10 * SEC + 300 * MS, 0, task, fake_place(f, "main"));
	struct cam_source *source = one(f);
	struct cam_heatmap_options o = {.rows = 10};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_true(h.wall);
	assert_int_equal(h.from_ns, DAY);
	assert_int_equal(samples_at(&h, 0, 7), 1);
	assert_int_equal(samples_at(&h, 1, 0), 1);
	cam_heatmap_free(&h);
	source->ops->close(source);
}

static struct fake_window *window_at(uint64_t from_s, uint64_t to_s)
{
	struct fake_window *f = fake_window_new();
	f->w.info.start_ns = from_s * SEC;
	f->w.info.end_ns = to_s * SEC;
	f->w.info.sealed = true;
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	for (uint64_t t = from_s; t < to_s; t++)
		fake_sample(f, t * SEC, t % 2, task, fake_place(f, "main"));
	fake_window_ready(f);
	return f;
}

/* A dead recorder, a lost second of one CPU, an idle one: only the last is empty and observed. */
static void test_unobserved_is_not_idle(void **state)
{
	(void)state;
	struct fake_window *windows[3] = {window_at(0, 10), window_at(20, 30), window_at(33, 34)};
	windows[0]->w.info.clean_end = false;
	struct cam_ledger_row idle = {CAM_CAUSE_IDLE, 0, 3 * SEC, 4 * SEC, 97};
	struct cam_ledger_row lost = {CAM_CAUSE_LOST_RING, 0, 5 * SEC, 6 * SEC, 97};
	fake_add_ledger(windows[0], &idle);
	fake_add_ledger(windows[0], &lost);
	fake_window_ready(windows[0]);
	struct cam_source *source = fake_source_new(windows, 3);
	struct cam_heatmap h = build(source, NULL, &cores);
	assert_int_equal(h.n_columns, 34);
	assert_int_equal(h.n_rows, 2);
	assert_int_equal(cam_heatmap_cell(&h, 3, 0)->seen, CAM_HEAT_ALL_SEEN);
	assert_true(cam_heatmap_unseen(cam_heatmap_cell(&h, 5, 0)));
	assert_false(cam_heatmap_unseen(cam_heatmap_cell(&h, 5, 1)));
	assert_int_equal(h.causes[5], 1u << CAM_CAUSE_LOST_RING);
	assert_int_equal(h.causes[3], 0);
	for (uint32_t c = 10; c < 20; c++) {
		assert_int_equal(cam_heatmap_cell(&h, c, 0)->seen, 0);
		assert_int_equal(cam_heatmap_cell(&h, c, 1)->seen, 0);
		assert_int_equal(h.causes[c], 1u << CAM_CAUSE_RECORDER_DEAD);
	}
	assert_int_equal(h.causes[31], 1u << CAM_CAUSE_NOT_RECORDING);
	assert_int_equal(h.seen.gap_ns, 13 * SEC);
	cam_heatmap_free(&h);
	/* In the other mode half of the CPU time of second 5 is missing from every row of it. */
	struct cam_heatmap_options o = {.rows = 10};
	h = build(source, NULL, &o);
	for (uint32_t row = 0; row < 10; row++) {
		assert_in_range(cam_heatmap_cell(&h, 5, row)->seen, 120, 135);
		assert_int_equal(cam_heatmap_cell(&h, 4, row)->seen, CAM_HEAT_ALL_SEEN);
		assert_int_equal(cam_heatmap_cell(&h, 15, row)->seen, 0);
	}
	cam_heatmap_free(&h);
	source->ops->close(source);
}

static void test_paint_and_filters(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id a = fake_task(f, 7, 7, "sh"), b = fake_task(f, 8, 8, "cc1");
	for (unsigned i = 0; i < 10; i++) {
		fake_sample(f, SEC + i * MS, 0, a, fake_place(f, i < 3 ? "main;lock" : "main"));
		fake_sample(f, SEC + i * MS, 1, b, fake_place(f, "main;lock"));
	}
	struct cam_source *source = one(f);
	struct cam_selection paint, only;
	char why[64];
	cam_selection_init(&paint);
	cam_selection_init(&only);
	cam_selection_add(&paint, CAM_FILTER_MATCH, CAM_TEXT("^lock$"), why, sizeof(why));
	cam_selection_add(&only, CAM_FILTER_PID, CAM_TEXT("7"), why, sizeof(why));
	struct cam_heatmap_options o = {.rows = 10, .paint = &paint};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_true(h.has_paint);
	assert_int_equal(samples_at(&h, 0, 0), 20);
	assert_int_equal(cam_heatmap_cell(&h, 0, 0)->painted, 13);
	cam_heatmap_free(&h);
	h = build(source, &only, &o);
	assert_int_equal(samples_at(&h, 0, 0), 10);
	assert_int_equal(cam_heatmap_cell(&h, 0, 0)->painted, 3);
	cam_heatmap_free(&h);
	cam_selection_free(&paint);
	cam_selection_free(&only);
	source->ops->close(source);
}

/* A range that was asked for is shown whole, also where nothing is; not if it is mostly that. */
static void test_asked_range(void **state)
{
	(void)state;
	struct fake_window *f = window_at(100, 110);
	struct cam_source *source = fake_source_new(&f, 1);
	struct cam_selection s;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = 105 * SEC;
	s.to_ns = 120 * SEC;
	struct cam_heatmap_options o = {.rows = 10};
	struct cam_heatmap h = build(source, &s, &o);
	assert_int_equal(h.from_ns, 105 * SEC);
	assert_int_equal(h.n_columns, 15);
	assert_int_equal(h.seen.samples, 5);
	assert_int_equal(cam_heatmap_cell(&h, 12, 3)->seen, 0);
	cam_heatmap_free(&h);
	s.to_ns = 100000 * SEC;
	h = build(source, &s, &o);
	assert_int_equal(h.n_columns, 5);
	cam_heatmap_free(&h);
	s.from_ns = 500 * SEC;
	assert_int_equal(cam_heatmap_build(source, &s, &o, &h), -ENODATA);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* Two samples 30 years apart: neither memory nor time follow the span. */
static void test_far_apart(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	fake_sample(f, 5 * SEC, 0, task, fake_place(f, "main"));
	fake_sample(f, 1000000005 * SEC, 70000, task, fake_place(f, "main"));
	struct cam_source *source = one(f);
	struct cam_heatmap_options o = {.max_columns = 100};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_true(h.n_columns <= 100);
	assert_int_equal(h.max_peak, 1);
	cam_heatmap_free(&h);
	struct cam_selection all;
	cam_selection_init(&all);
	/* No step that small, and no CPU of that number. */
	assert_int_equal(cam_heatmap_build(source, &all, &cores, &h), -E2BIG);
	o = (struct cam_heatmap_options){.mode = CAM_HEAT_CORES, .max_columns = 100};
	assert_int_equal(cam_heatmap_build(source, &all, &o, &h), -E2BIG);
	o = (struct cam_heatmap_options){.rows = 9};
	assert_int_equal(cam_heatmap_build(source, &all, &o, &h), -EINVAL);
	o = (struct cam_heatmap_options){.rows = 101};
	assert_int_equal(cam_heatmap_build(source, &all, &o, &h), -EINVAL);
	cam_selection_free(&all);
	source->ops->close(source);
}

static void test_no_times(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	f->w.info.clock = CAM_CLOCK_ABSENT;
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	fake_sample(f, CAM_TIME_NONE, 0, task, fake_place(f, "main"));
	struct cam_source *source = one(f);
	struct cam_selection all;
	struct cam_heatmap h;
	struct cam_heatmap_options o = {0};
	cam_selection_init(&all);
	assert_int_equal(cam_heatmap_build(source, &all, &o, &h), -EDOM);
	cam_selection_free(&all);
	source->ops->close(source);
}

/* Seconds cut by the end of a window are one second: a peak is counted over both. */
static void test_peak_across_windows(void **state)
{
	(void)state;
	struct fake_window *windows[2];
	for (unsigned i = 0; i < 2; i++) {
		struct fake_window *f = windows[i] = fake_window_new();
		struct cam_task_id task = fake_task(f, 7, 7, "sh");
		f->w.info.start_ns = i ? 60 * SEC + 510 * MS : 0;
		f->w.info.end_ns = i ? 120 * SEC : 60 * SEC + 510 * MS;
		for (unsigned k = 0; k < 4; k++)
			fake_sample(f, 60 * SEC + (i ? 512 : 502) * MS + k, 0, task,
				    fake_place(f, "main"));
		fake_window_ready(f);
	}
	struct cam_source *source = fake_source_new(windows, 2);
	struct cam_heatmap_options o = {.max_columns = 10};
	struct cam_heatmap h = build(source, NULL, &o);
	assert_true(h.column_ns > SEC);
	assert_int_equal(h.max_peak, 8);
	cam_heatmap_free(&h);
	source->ops->close(source);
}

static int lose_patience(void *arg, uint64_t done, uint64_t all)
{
	unsigned *tells = arg;
	(void)done;
	(void)all;
	return ++*tells > 4 ? -ETIMEDOUT : 0;
}

/* A file may hold a million losses as long as all of it, each of which takes all cells: who waits is asked meanwhile. */
static void test_losses_take_no_longer_than_is_waited(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	fake_sample(f, 5 * SEC, 0, fake_task(f, 7, 7, "sh"), fake_place(f, "main"));
	f->w.info.start_ns = 0;
	f->w.info.end_ns = 1000 * SEC;
	for (unsigned i = 0; i < 1000; i++)
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 0, 0, 1000 * SEC,
							    97});
	struct cam_source *source = one(f);
	unsigned tells = 0;
	const struct cam_progress patience = {lose_patience, &tells};
	const struct cam_heatmap_options o = {
		.rows = 100, .max_columns = 1024, .progress = &patience};
	struct cam_selection all;
	struct cam_heatmap h;
	cam_selection_init(&all);
	assert_int_equal(cam_heatmap_build(source, &all, &o, &h), -ETIMEDOUT);
	cam_selection_free(&all);
	source->ops->close(source);
}

/* Two minutes at 400 Hz on two CPUs, a fiftieth of a second of which is fuller than any, and a second that was lost. */
static struct fake_window *with_slots(bool has)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	struct cam_place_id place = fake_place(f, "main");
	f->w.info.start_ns = 1000 * SEC;
	f->w.info.end_ns = 1120 * SEC;
	f->w.info.realtime_ns = DAY;
	f->w.info.cpus = 2;
	f->w.info.has_slots = has;
	for (unsigned i = 0; i < 120 * 400; i++) {
		uint64_t at = 1000 * SEC + i * 2500000ull;
		fake_sample(f, at, i % 2, task, place);
		if (at >= 1070 * SEC + 420 * MS && at < 1070 * SEC + 440 * MS)
			for (unsigned k = 0; k < 5; k++)
				fake_sample(f, at + k * 1000, 1, task, place);
	}
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_RING, CAM_CPU_NONE, 1030 * SEC,
						    1031 * SEC, 97 * 2});
	/* Of each CPU by itself; the second of them lies across others. */
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_THROTTLED, cpu, 1050 * SEC,
							    1051 * SEC, 40 + 20 * cpu});
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_LOST_QUEUE, cpu,
							    1090 * SEC + 300 * MS,
							    1092 * SEC + 100 * MS, 60});
	}
	return f;
}

/* From footers as from samples, where columns are several seconds; and from these where a footer cannot say it. */
static void hours_by_parts_of_a_second_take_no_sample(void **state)
{
	(void)state;
	struct cam_selection one_cpu;
	char why[64];
	cam_selection_init(&one_cpu);
	assert_int_equal(
		cam_selection_add(&one_cpu, CAM_FILTER_CPU, cam_text_of("1"), why, sizeof(why)), 0);
	for (unsigned i = 0; i < 7; i++) {
		const struct cam_heatmap_options o = {.max_columns = i == 3 ? 500 : 13,
						      .rows = i == 1   ? 25
							      : i == 2 ? 49
								       : 50};
		struct fake_window *f = with_slots(i != 4), *g = with_slots(false);
		f->w.info.imported = i == 5;
		struct cam_source *source = one(f), *plain = one(g);
		const struct cam_selection *s = i == 6 ? &one_cpu : NULL;
		struct cam_heatmap h = build(source, s, &o), want = build(plain, s, &o);
		assert_int_equal(f->samples_calls > 0, i >= 2);
		assert_true(g->samples_calls > 0);
		assert_int_equal(h.n_columns, want.n_columns);
		assert_int_equal(h.max_peak, want.max_peak);
		assert_int_equal(h.seen.lost, want.seen.lost);
		assert_int_equal(h.period_ns, want.period_ns);
		assert_memory_equal(h.cells, want.cells,
				    (size_t)h.n_rows * h.n_columns * sizeof(*h.cells));
		assert_memory_equal(h.causes, want.causes, h.n_columns * sizeof(*h.causes));
		cam_heatmap_free(&h);
		cam_heatmap_free(&want);
		source->ops->close(source);
		plain->ops->close(plain);
	}
	cam_selection_free(&one_cpu);
}

/* By its names a window can be told to have nothing of what is asked for: then none of its samples is read, and its sums hold. */
static void what_no_name_matches_takes_no_sample(void **state)
{
	(void)state;
	static const struct {
		enum cam_filter filter;
		const char *value;
		bool paint, reads;
	} cases[] = {{CAM_FILTER_MATCH, "nothing_like_it", true, false},
		     {CAM_FILTER_MATCH, "^main$", true, true},
		     {CAM_FILTER_MATCH, "^sh$", true, true},
		     {CAM_FILTER_MATCH, "nothing_like_it", false, false},
		     {CAM_FILTER_MATCH, "^sh$", false, true},
		     {CAM_FILTER_COMM, "nobody", false, false},
		     {CAM_FILTER_COMM, "s*", false, true}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (enum cam_heat_mode mode = CAM_HEAT_SUBSECOND; mode <= CAM_HEAT_CORES; mode++) {
			struct cam_selection filter;
			char why[64];
			cam_selection_init(&filter);
			assert_int_equal(cam_selection_add(&filter, cases[i].filter,
							   cam_text_of(cases[i].value), why,
							   sizeof(why)),
					 0);
			struct cam_heatmap_options o = {.mode = mode,
							.max_columns = 13,
							.paint = cases[i].paint ? &filter : NULL};
			struct fake_window *f = with_slots(true), *g = with_slots(true);
			struct cam_source *source = one(f), *other = one(g);
			struct cam_heatmap h = build(source, cases[i].paint ? NULL : &filter, &o);
			struct cam_heatmap all = build(
				other, NULL,
				&(struct cam_heatmap_options){.mode = mode, .max_columns = 13});
			assert_int_equal(f->samples_calls > 0, cases[i].reads);
			bool taken = cases[i].paint || cases[i].reads;
			assert_int_equal(h.seen.samples, taken ? all.seen.samples : 0);
			assert_int_equal(h.painted,
					 cases[i].paint && cases[i].reads ? all.seen.samples : 0);
			assert_int_equal(h.max_peak, taken ? all.max_peak : 0);
			cam_heatmap_free(&h);
			cam_heatmap_free(&all);
			source->ops->close(source);
			other->ops->close(other);
			cam_selection_free(&filter);
		}
	}
}

/* What all CPUs had by 20 ms stands beside their rows: from footers as from samples; of one that has no such sums nobody knows. */
static void the_busiest_moment_is_beside_the_cores(void **state)
{
	(void)state;
	const struct cam_heatmap_options o = {
		.mode = CAM_HEAT_CORES, .max_columns = 13, .busiest = true};
	struct fake_window *f = with_slots(true), *g = with_slots(true), *none = with_slots(false);
	g->w.info.imported = true; /* so its samples are read */
	struct cam_source *source = one(f), *plain = one(g), *unknown = one(none);
	struct cam_heatmap h = build(source, NULL, &o), want = build(plain, NULL, &o);
	struct cam_heatmap dark = build(unknown, NULL, &o);
	assert_int_equal(f->samples_calls, 0);
	assert_true(g->samples_calls > 0);
	assert_int_equal(h.column_ns, 15 * SEC);
	for (uint32_t c = 0; c < h.n_columns; c++) {
		assert_int_equal(h.busiest[c], want.busiest[c]);
		assert_int_equal(h.busiest[c], c == 4 ? 8 * 6 : 8);
		assert_int_equal(dark.busiest[c], CAM_HEAT_UNKNOWN);
	}
	cam_heatmap_free(&h);
	cam_heatmap_free(&want);
	cam_heatmap_free(&dark);
	const struct cam_heatmap_options fine = {
		.mode = CAM_HEAT_CORES, .max_columns = 2000, .busiest = true};
	h = build(source, NULL, &fine);
	assert_null(h.busiest);
	cam_heatmap_free(&h);
	source->ops->close(source);
	plain->ops->close(plain);
	unknown->ops->close(unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subsecond_by_hand),
		cmocka_unit_test(test_a_spike_in_12_hours),
		cmocka_unit_test(test_footers_say_the_same),
		cmocka_unit_test(test_wall_seconds),
		cmocka_unit_test(test_unobserved_is_not_idle),
		cmocka_unit_test(test_losses_take_no_longer_than_is_waited),
		cmocka_unit_test(test_paint_and_filters),
		cmocka_unit_test(test_asked_range),
		cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_peak_across_windows),
		cmocka_unit_test(hours_by_parts_of_a_second_take_no_sample),
		cmocka_unit_test(the_busiest_moment_is_beside_the_cores),
		cmocka_unit_test(what_no_name_matches_takes_no_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
