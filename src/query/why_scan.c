// SPDX-License-Identifier: Apache-2.0
/*
 * One entity at a time is spread out over the axis, as a count for each second; sums over 1, 2 and 3 seconds
 * are scored against all such sums of its history (why_stats.h).
 *
 *	a name, a cgroup	the sum of its processes; history is everything observed
 *	a process		its history is its life; of one younger than a minute (it has none) the busiest
 *				process of its name, second by second, while it did not live
 *	a function		history is where stacks were read
 *
 * In short histories (under 20 minutes) a sum is no part of its own history, nor are its neighbours: they would
 * hide it. In long ones that makes no difference, and the score depends on the value alone, so each
 * value is scored once.
 *
 * What stopped: a name or process that was there for most of the time, with at least 8 samples a second, and
 * has a quarter of that or less.
 *
 * Invariants: 1. A sum that holds an unobserved second is neither scored nor history. 2. All seconds are
 * scored by the same rule, those asked about too. 3. Work is by cell, not by second: where an entity had no sample its sum is 0, and how
 * many such sums there are is known without looking at them. Only what may have stopped is looked at second by second.
 */
#include "query/why_scan.h"

#include "base/vec.h"
#include "query/why_marks.h"

#include <math.h>
#include <string.h>

#define GUARD	      6u
#define YOUNG_SECONDS 60u
#define LEAST_HISTORY 20u /* sums */
#define LONG_HISTORY  1200u
#define MAX_FOUND     (1u << 20)
#define STEADY_MEAN   8.0
#define STEADY_LEAST  120u
#define STOPPED_LEAST 10.0 /* samples missing */
#define DAY_SECONDS   86400
#define DAY_NEAR      600

/* Where the cells of an entity are known. */
enum known { OF_NAMES, OF_STACKS, OF_PIDS, KNOWN };

struct scan {
	struct cam_why_history *h;
	const struct cam_progress *progress;
	struct cam_why_scan *out;
	uint32_t *own, *most; /* dense, by second: of the entity; of the busiest of a name */
	uint32_t *sums;	      /* dense: of a name or cgroup */
	struct cam_why_counts counts;
	float *table; /* scores by value; NAN: not yet */
	size_t cap_table;
	uint32_t *starts;		      /* of processes' cells */
	uint32_t *order;		      /* processes by name, or by cgroup */
	uint32_t seen[KNOWN];		      /* seconds observed */
	bool has_days;			      /* some are half a day from others */
	struct cam_why_marks of_many, of_one; /* of a name or cgroup; of a process or function */
	uint32_t *fits;			      /* by second: FITS() of sums that begin there */
	/* By what must be known, and length - 1: sums of the baseline that begin before a second. */
	uint32_t *before[KNOWN][CAM_WHY_LENGTHS];
	uint32_t *busiest; /* by name: where the history's cells of it begin */
	size_t n_busiest;  /* names */
	/* Sums that begin here are out of the counts: law_without(). */
	uint32_t out_from, out_to;
};

/* A bit for each length, what must be known, and whether it is for a baseline. */
#define FITS(length, what, baseline) \
	(1u << ((length)-1 + CAM_WHY_LENGTHS * ((unsigned)(what) + KNOWN * (baseline))))

/* What is scored: seconds [from, to) of v, where the flags are all set. */
struct series {
	const uint32_t *v;
	const struct cam_why_marks *marks; /* of v */
	uint32_t from, to;
	enum known what;	       /* only where that is known */
	struct cam_why_candidate best; /* entity and of are set */
	float **board;
};

static bool have(const struct scan *s, uint8_t need, uint32_t t, unsigned length)
{
	const uint8_t *f = s->h->axis.flags + t;
	uint8_t all = f[0];
	for (unsigned i = 1; i < length; i++)
		all &= f[i];
	return (all & need) == need;
}

static bool valid(const struct scan *s, enum known what, bool baseline, uint32_t t, unsigned length)
{
	return s->fits[t] & FITS(length, what, baseline);
}

