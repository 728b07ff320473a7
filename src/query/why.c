// SPDX-License-Identifier: Apache-2.0
/*
 * From scores to an answer.
 *
 * Every second of the history is scored (why_scan.h), the samples of what is asked about are read with their stacks
 * (why_rows.h), and what scored there is grouped by whose it is: a function or cgroup whose surplus is one
 * process's is that process's finding, not one more. A finding is reported where fewer than 3 % of other
 * moments hold anything that scores as high (why_judge.h); what stopped is judged by itself, and comes after
 * what ran: the two scores have no common scale. Cores and paths through the kernel come last: where a process or a function is
 * unusual, they are a part of what is said of it, and only what that leaves is told of them.
 *
 * Invariants: 1. One finding for each process name. 2. A sample is claimed by one finding: a function or
 * cgroup that is nothing unusual without what better ones have claimed is none. 3. What is not significant
 * is given, too, behind the rest, as evidence.
 *
 * Example: kubelet's pid 4711 scores 109, its name 80, show_smap 95 (of which kubelet has 98 %): one finding, of
 * pid 4711, with show_smap as what it did.
 */
#include "query/why.h"

#include "query/landing.h"
#include "query/moment.h"
#include "query/why_explain.h"
#include "query/why_judge.h"
#include "query/why_pauses.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOOKED_AT 80u  /* functions and cgroups whose owner is asked for */
#define SHARED_LEAST  30.0 /* samples above what is expected, of many processes */
#define SHARED_SCORE  10.0
#define MAX_EVENTS    20u
#define WAITED_SHARE  0.1 /* of the time: a thread that waited so much is named */

struct group {
	struct cam_why_candidate lead;
	struct cam_why_candidate process; /* the best that is a process or name; score 0: none */
	uint32_t name;			  /* a process's; 0: function or cgroup by itself */
	double p;
	bool rare, process_rare;
	uint32_t other_cores; /* that were busier at the same time */
};

struct build {
	const struct cam_why_options *o;
	struct cam_why *out;
	struct cam_why_history h;
	struct cam_why_rows rows;
	struct cam_why_scan scan;
	struct cam_why_judge judge;
	struct cam_why_explaining e;
	struct group *groups;
	size_t n_groups;
};

static int by_score(const void *x, const void *y)
{
	const struct cam_why_candidate *a = x, *b = y;
	if (a->stopped != b->stopped)
		return a->stopped ? 1 : -1;
	return a->score > b->score ? -1 : a->score < b->score;
}

static struct cam_why_which which_of(const struct cam_why_candidate *c)
{
	return (struct cam_why_which){c->entity, c->of, c->at, c->length};
}

static bool of_processes(const struct cam_why_candidate *c)
{
	return c->entity == CAM_WHY_NAME || c->entity == CAM_WHY_PROCESS;
}

static uint32_t name_of(const struct build *b, const struct cam_why_candidate *c)
{
	return c->entity == CAM_WHY_NAME ? c->of : b->h.processes[c->of].name;
}

static struct group *find_group(struct build *b, uint32_t name, bool stopped)
{
	for (size_t i = 0; i < b->n_groups && name; i++) {
		if (b->groups[i].name == name && b->groups[i].lead.stopped == stopped)
			return &b->groups[i];
	}
	return NULL;
}

/* What is nobody's is told where it is more than a little of everybody's. */
static bool is_much(const struct cam_why_candidate *c)
{
	return c->x - c->law.mean >= SHARED_LEAST || c->score >= SHARED_SCORE;
}

static bool overlap(const struct cam_why_candidate *a, const struct cam_why_candidate *b)
{
	return a->at < b->at + b->length && b->at < a->at + a->length;
}

/* The core that is told, if this one was busier at the same time. */
static struct group *same_time(struct build *b, const struct cam_why_candidate *c)
{
	for (size_t i = 0; i < b->n_groups; i++) {
		struct group *g = &b->groups[i];
		if (c->entity == CAM_WHY_CORE && g->lead.entity == CAM_WHY_CORE &&
		    overlap(&g->lead, c))
			return g;
	}
	return NULL;
}

