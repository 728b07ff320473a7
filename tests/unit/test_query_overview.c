// SPDX-License-Identifier: Apache-2.0
#include "query/overview.h"

#include "base/units.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define WALL (1776222847ll * 1000000000)

/* `seconds` of 2 CPUs at 10 samples a second: `busy` of the 20 due in second 3, 5 in the others. */
static struct fake_window *window(uint64_t start_s, unsigned seconds, unsigned busy)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "sh");
	f->w.info.start_ns = start_s * NS;
	f->w.info.end_ns = (start_s + seconds) * NS;
	f->w.info.realtime_ns = WALL + (int64_t)(start_s * NS);
	f->w.info.sealed = true;
	for (unsigned s = 0; s < seconds; s++) {
		unsigned n = s == 3 ? busy : 5;
		for (unsigned i = 0; i < n; i++)
			fake_sample(f, (start_s + s) * NS + i * (NS / 20), i % 2, task,
				    fake_place(f, "main"));
		struct cam_ledger_row idle = {CAM_CAUSE_IDLE, 0, (start_s + s) * NS,
					      (start_s + s + 1) * NS, 20 - n};
		if (idle.samples)
			fake_add_ledger(f, &idle);
	}
	return f;
}

static struct cam_source *source(struct fake_window **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fake_window_ready(v[i]);
	return fake_source_new(v, n);
}

static void near(float a, double b)
{
	if (a < b - 1e-4 || a > b + 1e-4)
		fail_msg("%f is not %f", (double)a, b);
}

static void test_means_and_peaks(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 20), window(110, 10, 5)};
	struct cam_source *s = source(v, 2);
	struct cam_overview o;
	assert_int_equal(cam_overview_build(s, WALL + 100ll * NS, WALL + 120ll * NS, 4, NULL, &o),
			 0);
	assert_int_equal(o.n, 4);
	assert_int_equal(o.step_ns, 5 * NS);
	near(o.busy[0], (4 * 5 + 20) / 100.0);
	near(o.peak[0], 1); /* one second of 20, in a bin of five */
	near(o.busy[1], 0.25);
	near(o.peak[1], 0.25);
	near(o.busy[3], 0.25);
	for (size_t i = 0; i < 4; i++)
		near(o.unseen[i], 0);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* A millionth of a second behind the last window is no second that nobody saw: pages ask for a little more than there is. */
static void test_a_rest_is_no_second(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 5)};
	struct cam_source *s = source(v, 1);
	struct cam_overview o;
	assert_int_equal(cam_overview_build(s, WALL + 100ll * NS, WALL + 110ll * NS + 1000, 20,
					    NULL, &o),
			 0);
	for (size_t i = 0; i < 20; i++)
		near(o.unseen[i], 0);
	near(o.busy[19], 0.25);
	cam_overview_free(&o);
	/* Of seconds that lie across those asked for the last one counts, too. */
	assert_int_equal(cam_overview_build(s, WALL + 100ll * NS + 600000000, WALL + 110ll * NS, 9,
					    NULL, &o),
			 0);
	near(o.unseen[8], 0);
	near(o.busy[8], 0.25);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* What no window covers, and what a ledger calls lost, is not idle. */
static void test_unobserved(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 5), window(120, 10, 5)};
	const struct cam_ledger_row lost = {CAM_CAUSE_DISK_FULL, 1, 104 * NS, 105 * NS, 20};
	struct cam_overview o;
	fake_add_ledger(v[0], &lost);
	v[1]->w.info.pinned = true;
	struct cam_source *s = source(v, 2);
	assert_int_equal(cam_overview_build(s, WALL + 100ll * NS, WALL + 130ll * NS, 30, NULL, &o),
			 0);
	near(o.unseen[3], 0);
	near(o.unseen[4], 0.5); /* 20 lost of 40 */
	near(o.busy[4], 0.25);	/* of what was observed */
	for (size_t i = 10; i < 20; i++) {
		near(o.unseen[i], 1);
		near(o.busy[i], 0);
	}
	for (size_t i = 0; i < 30; i++)
		assert_int_equal(o.pinned[i], i >= 20);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* An import has no ledger: its CPUs' rate is what was due, in seconds without samples, too. */
static void test_imported(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "sh");
	struct cam_overview o;
	f->w.info.start_ns = 7 * NS;
	f->w.info.end_ns = 11 * NS;
	f->w.info.realtime_ns = WALL;
	f->w.info.imported = true;
	f->w.info.sealed = true;
	for (unsigned i = 0; i < 97; i++)
		fake_sample(f, 8 * NS + i * (NS / 100), i % 2, task, fake_place(f, "main"));
	struct fake_window *v[] = {f};
	struct cam_source *s = source(v, 1);
	assert_int_equal(cam_overview_build(s, WALL, WALL + 4ll * NS, 4, NULL, &o), 0);
	near(o.busy[0], 0);
	near(o.unseen[0], 0);
	near(o.busy[1], 0.5); /* 97 of 2 CPUs at 97 Hz */
	near(o.unseen[3], 0);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* The second in which two imports meet is as busy as any other, however little of it one of them has. */
