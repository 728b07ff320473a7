// SPDX-License-Identifier: Apache-2.0
/*
 * A window that is being filled: its tables, what is pending for the journal's next block, and the
 * way there through door C. What imports (collect.c) and the recorder (live.c) have in common; when
 * to cut, and what a sample is, is theirs.
 *
 * Life: init once; then for each window start() → begin() → rows and flush()es → end(), or drop().
 * start() and begin() are two, so that a window whose journal cannot be opened now can be filled
 * meanwhile. One thread. Everything pending refers to the window's own tables.
 */
#pragma once
#include "ingest/facts.h"
#include "model/journal.h"

#define CAM_OPEN_WINDOW_STEPS 32768u /* a power of two */

struct cam_open_window_options {
	size_t max_table_bytes;
	size_t max_samples; /* pending; past it cam_open_window_sample() answers -E2BIG */
	size_t max_rows;    /* pending, of each other kind */
	size_t place_slots; /* of the cache of stacks; a power of two */
};

struct cam_open_window {
	struct cam_journal *to;
	struct cam_open_window_options options;
	struct cam_tables tables;
	bool started; /* has tables */
	bool begun;   /* has a journal */

	struct cam_sample *samples;
	struct cam_event *events;
	struct cam_ledger_row *ledger;
	struct cam_anchor *anchors;
	struct cam_counter *counters;
	struct cam_loc_id *named;
	size_t n_samples, n_events, n_ledger, n_anchors, n_counters, n_named;
	size_t cap_samples, cap_events, cap_ledger, cap_anchors, cap_counters, cap_named;
	uint64_t facts_stamp; /* of the facts that are written */
	uint64_t refused;     /* rows that did not fit max_rows, since init */

	/* Places by the hash of their frames, of so many bits that a hit needs no look at the frames: they lie
	 * apart in memory, and were half of what a stack cost. */
	struct cam_open_window_place {
		struct cam_hash_128 hash;
		uint32_t place_plus_1;
	} * places;
	/* Nodes of the tree by the hash of the way to them from the root: a stack that is new shares most of its way with one that
	 * is not, and looks up only what is behind that. Made when the first stack comes; where there is no room for them, it
	 * goes without. */
	struct cam_open_window_step {
		uint64_t hash;
		uint32_t node; /* 0, the root: none */
	} * steps;
};

/* `to` is borrowed. */
int cam_open_window_init(struct cam_open_window *w, struct cam_journal *to,
			 const struct cam_open_window_options *o);
void cam_open_window_free(struct cam_open_window *w);

/* Empty tables. */
int cam_open_window_start(struct cam_open_window *w);
/* Opens the journal; may be tried again. head->host is set from `host`. */
int cam_open_window_begin(struct cam_open_window *w, const struct cam_window_head *head,
			  struct cam_text host);
/*
 * Hands over what is pending, in blocks of at most CAM_OPEN_WINDOW_BLOCK samples; does nothing if
 * nothing is, or before begin(). After an error what was not accepted is still pending.
 */
#define CAM_OPEN_WINDOW_BLOCK 8192u
int cam_open_window_flush(struct cam_open_window *w, const struct cam_facts *facts);
/* After a flush: closes the journal and frees the tables. May be called again after an error. */
int cam_open_window_end(struct cam_open_window *w, uint64_t end_ns, bool keep_empty);
/* Frees the tables and forgets what is pending, without a word to the journal. */
void cam_open_window_drop(struct cam_open_window *w);

/* The place of a stack, leaf first. Errors are those of cam_place_intern(). */
int cam_open_window_place(struct cam_open_window *w, const struct cam_loc_id *frames, size_t n,
			  struct cam_place_id *out);
/* Pending rows. -E2BIG: no more fit (counted, but for samples), -ENOMEM. */
int cam_open_window_sample(struct cam_open_window *w, const struct cam_sample *s);
int cam_open_window_event(struct cam_open_window *w, const struct cam_event *e);
int cam_open_window_ledger(struct cam_open_window *w, const struct cam_ledger_row *row);
int cam_open_window_anchor(struct cam_open_window *w, const struct cam_anchor *a);
int cam_open_window_counter(struct cam_open_window *w, const struct cam_counter *c);
/* A location that has got its name. */
int cam_open_window_named(struct cam_open_window *w, struct cam_loc_id loc);
/* Allocated: tables, pending rows, cache. */
size_t cam_open_window_bytes(const struct cam_open_window *w);
