// SPDX-License-Identifier: Apache-2.0
/*
 * The drain thread: rings → order → queue, and nothing else. It never touches the disk, a lock or
 * a path, and is the only thread that is not niced.
 *
 * Started and stopped by the ingest thread, which owns the struct. Between the two: the queue, an
 * eventfd that says that there is something in it, and the atomics below.
 */
#pragma once
#include "capture/capture.h"
#include "daemon/queue.h"

#include <pthread.h>

/* How long a record may lie in a ring before a round looks at it: while programs come and go, and while
 * none does. Both divide the second. With what a record needs to settle and what a sample waits for an
 * answer (400 ms), the journal has it within a second of its time: what a kill may cost. */
#define CAM_ROUND_NS 200000000u
#define CAM_QUIET_NS 500000000u

struct cam_drain;

struct cam_drain_stats {
	uint64_t rounds;
	uint64_t released_ns; /* no record older than this will come */
	uint64_t refused;     /* records that did not fit into the queue */
	int error;	      /* of rescan or a round, the last one; 0: none */
};

struct cam_drain_options {
	struct cam_capture *capture; /* the drain's from here on: ask it nothing until stop() */
	struct cam_queue *queue;
	int wake_fd;
	size_t max_streams; /* that are merged */
	int64_t namespace_ns; /* what CLOCK_MONOTONIC shows here beyond the kernel's own: samples carry
			       * that one */
};
int cam_drain_start(const struct cam_drain_options *o, struct cam_drain **out);
/* One last round: everything up to now is released. Then joins the thread; the capture is open
 * still, and the caller's again. */
void cam_drain_stop(struct cam_drain *d);
struct cam_drain_stats cam_drain_stats(struct cam_drain *d);
/* Asks for a round now: somebody waits for records to come as far as he is. */
void cam_drain_nudge(struct cam_drain *d);
/* Asks the thread to change the sampling rate (to shed load). */
void cam_drain_set_rate(struct cam_drain *d, uint32_t hz);
