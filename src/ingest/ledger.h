// SPDX-License-Identifier: Apache-2.0
/*
 * The accounts of each CPU and second: what was due, and what became of every sample of it.
 *
 * Sides: ingest/live.c feeds it; rows come out through a callback and go into the open window.
 * A second is CLOCK_MONOTONIC / 1e9; the callback runs inside tick(), flush(), add(), suspended()
 * and raw(), on the caller's thread. One thread. Rows come about a second after their time, at most
 * 3 s after the second was released: keep the window open so long, or call flush() before its end.
 *
 * For each CPU and second, once it is settled:
 *
 *	samples stored (busy) + the samples of all rows == due
 *
 * and no number is negative. `due` is (time enabled + time offline) × rate, rounded, plus what
 * suspend took; time enabled is the kernel's own count. Rounding and everything that did not fit
 * into its second is carried into the next ones, so that errors do not add up.
 *
 * Exact (error 0): busy, FILTERED, BOUND, LOST_RING (by its drain round), LOST_QUEUE and other rows
 * given to add(); idle samples that fired.
 * Estimated, out of due − fired, in this order, each at most what is left:
 *	STOLEN		steal of /proc/stat × rate
 *	SHED		(nominal rate − the rate asked for) × time enabled, neither idle nor stolen
 *	THROTTLED	time between THROTTLE and UNTHROTTLE × rate; and what the kernel made of the
 *			rate, if less than asked for, as SHED
 *	BLOCKED		by the control event (see below)
 *	IDLE		idle + iowait of /proc/stat × rate, less idle samples that fired
 *	UNEXPLAINED	the rest: late timers, mostly
 * OFFLINE and SUSPENDED are times, × rate. Time nobody reported on is UNEXPLAINED, never IDLE: idle
 * rows sum up to no more than what the kernel counted as idle, within the error:
 *
 * Error. /proc/stat counts in clock ticks, so over whole seconds of one CPU, however many, idle and
 * stolen are each off by at most 2 ticks × rate, plus one of rounding: cam_ledger_error(). Where in
 * time they belong is less sharp: a reading is spread evenly over its interval, so where a CPU changes
 * from busy to idle a second, or either end of a stretch, is off by (distance of the reading from
 * the full second) × rate: read the counters just after each full second. Where /proc/stat and
 * samples disagree, samples win; up to a second of idle or stolen time is carried until it fits, the
 * rest is counted (`disagreed`).
 *
 * BLOCKED. The control event (cpu-clock without BPF) meets the same idle time and steal as ours; what it
 * fired, × rate / its rate, is what ours should have, less the ticks that a timer of ours skipped while
 * its CPU was not there (a virtual one that waits, and says so to nobody): those end with a sample that is off
 * the beat, and the slower control has missed fewer. Both are binomial; the sums
 * of the last 32 to 64 s are compared, and only a difference beyond 4 standard deviations counts:
 * from then on blocked = fired × difference / fired of those sums. What was lost before that stays
 * UNEXPLAINED. At 11 Hz, 60 s, a wholly busy CPU: differences above about 4 % show; half idle: 16 %.
 *
 * due_known = false (cycles: the PMU's rate is only nominal): due is then what can be told: all that
 * fired, plus the estimates above, and nothing is UNEXPLAINED but what the control event says is
 * missing.
 *
 * of_threads (events of threads, not of CPUs): time enabled is then the time in which these ran on
 * that CPU. Idle, steal, offline and suspended are none of it and are passed over.
 */
#pragma once
#include "base/units.h"
#include "model/cursor.h"
#include "model/raw.h"

/* The unit of /proc/stat: USER_HZ is 100 wherever this runs. */
#define CAM_LEDGER_TICK_NS (10 * CAM_NS_PER_MS)
/* CPUs with higher numbers are not accounted, only counted (`no_room`). About 2.7 KiB a CPU. */
#define CAM_LEDGER_MAX_CPUS 1024u

struct cam_ledger;