/*
 * When all processes have their groups: cores that several processes were busier on, paths through the kernel. One that is to
 * 60 % one process's is not a core's, and of a path it is that process that is told.
 */
static int group_places(struct build *b)
{
	struct cam_why_scan *s = &b->scan;
	unsigned looked_at = 0;
	int err = 0;
	for (size_t i = 0; i < s->n_candidates && looked_at < MAX_LOOKED_AT && !err; i++) {
		const struct cam_why_candidate *c = &s->candidates[i];
		struct cam_why_which w = which_of(c);
		uint32_t name, claimed;
		bool rare = cam_why_judge_is_rare(&b->judge, c) && is_much(c);
		if (!cam_why_is_place(c) || !rare)
			continue;
		looked_at++;
		err = cam_why_owner(&b->e, &w, &name, &claimed);
		err = err ? err : cam_why_go_on(b->o->progress, &b->h);
		struct group *whose = name ? find_group(b, name, false) : NULL;
		if (whose && c->entity == CAM_WHY_KERNEL_PATH && !whose->rare) {
			/* One process's way: it is that process's finding, as with its functions. */
			double p = cam_why_judge_p(&b->judge, c);
			whose->p = p < whose->p ? p : whose->p;
			whose->rare = true;
		}
		if (name && (c->entity == CAM_WHY_CORE || whose))
			continue;
		struct group *told = same_time(b, c);
		if (told)
			told->other_cores++;
		else
			b->groups[b->n_groups++] = (struct group){
				.lead = *c, .p = cam_why_judge_p(&b->judge, c), .rare = true};
	}
	return err;
}

/* Candidates come best first, so the first of a group leads it. */
static int group_candidates(struct build *b)
{
	struct cam_why_scan *s = &b->scan;
	unsigned looked_at = 0;
	int err = 0;
	b->groups = calloc(s->n_candidates + 1, sizeof(*b->groups));
	if (!b->groups)
		return -ENOMEM;
	if (s->n_candidates)
		qsort(s->candidates, s->n_candidates, sizeof(*s->candidates), by_score);
	for (size_t i = 0; i < s->n_candidates && !err; i++) {
		const struct cam_why_candidate *c = &s->candidates[i];
		struct cam_why_which w = which_of(c);
		uint32_t name = 0, claimed;
		if (cam_why_is_place(c))
			continue;
		if (of_processes(c))
			name = name_of(b, c);
		else if (looked_at++ < MAX_LOOKED_AT)
			err = cam_why_owner(&b->e, &w, &name, &claimed);
		else
			continue;
		err = err ? err : cam_why_go_on(b->o->progress, &b->h);
		struct group *g = find_group(b, name, c->stopped);
		double p = cam_why_judge_p(&b->judge, c);
		bool rare = cam_why_judge_is_rare(&b->judge, c) && (name || is_much(c));
		if (!g) {
			g = &b->groups[b->n_groups++];
			*g = (struct group){.lead = *c, .name = name, .p = p, .rare = rare};
		}
		g->p = p < g->p ? p : g->p;
		g->rare = g->rare || rare;
		/* Of one that stopped the times of its samples say more than whole seconds. */
		bool closer = c->pause_ns && rare && !g->process.pause_ns;
		if (of_processes(c) && (c->score > g->process.score || closer)) {
			g->process = *c;
			g->process_rare = rare;
		}
	}
	return err ? err : group_places(b);
}

/* A process's own numbers are told, where they are telling; else those of its function. */
static const struct cam_why_candidate *shown(const struct group *g)
{
	return g->process.score > 0 && (g->process_rare || !g->rare) ? &g->process : &g->lead;
}

