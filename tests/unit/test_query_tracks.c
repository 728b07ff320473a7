// SPDX-License-Identifier: Apache-2.0
#include "query/tracks.h"

#include "base/units.h"
#include "support_window.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define MS   CAM_NS_PER_MS
#define WALL (1776222847ll * 1000000000)

static struct fake_window *window(uint64_t start_s, unsigned seconds)
{
	struct fake_window *f = fake_window_new();
	fake_sample(f, start_s * NS, 0, fake_task(f, 7, 71, "kubelet"), fake_place(f, "main"));
	fake_task(f, 8, 81, "envoy");
	f->w.info.start_ns = start_s * NS;
	f->w.info.end_ns = (start_s + seconds) * NS;
	f->w.info.realtime_ns = WALL + (int64_t)(start_s * NS);
	f->w.info.sealed = true;
	return f;
}

static void add(struct fake_window *f, enum cam_counter_kind kind, uint32_t subject,
		uint64_t time_ns, uint64_t span_ns, uint64_t value)
{
	fake_add_counter(f, &(struct cam_counter){time_ns, span_ns, kind, subject, value});
}

static struct cam_source *source(struct fake_window **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fake_window_ready(v[i]);
	return fake_source_new(v, n);
}

static void near(float a, double b)
{
	if (!(a > b - 1e-4 && a < b + 1e-4))
		fail_msg("%f is not %f", (double)a, b);
}

/* Two CPUs: one in the kernel for half of second 1, the other idle; shares are of the machine, peaks one CPU's. */
static void test_shares_of_the_machine(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 4);
	struct cam_tracks t;
	for (unsigned s = 0; s < 4; s++) {
		uint64_t end = (101 + s) * NS;
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			bool hot = s == 1 && cpu == 1;
			/* As the recorder has it: zeros are left out, but for idle. */
			if (hot)
				add(f, CAM_COUNTER_SYSTEM, cpu, end, NS, 500 * MS);
			add(f, CAM_COUNTER_IDLE, cpu, end, NS, hot ? 500 * MS : NS);
		}
	}
	struct cam_source *s = source(&f, 1);
	assert_int_equal(cam_tracks_build(s, WALL + 100ll * (int64_t)NS, WALL + 104ll * (int64_t)NS,
					  2, NULL, &t),
			 0);
	assert_int_equal(t.step_ns, 2 * NS);
	near(t.by_kind[CAM_COUNTER_SYSTEM].mean[0], 0.125); /* half a second of four CPU-seconds */
	near(t.by_kind[CAM_COUNTER_SYSTEM].peak[0], 0.5);
	assert_int_equal(t.by_kind[CAM_COUNTER_SYSTEM].peak_who[0], 1);
	near(t.by_kind[CAM_COUNTER_SYSTEM].mean[1], 0);
	near(t.by_kind[CAM_COUNTER_SYSTEM].peak[1], 0);
	near(t.by_kind[CAM_COUNTER_IDLE].mean[0], 0.875);
	assert_null(t.by_kind[CAM_COUNTER_STEAL].mean);
	cam_tracks_free(&t);
	s->ops->close(s);
}

