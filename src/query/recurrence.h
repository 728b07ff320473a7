// SPDX-License-Identifier: Apache-2.0
/* Events → which processes, functions and paths are busy before them more often than chance has it. recurrence.c says how. */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/view_recurrence.h"

struct cam_recurrence_options {
	const struct cam_select_expressions *match; /* of the events' texts */
	size_t limit;				    /* rows */
	const struct cam_progress *progress;
};

/*
 * The selection is settled; its times say which events and which history. Errors, with *out empty: as cam_walk()'s;
 * -ENODATA: nothing with times was recorded then.
 */
int cam_recurrence_build(struct cam_source *source, const struct cam_selection *s,
			 const struct cam_recurrence_options *o, struct cam_recurrence *out);
