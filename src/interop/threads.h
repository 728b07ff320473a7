// SPDX-License-Identifier: Apache-2.0
/*
 * Rows by thread, for formats that have a list of threads with samples each. A thread is (pid, tid, start of
 * the process); one without numbers is its comm. Each event type has threads of its own: what is counted
 * in different units shares no axis.
 *
 * Memory: gathered stacks, and 24 bytes a sample; -E2BIG when max_bytes is reached.
 */
#pragma once
#include "interop/gather.h"

struct cam_thread {
	uint32_t task;	/* of the gathered tables, as last seen: its comm is the latest */
	uint32_t etype; /* likewise */
	size_t from, n; /* its samples, after cam_threads_sort() */
};

struct cam_thread_sample {
	uint64_t time_ns; /* CAM_TIME_NONE: none */
	uint64_t weight;
	uint32_t thread, stack; /* a node of g.t.places */
};

struct cam_threads {
	struct cam_gather g;
	struct cam_thread *threads;
	size_t n_threads, cap_threads;
	struct cam_thread_sample *samples;
	size_t n_samples, cap_samples;
	struct cam_index index;
	size_t max_bytes;
	int64_t realtime_ns; /* of first_ns; INT64_MIN: not known */
	uint64_t first_ns;   /* of all; UINT64_MAX: none has a time */
	uint64_t period_ns;  /* the first known one; 0: none */
};

int cam_threads_init(struct cam_threads *th, size_t max_bytes);
void cam_threads_free(struct cam_threads *th);
int cam_threads_add(struct cam_threads *th, struct cam_exporter *x, const struct cam_export_row *r);
/* By thread in order of first sight, in it by time; equal times stay as they came. */
int cam_threads_sort(struct cam_threads *th);
