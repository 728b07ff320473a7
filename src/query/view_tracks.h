// SPDX-License-Identifier: Apache-2.0
/*
 * Door E, tracks: what the host counted in a stretch of time, in bins of equal length.
 *
 * Sides, ownership, thread and refusals as in query/views.h. Sampling shows who ran; these show who
 * waited, and what the kernel says of the same CPUs. A track exists where some window has that counter;
 * a bin that none of its readings touches is NaN, never 0.
 */
#pragma once
#include "base/text.h"
#include "model/counter.h"

#include <stddef.h>

/* What the numbers of a kind are. */
enum cam_track_unit {
	CAM_TRACK_NONE,	      /* not shown as a track */
	CAM_TRACK_MACHINE,    /* share of all CPUs' time; its peak is one CPU's */
	CAM_TRACK_TIME,	      /* share of time */
	CAM_TRACK_CPUS,	      /* CPUs' worth of time, over all its subjects */
	CAM_TRACK_PER_SECOND, /* events in a second */
	CAM_TRACK_NUMBER,     /* a value of the instant */
};

enum cam_track_unit cam_track_unit(enum cam_counter_kind kind);
/* "user", "run_delay", …: for programs. */
const char *cam_track_key(enum cam_counter_kind kind);

/* By bin, in the kind's unit. */
struct cam_track {
	float *mean;
	float *peak; /* the most of any reading (about a second), of any one subject */
	uint32_t *
		peak_who; /* whose that was: a CPU of CAM_TRACK_MACHINE, a thread of CAM_TRACK_CPUS */
};

/* A thread that could run and did not. Only the busiest threads are watched by the recorder. */
struct cam_track_waiter {
	int32_t tid;
	struct cam_text comm; /* empty: not known */
	uint64_t waited_ns;
};

#define CAM_TRACK_WAITERS 8u

struct cam_tracks {
	int64_t from_ns; /* wall clock, since 1970 */
	uint64_t step_ns;
	size_t n;
	struct cam_track by_kind[CAM_COUNTER_MAX];	    /* mean is NULL: no such track */
	struct cam_track_waiter waiters[CAM_TRACK_WAITERS]; /* the longest first */
	size_t n_waiters;
	uint64_t unreadable, unplaced; /* windows left out: damaged, or without a wall clock */
	char *strings;		       /* what waiters point into */
};

void cam_tracks_free(struct cam_tracks *t);
