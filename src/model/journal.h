// SPDX-License-Identifier: Apache-2.0
/*
 * Door C: from ingest, which knows windows, to store, which knows files.
 *
 * Sides: ingest calls; store's journal writer implements.
 * Handed over: the head of a window, then blocks of rows (about one a second), then its end.
 * Ownership: everything is borrowed for the call. The tables stay ingest's; the journal writes
 * of them what a block uses and its epoch (10 s of samples, at most 60) has not written yet.
 * Thread: one.
 * Refusals: -ENOSPC, -EIO and other errno of the disk: the block is not (wholly) written and may
 * be offered again; the journal stays readable up to the block before. -E2BIG: the block is
 * larger than a block may be.
 * Counted on refusal: nothing here; ingest enters the loss into the ledger of what follows.
 */
#pragma once
#include "model/counter.h"
#include "model/tables.h"

struct cam_window_head {
	struct cam_str_id host; /* of the recorded machine */
	struct cam_boot_id boot_id;
	enum cam_clock_kind clock;
	uint64_t start_ns;     /* of the window, on its clock; CAM_TIME_NONE: clock absent */
	uint64_t time_unit_ns; /* what sample times are multiples of: 1, 1000 or 10000 */
	uint64_t sequence;     /* the store's own count of its windows, set by it; 0: none */
	bool keep_places;      /* addresses of all frames are kept when sealed */
	bool imported;
};

struct cam_block {
	const struct cam_sample *samples; /* in any order */
	const struct cam_anchor *anchors;
	const struct cam_event *events;
	const struct cam_ledger_row *ledger;
	const struct cam_fact *facts;
	const struct cam_counter *counters;
	/* Locations that got their names since the last block. */
	const struct cam_loc_id *named;
	size_t n_samples, n_anchors, n_events, n_ledger, n_facts, n_counters, n_named;
};

struct cam_journal {
	void *self;
	/* Opens the window's journal. */
	int (*begin)(struct cam_journal *j, const struct cam_tables *t,
		     const struct cam_window_head *head);
	int (*append)(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_block *block);
	/* Closes it: end_ns is where observation ended. A window without samples leaves no file
	 * when `keep_empty` is false. */
	int (*end)(struct cam_journal *j, uint64_t end_ns, bool keep_empty);
	/* May be NULL. After end(): takes the window's tables over (and empties *t), so that they
	 * need not be read back; or leaves them. */
	void (*keep)(struct cam_journal *j, struct cam_tables *t);
};
