// SPDX-License-Identifier: Apache-2.0
/* Mapping between clocks: by what the words mean, tried on every stamp of small random clocks. */
#include "model/anchor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define S 1000000000ll

static uint64_t next_random(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % below;
}

static struct cam_anchor at(uint64_t time, int64_t wall, uint64_t sched)
{
	return (struct cam_anchor){time, time, time, sched, wall, 7};
}

static void the_documented_example_holds(void **state)
{
	(void)state;
	struct cam_anchor a[] = {at(100, 1000, 0), at(200, 1100, 0), at(200, 1040, 0)};
	struct cam_placed first, last;
	assert_true(cam_anchor_place_wall(a, 3, 1050, &first, &last));
	assert_int_equal(first.time_ns, 150);
	assert_int_equal(last.time_ns, 210);
	assert_int_equal(first.uncertainty_ns, 7);
	assert_true(cam_anchor_place_wall(a, 3, 1200, &first, &last));
	assert_int_equal(first.time_ns, 360);
	assert_int_equal(last.time_ns, 360);
	a[2].realtime_ns = 1500;
	assert_true(cam_anchor_place_wall(a, 3, 1300, &first, &last));
	assert_int_equal(first.time_ns, 200);
	assert_int_equal(last.time_ns, 200);
	assert_true(cam_anchor_place_wall(a, 3, 950, &first, &last));
	assert_int_equal(first.time_ns, 50);
	assert_int_equal(last.time_ns, 50);
}

/* What the wall showed at each time, by the anchors; then every wall time is looked up. */
static void every_wall_time_of_a_stepping_clock(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (unsigned round = 0; round < 2000; round++) {
		enum { END = 60, WALLS = 400 };
		struct cam_anchor a[6];
		size_t n = 1 + next_random(&seed, 6);
		uint64_t t = 1 + next_random(&seed, 8);
		for (size_t i = 0; i < n; i++, t += 1 + next_random(&seed, 9))
			a[i] = at(t, 150 + (int64_t)next_random(&seed, 100), 0);
		int64_t shown[END];
		for (uint64_t x = 0; x < END; x++) {
			size_t i = 0;
			while (i + 1 < n && a[i + 1].time_ns <= x)
				i++;
			shown[x] = a[i].realtime_ns + (int64_t)x - (int64_t)a[i].time_ns;
			int64_t wall;
			uint64_t off;
			assert_true(cam_anchor_wall_of(a, n, x, &wall, &off));
			assert_int_equal(wall, shown[x]);
		}
		struct cam_placed first = {0}, last = {0}, f, l;
		for (int64_t wall = 0; wall < WALLS; wall++) {
			assert_true(cam_anchor_place_wall(a, n, wall, &f, &l));
			assert_true(f.time_ns >= first.time_ns);
			assert_true(l.time_ns >= last.time_ns);
			first = f;
			last = l;
			uint64_t least = 0, most = END;
			while (least < END && shown[least] < wall)
				least++;
			while (most > 0 && shown[most - 1] > wall)
				most--;
			if (least < END)
				assert_int_equal(f.time_ns, least);
			/* A stretch is open at its end: it holds just before the step. */
			if (most > 0 && most < END)
				assert_true(l.time_ns == most - 1 ||
					    (l.time_ns == most && shown[most - 1] < wall));
		}
	}
}

static void steps_of_years(void **state)
{
	(void)state;
	static const int64_t steps[] = {
		S, -S, 3600 * S, -3600 * S, 86400 * 3653 * S, -86400 * 3653 * S};
	/* 1970, now, 2038 and 2106. */
	static const int64_t starts[] = {5 * S, 1794717264 * S, 2147483640 * S, 4294967290 * S};
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (unsigned k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			uint64_t t = 5000 * (uint64_t)S;
			int64_t wall = starts[i];
			struct cam_anchor a[] = {at(t, wall, 0), at(t + S, wall + S, 0),
						 at(t + S, wall + S + steps[k], 0),
						 at(t + 2 * S, wall + 2 * S + steps[k], 0)};
			struct cam_placed first, last;
			assert_true(cam_anchor_place_wall(a, 4, wall + S / 2, &first, &last));
			assert_true(first.time_ns == t + S / 2 || last.time_ns == t + S / 2);
			int64_t after = wall + 3 * S / 2 + steps[k];
			assert_true(cam_anchor_place_wall(a, 4, after, &first, &last));
			assert_true(first.time_ns == t + 3 * S / 2 ||
				    last.time_ns == t + 3 * S / 2);
			assert_true(first.time_ns <= last.time_ns || steps[k] > 0);
		}
	}
	/* The ends of what can be said. */
	struct cam_anchor edge[] = {at(0, INT64_MAX, 0), at(CAM_TIME_NONE - 1, INT64_MIN + 1, 0)};
	struct cam_placed first, last;
	assert_true(cam_anchor_place_wall(edge, 2, INT64_MAX, &first, &last));
	assert_true(cam_anchor_place_wall(edge, 2, INT64_MIN, &first, &last));
	int64_t wall;
	uint64_t off;
	assert_true(cam_anchor_wall_of(edge, 2, CAM_TIME_NONE - 2, &wall, &off));
	assert_int_equal(wall, INT64_MAX);
}

