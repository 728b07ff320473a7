// SPDX-License-Identifier: Apache-2.0
/*
 * A window's samples by core and second, and how many of them were of the core's busiest process. The idle task is nobody.
 *
 * Of each core eight processes are counted at once. Where there are more in a second, one that is not yet among them takes one
 * from each (Misra and Gries): a count is then too small by a ninth of the core's samples at most, and that of who has
 * most of them all is near the truth.
 */
#include "base/vec.h"
#include "query/why_build.h"

#include <errno.h>
#include <string.h>

#define MAX_CORES 65536u

static void count_pid(struct cam_why_on_core *c, int32_t pid)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->n_pids; i++) {
		if (c->pids[i] == pid) {
			c->of_pid[i]++;
			return;
		}
	}
	if (c->n_pids < CAM_WHY_ON_CORE) {
		c->pids[c->n_pids] = pid;
		c->of_pid[c->n_pids++] = 1;
		return;
	}
	for (uint32_t i = 0; i < c->n_pids; i++) {
		if (--c->of_pid[i]) {
			c->pids[n] = c->pids[i];
			c->of_pid[n++] = c->of_pid[i];
		}
	}
	c->n_pids = n;
}

int cam_why_on_core(struct cam_why_build *b, uint32_t cpu, uint32_t task)
{
	const struct cam_task *k = task < b->tables->n_tasks ? &b->tables->tasks[task] : NULL;
	int32_t pid = !k ? CAM_PID_NONE : k->pid == CAM_PID_NONE ? k->tid : k->pid;
	if (!pid || cpu >= MAX_CORES)
		return 0;
	if (cpu >= b->n_cores) {
		int err = cam_vec_reserve(&b->cores, &b->cap_cores, (size_t)cpu + 1,
					  sizeof(*b->cores), MAX_CORES);
		if (err)
			return err;
		memset(b->cores + b->n_cores, 0, (cpu + 1 - b->n_cores) * sizeof(*b->cores));
		b->n_cores = (size_t)cpu + 1;
	}
	b->cores[cpu].n++;
	count_pid(&b->cores[cpu], pid);
	return 0;
}

int cam_why_end_cores(struct cam_why_build *b)
{
	int err = 0;
	for (uint32_t cpu = 0; cpu < b->n_cores; cpu++) {
		struct cam_why_on_core *c = &b->cores[cpu];
		uint32_t most = 0;
		for (uint32_t i = 0; i < c->n_pids; i++)
			most = c->of_pid[i] > most ? c->of_pid[i] : most;
		if (!err && c->n && b->at != CAM_WHY_NOWHERE)
			err = cam_why_add_cell(b, &b->h->by_core, cpu, b->at, c->n);
		if (!err && c->n && b->at != CAM_WHY_NOWHERE)
			err = cam_why_add_cell(b, &b->h->of_one, cpu, b->at, most);
		c->n = c->n_pids = 0;
	}
	return err;
}
