// SPDX-License-Identifier: Apache-2.0
#include "query/grouping.h"

#include "model/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool cam_grouping_find(struct cam_text name, enum cam_flame_by *out)
{
	static const char *const names[CAM_BY_MAX] = {
		"comm", "process", "thread", "exe", "user", "cgroup", "container", "pod", "cpu"};
	for (unsigned i = 0; i < CAM_BY_MAX; i++) {
		if (cam_text_equal(name, cam_text_of(names[i]))) {
			*out = (enum cam_flame_by)i;
			return true;
		}
	}
	return false;
}

enum cam_walk_extra cam_grouping_extra(enum cam_flame_by by)
{
	return by == CAM_BY_COMM  ? CAM_WALK_NO_EXTRA
	       : by == CAM_BY_CPU ? CAM_WALK_BY_CPU
				  : CAM_WALK_BY_TASK;
}

bool cam_grouping_has_comm(enum cam_flame_by by)
{
	return by == CAM_BY_USER || by == CAM_BY_CGROUP || by == CAM_BY_CONTAINER ||
	       by == CAM_BY_POD || by == CAM_BY_CPU;
}

/* By process; its main thread first, then whoever was met first. */
static int by_process(const void *a, const void *b)
{
	const struct cam_leader *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->main != y->main)
		return x->main ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static int find_leaders(struct cam_grouping *g, const struct cam_tables *t)
{
	struct cam_leader *all = calloc(t->n_tasks + 1, sizeof(*all));
	size_t n = 0;
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_tasks; i++)
		all[i] =
			(struct cam_leader){t->tasks[i].pid, i, t->tasks[i].pid == t->tasks[i].tid};
	qsort(all, t->n_tasks, sizeof(*all), by_process);
	for (size_t i = 0; i < t->n_tasks; i++) {
		if (!n || all[n - 1].pid != all[i].pid)
			all[n++] = all[i];
	}
	g->leaders = all;
	g->n = n;
	g->known = true;
	return 0;
}

static uint32_t leader_of(const struct cam_grouping *g, int32_t pid, uint32_t otherwise)
{
	size_t low = 0, high = g->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (g->leaders[middle].pid == pid)
			return g->leaders[middle].task;
		if (g->leaders[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return otherwise;
}

static struct cam_text or_unknown(struct cam_text s)
{
	return s.n ? s : CAM_TEXT("[unknown]");
}

static struct cam_text numbered(struct cam_text name, int32_t id, char *room, size_t room_bytes)
{
	char number[24] = "";
	if (id == CAM_PID_NONE)
		return or_unknown(name);
	size_t n = (size_t)snprintf(number, sizeof(number), " (%d)", id);
	size_t most = room_bytes - n - 1;
	name.n = name.n < most ? name.n : most;
	memcpy(room, name.p, name.n);
	memcpy(room + name.n, number, n);
	return (struct cam_text){room, name.n + n};
}

static struct cam_text last_part(struct cam_text path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash || slash + 1 == path.p + path.n)
		return path;
	return (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}

/* A process is named by its program, or where that is not known by its leading thread. */
static int process_label(struct cam_grouping *g, const struct cam_tables *t, uint32_t task,
			 char *room, size_t room_bytes, struct cam_text *out)
{
	const struct cam_task *k = &t->tasks[task];
	struct cam_text name = last_part(cam_string(t, k->exe));
	/* A text that gives only threads: nobody can tell which belong together. */
	if (k->pid == CAM_PID_NONE) {
		*out = numbered(or_unknown(cam_string(t, k->comm)), k->tid, room, room_bytes);
		return 0;
	}
	int err = name.n || g->known ? 0 : find_leaders(g, t);
	if (err)
		return err;
	if (!name.n)
		name = cam_string(t, t->tasks[leader_of(g, k->pid, task)].comm);
	*out = numbered(or_unknown(name), k->pid, room, room_bytes);
	return 0;
}

/* What snprintf() has written there. */
static struct cam_text printed(int n, char *room, size_t room_bytes)
{
	size_t most = room_bytes - 1, had = n > 0 ? (size_t)n : 0;
	return (struct cam_text){room, had < most ? had : most};
}

/* Whose container or pod a cgroup is: what people know it by, the first 12 of an id. */
static struct cam_text container_label(struct cam_text cgroup, bool pod, char *room,
				       size_t room_bytes)
{
	struct cam_container c = cam_container_of(cgroup);
	if (pod)
		return c.pod[0] ? printed(snprintf(room, room_bytes, "%s", c.pod), room, room_bytes)
				: CAM_TEXT("[no pod]");
	if (!c.id.n)
		return CAM_TEXT("[host]");
	return printed(snprintf(room, room_bytes, "%.*s%s%.*s", (int)c.runtime.n, c.runtime.p,
				c.runtime.n ? " " : "", c.id.n == 64 ? 12 : (int)c.id.n, c.id.p),
		       room, room_bytes);
}

int cam_grouping_label(struct cam_grouping *g, enum cam_flame_by by, const struct cam_tables *t,
		       uint32_t extra, char *room, size_t room_bytes, struct cam_text *out)
{
	*out = CAM_TEXT("[unknown]");
	if (by == CAM_BY_CPU) {
		if (extra != CAM_CPU_NONE)
			*out = printed(snprintf(room, room_bytes, "CPU %02u", extra), room,
				       room_bytes);
		return 0;
	}
	if (extra >= t->n_tasks)
		return 0;
	const struct cam_task *k = &t->tasks[extra];
	switch (by) {
	case CAM_BY_PROCESS:
		return process_label(g, t, extra, room, room_bytes, out);
	case CAM_BY_THREAD:
		*out = numbered(or_unknown(cam_string(t, k->comm)), k->tid, room, room_bytes);
		break;
	case CAM_BY_EXE:
		*out = cam_string(t, k->exe);
		if (!out->n)
			*out = or_unknown(cam_string(t, k->comm));
		break;
	case CAM_BY_USER:
		if (k->uid != CAM_UID_NONE)
			*out = printed(snprintf(room, room_bytes, "uid %u", k->uid), room,
				       room_bytes);
		break;
	case CAM_BY_CGROUP:
		if (cam_string(t, k->cgroup).n)
			*out = cam_string(t, k->cgroup);
		break;
	case CAM_BY_CONTAINER:
	case CAM_BY_POD:
		*out = container_label(cam_string(t, k->cgroup), by == CAM_BY_POD, room,
				       room_bytes);
		break;
	case CAM_BY_COMM:
	case CAM_BY_CPU:
	case CAM_BY_MAX:
		break;
	}
	return 0;
}

void cam_grouping_free(struct cam_grouping *g)
{
	free(g->leaders);
	*g = (struct cam_grouping){0};
}