static void test_imported_meet(void **state)
{
	(void)state;
	struct fake_window *v[2];
	struct cam_overview o;
	for (unsigned k = 0; k < 2; k++) {
		struct fake_window *f = v[k] = fake_window_new();
		struct cam_task_id task = fake_task(f, 1, 1, "sh");
		/* 7 … 10.001, 10.001 … 13: half of 2 CPUs at 97 Hz */
		f->w.info.start_ns = k ? 10 * NS + NS / 1000 : 7 * NS;
		f->w.info.end_ns = k ? 13 * NS : 10 * NS + NS / 1000;
		f->w.info.realtime_ns = WALL + (int64_t)f->w.info.start_ns - 7ll * NS;
		f->w.info.imported = true;
		f->w.info.sealed = true;
		for (uint64_t t = 7 * NS; t < 13 * NS; t += NS / 97)
			if (t >= f->w.info.start_ns && t < f->w.info.end_ns)
				fake_sample(f, t, 0, task, fake_place(f, "main"));
		/* So that it has both. */
		fake_sample(f, f->w.info.start_ns, 1, task, fake_place(f, "main"));
	}
	struct cam_source *s = source(v, 2);
	assert_int_equal(cam_overview_build(s, WALL, WALL + 6ll * NS, 6, NULL, &o), 0);
	for (size_t i = 0; i < 6; i++) {
		assert_true(o.busy[i] > 0.47f && o.busy[i] < 0.53f);
		assert_true(o.peak[i] < 0.53f);
		near(o.unseen[i], 0);
	}
	cam_overview_free(&o);
	s->ops->close(s);
}

/* The newest seconds of a window that is still open are not called unobserved before their ledger is there. */
static void test_still_open(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 5)};
	struct cam_overview o;
	v[0]->w.info.sealed = false;
	v[0]->w.info.end_ns = 112 * NS;
	struct cam_source *s = source(v, 1);
	assert_int_equal(cam_overview_build(s, WALL + 98ll * NS, WALL + 112ll * NS, 14, NULL, &o),
			 0);
	near(o.unseen[0], 1);
	near(o.unseen[5], 0);
	near(o.unseen[12], 0);
	near(o.unseen[13], 0);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* One that a killed recorder left behind unsealed is not the newest once another follows: gaps are gaps. */
static void test_left_open(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 5), window(120, 10, 5)};
	struct cam_overview o;
	v[0]->w.info.sealed = false;
	struct cam_source *s = source(v, 2);
	assert_int_equal(cam_overview_build(s, WALL + 100ll * NS, WALL + 140ll * NS, 40, NULL, &o),
			 0);
	for (size_t i = 0; i < 40; i++)
		near(o.unseen[i], (i >= 10 && i < 20) || i >= 30);
	cam_overview_free(&o);
	s->ops->close(s);
}

/* Times of a damaged or crafted header: no clock shows them, and nothing is drawn for them. */
static void test_times_that_cannot_be(void **state)
{
	(void)state;
	static const struct {
		int64_t realtime_ns;
		uint64_t start_ns, end_ns;
	} bad[] = {
		{INT64_MAX - 5, 0, 100},
		{WALL, 0, UINT64_MAX},
		{WALL, UINT64_MAX - 5, UINT64_MAX},
		{INT64_MIN + 1, 0, INT64_MAX},
		{-5, 0, 100},
		{WALL, 200, 100},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fake_window *v[] = {window(100, 10, 5), window(110, 10, 5)};
		struct cam_overview o;
		struct cam_source *s = source(v, 2);
		v[0]->w.info.realtime_ns = bad[i].realtime_ns;
		v[0]->w.info.start_ns = bad[i].start_ns;
		v[0]->w.info.end_ns = bad[i].end_ns;
		v[0]->w.info.pinned = true;
		assert_int_equal(cam_overview_build(s, WALL + 100ll * NS, WALL + 120ll * NS, 20,
						    NULL, &o),
				 0);
		assert_int_equal(o.unplaced, 1);
		for (size_t b = 0; b < 20; b++) {
			near(o.unseen[b], b < 10);
			assert_int_equal(o.pinned[b], 0);
		}
		cam_overview_free(&o);
		s->ops->close(s);
	}
}

static int give_up(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	(void)all;
	return done == 1 ? -EINTR : 0;
}

static void test_refusals(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 10, 5)};
	struct cam_source *s = source(v, 1);
	const struct cam_progress impatient = {give_up, NULL};
	struct cam_overview o;
	assert_int_equal(cam_overview_build(s, WALL, WALL, 4, NULL, &o), -EINVAL);
	assert_int_equal(cam_overview_build(s, WALL, WALL + 1, 0, NULL, &o), -EINVAL);
	assert_int_equal(cam_overview_build(s, -5, WALL, 4, NULL, &o), -EINVAL);
	assert_int_equal(cam_overview_build(s, WALL, WALL + 1, 4097, NULL, &o), -EINVAL);
	assert_int_equal(cam_overview_build(s, WALL, WALL + 200ll * NS, 4, &impatient, &o), -EINTR);
	/* Thirty years in 10 bins: no memory for each second, and no overflow. */
	assert_int_equal(cam_overview_build(s, WALL, WALL + 946080000ll * 1000000000, 10, NULL, &o),
			 0);
	near(o.unseen[9], 1);
	cam_overview_free(&o);
	s->ops->close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_means_and_peaks), cmocka_unit_test(test_a_rest_is_no_second),
		cmocka_unit_test(test_unobserved),	cmocka_unit_test(test_imported),
		cmocka_unit_test(test_imported_meet),	cmocka_unit_test(test_still_open),
		cmocka_unit_test(test_left_open),	cmocka_unit_test(test_times_that_cannot_be),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