/* What valid() says, and how many sums of the baseline there are up to each second. */
static int find_fits(struct scan *s)
{
	static const uint8_t needs[KNOWN] = {CAM_WHY_SEEN, CAM_WHY_SEEN | CAM_WHY_FUNCTIONS,
					     CAM_WHY_SEEN | CAM_WHY_PIDS};
	uint32_t n = s->h->axis.n;
	s->fits = calloc((size_t)n + CAM_WHY_LENGTHS, sizeof(*s->fits));
	for (unsigned i = 0; i < KNOWN * CAM_WHY_LENGTHS; i++) {
		uint32_t **to = &s->before[i / CAM_WHY_LENGTHS][i % CAM_WHY_LENGTHS];
		*to = calloc((size_t)n + 2, sizeof(**to));
		if (!*to)
			return -ENOMEM;
	}
	if (!s->fits)
		return -ENOMEM;
	for (unsigned i = 0; i < KNOWN * CAM_WHY_LENGTHS; i++) {
		unsigned length = i % CAM_WHY_LENGTHS + 1, what = i / CAM_WHY_LENGTHS;
		uint32_t *before = s->before[what][length - 1];
		for (uint32_t t = 0; t < n; t++) {
			bool fits = t + length <= n && have(s, needs[what], t, length);
			bool base = fits && have(s, CAM_WHY_BASELINE, t, length);
			s->fits[t] |= fits ? FITS(length, what, 0) : 0;
			s->fits[t] |= base ? FITS(length, what, 1) : 0;
			before[t + 1] = before[t] + base;
		}
	}
	return 0;
}

static uint32_t sum_at(const uint32_t *v, uint32_t t, unsigned length)
{
	uint32_t sum = v[t];
	for (unsigned i = 1; i < length; i++)
		sum += v[t + i];
	return sum;
}

static int fill_counts(struct scan *s, const struct series *k, unsigned length)
{
	const uint32_t *before = s->before[k->what][length - 1];
	uint32_t t, next = 0, looked_at = 0;
	size_t i = 0;
	int err = 0;
	cam_why_counts_clear(&s->counts);
	if (k->from + length > k->to)
		return 0;
	while (!err && cam_why_next_sum(k->marks, length, k->from, k->to, &i, &next, &t)) {
		if (!valid(s, k->what, true, t, length))
			continue;
		err = cam_why_counts_add(&s->counts, sum_at(k->v, t, length));
		looked_at++;
	}
	uint32_t all = before[k->to - length + 1] - before[k->from];
	return err ? err : cam_why_counts_add_many(&s->counts, 0, all - looked_at);
}

/* Takes sums that begin in [from, to) out of the counts, or puts them back. */
static void move_counts(struct scan *s, const struct series *k, unsigned length, uint32_t from,
			uint32_t to, bool out)
{
	for (uint32_t t = from; t < to; t++) {
		if (!valid(s, k->what, true, t, length))
			continue;
		if (out)
			cam_why_counts_remove(&s->counts, sum_at(k->v, t, length));
		else
			cam_why_counts_add(&s->counts, sum_at(k->v, t, length));
	}
}

/*
 * The law of the counts without the sums that begin in [from, to); dispersion 0: too few are left. They stay out until
 * whole_again(): who asks for one second after the other has most of them out already.
 */
static struct cam_why_law law_without(struct scan *s, const struct series *k, unsigned length,
				      uint32_t from, uint32_t to)
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

static void whole_again(struct scan *s, const struct series *k, unsigned length)
{
	move_counts(s, k, length, s->out_from, s->out_to, false);
	s->out_from = s->out_to = 0;
}

static bool asked(const struct scan *s, uint32_t t, unsigned length)
{
	return have(s, CAM_WHY_ASKED, t, length);
}

static int clear_table(struct scan *s)
{
	size_t n = (size_t)s->counts.most + 1;
	int err = cam_vec_reserve(&s->table, &s->cap_table, n, sizeof(*s->table),
				  CAM_WHY_MAX_COUNT + 1);
	for (size_t i = 0; i < n && !err; i++)
		s->table[i] = NAN;
	return err;
}