/* The kernel log's clock: other by a constant and drifting at up to 500 ppm, now faster, now slower. */
static void the_kernel_logs_clock_drifts(void **state)
{
	(void)state;
	uint64_t seed = 99;
	for (unsigned round = 0; round < 200; round++) {
		struct cam_anchor a[30];
		uint64_t t = 1000 * (uint64_t)S, s = t + next_random(&seed, 2000000);
		int64_t ppm[30];
		for (unsigned i = 0; i < 30; i++) {
			a[i] = at(t, 0, s);
			ppm[i] = (int64_t)next_random(&seed, 1001) - 500;
			t += (uint64_t)S;
			s += (uint64_t)(S + ppm[i] * 1000);
		}
		/* Not read once: that stretch is twice as long. */
		a[10].sched_ns = CAM_TIME_NONE;
		uint64_t before = 0;
		for (unsigned i = 0; i < 29; i++) {
			uint64_t into = next_random(&seed, (uint64_t)S);
			uint64_t base = i == 10 ? a[9].sched_ns + (uint64_t)(S + ppm[9] * 1000)
						: a[i].sched_ns;
			uint64_t stamp = base + into + (uint64_t)((int64_t)into * ppm[i] / 1000000);
			struct cam_placed p;
			assert_true(cam_anchor_place_sched(a, 30, stamp, &p));
			uint64_t truth = a[i].time_ns + into;
			uint64_t wrong = p.time_ns > truth ? p.time_ns - truth : truth - p.time_ns;
			assert_in_range(wrong, 0, p.uncertainty_ns);
			assert_in_range(wrong, 0, i == 9 || i == 10 ? 1000000 : 2);
			assert_true(p.time_ns >= before);
			before = p.time_ns;
		}
		struct cam_placed p;
		assert_true(cam_anchor_place_sched(a, 30, a[29].sched_ns + 10 * S, &p));
		assert_int_equal(p.time_ns, a[29].time_ns + 10 * S);
		assert_true(p.uncertainty_ns >= 10 * S / 2000);
		assert_true(cam_anchor_place_sched(a, 30, a[0].sched_ns - 10 * S, &p));
		assert_int_equal(p.time_ns, a[0].time_ns - 10 * S);
	}
}

/* A clock that stood still, went back, or jumped: larger stamps still get no smaller times. */
static void stamps_keep_their_order_whatever_the_clock_does(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (unsigned round = 0; round < 3000; round++) {
		struct cam_anchor a[6];
		size_t n = 1 + next_random(&seed, 6);
		uint64_t t = next_random(&seed, 50);
		for (size_t i = 0; i < n; i++, t += next_random(&seed, 3) * 20)
			a[i] = at(t, 0,
				  next_random(&seed, 5) ? next_random(&seed, 200) : CAM_TIME_NONE);
		uint64_t before = 0;
		bool any = false;
		for (uint64_t stamp = 0; stamp < 250; stamp++) {
			struct cam_placed p;
			bool placed = cam_anchor_place_sched(a, n, stamp, &p);
			assert_true(stamp == 0 || placed == any);
			any = placed;
			if (!placed)
				break;
			assert_true(p.time_ns >= before);
			before = p.time_ns;
		}
	}
}

static void without_anchors_there_is_no_answer(void **state)
{
	(void)state;
	struct cam_anchor a[] = {at(100, INT64_MIN, CAM_TIME_NONE), at(CAM_TIME_NONE, 5, 5)};
	struct cam_placed p, q;
	int64_t wall;
	uint64_t off;
	for (size_t n = 0; n <= 2; n++) {
		assert_false(cam_anchor_place_sched(a, n, 1, &p));
		assert_false(cam_anchor_place_wall(a, n, 1, &p, &q));
		assert_false(cam_anchor_wall_of(a, n, 1, &wall, &off));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_example_holds),
		cmocka_unit_test(every_wall_time_of_a_stepping_clock),
		cmocka_unit_test(steps_of_years),
		cmocka_unit_test(the_kernel_logs_clock_drifts),
		cmocka_unit_test(stamps_keep_their_order_whatever_the_clock_does),
		cmocka_unit_test(without_anchors_there_is_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
