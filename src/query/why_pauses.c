// SPDX-License-Identifier: Apache-2.0
/*
 * Of each process (and of all of one name) that has two samples a second and more, most of the time: the times between
 * one sample and the next, where these are a tenth of a second or more. A service pauses when it has nothing to do, when
 * others have its core, and by the chance of sampling; so a pause is held against its own longest ones, one for every ten
 * seconds, and these are taken to be exponential beyond the shortest of them:
 *
 *	u	the shortest of the k longest pauses, k = a tenth of the seconds looked at
 *	E	what these are longer than u, together; each counts 3 s at most
 *	P	(1 + (g - u) / E)^-k	of a pause g: exponential, of a mean that k pauses tell
 *	S	-log10(P k W / H)	of W seconds asked about, in H looked at
 *
 * The pause itself is never among those it is held against. With few of them P has a heavy tail, so that a short history
 * claims little. What does not come back is a pause, too, up to the end of what was looked at and of 10 s at most.
 *
 * Invariants: 1. A pause that holds an unobserved second is none. 2. One of less than 0.4 s, or in which less than 6
 * samples were due, is nothing. 3. Who ordinarily pauses for 3 s cannot be seen to stop, and is left out.
 *
 * Example: an encoder has 10 samples a second; in 1,800 s its 180 longest pauses are above 0.29 s, by 14 s together.
 * 1.5 s without a sample: (1 + 1.21/14)^-180 = 10^-6.5.
 */
#include "query/why_pauses.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/walk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RATE     2.0 /* samples a second */
#define LEAST_LIFE     120u
#define LEAST_READ     240u /* seconds: where so many cannot be read, none are */
#define KEPT_NS	       (CAM_NS_PER_SEC / 10)
#define LEAST_NS       (CAM_NS_PER_SEC / 10 * 4)
#define MOST_NS	       (10 * CAM_NS_PER_SEC)
#define LEAST_DUE      6.0 /* samples */
#define ONE_IN_SECONDS 10u
#define USUAL_S	       3.0 /* who pauses so long is not watched; and what a pause counts at most */
/* As if so many pauses of that length had been seen before any was. */
#define PRIOR_N	     4.0
#define PRIOR_S	     0.05
#define MAX_ENTITIES 4096u
#define MAX_PAUSES   (1u << 22)

struct pause {
	uint32_t of;
	uint32_t at; /* the second it begins in */
	uint64_t from_ns, ns;
};

struct entity {
	enum cam_why_entity entity;
	uint32_t of;
	uint64_t samples, last_ns; /* as met; 0: none yet */
	uint64_t in_history;	   /* of these */
	uint32_t last_at;
	/* Its tail. */
	double usual_s, above_s, n;
	double rate;
	bool steady;
};

struct stamp {
	uint32_t of;
	uint64_t ns;
};

struct find {
	struct cam_why_history *h;
	struct cam_source *source;
	struct entity *entities;
	size_t n_entities;
	uint32_t *of_process, *of_name; /* + 1: entities */
	size_t n_processes, n_names;	/* of these */
	struct pause *v;
	size_t n, cap;
	struct stamp *stamps; /* of one second */
	size_t n_stamps, cap_stamps;
	uint32_t at;
	uint8_t *take; /* by window of the source */
	size_t n_windows, next;
	uint32_t *process_of; /* of the window: + 1 */
	uint32_t end_at;      /* the last second that was read */
};

static int add_entity(struct find *f, enum cam_why_entity entity, uint32_t of, uint32_t *slot)
{
	if (f->n_entities == MAX_ENTITIES)
		return 0;
	f->entities[f->n_entities++] = (struct entity){.entity = entity, .of = of};
	*slot = (uint32_t)f->n_entities;
	return 0;
}

/* Two a second, for most of the time. */
static bool is_steady(uint64_t samples, uint32_t first, uint32_t last, uint32_t seen)
{
	uint32_t life = last - first + 1;
	return first != UINT32_MAX && life >= LEAST_LIFE && life >= seen / 2 &&
	       (double)samples >= LEAST_RATE * life;
}

struct life {
	uint64_t samples;
	uint32_t first, last, processes;
};