static void note(struct scan *s, struct series *k, uint32_t t, unsigned length, uint32_t x,
		 struct cam_why_law law, double score)
{
	float *board = k->board[length - 1];
	struct cam_why_best *best = &(k->best.stopped ? s->out->stop : s->out->surge)[t];
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
static int score_surges(struct scan *s, struct series *k, unsigned length)
{
	uint32_t t, next = 0;
	size_t i = 0;
	int err = fill_counts(s, k, length);
	if (err)
		return err;
	bool brief = s->counts.n < LONG_HISTORY;
	struct cam_why_law law = cam_why_counts_law(&s->counts, length);
	err = clear_table(s);
	while (!err && cam_why_next_sum(k->marks, length, k->from, k->to, &i, &next, &t)) {
		uint32_t x = sum_at(k->v, t, length);
		if (x < CAM_WHY_FLOOR || !valid(s, k->what, false, t, length))
			continue;
		double score;
		if (brief) {
			uint32_t from = t > GUARD + length ? t - GUARD - length : 0;
			/* Without itself the rest has at most this mean. */
			if (x < law.mean * 0.5 + CAM_WHY_FLOOR)
				continue;
			struct cam_why_law own =
				law_without(s, k, length, from, t + length + GUARD);
			score = own.dispersion > 0 ? cam_why_surge(x, own) : 0;
			if (score > 0)
				note(s, k, t, length, x, own, score);
			continue;
		} else if (x <= s->counts.most) {
			if (isnan(s->table[x]))
				s->table[x] = (float)cam_why_surge(x, law);
			score = s->table[x];
		} else {
			score = cam_why_surge(x, law); /* outside the baseline that was given */
		}
		if (score > 0)
			note(s, k, t, length, x, law, score);
	}
	whole_again(s, k, length);
	return err;
}

/* Whether it may have as many samples as what can stop: each second is in `length` sums at most. */
static bool may_be_steady(const struct scan *s, const struct series *k, unsigned length)
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
static int score_stops(struct scan *s, struct series *k, unsigned length)
{
	if (!may_be_steady(s, k, length))
		return 0;
	int err = fill_counts(s, k, length);
	struct cam_why_law all = cam_why_counts_law(&s->counts, length);
	bool brief = s->counts.n < LONG_HISTORY;
	if (err || all.mean < STEADY_MEAN * 0.8 * length)
		return err;
	for (uint32_t t = k->from; t + length <= k->to; t++) {
		uint32_t x = sum_at(k->v, t, length);
		struct cam_why_law law = all;
		if (x > law.mean / 3 || !valid(s, k->what, false, t, length))
			continue;
		if (brief)
			law = law_without(s, k, length, t > GUARD + length ? t - GUARD - length : 0,
					  t + length + GUARD);
		if (law.dispersion > 0 && x <= law.mean / 4 && law.mean - x >= STOPPED_LEAST &&
		    law.mean >= STEADY_MEAN * length)
			note(s, k, t, length, x, law, cam_why_score(x, law));
	}
	whole_again(s, k, length);
	return 0;
}

/* How often it was as high (or as low) at other times. */
static uint32_t episodes(const struct scan *s, const struct series *k,
			 const struct cam_why_candidate *c)
{
	uint32_t n = 0;
	bool in = false;
	double level = c->stopped ? fmax(c->x * 1.25, c->law.mean / 4) : c->x * 0.8;
	for (uint32_t t = k->from; t + c->length <= k->to; t++) {
		bool counts = valid(s, k->what, true, t, c->length) &&
			      !(s->h->axis.flags[t] & CAM_WHY_NEAR);
		uint32_t x = counts ? sum_at(k->v, t, c->length) : 0;
		bool is = counts && (c->stopped ? x <= level : x >= level);
		n += is && !in;
		in = is;
	}
	return n;
}

static double mean_of(const struct scan *s, const struct series *k, unsigned length, uint32_t from,
		      uint32_t to)
{
	double sum = 0;
	uint32_t n = 0;
	for (uint32_t t = from > k->from ? from : k->from; t < to && t + length <= k->to; t++) {
		if (valid(s, k->what, false, t, length) && !(s->h->axis.flags[t] & CAM_WHY_NEAR)) {
			sum += sum_at(k->v, t, length);
			n++;
		}
	}
	return n ? sum / n : -1;
}

/* At the same time of other days. */
static double days_of(const struct scan *s, const struct series *k,
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
		    !valid(s, k->what, false, t, c->length))
			continue;
		sum += sum_at(k->v, t, c->length);
		n++;
	}
	return n ? sum / n : -1;
}

