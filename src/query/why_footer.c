// SPDX-License-Identifier: Apache-2.0
/*
 * A window's samples by process and second: the footer has them by pid, the tasks say who that is. Processes that had next to
 * none are one for each name and cgroup.
 */
#include "base/vec.h"
#include "query/why_build.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL	 10u /* samples of a process in a window */
#define MAX_PIDS (1 << 22)

/* From the footer: who leads each pid, and what it had. */
struct leader {
	int32_t pid;
	uint32_t task;
	uint64_t samples;
	uint32_t process; /* + 1; 0: not yet asked */
};

struct footer {
	struct cam_why_build *b;
	const struct cam_window_info *info;
	struct leader *v;
	size_t n;
	/* Where pids lie close to each other, as Linux's do, + 1 by pid - low; else NULL, and the index has them. */
	uint32_t *by_pid;
	int64_t low, high;
	struct cam_index index;
	struct cam_process_cell *cells;
	size_t n_cells, cap_cells;
};

static bool same_pid(const void *rows, uint32_t id, const void *key)
{
	return ((const struct leader *)rows)[id].pid == *(const int32_t *)key;
}

static uint32_t leader_of(const struct footer *f, int32_t pid)
{
	if (!f->by_pid)
		return cam_index_find(&f->index, cam_hash_u64((uint32_t)pid, 1), same_pid, f->v,
				      &pid);
	uint32_t at = pid >= f->low && pid <= f->high ? f->by_pid[pid - f->low] : 0;
	return at ? at - 1 : CAM_INDEX_NONE;
}

static int add_leader(struct footer *f, int32_t pid, uint32_t task)
{
	int err = f->by_pid ? 0 : cam_index_reserve(&f->index);
	if (err)
		return err;
	f->v[f->n] = (struct leader){.pid = pid, .task = task};
	if (f->by_pid)
		f->by_pid[pid - f->low] = (uint32_t)f->n + 1;
	else
		cam_index_add(&f->index, cam_hash_u64((uint32_t)pid, 1), (uint32_t)f->n);
	f->n++;
	return 0;
}

static int32_t pid_of(const struct cam_task *k)
{
	return k->pid == CAM_PID_NONE ? k->tid : k->pid;
}

static int make_room(struct footer *f, const struct cam_tables *t)
{
	f->low = INT32_MAX;
	f->high = INT32_MIN;
	for (uint32_t i = 0; i < t->n_tasks; i++) {
		int32_t pid = pid_of(&t->tasks[i]);
		f->low = pid < f->low ? pid : f->low;
		f->high = pid > f->high ? pid : f->high;
	}
	f->v = calloc(t->n_tasks + 1, sizeof(*f->v));
	if (f->low <= f->high && f->high - f->low < MAX_PIDS)
		f->by_pid = calloc((size_t)(f->high - f->low) + 1, sizeof(*f->by_pid));
	return f->v ? 0 : -ENOMEM;
}

/* The main thread, or whoever is met first. */
static int find_leaders(struct footer *f, const struct cam_tables *t)
{
	int err = make_room(f, t);
	for (uint32_t i = 0; i < t->n_tasks && !err; i++) {
		const struct cam_task *k = &t->tasks[i];
		int32_t pid = pid_of(k);
		uint32_t at = leader_of(f, pid);
		if (at == CAM_INDEX_NONE)
			err = add_leader(f, pid, i);
		else if (k->tid == pid)
			f->v[at].task = i;
	}
	return err;
}

static int on_process_cell(void *arg, const struct cam_process_cell *c)
{
	struct footer *f = arg;
	uint32_t at = c->pid ? leader_of(f, c->pid) : CAM_INDEX_NONE;
	if (at == CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&f->cells, &f->cap_cells, f->n_cells + 1, sizeof(*f->cells),
				  f->b->o->room.cells);
	if (err)
		return err;
	f->v[at].samples += c->samples;
	f->cells[f->n_cells] = *c;
	f->cells[f->n_cells++].pid = (int32_t)at;
	return 0;
}

static int name_leader(struct footer *f, const struct cam_tables *t, struct leader *l)
{
	int err = l->samples < SMALL ? cam_why_rest_of(f->b->h, t, l->task, &l->process)
				     : cam_why_process_of(f->b->h, t, l->task, &l->process);
	l->process++;
	return err;
}

int cam_why_take_footer(struct cam_why_build *b, struct cam_walk_window *x)
{
	struct footer f = {.b = b, .info = &x->w->info};
	uint64_t second = UINT64_MAX;
	int err = find_leaders(&f, x->tables);
	if (!err)
		err = x->w->ops->process_cells(x->w, on_process_cell, &f);
	for (size_t i = 0; i < f.n_cells && !err; i++) {
		struct leader *l = &f.v[f.cells[i].pid];
		if (f.cells[i].second != second)
			b->at = cam_why_axis_find(&b->h->axis, &f.info->boot_id, f.cells[i].second);
		second = f.cells[i].second;
		if (!l->process)
			err = name_leader(&f, x->tables, l);
		if (!err && b->at != CAM_WHY_NOWHERE)
			err = cam_why_add_process(b, l->process - 1, f.cells[i].samples);
	}
	free(f.v);
	free(f.by_pid);
	free(f.cells);
	cam_index_free(&f.index);
	return err;
}
