// SPDX-License-Identifier: Apache-2.0
/*
 * Searching in time.
 *
 * Samples that match are counted by second of the window's clock (as footers have them, so that the number
 * of all samples of a second costs nothing), process and core. A moment is made from the heaviest second that
 * is left: it takes its neighbours on both sides as long as they hold at least half as much. So a
 * burst stands for itself, and something that runs all the time is one long moment.
 *
 * Windows whose footers have no match are not read (walk.c).
 *
 * Invariants: 1. Each second is in one moment at most. 2. The samples of a moment are those of its process
 * and core, and others.
 *
 * Example: 0 3 9 8 1 5 4: moments 9 8 (peak 9), 5 4 (peak 5), 3, 1.
 */
#include "query/search.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/landing.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ITEMS      (1u << 23)
#define MAX_NAME_BYTES (64u << 20)

/* A second of a boot with a match. */
struct second {
	uint32_t boot;
	uint64_t second;
	int64_t wall_ns;
	uint64_t samples, all;
	uint32_t window; /* its name: a string of names */
	bool taken;
};

/* Samples of a second by process and core. */
struct item {
	uint32_t second, comm, cpu;
	int32_t pid;
	uint64_t samples;
};

struct build {
	struct cam_tables *names;
	struct cam_boot_id *boots;
	size_t n_boots, cap_boots;
	struct second *seconds;
	size_t n_seconds, cap_seconds;
	struct cam_index second_index;
	struct item *items;
	size_t n_items, cap_items;
	struct cam_index item_index;
	/* Of the window. */
	uint32_t boot, window;
	uint32_t *comm_of; /* by task: + 1 */
	uint32_t last;	   /* the second before */
	bool timeless;
	unsigned notes;
};

static bool same_second(const void *rows, uint32_t id, const void *key)
{
	const struct second *a = (const struct second *)rows + id, *b = key;
	return a->second == b->second && a->boot == b->boot;
}

static uint64_t second_hash(uint32_t boot, uint64_t second)
{
	return cam_hash_u64(second, boot + 1ull);
}

static uint32_t find_second(const struct build *b, uint64_t second)
{
	struct second key = {.boot = b->boot, .second = second};
	return cam_index_find(&b->second_index, second_hash(b->boot, second), same_second,
			      b->seconds, &key);
}

static int second_of(struct build *b, struct cam_walk_window *x, uint64_t time_ns, uint32_t *out)
{
	uint64_t second = time_ns / CAM_NS_PER_SEC;
	if (b->n_seconds && b->last < b->n_seconds && b->seconds[b->last].second == second &&
	    b->seconds[b->last].boot == b->boot) {
		*out = b->last;
		return 0;
	}
	uint32_t at = find_second(b, second);
	if (at == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&b->seconds, &b->cap_seconds, b->n_seconds + 1,
					  sizeof(*b->seconds), MAX_ITEMS);
		if (!err)
			err = cam_index_reserve(&b->second_index);
		if (err)
			return err;
		at = (uint32_t)b->n_seconds++;
		b->seconds[at] = (struct second){
			.boot = b->boot,
			.second = second,
			.wall_ns = cam_walk_wall(x, second * CAM_NS_PER_SEC),
			.window = b->window,
		};
		cam_index_add(&b->second_index, second_hash(b->boot, second), at);
	}
	*out = b->last = at;
	return 0;
}

static bool same_item(const void *rows, uint32_t id, const void *key)
{
	const struct item *a = (const struct item *)rows + id, *b = key;
	return a->second == b->second && a->comm == b->comm && a->cpu == b->cpu && a->pid == b->pid;
}

