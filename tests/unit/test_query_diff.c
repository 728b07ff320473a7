// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "query/diff.h"
#include "query/flame.h"
#include "query/flame_pair.h"
#include "query/student.h"
#include "support_window.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEC CAM_NS_PER_SEC
#define MS  CAM_NS_PER_MS
#define HZ  97

static void assert_near(double got, double want, double off)
{
	if (!(fabs(got - want) <= off))
		fail_msg("%.9g is not %.9g ± %g", got, want, off);
}

/* From printed tables of the distribution. */
static void test_student(void **state)
{
	(void)state;
	static const struct {
		double freedom, p, t;
	} known[] = {{1, 0.05, 12.7062},  {2, 0.05, 4.3027},  {10, 0.05, 2.2281},
		     {30, 0.05, 2.0423},  {10, 0.01, 3.1693}, {5, 0.001, 6.8688},
		     {1e6, 0.05, 1.95996}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_near(cam_student_t(known[i].p, known[i].freedom), known[i].t, 6e-5);
		assert_near(cam_student_p(known[i].t, known[i].freedom), known[i].p, 1e-5);
		assert_near(cam_student_p(-known[i].t, known[i].freedom), known[i].p, 1e-5);
	}
	assert_near(cam_student_p(0, 7), 1, 1e-12);
	/* One degree of freedom is Cauchy's: a closed form. */
	for (double t = 0.1; t < 1e6; t *= 3)
		assert_near(cam_student_p(t, 1), 1 - 2 / M_PI * atan(t), 1e-9);
}

/* The example of Benjamini and Hochberg (1995): of 15 only the first four are kept at 0.05. */
static void test_control(void **state)
{
	(void)state;
	double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		      0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
	assert_int_equal(cam_diff_control(p, 15), 0);
	for (unsigned i = 0; i < 15; i++) {
		assert_int_equal(p[i] <= 0.05, i < 4);
		assert_true(!i || p[i] >= p[i - 1]);
	}
	assert_near(p[0], 0.0015, 1e-12);
	assert_near(p[14], 1, 1e-12);
	assert_int_equal(cam_diff_control(NULL, 0), 0);
}

/* xorshift128+: the same numbers on every machine. */
static uint64_t seed[2];

static double uniform(void)
{
	uint64_t x = seed[0], y = seed[1];
	seed[0] = y;
	x ^= x << 23;
	seed[1] = x ^ y ^ (x >> 17) ^ (y >> 26);
	return (double)((seed[1] + y) >> 11) * 0x1p-53;
}

static double normal(void)
{
	double u = uniform(), v = uniform();
	return sqrt(-2 * log(u + 1e-300)) * cos(2 * M_PI * v);
}

/*
 * A function on two CPUs, looked at 97 times a second each: its share of a CPU goes up and down around
 * `share` (log-normally, by `swing`) and forgets its past within `memory` seconds. Neighbouring
 * samples are far from independent.
 */
static struct cam_diff_series stream(double share, double swing, double memory, unsigned seconds)
{
	struct cam_diff_series s = {.n = CAM_DIFF_STRETCHES, .due = 2.0 * HZ * seconds};
	double keep = exp(-1 / (memory * HZ)), z = normal();
	unsigned ticks = HZ * seconds;
	for (unsigned i = 0; i < ticks; i++) {
		unsigned at = (unsigned)((uint64_t)i * s.n / ticks);
		z = keep * z + sqrt(1 - keep * keep) * normal();
		double now = share * exp(swing * z - swing * swing / 2);
		s.v[at] += (uniform() < now) + (uniform() < now);
		s.all[at] += 2;
	}
	return s;
}

/* Counting each sample as independent, as is done: only to show what is wrong with that. */
static double naive_p(const struct cam_diff_series *a, const struct cam_diff_series *b)
{
	double x = 0, y = 0;
	for (unsigned i = 0; i < a->n; i++) {
		x += a->v[i];
		y += b->v[i];
	}
	return x + y > 0 ? erfc(fabs(y - x) / sqrt(x + y) / M_SQRT2) : 1;
}

/*
 * Nothing changed: single rows pass at 5 % in at most 6.5 % of the cases (2,400 are tried, and 6.5 is
 * more than 3 standard errors above 5), for each kind of stream by itself in at most 9 %. Where samples
 * are counted as independent, far more do.
 */
