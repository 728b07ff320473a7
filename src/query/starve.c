// SPDX-License-Identifier: Apache-2.0
/*
 * One pass: of each core the run of one task, and the run of samples with a kernel function in common, side by side. A run
 * that ends and was long enough is a candidate; beside that the samples of all cores are counted by tenths of a second, so that those
 * during which the machine had no room are left out before any is chosen. Then they are chosen by length, in rounds: in each of
 * them a process has one at most, so that a job with many threads, or many short-lived programs of one name, leave room for others.
 * A second pass over the times of the chosen alone counts functions, and how busy the machine was.
 *
 * What is common to a run of the kernel's path is the set of kernel functions of its first sample, less those that a
 * later one lacks; a sample that would leave nothing is not of it. So the order in which they come matters a little, and a run
 * may begin a few samples late.
 */
#include "query/starve.h"

#include "base/vec.h"
#include "model/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPUS	     4096u
#define COMMON	     32u
#define MOST_PERCENT 60u
#define TENTHS	     65536u
#define CANDIDATES   65536u
#define TRIES	     (2 * CAM_STARVED_MAX) /* a pass each */

struct candidate {
	uint64_t time_ns, length_ns; /* of 0 ns: none any more */
	uint32_t cpu, task;	     /* CAM_NONE: of a path */
	uint32_t samples, own;
	uint32_t before; /* as candidate of struct core */
};

struct core {
	uint64_t last_ns;   /* 0: none yet */
	uint32_t candidate; /* the last one of it, plus one; 0: none */
	struct cam_kept_run by_task, by_path;
	uint32_t task;
	uint32_t common[COMMON];
	size_t n_common;
	uint32_t stack; /* whose functions are in common alone; to go on at once */
};

struct finder {
	struct cam_window *w;
	const struct cam_tables *tables;
	struct core
		*cores; /* as far as there are samples of them: a megabyte for all there may be */
	size_t n_cores, cap_cores;
	uint8_t *telling; /* by function: 1: it names something, 2: it does not */
	size_t n_telling;
	uint64_t period_ns;
	struct candidate *candidates;
	size_t n_candidates, cap_candidates;
	uint32_t *tenths; /* samples of all cores, from the window's start on */
	size_t n_tenths, cap_tenths;
	struct cam_starving *out;
	/* The second pass. */
	struct cam_starved *now;
	uint32_t *count, *mark;
	uint64_t *depth;
	uint64_t machine; /* samples of all cores */
	uint32_t rows;
	uint32_t example; /* a stack that has the function */
};

/* Frames of every program, system call, interrupt, thread and idle CPU. */
static bool tells(struct finder *f, uint32_t function)
{
	static const char *const starts[] = {
		"entry_",	"do_syscall_64",    "x64_sys_call",
		"asm_",		"sysvec_",	    "ret_from_",
		"__x64_sys_",	"__arm64_sys_",	    "invoke_syscall",
		"el0",		"do_el0_svc",	    "do_idle",
		"cpu_startup_", "start_secondary",  "secondary_startup",
		"rest_init",	"start_kernel",	    "cpuidle_",
		"kthread",	"common_interrupt", "_start",
		"__libc_start", "start_thread",	    "clone3"};
	if (function >= f->n_telling)
		return false;
	if (!f->telling[function]) {
		const struct cam_function *fn = &f->tables->functions[function];
		struct cam_text name = cam_string(f->tables, fn->name);
		bool says = name.n && name.p[0] != '[' && fn->kind != CAM_FUNC_MARK;
		for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]) && says; i++)
			says = !cam_text_starts(name, cam_text_of(starts[i]));
		f->telling[function] = says ? 1 : 2;
	}
	return f->telling[function] == 1;
}

static bool is_kernel(const struct finder *f, uint32_t function)
{
	return function < f->n_telling && f->tables->functions[function].kind == CAM_FUNC_KERNEL;
}

static bool stack_has(const struct cam_tree *t, uint32_t stack, uint32_t function)
{
	for (uint32_t node = stack; node && node < t->n; node = t->parent[node]) {
		if (t->item[node] == function)
			return true;
	}
	return false;
}

/* Where a task's run explains a path's, it alone is a candidate. Runs of one kind do not overlap, so it is enough to look back to
 * the last of the same kind. */
static bool is_explained(struct finder *f, const struct core *c, const struct candidate *new)
{
	for (uint32_t i = c->candidate; i; i = f->candidates[i - 1].before) {
		struct candidate *old = &f->candidates[i - 1];
		uint64_t from = old->time_ns > new->time_ns ? old->time_ns : new->time_ns;
		uint64_t old_end = old->time_ns + old->length_ns;
		uint64_t new_end = new->time_ns + new->length_ns;
		uint64_t to = old_end < new_end ? old_end : new_end;
		if ((old->task == CAM_NONE) == (new->task == CAM_NONE))
			return false;
		if (to <= from || (to - from) * 2 < new->length_ns)
			continue;
		if (new->task == CAM_NONE)
			return true;
		old->length_ns = 0;
	}
	return false;
}

