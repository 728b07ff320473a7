// SPDX-License-Identifier: Apache-2.0
/*
 * A history of `why` while it is made: what why_history.c and why_footer.c share. All of it is the walk's; of a window
 * only while that is open. One thread.
 */
#pragma once
#include "query/walk.h"
#include "query/why_history.h"

/* Samples of a core in the second at hand. Those of its processes: of more than are kept here each counts little. */
#define CAM_WHY_ON_CORE 8u
struct cam_why_on_core {
	uint32_t n, n_pids;
	int32_t pids[CAM_WHY_ON_CORE];
	uint32_t of_pid[CAM_WHY_ON_CORE];
};

struct cam_why_build {
	struct cam_why_history *h;
	const struct cam_why_history_options *o;
	uint8_t *plan; /* by window of the source: PLAN_… */
	size_t n_windows;
	struct cam_source *source;
	size_t next;	   /* window of the source */
	size_t near_tasks; /* of the window that is asked about */
	size_t near;	   /* the window that is asked about */
	uint64_t near_ns;  /* its period; 0: it does not say */
	uint64_t busiest;  /* samples of a CPU in a second: the most there are */
	size_t kept;	   /* windows before it are not taken, or were given up */
	/* Cells before the window that is read; and the most that one had. */
	size_t had_cells, most_cells;
	/* Of the window that is read. */
	const struct cam_tables *tables;
	uint32_t *process_of, *function_of; /* by task, function: + 1 */
	uint32_t *stack_n, *task_n;	    /* samples of the second */
	size_t cap_stack_n, n_stack_n;
	uint32_t *stacks, *tasks; /* those that have any */
	size_t n_stacks, cap_stacks, n_tasks, cap_tasks;
	uint32_t *function_n, *function_mark;
	uint32_t *functions;
	size_t n_functions_met, cap_functions_met, n_function_room, cap_function_n,
		cap_function_mark;
	uint32_t mark;
	uint32_t at; /* the second; CAM_WHY_NOWHERE: none yet */
	bool want_processes, want_functions, want_cores;
	bool no_cores; /* of some windows they are not known */
	struct cam_why_on_core *cores;
	size_t n_cores, cap_cores;
	/* The name of the cell before, and the process that stands for it. */
	struct cam_name_cell named;
	uint32_t named_process;
};

/* One more cell. -ENOMEM; -E2BIG: there is no room. */
int cam_why_add_cell(const struct cam_why_build *b, struct cam_why_cells *c, uint32_t of,
		     uint32_t at, uint64_t n);
/* A sample of a core in the second at hand; then all of that second. -ENOMEM, -E2BIG. */
int cam_why_on_core(struct cam_why_build *b, uint32_t cpu, uint32_t task);
int cam_why_end_cores(struct cam_why_build *b);
/* Samples of a process in the second at hand (b->at). -ENOMEM; -E2BIG: there is no room for more cells. */
int cam_why_add_process(struct cam_why_build *b, uint32_t process, uint64_t n);
/* The window's samples by process and second, from its footer and its tasks. */
int cam_why_take_footer(struct cam_why_build *b, struct cam_walk_window *x);
