// SPDX-License-Identifier: Apache-2.0
/*
 * A window's samples by process and second: the footer has them by pid, the tasks say who that is. Processes that had next to
 * none are one for each name and cgroup.
 */
#include "base/vec.h"
#include "query/why_build.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL 10u /* samples of a process in a window */

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
	return cam_index_find(&f->index, cam_hash_u64((uint32_t)pid, 1), same_pid, f->v, &pid);
}

/* The main thread, or whoever is met first. */
static int find_leaders(struct footer *f, const struct cam_tables *t)
{
	int err = 0;
	f->v = calloc(t->n_tasks + 1, sizeof(*f->v));
	if (!f->v)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_tasks && !err; i++) {
		const struct cam_task *k = &t->tasks[i];
		int32_t pid = k->pid == CAM_PID_NONE ? k->tid : k->pid;
		uint32_t at = leader_of(f, pid);
		if (at != CAM_INDEX_NONE) {
			if (k->tid == pid)
				f->v[at].task = i;
			continue;
		}
		err = cam_index_reserve(&f->index);
		if (err)
			break;
		f->v[f->n] = (struct leader){.pid = pid, .task = i};
		cam_index_add(&f->index, cam_hash_u64((uint32_t)pid, 1), (uint32_t)f->n++);
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
	free(f.cells);
	cam_index_free(&f.index);
	return err;
}
