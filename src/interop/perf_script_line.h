// SPDX-License-Identifier: Apache-2.0
/*
 * The grammar of one line of `perf script` text. Pure: texts in, parts of them out, borrowed.
 *
 *   head:   COMM PID[/TID] [CPU] [MISC] SECONDS.FRACTION: PERIOD EVENT: TEXT
 *   frame:  ADDRESS NAME+0xOFFSET (MODULE)
 *
 * Everything but PID is optional in one variant or another (`perf script -F …`).
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_PERF_COMM_BYTES 15u /* the kernel keeps 15; texts made otherwise may hold longer ones */

struct cam_perf_frame {
	bool has_address;
	bool inlined;		/* "(inlined)" stands where the module should */
	uint64_t address;	/* 0 without */
	struct cam_text name;	/* without +0xOFFSET; empty: none printed; may be "[unknown]" */
	bool blank_name;	/* a name was printed, and it is empty: old perf does that */
	uint64_t offset;	/* CAM_OFFSET_NONE: none printed */
	struct cam_text module; /* without the parentheses; empty: none printed */
};

struct cam_perf_head {
	struct cam_text who;  /* the line up to the tid: the same bytes are the same task */
	struct cam_text comm; /* may be empty */
	int32_t pid; /* CAM_PID_NONE where one number is printed: perf's default is the tid */
	int32_t tid;
	uint32_t cpu;	   /* CAM_CPU_NONE: none printed */
	uint32_t decimals; /* of the time; 0: none printed */
	uint64_t time_ns;
	bool has_weight;
	uint64_t weight;       /* the period; 1 where none is printed */
	struct cam_text event; /* with modifiers, "cycles:ppp"; empty: none printed */
	struct cam_text text;  /* what a tracepoint says; where flat, what frame was read from */
	bool flat; /* the line ends with a frame: all of the stack, if no frames follow */
	struct cam_perf_frame frame;
};

/*
 * False where the line is not a head. `timed`: a head must have a time. Otherwise it must have
 * none, and be "COMM PID [CPU]" with nothing behind it but PERIOD and EVENT:. A comm may hold
 * anything, also what looks like a head, so of several readings the one with the longest comm of
 * at most 15 bytes is taken.
 */
bool cam_perf_head_parse(struct cam_text line, bool timed, struct cam_perf_head *h);

/* False where the line has neither an address nor a name. */
bool cam_perf_frame_parse(struct cam_text line, struct cam_perf_frame *f);

/* What `-F +srcline` and `+srccode` print below a frame. */
bool cam_perf_is_source_line(struct cam_text line);
