// SPDX-License-Identifier: Apache-2.0
/*
 * One kind of perf event on many CPUs, a ring each: perf_source has two (samples; side band),
 * bpf_source one (side band, beside its own sampling).
 *
 * Sides: a source calls; the kernel (or a test's, kernel.h) answers.
 * Handed over: one stream a CPU: what its ring holds, merged by time with what this room makes itself:
 *	CAM_RAW_LOST	exact, from PERF_FORMAT_LOST, in the round that noticed
 *	and for samples, not for the side band:
 *	CAM_RAW_COUNTS	about once a second
 *	CAM_RAW_CPU	when a CPU was opened (the first ones too) or went; counts begin anew then
 * Thread: one. Nothing is allocated but in cpus().
 *
 * A CPU that went is not read to its end at once: its stream stays, without events, until a later
 * cpus() finds it empty.
 */
#pragma once
#include "capture/cpus.h"
#include "capture/kernel.h"
#include "capture/ring.h"

/* Shared by several sets: what all rings take as mapped. */
struct cam_ring_budget {
	size_t max_bytes, used_bytes;
};

struct cam_rings_options {
	const struct cam_kernel *kernel;
	/* From cam_rings_*_attr(). What an old kernel does not know is left out of it. */
	struct perf_event_attr attr;
	const int32_t *tids; /* only these threads and their children; NULL: all */
	size_t n_tids;	     /* borrowed until close */
	size_t ring_bytes;   /* of one CPU's data */
	uint32_t hz;	     /* for COUNTS */
	bool side_band;
	bool witness; /* of samples of CPUs: with a control beside them (witness.h), where that is to be had */
	bool watch;   /* side band: find dead CPUs too, at one read(2) a second (samples: always) */
	int epoll_fd; /* gets the descriptors; -1: none */
	struct cam_ring_budget *budget;
};

struct cam_rings;

/* Forks, execs, exits, names, executable mappings, kernel symbols: of all processes (or of tids). */
void cam_rings_side_attr(struct perf_event_attr *attr, size_t ring_bytes, bool of_tids);

/* Opens nothing yet. -ENOMEM. */
int cam_rings_new(const struct cam_rings_options *o, struct cam_rings **out);
void cam_rings_free(struct cam_rings *s);

/*
 * Makes the set of open CPUs `wanted`, and opens again those whose events the kernel has killed
 * (dead()). Events of CPUs that came are enabled. *changed: the list of streams is another.
 * What was opened stays open on an error: -ENOBUFS where locked memory does not suffice, -ENOMEM
 * where the budget does not; else what perf_event_open said. A CPU that vanished meanwhile
 * (-ENODEV) is no error, nor is a thread that ended (-ESRCH) unless all have, nor a budget that is
 * short only because a CPU that went is not read to its end: the next call tries again.
 */
int cam_rings_cpus(struct cam_rings *s, const struct cam_cpus *wanted, uint64_t now_ns,
		   bool *changed);
/* CPUs whose event's enabled time stood still: they went and came back unseen. */
void cam_rings_dead(const struct cam_rings *s, struct cam_cpus *out);
/* Open, and neither dead nor gone. */
uint32_t cam_rings_count(const struct cam_rings *s);

/* The streams, as many as n_streams() says. */
size_t cam_rings_n_streams(const struct cam_rings *s);
void cam_rings_streams(struct cam_rings *s, struct cam_stream **out);

/*
 * Takes the tidings that made the epoll descriptor readable; a thread that ended would keep it so,
 * and is left out from then on. To be called in every round.
 */
void cam_rings_woken(int epoll_fd);
void cam_rings_begin(struct cam_rings *s, uint64_t round_ns);
void cam_rings_end(struct cam_rings *s);
/* The next begin() tells COUNTS of each CPU, whenever their last ones were. */
void cam_rings_ask(struct cam_rings *s);

/*
 * PERF_EVENT_IOC_PERIOD on all, and for CPUs that come. `value` is what the attribute's union holds: a
 * period, or with attr.freq a frequency. hz goes into COUNTS.
 */
int cam_rings_period(struct cam_rings *s, uint64_t value, uint32_t hz);
/* What the rings could not understand, in all, closed ones too. */
struct cam_ring_stats cam_rings_stats(const struct cam_rings *s);
