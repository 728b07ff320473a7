// SPDX-License-Identifier: Apache-2.0
/*
 * One entity of `why`, spread out over the axis as a count for each second, and scored: what why_scan.c and why_series.c
 * share. All of it is the scan's. One thread.
 */
#pragma once
#include "query/why_marks.h"
#include "query/why_scan.h"

#define CAM_WHY_GUARD 6u /* seconds beside a sum that are no part of its history */

/* Where the cells of an entity are known. */
enum cam_why_known { CAM_WHY_OF_NAMES, CAM_WHY_OF_STACKS, CAM_WHY_OF_PIDS, CAM_WHY_KNOWN };

struct cam_why_scanning {
	struct cam_why_history *h;
	const struct cam_progress *progress;
	struct cam_why_scan *out;
	uint32_t *own,
		*most; /* dense, by second: of the entity; of the busiest of a name, or on a core */
	uint32_t *sums; /* dense: of a name or cgroup */
	struct cam_why_counts counts;
	float *table; /* scores by value; NAN: not yet */
	size_t cap_table;
	uint32_t *starts;	      /* of processes' cells */
	uint32_t *order;	      /* processes by name, or by cgroup */
	uint32_t seen[CAM_WHY_KNOWN]; /* seconds observed */
	bool has_days;		      /* some are half a day from others */
	struct cam_why_marks of_many,
		of_one; /* of a name or cgroup; of a process, function or core */
	uint32_t *fits; /* by second: CAM_WHY_FITS() of sums that begin there */
	/* By what must be known, and length - 1: sums of the baseline that begin before a second. */
	uint32_t *before[CAM_WHY_KNOWN][CAM_WHY_LENGTHS];
	uint32_t *busiest; /* by name: where the history's cells of it begin */
	size_t n_busiest;  /* names */
	/* Sums that begin here are out of the counts: cam_why_law_without(). */
	uint32_t out_from, out_to;
};

/* A bit for each length, what must be known, and whether it is for a baseline. */
#define CAM_WHY_FITS(length, what, baseline) \
	(1u << ((length)-1 + CAM_WHY_LENGTHS * ((unsigned)(what) + CAM_WHY_KNOWN * (baseline))))

/* What is scored: seconds [from, to) of v, where the flags are all set. */
struct cam_why_series {
	const uint32_t *v;
	const uint32_t *of_one; /* of a core: what its busiest process had of v; else NULL */
	const struct cam_why_marks *marks; /* of v */
	uint32_t from, to;
	enum cam_why_known what;       /* only where that is known */
	struct cam_why_candidate best; /* entity and of are set */
	float **board;
	struct cam_why_best *peaks;
};

static inline bool cam_why_valid(const struct cam_why_scanning *s, enum cam_why_known what,
				 bool baseline, uint32_t t, unsigned length)
{
	return s->fits[t] & CAM_WHY_FITS(length, what, baseline);
}

static inline uint32_t cam_why_sum_at(const uint32_t *v, uint32_t t, unsigned length)
{
	uint32_t sum = v[t];
	for (unsigned i = 1; i < length; i++)
		sum += v[t + i];
	return sum;
}

/* What cam_why_valid() says, and how many sums of the baseline there are up to each second. -ENOMEM. */
int cam_why_find_fits(struct cam_why_scanning *s);
/* The counts of a series' history. -ENOMEM. */
int cam_why_fill_counts(struct cam_why_scanning *s, const struct cam_why_series *k,
			unsigned length);
/*
 * The law of the counts without the sums that begin in [from, to); dispersion 0: too few are left. They stay out until
 * cam_why_whole_again(): who asks for one second after the other has most of them out already.
 */
struct cam_why_law cam_why_law_without(struct cam_why_scanning *s, const struct cam_why_series *k,
				       unsigned length, uint32_t from, uint32_t to);
void cam_why_whole_again(struct cam_why_scanning *s, const struct cam_why_series *k,
			 unsigned length);
/* A score goes to the board, to the peaks, and, where it is of the time asked about, to the best. */
void cam_why_note(struct cam_why_scanning *s, struct cam_why_series *k, uint32_t t, unsigned length,
		  uint32_t x, struct cam_why_law law, double score);
/* What is above its history; what is below. -ENOMEM. */
int cam_why_score_surges(struct cam_why_scanning *s, struct cam_why_series *k, unsigned length);
int cam_why_score_stops(struct cam_why_scanning *s, struct cam_why_series *k, unsigned length);
/* The best of a series becomes a candidate, if there is one. -ENOMEM. */
int cam_why_keep(struct cam_why_scanning *s, struct cam_why_series *k);
