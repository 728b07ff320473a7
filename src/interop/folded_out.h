// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → folded stacks: "comm;root;…;leaf COUNT" lines, each text once, sorted by bytes.
 *
 * For windows that were imported from `perf script` text the lines are those that
 * stackcollapse-perf.pl prints for that text, as `LC_ALL=C sort` orders them; see collapse.h for
 * what names become.
 *
 * Add any number of windows, one after the other, and close each when it was added: memory
 * follows the number of distinct lines, never the samples, and is bounded by max_bytes. A stack
 * for which there is no room is dropped whole and counted.
 */
#pragma once
#include "base/out.h"
#include "interop/collapse.h"
#include "model/row_filter.h"

enum cam_folded_weight {
	CAM_FOLDED_PERIOD,  /* each sample counts its period */
	CAM_FOLDED_SAMPLES, /* each sample counts 1 */
};

struct cam_folded_options {
	struct cam_collapse_rules rules; /* the mode is chosen by the window, not here */
	enum cam_folded_weight weight;
	struct cam_text event_type; /* count this type only; empty: the first one met */
	size_t max_bytes;	    /* of everything held; 0: 512 MiB */
};

struct cam_folded_stats {
	uint64_t windows;
	uint64_t samples;	   /* seen */
	uint64_t counted;	   /* in the lines */
	uint64_t filtered;	   /* of another event type */
	uint64_t dropped;	   /* no room */
	uint64_t weight;	   /* the sum of all lines; UINT64_MAX: too much to count */
	uint64_t lines;		   /* written */
	uint64_t entry_addresses;  /* frames for which only the function's start could be printed */
	uint64_t left_out_frames;  /* distinct ones that stackcollapse does not read as frames */
	uint64_t left_out_samples; /* of exiting threads, ":-1", likewise */
	struct cam_text event; /* the type counted; empty: none was named. Lives as long as f. */
	struct cam_text other; /* the first other type met, empty: there was none. Likewise. */
	bool two_columns; /* folded stacks that had two: what is counted is "before", "after" is the other */
	struct cam_damage damage; /* of the windows, as each said after it was read */
};

struct cam_folded;

/* Borrows event_type until cam_folded_free(). -ENOMEM. */
int cam_folded_new(const struct cam_folded_options *o, struct cam_folded **out);
void cam_folded_free(struct cam_folded *f);

/*
 * Counts the samples of a window in this range of its clock. An error is the window's, or
 * -ENOMEM; what was counted before it stays counted.
 */
int cam_folded_add(struct cam_folded *f, struct cam_window *w, struct cam_range range);
/* The same of the rows that a filter takes. */
int cam_folded_add_rows(struct cam_folded *f, struct cam_window *w,
			const struct cam_row_filter *filter);

/* Writes all lines. The caller finishes `out`. */
int cam_folded_write(struct cam_folded *f, struct cam_out *out);

struct cam_folded_stats cam_folded_stats(const struct cam_folded *f);
