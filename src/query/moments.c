// SPDX-License-Identifier: Apache-2.0
/*
 * The seconds with the highest scores (why_scan.h), at least 10 s apart: those that fewer than 3 % of moments of
 * 10 s reach, and those of 12 and more; then what stopped; then cores that several processes were busier on, and paths through the
 * kernel, where no process is told within 10 s of it. Of each the samples around it are read, and say whose it was and what it did. No sample is read of any
 * other moment but those that the history of functions needs.
 */
#include "query/moments.h"

#include "base/units.h"
#include "query/why_explain.h"
#include "query/why_judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define APART  10u  /* seconds, between two moments; and how long one is */
#define ENOUGH 12.0 /* a score that is told, however many others have one */
#define BESIDE 5u   /* seconds, to see what is usual there */

struct build {
	struct cam_why *out;
	const struct cam_progress *progress;
	struct cam_why_history h;
	struct cam_why_scan scan;
	struct cam_why_judge judge;
	uint8_t *taken; /* by second */
};

static struct cam_why_candidate candidate_at(const struct cam_why_best *b, uint32_t at,
					     bool stopped)
{
	return (struct cam_why_candidate){
		.entity = (enum cam_why_entity)b->entity,
		.of = b->of,
		.stopped = stopped,
		.score = b->score,
		.at = at,
		.length = b->length,
		.x = b->x,
		.law = {.mean = b->mean, .dispersion = 0},
		.before = -1,
		.days = -1,
	};
}

/* The second with the best score that is left and wanted; CAM_WHY_NOWHERE: none. */
static uint32_t next_peak(const struct build *b, const struct cam_why_best *of)
{
	uint32_t best = CAM_WHY_NOWHERE;
	for (uint32_t t = 0; t < b->h.axis.n; t++) {
		if (of[t].score > 0 && !b->taken[t] && (b->h.axis.flags[t] & CAM_WHY_ASKED) &&
		    (best == CAM_WHY_NOWHERE || of[t].score > of[best].score))
			best = t;
	}
	return best;
}

static void take(struct build *b, uint32_t at)
{
	uint32_t from = at > APART ? at - APART : 0;
	for (uint32_t t = from; t < b->h.axis.n && t <= at + APART; t++)
		b->taken[t] = 1;
}

/* How often that entity was as unusual at other moments. */
static uint32_t other_times(const struct build *b, const struct cam_why_best *of, uint32_t at)
{
	uint32_t n = 0, last = 0;
	bool any = false;
	for (uint32_t t = 0; t < b->h.axis.n; t++) {
		if (of[t].entity != of[at].entity || of[t].of != of[at].of ||
		    of[t].x * 10ull < of[at].x * 8ull || of[t].length != of[at].length)
			continue;
		bool here = t + APART > at && t < at + APART;
		n += !here && (!any || t > last + 3);
		any = any || !here;
		last = here ? last : t;
	}
	return n;
}

static int whose(const struct cam_why_explaining *e, const struct cam_why_candidate *c,
		 uint32_t *name)
{
	struct cam_why_which w = {c->entity, c->of, c->at, c->length};
	uint32_t claimed;
	*name = c->entity == CAM_WHY_NAME      ? c->of
		: c->entity == CAM_WHY_PROCESS ? e->h->processes[c->of].name
					       : 0;
	return *name ? 0 : cam_why_owner(e, &w, name, &claimed);
}

/* 1: it is a finding; 0: a core that one process was busier on, which is that process's. */
static int explain(struct build *b, struct cam_source *source, const struct cam_selection *s,
		   const struct cam_why_candidate *c, struct cam_why_finding *f)
{
	uint64_t second;
	const struct cam_why_boot *boot = cam_why_axis_boot(&b->h.axis, c->at, &second);
	struct cam_selection around = *s;
	uint64_t from = second > BESIDE ? second - BESIDE : 0;
	struct cam_why_rows rows = {0};
	uint32_t name = 0;
	int64_t wall = b->h.axis.wall_ns[c->at];
	around.clock = wall == INT64_MIN ? CAM_SELECT_CLOCK : CAM_SELECT_WALL;
	around.one_boot = wall == INT64_MIN;
	around.boot_id = boot->id;
	around.from_ns = (int64_t)(from * CAM_NS_PER_SEC);
	around.to_ns = (int64_t)((second + c->length + BESIDE) * CAM_NS_PER_SEC);
	if (wall != INT64_MIN) {
		around.from_ns = wall - (int64_t)(BESIDE * CAM_NS_PER_SEC);
		around.to_ns = wall + (int64_t)((c->length + BESIDE) * CAM_NS_PER_SEC);
	}
	int err = c->stopped ? 0 : cam_why_rows_read(source, &around, b->progress, &b->h, &rows);
	if (rows.period_ns)
		b->h.period_ns = rows.period_ns;
	struct cam_why_explaining e = {.h = &b->h,
				       .rows = &rows,
				       .period_ns = b->h.period_ns ? b->h.period_ns : 10309278,
				       .claimed = calloc(rows.n + 1, 1)};
	if (!err)
		err = e.claimed ? whose(&e, c, &name) : -ENOMEM;
	bool its_own = c->entity != CAM_WHY_CORE || !name;
	if (!err && its_own)
		err = cam_why_describe(&e, c, name, f);
	free(e.claimed);
	cam_why_rows_free(&rows);
	return err ? err : its_own;
}

