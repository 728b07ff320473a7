// SPDX-License-Identifier: Apache-2.0
/*
 * Who keeps a core now: the runs of model/kept.h by thread, sample by sample as they come, so that somebody can be told of it
 * while it goes on. Without stacks, and not of functions that many threads are in: those are found when the window is sealed
 * (query/starve.h).
 *
 * One thread. Samples in order of time. Bounded by the number of CPUs; what memory lacks for is not watched.
 */
#pragma once
#include "model/kept.h"

#include <stddef.h>

#define CAM_KEEPING_TENTHS 64u /* how far back the machine's samples are known */

struct cam_keeping_core;
struct cam_keeping {
	struct cam_keeping_core *cores;
	size_t n, cap;
	uint64_t newest_ns;		     /* of all samples */
	uint64_t period_ns;		     /* of one sample; 0: none are taken */
	uint32_t tenths[CAM_KEEPING_TENTHS]; /* samples of all cores, by tenths of a second */
	uint64_t last_tenth;		     /* the newest that is counted */
};

struct cam_kept_core {
	uint32_t cpu;
	int32_t pid, tid;
	uint64_t from_ns, length_ns;
	bool goes_on;
	uint32_t busy_percent; /* of the machine, lately */
};

/* Of another rate: what was counted before is forgotten. */
void cam_keeping_period(struct cam_keeping *k, uint64_t period_ns);
/* tid 0: nobody. */
void cam_keeping_sample(struct cam_keeping *k, uint32_t cpu, uint64_t time_ns, int32_t pid,
			int32_t tid);
/* A thread has another name, or runs another program, from now on: what it did before was not that one's. */
void cam_keeping_renamed(struct cam_keeping *k, int32_t tid);
/*
 * The cores that are kept while the machine of so many CPUs has room, or were since it was last asked: from *at (begin with
 * 0) on the next that was not told. Whoever can tell of it says so; else it comes again, as long as it goes on and is not
 * followed by another one.
 */
bool cam_keeping_next(struct cam_keeping *k, uint32_t cpus, size_t *at, struct cam_kept_core *out);
void cam_keeping_told(struct cam_keeping *k, const struct cam_kept_core *c);
void cam_keeping_free(struct cam_keeping *k);
