// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → the text that `perf script --header` prints, for every tool that reads that: FlameScope,
 * FlameGraph's stackcollapse-perf.pl, our own importer.
 *
 *	COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD EVENT: TEXT
 *		ADDRESS NAME+0xOFFSET (MODULE)
 *		…
 *	(an empty line)
 *
 * Windows that were imported give the bytes that perf printed, but for what docs/perf-script.md lists.
 * perfcam's own windows keep functions, and of the leaf the offset:
 *  - ADDRESS is 0 where it is not known; +0xOFFSET is left out where that is not known;
 *  - PERIOD is the time between two samples where the event is a clock (as perf prints it);
 *  - " (deleted)" behind a module, and blanks in a comm where a reader would take what follows for a
 *    number of its own, are not printed as they are: readers take them for something else.
 * Whatever a name holds, a record stays a record: control characters come out as \x0a and the like.
 *
 * Samples are in order of time. Memory: one second of samples as rows, at most MAX_ROWS (a second with
 * more is in order by pieces), and the texts of frames, at most 32 MiB.
 */
#pragma once
#include "base/out.h"
#include "interop/row_filter.h"

struct cam_perf_script_out_stats {
	uint64_t windows;
	uint64_t samples;	  /* written */
	uint64_t folded;	  /* windows left out: they hold counts, not samples */
	struct cam_damage damage; /* of the windows, as each said after it was read */
};

struct cam_perf_script_out;

/* Writes to `out`, which is borrowed; the caller finishes it. -ENOMEM. */
int cam_perf_script_out_new(struct cam_out *out, struct cam_perf_script_out **made);
void cam_perf_script_out_free(struct cam_perf_script_out *x);

/*
 * Writes the samples of a window; before the first of all the header, which is about that window.
 * An error is the window's, the filter's or the stream's, or -ENOMEM;
 * what was written before it stays.
 */
int cam_perf_script_out_add(struct cam_perf_script_out *x, struct cam_window *w,
			    const struct cam_row_filter *filter);

struct cam_perf_script_out_stats cam_perf_script_out_stats(const struct cam_perf_script_out *x);
