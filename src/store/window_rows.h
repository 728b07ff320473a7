// SPDX-License-Identifier: Apache-2.0
/*
 * The samples of a window that is to be written, gathered from door D into columns, in the order
 * of the file, with tasks, groups and CPUs renumbered as the file numbers them.
 */
#pragma once
#include "base/index.h"
#include "model/cursor.h"

struct cam_rows {
	size_t n, cap;
	uint64_t *time_ns;
	uint32_t *cpu, *task, *stack, *group; /* group: the event type until numbered */
	/* Only where some sample has something other than the default: */
	uint64_t *weight;
	uint64_t *leaf;	  /* offset + 1; 0: not known */
	uint32_t *place;  /* where the window has places */
	uint32_t *detail; /* string */

	/* Numbered by first use, in the order of the samples. */
	uint32_t *tasks; /* task of the file → task of the tables */
	size_t n_tasks;
	struct cam_row_group {
		uint32_t etype, comm, sole_task; /* as in the tables; sole as in the file */
	} * groups;
	size_t n_groups, cap_groups;
	uint32_t *cpus; /* ascending; the cpu column holds their numbers */
	size_t n_cpus;
	uint64_t unit_ns; /* that all times are multiples of */
};

/* 0, -EBADMSG: ids outside the tables, or the input's own error. Free it in any case. */
int cam_rows_gather(struct cam_rows *rows, struct cam_window *in, const struct cam_tables *t);
void cam_rows_free(struct cam_rows *rows);

static inline uint64_t cam_rows_second(uint64_t time_ns)
{
	return time_ns / 1000000000u;
}
