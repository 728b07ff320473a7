// SPDX-License-Identifier: Apache-2.0
#include "query/why_series.h"

#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_HISTORY 20u /* sums */
#define LONG_HISTORY  1200u
#define MAX_FOUND     (1u << 20)
#define STEADY_MEAN   8.0
#define STOPPED_LEAST 10.0 /* samples missing */
#define DAY_SECONDS   86400
#define DAY_NEAR      600
#define MOST	      6u /* tenths */

static bool have(const struct cam_why_scanning *s, uint8_t need, uint32_t t, unsigned length)
{
	const uint8_t *f = s->h->axis.flags + t;
	uint8_t all = f[0];
	for (unsigned i = 1; i < length; i++)
		all &= f[i];
	return (all & need) == need;
}

int cam_why_find_fits(struct cam_why_scanning *s)
{
	static const uint8_t needs[CAM_WHY_KNOWN] = {CAM_WHY_SEEN, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS,
						     CAM_WHY_SEEN | CAM_WHY_PIDS};
	uint32_t n = s->h->axis.n;
	s->fits = calloc((size_t)n + CAM_WHY_LENGTHS, sizeof(*s->fits));
	for (unsigned i = 0; i < CAM_WHY_KNOWN * CAM_WHY_LENGTHS; i++) {
		uint32_t **to = &s->before[i / CAM_WHY_LENGTHS][i % CAM_WHY_LENGTHS];
		*to = calloc((size_t)n + 2, sizeof(**to));
		if (!*to)
			return -ENOMEM;
	}
	if (!s->fits)
		return -ENOMEM;
	for (unsigned i = 0; i < CAM_WHY_KNOWN * CAM_WHY_LENGTHS; i++) {
		unsigned length = i % CAM_WHY_LENGTHS + 1, what = i / CAM_WHY_LENGTHS;
		uint32_t *before = s->before[what][length - 1];
		for (uint32_t t = 0; t < n; t++) {
			bool fits = t + length <= n && have(s, needs[what], t, length);
			bool base = fits && have(s, CAM_WHY_BASELINE, t, length);
			s->fits[t] |= fits ? CAM_WHY_FITS(length, what, 0) : 0;
			s->fits[t] |= base ? CAM_WHY_FITS(length, what, 1) : 0;
			before[t + 1] = before[t] + base;
		}
	}
	return 0;
}

int cam_why_fill_counts(struct cam_why_scanning *s, const struct cam_why_series *k, unsigned length)
{
	const uint32_t *before = s->before[k->what][length - 1];
	uint32_t t, next = 0, looked_at = 0;
	size_t i = 0;
	int err = 0;
	cam_why_counts_clear(&s->counts);
	if (k->from + length > k->to)
		return 0;
	while (!err && cam_why_next_sum(k->marks, length, k->from, k->to, &i, &next, &t)) {
		if (!cam_why_valid(s, k->what, true, t, length))
			continue;
		err = cam_why_counts_add(&s->counts, cam_why_sum_at(k->v, t, length));
		looked_at++;
	}
	uint32_t all = before[k->to - length + 1] - before[k->from];
	return err ? err : cam_why_counts_add_many(&s->counts, 0, all - looked_at);
}

/* Takes sums that begin in [from, to) out of the counts, or puts them back. */
static void move_counts(struct cam_why_scanning *s, const struct cam_why_series *k, unsigned length,
			uint32_t from, uint32_t to, bool out)
{
	for (uint32_t t = from; t < to; t++) {
		if (!cam_why_valid(s, k->what, true, t, length))
			continue;
		if (out)
			cam_why_counts_remove(&s->counts, cam_why_sum_at(k->v, t, length));
		else
			cam_why_counts_add(&s->counts, cam_why_sum_at(k->v, t, length));
	}
}

struct cam_why_law cam_why_law_without(struct cam_why_scanning *s, const struct cam_why_series *k,
				       unsigned length, uint32_t from, uint32_t to)
{
	struct cam_why_law law = {0};
	uint32_t end = k->to >= length ? k->to - length + 1 : 0;
	from = from > k->from ? from : k->from;
	to = to < end ? to : end;
	to = to > from ? to : from;
	if (from < s->out_from || from > s->out_to || to < s->out_to) {
		move_counts(s, k, length, s->out_from, s->out_to, false);
		s->out_from = s->out_to = from;
	}
	move_counts(s, k, length, s->out_from, from, false);
	move_counts(s, k, length, s->out_to, to, true);
	s->out_from = from;
	s->out_to = to;
	if (s->counts.n >= LEAST_HISTORY)
		law = cam_why_counts_law(&s->counts, length);
	return law;
}

