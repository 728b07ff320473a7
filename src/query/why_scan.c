// SPDX-License-Identifier: Apache-2.0
/*
 * One entity at a time is spread out over the axis, as a count for each second; sums over 1, 2 and 3 seconds
 * are scored against all such sums of its history (why_stats.h).
 *
 *	a name, a cgroup	the sum of its processes; history is everything observed
 *	a process		its history is its life; of one younger than a minute (it has none) the busiest
 *				process of its name, second by second, while it did not live
 *	a function, a path of	history is where stacks were read
 *	the kernel, a core
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
#include "query/why_series.h"

#include "base/vec.h"

#include <string.h>

#define YOUNG_SECONDS 60u
#define STEADY_LEAST  120u

static enum cam_why_known known_of(enum cam_why_entity entity)
{
	switch (entity) {
	case CAM_WHY_FUNCTION:
	case CAM_WHY_CORE:
	case CAM_WHY_KERNEL_PATH:
		return CAM_WHY_OF_STACKS;
	case CAM_WHY_PROCESS:
		return CAM_WHY_OF_PIDS;
	default:
		return CAM_WHY_OF_NAMES;
	}
}

static int scan_series(struct cam_why_scanning *s, enum cam_why_entity entity, uint32_t of,
		       const uint32_t *v, const struct cam_why_marks *marks, uint32_t from,
		       uint32_t to)
{
	struct cam_why_series k = {
		.v = v,
		.marks = marks,
		.from = from,
		.to = to,
		.what = known_of(entity),
		.best = {.entity = entity, .of = of},
		.board = s->out->by_process,
		.peaks = s->out->surge,
	};
	if (entity == CAM_WHY_FUNCTION) {
		k.board = s->out->by_function;
	} else if (entity == CAM_WHY_KERNEL_PATH) {
		k.board = s->out->by_path;
		k.peaks = s->out->path;
	} else if (entity == CAM_WHY_CORE) {
		k.board = s->out->by_core;
		k.peaks = s->out->core;
		k.of_one = s->most;
	}
	int err = cam_why_go_on(s->progress, s->h);
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++)
		err = cam_why_score_surges(s, &k, length);
	return err ? err : cam_why_keep(s, &k);
}

static int scan_stops(struct cam_why_scanning *s, enum cam_why_entity entity, uint32_t of,
		      const uint32_t *v, const struct cam_why_marks *marks, uint32_t from,
		      uint32_t to)
{
	struct cam_why_series k = {
		.v = v,
		.marks = marks,
		.from = from,
		.to = to + CAM_WHY_LENGTHS < s->h->axis.n ? to + CAM_WHY_LENGTHS : s->h->axis.n,
		.what = known_of(entity),
		.best = {.entity = entity, .of = of, .stopped = true},
		.board = s->out->stopped,
		.peaks = s->out->stop,
	};
	int err = 0;
	if (to - from < STEADY_LEAST || (to - from) * 2 < s->seen[known_of(entity)])
		return 0;
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++)
		err = cam_why_score_stops(s, &k, length);
	return err ? err : cam_why_keep(s, &k);
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
static void score_young(struct cam_why_scanning *s, struct cam_why_series *k,
			const struct cam_why_series *busiest, unsigned length)
{
	struct cam_why_law law;
	bool known = false;
	for (uint32_t t = k->from; t + 1 <= k->to; t++) {
		if (t + length > busiest->to ||
		    !cam_why_valid(s, CAM_WHY_OF_PIDS, false, t, length))
			continue;
		uint32_t x = cam_why_sum_at(k->v, t, length);
		if (x < CAM_WHY_FLOOR)
			continue;
		if (!known)
			law = cam_why_law_without(s, busiest, length,
						  k->from > CAM_WHY_GUARD + length
							  ? k->from - CAM_WHY_GUARD - length
							  : 0,
						  k->to + CAM_WHY_GUARD);
		known = true;
		double score = law.dispersion > 0 ? cam_why_surge(x, law) : 0;
		if (score > 0)
			cam_why_note(s, k, t, length, x, law, score);
	}
	cam_why_whole_again(s, busiest, length);
}

static void spread(const struct cam_why_scanning *s, uint32_t process, uint32_t *to, bool add)
{
	for (uint32_t i = s->starts[process]; i < s->starts[process + 1]; i++) {
		const struct cam_why_cell *c = &s->h->by_process.v[i];
		to[c->at] = add ? to[c->at] + c->n : 0;
	}
}

/* Young, and with enough samples in 3 seconds to be scored. */
static bool may_be_new(const struct cam_why_scanning *s, uint32_t process)
{
	const struct cam_why_process *p = &s->h->processes[process];
	return young(p) && p->first != UINT32_MAX &&
	       peak_of(s->h->by_process.v + s->starts[process],
		       s->starts[process + 1] - s->starts[process]) >= CAM_WHY_FLOOR;
}

