// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's log, from /dev/kmsg: lines with the kernel's own stamp (sched_clock).
 *
 * The descriptor does not block; a reader takes what is there, so many records a turn, and goes back to its
 * other work. Who writes faster than that loses lines to the kernel's ring, which are counted by
 * the gaps in its numbering. A piece of a line that was continued is joined with what precedes it, if both
 * come in one turn.
 *
 * One thread. Nothing is allocated after open.
 */
#pragma once
#include "events/kmsg_record.h"

struct cam_kmsg;

struct cam_kmsg_counts {
	uint64_t lines;	  /* handed out */
	uint64_t missed;  /* overwritten before they were read */
	uint64_t skipped; /* passed over: cam_kmsg_skip() */
	uint64_t bad;	  /* not records */
};

/* path: NULL: "/dev/kmsg". from_end: only what comes from now on. -errno of open(). */
int cam_kmsg_open(const char *path, bool from_end, struct cam_kmsg **out);
/* The same of a descriptor that is open and does not block; taken over, also on error. */
int cam_kmsg_adopt(int fd, struct cam_kmsg **out);
void cam_kmsg_close(struct cam_kmsg *k);
/* Whether there is something to read: to have the clocks read before it. */
bool cam_kmsg_is_ready(const struct cam_kmsg *k);

/* The text is borrowed for the call. */
typedef void cam_kmsg_fn(void *arg, const struct cam_kmsg_record *line);
/*
 * At most that many records. 1: there may be more; 0: that was all. -errno of read(): it will not get better.
 */
int cam_kmsg_read(struct cam_kmsg *k, unsigned max_records, cam_kmsg_fn *fn, void *arg);
/* Passes over all that is there: it will be among what was skipped. */
void cam_kmsg_skip(struct cam_kmsg *k);
struct cam_kmsg_counts cam_kmsg_counts(const struct cam_kmsg *k);
