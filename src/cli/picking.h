// SPDX-License-Identifier: Apache-2.0
/*
 * What verbs that show samples take from the command line: a stretch of time and filters. A selection
 * of query's, and for the exporters, which do not know query, the same as a filter of rows.
 */
#pragma once
#include "cli/filters.h"
#include "cli/range.h"
#include "interop/row_filter.h"
#include "query/selector.h"

/*
 * Times and filters into a selection that is initialised here and the caller frees, also after an
 * error. Exit status, after saying what is wrong.
 */
int cam_picking_select(const struct cam_range_options *range,
		       const struct cam_filter_options *filters, struct cam_selection *s);

/* One window's rows. */
struct cam_picking {
	struct cam_selector selector;
	struct cam_row_filter filter;
	struct cam_window *w;
};

/* Errors are the window's, and -ENOMEM; then nothing is to be closed. */
int cam_picking_open(struct cam_picking *p, const struct cam_selection *s, struct cam_window *w);
/* How many samples were lost in what was picked, by the window's ledger. */
uint64_t cam_picking_lost(struct cam_picking *p);
void cam_picking_close(struct cam_picking *p);