void cam_why_whole_again(struct cam_why_scanning *s, const struct cam_why_series *k,
			 unsigned length)
{
	move_counts(s, k, length, s->out_from, s->out_to, false);
	s->out_from = s->out_to = 0;
}

static bool asked(const struct cam_why_scanning *s, uint32_t t, unsigned length)
{
	return have(s, CAM_WHY_ASKED, t, length);
}

static int clear_table(struct cam_why_scanning *s)
{
	size_t n = (size_t)s->counts.most + 1;
	int err = cam_vec_reserve(&s->table, &s->cap_table, n, sizeof(*s->table),
				  CAM_WHY_MAX_COUNT + 1);
	for (size_t i = 0; i < n && !err; i++)
		s->table[i] = NAN;
	return err;
}

/*
 * Whether what a core has more is of several: without its busiest process at least four tenths of it are left. A job that runs where
 * none ran before is no news of that core; if it is news at all, its own.
 */
static bool is_shared(const struct cam_why_series *k, uint32_t t, unsigned length, uint32_t x,
		      struct cam_why_law law)
{
	uint32_t one = cam_why_sum_at(k->of_one, t, length);
	return (x - one) * 10.0 >= (x - law.mean) * (10 - MOST);
}

void cam_why_note(struct cam_why_scanning *s, struct cam_why_series *k, uint32_t t, unsigned length,
		  uint32_t x, struct cam_why_law law, double score)
{
	float *board = k->board[length - 1];
	struct cam_why_best *best = &k->peaks[t];
	if (k->of_one && !is_shared(k, t, length, x, law))
		return;
	if ((float)score > board[t])
		board[t] = (float)score;
	if ((float)score > best->score)
		*best = (struct cam_why_best){
			(float)score, (float)law.mean,	       x,
			k->best.of,   (uint8_t)k->best.entity, (uint8_t)length};
	if (score > k->best.score && asked(s, t, length)) {
		k->best.score = score;
		k->best.at = t;
		k->best.length = length;
		k->best.x = x;
		k->best.law = law;
	}
}

/* Scores what is above, by the counts of its own history. */
int cam_why_score_surges(struct cam_why_scanning *s, struct cam_why_series *k, unsigned length)
{
	uint32_t t, next = 0;
	size_t i = 0;
	int err = cam_why_fill_counts(s, k, length);
	if (err)
		return err;
	bool brief = s->counts.n < LONG_HISTORY;
	struct cam_why_law law = cam_why_counts_law(&s->counts, length);
	err = clear_table(s);
	while (!err && cam_why_next_sum(k->marks, length, k->from, k->to, &i, &next, &t)) {
		uint32_t x = cam_why_sum_at(k->v, t, length);
		if (x < CAM_WHY_FLOOR || !cam_why_valid(s, k->what, false, t, length))
			continue;
		double score;
		if (brief) {
			uint32_t from = t > CAM_WHY_GUARD + length ? t - CAM_WHY_GUARD - length : 0;
			/* Without itself the rest has at most this mean. */
			if (x < law.mean * 0.5 + CAM_WHY_FLOOR)
				continue;
			/* Of a core, which is seldom far from its mean: whether it can matter at all. */
			if (k->of_one && (x < law.mean + CAM_WHY_FLOOR / 2.0 ||
					  !is_shared(k, t, length, x, law)))
				continue;
			struct cam_why_law own =
				cam_why_law_without(s, k, length, from, t + length + CAM_WHY_GUARD);
			score = own.dispersion > 0 ? cam_why_surge(x, own) : 0;
			if (score > 0)
				cam_why_note(s, k, t, length, x, own, score);
			continue;
		} else if (x <= s->counts.most) {
			if (isnan(s->table[x]))
				s->table[x] = (float)cam_why_surge(x, law);
			score = s->table[x];
		} else {
			score = cam_why_surge(x, law); /* outside the baseline that was given */
		}
		if (score > 0)
			cam_why_note(s, k, t, length, x, law, score);
	}
	cam_why_whole_again(s, k, length);
	return err;
}

/* Whether it may have as many samples as what can stop: each second is in `length` sums at most. */
static bool may_be_steady(const struct cam_why_scanning *s, const struct cam_why_series *k,
			  unsigned length)
{
	const uint32_t *before = s->before[k->what][length - 1];
	uint64_t all = 0;
	if (k->from + length > k->to)
		return false;
	uint32_t n = before[k->to - length + 1] - before[k->from];
	for (size_t i = 0; i < k->marks->n; i++)
		if (k->marks->v[i] >= k->from && k->marks->v[i] < k->to)
			all += k->v[k->marks->v[i]];
	return (double)all + 1 >= STEADY_MEAN * 0.8 * n;
}