static int add_item(struct build *b, const struct item *key)
{
	uint64_t hash = cam_hash_u64((uint64_t)key->second << 32 | key->comm,
				     (uint64_t)key->cpu << 32 | (uint32_t)key->pid);
	uint32_t at = cam_index_find(&b->item_index, hash, same_item, b->items, key);
	if (at == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&b->items, &b->cap_items, b->n_items + 1,
					  sizeof(*b->items), MAX_ITEMS);
		if (!err)
			err = cam_index_reserve(&b->item_index);
		if (err)
			return err;
		at = (uint32_t)b->n_items++;
		b->items[at] = *key;
		cam_index_add(&b->item_index, hash, at);
	}
	b->items[at].samples++;
	return 0;
}

static int comm_of(struct build *b, const struct cam_tables *t, uint32_t task, uint32_t *out)
{
	*out = 0;
	if (task >= t->n_tasks)
		return 0;
	if (!b->comm_of[task]) {
		struct cam_str_id id;
		int err = cam_string_intern(b->names, cam_string(t, t->tasks[task].comm), &id);
		if (err)
			return err;
		b->comm_of[task] = id.v + 1;
	}
	*out = b->comm_of[task] - 1;
	return 0;
}

/* Whether time that was spent elsewhere lands on what is searched for: the leaf itself has to match. */
static int note_leaf(struct build *b, struct cam_walk_window *x, const struct cam_batch *batch,
		     size_t at)
{
	const struct cam_tables *t = x->tables;
	uint32_t stack = batch->stack[at], etype = cam_walk_etype(batch, at);
	if (b->notes || !stack || stack >= t->stacks.n || etype >= t->n_etypes)
		return 0;
	uint32_t function = t->stacks.item[stack];
	if (function >= t->n_functions || t->functions[function].kind != CAM_FUNC_KERNEL ||
	    !cam_landing_event(cam_string(t, t->etypes[etype].name)))
		return 0;
	unsigned notes =
		cam_landing_notes(CAM_FRAME_KERNEL, cam_string(t, t->functions[function].name));
	int named = notes ? cam_selector_names(&x->selector, (struct cam_func_id){function}) : 0;
	b->notes |= named > 0 ? notes : 0;
	return named < 0 ? named : 0;
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct build *b = self;
	const struct cam_batch *batch = rows->batch;
	const struct cam_tables *t = x->tables;
	int err = 0;
	if (b->timeless)
		return -EDOM;
	for (size_t i = 0; i < rows->n && !err; i++) {
		size_t at = rows->index[i];
		uint32_t task = batch->task[at];
		struct item key = {.cpu = batch->cpu[at], .pid = CAM_PID_NONE};
		if (task < t->n_tasks)
			key.pid = t->tasks[task].pid == CAM_PID_NONE ? t->tasks[task].tid
								     : t->tasks[task].pid;
		err = second_of(b, x, batch->time_ns[at], &key.second);
		if (!err)
			err = comm_of(b, t, task, &key.comm);
		if (!err)
			err = add_item(b, &key);
		if (!err)
			err = note_leaf(b, x, batch, at);
		if (!err)
			b->seconds[key.second].samples++;
	}
	return err;
}

static int on_open(void *self, struct cam_walk_window *x)
{
	struct build *b = self;
	const struct cam_window_info *info = &x->w->info;
	struct cam_str_id name;
	b->timeless = info->clock == CAM_CLOCK_ABSENT;
	b->last = UINT32_MAX;
	for (b->boot = 0; b->boot < b->n_boots; b->boot++) {
		if (!memcmp(&b->boots[b->boot], &info->boot_id, sizeof(info->boot_id)))
			break;
	}
	int err = cam_vec_reserve(&b->boots, &b->cap_boots, b->n_boots + 1, sizeof(*b->boots),
				  CAM_MAX_ROWS);
	if (err)
		return err;
	if (b->boot == b->n_boots)
		b->boots[b->n_boots++] = info->boot_id;
	err = cam_string_intern(b->names, info->name, &name);
	b->window = name.v;
	b->comm_of = calloc(x->tables->n_tasks + 1, sizeof(*b->comm_of));
	return err ? err : b->comm_of ? 0 : -ENOMEM;
}

struct counting {
	struct build *b;
	const struct cam_selector *x;
};

