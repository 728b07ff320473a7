// SPDX-License-Identifier: Apache-2.0
/*
 * What a sealed window has in its footer, for a window that has none: by a walk over its samples
 * through door D.
 */
#pragma once
#include "model/cursor.h"

/* In order of stack, event type, comm. */
int cam_journal_sums_totals(struct cam_window *w, cam_total_fn *fn, void *arg);
/* [small] is interned into t, the window's own tables. */
int cam_journal_sums_small(struct cam_window *w, struct cam_tables *t, cam_total_fn *fn, void *arg);
/*
 * In order of second, CPU. A row of the ledger is spread evenly over the seconds it covers; to the
 * first one if it covers more than 4,096. -E2BIG: more than 2^20 cells.
 */
int cam_journal_sums_cells(struct cam_window *w, cam_cell_fn *fn, void *arg);
/* In order of second, pid. */
int cam_journal_sums_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg);
