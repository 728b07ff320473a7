// SPDX-License-Identifier: Apache-2.0
/*
 * How a sample becomes a folded line: the naming rules of stackcollapse-perf.pl (FlameGraph),
 * which every tool of this field reads, as functions on text. No I/O, no tables.
 *
 * A rule works on what `perf script` prints for a task, an event or a frame. Windows that came
 * from such a text (or could be printed as one) follow it to the byte, including where it loses
 * something: that is CAM_COLLAPSE_TEXT. perfcam's own recordings have no text behind them:
 * CAM_COLLAPSE_LIVE applies the same tidying and loses nothing. Windows from files that were
 * folded already are passed on, whatever marks are asked for: CAM_COLLAPSE_VERBATIM.
 *
 * Output stays on one line: control characters (but tab) in names come out as \x0a and the like.
 * Printable text is never changed by this.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"
#include "model/nouns.h"

enum cam_collapse_mode {
	CAM_COLLAPSE_TEXT,
	CAM_COLLAPSE_LIVE,
	CAM_COLLAPSE_VERBATIM,
};

struct cam_collapse_rules {
	enum cam_collapse_mode mode;
	bool with_pid;	   /* comm-pid */
	bool with_tid;	   /* comm-pid/tid; wins over with_pid */
	bool addrs;	   /* [module <address>] for a frame without a name */
	bool mark_kernel;  /* name_[k] */
	bool mark_jit;	   /* name_[j] */
	bool mark_inlined; /* name_[i] for frames known to be inlined; a->b always has its _[i] */
};

/* Appends the root of a line: comm, pid and tid as asked for. CAM_PID_NONE prints "?". */
void cam_collapse_task(const struct cam_collapse_rules *r, struct cam_text comm, int32_t pid,
		       int32_t tid, struct cam_buf *out);
/* Whether names below this root are tidied as Java's. */
bool cam_collapse_is_java(struct cam_text root);

struct cam_collapse_frame {
	struct cam_text name;	/* empty: unnamed */
	struct cam_text module; /* path; empty: none printed, or code of no module */
	uint64_t address;
	uint64_t offset; /* in the function, CAM_OFFSET_NONE: not printed */
	uint64_t start;	 /* of the function, live; 0: not known */
	enum cam_func_kind kind;
	bool blank; /* the name was printed, and it is empty */
	bool java;
};

/*
 * Appends a frame's names, ';' between them, and answers how many: an inlined chain a->b is
 * two, a frame that is left out is none. `scratch` is the caller's, overwritten. An error
 * sticks to either buffer.
 */
size_t cam_collapse_frame(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
			  struct cam_buf *scratch, struct cam_buf *out);

/*
 * What the end of a sample's first line, "TIME: PERIOD EVENT: DETAIL", says about its event.
 * Not found (false): the sample counts 1 and is of no event type, so no filter holds it back:
 * tracepoints with a text, and texts without times. The event is borrowed from the arguments.
 */
struct cam_collapse_event {
	struct cam_text name;
	struct cam_text period; /* digits, may be empty; unset where own_period */
	bool own_period;	/* that of the sample */
};
bool cam_collapse_event(struct cam_text event, bool has_time, struct cam_text detail,
			struct cam_collapse_event *out);