static void test_no_change_is_no_finding(void **state)
{
	(void)state;
	static const double shares[] = {0.002, 0.02, 0.2}, memories[] = {0.01, 0.5, 2, 5};
	unsigned found = 0, naive = 0, all = 0;
	seed[0] = 11, seed[1] = 12;
	for (unsigned k = 0; k < 12; k++) {
		unsigned here = 0;
		for (unsigned i = 0; i < 200; i++, all++) {
			double share = shares[k % 3], memory = memories[k / 3];
			struct cam_diff_series a = stream(share, 0.8, memory, 60);
			struct cam_diff_series b = stream(share, 0.8, memory, 60);
			here += cam_diff_compare_amount(&a, &b, 1).p < 0.05;
			naive += naive_p(&a, &b) < 0.05;
		}
		assert_in_range(here, 0, 18);
		found += here;
	}
	print_message("of %u: %u found, %u if samples were independent\n", all, found, naive);
	assert_in_range(found, all * 10 / 1000, all * 65 / 1000);
	assert_true(naive > all / 5);
}

/* Forty functions looked at at once: any at all is found in at most 1 of 20 comparisons. */
static void test_many_rows(void **state)
{
	(void)state;
	enum { ROWS = 40, TRIES = 100 };
	unsigned wrong = 0;
	seed[0] = 21, seed[1] = 22;
	for (unsigned i = 0; i < TRIES; i++) {
		double p[ROWS], least = 1;
		for (unsigned k = 0; k < ROWS; k++) {
			double share = 0.3 / (k + 1), memory = 0.05 * (k + 1);
			struct cam_diff_series a = stream(share, 0.5, memory, 30);
			struct cam_diff_series b = stream(share, 0.5, memory, 30);
			p[k] = cam_diff_compare_amount(&a, &b, 1).p;
		}
		assert_int_equal(cam_diff_control(p, ROWS), 0);
		for (unsigned k = 0; k < ROWS; k++)
			least = p[k] < least ? p[k] : least;
		wrong += least < 0.05;
	}
	print_message("%u of %u comparisons found something\n", wrong, (unsigned)TRIES);
	/* 5 are expected; more than 11 come by chance once in a hundred. */
	assert_in_range(wrong, 0, 11);
}

/* A function grows from 10 to 15 % of a CPU: it is found, and the interval holds the truth. */
static void test_a_growth_is_found(void **state)
{
	(void)state;
	enum { TRIES = 600 };
	unsigned found = 0, held = 0, share_held = 0;
	double truth = 2 * HZ * 60 * 0.05;
	seed[0] = 31, seed[1] = 32;
	for (unsigned i = 0; i < TRIES; i++) {
		struct cam_diff_series a = stream(0.10, 0.4, 1, 60), b = stream(0.15, 0.4, 1, 60);
		struct cam_diff_result r = cam_diff_compare_amount(&a, &b, 1);
		struct cam_diff_result s = cam_diff_compare_share(&a, &b);
		found += r.p < 0.05 && r.low > 0;
		held += r.low <= truth && truth <= r.high;
		share_held += s.low <= 0.05 && 0.05 <= s.high;
	}
	print_message("of %u: %u found, the interval held %u, of the share %u\n", (unsigned)TRIES,
		      found, held, share_held);
	assert_true(found > TRIES * 80 / 100);
	/* 95 % are meant: 570, with a standard error of 5.3. */
	assert_in_range(held, 552, 594);
	assert_in_range(share_held, 552, 594);
}

/* Too little to tell, and nothing at all. */
static void test_no_telling(void **state)
{
	(void)state;
	struct cam_diff_series a = {.n = 3, .v = {1, 2, 3}, .all = {9, 9, 9}}, b = a;
	struct cam_diff_result r = cam_diff_compare_amount(&a, &b, 1);
	assert_true(isnan(r.low) && isnan(r.high) && r.p == 1);
	r = cam_diff_compare_share(&a, &b);
	assert_true(isnan(r.low) && r.p == 1);
	a = b = (struct cam_diff_series){.n = 16};
	r = cam_diff_compare_amount(&a, &b, 1);
	assert_true(r.p == 1 && r.low == 0 && r.high == 0);
	r = cam_diff_compare_share(&a, &b);
	assert_true(r.p == 1);
	/* Six samples out of nothing are no proof; sixty are. */
	for (unsigned i = 0; i < 16; i++) {
		a.all[i] = b.all[i] = 400;
		b.v[i] = i < 6;
	}
	assert_true(cam_diff_compare_amount(&a, &b, 1).p > 0.02);
	for (unsigned i = 0; i < 16; i++)
		b.v[i] = 4;
	assert_true(cam_diff_compare_amount(&a, &b, 1).p < 1e-4);
}

