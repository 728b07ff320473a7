// SPDX-License-Identifier: Apache-2.0
#include "query/why_judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define COARSE_MARGIN 1.25 /* above the best other moment */
#define COARSE_MOST   30.0
#define COARSE_FEW    12u /* moments: with fewer, everything is there for the first time */
/*
 * Trouble that recurs fills the top of the history with its own scores, and would hide itself. A score is never
 * held against more than this, and twice what nine of ten moments stay below.
 */
#define MOST_ARE 0.1
/* What a score must pass: the share of moments that may reach it; the least it ever is, or is where they are few; the most. */
struct bar {
	double share, least, enough;
};
#define SURGE_LEAST  8.0
#define SURGE_ENOUGH 12.0
static const struct bar stop_bar = {CAM_WHY_RARE_STOP, 4.0,
				    SURGE_ENOUGH}; /* 4: 1 in 10,000, by its law */
/* Nothing is told of a place that is more common than that, trouble that recurs or not. */
static const struct bar place_bar = {CAM_WHY_RARE_PLACE, SURGE_LEAST, INFINITY};
/* Of pauses the law is close to the truth, so that 8 is enough however many others there are. */
static const struct bar pause_bar = {CAM_WHY_RARE_STOP, 3.5, 8.0};
/* Moments to compare with: where only names are known less can be unusual, so that they would make more seem rare. */
#define ALL_KNOWN (CAM_WHY_SEEN | CAM_WHY_PIDS)

static int descending(const void *x, const void *y)
{
	const float *a = x, *b = y;
	return *a > *b ? -1 : *a < *b;
}

/* The best of sums that lie within [t, t + width). Boards may be missing. */
static float best_in(float *const boards[CAM_WHY_LENGTHS], uint32_t t, unsigned width)
{
	float best = 0;
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && length <= width; length++) {
		const float *board = boards[length - 1];
		for (uint32_t i = t; board && i + length <= t + width; i++)
			best = board[i] > best ? board[i] : best;
	}
	return best;
}

/* Moments whose seconds have all the flags, away from what is asked about. */
static int fill(struct cam_why_null *null, const struct cam_why_axis *a, uint8_t need,
		unsigned width, float *const one[CAM_WHY_LENGTHS],
		float *const two[CAM_WHY_LENGTHS])
{
	unsigned stride = width > 40 ? width / 20 : 1;
	uint32_t whole = 0; /* seconds up to here that are fit */
	uint64_t fit = 0;
	null->best = calloc(a->n / stride + 1, sizeof(*null->best));
	if (!null->best)
		return -ENOMEM;
	for (uint32_t t = 0; t < a->n; t++) {
		bool good =
			(a->flags[t] & (need | CAM_WHY_BASELINE)) == (need | CAM_WHY_BASELINE) &&
			!(a->flags[t] & CAM_WHY_NEAR);
		whole = good ? whole + 1 : 0;
		fit += good;
		if (whole < width || t % stride)
			continue;
		float best = best_in(one, t + 1 - width, width);
		float other = two ? best_in(two, t + 1 - width, width) : 0;
		null->best[null->n++] = other > best ? other : best;
	}
	null->apart = null->n && width ? fit / width : 0;
	qsort(null->best, null->n, sizeof(*null->best), descending);
	return 0;
}

int cam_why_judge_make(const struct cam_why_axis *a, const struct cam_why_scan *s, unsigned width,
		       struct cam_why_judge *j)
{
	uint32_t seen = 0, read = 0;
	*j = (struct cam_why_judge){0};
	for (uint32_t t = 0; t < a->n; t++) {
		bool known = (a->flags[t] & ALL_KNOWN) == ALL_KNOWN;
		seen += known;
		read += known && (a->flags[t] & CAM_WHY_FUNCTIONS);
	}
	j->split = read < seen - seen / 50;
	int err = fill(&j->surges, a, ALL_KNOWN, width, s->by_process,
		       j->split ? NULL : s->by_function);
	if (!err)
		err = fill(&j->functions, a, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS, width,
			   s->by_function, NULL);
	if (!err)
		err = fill(&j->cores, a, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS, width, s->by_core, NULL);
	if (!err)
		err = fill(&j->paths, a, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS, width, s->by_path, NULL);
	if (!err)
		err = fill(&j->stops, a, ALL_KNOWN, width, s->stopped, NULL);
	float *const paused[CAM_WHY_LENGTHS] = {s->paused};
	if (!err)
		err = fill(&j->pauses, a, CAM_WHY_SEEN | CAM_WHY_PAUSES, width, paused, NULL);
	return err;
}

