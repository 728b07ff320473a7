// SPDX-License-Identifier: Apache-2.0
/*
 * The starvation finder: single cores that one task, or one path in the kernel, kept for half a second and more while the
 * machine had room. Aggregates show nothing of it: one core of 96 is one percent.
 *
 * A core is kept (model/kept.h) by a task, or by a function of the kernel that samples have in common. Whatever keeps it for
 * longer than the window is told once a window.
 *
 * A window that holds only a part of the samples (--pid, --cgroup …) says nothing about the rest: do not ask. Of one CPU
 * nothing is found. Two passes over samples, the second only where something was found.
 */
#pragma once
#include "model/cursor.h"

#define CAM_STARVED_MAX	 8u /* of a window: the longest, of each process in turn */
#define CAM_STARVED_PATH 4u

struct cam_starved {
	uint64_t time_ns, length_ns; /* the window's clock */
	uint32_t cpu;
	struct cam_task_id task; /* CAM_NONE: of several, in one function of the kernel */
	uint64_t samples, own;	 /* of the core; of these, of the task or with the function */
	uint32_t busy_percent;	 /* of the machine, meanwhile */
	uint32_t path_percent;	 /* of the core's samples that have path[0] in their stack */
	size_t n_path; /* the innermost function that most have in common, then its callers */
	struct cam_func_id path[CAM_STARVED_PATH];
};

struct cam_starving {
	struct cam_starved v[CAM_STARVED_MAX]; /* the longest first */
	size_t n;
	uint64_t more; /* while the machine had room, too: not looked at */
};

/* Errors as of the window; -ENOMEM. Ids are the window's. */
int cam_starved_find(struct cam_window *w, struct cam_starving *out);