/* `each` samples a second in main;work, and 10 in main, on one CPU. */
static struct cam_source *side(unsigned seconds, unsigned each, const char *event, uint64_t period)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 7, "sh");
	struct cam_place_id work = fake_place(f, "main;work;work"), rest = fake_place(f, "main");
	struct cam_etype_id etype = fake_etype(f, event, period, false);
	for (unsigned s = 0; s < seconds; s++) {
		for (unsigned i = 0; i < each + 10; i++)
			fake_add_sample(
				f, &(struct cam_sample){.time_ns = s * SEC + i * SEC / (each + 10),
							.weight = 1,
							.task = task,
							.place = i < each ? work : rest,
							.etype = etype});
	}
	f->w.info.start_ns = 0;
	f->w.info.end_ns = seconds * SEC;
	fake_window_ready(f);
	return fake_source_new(&f, 1);
}

static const struct cam_diff_row *row_of(const struct cam_diff *d, const char *name)
{
	for (size_t i = 0; i < d->n_rows; i++) {
		if (cam_text_equal(cam_diff_name(d, &d->rows[i]), cam_text_of(name)))
			return &d->rows[i];
	}
	fail_msg("no row %s", name);
	return NULL;
}

static struct cam_diff diff_of(struct cam_source *a, struct cam_source *b,
			       enum cam_diff_scale scale, bool self)
{
	struct cam_selection s;
	struct cam_diff d;
	cam_selection_init(&s);
	/* The fake's own event type comes first; the samples are of another. */
	char why[64];
	cam_selection_add(&s, CAM_FILTER_ETYPE, CAM_TEXT("*"), why, sizeof(why));
	const struct cam_diff_input x = {a, &s}, y = {b, &s};
	const struct cam_diff_options o = {.scale = scale, .self = self};
	assert_int_equal(cam_diff_build(&x, &y, &o, &d), 0);
	cam_selection_free(&s);
	return d;
}

/* 20 s with 20 of 30 samples a second in work; then 40 s with 30 of 40; 10 ms each. */
static void test_scales(void **state)
{
	(void)state;
	struct cam_source *a = side(20, 20, "cpu-clock", 10 * MS);
	struct cam_source *b = side(40, 30, "cpu-clock", 10 * MS);
	struct cam_diff d = diff_of(a, b, CAM_DIFF_BY_TIME, true);
	const struct cam_diff_row *work = row_of(&d, "work");
	assert_near(d.factor, 2, 1e-9);
	assert_int_equal(work->samples_before, 400);
	assert_int_equal(work->samples_after, 1200);
	assert_near(work->amount.before, 400 * 0.01 * 2, 1e-9);
	assert_near(work->amount.after, 12, 1e-9);
	assert_true(work->significant && work->amount.low > 0);
	assert_near(work->share.before, 2.0 / 3, 1e-9);
	assert_near(work->share.after, 0.75, 1e-9);
	assert_false(row_of(&d, "main")->significant);
	assert_near(row_of(&d, "main")->amount.before, row_of(&d, "main")->amount.after, 1e-9);
	assert_near(d.all.amount.after, 16, 1e-9);
	assert_int_equal(d.sides[0].stretches, CAM_DIFF_STRETCHES);
	cam_diff_free(&d);
	/* By total main shrinks; as it is everything has grown. */
	d = diff_of(a, b, CAM_DIFF_BY_TOTAL, true);
	assert_near(d.factor, 1600.0 / 600, 1e-9);
	assert_near(cam_diff_growth(&d.all.amount), 0, 1e-9);
	assert_true(cam_diff_growth(&row_of(&d, "main")->amount) < 0);
	cam_diff_free(&d);
	d = diff_of(a, b, CAM_DIFF_AS_IS, true);
	assert_near(d.factor, 1, 1e-9);
	assert_near(row_of(&d, "main")->amount.before, 2, 1e-9);
	assert_near(row_of(&d, "main")->amount.after, 4, 1e-9);
	cam_diff_free(&d);
	/* With callees: main has everything, recursion counts once, and so does the process. */
	d = diff_of(a, b, CAM_DIFF_BY_TIME, false);
	assert_int_equal(row_of(&d, "main")->samples_after, 1600);
	assert_int_equal(row_of(&d, "work")->samples_after, 1200);
	assert_int_equal(row_of(&d, "sh")->samples_after, 1600);
	cam_diff_free(&d);
	a->ops->close(a);
	b->ops->close(b);
}

