// SPDX-License-Identifier: Apache-2.0
/*
 * A window with other names for some of its functions; all else is as it was. What cam_store_replace() is
 * given.
 *
 * Functions that get the same name become one, and so do stacks that differed in them only. Where the new
 * name's function starts elsewhere, the leaf's offset is counted from there. Samples, times, tasks,
 * events, ledger, anchors, facts and counters pass unchanged.
 */
#pragma once
#include "model/cursor.h"

struct cam_rename {
	struct cam_text name; /* empty: the function stays as it is */
	enum cam_name_source source;
	uint64_t start; /* of the function so named, in its module */
};

/* names: one for each function of `from`, borrowed for the call. `from` is borrowed until *out is closed.
 * -E2BIG, -ENOMEM, or what reading its tables said. */
int cam_renamed_open(struct cam_window *from, const struct cam_rename *names,
		     struct cam_window **out);
