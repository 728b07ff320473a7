// SPDX-License-Identifier: Apache-2.0
/*
 * Where unwind tables and mappings go, so that stacks come complete: from ingest, which knows what
 * processes run, to the BPF source, whose program walks their stacks.
 *
 * Sides: ingest/live calls; capture/bpf_unwinder.c implements, and tests.
 * Handed over: the tables of files, by ingest's file numbers; the executable mappings of processes.
 * Ownership: everything is borrowed for the call.
 * Thread: ingest's; the drain thread uses the same source at the same time, but nothing of this.
 * Refusals, negative errno: -ENOSPC: the budget is full and nothing is old enough to make room; -E2BIG: more
 * rows, rules or mappings than a table or an image can hold (nothing of it is kept); -EBADMSG: rows
 * that do not ascend, or a rule out of range; -EAGAIN: ask again at the next tick.
 * Counted: stats().
 *
 * A table: table_begin, table_rows as often as packets come, table_end. Until table_end the
 * file has no table. Blocks go to the kernel in batches, at flush() at the latest: a process or a table
 * is in use from then on.
 */
#pragma once
#include "model/unwind_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How user stacks are had. */
enum cam_unwind_mode {
	CAM_UNWIND_AUTO,
	CAM_UNWIND_BPF,	  /* in the kernel, by tables */
	CAM_UNWIND_FP,	  /* by the kernel, by frame pointers */
	CAM_UNWIND_DWARF, /* copies of stacks, walked by the symboliser */
	CAM_UNWIND_MODES,
};

struct cam_unwind_process {
	int32_t pid;
	uint64_t start_ns; /* boot clock; 0: not known: whatever has that pid now */
	uint64_t
		as_of_ns; /* monotonic: it ran this then; an exec after that makes it void; 0: now */
	uint32_t
		image; /* ingest's number of this very set of mappings, never given again, never 0 */
};

/* A mapping as ingest has it. */
struct cam_unwind_mapping {
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	uint32_t file;	 /* CAM_NONE: no file (anonymous memory) */
};

struct cam_unwinder_stats {
	size_t table_bytes, image_bytes, max_bytes; /* of the kernel's memory */
	uint32_t tables, images, processes;
	uint64_t evicted_tables, evicted_images, refused;
	uint64_t ends[CAM_STACK_ENDS]; /* of the samples so far, as the program counted them */
	uint64_t guessed;	       /* samples with at least one step by frame pointer */
	uint64_t copied;	       /* samples that came with a copy of their stack */
	uint64_t copies_denied; /* that should have: too many at once, or the ring was half full */
	const char *form;	/* "bpf_loop", "plain loop" */
};

struct cam_unwinder {
	void *self;
	int (*table_begin)(struct cam_unwinder *u, uint32_t file);
	int (*table_rows)(struct cam_unwinder *u, uint32_t file,
			  const struct cam_unwind_rule *rules, size_t n_rules,
			  const struct cam_unwind_row *rows, size_t n_rows);
	int (*table_end)(struct cam_unwinder *u, uint32_t file);
	/* Also what was begun and never ended. The number may come again for another file. */
	void (*table_forget)(struct cam_unwinder *u, uint32_t file);
	bool (*table_has)(struct cam_unwinder *u, uint32_t file);

	/* The process runs this image from now on; `maps` ascend. An image that is there already
	 * is not read again: maps may be NULL then (-ENOENT: it is not, or was evicted). */
	int (*process)(struct cam_unwinder *u, const struct cam_unwind_process *p,
		       const struct cam_unwind_mapping *maps, size_t n_maps);
	/* It has ended, or its image is not known any more. */
	void (*process_forget)(struct cam_unwinder *u, int32_t pid, uint64_t start_ns);
	/* Nobody runs it any more. */
	void (*image_forget)(struct cam_unwinder *u, uint32_t image);

	/* About every 200 ms. */
	int (*flush)(struct cam_unwinder *u, uint64_t now_ns);
	struct cam_unwinder_stats (*stats)(const struct cam_unwinder *u);
};
