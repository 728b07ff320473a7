// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → the text that `perf script` prints, for every tool that reads that: FlameScope,
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
 * Samples are in order of time. Memory: that of every exporter, and the texts of frames, at most 32 MiB.
 */
#pragma once
#include "interop/exporter.h"
#include "interop/perf_script_text.h"

struct cam_perf_script_options {
	bool header; /* the # lines, about the window of the first sample */
	/*
	 * enum cam_perf_field. Of those in `exact` (a user asked for them) a sample that has none ends the
	 * export with -ENODATA: `missing` of the stats says which. Others are left out where not known.
	 */
	unsigned fields, trace_fields; /* tracepoints have their own */
	unsigned exact;
	/* Nine decimals: always, or (`as_kept`) where the window's times are finer than microseconds. */
	bool nanoseconds, as_kept;
	/* Times since the first sample that is printed, or since the one before it. */
	bool since_first, since_last;
	bool no_chains;	    /* of a stack the innermost frame, on the line of its sample */
	unsigned max_stack; /* so many frames, from the innermost on; 0: all */
	bool terminal;	    /* what is not UTF-8 is escaped, too: a terminal obeys some of it */
};

/* What export perf-script writes: all that is known, and the header. */
#define CAM_PERF_SCRIPT_EVERYTHING                                      \
	((struct cam_perf_script_options){.header = true,               \
					  .fields = CAM_PERF_ALL,       \
					  .trace_fields = CAM_PERF_ALL, \
					  .as_kept = true})

int cam_perf_script_out_new(struct cam_out *out, const struct cam_perf_script_options *o,
			    struct cam_exporter **made);
/* After -ENODATA: the field that a sample did not have (enum cam_perf_field). */
unsigned cam_perf_script_missing(const struct cam_exporter *x);