struct cam_ledger_options {
	uint32_t hz; /* the nominal rate */
	bool due_known;
	bool of_threads;
	bool bpf; /* the control event stands beside BPF: what it says is missing was BLOCKED */
	/* Wholly idle (or offline) seconds of a CPU become one row, of at most this many; the
	 * most that a kill can cost of them. Readers spread it exactly. 0: 5. */
	uint32_t merge_seconds;
	/* A failure is returned by the call that made the row; the row counts as given. */
	cam_ledger_fn *fn;
	void *arg;
};

/* What became of a sample that came; exactly one call a sample. */
enum cam_ledger_fate {
	CAM_LEDGER_BUSY, /* stored */
	CAM_LEDGER_IDLE, /* pid 0 */
	CAM_LEDGER_FILTERED,
	CAM_LEDGER_BOUND, /* did not fit into the tables */
	CAM_LEDGER_FATES,
};

struct cam_ledger_stats {
	uint64_t busy;
	uint64_t due;	  /* of settled seconds: busy + all of by_cause */
	uint64_t fired;	  /* by the kernel's or BPF's own count, as of the last COUNTS */
	uint64_t emitted; /* …and of these not lost and not filtered by the source */
	uint64_t by_cause[CAM_CAUSE_MAX]; /* of all rows given so far */
	uint64_t excess;		  /* samples beyond what was due, too many to be carried */
	uint64_t disagreed;    /* idle and stolen: due by /proc/stat, but samples fired */
	uint64_t late_seconds; /* settled without all of their counts and counters */
	uint64_t no_room;      /* records of CPUs beyond the bound */
	uint32_t cpus;
	size_t bytes;
};

int cam_ledger_new(const struct cam_ledger_options *o, struct cam_ledger **out);
void cam_ledger_free(struct cam_ledger *l);

/* These answer -ENOMEM for the first record of a CPU, which is then not accounted; and what the
 * callback answered, if a second had to be settled to make room for a later one. */
int cam_ledger_sample(struct cam_ledger *l, uint32_t cpu, uint64_t time_ns,
		      enum cam_ledger_fate fate);
/* LOST, THROTTLE, UNTHROTTLE, COUNTS and CPU; other types (and a lost side band) are passed over. */
int cam_ledger_raw(struct cam_ledger *l, const struct cam_raw *r);
/* STEAL and IDLE of a CPU; other kinds are passed over. IDLE is the last of its CPU's to come. */
int cam_ledger_counter(struct cam_ledger *l, const struct cam_counter *c);
/* The rate at which the source samples, by its own word: the kernel may allow less than was asked for. 0: not
 * known yet. */
uint32_t cam_ledger_source_hz(const struct cam_ledger *l);
/* The rate asked for from time_ns on: less than nominal is SHED. */
void cam_ledger_rate(struct cam_ledger *l, uint64_t time_ns, uint32_t hz);
/* The host slept for asleep_ns, somewhere between two instants (CLOCK_MONOTONIC stood still). */
int cam_ledger_suspended(struct cam_ledger *l, uint64_t from_ns, uint64_t to_ns,
			 uint64_t asleep_ns);
/*
 * Samples that fired and will not come by cam_ledger_sample(): LOST_QUEUE, …; the row is given on as
 * it is. Those of no CPU (CAM_CPU_NONE) are given on and not accounted. Samples that did come and were
 * dropped later (the disk is full) are no business of the ledger's: its `busy` is stored or in the
 * rows of who dropped it.
 */
int cam_ledger_add(struct cam_ledger *l, const struct cam_ledger_row *row);

/*
 * Settles the seconds whose COUNTS and counters have come, and those for which they have not come
 * within 3 s. released_ns: no record older than this will come.
 */
int cam_ledger_tick(struct cam_ledger *l, uint64_t now_ns, uint64_t released_ns);
/* A window ends there: rows given from now on are split where they would cross it, as evenly as cells
 * are. Only the last such time is known. */
void cam_ledger_cut(struct cam_ledger *l, uint64_t at_ns);
/* Settles everything before end_ns with what is known, the begun second too (a cut, the end). */
int cam_ledger_flush(struct cam_ledger *l, uint64_t end_ns);

struct cam_ledger_stats cam_ledger_stats(const struct cam_ledger *l);
/* Samples by which idle, or stolen, of one CPU may be off over whole seconds, however many. */
uint64_t cam_ledger_error(uint32_t hz);