static int scan_young(struct cam_why_scanning *s, const uint32_t *of, size_t n)
{
	const struct cam_why_series busiest = {
		.v = s->most, .marks = &s->of_many, .to = s->h->axis.n};
	int err = 0;
	bool any = false;
	for (size_t i = 0; i < n && !any; i++)
		any = may_be_new(s, of[i]);
	if (!any)
		return 0;
	struct cam_why_series *k = calloc(n, sizeof(*k));
	if (!k)
		return -ENOMEM;
	for (unsigned length = 1; length <= CAM_WHY_LENGTHS && !err; length++) {
		err = cam_why_fill_counts(s, &busiest, length);
		for (size_t i = 0; i < n && !err; i++) {
			const struct cam_why_process *p = &s->h->processes[of[i]];
			if (!may_be_new(s, of[i]))
				continue;
			if (length == 1)
				k[i] = (struct cam_why_series){.from = p->first,
							       .to = p->last + 1,
							       .best = {.entity = CAM_WHY_PROCESS,
									.of = of[i]},
							       .board = s->out->by_process,
							       .peaks = s->out->surge};
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
		err = cam_why_keep(s, &k[i]);
	}
	free(k);
	return err;
}

/* Processes, spread into s->sums, that have FLOOR samples in 3 seconds at least once. */
static bool matters(const struct cam_why_scanning *s, const uint32_t *of, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = s->starts[of[i]]; k < s->starts[of[i] + 1]; k++) {
			uint32_t at = s->h->by_process.v[k].at;
			if (cam_why_sum_at(s->sums, at, CAM_WHY_LENGTHS) >= CAM_WHY_FLOOR ||
			    (at >= 2 &&
			     cam_why_sum_at(s->sums, at - 2, CAM_WHY_LENGTHS) >= CAM_WHY_FLOOR))
				return true;
		}
	}
	return false;
}

/* Of processes that are spread out in v. */
static int mark_processes(const struct cam_why_scanning *s, struct cam_why_marks *m,
			  const uint32_t *of, size_t n, const uint32_t *v)
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

static void raise_most(struct cam_why_scanning *s, const struct cam_why_cell *c, uint32_t from,
		       uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		s->most[c[i].at] = c[i].n > s->most[c[i].at] ? c[i].n : s->most[c[i].at];
}

/* All processes of a name: together, and each. */
static int scan_name(struct cam_why_scanning *s, const uint32_t *of, size_t n)
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

static int scan_names(struct cam_why_scanning *s)
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
static int scan_cgroups(struct cam_why_scanning *s)
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

static int scan_functions(struct cam_why_scanning *s)
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
			err = scan_series(
				s, s->h->functions[f].leaf ? CAM_WHY_KERNEL_PATH : CAM_WHY_FUNCTION,
				f, s->own, &s->of_one, 0, s->h->axis.n);
		for (size_t i = 0; i < n; i++)
			s->own[c[i].at] = 0;
	}
	free(starts);
	return err;
}

