// SPDX-License-Identifier: Apache-2.0
/*
 * Folded stacks in: "a;b;c 12", one stack a line, root first; and the two-column form of
 * difffolded.pl, "a;b;c 10 12". No times: the clock is absent, samples have CAM_TIME_NONE.
 *
 * How a line becomes nouns
 *  - The first name is the task's comm, as in what the stackcollapse scripts write (also where a tool
 *    put a function there: nobody can tell); its pid and tid are not known. The others are frames,
 *    and each is a function of no module. An exporter that writes comm and frames back, with the
 *    suffix of each kind, gives the line that was read.
 *  - The suffixes _[k], _[j] and _[i] are the kinds kernel, JIT and inlined, and not part of the name.
 *  - The count is the sample's weight, of an event type "samples". In a two-column file each line is
 *    two samples, of the types "before" and "after"; one that counts 0 is left out where the other
 *    does not. A file is two-column when each of its first lines is: names may end in a number.
 *  - A file whose first lines (64 KiB) hold a count with a fraction is read in thousandths: each
 *    weight is 1,000 times the count, rounded, and the one-column type is named "thousandths";
 *    written as folded stacks they have their fractions again.
 *    A fraction that comes later is rounded, and counted in rounded_counts.
 *  - Empty lines and lines that start with '#' and have no count are skipped. Any other line
 *    without a count, or with one beyond 64 bits, is a malformed sample.
 * Stacks deeper than CAM_MAX_STACK_FRAMES: as in perf_script_in.h.
 */
#pragma once
#include "interop/import.h"

/* o may be NULL. See import.h for what it answers. */
int cam_folded_read(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		    struct cam_import_stats *st);

struct cam_folded_shape {
	bool found; /* at least half of the lines are folded stacks */
	bool two_columns;
	bool fractions;
};

/* Looks at the first bytes of a file; the last line may be cut. */
struct cam_folded_shape cam_folded_probe(struct cam_text first);