void cam_why_judge_free(struct cam_why_judge *j)
{
	free(j->surges.best);
	free(j->functions.best);
	free(j->cores.best);
	free(j->paths.best);
	free(j->stops.best);
	free(j->pauses.best);
	*j = (struct cam_why_judge){0};
}

static double share_above(const struct cam_why_null *null, double score)
{
	size_t low = 0, high = null->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (null->best[middle] >= (float)score)
			low = middle + 1;
		else
			high = middle;
	}
	double share = null->n ? (double)low / (double)null->n : 1;
	double least = 1 / (1 + (double)null->apart);
	return share > least ? share : least;
}

static const struct cam_why_null *null_of(const struct cam_why_judge *j,
					  const struct cam_why_candidate *c)
{
	if (c->stopped)
		return c->pause_ns ? &j->pauses : &j->stops;
	if (cam_why_is_place(c))
		return c->entity == CAM_WHY_CORE ? &j->cores : &j->paths;
	return j->split && c->entity == CAM_WHY_FUNCTION ? &j->functions : &j->surges;
}

double cam_why_judge_p(const struct cam_why_judge *j, const struct cam_why_candidate *c)
{
	double p = share_above(null_of(j, c), c->score);
	return fmin(1, j->split && !c->stopped && !cam_why_is_place(c) ? 2 * p : p);
}

static double quantile(const struct cam_why_null *null, double share)
{
	size_t k = (size_t)(share * (double)null->n);
	return null->n ? null->best[k < null->n ? k : null->n - 1] : 0;
}

static bool few(const struct cam_why_null *null, double share)
{
	return 1 / (1 + (double)null->apart) > share;
}

static double threshold_of(const struct cam_why_null *null, const struct bar *bar)
{
	double at = quantile(null, bar->share), enough = 2 * quantile(null, MOST_ARE);
	if (few(null, bar->share)) {
		at = null->n ? null->best[0] * COARSE_MARGIN : 0;
		at = at > bar->least ? at : bar->least;
		if (null->apart >= COARSE_FEW && at > COARSE_MOST)
			at = COARSE_MOST;
	}
	enough = enough > bar->enough ? enough : bar->enough;
	return at < enough ? at : enough;
}

static struct bar surge_bar(const struct cam_why_judge *j)
{
	return (struct bar){j->split ? CAM_WHY_RARE / 2 : CAM_WHY_RARE, SURGE_LEAST, SURGE_ENOUGH};
}

static double least_threshold(const struct cam_why_null *null, const struct bar *bar)
{
	return fmax(bar->least, threshold_of(null, bar));
}

double cam_why_judge_threshold(const struct cam_why_judge *j, bool stop)
{
	struct bar surges = surge_bar(j);
	return stop ? least_threshold(&j->stops, &stop_bar) : threshold_of(&j->surges, &surges);
}

double cam_why_judge_below(const struct cam_why_judge *j)
{
	const struct cam_why_null *null = &j->surges;
	double threshold = cam_why_judge_threshold(j, false);
	size_t above = 0;
	while (above < null->n && null->best[above] >= (float)threshold)
		above++;
	return null->n ? 1 - (double)above / (double)null->n : 1;
}

bool cam_why_judge_is_coarse(const struct cam_why_judge *j)
{
	return few(&j->surges, surge_bar(j).share);
}

bool cam_why_judge_is_rare(const struct cam_why_judge *j, const struct cam_why_candidate *c)
{
	struct bar surges = surge_bar(j);
	if (c->stopped)
		return c->score >
		       least_threshold(null_of(j, c), c->pause_ns ? &pause_bar : &stop_bar);
	if (cam_why_is_place(c))
		return c->score > least_threshold(null_of(j, c), &place_bar);
	return c->score > threshold_of(null_of(j, c), &surges);
}
