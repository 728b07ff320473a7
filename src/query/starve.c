// SPDX-License-Identifier: Apache-2.0
/*
 * One pass: of each core the run of one task, and the run of samples with a kernel function in common, side by side. A run
 * that ends and was long enough is kept if it is among the longest. A second pass over the times of those alone counts
 * functions, and how busy the machine was.
 *
 * What is common to a run of the kernel's path is the set of kernel functions of its first sample, less those that a
 * later one lacks; a sample that would leave nothing is not of it. So the order in which they come matters a little, and a run
 * may begin a few samples late.
 */
#include "query/starve.h"

#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPUS	     4096u
#define COMMON	     32u
#define HOLE_TENTHS  25u /* of a period between two samples */
#define KEPT_PERCENT 85u
#define BUSY_PERCENT 85u
#define MOST_PERCENT 60u
#define LEAST_NS     (CAM_NS_PER_SEC / 2)

struct run {
	uint64_t from_ns, end_ns;
	uint64_t own, all;	   /* so far */
	uint64_t own_end, all_end; /* at its last own sample that was still enough */
};

struct core {
	uint64_t last_ns; /* 0: none yet */
	struct run by_task, by_path;
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
	struct cam_starving *out;
	/* The second pass. */
	struct cam_starved *now;
	uint32_t *count, *mark;
	uint64_t *depth;
	uint64_t machine; /* samples of all cores */
	uint32_t rows;
	uint32_t example; /* a stack that has the function */
};

/* Frames of every system call, interrupt, thread and idle CPU. */
static bool tells(struct finder *f, uint32_t function)
{
	static const char *const starts[] = {"entry_",	     "do_syscall_64",	"x64_sys_call",
					     "asm_",	     "sysvec_",		"ret_from_",
					     "__x64_sys_",   "__arm64_sys_",	"invoke_syscall",
					     "el0",	     "do_el0_svc",	"do_idle",
					     "cpu_startup_", "start_secondary", "secondary_startup",
					     "rest_init",    "start_kernel",	"cpuidle_",
					     "kthread",	     "common_interrupt"};
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

/* The longest stay, in order; those of a path that a task's run explains do not. */
static void keep(struct finder *f, uint32_t cpu, const struct run *r, uint32_t task)
{
	struct cam_starving *o = f->out;
	uint64_t length = r->end_ns - r->from_ns + f->period_ns;
	size_t at = 0;
	if (!r->own_end || length < LEAST_NS)
		return;
	for (size_t i = 0; i < o->n; i++) {
		const struct cam_starved *s = &o->v[i];
		uint64_t from = s->time_ns > r->from_ns ? s->time_ns : r->from_ns;
		uint64_t to = s->time_ns + s->length_ns < r->from_ns + length
				      ? s->time_ns + s->length_ns
				      : r->from_ns + length;
		if (s->cpu != cpu || to <= from || (to - from) * 2 < length)
			continue;
		if (task == CAM_NONE)
			return;
		if (s->task.v == CAM_NONE) {
			memmove(&o->v[i], &o->v[i + 1], (o->n - 1 - i) * sizeof(o->v[0]));
			o->n--;
			break;
		}
	}
	while (at < o->n && o->v[at].length_ns >= length)
		at++;
	o->more += o->n == CAM_STARVED_MAX;
	if (at == CAM_STARVED_MAX)
		return;
	o->n += o->n < CAM_STARVED_MAX;
	memmove(&o->v[at + 1], &o->v[at], (o->n - 1 - at) * sizeof(o->v[0]));
	o->v[at] = (struct cam_starved){
		.time_ns = r->from_ns,
		.length_ns = length,
		.cpu = cpu,
		.task = {task},
		.samples = r->all_end,
		.own = r->own_end,
	};
}

static void begin(struct run *r, uint64_t time_ns)
{
	*r = (struct run){time_ns, time_ns, 1, 1, 1, 1};
}

/* True: it goes on. */
static bool extend(struct run *r, uint64_t time_ns, bool own)
{
	r->own += own;
	r->all++;
	bool enough = r->own * 100 >= r->all * KEPT_PERCENT;
	if (own && enough) {
		r->end_ns = time_ns;
		r->own_end = r->own;
		r->all_end = r->all;
	}
	return enough || r->all - r->own <= 2;
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
		begin(&c->by_path, time_ns);
	else
		c->by_path = (struct run){0};
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

static void end_runs(struct finder *f, uint32_t cpu, struct core *c)
{
	keep(f, cpu, &c->by_task, c->task);
	keep(f, cpu, &c->by_path, CAM_NONE);
	c->by_task = c->by_path = (struct run){0};
}

static void take(struct finder *f, uint32_t cpu, uint64_t time_ns, uint32_t task, uint32_t stack)
{
	struct core *c = &f->cores[cpu];
	bool nobody = task < f->tables->n_tasks && !f->tables->tasks[task].pid;
	if (c->last_ns && (time_ns - c->last_ns) * 10 > f->period_ns * HOLE_TENTHS)
		end_runs(f, cpu, c);
	c->last_ns = time_ns;
	if (!c->by_task.all || !extend(&c->by_task, time_ns, task == c->task)) {
		keep(f, cpu, &c->by_task, c->task);
		c->by_task = (struct run){0};
		c->task = task;
		if (!nobody)
			begin(&c->by_task, time_ns);
	}
	if (!c->by_path.all) {
		begin_path(f, c, time_ns, stack);
	} else if (!extend(&c->by_path, time_ns, narrow(f, c, stack))) {
		keep(f, cpu, &c->by_path, CAM_NONE);
		begin_path(f, c, time_ns, stack);
	}
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
		if (err)
			return err;
		take(f, b->cpu[i], b->time_ns[i], b->task[i], b->stack[i]);
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
	uint64_t least = f->now->task.v == CAM_NONE ? KEPT_PERCENT : MOST_PERCENT;
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
	*of_use = s->busy_percent < BUSY_PERCENT;
	if (*of_use)
		err = find_path(f, range);
	*of_use = *of_use && (s->task.v != CAM_NONE || s->path_percent >= KEPT_PERCENT);
	return err;
}

static int explain_all(struct finder *f)
{
	size_t n = 0;
	int err = 0;
	for (size_t i = 0; i < f->out->n && !err; i++) {
		bool of_use = false;
		err = explain(f, &f->out->v[i], &of_use);
		if (!err && of_use)
			f->out->v[n++] = f->out->v[i];
	}
	f->out->n = err ? 0 : n;
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
		end_runs(f, cpu, &f->cores[cpu]);
	return err ? err : explain_all(f);
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
	free(f.telling);
	free(f.count);
	free(f.mark);
	free(f.depth);
	return err;
}
