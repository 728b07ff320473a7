// SPDX-License-Identifier: Apache-2.0
/*
 * Two short walks mark the seconds that are asked about and those that may be compared with; then one goes
 * over all windows that are near enough. Of each it takes the footer's samples per process and second, and of
 * those nearest to the question the samples themselves, second by second: they come in that order, so one
 * second's stacks are summed, walked once each, and forgotten.
 *
 * Bounds: 2^21 seconds, 2^25 cells of processes and of functions each, less where the caller says so. Windows come in order of
 * time; where the cells of one more may not fit, those of the farthest windows are given up, until it is the farthest itself.
 * What is left out is counted.
 */
#include "base/units.h"
#include "base/vec.h"
#include "query/idle.h"
#include "query/why_build.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_SECONDS 6u
#define NEAREST	     5u /* windows on each side */

enum { PLAN_TAKE = 1, PLAN_FUNCTIONS = 2, PLAN_NAMES = 4 /* no more than those */ };

/* Marks the seconds of a selection. */
struct marking {
	struct cam_why_axis *axis;
	uint8_t flag;
	size_t first; /* window touched */
	size_t tasks; /* that it has */
	uint64_t period_ns;
	bool any;
};

static void mark_range(struct marking *m, const struct cam_window_info *info, uint64_t from_ns,
		       uint64_t to_ns)
{
	uint64_t half = CAM_NS_PER_SEC / 2;
	bool brief = to_ns - from_ns < 2 * CAM_NS_PER_SEC;
	for (uint64_t s = from_ns / CAM_NS_PER_SEC; s * CAM_NS_PER_SEC < to_ns; s++) {
		uint64_t a = s * CAM_NS_PER_SEC, b = a + CAM_NS_PER_SEC;
		uint64_t overlap = (to_ns < b ? to_ns : b) - (from_ns > a ? from_ns : a);
		uint32_t at = cam_why_axis_find(m->axis, &info->boot_id, s);
		if (at != CAM_WHY_NOWHERE && (brief || overlap >= half))
			m->axis->flags[at] |= m->flag;
	}
}

/* Between two samples of a busy CPU; 0: not known. */
static uint64_t period_of(const struct cam_tables *t)
{
	uint64_t period = 0;
	for (size_t i = 0; i < t->n_etypes && !period; i++)
		period = t->etypes[i].period_ns;
	return period;
}

static int mark_window(void *self, struct cam_walk_window *x)
{
	struct marking *m = self;
	const struct cam_window_info *info = &x->w->info;
	x->samples_done = true;
	if (info->clock == CAM_CLOCK_ABSENT)
		return 0;
	if (!m->any) {
		const struct cam_tables *t;
		int err = m->axis->n ? 0 : x->w->ops->tables(x->w, &t);
		if (err)
			return err;
		m->first = x->index;
		m->tasks = m->axis->n ? 0 : t->n_tasks;
		m->period_ns = period_of(x->tables);
	}
	m->any = true;
	if (!m->axis->n)
		return 0;
	for (size_t i = 0; i < x->selector.n_ranges; i++) {
		struct cam_range r = x->selector.ranges[i];
		r.from_ns = r.from_ns < info->start_ns ? info->start_ns : r.from_ns;
		r.to_ns = r.to_ns > info->end_ns ? info->end_ns : r.to_ns;
		if (r.from_ns < r.to_ns)
			mark_range(m, info, r.from_ns, r.to_ns);
	}
	return 0;
}

static int mark(struct cam_why_build *b, struct cam_source *source, const struct cam_selection *s,
		uint8_t flag, struct marking *m)
{
	const struct cam_walk_view view = {
		.self = m, .open = mark_window, .progress = b->o->progress, .no_names = true};
	struct cam_walk walk = {0};
	*m = (struct marking){.axis = &b->h->axis, .flag = flag};
	int err = cam_walk(source, s, &view, &walk);
	cam_walk_free(&walk);
	return err;
}

/*
 * Of many windows with many tasks each every second one, or third, … : a sample of the time is a history, too. The
 * nearest ones are taken all. Of the others names are enough, where windows have them by second.
 */