/* Of one that has stopped: as much as above, below. */
int cam_why_score_stops(struct cam_why_scanning *s, struct cam_why_series *k, unsigned length)
{
	if (!may_be_steady(s, k, length))
		return 0;
	int err = cam_why_fill_counts(s, k, length);
	struct cam_why_law all = cam_why_counts_law(&s->counts, length);
	bool brief = s->counts.n < LONG_HISTORY;
	if (err || all.mean < STEADY_MEAN * 0.8 * length)
		return err;
	for (uint32_t t = k->from; t + length <= k->to; t++) {
		uint32_t x = cam_why_sum_at(k->v, t, length);
		struct cam_why_law law = all;
		if (x > law.mean / 3 || !cam_why_valid(s, k->what, false, t, length))
			continue;
		if (brief)
			law = cam_why_law_without(
				s, k, length,
				t > CAM_WHY_GUARD + length ? t - CAM_WHY_GUARD - length : 0,
				t + length + CAM_WHY_GUARD);
		if (law.dispersion > 0 && x <= law.mean / 4 && law.mean - x >= STOPPED_LEAST &&
		    law.mean >= STEADY_MEAN * length)
			cam_why_note(s, k, t, length, x, law, cam_why_score(x, law));
	}
	cam_why_whole_again(s, k, length);
	return 0;
}

/* How often it was as high (or as low) at other times. */
static uint32_t episodes(const struct cam_why_scanning *s, const struct cam_why_series *k,
			 const struct cam_why_candidate *c)
{
	uint32_t n = 0;
	bool in = false;
	double level = c->stopped ? fmax(c->x * 1.25, c->law.mean / 4) : c->x * 0.8;
	for (uint32_t t = k->from; t + c->length <= k->to; t++) {
		bool counts = cam_why_valid(s, k->what, true, t, c->length) &&
			      !(s->h->axis.flags[t] & CAM_WHY_NEAR);
		uint32_t x = counts ? cam_why_sum_at(k->v, t, c->length) : 0;
		bool is = counts && (c->stopped ? x <= level : x >= level);
		n += is && !in;
		in = is;
	}
	return n;
}

static double mean_of(const struct cam_why_scanning *s, const struct cam_why_series *k,
		      unsigned length, uint32_t from, uint32_t to)
{
	double sum = 0;
	uint32_t n = 0;
	for (uint32_t t = from > k->from ? from : k->from; t < to && t + length <= k->to; t++) {
		if (cam_why_valid(s, k->what, false, t, length) &&
		    !(s->h->axis.flags[t] & CAM_WHY_NEAR)) {
			sum += cam_why_sum_at(k->v, t, length);
			n++;
		}
	}
	return n ? sum / n : -1;
}

/* At the same time of other days. */
static double days_of(const struct cam_why_scanning *s, const struct cam_why_series *k,
		      const struct cam_why_candidate *c)
{
	const struct cam_why_axis *a = &s->h->axis;
	int64_t second = 1000000000, at = a->wall_ns[c->at];
	double sum = 0;
	uint32_t n = 0;
	if (at == INT64_MIN || !s->has_days)
		return -1;
	for (uint32_t t = k->from; t + c->length <= k->to; t++) {
		int64_t apart = a->wall_ns[t] == INT64_MIN ? 0 : llabs(a->wall_ns[t] - at) / second;
		int64_t off = apart % DAY_SECONDS;
		off = off > DAY_SECONDS / 2 ? DAY_SECONDS - off : off;
		if (apart < DAY_SECONDS / 2 || off > DAY_NEAR ||
		    !cam_why_valid(s, k->what, false, t, c->length))
			continue;
		sum += cam_why_sum_at(k->v, t, c->length);
		n++;
	}
	return n ? sum / n : -1;
}

int cam_why_keep(struct cam_why_scanning *s, struct cam_why_series *k)
{
	struct cam_why_scan *o = s->out;
	struct cam_why_candidate *c = &k->best;
	if (c->score <= 0)
		return 0;
	int err = cam_vec_reserve(&o->candidates, &o->cap_candidates, o->n_candidates + 1,
				  sizeof(*c), MAX_FOUND);
	if (err)
		return err;
	c->episodes = episodes(s, k, c);
	c->before = mean_of(s, k, c->length,
			    c->at > 60 + CAM_WHY_GUARD ? c->at - 60 - CAM_WHY_GUARD : 0, c->at);
	c->days = days_of(s, k, c);
	o->candidates[o->n_candidates++] = *c;
	return 0;
}