/* Cores have cells of all their samples, and as many of those of their busiest process. */
static int scan_cores(struct cam_why_scanning *s)
{
	struct cam_why_history *h = s->h;
	uint32_t *starts = NULL, *same = NULL, n = h->n_cores;
	int err = n ? cam_why_cells_sort(&h->by_core, n, &starts) : 0;
	if (!err && n)
		err = cam_why_cells_sort(&h->of_one, n, &same);
	for (uint32_t core = 0; core < n && !err; core++) {
		const struct cam_why_cell *c = h->by_core.v + starts[core],
					  *one = h->of_one.v + starts[core];
		size_t cells = starts[core + 1] - starts[core];
		for (size_t i = 0; i < cells; i++) {
			s->own[c[i].at] += c[i].n;
			s->most[one[i].at] += one[i].n;
		}
		s->of_one.n = 0;
		err = cam_why_mark_cells(&s->of_one, c, cells);
		cam_why_settle_marks(&s->of_one);
		if (!err)
			err = scan_series(s, CAM_WHY_CORE, core, s->own, &s->of_one, 0, h->axis.n);
		for (size_t i = 0; i < cells; i++)
			s->own[c[i].at] = s->most[c[i].at] = 0;
	}
	free(starts);
	free(same);
	return err;
}

static int make_room(struct cam_why_scanning *s)
{
	size_t n = (size_t)s->h->axis.n + CAM_WHY_LENGTHS;
	s->own = calloc(n, sizeof(*s->own));
	s->most = calloc(n, sizeof(*s->most));
	s->sums = calloc(n, sizeof(*s->sums));
	s->order = calloc(s->h->n_processes + 1, sizeof(*s->order));
	s->out->surge = calloc(n, sizeof(*s->out->surge));
	s->out->stop = calloc(n, sizeof(*s->out->stop));
	s->out->core = calloc(n, sizeof(*s->out->core));
	s->out->path = calloc(n, sizeof(*s->out->path));
	s->out->paused = calloc(n, sizeof(*s->out->paused));
	bool good = s->own && s->most && s->sums && s->order && s->out->surge && s->out->stop &&
		    s->out->core && s->out->path && s->out->paused;
	for (unsigned i = 0; i < CAM_WHY_LENGTHS; i++) {
		s->out->by_process[i] = calloc(n, sizeof(float));
		s->out->by_function[i] = calloc(n, sizeof(float));
		s->out->by_core[i] = calloc(n, sizeof(float));
		s->out->by_path[i] = calloc(n, sizeof(float));
		s->out->stopped[i] = calloc(n, sizeof(float));
		good = good && s->out->by_process[i] && s->out->by_function[i] &&
		       s->out->by_core[i] && s->out->by_path[i] && s->out->stopped[i];
	}
	for (uint32_t i = 0; good && i < s->h->n_processes; i++)
		s->order[i] = i;
	int err = good ? cam_why_find_fits(s) : -ENOMEM;
	for (uint32_t i = 0; i < s->h->axis.n && !err; i++)
		for (unsigned what = 0; what < CAM_WHY_KNOWN; what++)
			s->seen[what] += !!(s->fits[i] & CAM_WHY_FITS(1, what, 0));
	s->has_days = cam_why_axis_has_days(&s->h->axis);
	return err;
}

int cam_why_scan_run(struct cam_why_history *h, const struct cam_progress *progress,
		     struct cam_why_scan *out)
{
	struct cam_why_scanning s = {.h = h, .out = out, .progress = progress};
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
	if (!err)
		err = scan_cores(&s);
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
	for (unsigned i = 0; i < CAM_WHY_KNOWN * CAM_WHY_LENGTHS; i++)
		free(s.before[i / CAM_WHY_LENGTHS][i % CAM_WHY_LENGTHS]);
	cam_why_counts_free(&s.counts);
	return err;
}

void cam_why_scan_free(struct cam_why_scan *s)
{
	for (unsigned i = 0; i < CAM_WHY_LENGTHS; i++) {
		free(s->by_process[i]);
		free(s->by_function[i]);
		free(s->by_core[i]);
		free(s->by_path[i]);
		free(s->stopped[i]);
	}
	free(s->surge);
	free(s->stop);
	free(s->core);
	free(s->path);
	free(s->paused);
	free(s->candidates);
	*s = (struct cam_why_scan){0};
}