static bool skips(const struct cam_why_build *b, size_t distance)
{
	size_t may = b->o->room.tasks / (b->near_tasks + 1) + NEAREST,
	       step = b->n_windows / may + 1;
	return distance > NEAREST && distance % step != 0;
}

static bool is_plain(const struct cam_why_build *b)
{
	return cam_selection_is_plain(b->o->asked) && !b->o->asked->cpus;
}

/* Whether a window holds one of the times, or the 10 s before it. */
static bool holds_time(const struct cam_why_build *b, const struct cam_window_info *info)
{
	int64_t length = (int64_t)(info->end_ns - info->start_ns);
	for (size_t i = 0; i < b->o->n_times && info->realtime_ns != INT64_MIN; i++) {
		int64_t into = b->o->times[i] - info->realtime_ns;
		if (into >= 0 && into < length + 10 * (int64_t)CAM_NS_PER_SEC)
			return true;
	}
	return false;
}

static size_t common_divisor(size_t a, size_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Stacks of windows all over the time: first of those with the times that matter, then of others, far from each other. */
static void plan_stacks(struct cam_why_build *b, struct cam_source *source)
{
	uint64_t samples = 0;
	size_t n = b->n_windows, step = n * 5 / 8 + 1;
	while (n && common_divisor(n, step) != 1)
		step++;
	for (int wanted = 1; wanted >= 0; wanted--) {
		for (size_t k = 0, i = 0; k < n; k++, i = (i + step) % n) {
			const struct cam_window_info *info;
			if (!(b->plan[i] & PLAN_TAKE) || (b->plan[i] & PLAN_NAMES) ||
			    source->ops->info(source, i, &info) ||
			    holds_time(b, info) != (wanted == 1))
				continue;
			samples += info->samples;
			b->plan[i] =
				samples <= b->o->samples ? PLAN_TAKE | PLAN_FUNCTIONS : PLAN_TAKE;
		}
	}
}

/* Which windows to take, nearest first, as far as the axis and the samples allow. */
static int plan_windows(struct cam_why_build *b, struct cam_source *source)
{
	uint64_t samples = 0;
	b->n_windows = source->ops->count(source);
	b->plan = calloc(b->n_windows + 1, 1);
	if (!b->plan)
		return -ENOMEM;
	for (size_t distance = 0; distance < b->n_windows; distance++) {
		for (int side = 0; side < 2; side++) {
			const struct cam_window_info *info;
			size_t i = side ? b->near + distance : b->near - distance;
			if (i >= b->n_windows || (side && !distance) ||
			    source->ops->info(source, i, &info) || info->clock == CAM_CLOCK_ABSENT)
				continue;
			bool part = skips(b, distance);
			int err = part && !(b->o->by_name && is_plain(b))
					  ? -E2BIG
					  : cam_why_axis_add(&b->h->axis, info);
			if (err && err != -E2BIG)
				return err;
			b->h->left_out += err == -E2BIG;
			if (err == -E2BIG)
				b->h->left_out_s +=
					(info->end_ns - info->start_ns) / CAM_NS_PER_SEC;
			if (err)
				continue;
			b->plan[i] = part ? PLAN_TAKE | PLAN_NAMES : PLAN_TAKE;
			if (part)
				continue;
			samples += info->samples;
			if (samples <= b->o->samples || !distance)
				b->plan[i] |= PLAN_FUNCTIONS;
		}
	}
	if (b->o->n_times)
		plan_stacks(b, source);
	return cam_why_axis_make(&b->h->axis);
}

static size_t distance_of(const struct cam_why_build *b, size_t window)
{
	return window < b->near ? b->near - window : window - b->near;
}

/* Nobody looks at a window's seconds any more. */
static void give_up(struct cam_why_build *b, size_t window)
{
	struct cam_why_axis *a = &b->h->axis;
	const struct cam_window_info *info;
	b->plan[window] = 0;
	b->h->left_out++;
	if (b->source->ops->info(b->source, window, &info))
		return;
	for (uint64_t s = info->start_ns / CAM_NS_PER_SEC; s * CAM_NS_PER_SEC < info->end_ns; s++) {
		uint32_t at = cam_why_axis_find(a, &info->boot_id, s);
		if (at != CAM_WHY_NOWHERE)
			a->flags[at] |= CAM_WHY_GONE;
	}
	b->h->left_out_s += (info->end_ns - info->start_ns) / CAM_NS_PER_SEC;
}

static size_t cells_of(const struct cam_why_history *h)
{
	return h->by_process.n + h->by_function.n + h->busiest.n + h->by_core.n + h->of_one.n;
}

/* Room for the cells of one more window: a part of those that are farther from the question goes. */
static bool make_way(struct cam_why_build *b, size_t index)
{
	while (cells_of(b->h) + b->most_cells > b->o->room.cells) {
		size_t most = (index - b->kept) / 8 + 1, gone = 0;
		for (; b->kept < index && gone < most; b->kept++) {
			if (!(b->plan[b->kept] & PLAN_TAKE))
				continue;
			if (distance_of(b, b->kept) <= distance_of(b, index))
				break;
			give_up(b, b->kept);
			gone++;
		}
		if (!gone)
			return false;
		cam_why_forget(b->h);
	}
	return true;
}

int cam_why_add_cell(const struct cam_why_build *b, struct cam_why_cells *c, uint32_t of,
		     uint32_t at, uint64_t n)
{
	int err = cam_vec_reserve(&c->v, &c->cap, c->n + 1, sizeof(*c->v), b->o->room.cells);
	if (!err)
		c->v[c->n++] =
			(struct cam_why_cell){of, at, n > UINT32_MAX ? UINT32_MAX : (uint32_t)n};
	return err;
}

int cam_why_add_process(struct cam_why_build *b, uint32_t process, uint64_t n)
{
	struct cam_why_process *p = &b->h->processes[process];
	struct cam_why_cells *c = &b->h->by_process;
	/* Most of what is the same comes one after the other. */
	if (p->newest && c->v[p->newest - 1].at == b->at &&
	    c->v[p->newest - 1].n < UINT32_MAX - n) {
		c->v[p->newest - 1].n += (uint32_t)n;
		return 0;
	}
	if (b->at < p->first || p->first == UINT32_MAX)
		p->first = b->at;
	if (b->at > p->last)
		p->last = b->at;
	int err = cam_why_add_cell(b, c, process, b->at, n);
	if (!err)
		p->newest = (uint32_t)c->n;
	return err;
}

/* Cells of one name come one after the other. */
static int on_name_cell(void *arg, const struct cam_name_cell *c)
{
	struct cam_walk_window *x = arg;
	struct cam_why_build *b = x->own;
	struct cam_name_cell *last = &b->named;
	struct cam_text name = cam_string(x->tables, c->name);
	int err = 0;
	/* As with pids: the idle task is nobody. */
	if (!c->is_program && cam_idle_comm(name))
		return 0;
	if (!last->samples || last->name.v != c->name.v || last->cgroup.v != c->cgroup.v ||
	    last->is_program != c->is_program)
		err = cam_why_rest_named(b->h, name, c->is_program,
					 cam_string(x->tables, c->cgroup), &b->named_process);
	b->named = *c;
	b->at = cam_why_axis_find(&b->h->axis, &x->w->info.boot_id, c->second);
	if (err || b->at == CAM_WHY_NOWHERE)
		return err;
	err = cam_why_add_process(b, b->named_process, c->samples);
	return err ? err
		   : cam_why_add_cell(b, &b->h->busiest, b->h->processes[b->named_process].name,
				      b->at, c->most);
}

/* What was due and lost in each second. */
static int on_cell(void *arg, const struct cam_cell *c)
{
	struct cam_walk_window *x = arg;
	struct cam_why_build *b = x->own;
	uint32_t at = cam_why_axis_find(&b->h->axis, &x->w->info.boot_id, c->second);
	if (at == CAM_WHY_NOWHERE)
		return 0;
	b->h->axis.due[at] += (uint32_t)c->busy;
	if (c->busy > b->busiest)
		b->busiest = c->busy;
	for (uint32_t left = c->causes; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		b->h->axis.due[at] += (uint32_t)c->by_cause[i];
		if (i == CAM_CAUSE_SHED)
			b->h->axis.shed[at] += (uint32_t)c->by_cause[i];
		else if (cam_cause_is_loss((enum cam_cause)i))
			b->h->axis.lost[at] += (uint32_t)c->by_cause[i];
	}
	return 0;
}

static void note_window(struct cam_why_build *b, struct cam_walk_window *x)
{
	struct cam_why_axis *a = &b->h->axis;
	const struct cam_window_info *info = &x->w->info;
	b->h->cpus = info->cpus > b->h->cpus ? info->cpus : b->h->cpus;
	if (!b->h->period_ns)
		b->h->period_ns = period_of(x->tables);
	for (uint64_t s = info->start_ns / CAM_NS_PER_SEC; s * CAM_NS_PER_SEC < info->end_ns; s++) {
		uint32_t at = cam_why_axis_find(a, &info->boot_id, s);
		if (at == CAM_WHY_NOWHERE)
			continue;
		a->wall_ns[at] = cam_walk_wall(x, s * CAM_NS_PER_SEC);
		if (b->want_functions)
			a->flags[at] |= CAM_WHY_FUNCTIONS;
		if (!(b->plan[x->index] & PLAN_NAMES))
			a->flags[at] |= CAM_WHY_PIDS;
	}
}

/* Windows that are not planned are not read. They come in the source's order. */
static int pass_over(void *self, struct cam_walk *walk, struct cam_window *w)
{
	struct cam_why_build *b = self;
	const struct cam_window_info *info;
	(void)walk;
	for (; b->next < b->n_windows; b->next++) {
		if (b->source->ops->info(b->source, b->next, &info) ||
		    info->start_ns != w->info.start_ns || !cam_text_equal(info->name, w->info.name))
			continue;
		return !(b->plan[b->next++] & PLAN_TAKE);
	}
	return 0;
}

/* Twice the samples are not twice the work where they were taken twice as often: such windows are no history. */
static bool is_other_rate(const struct cam_why_build *b, const struct cam_tables *t)
{
	uint64_t period = period_of(t), near = b->near_ns;
	return period && near && (period > near ? period - near : near - period) > near / 20;
}

static int leave_out(struct cam_why_build *b, const struct cam_walk_window *x)
{
	const struct cam_window_info *info = &x->w->info;
	b->plan[x->index] = 0;
	b->h->left_out++;
	b->h->left_out_s += info->end_ns / CAM_NS_PER_SEC - info->start_ns / CAM_NS_PER_SEC;
	return 0;
}

/* What is known of a window without its tasks. */
static int take_names(struct cam_why_build *b, struct cam_walk_window *x)
{
	if (!x->w->ops->name_cells || x->tables->n_etypes != 1)
		return leave_out(b, x);
	b->named.samples = 0;
	b->had_cells = cells_of(b->h);
	int err = x->w->ops->name_cells(x->w, on_name_cell, x);
	if (err == -ENODATA)
		return leave_out(b, x);
	b->tables = x->tables;
	b->want_functions = b->want_processes = false;
	note_window(b, x);
	return err ? err : x->w->ops->cells(x->w, on_cell, x);
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct cam_why_build *b = self;
	const struct cam_tables *t = x->tables;
	uint8_t plan = x->index < b->n_windows ? b->plan[x->index] : 0;
	x->samples_done = true;
	x->own = b;
	b->tables = NULL;
	if (!(plan & PLAN_TAKE))
		return 0;
	if (is_other_rate(b, t) || !make_way(b, x->index))
		return leave_out(b, x);
	if (plan & PLAN_NAMES)
		return take_names(b, x);
	int err = x->w->ops->tables(x->w, &t);
	if (err)
		return err;
	x->tables = t;
	bool plain = is_plain(b) && t->n_etypes == 1;
	b->had_cells = cells_of(b->h);
	b->want_functions = plan & PLAN_FUNCTIONS;
	b->want_processes = !plain;
	b->want_cores = plain && b->want_functions;
	b->no_cores = b->no_cores || !plain;
	b->tables = t;
	b->at = CAM_WHY_NOWHERE;
	note_window(b, x);
	err = x->w->ops->cells(x->w, on_cell, x);
	if (!err && plain)
		err = cam_why_take_footer(b, x);
	b->at = CAM_WHY_NOWHERE;
	if (err || !(b->want_functions || b->want_processes))
		return err;
	x->samples_done = false;
	b->process_of = calloc(t->n_tasks + 1, sizeof(*b->process_of));
	b->task_n = calloc(t->n_tasks + 1, sizeof(*b->task_n));
	b->function_of = calloc(t->n_functions + 2, sizeof(*b->function_of));
	return b->process_of && b->task_n && b->function_of ? 0 : -ENOMEM;
}

/* Room for the counts of one more function, of all windows. */
static int function_room(struct cam_why_build *b)
{
	size_t n = b->h->n_functions;
	if (n <= b->n_function_room)
		return 0;
	int err = cam_vec_reserve(&b->function_n, &b->cap_function_n, n, sizeof(uint32_t),
				  CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&b->function_mark, &b->cap_function_mark, n, sizeof(uint32_t),
				      CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&b->functions, &b->cap_functions_met, n, sizeof(uint32_t),
				      CAM_MAX_ROWS);
	if (err)
		return err;
	memset(b->function_n + b->n_function_room, 0, (n - b->n_function_room) * sizeof(uint32_t));
	memset(b->function_mark + b->n_function_room, 0,
	       (n - b->n_function_room) * sizeof(uint32_t));
	b->n_function_room = n;
	return 0;
}

static void count_function(struct cam_why_build *b, uint32_t f, uint32_t n)
{
	if (b->function_mark[f] == b->mark)
		return;
	b->function_mark[f] = b->mark;
	if (!b->function_n[f])
		b->functions[b->n_functions_met++] = f;
	b->function_n[f] += n;
}

/* Counts a function, and says which it is. */
static int add_frame(struct cam_why_build *b, uint32_t function, uint32_t n, uint32_t *out)
{
	uint32_t slot =
		function < b->tables->n_functions ? function : (uint32_t)b->tables->n_functions;
	uint32_t f = b->function_of[slot];
	int err = 0;
	if (!f) {
		err = cam_why_function_of(b->h, b->tables, function, &f);
		if (!err)
			err = function_room(b);
		if (err)
			return err;
		b->function_of[slot] = ++f;
	}
	*out = f - 1;
	count_function(b, f - 1, n);
	return 0;
}

/* All functions of a stack, and its path through the kernel. */
static int add_frames(struct cam_why_build *b, uint32_t stack)
{
	const struct cam_tree *tree = &b->tables->stacks;
	struct cam_why_way way = {0};
	bool on = true;
	uint32_t f, n = b->stack_n[stack];
	int err = 0;
	b->mark++;
	for (uint32_t x = stack; x && x < tree->n && !err; x = tree->parent[x]) {
		err = add_frame(b, tree->item[x], n, &f);
		on = on && !err && cam_why_way_on(b->h->functions, f, &way);
	}
	if (!err)
		err = cam_why_path_of(b->h, way, &f);
	if (err || f == UINT32_MAX)
		return err;
	err = function_room(b);
	if (!err)
		count_function(b, f, n);
	return err;
}

static int end_stacks(struct cam_why_build *b)
{
	int err = 0;
	for (size_t i = 0; i < b->n_stacks && !err; i++) {
		err = add_frames(b, b->stacks[i]);
		b->stack_n[b->stacks[i]] = 0;
	}
	for (size_t i = 0; i < b->n_functions_met; i++) {
		uint32_t f = b->functions[i];
		if (!err && b->at != CAM_WHY_NOWHERE)
			err = cam_why_add_cell(b, &b->h->by_function, f, b->at, b->function_n[f]);
		b->function_n[f] = 0;
	}
	b->n_functions_met = 0;
	b->n_stacks = 0;
	return err;
}

static int end_second(struct cam_why_build *b)
{
	int err = b->want_functions ? end_stacks(b) : 0;
	if (!err)
		err = cam_why_end_cores(b);
	for (size_t i = 0; i < b->n_tasks && !err; i++) {
		uint32_t task = b->tasks[i], p = b->process_of[task];
		if (!p) {
			err = cam_why_process_of(b->h, b->tables, task, &p);
			b->process_of[task] = ++p;
		}
		if (!err && b->at != CAM_WHY_NOWHERE && b->h->processes[p - 1].pid)
			err = cam_why_add_process(b, p - 1, b->task_n[task]);
		b->task_n[task] = 0;
	}
	b->n_tasks = 0;
	return err;
}

static int add_stack(struct cam_why_build *b, uint32_t stack)
{
	if (stack >= b->n_stack_n) {
		int err = cam_vec_reserve(&b->stack_n, &b->cap_stack_n, (size_t)stack + 1,
					  sizeof(*b->stack_n), UINT32_MAX);
		if (err)
			return err;
		memset(b->stack_n + b->n_stack_n, 0,
		       (stack + 1 - b->n_stack_n) * sizeof(*b->stack_n));
		b->n_stack_n = (size_t)stack + 1;
	}
	if (b->stack_n[stack]++)
		return 0;
	int err = cam_vec_reserve(&b->stacks, &b->cap_stacks, b->n_stacks + 1, sizeof(*b->stacks),
				  UINT32_MAX);
	if (err)
		b->stack_n[stack] = 0;
	else
		b->stacks[b->n_stacks++] = stack;
	return err;
}

static int add_task(struct cam_why_build *b, uint32_t task)
{
	if (task >= b->tables->n_tasks || b->task_n[task]++)
		return 0;
	int err = cam_vec_reserve(&b->tasks, &b->cap_tasks, b->n_tasks + 1, sizeof(*b->tasks),
				  UINT32_MAX);
	if (!err)
		b->tasks[b->n_tasks++] = task;
	return err;
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct cam_why_build *b = self;
	const struct cam_batch *batch = rows->batch;
	uint64_t last = UINT64_MAX;
	int err = 0;
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t k = rows->index[i];
		uint64_t second = batch->time_ns[k] / CAM_NS_PER_SEC;
		if (second != last) {
			uint32_t at = cam_why_axis_find(&b->h->axis, &x->w->info.boot_id, second);
			err = at == b->at ? 0 : end_second(b);
			b->at = at;
			last = second;
		}
		if (!err && b->want_functions)
			err = add_stack(b, batch->stack[k]);
		if (!err && b->want_processes)
			err = add_task(b, batch->task[k]);
		if (!err && b->want_cores)
			err = cam_why_on_core(b, batch->cpu[k], batch->task[k]);
	}
	return err;
}