static int keep(struct scan *s, struct series *k)
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
	c->before = mean_of(s, k, c->length, c->at > 60 + GUARD ? c->at - 60 - GUARD : 0, c->at);
	c->days = days_of(s, k, c);
	o->candidates[o->n_candidates++] = *c;
	return 0;
}

static enum known known_of(enum cam_why_entity entity)
{
	return entity == CAM_WHY_FUNCTION  ? OF_STACKS
	       : entity == CAM_WHY_PROCESS ? OF_PIDS
					   : OF_NAMES;
}

static int scan_series(struct scan *s, enum cam_why_entity entity, uint32_t of, const uint32_t *v,
		       const struct cam_why_marks *marks, uint32_t from, uint32_t to)
{
	struct series k = {
		.v = v,
		.marks = marks,
		.from = from,
		.to = to,
		.what = known_of(entity),
		.best = {.entity = entity, .of = of},
		.board = entity == CAM_WHY_FUNCTION ? s->out->by_function : s->out->by_process,
	};
	int err = cam_why_go_on(s->progress, s->h);
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++)
		err = score_surges(s, &k, length);
	return err ? err : keep(s, &k);
}

static int scan_stops(struct scan *s, enum cam_why_entity entity, uint32_t of, const uint32_t *v,
		      const struct cam_why_marks *marks, uint32_t from, uint32_t to)
{
	struct series k = {
		.v = v,
		.marks = marks,
		.from = from,
		.to = to + CAM_WHY_LENGTHS < s->h->axis.n ? to + CAM_WHY_LENGTHS : s->h->axis.n,
		.what = known_of(entity),
		.best = {.entity = entity, .of = of, .stopped = true},
		.board = s->out->stopped,
	};
	int err = 0;
	if (to - from < STEADY_LEAST || (to - from) * 2 < s->seen[known_of(entity)])
		return 0;
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++)
		err = score_stops(s, &k, length);
	return err ? err : keep(s, &k);
}

