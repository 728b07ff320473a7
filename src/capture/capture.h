// SPDX-License-Identifier: Apache-2.0
/*
 * Sampling every CPU: the door of the two sources (perf_event rings; BPF).
 *
 * Sides: daemon (or a test) calls; perf_source.c and bpf_source.c implement.
 * Handed over: streams of raw records (model/stream.h), one or more a CPU.
 * Ownership: streams and what they give are the capture's. The list of streams changes only in
 * rescan(): then `generation` grows by 1.
 * Thread: all calls from one thread, the drain thread, after open() (which any thread may call).
 * Nothing is allocated after open() but by rescan() for a CPU that came.
 * Refusals, negative errno: open(): -EACCES, -EPERM (not allowed: cam_probe says what is missing),
 * -EOPNOTSUPP (no such event, no BTF, verifier refuses), -EMFILE, -ENOMEM, -ENODEV (none of the CPUs
 * is online), -ESRCH (none of the threads lives), -EINVAL (hz 0).
 * Counted: CAM_RAW_COUNTS a CPU about once a second, CAM_RAW_LOST as it is noticed, as records.
 *
 * A round:
 *	begin_round(c, t_round, &streams, &n)	// notes how far every ring is filled
 *	... peek() and take() of every stream, as far as wanted; what is not taken stays in the
 *	    ring for the next round: the ring is the buffer ...
 *	end_round(c)				// gives the taken space back to the kernel
 */
#pragma once
#include "model/stream.h"
#include "model/unwinder.h"

#include <sched.h>

enum cam_capture_event {
	CAM_EVENT_AUTO, /* cycles where a PMU counts them, else cpu-clock */
	CAM_EVENT_CPU_CLOCK,
	CAM_EVENT_CYCLES,
};

struct cam_capture_options {
	uint32_t hz;
	enum cam_capture_event event;
	const uint32_t *cpus; /* only these; NULL: all that are online, and those that come */
	size_t n_cpus;
	const int32_t *tids; /* only these threads and their children (unprivileged: no CPU-wide
			      * event is allowed then); NULL: everything */
	size_t n_tids;
	bool user_only; /* kernel stacks are not allowed */
	bool no_idle;	/* not the idle task: in a pid namespace others have its pid, too */
	bool scope_follows; /* filter_pids() will be called, with processes that are found out meanwhile: no child that
			     * one of them forks between is to be filtered */
	enum cam_unwind_mode unwind; /* AUTO: BPF where the source is, else FP */
	size_t max_ring_bytes;	     /* all rings together, as mapped; 0: 24 MiB */
	size_t ring_bytes;	     /* tests: one CPU's sample ring; 0: chosen */
};

/* What was really opened, for the one line at start and for the window's facts. */
struct cam_capture_info {
	const char *source; /* "perf", "bpf" */
	const char *event;  /* "cpu-clock", "cycles" */
	uint32_t hz;	    /* as the kernel took it */
	uint32_t cpus;
	size_t sample_ring_bytes; /* a CPU */
	size_t side_ring_bytes;	  /* a CPU */
	size_t ring_bytes;	  /* all, as resident */
	bool kernel_stacks;
	const char *
		unwind; /* "tables (bpf_loop)", "tables (plain loop)", "frame pointers", "copies" */
	bool rings_shrunk; /* a locked-memory limit made them smaller than wanted */
};

struct cam_capture {
	const struct cam_capture_ops *ops;
	struct cam_capture_info info;
	uint32_t generation;
	struct cam_unwinder *unwinder; /* NULL: this source does not unwind by tables */
};

struct cam_capture_ops {
	/* Readable when a ring passed its watermark; for epoll. */
	int (*fd)(struct cam_capture *c);
	int (*begin_round)(struct cam_capture *c, uint64_t round_ns, struct cam_stream ***streams,
			   size_t *n);
	void (*end_round)(struct cam_capture *c);
	/* The next round brings COUNTS of every CPU, whenever their last ones were: after the last
	 * round nothing is left to tell. */
	void (*count)(struct cam_capture *c);
	/* Each round, at the cost of one read of a small file: whether CPUs have come or gone, or lost
	 * their events, since the last rescan(), so that another is due at once. */
	bool (*cpus_changed)(struct cam_capture *c);
	/* Then, and once a second: opens CPUs that came, closes those that went; follows the kernel's
	 * highest rate. */
	int (*rescan)(struct cam_capture *c);
	/* Changes the rate of all CPUs (to shed load). */
	int (*set_rate)(struct cam_capture *c, uint32_t hz);
	/* A scope: only samples of these processes are emitted, the rest is counted as filtered.
	 * n = 0: no scope. Sources that cannot filter in the kernel answer -EOPNOTSUPP: ingest
	 * filters then. */
	int (*filter_pids)(struct cam_capture *c, const int32_t *pids, size_t n);
	void (*close)(struct cam_capture *c);
};

/* Sampling has begun when these return 0. */
int cam_capture_open_perf(const struct cam_capture_options *o, struct cam_capture **out);
int cam_capture_open_bpf(const struct cam_capture_options *o, struct cam_capture **out);
