// SPDX-License-Identifier: Apache-2.0
#include "query/why_rows.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/landing.h"
#include "query/walk.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_OF_ROW 16u /* at most, of all rows together */
#define MAX_DELAYS    (1u << 20)

struct reading {
	struct cam_why_rows *r;
	struct cam_why_history *h;
	struct cam_walk_window *x;
	/* Of the window: + 1. */
	uint32_t *stack_of, *process_of, *function_of;
	uint32_t *name_of; /* of the window's tasks that are main threads; UINT32_MAX: of others */
	size_t n_stack_of, cap_stack_of;
	size_t first_delay;
};

static bool inside(const struct cam_walk_window *x, uint64_t time_ns)
{
	for (size_t i = 0; i < x->selector.n_ranges; i++) {
		if (time_ns >= x->selector.ranges[i].from_ns &&
		    time_ns < x->selector.ranges[i].to_ns)
			return true;
	}
	return x->selector.whole;
}

/* Delays come by thread, then time. */
static int on_counter(void *arg, const struct cam_counter *c)
{
	struct reading *g = arg;
	struct cam_why_rows *r = g->r;
	if (c->kind != CAM_COUNTER_RUN_DELAY)
		return 0;
	if (r->n_delays == g->first_delay || r->delays[r->n_delays - 1].tid != c->subject) {
		int err = cam_vec_reserve(&r->delays, &r->cap_delays, r->n_delays + 1,
					  sizeof(*r->delays), MAX_DELAYS);
		if (err)
			return err == -E2BIG ? 0 : err;
		r->delays[r->n_delays++] = (struct cam_why_delay){.tid = c->subject};
	}
	struct cam_why_delay *d = &r->delays[r->n_delays - 1];
	uint64_t middle = c->time_ns > c->span_ns / 2 ? c->time_ns - c->span_ns / 2 : 0;
	bool in = inside(g->x, middle);
	*(in ? &d->inside_ns : &d->outside_ns) += c->value;
	*(in ? &d->inside_span_ns : &d->outside_span_ns) += c->span_ns;
	return 0;
}

/* Those that did not wait in the time asked about are not told: of a whole window they are most. */
static void drop_others(struct reading *g)
{
	struct cam_why_rows *r = g->r;
	size_t n = g->first_delay;
	for (size_t k = n; k < r->n_delays; k++)
		if (r->delays[k].inside_ns)
			r->delays[n++] = r->delays[k];
	r->n_delays = n;
}

static int name_delays(struct reading *g)
{
	const struct cam_tables *t = g->x->tables;
	int err = 0;
	for (uint32_t i = 0; i < t->n_tasks && !err; i++) {
		for (size_t k = g->first_delay; k < g->r->n_delays && !err; k++) {
			struct cam_why_delay *d = &g->r->delays[k];
			struct cam_str_id id;
			if (d->tid != (uint32_t)t->tasks[i].tid)
				continue;
			err = cam_string_intern(g->h->names, cam_string(t, t->tasks[i].comm), &id);
			d->name = id.v;
		}
	}
	return err;
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct reading *g = self;
	const struct cam_tables *t = x->tables;
	g->x = x;
	g->first_delay = g->r->n_delays;
	if (x->w->info.clock == CAM_CLOCK_ABSENT)
		return -EDOM;
	int err = x->w->ops->counters ? x->w->ops->counters(x->w, on_counter, g) : 0;
	drop_others(g);
	if (!err)
		err = name_delays(g);
	g->process_of = calloc(t->n_tasks + 1, sizeof(*g->process_of));
	g->name_of = calloc(t->n_tasks + 1, sizeof(*g->name_of));
	g->function_of = calloc(t->n_functions + 2, sizeof(*g->function_of));
	g->n_stack_of = 0;
	return err ? err : g->process_of && g->name_of && g->function_of ? 0 : -ENOMEM;
}

static int make_stack(struct reading *g, uint32_t stack, uint32_t *out)
{
	struct cam_why_rows *r = g->r;
	const struct cam_tables *t = g->x->tables;
	const struct cam_tree *tree = &t->stacks;
	int err = cam_vec_reserve(&r->stacks, &r->cap_stacks, r->n_stacks + 1, sizeof(*r->stacks),
				  g->h->room.rows);
	if (err)
		return err;
	struct cam_why_stack made = {.from = (uint32_t)r->n_frames};
	struct cam_why_way way = {0};
	bool on = true;
	for (uint32_t x = stack; x && x < tree->n && !err; x = tree->parent[x]) {
		uint32_t f =
			tree->item[x] < t->n_functions ? tree->item[x] : (uint32_t)t->n_functions;
		if (!g->function_of[f]) {
			err = cam_why_function_of(g->h, t, tree->item[x], &g->function_of[f]);
			g->function_of[f]++;
		}
		if (!err)
			err = cam_vec_reserve(&r->frames, &r->cap_frames, r->n_frames + 1,
					      sizeof(*r->frames), g->h->room.rows * FRAMES_OF_ROW);
		if (!err)
			r->frames[r->n_frames++] = g->function_of[f] - 1;
		on = on && !err && cam_why_way_on(g->h->functions, g->function_of[f] - 1, &way);
	}
	if (!err)
		err = cam_why_path_of(g->h, way, &made.path);
	made.n = (uint32_t)r->n_frames - made.from;
	*out = (uint32_t)r->n_stacks;
	r->stacks[r->n_stacks++] = made;
	return err;
}