/* Bins shorter than a reading hold it whole; a reading across an edge counts on both sides as it lies. */
static void test_bins_of_any_length(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 3);
	struct cam_tracks t;
	add(f, CAM_COUNTER_SWITCHES, 0, 101500 * MS, NS, 4000);
	add(f, CAM_COUNTER_SWITCHES, 0, 102500 * MS, NS, 1000);
	add(f, CAM_COUNTER_RUNNABLE, 0, 101500 * MS, 0, 9);
	struct cam_source *s = source(&f, 1);
	assert_int_equal(cam_tracks_build(s, WALL + 100ll * (int64_t)NS, WALL + 103ll * (int64_t)NS,
					  12, NULL, &t),
			 0);
	const float *v = t.by_kind[CAM_COUNTER_SWITCHES].mean;
	assert_true(isnan(v[0]) && isnan(v[1]) && isnan(v[11]));
	near(v[2], 4000);
	near(v[5], 4000);
	near(v[6], 1000);
	near(t.by_kind[CAM_COUNTER_RUNNABLE].mean[3], 9);
	assert_true(isnan(t.by_kind[CAM_COUNTER_RUNNABLE].peak[7]));
	cam_tracks_free(&t);
	assert_int_equal(cam_tracks_build(s, WALL + 101ll * (int64_t)NS, WALL + 102ll * (int64_t)NS,
					  1, NULL, &t),
			 0);
	near(t.by_kind[CAM_COUNTER_SWITCHES].mean[0], 2500); /* half of each */
	near(t.by_kind[CAM_COUNTER_SWITCHES].peak[0], 4000);
	cam_tracks_free(&t);
	s->ops->close(s);
}

/* Threads' waits add up, over windows, too; the longest is named first. */
static void test_who_waited(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 2), window(102, 2)};
	struct cam_tracks t;
	for (unsigned i = 0; i < 4; i++) {
		struct fake_window *f = v[i / 2];
		uint64_t end = (101 + i) * NS;
		add(f, CAM_COUNTER_IDLE, 3, end, NS, 0);
		add(f, CAM_COUNTER_RUN_DELAY, 81, end, NS, 900 * MS);
		add(f, CAM_COUNTER_RUN_DELAY, 71, end, NS, 200 * MS);
		add(f, CAM_COUNTER_RUN_DELAY, 5, end, NS, 0); /* never waited: not named */
	}
	struct cam_source *s = source(v, 2);
	assert_int_equal(cam_tracks_build(s, WALL + 100ll * (int64_t)NS, WALL + 104ll * (int64_t)NS,
					  1, NULL, &t),
			 0);
	near(t.by_kind[CAM_COUNTER_RUN_DELAY].mean[0], 1.1);
	near(t.by_kind[CAM_COUNTER_RUN_DELAY].peak[0], 0.9);
	assert_int_equal(t.by_kind[CAM_COUNTER_RUN_DELAY].peak_who[0], 81);
	assert_int_equal(t.n_waiters, 2);
	assert_int_equal(t.waiters[0].tid, 81);
	assert_true(cam_text_equal(t.waiters[0].comm, CAM_TEXT("envoy")));
	assert_int_equal(t.waiters[0].waited_ns, 3600 * MS);
	assert_true(cam_text_equal(t.waiters[1].comm, CAM_TEXT("kubelet")));
	assert_int_equal(t.waiters[1].waited_ns, 800 * MS);
	cam_tracks_free(&t);
	s->ops->close(s);
}

/* Thousands of threads wait: the longest of all are told, with what they waited where others waited longer. */
static void test_many_waited(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 2), window(102, 2)};
	struct cam_tracks t;
	for (unsigned i = 0; i < 2; i++)
		add(v[i], CAM_COUNTER_IDLE, 3, (101 + 2 * i) * NS, NS, 0);
	for (unsigned i = 0; i < 3000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "t%u", i);
		fake_task(v[0], 1000, 1000 + (int32_t)i, name);
		fake_task(v[1], 1000, 1000 + (int32_t)i, name);
		/* In the second window in the other order: 7 is the longest, then one of the shortest. */
		add(v[0], CAM_COUNTER_RUN_DELAY, 1000 + i, 101 * NS, NS,
		    i == 7 ? 900 * MS : 1000 + i);
		add(v[1], CAM_COUNTER_RUN_DELAY, 1000 + i, 103 * NS, NS,
		    i == 7 ? 10 : (4000 - i) * 10000ull);
	}
	struct cam_source *s = source(v, 2);
	assert_int_equal(cam_tracks_build(s, WALL + 100ll * (int64_t)NS, WALL + 104ll * (int64_t)NS,
					  1, NULL, &t),
			 0);
	assert_int_equal(t.n_waiters, CAM_TRACK_WAITERS);
	assert_true(cam_text_equal(t.waiters[0].comm, CAM_TEXT("t7")));
	assert_int_equal(t.waiters[0].waited_ns, 900 * MS + 10);
	for (unsigned i = 1; i < CAM_TRACK_WAITERS; i++) {
		char name[16];
		snprintf(name, sizeof(name), "t%u", i - 1 + (i > 7));
		assert_true(cam_text_equal(t.waiters[i].comm, cam_text_of(name)));
		assert_int_equal(t.waiters[i].tid, 1000 + i - 1 + (i > 7));
	}
	cam_tracks_free(&t);
	s->ops->close(s);
}

