// SPDX-License-Identifier: Apache-2.0
/* What a window's footer tells by second, so that hours of it are read without a sample: rows of door D (model/cursor.h). */
#pragma once
#include "model/nouns.h"

/* One second of one CPU: no sample column is read for it. */
struct cam_cell {
	uint64_t second; /* time_ns / 1e9 */
	uint32_t cpu;
	uint64_t busy;
	uint64_t by_cause[CAM_CAUSE_MAX]; /* idle, lost, … : samples */
	uint32_t causes;		  /* bit by cause: those that are not 0 */
};
typedef int cam_cell_fn(void *arg, const struct cam_cell *c);

/* One second of one process. */
struct cam_process_cell {
	uint64_t second;
	int32_t pid;
	uint64_t samples;
};
typedef int cam_process_cell_fn(void *arg, const struct cam_process_cell *c);

/* One second of all processes of a name and cgroup. */
struct cam_name_cell {
	uint64_t second;
	struct cam_str_id name, cgroup;
	bool is_program; /* the name is the path of their program: no main thread was sampled */
	uint64_t samples;
	uint64_t most; /* of one of the processes */
};
typedef int cam_name_cell_fn(void *arg, const struct cam_name_cell *c);

/* A second of all CPUs by its parts on the window's clock. */
#define CAM_SLOTS   50u
#define CAM_SLOT_NS 20000000u
struct cam_slots {
	uint64_t second;
	uint32_t samples[CAM_SLOTS];
};
typedef int cam_slots_fn(void *arg, const struct cam_slots *s);
