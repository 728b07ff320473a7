// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's health and cost, as it answers them at door H, and as `perfcam status --json`
 * prints them. The recorder fills the struct, cam_status_write() makes the text. Names of members
 * are names of keys. All pieces of text are borrowed for the call.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"
#include "model/nouns.h"
#include "model/unwind_table.h"

#include <stdbool.h>
#include <stdint.h>

/* One of perfcam's processes: "recorder", "opener", "symboliser", "sealer", "server". */
struct cam_status_process {
	const char *name;
	int32_t pid;	  /* 0: does not run now */
	uint64_t cpu_ns;  /* since the start, of all that had this role */
	uint32_t cpu_ppm; /* of one CPU, over the last minute */
	uint64_t resident_bytes;
	uint32_t restarts;
};

/* Something bounded: "resident", "rings", "queue", "tables", …, "symboliser" */
struct cam_status_budget {
	const char *name;
	uint64_t used, limit; /* bytes */
	uint64_t refused;     /* what did not fit, as often as it happened */
};

/* How user stacks are had and how they ended, since the start. */
struct cam_status_stacks {
	struct cam_text how;	       /* the one line said at start */
	struct cam_text verifier;      /* why the kernel took no better program; empty: it did */
	uint64_t ends[CAM_STACK_ENDS]; /* of the samples that were stored */
	uint64_t guessed;	       /* with steps by frame pointers */
	uint64_t copies, copies_unwound, copies_late, copies_refused;
	uint64_t copies_denied; /* in the kernel: too many at once */
	bool by_tables;		/* what follows is known */
	uint64_t table_bytes, image_bytes, max_bytes;
	uint64_t tables, tables_empty, images, processes;
	uint64_t evicted_tables, evicted_images, refused;
};

/* Files whose code is named, since the start. */
struct cam_status_names {
	uint64_t held;	   /* now */
	uint64_t left_out; /* whose debug information was too large, or a part of it */
	uint64_t
		elsewhere; /* …lies in further files: .dwo, which are not read; dwz -m, not found */
	uint64_t poisoned; /* that nobody is asked about any more: the symboliser died on them */
	uint64_t symbols_only; /* …on their debug information, which is not read any more */
	uint64_t debug;	       /* whose debug file was found and used */
};

struct cam_status_error {
	int64_t realtime_ns; /* the last time */
	uint64_t times;
	struct cam_text text;
};

struct cam_status {
	struct cam_text store, control, config; /* config: the file, or empty */
	int64_t since_realtime_ns;
	uint64_t uptime_ns;
	const char *source, *event;
	struct cam_text why_source; /* the one line said at start */
	uint32_t hz, wanted_hz;	    /* differ: the kernel or the CPU budget lowered it */
	uint32_t cpus;
	bool kernel_stacks;
	bool rings_shrunk;
	struct cam_text scope; /* "all", "pid 2997", … */
	uint64_t samples;
	uint64_t samples_per_second;	  /* over the last minute */
	uint64_t by_cause[CAM_CAUSE_MAX]; /* samples not stored, since the start */
	struct cam_text shedding;	  /* what is being shed now; empty: nothing */
	uint32_t max_cpu_ppm;		  /* of all CPUs together; 0: no limit */
	struct cam_status_stacks stacks;
	struct cam_status_names names;
	const struct cam_status_process *processes;
	size_t n_processes;
	const struct cam_status_budget *budgets;
	size_t n_budgets;
	uint64_t ring_bytes, sample_ring_bytes, side_ring_bytes;
	uint64_t bytes_written;
	uint64_t window_ns;
	uint64_t windows_sealed, windows_waiting; /* since the start; closed, not sealed yet */
	uint64_t store_windows, store_bytes, max_bytes, free_bytes;
	int64_t oldest_realtime_ns; /* INT64_MIN: nothing yet */
	uint64_t pins, pinned_bytes, max_pinned_bytes;
	const struct cam_status_error *errors; /* the last ones, newest first */
	size_t n_errors;
};

/* Ends with a newline. What does not fit is the buffer's error. */
void cam_status_write(const struct cam_status *s, struct cam_buf *out);