/* Samples are missing, nobody knows from which second. */
static void forget_functions(struct cam_why_build *b, const struct cam_window_info *info)
{
	for (uint64_t s = info->start_ns / CAM_NS_PER_SEC; s * CAM_NS_PER_SEC < info->end_ns; s++) {
		uint32_t at = cam_why_axis_find(&b->h->axis, &info->boot_id, s);
		if (at != CAM_WHY_NOWHERE)
			b->h->axis.flags[at] &= (uint8_t)~CAM_WHY_FUNCTIONS;
	}
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	struct cam_why_build *b = self;
	if (!x->samples_done && b->function_of) {
		int ended = end_second(b);
		err = err ? err : ended;
	}
	free(b->process_of);
	free(b->task_n);
	free(b->function_of);
	b->process_of = b->task_n = b->function_of = NULL;
	b->n_stacks = b->n_tasks = b->n_cores = 0;
	/* What cannot be read was not observed. */
	if (!err && b->tables == x->tables)
		cam_why_axis_cover(&b->h->axis, &x->w->info);
	if (b->tables == x->tables) {
		size_t cells = cells_of(b->h) - b->had_cells;
		b->most_cells = cells > b->most_cells ? cells : b->most_cells;
	}
	if (x->w->damage.samples)
		forget_functions(b, &x->w->info);
	/* Full: what there is is enough; farther windows are missed. */
	if (err == -E2BIG) {
		b->h->left_out++;
		err = 0;
	}
	return err;
}

