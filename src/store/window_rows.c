// SPDX-License-Identifier: Apache-2.0
#include "store/window_rows.h"

#include "base/vec.h"
#include "store/format.h"

#include <errno.h>
#include <string.h>

struct gathering {
	struct cam_rows *rows;
	const struct cam_tables *t;
	uint64_t unit_ns;
	bool places, sorted, whole_units;
};

void cam_rows_free(struct cam_rows *r)
{
	void *const columns[] = {r->time_ns, r->cpu,   r->task,	  r->stack,  r->group, r->weight,
				 r->leaf,    r->place, r->detail, r->groups, r->tasks, r->cpus};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		free(columns[i]);
	*r = (struct cam_rows){0};
}

static int grow(struct cam_rows *r, size_t need)
{
	void *const columns[] = {&r->time_ns, &r->cpu,	&r->task,  &r->stack, &r->group,
				 &r->weight,  &r->leaf, &r->place, &r->detail};
	const size_t sizes[] = {8, 4, 4, 4, 4, 8, 8, 4, 4};
	size_t cap = r->cap;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		/* Optional columns that do not exist yet stay so. */
		if (i >= 5 && !*(void **)columns[i])
			continue;
		cap = r->cap;
		int err = cam_vec_reserve(columns[i], &cap, need, sizes[i],
					  CAM_WINDOW_SAMPLES_MAX - 1);
		if (err)
			return err;
	}
	r->cap = cap;
	return 0;
}

/* Makes an optional column at its first value that is not the default; those before have it. */
static int make_u64(const struct cam_rows *r, uint64_t **column, uint64_t fill)
{
	if (*column)
		return 0;
	*column = reallocarray(NULL, r->cap, sizeof(**column));
	for (size_t i = 0; *column && i < r->n; i++)
		(*column)[i] = fill;
	return *column ? 0 : -ENOMEM;
}

static int make_u32(const struct cam_rows *r, uint32_t **column)
{
	if (*column)
		return 0;
	*column = calloc(r->cap, sizeof(**column));
	return *column ? 0 : -ENOMEM;
}

static int compare(const struct cam_rows *r, size_t a, size_t b)
{
	uint64_t sa = cam_rows_second(r->time_ns[a]), sb = cam_rows_second(r->time_ns[b]);
	if (sa != sb)
		return sa < sb ? -1 : 1;
	if (r->cpu[a] != r->cpu[b])
		return r->cpu[a] < r->cpu[b] ? -1 : 1;
	return r->time_ns[a] < r->time_ns[b] ? -1 : r->time_ns[a] > r->time_ns[b];
}

static int gather_row(struct gathering *g, const struct cam_batch *b, size_t i)
{
	struct cam_rows *r = g->rows;
	const struct cam_tables *t = g->t;
	uint64_t time = b->time_ns[i];
	size_t n = r->n;
	if (b->task[i] >= t->n_tasks || b->stack[i] >= t->stacks.n || b->etype[i] >= t->n_etypes ||
	    b->detail[i] >= t->strings.n || (g->places && b->place[i] >= t->places.n))
		return -EBADMSG;
	int err = 0;
	if (b->weight[i] != 1)
		err = make_u64(r, &r->weight, 1);
	if (!err && b->leaf_offset[i] != CAM_OFFSET_NONE)
		err = make_u64(r, &r->leaf, 0);
	if (!err && b->detail[i])
		err = make_u32(r, &r->detail);
	if (!err && g->places)
		err = make_u32(r, &r->place);
	if (err)
		return err;
	r->time_ns[n] = time;
	r->cpu[n] = b->cpu[i];
	r->task[n] = b->task[i];
	r->stack[n] = b->stack[i];
	r->group[n] = b->etype[i];
	if (r->weight)
		r->weight[n] = b->weight[i];
	if (r->leaf)
		r->leaf[n] = b->stack[i] ? b->leaf_offset[i] + 1 : 0;
	if (r->detail)
		r->detail[n] = b->detail[i];
	if (r->place)
		r->place[n] = b->place[i];
	r->n++;
	g->whole_units &= time == CAM_TIME_NONE || time % g->unit_ns == 0;
	g->sorted &= n == 0 || compare(r, n - 1, n) <= 0;
	return 0;
}

static int gather_batch(void *arg, const struct cam_batch *b)
{
	struct gathering *g = arg;
	int err = grow(g->rows, g->rows->n + b->n);
	for (size_t i = 0; i < b->n && !err; i++)
		err = gather_row(g, b, i);
	return err;
}

/* Merge sort of row numbers: rows that compare equal keep their order. */
static void sort(const struct cam_rows *r, uint32_t *order, uint32_t *room, size_t n)
{
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t from = 0; from < n; from += 2 * width) {
			size_t mid = from + width < n ? from + width : n;
			size_t end = from + 2 * width < n ? from + 2 * width : n;
			size_t i = from, j = mid, k = from;
			while (i < mid || j < end)
				room[k++] =
					j == end || (i < mid && compare(r, order[i], order[j]) <= 0)
						? order[i++]
						: order[j++];
		}
		memcpy(order, room, n * sizeof(*order));
	}
}

static void reorder(void *column, size_t size, const uint32_t *order, uint8_t *room, size_t n)
{
	uint8_t *bytes = column;
	if (!column)
		return;
	for (size_t i = 0; i < n; i++)
		memcpy(room + i * size, bytes + order[i] * size, size);
	memcpy(bytes, room, n * size);
}

