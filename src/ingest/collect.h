// SPDX-License-Identifier: Apache-2.0
/*
 * From door B to door C: takes samples, keeps the tables of the open window, cuts windows by the
 * samples' own time, and hands blocks of about a second to the journal.
 *
 * One collector, one thread. What does not fit is dropped whole and entered into the ledger of the
 * window it would have been in.
 */
#pragma once
#include "model/journal.h"
#include "model/sink.h"

struct cam_collect;

struct cam_collect_options {
	uint64_t window_ns;	/* a window is cut when its span reaches this; 0: never by time */
	uint64_t max_samples;	/* …or this many samples; 0: no limit */
	size_t max_table_bytes; /* …or its tables this size */
	struct cam_text host;	/* used until a fact "hostname" says better */
	enum cam_clock_kind clock;
	bool imported;
};

struct cam_collect_stats {
	uint64_t samples;
	uint64_t dropped; /* all causes; by cause in the ledgers */
	uint32_t windows;
	/* From the first sample to the last, of a clock that nothing ties to the wall's; 0: something does, or there are no times. */
	uint64_t unplaced_ns;
};

/* `to` is borrowed until cam_collect_free(). */
int cam_collect_new(struct cam_journal *to, const struct cam_collect_options *o,
		    struct cam_collect **out);
/* Frees without ending the window: what was not flushed is lost, as in a crash. */
void cam_collect_free(struct cam_collect *c);
struct cam_sink *cam_collect_sink(struct cam_collect *c);
/* Writes what is pending and ends the window; the collector can go on with another begin(). */
int cam_collect_finish(struct cam_collect *c);
struct cam_collect_stats cam_collect_stats(const struct cam_collect *c);