/* At another rate the seconds are the same; another event has none. */
static void test_other_rates_and_events(void **state)
{
	(void)state;
	struct cam_source *a = side(20, 20, "cpu-clock", 10 * MS);
	struct cam_source *b = side(20, 50, "cpu-clock", 5 * MS);
	struct cam_source *c = side(20, 20, "cycles", 0);
	struct cam_diff d = diff_of(a, b, CAM_DIFF_BY_TIME, true);
	assert_true(d.in_seconds && d.other_rate && !d.other_event);
	assert_near(row_of(&d, "work")->amount.before, 4, 1e-9);
	assert_near(row_of(&d, "work")->amount.after, 5, 1e-9);
	cam_diff_free(&d);
	d = diff_of(a, c, CAM_DIFF_BY_TIME, true);
	assert_true(!d.in_seconds && d.other_event);
	cam_diff_free(&d);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
}

static struct cam_flame flame_of(struct fake_window *f)
{
	struct cam_selection s;
	struct cam_flame out;
	const struct cam_flame_options o = {.weight = CAM_WEIGHT_SAMPLES};
	cam_selection_init(&s);
	fake_window_ready(f);
	struct cam_source *source = fake_source_new(&f, 1);
	assert_int_equal(cam_flame_build(source, &s, &o, &out), 0);
	source->ops->close(source);
	cam_selection_free(&s);
	return out;
}

static char *tree_of(const struct cam_flame *f)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	for (size_t i = 0; i < f->n_nodes; i++) {
		struct cam_text name = cam_flame_name(f, i);
		fprintf(out, "%*s%.*s %llu/%llu\n", (int)f->nodes[i].depth, "", (int)name.n, name.p,
			(unsigned long long)f->nodes[i].before_total,
			(unsigned long long)f->nodes[i].total);
	}
	fclose(out);
	return text;
}

static void test_pairs_of_flames(void **state)
{
	(void)state;
	static const char *const stacks[2][3] = {{"main;old;deep", "main;both", NULL},
						 {"main;both", "main;both;new", NULL}};
	struct cam_flame f[2], pair;
	for (unsigned k = 0; k < 2; k++) {
		struct fake_window *w = fake_window_new();
		struct cam_task_id task = fake_task(w, 7, 7, "sh");
		for (unsigned i = 0; stacks[k][i]; i++) {
			for (unsigned n = 0; n < 2 + i; n++)
				fake_sample(w, n, 0, task, fake_place(w, stacks[k][i]));
		}
		f[k] = flame_of(w);
	}
	assert_int_equal(cam_flame_pair(&f[0], &f[1], 10, CAM_PAIR_DIFFERENTIAL, 0, &pair), 0);
	char *got = tree_of(&pair);
	assert_string_equal(got, "all 50/5\n"
				 " sh 50/5\n"
				 "  main 50/5\n"
				 "   both 30/5\n"
				 "    new 0/3\n"
				 "   old 20/0\n"
				 "    deep 20/0\n");
	assert_true(pair.differential);
	free(got);
	cam_flame_free(&pair);
	assert_int_equal(cam_flame_pair(&f[0], &f[1], 1, CAM_PAIR_ELIDED, 0, &pair), 0);
	got = tree_of(&pair);
	assert_string_equal(got, "all 0/2\n"
				 " sh 0/2\n"
				 "  main 0/2\n"
				 "   old 0/2\n"
				 "    deep 0/2\n");
	assert_false(pair.differential);
	free(got);
	cam_flame_free(&pair);
	assert_int_equal(cam_flame_pair(&f[0], &f[1], 1, CAM_PAIR_ELIDED, 64, &pair), -E2BIG);
	assert_null(pair.nodes);
	cam_flame_free(&f[0]);
	cam_flame_free(&f[1]);
}

static void test_empty_sides(void **state)
{
	(void)state;
	struct cam_source *a = side(2, 20, "cpu-clock", 10 * MS);
	struct cam_selection all, none;
	struct cam_diff d;
	char why[64];
	cam_selection_init(&all);
	cam_selection_init(&none);
	cam_selection_add(&none, CAM_FILTER_PID, CAM_TEXT("4711"), why, sizeof(why));
	const struct cam_diff_input x = {a, &all}, y = {a, &none};
	const struct cam_diff_options o = {.self = true};
	assert_int_equal(cam_diff_build(&x, &y, &o, &d), -ENODATA);
	assert_null(d.rows);
	cam_selection_free(&all);
	cam_selection_free(&none);
	a->ops->close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_no_change_is_no_finding),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_a_growth_is_found),
		cmocka_unit_test(test_no_telling),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_other_rates_and_events),
		cmocka_unit_test(test_pairs_of_flames),
		cmocka_unit_test(test_empty_sides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