static int put_in_order(struct cam_rows *r)
{
	uint32_t *order = reallocarray(NULL, r->n + 1, sizeof(*order));
	uint8_t *room = reallocarray(NULL, r->n + 1, 8);
	int err = order && room ? 0 : -ENOMEM;
	if (!err) {
		for (size_t i = 0; i < r->n; i++)
			order[i] = (uint32_t)i;
		sort(r, order, (uint32_t *)room, r->n);
		void *const wide[] = {r->time_ns, r->weight, r->leaf};
		void *const narrow[] = {r->cpu, r->task, r->stack, r->group, r->place, r->detail};
		for (size_t i = 0; i < 3; i++)
			reorder(wide[i], 8, order, room, r->n);
		for (size_t i = 0; i < 6; i++)
			reorder(narrow[i], 4, order, room, r->n);
	}
	free(order);
	free(room);
	return err;
}

static bool same_group(const void *rows, uint32_t id, const void *key)
{
	const struct cam_row_group *a = &((const struct cam_rows *)rows)->groups[id], *b = key;
	return a->etype == b->etype && a->comm == b->comm;
}

static int find_group(struct cam_rows *r, struct cam_index *ix, const struct cam_row_group *want,
		      uint32_t *out)
{
	uint64_t hash = cam_hash_u64(want->etype, want->comm);
	*out = cam_index_find(ix, hash, same_group, r, want);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&r->groups, &r->cap_groups, r->n_groups + 1, sizeof(*r->groups),
				  CAM_WINDOW_GROUPS_MAX);
	if (!err)
		err = cam_index_reserve(ix);
	if (err)
		return err;
	*out = (uint32_t)r->n_groups++;
	r->groups[*out] = *want;
	cam_index_add(ix, hash, *out);
	return 0;
}

/* Tasks and groups get their numbers; a group knows its only task, if it has only one. */
static int number_rows(struct cam_rows *r, const struct cam_tables *t)
{
	uint32_t *task_of = malloc((t->n_tasks + 1) * sizeof(*task_of));
	struct cam_index ix = {0};
	r->tasks = malloc((t->n_tasks + 1) * sizeof(*r->tasks));
	int err = task_of && r->tasks ? 0 : -ENOMEM;
	if (!err)
		memset(task_of, 0xff, (t->n_tasks + 1) * sizeof(*task_of));
	for (size_t i = 0; i < r->n && !err; i++) {
		uint32_t task = r->task[i];
		if (task_of[task] == CAM_NONE) {
			r->tasks[r->n_tasks] = task;
			task_of[task] = (uint32_t)r->n_tasks++;
		}
		r->task[i] = task_of[task];
		struct cam_row_group want = {r->group[i], t->tasks[task].comm.v, r->task[i]};
		err = find_group(r, &ix, &want, &r->group[i]);
		if (!err && r->groups[r->group[i]].sole_task != r->task[i])
			r->groups[r->group[i]].sole_task = CAM_NONE;
	}
	cam_index_free(&ix);
	free(task_of);
	return err;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Rows come by CPU inside a second, so runs are long: collect their heads, then sort. */
static int number_cpus(struct cam_rows *r)
{
	size_t cap = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (i && r->cpu[i] == r->cpu[i - 1])
			continue;
		if (r->n_cpus && bsearch(&r->cpu[i], r->cpus, r->n_cpus, 4, compare_u32))
			continue;
		int err = cam_vec_reserve(&r->cpus, &cap, r->n_cpus + 1, sizeof(*r->cpus),
					  CAM_WINDOW_ROWS_MAX);
		if (err)
			return err;
		size_t at = r->n_cpus++;
		for (; at && r->cpus[at - 1] > r->cpu[i]; at--)
			r->cpus[at] = r->cpus[at - 1];
		r->cpus[at] = r->cpu[i];
	}
	const uint32_t *at = NULL;
	for (size_t i = 0; i < r->n; i++) {
		if (!at || *at != r->cpu[i])
			at = bsearch(&r->cpu[i], r->cpus, r->n_cpus, 4, compare_u32);
		r->cpu[i] = (uint32_t)(at - r->cpus);
	}
	return 0;
}

int cam_rows_gather(struct cam_rows *rows, struct cam_window *in, const struct cam_tables *t)
{
	uint64_t unit = in->info.time_unit_ns;
	*rows = (struct cam_rows){0};
	struct gathering g = {.rows = rows, .t = t, .places = in->info.has_places};
	g.unit_ns = unit && 1000000000 % unit == 0 ? unit : 1;
	g.sorted = g.whole_units = true;
	int err = in->ops->samples(in, CAM_RANGE_ALL,
				   CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_STACK |
					   CAM_COL_ETYPE | CAM_COL_WEIGHT | CAM_COL_LEAF |
					   CAM_COL_PLACE | CAM_COL_DETAIL,
				   gather_batch, &g);
	/* Times finer than the window says it has are kept, not cut. */
	rows->unit_ns = g.whole_units ? g.unit_ns : 1;
	if (!err && !g.sorted)
		err = put_in_order(rows);
	if (!err)
		err = number_rows(rows, t);
	if (!err)
		err = number_cpus(rows);
	return err;
}
