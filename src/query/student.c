// SPDX-License-Identifier: Apache-2.0
/*
 * The two-sided tail of Student's t is a regularised incomplete beta function, I(v/2, 1/2; v/(v + t²)),
 * which is had from its continued fraction by the modified method of Lentz. Good to 1e-10.
 */
#include "query/student.h"

#include <math.h>

#define TINY 1e-300

static double away_from_zero(double v)
{
	return fabs(v) < TINY ? TINY : v;
}

/* The continued fraction of I(a, b; x), for x left of the mean. */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		result *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		result *= d * c;
		if (fabs(d * c - 1) < 1e-13)
			break;
	}
	return result;
}

static double incomplete_beta(double a, double b, double x)
{
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(a, b, x) / a;
	return 1 - front * fraction(b, a, 1 - x) / b;
}

double cam_student_p(double t, double freedom)
{
	return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double cam_student_t(double p, double freedom)
{
	double low = 0, high = 1;
	while (cam_student_p(high, freedom) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;
		if (cam_student_p(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