static int keep(struct finder *f, uint32_t cpu, const struct cam_kept_run *r, uint32_t task)
{
	struct core *c = &f->cores[cpu];
	const struct candidate new = {
		.time_ns = r->from_ns,
		.length_ns = cam_kept_length(r, f->period_ns),
		.cpu = cpu,
		.task = task,
		.samples = (uint32_t)r->all_end,
		.own = (uint32_t)r->own_end,
		.before = c->candidate,
	};
	if (new.length_ns < CAM_KEPT_LEAST_NS || is_explained(f, c, &new))
		return 0;
	int err = cam_vec_reserve(&f->candidates, &f->cap_candidates, f->n_candidates + 1,
				  sizeof(*f->candidates), CANDIDATES);
	f->out->more += err == -E2BIG;
	if (err)
		return err == -E2BIG ? 0 : err;
	f->candidates[f->n_candidates++] = new;
	c->candidate = (uint32_t)f->n_candidates;
	return 0;
}

static void begin_path(struct finder *f, struct core *c, uint64_t time_ns, uint32_t stack)
{
	const struct cam_tree *t = &f->tables->stacks;
	c->n_common = 0;
	c->stack = stack;
	for (uint32_t node = stack; node && node < t->n && c->n_common < COMMON;
	     node = t->parent[node]) {
		if (is_kernel(f, t->item[node]) && tells(f, t->item[node]))
			c->common[c->n_common++] = t->item[node];
	}
	if (c->n_common)
		cam_kept_begin(&c->by_path, time_ns);
	else
		c->by_path = (struct cam_kept_run){0};
}

/* Whether the stack has some of the functions; then only those are left. */
static bool narrow(struct finder *f, struct core *c, uint32_t stack)
{
	uint32_t left[COMMON];
	size_t n = 0;
	if (stack == c->stack)
		return true;
	for (size_t i = 0; i < c->n_common; i++) {
		if (stack_has(&f->tables->stacks, stack, c->common[i]))
			left[n++] = c->common[i];
	}
	if (!n)
		return false;
	memcpy(c->common, left, n * sizeof(left[0]));
	c->n_common = n;
	return true;
}

static int end_runs(struct finder *f, uint32_t cpu, struct core *c)
{
	int err = keep(f, cpu, &c->by_task, c->task);
	if (!err)
		err = keep(f, cpu, &c->by_path, CAM_NONE);
	c->by_task = c->by_path = (struct cam_kept_run){0};
	return err;
}

static int take(struct finder *f, uint32_t cpu, uint64_t time_ns, uint32_t task, uint32_t stack)
{
	struct core *c = &f->cores[cpu];
	bool nobody = task < f->tables->n_tasks && !f->tables->tasks[task].pid;
	int err = 0;
	if (c->last_ns && cam_kept_is_hole(c->last_ns, time_ns, f->period_ns))
		err = end_runs(f, cpu, c);
	c->last_ns = time_ns;
	if (!err && (!c->by_task.all || !cam_kept_extend(&c->by_task, time_ns, task == c->task))) {
		err = keep(f, cpu, &c->by_task, c->task);
		c->by_task = (struct cam_kept_run){0};
		c->task = task;
		if (!nobody)
			cam_kept_begin(&c->by_task, time_ns);
	}
	if (!err && !c->by_path.all) {
		begin_path(f, c, time_ns, stack);
	} else if (!err && !cam_kept_extend(&c->by_path, time_ns, narrow(f, c, stack))) {
		err = keep(f, cpu, &c->by_path, CAM_NONE);
		begin_path(f, c, time_ns, stack);
	}
	return err;
}

/* What lies beyond is not counted: there the machine has room until it is looked at closely. */
static int count_tenth(struct finder *f, uint64_t time_ns)
{
	uint64_t start = f->w->info.start_ns;
	uint64_t tenth = time_ns > start ? (time_ns - start) / CAM_KEPT_TENTH_NS : 0;
	if (tenth >= TENTHS)
		return 0;
	if (tenth >= f->n_tenths) {
		int err = cam_vec_reserve(&f->tenths, &f->cap_tenths, tenth + 1, sizeof(*f->tenths),
					  TENTHS);
		if (err)
			return err;
		memset(f->tenths + f->n_tenths, 0, (tenth + 1 - f->n_tenths) * sizeof(*f->tenths));
		f->n_tenths = tenth + 1;
	}
	f->tenths[tenth]++;
	return 0;
}