/* enough: a score that is told, however many others there are. */
static int find(struct build *b, struct cam_source *source, const struct cam_selection *s,
		const struct cam_why_best *of, size_t limit, double enough)
{
	struct cam_why *w = b->out;
	bool stopped = of == b->scan.stop;
	size_t most = w->n_findings + limit;
	int err = 0;
	for (size_t tries = 2 * limit; tries && !err && w->n_findings < most; tries--) {
		uint32_t at = next_peak(b, of);
		if (at == CAM_WHY_NOWHERE)
			break;
		struct cam_why_candidate c = candidate_at(&of[at], at, stopped);
		if (c.score < enough && !cam_why_judge_is_rare(&b->judge, &c))
			break;
		c.episodes = other_times(b, of, at);
		take(b, at);
		struct cam_why_finding *f = &w->findings[w->n_findings];
		int found = explain(b, source, s, &c, f);
		bool unreadable = found == -EBADMSG || found == -EIO || found == -ENOENT;
		err = found < 0 && !unreadable ? found : 0;
		if (found <= 0)
			continue;
		f->score = c.score;
		f->p = cam_why_judge_p(&b->judge, &c);
		f->significant = true;
		w->n_findings++;
	}
	return err;
}

static void finish_texts(struct build *b)
{
	struct cam_why *w = b->out;
	for (size_t i = 0; i < w->n_findings; i++) {
		struct cam_why_finding *f = &w->findings[i];
		struct cam_text *texts[3 + CAM_WHY_PATH] = {&f->process, &f->cgroup, &f->entry};
		for (size_t k = 0; k < f->n_path; k++)
			texts[3 + k] = &f->path[k];
		for (size_t k = 0; k < 3 + f->n_path; k++)
			*texts[k] =
				cam_string(b->h.names, (struct cam_str_id){(uint32_t)texts[k]->n});
	}
	w->names = b->h.names;
	b->h.names = NULL;
	w->seen = b->h.seen;
	w->strings = b->h.strings;
	b->h.strings = NULL;
}

static size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

static int run(struct build *b, struct cam_source *source, const struct cam_selection *s,
	       const struct cam_why_options *o)
{
	struct cam_why_history_options from = {.asked = s,
					       .baseline = o->baseline,
					       .samples = o->samples ? o->samples : CAM_WHY_SAMPLES,
					       .keep_near = true,
					       .progress = o->progress,
					       .by_name = true,
					       .room = cam_why_room_of(o->max_bytes)};
	int err = cam_why_history_build(source, &from, &b->h);
	if (!err)
		err = cam_why_scan_run(&b->h, o->progress, &b->scan);
	if (!err)
		err = cam_why_judge_make(&b->h.axis, &b->scan, APART, &b->judge);
	b->taken = calloc((size_t)b->h.axis.n + 1, 1);
	b->out->findings = calloc(2 * o->limit + 1, sizeof(*b->out->findings));
	if (!err)
		err = b->taken && b->out->findings ? 0 : -ENOMEM;
	if (!err)
		err = find(b, source, s, b->scan.surge, o->limit, ENOUGH);
	size_t all = o->limit + o->limit / 4 + 1;
	if (!err)
		err = find(b, source, s, b->scan.stop, o->limit / 4 + 1, ENOUGH);
	if (!err)
		err = find(b, source, s, b->scan.core,
			   at_most(o->limit / 4, all - b->out->n_findings), INFINITY);
	if (!err)
		err = find(b, source, s, b->scan.path,
			   at_most(o->limit / 4, all - b->out->n_findings), INFINITY);
	if (err)
		return err;
	b->out->n_significant = b->out->n_findings;
	b->out->busy = -1;
	cam_why_count_seconds(&b->h, &b->judge, b->out);
	finish_texts(b);
	return 0;
}

int cam_moments_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_why_options *o, struct cam_why *out)
{
	struct build b = {.out = out, .progress = o->progress};
	*out = (struct cam_why){0};
	int err = run(&b, source, s, o);
	free(b.taken);
	cam_why_judge_free(&b.judge);
	cam_why_scan_free(&b.scan);
	cam_why_history_free(&b.h);
	if (err)
		cam_why_free(out);
	return err;
}