static int on_cell(void *arg, const struct cam_cell *c)
{
	struct counting *k = arg;
	uint32_t at = find_second(k->b, c->second);
	if (at != CAM_INDEX_NONE && cam_selection_takes_cpu(k->x->selection, c->cpu))
		k->b->seconds[at].all += c->busy;
	return 0;
}

static int on_close(void *self, struct cam_walk_window *x, int err)
{
	struct build *b = self;
	struct counting k = {b, &x->selector};
	free(b->comm_of);
	b->comm_of = NULL;
	/* Only a window with matches has seconds to ask for. */
	if (!err && b->last != UINT32_MAX)
		err = x->w->ops->cells(x->w, on_cell, &k);
	return err;
}

static int in_order(const void *x, const void *y, void *arg)
{
	const struct second *s = arg;
	const struct second *a = &s[*(const uint32_t *)x], *b = &s[*(const uint32_t *)y];
	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	return a->second < b->second ? -1 : a->second > b->second;
}

static int heavier(const void *x, const void *y, void *arg)
{
	const struct second *s = arg;
	const struct second *a = &s[*(const uint32_t *)x], *b = &s[*(const uint32_t *)y];
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return in_order(x, y, arg);
}

/* Neighbours in time. */
static bool adjoins(const struct second *a, const struct second *b)
{
	return a->boot == b->boot && a->second + 1 == b->second;
}

/* Whether a moment with this peak takes a second more. */
static bool joins(const struct second *s, const struct second *peak)
{
	return !s->taken && s->samples * 2 >= peak->samples;
}

static void make_moment(struct build *b, const uint32_t *order, size_t n, size_t at,
			struct cam_search_moment *m, size_t *from_out, size_t *to_out)
{
	struct second *s = b->seconds, *peak = &s[order[at]];
	size_t from = at, to = at + 1;
	while (from > 0 && adjoins(&s[order[from - 1]], &s[order[from]]) &&
	       joins(&s[order[from - 1]], peak))
		from--;
	while (to < n && adjoins(&s[order[to - 1]], &s[order[to]]) && joins(&s[order[to]], peak))
		to++;
	const struct second *first = &s[order[from]];
	*m = (struct cam_search_moment){
		.wall_ns = first->wall_ns,
		.clock_ns = first->second * CAM_NS_PER_SEC,
		.length_ns = (to - from) * CAM_NS_PER_SEC,
		.peak_wall_ns = peak->wall_ns,
		.peak_clock_ns = peak->second * CAM_NS_PER_SEC,
		.peak_samples = peak->samples,
		.peak_all = peak->all,
		.window = {NULL, first->window},
	};
	for (size_t i = from; i < to; i++) {
		s[order[i]].taken = true;
		m->samples += s[order[i]].samples;
		m->all += s[order[i]].all;
	}
	*from_out = from;
	*to_out = to;
}

