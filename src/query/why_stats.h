// SPDX-License-Identifier: Apache-2.0
/*
 * How unusual a count is against counts of its own history: the arithmetic of `why`, and nothing else.
 *
 * Counts of samples are overdispersed: a busy service comes in bursts, so that a Poisson law would call
 * every burst unusual. They are held against a negative binomial law whose mean and variance are those of
 * the history, the largest 0.5 % of it clipped: a few earlier bursts of the same culprit then do not hide the
 * next one, while a job that runs 5 % of the time stays what it is, usual.
 *
 *	q   the 99.5 % quantile of the history, t = min(h, q)
 *	m   mean(t) + 0.5 L / n		L seconds of n: never 0
 *	φ   max(1.1, var(t) / m)	1 would be Poisson
 *	r   m / (φ - 1)
 *	S   (x ln(x/m) - (x + r) ln((x + r)/(m + r))) / ln 10
 *
 * S bounds -log10 P(X ≥ x) for x > m, and -log10 P(X ≤ x) for x < m. It ranks; it is not a probability: no
 * load is quite negative binomial. What is unusual is said by the scores of other moments (why.c).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CAM_WHY_FLOOR	  10u	     /* samples above what is expected that matter at all */
#define CAM_WHY_MAX_COUNT (1u << 20) /* larger ones count as this */

/* The law that a history is held to be of. */
struct cam_why_law {
	double mean;	   /* m */
	double dispersion; /* φ */
};

double cam_why_score(double x, struct cam_why_law law);
/* The same of what is above; 0 where that is less than CAM_WHY_FLOOR samples. */
double cam_why_surge(uint32_t x, struct cam_why_law law);

/* Counts of a history, by value. Zeroed is empty. */
struct cam_why_counts {
	uint32_t *of; /* how many have this value */
	size_t n_of, cap;
	uint64_t n;	       /* in all */
	uint64_t sum, squares; /* of all values */
	uint32_t most;	       /* the largest */
};

void cam_why_counts_free(struct cam_why_counts *c);
/* Forgets them, keeps the memory. */
void cam_why_counts_clear(struct cam_why_counts *c);
/* -ENOMEM. */
int cam_why_counts_add(struct cam_why_counts *c, uint32_t value);
int cam_why_counts_add_many(struct cam_why_counts *c, uint32_t value, uint32_t times);
/* Takes one back that was added. */
void cam_why_counts_remove(struct cam_why_counts *c, uint32_t value);
/* Of sums over so many seconds. Of no counts: mean 0.5 seconds, which says nothing. */
struct cam_why_law cam_why_counts_law(const struct cam_why_counts *c, unsigned seconds);
