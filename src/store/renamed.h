// SPDX-License-Identifier: Apache-2.0
/*
 * A window with other names for some of its functions; all else is as it was. What cam_store_replace() is
 * given.
 *
 * Functions that get the same name become one, and so do stacks that differed in them only. Where the new
 * name's function starts elsewhere, the leaf's offset is counted from there. What was inlined hangs below the leaf it
 * was inlined at, as if it had been known in time. Samples, times, tasks, events, ledger, anchors, facts and
 * counters pass unchanged.
 */
#pragma once
#include "model/cursor.h"

struct cam_rename {
	struct cam_text name; /* empty: the function stays as it is */
	enum cam_name_source source;
	uint64_t start; /* of the function so named, in its module */
};

/* What is new about the leaves at an offset of a function: what is inlined there, and its source line. */
struct cam_late_leaf {
	uint32_t func;		  /* of the old window */
	uint64_t leaf_offset;	  /* as the old window has it; CAM_OFFSET_NONE, too */
	struct cam_text *inlined; /* the outermost first */
	uint32_t n_inlined;
	struct cam_text file; /* empty: not known */
	uint32_t line;	      /* of the innermost */
	uint64_t start;	      /* of the function it was found in; not looked at here */
};

/* All of it is borrowed until *out is closed. */
struct cam_late {
	const struct cam_rename *names;	    /* one for each function of the window */
	const struct cam_late_leaf *leaves; /* in order of func, then leaf_offset; one a pair */
	size_t n_leaves;
};

/* `from` is borrowed until *out is closed. -E2BIG, -ENOMEM, or what reading its tables said. */
int cam_renamed_open(struct cam_window *from, const struct cam_late *late, struct cam_window **out);