/* 1: it is a finding; 0: nothing is left of it. */
static int make_finding(struct build *b, const struct group *g, struct cam_why_finding *f)
{
	const struct cam_why_candidate *c = shown(g);
	struct cam_why_which w = which_of(c);
	if (!g->name && !c->stopped) {
		/* What better findings have explained is no news. */
		struct cam_why_candidate rest = *c;
		uint32_t name, claimed;
		int err = cam_why_owner(&b->e, &w, &name, &claimed);
		rest.x -= claimed < rest.x ? claimed : rest.x;
		rest.score = cam_why_surge(rest.x, rest.law);
		if (err || rest.score <= 0 || (g->rare && !cam_why_judge_is_rare(&b->judge, &rest)))
			return err;
	}
	int err = cam_why_describe(&b->e, c, g->name, f);
	f->score = g->lead.score;
	f->p = g->p;
	f->significant = g->rare;
	f->other_cores = g->other_cores;
	return err ? err : 1;
}

/* A function of two that do more, service and client, scores above either: who does more is told first, and then may explain it. */
static double telling(const struct group *g)
{
	return g->name ? g->lead.score : g->lead.score / 2;
}

/* Surges, then stops, then cores and paths: their scores have no common scale. */
static int order_of(const struct group *g)
{
	return cam_why_is_place(&g->lead) ? 2 : g->lead.stopped ? 1 : 0;
}

/* Rare ones first; among both, surges before stops; then by score. Stops that are not rare say nothing. */
static int by_telling(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	if (a->rare != b->rare)
		return a->rare ? -1 : 1;
	if (order_of(a) != order_of(b))
		return order_of(a) < order_of(b) ? -1 : 1;
	return telling(a) > telling(b) ? -1 : telling(a) < telling(b);
}

static int make_findings(struct build *b)
{
	struct cam_why *w = b->out;
	size_t limit = b->o->limit, closest = 0;
	int made = 0, err = 0;
	qsort(b->groups, b->n_groups, sizeof(*b->groups), by_telling);
	w->findings = calloc(2 * limit + 1, sizeof(*w->findings));
	if (!w->findings)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_groups && made >= 0; i++) {
		const struct group *g = &b->groups[i];
		if (g->rare ? w->n_significant == limit : closest == limit || g->lead.stopped)
			continue;
		made = make_finding(b, g, &w->findings[w->n_findings]);
		if (made < 0 || (err = cam_why_go_on(b->o->progress, &b->h)))
			break;
		if (!made)
			continue;
		w->n_findings++;
		w->n_significant += g->rare;
		closest += !g->rare;
	}
	return made < 0 ? made : err;
}

static int by_delay(const void *x, const void *y)
{
	const struct cam_why_delay *a = x, *b = y;
	return a->inside_ns > b->inside_ns ? -1 : a->inside_ns < b->inside_ns;
}