static void spread_asked(struct cam_why_axis *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (!(a->flags[i] & CAM_WHY_ASKED))
			continue;
		uint32_t from = i > NEAR_SECONDS ? i - NEAR_SECONDS : 0;
		for (uint32_t k = from; k < a->n && k <= i + NEAR_SECONDS; k++)
			a->flags[k] |= CAM_WHY_NEAR;
	}
}

static int walk_all(struct cam_why_build *b, struct cam_source *source)
{
	const struct cam_walk_view view = {
		.self = b,
		.brief = pass_over,
		.open = open_window,
		.rows = on_rows,
		.close = close_window,
		.progress = b->o->progress,
		.columns = CAM_COL_TIME | CAM_COL_TASK | CAM_COL_CPU,
		.wall = true,
		.no_names = true,
		.no_losses = b->o->no_losses,
	};
	struct cam_walk walk = {0};
	struct cam_selection always = *b->o->asked;
	always.clock = CAM_SELECT_ALWAYS;
	always.one_boot = false;
	int err = cam_walk(source, &always, &view, &walk);
	if (!err)
		err = cam_walk_keep_seen(&walk, &b->h->seen, &b->h->strings);
	cam_walk_free(&walk);
	return err;
}

static int run(struct cam_why_build *b, struct cam_source *source)
{
	struct marking m;
	int err = mark(b, source, b->o->asked, 0, &m);
	if (!err && !m.any)
		err = -ENODATA;
	b->near = m.first;
	b->near_tasks = m.tasks;
	b->near_ns = m.period_ns;
	if (!err)
		err = plan_windows(b, source);
	if (!err)
		err = mark(b, source, b->o->asked, CAM_WHY_ASKED, &m);
	if (err)
		return err;
	if (b->o->baseline)
		err = mark(b, source, b->o->baseline, CAM_WHY_BASELINE, &m);
	else
		for (uint32_t i = 0; i < b->h->axis.n; i++)
			b->h->axis.flags[i] |= CAM_WHY_BASELINE;
	if (!err)
		err = walk_all(b, source);
	/* Other tools' files do not say how often they sample: their fullest second does. */
	if (!b->h->period_ns && b->busiest)
		b->h->period_ns = CAM_NS_PER_SEC / b->busiest;
	for (size_t i = 0; i < b->h->by_core.n && !b->no_cores; i++)
		if (b->h->by_core.v[i].of >= b->h->n_cores)
			b->h->n_cores = b->h->by_core.v[i].of + 1;
	cam_why_axis_settle(&b->h->axis);
	if (!b->o->keep_near)
		spread_asked(&b->h->axis);
	return err;
}

