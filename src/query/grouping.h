// SPDX-License-Identifier: Apache-2.0
/* What stands below the root of a flame graph: the names of the first level. */
#pragma once
#include "model/tables.h"
#include "query/walk.h"

enum cam_flame_by {
	CAM_BY_COMM,	  /* the thread's name: threads of one name are one */
	CAM_BY_PROCESS,	  /* "nginx (2997)": all threads of a process */
	CAM_BY_THREAD,	  /* "worker (3001)" */
	CAM_BY_EXE,	  /* the program's path */
	CAM_BY_USER,	  /* "uid 1000", then comm */
	CAM_BY_CGROUP,	  /* its path, then comm */
	CAM_BY_CONTAINER, /* "docker 0123456789ab" by its cgroup, or "[host]"; then comm */
	CAM_BY_POD,	  /* its uid, or "[no pod]"; then comm */
	CAM_BY_CPU,	  /* "CPU 03", then comm */
	CAM_BY_MAX,
};

/* "comm", "process", …; false: there is none of that name. */
bool cam_grouping_find(struct cam_text name, enum cam_flame_by *out);
/* What a walk must sum by for it. */
enum cam_walk_extra cam_grouping_extra(enum cam_flame_by by);
/* Whether a comm comes below it. */
bool cam_grouping_has_comm(enum cam_flame_by by);

/* Of one window: who leads each process, found when first asked. Zeroed is empty. */
struct cam_grouping {
	struct cam_leader {
		int32_t pid;
		uint32_t task;
		bool main; /* the thread that gave the process its number */
	} * leaders;
	size_t n;
	bool known;
};

/*
 * The name for a task or CPU of a window (as in cam_sum.extra). Borrowed from the tables, or written into
 * room, cut there if longer. -ENOMEM.
 */
int cam_grouping_label(struct cam_grouping *g, enum cam_flame_by by, const struct cam_tables *t,
		       uint32_t extra, char *room, size_t room_bytes, struct cam_text *out);
void cam_grouping_free(struct cam_grouping *g);
