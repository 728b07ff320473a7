// SPDX-License-Identifier: Apache-2.0
/*
 * What the host was doing, once a second: /proc/stat of each CPU, run queue, context switches,
 * pressure, the network's backlog, memory cgroups, and how long some threads waited to run.
 *
 * Sides: daemon calls; rows (model/counter.h) come out through a callback, inside read().
 * Thread: one at a time. Descriptors stay open and nothing is allocated after open(); watch() opens
 * and closes at most CAM_HOST_WATCHES files.
 * Refusals: open(): -errno of /proc/stat, -ENOMEM. Everything else may be missing: its rows are
 * missing then. read(): the callback's first failure; or that of reading /proc/stat (counted).
 *
 * Read just after each full second of CLOCK_MONOTONIC: the ledger counts in these seconds.
 *
 * The first read of a CPU (also one that came back) only notes where its counters stand. Of a CPU,
 * zeros are left out, but for IDLE, which comes last: what is missing beside it was 0. Ticks are
 * 10 ms, as the kernel gives them; guest time is part of user time there and not added again.
 * Counters that go backwards (idle and iowait do) give 0 until they are past where they were;
 * by more than a second they count from where they are now. Both are counted.
 *
 * Of modules the kernel sends no record (its KSYMBOL records are of BPF programs and trampolines), so that their
 * coming is seen here: modules_changed().
 */
#pragma once
#include "model/cursor.h"

#define CAM_HOST_MAX_CPUS 1024u
#define CAM_HOST_WATCHES  8u

struct cam_host;

struct cam_host_options {
	const char *proc;   /* NULL: "/proc" */
	const char *cgroup; /* NULL: "/sys/fs/cgroup" */
	cam_counter_fn *fn;
	void *arg;
};

/*
 * A thread whose time of waiting is wanted; a process's number is that of its main thread (the
 * kernel has no sum over a process's threads). start_ns: when its process started, boot clock; another
 * one that has the number now is not watched. 0: whoever has the number now. Once watched, a
 * number that is used again is not mistaken: the open file is of the thread, not of its number.
 */
struct cam_host_watch {
	int32_t tid;
	uint64_t start_ns;
};

struct cam_host_stats {
	uint64_t reads, failed;
	uint64_t backwards;  /* values below those of the read before */
	uint64_t no_room;    /* lines of CPUs beyond the bound */
	uint64_t unreadable; /* lines of CPUs that were not as expected */
	uint32_t cpus;	     /* in the last read */
	uint32_t watched;
};

int cam_host_open(const struct cam_host_options *o, struct cam_host **out);
void cam_host_close(struct cam_host *h);
/* now_ns: CLOCK_MONOTONIC, read just before. */
int cam_host_read(struct cam_host *h, uint64_t now_ns);
/* From now on these and no others; those that were watched before go on. At most CAM_HOST_WATCHES,
 * the rest is passed over. */
void cam_host_watch(struct cam_host *h, uint64_t now_ns, const struct cam_host_watch *w, size_t n);
/*
 * Whether a module came since the last call (or open()); between which addresses those lie that did.
 * /proc/modules has the newest first: one read of its beginning tells. When the newest went, all are given,
 * for which of them came is not known any more. One that is loaded again meanwhile, at its old address
 * and of its old size, is not seen. False as well where the file or its addresses (CAP_SYSLOG when it was opened)
 * cannot be read: kallsyms cannot be, either.
 */
bool cam_host_modules_changed(struct cam_host *h, uint64_t *from, uint64_t *to);
struct cam_host_stats cam_host_stats(const struct cam_host *h);
