// SPDX-License-Identifier: Apache-2.0
/*
 * A selection as a filter of rows, window by window: for exporters, which do not know query (model/row_filter.h).
 * One thread.
 */
#pragma once
#include "model/row_filter.h"
#include "query/selector.h"

/* One window's rows. */
struct cam_row_pick {
	struct cam_selector selector;
	struct cam_row_filter filter;
	struct cam_window *w;
};

/* Errors are the window's, and -ENOMEM; then nothing is to be closed. */
int cam_row_pick_open(struct cam_row_pick *p, const struct cam_selection *s, struct cam_window *w);
/* How many samples were lost in what was picked, by the window's ledger. */
uint64_t cam_row_pick_lost(struct cam_row_pick *p);
void cam_row_pick_close(struct cam_row_pick *p);

struct cam_row_pick_view {
	void *self;
	/* A window of which something is picked. */
	int (*add)(void *self, struct cam_window *w, const struct cam_row_filter *rows);
	/* Window i of n could not be read, or added: 0: on with the next; else that is the answer. */
	int (*failed)(void *self, size_t i, size_t n, int err);
};

/* What is not in the rows. */
struct cam_row_pick_missing {
	uint64_t lost;	   /* samples, by the ledgers */
	uint64_t unplaced; /* windows without a wall clock, where one was asked for */
	uint64_t dead_ns;  /* the recorder did not run */
};

/* Every window that the selection, whose times are settled, touches. 0, or what failed() answered. */
int cam_row_pick_each(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_row_pick_view *view, struct cam_row_pick_missing *missing);
