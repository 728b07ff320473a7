// SPDX-License-Identifier: Apache-2.0
/*
 * What verbs that show samples take from the command line: a stretch of time and filters, as a selection
 * of query's.
 */
#pragma once
#include "cli/filters.h"
#include "cli/range.h"
#include "cli/reading.h"
#include "query/select.h"
#include "query/views.h"

/*
 * An argument where a selection is taken: a time, a window's name, an event's, or a selection in words
 * ("last=10m comm=nginx"). What it says is as if options had said it. filters: NULL where only times are taken;
 * words: NULL where there is no argument. Exit status, after saying what is wrong.
 */
int cam_picking_argument(const char *words, struct cam_range_options *range,
			 struct cam_filter_options *filters);

/*
 * Times and filters into a selection that is initialised here and the caller frees, also after an
 * error. Exit status, after saying what is wrong.
 */
int cam_picking_select(const struct cam_range_options *range,
		       const struct cam_filter_options *filters, struct cam_selection *s);

/*
 * Makes the times definite by the windows that were opened: to be called before they are looked at.
 * Exit status, after saying what is wrong: FAILED where the windows do not know that moment.
 */
int cam_picking_settle(struct cam_selection *s, const struct cam_reading *in);

/* Says that the selection holds no samples, and what there is instead: an exit status. */
int cam_picking_nothing(const struct cam_reading *in, const struct cam_seen *seen);