static void join(struct life *to, const struct life *from)
{
	to->first = !to->processes || from->first < to->first ? from->first : to->first;
	to->last = from->last > to->last ? from->last : to->last;
	to->samples += from->samples;
	to->processes++;
}

/* Who is looked at: names, and processes of names that have several. */
static int choose(struct find *f)
{
	const struct cam_why_history *h = f->h;
	uint32_t seen = 0;
	f->n_processes = h->n_processes;
	f->n_names = h->names->strings.n;
	struct life *p = calloc(f->n_processes + 1, sizeof(*p)),
		    *n = calloc(f->n_names + 1, sizeof(*n));
	f->of_process = calloc(f->n_processes + 1, sizeof(*f->of_process));
	f->of_name = calloc(f->n_names + 1, sizeof(*f->of_name));
	f->entities = calloc(MAX_ENTITIES, sizeof(*f->entities));
	int err = p && n && f->of_process && f->of_name && f->entities ? 0 : -ENOMEM;
	for (uint32_t t = 0; t < h->axis.n; t++)
		seen += !!(h->axis.flags[t] & CAM_WHY_SEEN);
	for (size_t i = 0; i < h->by_process.n && !err; i++)
		p[h->by_process.v[i].of].samples += h->by_process.v[i].n;
	for (size_t i = 0; i < f->n_processes && !err; i++) {
		const struct cam_why_process *k = &h->processes[i];
		p[i].first = k->first;
		p[i].last = k->last;
		if (k->first != UINT32_MAX)
			join(&n[k->name], &p[i]);
	}
	for (uint32_t i = 1; i < f->n_names && !err; i++)
		if (n[i].processes && is_steady(n[i].samples, n[i].first, n[i].last, seen))
			err = add_entity(f, CAM_WHY_NAME, i, &f->of_name[i]);
	for (uint32_t i = 0; i < f->n_processes && !err; i++) {
		const struct cam_why_process *k = &h->processes[i];
		if (k->pid > 0 && n[k->name].processes > 1 &&
		    is_steady(p[i].samples, p[i].first, p[i].last, seen))
			err = add_entity(f, CAM_WHY_PROCESS, i, &f->of_process[i]);
	}
	free(p);
	free(n);
	return err;
}

/*
 * The first and the last second of a window. false: not both are on the axis, which holds what windows claim to last
 * only as far as that can be.
 */
static bool find_seconds(const struct find *f, const struct cam_window_info *info, uint64_t *first,
			 uint64_t *last)
{
	if (info->end_ns <= info->start_ns)
		return false;
	*first = info->start_ns / CAM_NS_PER_SEC;
	*last = (info->end_ns - 1) / CAM_NS_PER_SEC;
	return cam_why_axis_find(&f->h->axis, &info->boot_id, *first) != CAM_WHY_NOWHERE &&
	       cam_why_axis_find(&f->h->axis, &info->boot_id, *last) != CAM_WHY_NOWHERE;
}

/* Windows whose seconds are asked about, and those beside, as many as may be read. -ENODATA: they would be too few. */
static int plan(struct find *f)
{
	struct cam_why_axis *a = &f->h->axis;
	const struct cam_window_info *info;
	uint64_t samples = 0, ns = 0, first, last;
	size_t near = 0;
	f->n_windows = f->source->ops->count(f->source);
	f->take = calloc(f->n_windows + 1, 1);
	if (!f->take)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_windows && !near; i++) {
		if (f->source->ops->info(f->source, i, &info) ||
		    !find_seconds(f, info, &first, &last))
			continue;
		for (uint64_t s = first; s <= last && !near; s++) {
			uint32_t at = cam_why_axis_find(a, &info->boot_id, s);
			near = at != CAM_WHY_NOWHERE && (a->flags[at] & CAM_WHY_ASKED) ? i + 1 : 0;
		}
	}
	for (size_t far = 0; near && far < f->n_windows; far++) {
		for (int side = 0; side < 2; side++) {
			size_t i = side ? near - 1 + far : near - 1 - far;
			if (i >= f->n_windows || (side && !far) ||
			    f->source->ops->info(f->source, i, &info) ||
			    !find_seconds(f, info, &first, &last))
				continue;
			samples += info->samples;
			if (samples > CAM_WHY_PAUSE_SAMPLES && far)
				return ns < LEAST_READ * CAM_NS_PER_SEC ? -ENODATA : 0;
			ns += info->end_ns - info->start_ns;
			f->take[i] = 1;
		}
	}
	return 0;
}