static int meet_core(struct finder *f, uint32_t cpu)
{
	int err =
		cam_vec_reserve(&f->cores, &f->cap_cores, (size_t)cpu + 1, sizeof(*f->cores), CPUS);
	if (err)
		return err;
	memset(f->cores + f->n_cores, 0, (cpu + 1 - f->n_cores) * sizeof(*f->cores));
	f->n_cores = (size_t)cpu + 1;
	return 0;
}

static int first_pass(void *arg, const struct cam_batch *b)
{
	struct finder *f = arg;
	for (size_t i = 0; i < b->n; i++) {
		if (b->cpu[i] >= CPUS)
			continue;
		int err = b->cpu[i] < f->n_cores ? 0 : meet_core(f, b->cpu[i]);
		if (!err)
			err = count_tenth(f, b->time_ns[i]);
		if (!err)
			err = take(f, b->cpu[i], b->time_ns[i], b->task[i], b->stack[i]);
		if (err)
			return err;
	}
	return 0;
}

static int second_pass(void *arg, const struct cam_batch *b)
{
	struct finder *f = arg;
	const struct cam_tree *t = &f->tables->stacks;
	f->machine += b->n;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t depth = 0;
		if (b->cpu[i] != f->now->cpu)
			continue;
		f->rows++;
		for (uint32_t n = b->stack[i]; n && n < t->n; n = t->parent[n])
			depth++;
		for (uint32_t n = b->stack[i]; n && n < t->n; n = t->parent[n], depth--) {
			uint32_t item = t->item[n];
			if (item >= f->n_telling || f->mark[item] == f->rows)
				continue;
			f->mark[item] = f->rows;
			f->count[item]++;
			f->depth[item] += depth;
		}
	}
	return 0;
}

static bool is_common(struct finder *f, uint32_t function)
{
	uint64_t least = f->now->task.v == CAM_NONE ? CAM_KEPT_PERCENT : MOST_PERCENT;
	return function < f->n_telling && (uint64_t)f->count[function] * 100 >= f->rows * least &&
	       tells(f, function);
}

static int keep_example(void *arg, const struct cam_batch *b)
{
	struct finder *f = arg;
	for (size_t i = 0; i < b->n; i++) {
		if (b->cpu[i] == f->now->cpu &&
		    stack_has(&f->tables->stacks, b->stack[i], f->now->path[0].v)) {
			f->example = b->stack[i];
			return 1;
		}
	}
	return 0;
}

/* The innermost function that most have, then those of its callers. */
static int find_path(struct finder *f, struct cam_range range)
{
	const struct cam_tree *t = &f->tables->stacks;
	struct cam_starved *s = f->now;
	uint32_t best = CAM_NONE;
	for (uint32_t i = 0; i < f->n_telling; i++) {
		if (f->count[i] && is_common(f, i) &&
		    (best == CAM_NONE ||
		     f->depth[i] * f->count[best] > f->depth[best] * f->count[i]))
			best = i;
	}
	if (best == CAM_NONE)
		return 0;
	s->path[s->n_path++].v = best;
	s->path_percent = (uint32_t)((uint64_t)f->count[best] * 100 / f->rows);
	int err = f->w->ops->samples(f->w, range, CAM_COL_CPU | CAM_COL_STACK, keep_example, f);
	if (err < 0)
		return err;
	bool in = false;
	for (uint32_t n = f->example; n && n < t->n && s->n_path < CAM_STARVED_PATH;
	     n = t->parent[n]) {
		if (in && t->item[n] != best && is_common(f, t->item[n]))
			s->path[s->n_path++].v = t->item[n];
		in = in || t->item[n] == best;
	}
	return 0;
}

/* False: the machine had no room, or the path says nothing. */
static int explain(struct finder *f, struct cam_starved *s, bool *of_use)
{
	struct cam_range range = {s->time_ns, s->time_ns + s->length_ns};
	memset(f->count, 0, f->n_telling * sizeof(*f->count));
	memset(f->mark, 0, f->n_telling * sizeof(*f->mark));
	memset(f->depth, 0, f->n_telling * sizeof(*f->depth));
	f->now = s;
	f->machine = f->rows = 0;
	int err = f->w->ops->samples(f->w, range, CAM_COL_CPU | CAM_COL_STACK, second_pass, f);
	if (err)
		return err;
	uint64_t due = s->length_ns / f->period_ns * f->w->info.cpus;
	s->busy_percent = due ? (uint32_t)(f->machine * 100 / due) : 100;
	*of_use = s->busy_percent < CAM_KEPT_BUSY_PERCENT;
	if (*of_use)
		err = find_path(f, range);
	*of_use = *of_use && (s->task.v != CAM_NONE || s->path_percent >= CAM_KEPT_PERCENT);
	return err;
}