static int stack_of(struct reading *g, uint32_t stack, uint32_t *out)
{
	int err = 0;
	if (stack >= g->n_stack_of) {
		err = cam_vec_reserve(&g->stack_of, &g->cap_stack_of, (size_t)stack + 1,
				      sizeof(*g->stack_of), UINT32_MAX);
		if (err)
			return err;
		memset(g->stack_of + g->n_stack_of, 0,
		       (stack + 1 - g->n_stack_of) * sizeof(*g->stack_of));
		g->n_stack_of = (size_t)stack + 1;
	}
	if (!g->stack_of[stack]) {
		err = make_stack(g, stack, &g->stack_of[stack]);
		g->stack_of[stack]++;
	}
	*out = g->stack_of[stack] - 1;
	return err;
}

/* Each sample is a vote for the name that it has: who is left in the end has the most, if anybody has more than half. */
static int call_process(struct reading *g, uint32_t task, struct cam_why_process *p)
{
	const struct cam_task *k = &g->x->tables->tasks[task];
	uint32_t *name = &g->name_of[task];
	if (!*name) {
		struct cam_text text = cam_why_name(cam_string(g->x->tables, k->comm));
		struct cam_str_id id = {UINT32_MAX};
		int err =
			k->pid == k->tid && text.n ? cam_string_intern(g->h->names, text, &id) : 0;
		if (err)
			return err;
		*name = id.v;
	}
	if (*name == UINT32_MAX)
		return 0;
	if (!p->calls)
		p->called = *name;
	p->calls += p->called == *name ? 1 : UINT32_MAX;
	return 0;
}

static int process_of(struct reading *g, uint32_t task, uint32_t *out)
{
	const struct cam_tables *t = g->x->tables;
	int err = 0;
	*out = UINT32_MAX;
	if (task >= t->n_tasks)
		return 0;
	if (!g->process_of[task]) {
		err = cam_why_process_of(g->h, t, task, &g->process_of[task]);
		g->process_of[task]++;
	}
	*out = g->process_of[task] - 1;
	return err ? err : call_process(g, task, &g->h->processes[*out]);
}

/* Samples of a clock are weighed by it: by the nanoseconds between two of them. */
static void note_event(struct reading *g, const struct cam_batch *b)
{
	const struct cam_tables *t = g->x->tables;
	uint32_t etype = b->n ? cam_walk_etype(b, 0) : UINT32_MAX;
	if (etype >= t->n_etypes)
		return;
	struct cam_text name = cam_walk_event_name(cam_string(t, t->etypes[etype].name));
	bool clock = cam_landing_event(name);
	g->r->cpu_clock |= clock;
	if ((clock || cam_text_equal(name, CAM_TEXT("task-clock"))) && b->weight &&
	    t->etypes[etype].has_weight && b->weight[0] > 1)
		g->r->period_ns = b->weight[0];
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct reading *g = self;
	struct cam_why_rows *r = g->r;
	const struct cam_batch *b = rows->batch;
	if (!r->period_ns || !r->cpu_clock)
		note_event(g, b);
	int err = cam_vec_reserve(&r->v, &r->cap, r->n + rows->n, sizeof(*r->v), g->h->room.rows);
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t k = rows->index[i];
		struct cam_why_row *row = &r->v[r->n++];
		*row = (struct cam_why_row){.time_ns = b->time_ns[k],
					    .at = cam_why_axis_find(&g->h->axis,
								    &x->w->info.boot_id,
								    b->time_ns[k] / CAM_NS_PER_SEC),
					    .cpu = b->cpu[k]};
		err = process_of(g, b->task[k], &row->process);
		if (!err)
			err = stack_of(g, b->stack[k], &row->stack);
	}
	return err;
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	struct reading *g = self;
	(void)x;
	free(g->process_of);
	free(g->name_of);
	free(g->function_of);
	g->process_of = g->name_of = g->function_of = NULL;
	return err;
}

static int by_cpu(const void *x, const void *y)
{
	const struct cam_why_row *a = x, *b = y;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

int cam_why_rows_read(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_progress *progress, struct cam_why_history *h,
		      struct cam_why_rows *r)
{
	struct reading g = {.r = r, .h = h};
	const struct cam_walk_view view = {
		.self = &g,
		.open = open_window,
		.rows = on_rows,
		.close = close_window,
		.progress = progress,
		.columns =
			CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_WEIGHT | CAM_COL_ETYPE,
	};
	struct cam_walk walk = {0};
	*r = (struct cam_why_rows){0};
	int err = cam_walk(source, s, &view, &walk);
	if (!err)
		err = cam_walk_keep_seen(&walk, &r->seen, &r->strings);
	cam_walk_free(&walk);
	free(g.stack_of);
	if (!err && r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_cpu);
	return err;
}

void cam_why_rows_free(struct cam_why_rows *r)
{
	free(r->v);
	free(r->stacks);
	free(r->frames);
	free(r->delays);
	free(r->strings);
	*r = (struct cam_why_rows){0};
}

bool cam_why_row_has(const struct cam_why_rows *r, const struct cam_why_row *row, uint32_t function)
{
	const struct cam_why_stack *s = &r->stacks[row->stack];
	for (uint32_t i = 0; i < s->n; i++) {
		if (r->frames[s->from + i] == function)
			return true;
	}
	return false;
}