static int pass_over(void *self, struct cam_walk *walk, struct cam_window *w)
{
	struct find *f = self;
	const struct cam_window_info *info;
	(void)walk;
	for (; f->next < f->n_windows; f->next++) {
		if (f->source->ops->info(f->source, f->next, &info) ||
		    info->start_ns != w->info.start_ns || !cam_text_equal(info->name, w->info.name))
			continue;
		return !f->take[f->next++];
	}
	return 0;
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct find *f = self;
	struct cam_why_axis *a = &f->h->axis;
	const struct cam_window_info *info = &x->w->info;
	uint64_t first = 1, last = 0;
	x->samples_done = info->clock == CAM_CLOCK_ABSENT || !find_seconds(f, info, &first, &last);
	for (uint64_t s = first; !x->samples_done && s <= last; s++) {
		uint32_t at = cam_why_axis_find(a, &info->boot_id, s);
		if (at == CAM_WHY_NOWHERE)
			continue;
		a->flags[at] |= CAM_WHY_PAUSES;
		f->end_at = at;
	}
	f->process_of = calloc(x->tables->n_tasks + 1, sizeof(*f->process_of));
	return f->process_of ? 0 : -ENOMEM;
}

/* Whether everything from one second to another was watched. */
static bool is_whole(const struct find *f, uint32_t from, uint32_t to)
{
	uint8_t need = CAM_WHY_SEEN | CAM_WHY_PAUSES;
	for (uint32_t t = from; t <= to; t++)
		if ((f->h->axis.flags[t] & need) != need)
			return false;
	return true;
}

static int add_pause(struct find *f, uint32_t of, uint64_t to_ns, uint32_t to_at)
{
	const struct entity *e = &f->entities[of];
	uint64_t ns = to_ns - e->last_ns,
		 seconds = to_ns / CAM_NS_PER_SEC - e->last_ns / CAM_NS_PER_SEC;
	/* Of another boot: another clock. */
	if (to_ns < e->last_ns + KEPT_NS || to_at < e->last_at || to_at - e->last_at != seconds)
		return 0;
	ns = ns < MOST_NS ? ns : MOST_NS;
	if (!is_whole(f, e->last_at, e->last_at + (uint32_t)(ns / CAM_NS_PER_SEC)))
		return 0;
	int err = cam_vec_reserve(&f->v, &f->cap, f->n + 1, sizeof(*f->v), MAX_PAUSES);
	if (!err)
		f->v[f->n++] = (struct pause){of, e->last_at, e->last_ns, ns};
	return err == -E2BIG ? 0 : err;
}