/* The most samples in 3 seconds in a row, at least: cells are by time. */
static uint64_t peak_of(const struct cam_why_cell *c, size_t n)
{
	uint64_t peak = 0, sum = 0;
	for (size_t i = 0, from = 0; i < n; i++) {
		sum += c[i].n;
		while (c[from].at + CAM_WHY_LENGTHS <= c[i].at)
			sum -= c[from++].n;
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

static bool young(const struct cam_why_process *p)
{
	return p->pid != CAM_WHY_REST && p->last - p->first < YOUNG_SECONDS;
}

/* A process without a history, held against the busiest of its name, whose counts are filled. */
static void score_young(struct scan *s, struct series *k, const struct series *busiest,
			unsigned length)
{
	struct cam_why_law law;
	bool known = false;
	for (uint32_t t = k->from; t + 1 <= k->to; t++) {
		if (t + length > busiest->to || !valid(s, OF_PIDS, false, t, length))
			continue;
		uint32_t x = sum_at(k->v, t, length);
		if (x < CAM_WHY_FLOOR)
			continue;
		if (!known)
			law = law_without(s, busiest, length,
					  k->from > GUARD + length ? k->from - GUARD - length : 0,
					  k->to + GUARD);
		known = true;
		double score = law.dispersion > 0 ? cam_why_surge(x, law) : 0;
		if (score > 0)
			note(s, k, t, length, x, law, score);
	}
	whole_again(s, busiest, length);
}

static void spread(const struct scan *s, uint32_t process, uint32_t *to, bool add)
{
	for (uint32_t i = s->starts[process]; i < s->starts[process + 1]; i++) {
		const struct cam_why_cell *c = &s->h->by_process.v[i];
		to[c->at] = add ? to[c->at] + c->n : 0;
	}
}

/* Young, and with enough samples in 3 seconds to be scored. */
static bool may_be_new(const struct scan *s, uint32_t process)
{
	const struct cam_why_process *p = &s->h->processes[process];
	return young(p) && p->first != UINT32_MAX &&
	       peak_of(s->h->by_process.v + s->starts[process],
		       s->starts[process + 1] - s->starts[process]) >= CAM_WHY_FLOOR;
}

static int scan_young(struct scan *s, const uint32_t *of, size_t n)
{
	const struct series busiest = {.v = s->most, .marks = &s->of_many, .to = s->h->axis.n};
	int err = 0;
	bool any = false;
	for (size_t i = 0; i < n && !any; i++)
		any = may_be_new(s, of[i]);
	if (!any)
		return 0;
	struct series *k = calloc(n, sizeof(*k));
	if (!k)
		return -ENOMEM;
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++) {
		err = fill_counts(s, &busiest, length);
		for (size_t i = 0; i < n && !err; i++) {
			const struct cam_why_process *p = &s->h->processes[of[i]];
			if (!may_be_new(s, of[i]))
				continue;
			if (length == 1)
				k[i] = (struct series){.from = p->first,
						       .to = p->last + 1,
						       .best = {.entity = CAM_WHY_PROCESS,
								.of = of[i]},
						       .board = s->out->by_process};
			k[i].v = s->own;
			spread(s, of[i], s->own, true);
			score_young(s, &k[i], &busiest, length);
			spread(s, of[i], s->own, false);
			err = cam_why_go_on(s->progress, s->h);
		}
	}
	for (size_t i = 0; i < n && !err; i++) {
		if (k[i].best.score <= 0)
			continue;
		k[i].v = busiest.v;
		k[i].from = 0;
		k[i].to = busiest.to;
		err = keep(s, &k[i]);
	}
	free(k);
	return err;
}

/* Processes, spread into s->sums, that have FLOOR samples in 3 seconds at least once. */
static bool matters(const struct scan *s, const uint32_t *of, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = s->starts[of[i]]; k < s->starts[of[i] + 1]; k++) {
			uint32_t at = s->h->by_process.v[k].at;
			if (sum_at(s->sums, at, CAM_WHY_LENGTHS) >= CAM_WHY_FLOOR ||
			    (at >= 2 && sum_at(s->sums, at - 2, CAM_WHY_LENGTHS) >= CAM_WHY_FLOOR))
				return true;
		}
	}
	return false;
}

