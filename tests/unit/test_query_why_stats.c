// SPDX-License-Identifier: Apache-2.0
/* The scores of `why`, held against the law they are of: its tails are summed here term by term. */
#include "query/why_stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* P(X = k) of a negative binomial law with this mean and variance = spread × mean. */
static double chance(unsigned k, double mean, double spread)
{
	double r = mean / (spread - 1), p = 1 / spread;
	return exp(lgamma(k + r) - lgamma(r) - lgamma(k + 1.0) + r * log(p) + k * log(1 - p));
}

static double tail_above(unsigned x, double mean, double spread)
{
	double sum = 0;
	for (unsigned k = x; k < x + 20000; k++)
		sum += chance(k, mean, spread);
	return sum;
}

static double tail_below(unsigned x, double mean, double spread)
{
	double sum = 0;
	for (unsigned k = 0; k <= x; k++)
		sum += chance(k, mean, spread);
	return sum;
}

/* (20 ln(20/5) - 25 ln(25/10)) / ln 10, by hand. */
static void a_score_by_hand(void **state)
{
	(void)state;
	double s = cam_why_score(20, (struct cam_why_law){.mean = 5, .dispersion = 2});
	assert_true(fabs(s - 2.0927) < 0.0005);
	/* Nothing of it: 5 ln(10/5) / ln 10. */
	s = cam_why_score(0, (struct cam_why_law){.mean = 5, .dispersion = 2});
	assert_true(fabs(s - 1.5051) < 0.0005);
	assert_true(fabs(cam_why_score(5, (struct cam_why_law){5, 2})) < 1e-9);
}

static void it_bounds_the_tails(void **state)
{
	(void)state;
	static const double means[] = {0.3, 2, 9, 40, 150}, spreads[] = {1.1, 2, 5, 20};
	for (size_t i = 0; i < 5; i++) {
		for (size_t k = 0; k < 4; k++) {
			double m = means[i], f = spreads[k];
			struct cam_why_law law = {.mean = m, .dispersion = f};
			for (unsigned x = (unsigned)m + 2; x < m * 3 + 30; x += 3) {
				double s = cam_why_score(x, law), p = -log10(tail_above(x, m, f));
				assert_true(s <= p + 1e-6);
				assert_true(s > p * 0.4 - 0.8);
			}
			for (unsigned x = 0; x + 1 < m; x += 2) {
				double s = cam_why_score(x, law), p = -log10(tail_below(x, m, f));
				assert_true(s <= p + 1e-6);
			}
		}
	}
}

static void less_than_ten_samples_do_not_matter(void **state)
{
	(void)state;
	struct cam_why_law law = {.mean = 0.001, .dispersion = 1.1};
	assert_true(cam_why_surge(10, law) == 0);
	assert_true(cam_why_surge(11, law) > 10);
	law.mean = 300;
	assert_true(cam_why_surge(309, law) == 0);
	assert_true(cam_why_surge(200, law) == 0);
}

static struct cam_why_law law_of(const unsigned *pairs, size_t n, unsigned seconds)
{
	struct cam_why_counts c = {0};
	for (size_t i = 0; i < n; i += 2)
		for (unsigned k = 0; k < pairs[i + 1]; k++)
			assert_int_equal(cam_why_counts_add(&c, pairs[i]), 0);
	struct cam_why_law law = cam_why_counts_law(&c, seconds);
	cam_why_counts_free(&c);
	return law;
}

static void a_few_bursts_are_clipped(void **state)
{
	(void)state;
	/* 5 of 1000: they count as the next value. */
	struct cam_why_law law = law_of((unsigned[]){10, 995, 900, 5}, 4, 1);
	assert_true(fabs(law.mean - 10.0005) < 1e-6);
	assert_true(law.dispersion == 1.1);
	/* 10 of 1000 are not few: mean 18.9, variance 0.01 × 0.99 × 890². */
	law = law_of((unsigned[]){10, 990, 900, 10}, 4, 1);
	assert_true(fabs(law.mean - 18.9005) < 1e-6);
	assert_true(fabs(law.dispersion - 7841.79 / 18.9005) < 1e-3);
	/* One that was never there: half a sample in all that time. */
	law = law_of((unsigned[]){0, 200}, 2, 3);
	assert_true(fabs(law.mean - 0.0075) < 1e-9);
}

static void what_is_taken_out_leaves_no_trace(void **state)
{
	(void)state;
	struct cam_why_counts c = {0};
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(cam_why_counts_add(&c, i * 7 % 31), 0);
	struct cam_why_law before = cam_why_counts_law(&c, 2);
	assert_int_equal(cam_why_counts_add(&c, 5000), 0);
	assert_int_equal(cam_why_counts_add(&c, CAM_WHY_MAX_COUNT + 7), 0);
	cam_why_counts_remove(&c, 5000);
	cam_why_counts_remove(&c, CAM_WHY_MAX_COUNT + 9);
	struct cam_why_law after = cam_why_counts_law(&c, 2);
	assert_true(before.mean == after.mean && before.dispersion == after.dispersion);
	cam_why_counts_clear(&c);
	assert_int_equal(c.n, 0);
	assert_int_equal(cam_why_counts_add(&c, 3), 0);
	assert_true(fabs(cam_why_counts_law(&c, 2).mean - 4) < 1e-9);
	cam_why_counts_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_score_by_hand),
		cmocka_unit_test(it_bounds_the_tails),
		cmocka_unit_test(less_than_ten_samples_do_not_matter),
		cmocka_unit_test(a_few_bursts_are_clipped),
		cmocka_unit_test(what_is_taken_out_leaves_no_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