static int by_stamp(const void *x, const void *y)
{
	const struct stamp *a = x, *b = y;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static bool is_history(const struct find *f, uint32_t at)
{
	uint8_t flags = f->h->axis.flags[at];
	return (flags & CAM_WHY_BASELINE) && !(flags & CAM_WHY_NEAR);
}

static bool is_watched_history(const struct find *f, uint32_t at)
{
	uint8_t need = CAM_WHY_SEEN | CAM_WHY_PAUSES;
	return (f->h->axis.flags[at] & need) == need && is_history(f, at);
}

static int end_second(struct find *f)
{
	bool history = f->n_stamps && is_watched_history(f, f->at);
	int err = 0;
	if (f->n_stamps)
		qsort(f->stamps, f->n_stamps, sizeof(*f->stamps), by_stamp);
	for (size_t i = 0; i < f->n_stamps && !err; i++) {
		struct entity *e = &f->entities[f->stamps[i].of];
		if (e->samples)
			err = add_pause(f, f->stamps[i].of, f->stamps[i].ns, f->at);
		e->samples++;
		e->in_history += history;
		e->last_ns = f->stamps[i].ns;
		e->last_at = f->at;
	}
	f->n_stamps = 0;
	return err;
}

static int stamp(struct find *f, uint32_t slot, uint64_t ns)
{
	int err = slot ? cam_vec_reserve(&f->stamps, &f->cap_stamps, f->n_stamps + 1,
					 sizeof(*f->stamps), UINT32_MAX)
		       : 0;
	if (slot && !err)
		f->stamps[f->n_stamps++] = (struct stamp){slot - 1, ns};
	return err;
}

static int on_sample(struct find *f, const struct cam_tables *t, uint32_t task, uint64_t ns)
{
	uint32_t p;
	int err = 0;
	if (task >= t->n_tasks)
		return 0;
	if (!f->process_of[task]) {
		err = cam_why_process_of(f->h, t, task, &p);
		/* No room for one more: it is none of those looked at. */
		f->process_of[task] = err ? UINT32_MAX : p + 1;
		if (err)
			return err == -E2BIG ? 0 : err;
	}
	p = f->process_of[task] - 1;
	if (p == UINT32_MAX - 1 || !f->h->processes[p].pid)
		return 0;
	uint32_t name = f->h->processes[p].name;
	if (name < f->n_names)
		err = stamp(f, f->of_name[name], ns);
	return err || p >= f->n_processes ? err : stamp(f, f->of_process[p], ns);
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct find *f = self;
	const struct cam_batch *b = rows->batch;
	uint64_t last = UINT64_MAX;
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t k = rows->index[i];
		uint64_t second = b->time_ns[k] / CAM_NS_PER_SEC;
		if (second != last) {
			uint32_t at = cam_why_axis_find(&f->h->axis, &x->w->info.boot_id, second);
			err = at == f->at ? 0 : end_second(f);
			f->at = at;
			last = second;
		}
		if (!err && f->at != CAM_WHY_NOWHERE)
			err = on_sample(f, x->tables, b->task[k], b->time_ns[k]);
	}
	return err;
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	struct find *f = self;
	(void)x;
	free(f->process_of);
	f->process_of = NULL;
	return err;
}

static int read_samples(struct find *f, const struct cam_selection *s,
			const struct cam_progress *progress)
{
	const struct cam_walk_view view = {
		.self = f,
		.brief = pass_over,
		.open = open_window,
		.rows = on_rows,
		.close = close_window,
		.progress = progress,
		.columns = CAM_COL_TIME | CAM_COL_TASK,
		.no_stacks = true,
	};
	struct cam_walk walk = {0};
	struct cam_selection always = *s;
	always.clock = CAM_SELECT_ALWAYS;
	always.one_boot = false;
	f->at = CAM_WHY_NOWHERE;
	int err = cam_walk(f->source, &always, &view, &walk);
	cam_walk_free(&walk);
	if (!err)
		err = end_second(f);
	/* Who did not come back. */
	for (uint32_t i = 0; i < f->n_entities && !err; i++) {
		const struct entity *e = &f->entities[i];
		uint32_t rest = f->end_at - e->last_at;
		if (e->samples && f->end_at > e->last_at)
			err = add_pause(f, i, e->last_ns + rest * CAM_NS_PER_SEC, f->end_at);
	}
	return err;
}

