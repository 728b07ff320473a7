// SPDX-License-Identifier: Apache-2.0
#include "query/why_stats.h"

#include "base/vec.h"

#include <math.h>
#include <string.h>

#define CLIPPED	     0.005 /* share of a history that is clipped */
#define LEAST_SPREAD 1.1

double cam_why_score(double x, struct cam_why_law law)
{
	double m = law.mean, r = m / (law.dispersion - 1);
	double head = x > 0 ? x * log(x / m) : 0;
	return (head - (x + r) * log((x + r) / (m + r))) / log(10);
}

double cam_why_surge(uint32_t x, struct cam_why_law law)
{
	return x < law.mean + CAM_WHY_FLOOR ? 0 : cam_why_score(x, law);
}

void cam_why_counts_free(struct cam_why_counts *c)
{
	free(c->of);
	*c = (struct cam_why_counts){0};
}

void cam_why_counts_clear(struct cam_why_counts *c)
{
	if (c->of)
		memset(c->of, 0, c->n_of * sizeof(*c->of));
	c->n = c->sum = c->squares = 0;
	c->n_of = 0;
	c->most = 0;
}

int cam_why_counts_add_many(struct cam_why_counts *c, uint32_t value, uint32_t times)
{
	if (value > CAM_WHY_MAX_COUNT)
		value = CAM_WHY_MAX_COUNT;
	if (value >= c->n_of) {
		int err = cam_vec_reserve(&c->of, &c->cap, (size_t)value + 1, sizeof(*c->of),
					  CAM_WHY_MAX_COUNT + 1);
		if (err)
			return err;
		memset(c->of + c->n_of, 0, (value + 1 - c->n_of) * sizeof(*c->of));
		c->n_of = (size_t)value + 1;
	}
	c->of[value] += times;
	c->n += times;
	c->sum += (uint64_t)times * value;
	c->squares += (uint64_t)times * value * value;
	if (value > c->most)
		c->most = value;
	return 0;
}

int cam_why_counts_add(struct cam_why_counts *c, uint32_t value)
{
	return cam_why_counts_add_many(c, value, 1);
}

void cam_why_counts_remove(struct cam_why_counts *c, uint32_t value)
{
	if (value > CAM_WHY_MAX_COUNT)
		value = CAM_WHY_MAX_COUNT;
	c->of[value]--;
	c->n--;
	c->sum -= value;
	c->squares -= (uint64_t)value * value;
}

/* The value that at most 0.5 % lie above. */
static uint32_t clip_of(const struct cam_why_counts *c)
{
	uint64_t above = 0, may = (uint64_t)(CLIPPED * (double)c->n);
	uint32_t q = c->most;
	while (q > 0 && above + c->of[q] <= may)
		above += c->of[q--];
	return q;
}

struct cam_why_law cam_why_counts_law(const struct cam_why_counts *c, unsigned seconds)
{
	struct cam_why_law law = {.mean = 0.5 * seconds, .dispersion = LEAST_SPREAD};
	if (!c->n)
		return law;
	/* All but the few that are clipped are known as sums: a law is asked for again and again. */
	uint64_t q = clip_of(c), above = 0, all = c->sum, all_squares = c->squares;
	for (uint64_t v = q + 1; v <= c->most; v++) {
		above += c->of[v];
		all -= c->of[v] * v;
		all_squares -= c->of[v] * v * v;
	}
	double sum = (double)(all + above * q), squares = (double)(all_squares + above * q * q);
	double n = (double)c->n, variance = squares / n - sum / n * (sum / n);
	law.mean = sum / n + 0.5 * seconds / n;
	if (variance / law.mean > law.dispersion)
		law.dispersion = variance / law.mean;
	return law;
}