static int by_second(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int by_process(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->comm < b->comm ? -1 : a->comm > b->comm;
}

static int by_cpu(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* The items of one kind next to each other: the heaviest run of them. */
static const struct item *most(struct item *v, size_t n, int (*order)(const void *, const void *),
			       uint64_t *samples)
{
	const struct item *best = NULL;
	*samples = 0;
	qsort(v, n, sizeof(*v), order);
	for (size_t i = 0; i < n;) {
		uint64_t sum = 0;
		size_t from = i;
		for (; i < n && !order(&v[i], &v[from]); i++)
			sum += v[i].samples;
		if (sum > *samples) {
			*samples = sum;
			best = &v[from];
		}
	}
	return best;
}

/* Whose it was: of the items of seconds order[from … to). starts: where each second's items begin. */
static int find_whose(const struct build *b, const uint32_t *order, size_t from, size_t to,
		      const uint32_t *starts, struct cam_search_moment *m)
{
	size_t n = 0;
	for (size_t i = from; i < to; i++)
		n += starts[order[i] + 1] - starts[order[i]];
	struct item *v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	n = 0;
	for (size_t i = from; i < to; i++) {
		for (uint32_t k = starts[order[i]]; k < starts[order[i] + 1]; k++)
			v[n++] = b->items[k];
	}
	const struct item *process = most(v, n, by_process, &m->process_samples);
	m->pid = process ? process->pid : CAM_PID_NONE;
	m->comm = (struct cam_text){NULL, process ? process->comm : 0};
	const struct item *cpu = most(v, n, by_cpu, &m->cpu_samples);
	m->cpu = cpu ? cpu->cpu : CAM_CPU_NONE;
	free(v);
	return 0;
}

static int make_moments(struct build *b, size_t limit, struct cam_search *out)
{
	size_t n = b->n_seconds;
	uint32_t *order = calloc(n + 1, sizeof(*order)), *place = calloc(n + 1, sizeof(*place));
	uint32_t *heavy = calloc(n + 1, sizeof(*heavy)), *starts = calloc(n + 2, sizeof(*starts));
	out->moments = calloc(limit + 1, sizeof(*out->moments));
	int err = order && place && heavy && starts && out->moments ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		order[i] = heavy[i] = i;
	if (n && !err) {
		qsort_r(order, n, sizeof(*order), in_order, b->seconds);
		qsort_r(heavy, n, sizeof(*heavy), heavier, b->seconds);
		qsort(b->items, b->n_items, sizeof(*b->items), by_second);
		for (uint32_t i = 0; i < n; i++)
			place[order[i]] = i;
		for (size_t i = 0; i < b->n_items; i++)
			starts[b->items[i].second + 1]++;
		for (size_t i = 0; i < n; i++)
			starts[i + 1] += starts[i];
	}
	for (size_t i = 0; i < n && !err && out->n_moments < limit; i++) {
		size_t from, to;
		struct cam_search_moment *m = &out->moments[out->n_moments];
		if (b->seconds[heavy[i]].taken)
			continue;
		make_moment(b, order, n, place[heavy[i]], m, &from, &to);
		err = find_whose(b, order, from, to, starts, m);
		out->n_moments++;
	}
	free(order);
	free(place);
	free(heavy);
	free(starts);
	return err;
}

static void finish_texts(struct cam_search *out)
{
	for (size_t i = 0; i < out->n_moments; i++) {
		struct cam_search_moment *m = &out->moments[i];
		m->comm = cam_string(out->names, (struct cam_str_id){(uint32_t)m->comm.n});
		m->window = cam_string(out->names, (struct cam_str_id){(uint32_t)m->window.n});
	}
}

int cam_search_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_search_options *o, struct cam_search *out)
{
	struct build b = {.names = calloc(1, sizeof(*b.names))};
	const struct cam_walk_view view = {
		.self = &b,
		.open = on_open,
		.rows = on_rows,
		.close = on_close,
		.progress = o->progress,
		.columns = CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK,
		.wall = true,
	};
	struct cam_walk walk = {0};
	*out = (struct cam_search){.names = b.names};
	int err = b.names ? cam_tables_init(b.names, MAX_NAME_BYTES) : -ENOMEM;
	if (!err)
		err = cam_walk(source, s, &view, &walk);
	if (!err)
		err = cam_walk_keep_seen(&walk, &out->seen, &out->strings);
	cam_walk_free(&walk);
	if (!err)
		err = make_moments(&b, o->limit, out);
	if (!err)
		finish_texts(out);
	out->seconds = b.n_seconds;
	out->notes = b.notes;
	free(b.boots);
	free(b.seconds);
	free(b.items);
	cam_index_free(&b.second_index);
	cam_index_free(&b.item_index);
	if (err)
		cam_search_free(out);
	return err;
}

void cam_search_free(struct cam_search *s)
{
	free(s->moments);
	free(s->strings);
	if (s->names)
		cam_tables_free(s->names);
	free(s->names);
	*s = (struct cam_search){0};
}