static int by_thread(const void *x, const void *y)
{
	const struct cam_why_delay *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* A thread has an entry of each window that it waited in. One without a name is the one that has one. */
static void join_delays(struct cam_why_rows *r)
{
	size_t n = 0;
	qsort(r->delays, r->n_delays, sizeof(*r->delays), by_thread);
	for (size_t i = 0; i < r->n_delays; i++) {
		const struct cam_why_delay *d = &r->delays[i];
		struct cam_why_delay *last = n ? &r->delays[n - 1] : NULL;
		if (!last || last->tid != d->tid || (last->name && last->name != d->name)) {
			r->delays[n++] = *d;
			continue;
		}
		last->name = d->name;
		last->inside_ns += d->inside_ns;
		last->inside_span_ns += d->inside_span_ns;
		last->outside_ns += d->outside_ns;
		last->outside_span_ns += d->outside_span_ns;
	}
	r->n_delays = n;
	qsort(r->delays, r->n_delays, sizeof(*r->delays), by_delay);
}

/* Threads that waited a tenth of the time, and twice as much as in the rest of the window. */
static void find_waits(struct build *b)
{
	struct cam_why_rows *r = &b->rows;
	if (r->n_delays)
		join_delays(r);
	for (size_t i = 0; i < r->n_delays && b->out->n_waits < CAM_WHY_WAITS; i++) {
		const struct cam_why_delay *d = &r->delays[i];
		struct cam_why_wait v = {.tid = d->tid, .name = {NULL, d->name}, .outside = -1};
		if (!d->inside_span_ns)
			continue;
		/* The kernel counts a wait when it is over: some of it may be of before. */
		v.inside = fmin(1, (double)d->inside_ns / (double)d->inside_span_ns);
		if (d->outside_span_ns)
			v.outside = fmin(1, (double)d->outside_ns / (double)d->outside_span_ns);
		if (v.inside >= WAITED_SHARE && v.inside >= 2 * v.outside)
			b->out->waits[b->out->n_waits++] = v;
	}
}

void cam_why_count_seconds(const struct cam_why_history *h, const struct cam_why_judge *judge,
			   struct cam_why *w)
{
	const struct cam_why_axis *a = &h->axis;
	for (uint32_t t = 0; t < a->n; t++) {
		bool seen = a->flags[t] & CAM_WHY_SEEN;
		w->asked_s += !!(a->flags[t] & CAM_WHY_ASKED);
		w->asked_unobserved_s += (a->flags[t] & CAM_WHY_ASKED) && !seen;
		if (a->flags[t] & CAM_WHY_BASELINE) {
			w->history_s += seen;
			w->unobserved_s += !seen;
		}
		w->functions_s += seen && (a->flags[t] & CAM_WHY_FUNCTIONS);
		w->processes_s += seen && (a->flags[t] & CAM_WHY_PIDS);
	}
	/* A second more than each boot has lies between boots. */
	w->unobserved_s -= w->unobserved_s < a->n_boots ? w->unobserved_s : a->n_boots;
	/* What was left out was observed. */
	w->unobserved_s -= w->unobserved_s < h->left_out_s ? w->unobserved_s : h->left_out_s;
	w->cpus = h->cpus;
	w->period_ns = h->period_ns;
	w->left_out = h->left_out;
	w->moments = judge->surges.apart;
	w->threshold = cam_why_judge_threshold(judge, false);
	w->stop_threshold = cam_why_judge_threshold(judge, true);
	w->below = cam_why_judge_below(judge);
	w->coarse = cam_why_judge_is_coarse(judge);
}

static void finish_text(const struct build *b, struct cam_text *t)
{
	*t = cam_string(b->h.names, (struct cam_str_id){(uint32_t)t->n});
}

static unsigned notes_of(const struct build *b, uint32_t name)
{
	return cam_landing_notes(CAM_FRAME_KERNEL,
				 cam_string(b->h.names, (struct cam_str_id){name}));
}

/* Whether a sentence is about a function that time lands on, by samples in it and not in what it calls. Texts are ids yet. */
static int note_landings(struct build *b)
{
	struct cam_why *w = b->out;
	uint8_t *sampled = b->rows.cpu_clock ? calloc(b->h.n_functions + 1, 1) : NULL;
	if (!sampled)
		return b->rows.cpu_clock ? -ENOMEM : 0;
	for (size_t i = 0; i < b->rows.n; i++) {
		const struct cam_why_stack *s = &b->rows.stacks[b->rows.v[i].stack];
		if (s->n)
			sampled[b->rows.frames[s->from]] = 1;
	}
	for (uint32_t f = 0; f < b->h.n_functions; f++) {
		uint32_t name = b->h.functions[f].name;
		unsigned notes = sampled[f] && b->h.functions[f].kernel ? notes_of(b, name) : 0;
		for (size_t i = 0; i < w->n_findings && notes; i++) {
			if (w->findings[i].n_path && w->findings[i].path[0].n == name)
				w->notes |= notes;
		}
		for (size_t i = 0; i < w->n_cores && notes; i++) {
			if (w->cores[i].function.n == name)
				w->notes |= notes;
		}
	}
	free(sampled);
	return 0;
}

/* Strings move while more come: ids until now. */
static void finish_texts(struct build *b)
{
	struct cam_why *w = b->out;
	for (size_t i = 0; i < w->n_findings; i++) {
		struct cam_why_finding *f = &w->findings[i];
		finish_text(b, &f->process);
		finish_text(b, &f->cgroup);
		finish_text(b, &f->entry);
		for (size_t k = 0; k < f->n_path; k++)
			finish_text(b, &f->path[k]);
	}
	for (size_t i = 0; i < w->n_cores; i++) {
		finish_text(b, &w->cores[i].process);
		finish_text(b, &w->cores[i].function);
	}
	for (size_t i = 0; i < w->n_waits; i++)
		finish_text(b, &w->waits[i].name);
	w->names = b->h.names;
	b->h.names = NULL;
}

static unsigned asked_seconds(const struct cam_why_axis *a)
{
	unsigned n = 0;
	for (uint32_t t = 0; t < a->n; t++)
		n += !!(a->flags[t] & CAM_WHY_ASKED);
	return n ? n : 1;
}

static int answer(struct build *b, struct cam_source *source, const struct cam_selection *s)
{
	struct cam_why_history_options from = {.asked = s,
					       .baseline = b->o->baseline,
					       .samples = b->o->samples ? b->o->samples
									: CAM_WHY_SAMPLES,
					       .progress = b->o->progress,
					       .by_name = true,
					       .no_losses = true,
					       .room = cam_why_room_of(b->o->max_bytes)};
	/* Of a part of the samples nothing is known about the machine, and who else had a core. */
	bool whole = cam_selection_is_plain(s) && !s->cpus;
	int err = cam_why_history_build(source, &from, &b->h);
	if (!err)
		err = cam_why_rows_read(source, s, b->o->progress, &b->h, &b->rows);
	if (b->rows.period_ns)
		b->h.period_ns = b->rows.period_ns;
	if (!err)
		err = cam_why_scan_run(&b->h, b->o->progress, &b->scan);
	unsigned width = asked_seconds(&b->h.axis);
	if (!err)
		err = cam_why_pauses_find(source, s, b->o->progress, width, &b->h, &b->scan);
	if (!err)
		err = cam_why_judge_make(&b->h.axis, &b->scan, width, &b->judge);
	if (err)
		return err;
	b->e = (struct cam_why_explaining){.h = &b->h,
					   .rows = &b->rows,
					   .period_ns = b->h.period_ns ? b->h.period_ns : 10309278,
					   .claimed = calloc(b->rows.n + 1, 1)};
	err = b->e.claimed ? group_candidates(b) : -ENOMEM;
	if (!err)
		err = make_findings(b);
	if (!err && whole)
		err = cam_why_full_cores(&b->e, b->o->progress, b->out);
	if (err)
		return err;
	find_waits(b);
	cam_why_count_seconds(&b->h, &b->judge, b->out);
	/* Of the time asked about, which may begin and end within seconds. */
	double all = (double)b->rows.seen.observed_ns / 1e9 * b->h.cpus;
	b->out->busy = whole && all > 0 && b->h.period_ns
			       ? (double)b->rows.n * (double)b->h.period_ns / 1e9 / all
			       : -1;
	err = note_landings(b);
	finish_texts(b);
	b->out->seen = b->rows.seen;
	b->out->strings = b->rows.strings;
	b->rows.strings = NULL;
	return err;
}

int cam_why_build(struct cam_source *source, const struct cam_selection *s,
		  const struct cam_why_options *o, struct cam_why *out)
{
	struct build b = {.o = o, .out = out};
	struct cam_moment_options look = {.max_events = MAX_EVENTS, .progress = o->progress};
	*out = (struct cam_why){0};
	if (s->clock == CAM_SELECT_ALWAYS ||
	    (uint64_t)s->to_ns - (uint64_t)s->from_ns > CAM_WHY_MAX_ASKED_NS)
		return -E2BIG;
	int err = answer(&b, source, s);
	if (!err)
		err = cam_moment_look(source, s, &look, &out->moment);
	free(b.e.claimed);
	free(b.groups);
	cam_why_judge_free(&b.judge);
	cam_why_scan_free(&b.scan);
	cam_why_rows_free(&b.rows);
	cam_why_history_free(&b.h);
	if (err)
		cam_why_free(out);
	return err;
}

void cam_why_free(struct cam_why *w)
{
	cam_moment_free(&w->moment);
	free(w->findings);
	if (w->names)
		cam_tables_free(w->names);
	free(w->names);
	free(w->strings);
	*w = (struct cam_why){0};
}
