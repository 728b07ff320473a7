// SPDX-License-Identifier: Apache-2.0
/*
 * A window looked at from many sides (aspects), the samples span by span: for tests that must know
 * what exactly has changed.
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "store/window_dir.h"

#define MAX_SPANS 8u

enum aspect {
	/* By span: */
	TIMES,
	STACKS,
	TASKS,
	WEIGHTS,
	LEAVES,
	PLACES,
	DETAILS,
	GROUPS,
	SPAN_ASPECTS,
	/* Of the window: */
	TOTALS = SPAN_ASPECTS,
	SMALL_TOTALS,
	CELLS,
	PROCESSES,
	EVENTS,
	LEDGER,
	ANCHORS,
	FACTS,
	COUNTERS,
	LINES,
	NAMED,
	SLOTTED,
	ASPECTS,
};

struct view {
	unsigned n_spans;
	struct cam_buf text[ASPECTS][MAX_SPANS]; /* window's aspects in [0] */
	struct cam_buf ends[ASPECTS][MAX_SPANS]; /* u32 where each sample's part ends */
	unsigned lines[ASPECTS][MAX_SPANS];
};

/* Asks the window for everything; the spans are those of a directory. */
void look(struct cam_window *w, const struct cam_dir *spans, struct view *v);
void view_free(struct view *v);
/* Of samples in the same order: how many differ; each that does must say [damaged]. */
unsigned count_damaged(const struct view *good, const struct view *now, unsigned a, unsigned s);
