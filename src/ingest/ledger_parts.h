// SPDX-License-Identifier: Apache-2.0
/* What ledger.c (who feeds, and when) and ledger_settle.c (who gets what) share. */
#pragma once
#include "ingest/ledger.h"

/* Seconds that can be open at a time: what a stalled recorder finds waiting, and the 3 s of grace. */
#define CAM_LEDGER_OPEN 16u

/* One second of one CPU; or, for what came after its second was settled, a longer stretch. */
struct cam_account {
	uint64_t enabled_ns, offline_ns, idle_ns, steal_ns;
	/* Products of a rate and a time: 1e9 of them are a sample. */
	uint64_t due_hzns, shed_hzns, slow_hzns, throttled_hzns;
	uint64_t throttled_from, throttled_to; /* 0, 0: not */
	uint64_t fate[CAM_LEDGER_FATES];
	uint64_t lost, other;	 /* their rows are given on when they come */
	uint64_t from_ns, to_ns; /* a longer stretch's; empty: nothing came late */
};

/* What could not be given yet (or was given too early: negative), in rate × time. */
struct cam_carry {
	int64_t due, offline, stolen, shed, throttled, blocked, idle;
};

/* When the timer of one CPU fires, if it is on time; and what it skipped where it was not. */
struct cam_beat {
	uint64_t phase_ns, last_ns; /* 0: none yet */
	uint32_t astray;	    /* samples in a row that were off it */
	uint64_t skipped;	    /* ticks, since ever */
};

/* A sample came; in order of time. */
void cam_beat_note(struct cam_beat *b, uint32_t hz, uint64_t time_ns);

/* The sums that tell whether the control event saw more than ours. */
struct cam_control {
	double enabled_s, control, expected, fired, skipped;
	uint64_t skipped_seen; /* of the beat */
	/* What is missing of ours beyond error, else 0: for each that fired; or, where none did,
	 * for each second. */
	double of_each, of_second;
	uint32_t hz, control_hz;
};

struct cam_ledger_cpu {
	struct cam_account second[CAM_LEDGER_OPEN]; /* by second % CAM_LEDGER_OPEN */
	struct cam_account late;
	struct cam_carry carry;
	struct cam_control control;
	struct cam_beat beat;
	struct cam_raw_counts last; /* cumulative, as of counts_ns */
	uint64_t counts_ns, counters_ns;
	uint64_t lost_from_ns, lost_seen, lost_given;
	uint64_t throttled_since, offline_since; /* CAM_TIME_NONE: it is not */
	uint64_t still_since;	   /* its time enabled has stood still; CAM_TIME_NONE: it has not */
	struct cam_ledger_row run; /* wholly idle or offline seconds, not given yet */
	uint64_t run_each;	   /* samples of each of its seconds; 0: no run */
	uint32_t number;
	bool sampled; /* else only its counters came */
};

struct cam_ledger {
	struct cam_ledger_options o;
	struct cam_ledger_cpu *cpus[CAM_LEDGER_MAX_CPUS];
	uint32_t n_cpus; /* the highest number + 1 */
	uint32_t asked_hz, asked_hz_before;
	uint32_t source_hz;  /* what the source last said it has; 0: nothing yet */
	uint64_t asked_ns;   /* since when */
	uint64_t cut_ns;     /* no row lies on both sides of it */
	uint64_t settled_ns; /* all before is settled; CAM_TIME_NONE: nothing came yet */
	/* Time as ticks see it, a second a tick at most: a stalled recorder's patience stalls too. */
	uint64_t patience_ns, last_now_ns;
	uint64_t closable_ns[CAM_LEDGER_OPEN]; /* on that clock; 0: not yet */
	struct cam_ledger_stats stats;
};

int cam_ledger_give(struct cam_ledger *l, const struct cam_ledger_row *row);
/* Gives what the account a of [from, to) holds, and empties it. */
int cam_account_settle(struct cam_ledger *l, struct cam_ledger_cpu *c, struct cam_account *a,
		       uint64_t from_ns, uint64_t to_ns);
int cam_account_end_run(struct cam_ledger *l, struct cam_ledger_cpu *c);
/* COUNTS came: the control event's share. */
void cam_control_add(struct cam_ledger_cpu *c, const struct cam_ledger_options *o,
		     const struct cam_raw_counts *delta);
