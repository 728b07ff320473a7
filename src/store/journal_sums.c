// SPDX-License-Identifier: Apache-2.0
#include "store/journal_sums.h"

#include "base/units.h"
#include "base/vec.h"

#define MAX_TOTALS	   CAM_MAX_ROWS
#define MAX_CELLS	   (1u << 20)
#define MAX_SPREAD_SECONDS 4096u

struct totals {
	struct cam_total *v;
	size_t n, cap;
	struct cam_index index;
};

static void totals_free(struct totals *s)
{
	free(s->v);
	cam_index_free(&s->index);
}

static bool same_total(const void *rows, uint32_t id, const void *key)
{
	const struct cam_total *a = &((const struct totals *)rows)->v[id], *b = key;
	return a->stack.v == b->stack.v && a->comm.v == b->comm.v && a->etype.v == b->etype.v;
}

static int totals_add(struct totals *s, const struct cam_total *row)
{
	uint64_t hash = cam_hash_u64((uint64_t)row->stack.v << 32 | row->comm.v, row->etype.v);
	uint32_t found = cam_index_find(&s->index, hash, same_total, s, row);
	if (found != CAM_INDEX_NONE) {
		s->v[found].samples += row->samples;
		return 0;
	}
	int err = cam_vec_reserve(&s->v, &s->cap, s->n + 1, sizeof(*s->v), MAX_TOTALS);
	if (!err)
		err = cam_index_reserve(&s->index);
	if (err)
		return err;
	s->v[s->n] = *row;
	cam_index_add(&s->index, hash, (uint32_t)s->n++);
	return 0;
}

static int add_batch_to_totals(void *arg, const struct cam_batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		struct cam_total row = {
			.stack = {b->stack[i]},
			.comm = {b->comm[i]},
			.etype = {b->etype[i]},
			.samples = 1,
		};
		err = totals_add(arg, &row);
	}
	return err;
}

static int collect_totals(struct cam_window *w, struct totals *s)
{
	return w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_STACK | CAM_COL_COMM | CAM_COL_ETYPE,
			       add_batch_to_totals, s);
}

static int compare_totals(const void *x, const void *y)
{
	const struct cam_total *a = x, *b = y;
	if (a->stack.v != b->stack.v)
		return a->stack.v < b->stack.v ? -1 : 1;
	if (a->etype.v != b->etype.v)
		return a->etype.v < b->etype.v ? -1 : 1;
	return a->comm.v < b->comm.v ? -1 : a->comm.v > b->comm.v;
}

static int give_totals(struct totals *s, cam_total_fn *fn, void *arg)
{
	int err = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare_totals);
	for (size_t i = 0; i < s->n && !err; i++)
		err = fn(arg, &s->v[i]);
	return err;
}

int cam_journal_sums_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct totals s = {0};
	int err = collect_totals(w, &s);
	if (!err)
		err = give_totals(&s, fn, arg);
	totals_free(&s);
	return err;
}

/* Per node, the samples at and below it: children have higher ids than their parents. */
static uint64_t *sum_below(const struct totals *s, const struct cam_tree *stacks)
{
	uint64_t *below = calloc(stacks->n, sizeof(*below));
	for (size_t i = 0; below && i < s->n; i++)
		below[s->v[i].stack.v] += s->v[i].samples;
	for (size_t i = stacks->n; below && i-- > 1;)
		below[stacks->parent[i]] += below[i];
	return below;
}

/* The parent of the topmost node on the way to `stack` that is too small; CAM_NONE: none is. */
static uint32_t where_to_cut(const struct cam_tree *stacks, const uint64_t *below, uint32_t stack)
{
	uint32_t cut = CAM_NONE;
	for (; stack; stack = stacks->parent[stack]) {
		if (below[stack] < (below[0] + 9999) / 10000)
			cut = stacks->parent[stack];
	}
	return cut;
}

int cam_journal_sums_small(struct cam_window *w, struct cam_tables *t, cam_total_fn *fn, void *arg)
{
	struct cam_function small = {.kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN};
	struct cam_func_id mark;
	struct totals all = {0}, kept = {0};
	int err = collect_totals(w, &all);
	if (!err)
		err = cam_string_intern(t, CAM_TEXT("[small]"), &small.name);
	if (!err)
		err = cam_function_intern(t, &small, &mark);
	uint64_t *below = err ? NULL : sum_below(&all, &t->stacks);
	if (!err && !below)
		err = -ENOMEM;
	for (size_t i = 0; i < all.n && !err; i++) {
		struct cam_total row = all.v[i];
		uint32_t cut = where_to_cut(&t->stacks, below, row.stack.v);
		if (cut != CAM_NONE)
			err = cam_tree_intern(t, &t->stacks, cut, mark.v, &row.stack.v);
		if (!err)
			err = totals_add(&kept, &row);
	}
	if (!err)
		err = give_totals(&kept, fn, arg);
	free(below);
	totals_free(&all);
	totals_free(&kept);
	return err;
}

struct cells {
	struct cam_cell *v;
	size_t n, cap;
	struct cam_index index;
};

static bool same_cell(const void *rows, uint32_t id, const void *key)
{
	const struct cam_cell *a = &((const struct cells *)rows)->v[id], *b = key;
	return a->second == b->second && a->cpu == b->cpu;
}