/* By the whole tenths of it. */
static bool had_room(const struct finder *f, const struct candidate *c)
{
	uint64_t start = f->w->info.start_ns, samples = 0;
	uint64_t from = c->time_ns > start
				? (c->time_ns - start + CAM_KEPT_TENTH_NS - 1) / CAM_KEPT_TENTH_NS
				: 0;
	uint64_t to = c->time_ns + c->length_ns > start
			      ? (c->time_ns + c->length_ns - start) / CAM_KEPT_TENTH_NS
			      : 0;
	for (uint64_t i = from; i < to && i < f->n_tenths; i++)
		samples += f->tenths[i];
	return to <= from || samples * f->period_ns * 100 < (to - from) * CAM_KEPT_TENTH_NS *
								    f->w->info.cpus *
								    CAM_KEPT_BUSY_PERCENT;
}

static int by_length(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->length_ns != y->length_ns)
		return x->length_ns > y->length_ns ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int longer_first(const void *a, const void *b)
{
	const struct cam_starved *x = a, *y = b;
	return x->length_ns > y->length_ns ? -1 : x->length_ns < y->length_ns;
}

/* Of one process, or of processes of one name; all paths of the kernel are one. */
static bool are_akin(const struct finder *f, uint32_t a, uint32_t b)
{
	const struct cam_tables *t = f->tables;
	if (a >= t->n_tasks || b >= t->n_tasks)
		return a >= t->n_tasks && b >= t->n_tasks;
	return t->tasks[a].pid == t->tasks[b].pid || t->tasks[a].comm.v == t->tasks[b].comm.v;
}

/* Those that are left, the longest first. */
static void sort_candidates(struct finder *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_candidates; i++) {
		if (f->candidates[i].length_ns && had_room(f, &f->candidates[i]))
			f->candidates[n++] = f->candidates[i];
	}
	f->n_candidates = n;
	if (n)
		qsort(f->candidates, n, sizeof(f->candidates[0]), by_length);
}

/* One of each process; those looked at are no candidates any more. */
static int choose_round(struct finder *f, unsigned *tries)
{
	struct cam_starving *o = f->out;
	size_t first = o->n, left = 0;
	int err = 0;
	for (size_t i = 0; i < f->n_candidates; i++) {
		const struct candidate c = f->candidates[i];
		bool again = err || o->n == CAM_STARVED_MAX || *tries == TRIES;
		bool of_use = false;
		for (size_t k = first; k < o->n && !again; k++)
			again = are_akin(f, o->v[k].task.v, c.task);
		if (again) {
			f->candidates[left++] = c;
			continue;
		}
		o->v[o->n] = (struct cam_starved){.time_ns = c.time_ns,
						  .length_ns = c.length_ns,
						  .cpu = c.cpu,
						  .task = {c.task},
						  .samples = c.samples,
						  .own = c.own};
		++*tries;
		err = explain(f, &o->v[o->n], &of_use);
		o->n += !err && of_use;
	}
	f->n_candidates = left;
	return err;
}

static int choose(struct finder *f)
{
	struct cam_starving *o = f->out;
	unsigned tries = 0;
	int err = 0;
	sort_candidates(f);
	while (!err && f->n_candidates && o->n < CAM_STARVED_MAX && tries < TRIES)
		err = choose_round(f, &tries);
	o->n = err ? 0 : o->n;
	o->more += f->n_candidates;
	if (o->n)
		qsort(o->v, o->n, sizeof(o->v[0]), longer_first);
	return err;
}

static int search(struct finder *f)
{
	size_t n = f->tables->n_functions;
	f->n_telling = n;
	f->telling = calloc(n + 1, sizeof(*f->telling));
	f->count = calloc(n + 1, sizeof(*f->count));
	f->mark = calloc(n + 1, sizeof(*f->mark));
	f->depth = calloc(n + 1, sizeof(*f->depth));
	if (!f->telling || !f->count || !f->mark || !f->depth)
		return -ENOMEM;
	int err = f->w->ops->samples(f->w, CAM_RANGE_ALL,
				     CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_STACK,
				     first_pass, f);
	for (uint32_t cpu = 0; cpu < f->n_cores && !err; cpu++)
		err = end_runs(f, cpu, &f->cores[cpu]);
	return err ? err : choose(f);
}

int cam_starved_find(struct cam_window *w, struct cam_starving *out)
{
	struct finder f = {.w = w, .out = out};
	*out = (struct cam_starving){0};
	int err = w->ops->tables(w, &f.tables);
	for (size_t i = 0; !err && i < f.tables->n_etypes && !f.period_ns; i++)
		f.period_ns = f.tables->etypes[i].period_ns;
	if (err || !f.period_ns || w->info.cpus < 2)
		return err;
	err = search(&f);
	free(f.cores);
	free(f.candidates);
	free(f.tenths);
	free(f.telling);
	free(f.count);
	free(f.mark);
	free(f.depth);
	return err;
}