/* Of processes that are spread out in v. */
static int mark_processes(const struct scan *s, struct cam_why_marks *m, const uint32_t *of,
			  size_t n, const uint32_t *v)
{
	size_t cells = 0;
	int err = 0;
	m->n = 0;
	for (size_t i = 0; i < n; i++)
		cells += s->starts[of[i] + 1] - s->starts[of[i]];
	if (cells > s->h->axis.n / 8) {
		err = cam_vec_reserve(&m->v, &m->cap, s->h->axis.n, sizeof(*m->v), UINT32_MAX);
		for (uint32_t t = 0; t < s->h->axis.n && !err; t++)
			if (v[t])
				m->v[m->n++] = t;
		return err;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = cam_why_mark_cells(m, s->h->by_process.v + s->starts[of[i]],
					 s->starts[of[i] + 1] - s->starts[of[i]]);
	cam_why_settle_marks(m);
	return err;
}

static void raise_most(struct scan *s, const struct cam_why_cell *c, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		s->most[c[i].at] = c[i].n > s->most[c[i].at] ? c[i].n : s->most[c[i].at];
}

/* All processes of a name: together, and each. */
static int scan_name(struct scan *s, const uint32_t *of, size_t n)
{
	uint32_t first = UINT32_MAX, last = 0, name = s->h->processes[of[0]].name;
	int err = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_why_process *p = &s->h->processes[of[i]];
		if (p->first == UINT32_MAX)
			continue;
		first = p->first < first ? p->first : first;
		last = p->last > last ? p->last : last;
		spread(s, of[i], s->sums, true);
		if (p->pid == CAM_WHY_REST)
			continue;
		if (n > 1)
			raise_most(s, s->h->by_process.v, s->starts[of[i]], s->starts[of[i] + 1]);
	}
	if (n > 1 && name < s->n_busiest)
		raise_most(s, s->h->busiest.v, s->busiest[name], s->busiest[name + 1]);
	bool worth = first != UINT32_MAX && matters(s, of, n);
	const struct cam_why_marks *marks = &s->of_many;
	if (worth)
		err = mark_processes(s, &s->of_many, of, n, s->sums);
	if (!err && worth)
		err = scan_series(s, CAM_WHY_NAME, name, s->sums, marks, 0, s->h->axis.n);
	if (!err && worth)
		err = scan_stops(s, CAM_WHY_NAME, name, s->sums, marks, first, last + 1);
	for (size_t i = 0; i < n && n > 1 && worth && !err; i++) {
		const struct cam_why_process *p = &s->h->processes[of[i]];
		const struct cam_why_cell *cells = s->h->by_process.v + s->starts[of[i]];
		if (p->first == UINT32_MAX || p->pid == CAM_WHY_REST || young(p) ||
		    peak_of(cells, s->starts[of[i] + 1] - s->starts[of[i]]) < CAM_WHY_FLOOR)
			continue;
		spread(s, of[i], s->own, true);
		marks = &s->of_one;
		err = mark_processes(s, &s->of_one, &of[i], 1, s->own);
		if (!err)
			err = scan_series(s, CAM_WHY_PROCESS, of[i], s->own, marks, p->first,
					  p->last + 1);
		if (!err)
			err = scan_stops(s, CAM_WHY_PROCESS, of[i], s->own, marks, p->first,
					 p->last + 1);
		spread(s, of[i], s->own, false);
	}
	if (!err && n > 1 && worth)
		err = scan_young(s, of, n);
	for (size_t i = 0; i < n; i++) {
		spread(s, of[i], s->sums, false);
		if (n > 1)
			spread(s, of[i], s->most, false);
	}
	return err;
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct cam_why_process *p = arg, *a = &p[*(const uint32_t *)x],
				     *b = &p[*(const uint32_t *)y];
	return a->name < b->name ? -1 : a->name > b->name;
}

static int by_cgroup(const void *x, const void *y, void *arg)
{
	const struct cam_why_process *p = arg, *a = &p[*(const uint32_t *)x],
				     *b = &p[*(const uint32_t *)y];
	return a->cgroup < b->cgroup ? -1 : a->cgroup > b->cgroup;
}

static int scan_names(struct scan *s)
{
	size_t n = s->h->n_processes;
	const struct cam_why_process *p = s->h->processes;
	int err = 0;
	qsort_r(s->order, n, sizeof(*s->order), by_name, s->h->processes);
	for (size_t i = 0; i < n && !err;) {
		size_t from = i;
		while (i < n && p[s->order[i]].name == p[s->order[from]].name)
			i++;
		err = scan_name(s, s->order + from, i - from);
	}
	return err;
}

/* Only those of several names: the others are their name. */
static int scan_cgroups(struct scan *s)
{
	size_t n = s->h->n_processes;
	const struct cam_why_process *p = s->h->processes;
	int err = 0;
	qsort_r(s->order, n, sizeof(*s->order), by_cgroup, s->h->processes);
	for (size_t i = 0; i < n && !err;) {
		size_t from = i;
		bool several = false;
		while (i < n && p[s->order[i]].cgroup == p[s->order[from]].cgroup) {
			several = several || p[s->order[i]].name != p[s->order[from]].name;
			i++;
		}
		uint32_t cgroup = p[s->order[from]].cgroup;
		if (!several || !cgroup)
			continue;
		for (size_t k = from; k < i; k++)
			spread(s, s->order[k], s->sums, true);
		if (matters(s, s->order + from, i - from)) {
			err = mark_processes(s, &s->of_many, s->order + from, i - from, s->sums);
			if (!err)
				err = scan_series(s, CAM_WHY_CGROUP, cgroup, s->sums, &s->of_many,
						  0, s->h->axis.n);
		}
		for (size_t k = from; k < i; k++)
			spread(s, s->order[k], s->sums, false);
	}
	return err;
}

