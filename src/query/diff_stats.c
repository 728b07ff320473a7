// SPDX-License-Identifier: Apache-2.0
/*
 * Is it a change, or chance?
 *
 * Samples are counts, and neighbouring samples are not independent: a function that runs now will most
 * likely run in 10 ms, too. Counting each sample as an independent witness (Poisson) makes every
 * second function "significant". So nothing is assumed about how samples follow each other within a stretch: each
 * side is cut into 24 stretches of equal time, and how much the stretches' counts vary says how much the
 * whole would vary if it were recorded again.
 *
 *	variance of a sum of k stretches y = k · Σ(y − mean)² / (k − 1) · (1 + r) / (1 − r)
 *
 * r is the correlation of neighbouring stretches (plus 1/k, the bias of its estimate; between 0 and 0.8): what
 * lasts longer than a stretch. It costs degrees of freedom as well: they are (k − 1) / √((1 + r) / (1 − r)). Never less than the variance of
 * independent samples, n p (1 − p), of the two sides together: a handful of samples can look more even
 * than chance allows. The change is then Student's t with Welch's degrees of freedom.
 *
 * A share is a quotient: the same of y − share · all, divided by the total.
 *
 * Many functions are looked at, so some would pass by chance: p becomes q, the share of false ones among
 * all with that p or less (Benjamini, Hochberg 1995).
 *
 * What it is worth, from simulation (tests/unit/test_query_diff.c, docs/diff.md): where nothing changed, 2 to 6 % of
 * single rows have p < 0.05, as long as whatever varies does so within a tenth of the time looked at.
 */
#include "query/diff.h"
#include "query/student.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_STRETCHES 4u
#define MOST_CORRELATED 0.8
#define CONFIDENCE	0.05

struct spread {
	double variance, freedom;
};

static struct spread spread_of(const double *y, unsigned n)
{
	double sum = 0, square = 0, next = 0;
	for (unsigned i = 0; i < n; i++)
		sum += y[i];
	for (unsigned i = 0; i < n; i++) {
		double d = y[i] - sum / n;
		square += d * d;
		if (i)
			next += d * (y[i - 1] - sum / n);
	}
	double r = square > 0 ? next / square + 1.0 / n : 0;
	r = r < 0 ? 0 : r > MOST_CORRELATED ? MOST_CORRELATED : r;
	double wider = (1 + r) / (1 - r), freedom = (n - 1) / sqrt(wider);
	return (struct spread){n * square / (n - 1) * wider, freedom < 1 ? 1 : freedom};
}

static double total(const double *v, unsigned n)
{
	double sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

static struct cam_diff_result judge(double change, struct spread a, struct spread b)
{
	double variance = a.variance + b.variance;
	if (!(variance > 0))
		return (struct cam_diff_result){change, change, change == 0 ? 1 : 0};
	double freedom =
		variance * variance /
		(a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom);
	double error = sqrt(variance), reach = cam_student_t(CONFIDENCE, freedom) * error;
	return (struct cam_diff_result){change - reach, change + reach,
					cam_student_p(change / error, freedom)};
}

static const struct cam_diff_result no_telling = {(double)NAN, (double)NAN, 1};

static void at_least(struct spread *s, double variance)
{
	s->variance = s->variance < variance ? variance : s->variance;
}

struct cam_diff_result cam_diff_compare_amount(const struct cam_diff_series *before,
					       const struct cam_diff_series *after, double factor)
{
	if (before->n < LEAST_STRETCHES || after->n < LEAST_STRETCHES)
		return no_telling;
	double x = total(before->v, before->n), y = total(after->v, after->n);
	struct spread a = spread_of(before->v, before->n), b = spread_of(after->v, after->n);
	/* Of CPUs whose rate is not known the samples that there are stand for those that were due. */
	double due_x = before->due > 0 ? before->due : total(before->all, before->n);
	double due_y = after->due > 0 ? after->due : total(after->all, after->n);
	double part = due_x + due_y > 0 ? (x + y) / (due_x + due_y) : 0;
	part = part > 1 ? 1 : part;
	at_least(&a, due_x * part * (1 - part));
	at_least(&b, due_y * part * (1 - part));
	a.variance *= factor * factor;
	return judge(y - factor * x, a, b);
}

static struct spread spread_of_share(const struct cam_diff_series *s, double share)
{
	double rest[CAM_DIFF_STRETCHES];
	for (unsigned i = 0; i < s->n; i++)
		rest[i] = s->v[i] - share * s->all[i];
	return spread_of(rest, s->n);
}

struct cam_diff_result cam_diff_compare_share(const struct cam_diff_series *before,
					      const struct cam_diff_series *after)
{
	double all_x = total(before->all, before->n), all_y = total(after->all, after->n);
	if (before->n < LEAST_STRETCHES || after->n < LEAST_STRETCHES || !(all_x > 0) ||
	    !(all_y > 0))
		return no_telling;
	double x = total(before->v, before->n), y = total(after->v, after->n);
	struct spread a = spread_of_share(before, x / all_x);
	struct spread b = spread_of_share(after, y / all_y);
	double part = (x + y) / (all_x + all_y);
	at_least(&a, all_x * part * (1 - part));
	at_least(&b, all_y * part * (1 - part));
	a.variance /= all_x * all_x;
	b.variance /= all_y * all_y;
	return judge(y / all_y - x / all_x, a, b);
}

static int by_value(const void *x, const void *y)
{
	const double *const *a = x, *const *b = y;
	return **a < **b ? -1 : **a > **b;
}

int cam_diff_control(double *p, size_t n)
{
	double **order = calloc(n ? n : 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &p[i];
	qsort(order, n, sizeof(*order), by_value);
	double least = 1;
	for (size_t i = n; i > 0; i--) {
		double q = *order[i - 1] * (double)n / (double)i;
		least = q < least ? q : least;
		*order[i - 1] = least;
	}
	free(order);
	return 0;
}