int cam_why_go_on(const struct cam_progress *progress, const struct cam_why_history *h)
{
	return progress ? progress->tell(progress->arg, h->seen.samples, h->seen.samples) : 0;
}

int cam_why_history_build(struct cam_source *source, const struct cam_why_history_options *o,
			  struct cam_why_history *h)
{
	struct cam_why_build b = {.h = h, .o = o, .source = source};
	*h = (struct cam_why_history){.names = calloc(1, sizeof(*h->names)),
				      .axis = {.most = (uint32_t)o->room.seconds},
				      .room = o->room};
	int err = h->names ? cam_tables_init(h->names, o->room.name_bytes) : -ENOMEM;
	if (!err)
		err = run(&b, source);
	free(b.plan);
	free(b.stack_n);
	free(b.stacks);
	free(b.tasks);
	free(b.function_n);
	free(b.function_mark);
	free(b.functions);
	free(b.cores);
	return err;
}

void cam_why_history_free(struct cam_why_history *h)
{
	cam_why_axis_free(&h->axis);
	if (h->names)
		cam_tables_free(h->names);
	free(h->names);
	free(h->processes);
	free(h->functions);
	cam_index_free(&h->process_index);
	cam_index_free(&h->function_index);
	free(h->by_process.v);
	free(h->by_function.v);
	free(h->busiest.v);
	free(h->by_core.v);
	free(h->of_one.v);
	free(h->strings);
	*h = (struct cam_why_history){0};
}

int cam_why_cells_sort(struct cam_why_cells *c, size_t n, uint32_t **starts)
{
	uint32_t *from = calloc(n + 2, sizeof(*from));
	struct cam_why_cell *sorted = malloc((c->n + 1) * sizeof(*sorted));
	if (!from || !sorted) {
		free(from);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->n; i++)
		from[c->v[i].of + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		from[i] += from[i - 1];
	for (size_t i = 0; i < c->n; i++)
		sorted[from[c->v[i].of + 1]++] = c->v[i];
	free(c->v);
	c->v = sorted;
	c->cap = c->n + 1;
	*starts = from;
	return 0;
}
