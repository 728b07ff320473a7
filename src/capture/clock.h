// SPDX-License-Identifier: Apache-2.0
/*
 * Clock anchors: one instant read on every clock, so that wall time and the kernel log's stamps
 * can be mapped to samples (model/anchor.h); steps of the wall clock, and suspends.
 *
 * Call read() once a second, and when fd() is readable: then the wall clock was just stepped.
 * Thread: one at a time; the one that opened it where sched_clock is bound to its thread.
 * Nothing is allocated after open().
 *
 * Time namespaces: samples carry the kernel's own CLOCK_MONOTONIC, clock_gettime() that of the
 * caller's namespace. All times here are the kernel's own: what is read has the namespace's offset
 * taken off. So whoever compares a time with a sample's must use cam_clock_now().
 */
#pragma once
#include "model/nouns.h"

#include <time.h>

struct cam_clock;

/* Where times come from; tests have their own. */
struct cam_clock_source {
	void *self;
	/* As clock_gettime(), in ns; negative errno. */
	int (*now)(void *self, clockid_t clock, int64_t *ns);
	/* May be NULL. False: it cannot be read. */
	bool (*sched_clock)(void *self, uint64_t *ns);
};

struct cam_clock_options {
	/* now is NULL: the system's; self and sched_clock are used all the same. */
	struct cam_clock_source source;
	const char *proc; /* NULL: "/proc" */
};

struct cam_clock_reading {
	/* One, of now; or two of the same time where the wall clock was stepped since the last
	 * reading: what it would have shown, and what it shows. */
	struct cam_anchor anchor[2];
	unsigned n;
	int64_t stepped_ns; /* by somebody; what a suspend took is not in it. 0: it was not */
	/* The host slept so long, somewhere between two times of the window's clock, which stood
	 * still: a reading before, and this one. 0: it did not. */
	uint64_t asleep_ns, asleep_from_ns, asleep_to_ns;
};

/* -EMFILE, -ENOMEM; -errno of the first reading. */
int cam_clock_open(const struct cam_clock_options *o, struct cam_clock **out);
void cam_clock_close(struct cam_clock *c);
/* For epoll; -1 where the kernel has no such timer: then a step is found by the next reading. */
int cam_clock_fd(const struct cam_clock *c);
int cam_clock_read(struct cam_clock *c, struct cam_clock_reading *out);
/* CLOCK_MONOTONIC as samples have it. */
uint64_t cam_clock_now(struct cam_clock *c);

/* -errno; -EBADMSG: not a UUID. proc: NULL: "/proc". */
int cam_clock_boot_id(const char *proc, struct cam_boot_id *out);
