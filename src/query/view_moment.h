// SPDX-License-Identifier: Apache-2.0
/* Door E, a moment: what is known of a short stretch of time. As views.h says. */
#pragma once
#include "model/counter.h"
#include "query/view_table.h"
#include "query/view_tracks.h"

/*
 * What became of the CPU time of a selection that has no filters but times and CPUs. By the ledger, in
 * samples that were due; or, of windows without one (imports), in nanoseconds of CPU time: then what was
 * not sampled is not known to be idle, and idle is what was sampled as such.
 */
struct cam_coverage {
	bool known, by_ledger;
	uint64_t due, busy, idle;
	uint64_t lost;	/* causes that are loss */
	uint64_t other; /* neither: stolen, offline, late timers, …; without a ledger: not known */
};

struct cam_coverage cam_coverage_of(const struct cam_seen *seen, const struct cam_measure *all,
				    bool cpu_known);

struct cam_moment_event {
	uint64_t id;	 /* event_id.h */
	int64_t wall_ns; /* INT64_MIN: not known */
	uint64_t time_ns, uncertainty_ns;
	enum cam_severity severity;
	struct cam_text source, text;
};

/* A host counter, over the stretch and over the rest of the windows it lies in. */
struct cam_moment_counter {
	enum cam_counter_kind kind;
	/* Means: tasks; shares of time in per mille; events in a second, times 1000. */
	uint64_t inside, inside_max, outside;
	bool has_outside;
	bool stands_out;
};

#define CAM_MOMENT_COUNTERS 12u

struct cam_moment {
	/* The window that holds the moment, and how far into it; empty: none does. */
	struct cam_text window;
	uint64_t offset_ns;
	int64_t wall_ns;   /* the moment; INT64_MIN: not known */
	uint64_t clock_ns; /* the same on the window's clock */
	uint64_t
		unreadable; /* windows that may hold it and could not be read when it was looked for */
	struct cam_coverage coverage;
	struct cam_table processes, functions, cores;
	/* Of the core with most samples: what it ran, by process and function. */
	struct cam_table busiest;
	bool has_busiest;
	struct cam_moment_event *events; /* by time */
	size_t n_events, n_all_events;
	struct cam_moment_counter counters[CAM_MOMENT_COUNTERS];
	size_t n_counters;
	struct cam_tracks host; /* the same time as one bin; no bin: the wall clock is not known */
	struct cam_tables *names; /* of events and window */
};

void cam_moment_free(struct cam_moment *m);