static int by_length(const void *x, const void *y)
{
	const struct pause *a = x, *b = y;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double above(const struct entity *e, const struct pause *p)
{
	return fmax(0, fmin(seconds(p->ns) - e->usual_s, USUAL_S));
}

/* What is ordinary for it: v are its pauses, longest first. */
static void fit(const struct find *f, struct entity *e, const struct pause *v, size_t n,
		uint32_t history_s)
{
	size_t most = history_s / ONE_IN_SECONDS, k = 0;
	e->usual_s = seconds(KEPT_NS);
	for (size_t i = 0; i < n && k <= most; i++)
		if (is_history(f, v[i].at) && k++ == most)
			e->usual_s = seconds(v[i].ns);
	for (size_t i = 0; i < n && seconds(v[i].ns) > e->usual_s; i++) {
		if (!is_history(f, v[i].at))
			continue;
		e->n++;
		e->above_s += above(e, &v[i]);
	}
	e->n += PRIOR_N;
	e->above_s += PRIOR_N * PRIOR_S;
	e->rate = (double)e->in_history / history_s;
	e->steady = e->rate >= LEAST_RATE && e->usual_s + 3 * e->above_s / e->n <= USUAL_S;
}

static double score_of(const struct find *f, const struct entity *e, const struct pause *p,
		       uint32_t history_s, unsigned width)
{
	double n = e->n, all = e->above_s, g = seconds(p->ns);
	if (p->ns < LEAST_NS || g <= e->usual_s || e->rate * g < LEAST_DUE)
		return 0;
	if (is_history(f, p->at)) {
		n -= 1;
		all -= above(e, p);
	}
	double expected = n * width / history_s;
	return n * log10(1 + (g - e->usual_s) / all) - log10(expected);
}

/* The second in which a pause has lasted half its time, or one second. */
static uint32_t noticed(const struct find *f, const struct pause *p)
{
	uint64_t half = p->ns / 2 < CAM_NS_PER_SEC ? p->ns / 2 : CAM_NS_PER_SEC;
	uint32_t at = p->at + (uint32_t)((p->from_ns % CAM_NS_PER_SEC + half) / CAM_NS_PER_SEC);
	return at < f->h->axis.n ? at : p->at;
}

static int keep(const struct entity *e, const struct pause *v, size_t n, const struct pause *best,
		double score, struct cam_why_scan *scan)
{
	struct cam_why_candidate c = {
		.entity = e->entity,
		.of = e->of,
		.stopped = true,
		.score = score,
		.at = best->at,
		.length = (unsigned)((best->ns + CAM_NS_PER_SEC - 1) / CAM_NS_PER_SEC),
		.law = {.mean = e->rate * seconds(best->ns)},
		.before = -1,
		.days = -1,
		.pause_from_ns = best->from_ns,
		.pause_ns = best->ns,
	};
	for (size_t i = 0; i < n; i++) {
		if (&v[i] == best)
			continue;
		c.pause_other_ns = v[i].ns > c.pause_other_ns ? v[i].ns : c.pause_other_ns;
		c.episodes += v[i].ns >= best->ns / 5 * 4;
	}
	int err = cam_vec_reserve(&scan->candidates, &scan->cap_candidates, scan->n_candidates + 1,
				  sizeof(c), UINT32_MAX);
	if (!err)
		scan->candidates[scan->n_candidates++] = c;
	return err;
}

static int judge(struct find *f, unsigned width, struct cam_why_scan *scan)
{
	uint32_t history_s = 0;
	int err = 0;
	for (uint32_t t = 0; t < f->h->axis.n; t++)
		history_s += is_watched_history(f, t);
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_length);
	for (size_t i = 0; i < f->n && history_s >= LEAST_LIFE && !err;) {
		size_t from = i;
		struct entity *e = &f->entities[f->v[i].of];
		const struct pause *best = NULL;
		double most = 0;
		while (i < f->n && f->v[i].of == f->v[from].of)
			i++;
		fit(f, e, f->v + from, i - from, history_s);
		for (size_t k = from; k < i && e->steady; k++) {
			double score = score_of(f, e, &f->v[k], history_s, width);
			uint32_t at = noticed(f, &f->v[k]);
			if ((float)score > scan->paused[at])
				scan->paused[at] = (float)score;
			if (score > most && (f->h->axis.flags[at] & CAM_WHY_ASKED)) {
				most = score;
				best = &f->v[k];
			}
		}
		if (best)
			err = keep(e, f->v + from, i - from, best, most, scan);
	}
	return err;
}

int cam_why_pauses_find(struct cam_source *source, const struct cam_selection *s,
			const struct cam_progress *progress, unsigned width,
			struct cam_why_history *h, struct cam_why_scan *scan)
{
	struct find f = {.h = h, .source = source};
	int err = choose(&f);
	if (!err && f.n_entities)
		err = plan(&f);
	if (!err && f.n_entities)
		err = read_samples(&f, s, progress);
	if (!err)
		err = judge(&f, width, scan);
	err = err == -ENODATA ? 0 : err;
	free(f.entities);
	free(f.of_process);
	free(f.of_name);
	free(f.v);
	free(f.stamps);
	free(f.take);
	return err;
}