/* A window that is not touched is not read; one without a wall clock, or with one that no clock shows, is counted. */
static void test_elsewhere(void **state)
{
	(void)state;
	struct fake_window *v[] = {window(100, 2), window(200, 2), window(300, 2)};
	struct cam_tracks t;
	add(v[0], CAM_COUNTER_SWITCHES, 0, 101 * NS, NS, 1);
	v[1]->w.info.realtime_ns = INT64_MIN;
	v[2]->w.info.realtime_ns = INT64_MAX - 5;
	struct cam_source *s = source(v, 3);
	assert_int_equal(cam_tracks_build(s, WALL + 300ll * (int64_t)NS, WALL + 304ll * (int64_t)NS,
					  4, NULL, &t),
			 0);
	assert_null(t.by_kind[CAM_COUNTER_SWITCHES].mean);
	assert_int_equal(t.unplaced, 2);
	assert_int_equal(t.n_waiters, 0);
	cam_tracks_free(&t);
	s->ops->close(s);
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
	struct fake_window *f = window(100, 2);
	const struct cam_progress impatient = {give_up, NULL};
	struct cam_tracks t;
	struct cam_source *s = source(&f, 1);
	assert_int_equal(cam_tracks_build(s, 5, 5, 1, NULL, &t), -EINVAL);
	assert_int_equal(cam_tracks_build(s, 0, 5, 6, NULL, &t), -EINVAL);
	assert_int_equal(cam_tracks_build(s, 0, 1 << 20, CAM_TRACKS_MAX_BINS + 1, NULL, &t),
			 -EINVAL);
	assert_int_equal(cam_tracks_build(s, WALL, WALL + 9ll * (int64_t)NS, 3, &impatient, &t),
			 -EINTR);
	for (unsigned k = 0; k < CAM_COUNTER_MAX; k++) {
		assert_int_not_equal(strlen(cam_track_key((enum cam_counter_kind)k)), 0);
		assert_true(k == CAM_COUNTER_GUESSED ||
			    cam_track_unit((enum cam_counter_kind)k) != CAM_TRACK_NONE);
	}
	s->ops->close(s);
}

static int lose_patience(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	return done < all ? -ETIMEDOUT : 0;
}

/* A file may hold millions of readings that are of all bins: who waits is asked before the window's end. */
static void test_readings_take_no_longer_than_is_waited(void **state)
{
	(void)state;
	struct fake_window *f = window(100, 4);
	const struct cam_progress patience = {lose_patience, NULL};
	struct cam_tracks t;
	for (unsigned i = 0; i < 300; i++)
		add(f, CAM_COUNTER_IDLE, 0, 104 * NS, 4 * NS, NS);
	struct cam_source *s = source(&f, 1);
	assert_int_equal(cam_tracks_build(s, WALL + 100ll * (int64_t)NS, WALL + 104ll * (int64_t)NS,
					  CAM_TRACKS_MAX_BINS, &patience, &t),
			 -ETIMEDOUT);
	s->ops->close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_of_the_machine),
		cmocka_unit_test(test_bins_of_any_length),
		cmocka_unit_test(test_who_waited),
		cmocka_unit_test(test_many_waited),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_readings_take_no_longer_than_is_waited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
