// SPDX-License-Identifier: Apache-2.0
/*
 * What every importer takes and tells: options, and the account of one import.
 *
 * An importer reads a cam_input to its end in one pass and calls a cam_sink (door B). It returns
 * 0 when it came to the end of what can be read, which includes a cut or damaged file: the account
 * says what was lost, and cam_import_is_partial() whether a result must be called incomplete.
 * It returns a negative errno where the import must stop: -EFBIG a decompression bomb, -EIO and
 * other errors of reading, -ENOMEM, and whatever the sink answers that is not a refusal.
 *
 * Each import says the fact "format" ("perf script", "perf.data", "folded", "pprof", …) before its first sample.
 *
 * The account is filled as the import goes: clock and time_unit_ns are set before the first
 * begin() of the sink, so that a receiver may look at them there.
 */
#pragma once
#include "base/text.h"
#include "base/units.h"
#include "interop/input.h"
#include "model/sink.h"

struct cam_namer;
struct cam_namer_module;

/* What a recorder saw of a module that has no build-id in the file. */
struct cam_import_clue {
	uint32_t major, minor;	 /* of its device … */
	uint64_t inode;		 /* … 0: not known */
	struct cam_text release; /* of the kernel, as uname -r has it; empty: not known */
	/* Of the vdso: a symbol of the kernel that it came with, and where that was; empty: not known. */
	struct cam_text landmark;
	uint64_t landmark_address;
};

struct cam_import_options {
	/*
	 * "# captured on" is a local time. With this set it is read in the zone of this process (TZ),
	 * by its rules of that day; without it UTC is assumed, and the anchor made from it says that
	 * it may be 14 hours off.
	 */
	bool local_zone;
	/* Or whoever knows its zone says when that was; false: there was no such time. NULL: nobody. */
	bool (*wall_of)(void *arg, const struct cam_utc *local, int64_t *realtime_ns);
	void *wall_arg;
	/*
	 * The text of tracepoints differs from sample to sample, so keeping it makes memory follow
	 * the number of samples. With this set each such text becomes CAM_IMPORT_TEXT_DROPPED, but
	 * for the few that end in ':'.
	 */
	bool drop_details;
	/*
	 * Nor is an address of user space the same in two processes. With this set their locations
	 * have address 0: for views that print none, many times fewer stacks are different.
	 */
	bool drop_addresses;
	/* With this set only the idle task (pid 0) keeps its stacks, by which an idle CPU is known: for views that
	 * look at no frame. Of perf.data. */
	bool drop_stacks;
	/* And with this, where that is set, all tasks but the idle one may be one: for views that look at no task. */
	bool drop_tasks;
	size_t cache_bytes; /* for lines seen before; 0: 64 MiB */
	/* perf.data holds addresses: who gives them names. NULL: they have none. */
	struct cam_namer *namer;
	/* And by debug information what was inlined there, and source lines: that takes many times as long. */
	bool inlines;
	/* Whoever can look at this machine's files puts into *m the build-id or key of the module, if the
	 * clue proves that it is here; what it points to must last until the next call. NULL: nobody. */
	void (*identify)(void *arg, const struct cam_import_clue *clue, struct cam_namer_module *m);
	void *identify_arg;
	/*
	 * A file whose clock says nothing of the wall's: when its first sample was taken, as its name or the
	 * user says, and how far off that may be; of perf.data else when it was last written. 0: not known.
	 */
	int64_t began_ns;
	uint64_t began_uncertain_ns;
	int64_t written_ns;
};

#define CAM_IMPORT_TEXT_DROPPED "..."

struct cam_import_stats {
	uint64_t bytes_in; /* as stored */
	uint64_t bytes;	   /* of text */
	uint64_t lines;
	uint64_t samples; /* taken by the sink */

	/* Samples that are in the file and not in the result. */
	uint64_t malformed_samples;  /* frames without a header, counts that are no numbers, … */
	uint64_t unfinished_samples; /* the last one, cut off before its end */
	uint64_t refused_samples;    /* by the sink: no place in time, no room */

	/* Short of losing a sample. */
	uint64_t malformed_lines;  /* that fit nowhere; the first is line bad_line (from 1) */
	uint64_t long_lines;	   /* over CAM_INPUT_LINE_BYTES: cut to CAM_INPUT_HEAD_BYTES */
	uint64_t truncated_stacks; /* deeper than CAM_MAX_STACK_FRAMES: roots cut off */
	uint64_t rounded_counts;   /* folded: fractions where the first lines had none */
	uint64_t zero_lines; /* with zero bytes: no print of perf has any, the file has a hole */
	uint64_t bad_line;

	/* Of perf.data. */
	uint64_t damaged_bytes; /* of which no record could be made */
	uint64_t missing_bytes; /* of records, behind the end of the file */
	bool no_size;	  /* the header does not say how much there is: its writer was killed */
	bool no_features; /* what perf writes behind the records is not there */
	uint64_t unknown_code; /* mappings, threads, … beyond what is kept of them */
	uint64_t files;	       /* that samples are in, the kernel among them, and of these … */
	uint64_t
		files_not_here; /* … those that could not be found: their functions have no names */

	uint64_t lost_samples;	/* that the file itself says its recorder lost */
	uint64_t other_records; /* side band: mmap, fork, switch, … : not used */

	enum cam_input_end end; /* of the file */
	enum cam_clock_kind clock;
	uint64_t time_unit_ns; /* of the times as printed: 1 or 1000; 0: no times */
};

/* Whether something of the file is missing from the result. */
bool cam_import_is_partial(const struct cam_import_stats *st);
/*
 * One line that says what was lost and why, for people, without a newline; empty when nothing was.
 * Never longer than 400 bytes.
 */
void cam_import_explain(const struct cam_import_stats *st, char *room, size_t room_bytes);