static int scan_functions(struct scan *s)
{
	struct cam_why_cells *cells = &s->h->by_function;
	uint32_t *starts;
	int err = cam_why_cells_sort(cells, s->h->n_functions, &starts);
	if (err)
		return err;
	for (uint32_t f = 0; f < s->h->n_functions && !err; f++) {
		const struct cam_why_cell *c = cells->v + starts[f];
		size_t n = starts[f + 1] - starts[f];
		if (peak_of(c, n) < CAM_WHY_FLOOR)
			continue;
		for (size_t i = 0; i < n; i++)
			s->own[c[i].at] += c[i].n;
		s->of_one.n = 0;
		err = cam_why_mark_cells(&s->of_one, c, n);
		cam_why_settle_marks(&s->of_one);
		if (!err)
			err = scan_series(s, CAM_WHY_FUNCTION, f, s->own, &s->of_one, 0,
					  s->h->axis.n);
		for (size_t i = 0; i < n; i++)
			s->own[c[i].at] = 0;
	}
	free(starts);
	return err;
}

static int make_room(struct scan *s)
{
	size_t n = (size_t)s->h->axis.n + CAM_WHY_LENGTHS;
	s->own = calloc(n, sizeof(*s->own));
	s->most = calloc(n, sizeof(*s->most));
	s->sums = calloc(n, sizeof(*s->sums));
	s->order = calloc(s->h->n_processes + 1, sizeof(*s->order));
	s->out->surge = calloc(n, sizeof(*s->out->surge));
	s->out->stop = calloc(n, sizeof(*s->out->stop));
	s->out->paused = calloc(n, sizeof(*s->out->paused));
	bool good = s->own && s->most && s->sums && s->order && s->out->surge && s->out->stop &&
		    s->out->paused;
	for (unsigned i = 0; i < CAM_WHY_LENGTHS; i++) {
		s->out->by_process[i] = calloc(n, sizeof(float));
		s->out->by_function[i] = calloc(n, sizeof(float));
		s->out->stopped[i] = calloc(n, sizeof(float));
		good = good && s->out->by_process[i] && s->out->by_function[i] &&
		       s->out->stopped[i];
	}
	for (uint32_t i = 0; good && i < s->h->n_processes; i++)
		s->order[i] = i;
	int err = good ? find_fits(s) : -ENOMEM;
	for (uint32_t i = 0; i < s->h->axis.n && !err; i++)
		for (unsigned what = 0; what < KNOWN; what++)
			s->seen[what] += !!(s->fits[i] & FITS(1, what, 0));
	s->has_days = cam_why_axis_has_days(&s->h->axis);
	return err;
}

int cam_why_scan_run(struct cam_why_history *h, const struct cam_progress *progress,
		     struct cam_why_scan *out)
{
	struct scan s = {.h = h, .out = out, .progress = progress};
	*out = (struct cam_why_scan){0};
	int err = make_room(&s);
	if (!err)
		err = cam_why_cells_sort(&h->by_process, h->n_processes, &s.starts);
	if (!err && h->busiest.n) {
		s.n_busiest = h->names->strings.n;
		err = cam_why_cells_sort(&h->busiest, s.n_busiest, &s.busiest);
	}
	if (!err)
		err = scan_names(&s);
	if (!err)
		err = scan_cgroups(&s);
	if (!err)
		err = scan_functions(&s);
	free(s.own);
	free(s.most);
	free(s.sums);
	free(s.order);
	free(s.starts);
	free(s.table);
	free(s.of_many.v);
	free(s.of_one.v);
	free(s.fits);
	free(s.busiest);
	for (unsigned i = 0; i < KNOWN * CAM_WHY_LENGTHS; i++)
		free(s.before[i / CAM_WHY_LENGTHS][i % CAM_WHY_LENGTHS]);
	cam_why_counts_free(&s.counts);
	return err;
}

void cam_why_scan_free(struct cam_why_scan *s)
{
	for (unsigned i = 0; i < CAM_WHY_LENGTHS; i++) {
		free(s->by_process[i]);
		free(s->by_function[i]);
		free(s->stopped[i]);
	}
	free(s->surge);
	free(s->stop);
	free(s->paused);
	free(s->candidates);
	*s = (struct cam_why_scan){0};
}