static int find_cell(struct cells *c, uint64_t second, uint32_t cpu, struct cam_cell **out)
{
	struct cam_cell want = {.second = second, .cpu = cpu};
	uint64_t hash = cam_hash_u64(second, cpu);
	uint32_t found = cam_index_find(&c->index, hash, same_cell, c, &want);
	if (found == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&c->v, &c->cap, c->n + 1, sizeof(*c->v), MAX_CELLS);
		if (!err)
			err = cam_index_reserve(&c->index);
		if (err)
			return err;
		found = (uint32_t)c->n++;
		c->v[found] = want;
		cam_index_add(&c->index, hash, found);
	}
	*out = &c->v[found];
	return 0;
}

static int add_batch_to_cells(void *arg, const struct cam_batch *b)
{
	struct cells *c = arg;
	struct cam_cell *cell = NULL;
	for (size_t i = 0; i < b->n; i++) {
		uint64_t second = b->time_ns[i] / CAM_NS_PER_SEC;
		/* Neighbours mostly fall into the same cell. */
		if (!cell || cell->second != second || cell->cpu != b->cpu[i]) {
			int err = find_cell(c, second, b->cpu[i], &cell);
			if (err)
				return err;
		}
		cell->busy++;
	}
	return 0;
}

/* The part of a row's samples that falls into the seconds before `second`. */
static uint64_t spread_before(const struct cam_ledger_row *r, uint64_t second)
{
	uint64_t t = second * CAM_NS_PER_SEC;
	if (t <= r->from_ns)
		return 0;
	if (t >= r->to_ns)
		return r->samples;
	return (uint64_t)((unsigned __int128)r->samples * (t - r->from_ns) /
			  (r->to_ns - r->from_ns));
}

static int add_ledger_to_cells(void *arg, const struct cam_ledger_row *r)
{
	uint64_t first = r->from_ns / CAM_NS_PER_SEC;
	uint64_t last = r->to_ns > r->from_ns ? (r->to_ns - 1) / CAM_NS_PER_SEC : first;
	int err = 0;
	if (last - first >= MAX_SPREAD_SECONDS)
		last = first;
	for (uint64_t s = first; s <= last && !err; s++) {
		uint64_t part =
			first == last ? r->samples : spread_before(r, s + 1) - spread_before(r, s);
		struct cam_cell *cell;
		if (!part)
			continue;
		err = find_cell(arg, s, r->cpu, &cell);
		if (!err)
			cell->by_cause[r->cause] += part;
		if (!err && cell->by_cause[r->cause])
			cell->causes |= 1u << r->cause;
	}
	return err;
}

static int compare_cells(const void *x, const void *y)
{
	const struct cam_cell *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

int cam_journal_sums_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct cells c = {0};
	int err = w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME | CAM_COL_CPU, add_batch_to_cells,
				  &c);
	if (!err)
		err = w->ops->ledger(w, add_ledger_to_cells, &c);
	if (!err && c.n)
		qsort(c.v, c.n, sizeof(*c.v), compare_cells);
	for (size_t i = 0; i < c.n && !err; i++)
		err = fn(arg, &c.v[i]);
	free(c.v);
	cam_index_free(&c.index);
	return err;
}

struct process_cells {
	const struct cam_tables *t;
	struct cam_process_cell *v;
	size_t n, cap;
	struct cam_index index;
};

static bool same_process_cell(const void *rows, uint32_t id, const void *key)
{
	const struct cam_process_cell *a = &((const struct process_cells *)rows)->v[id], *b = key;
	return a->second == b->second && a->pid == b->pid;
}

static int add_process_sample(struct process_cells *c, uint64_t second, int32_t pid)
{
	struct cam_process_cell want = {.second = second, .pid = pid};
	uint64_t hash = cam_hash_u64(second, (uint32_t)pid);
	uint32_t found = cam_index_find(&c->index, hash, same_process_cell, c, &want);
	if (found == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&c->v, &c->cap, c->n + 1, sizeof(*c->v), MAX_TOTALS);
		if (!err)
			err = cam_index_reserve(&c->index);
		if (err)
			return err;
		found = (uint32_t)c->n++;
		c->v[found] = want;
		cam_index_add(&c->index, hash, found);
	}
	c->v[found].samples++;
	return 0;
}

static int add_batch_to_processes(void *arg, const struct cam_batch *b)
{
	struct process_cells *c = arg;
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		const struct cam_task *k = &c->t->tasks[b->task[i]];
		/* A text that gives only one number gives the thread's. */
		int32_t pid = k->pid == CAM_PID_NONE ? k->tid : k->pid;
		err = add_process_sample(c, b->time_ns[i] / CAM_NS_PER_SEC, pid);
	}
	return err;
}

static int compare_process_cells(const void *x, const void *y)
{
	const struct cam_process_cell *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

int cam_journal_sums_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	struct process_cells c = {0};
	int err = w->ops->tables(w, &c.t);
	if (!err)
		err = w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME | CAM_COL_TASK,
				      add_batch_to_processes, &c);
	if (!err && c.n)
		qsort(c.v, c.n, sizeof(*c.v), compare_process_cells);
	for (size_t i = 0; i < c.n && !err; i++)
		err = fn(arg, &c.v[i]);
	free(c.v);
	cam_index_free(&c.index);
	return err;
}
