// SPDX-License-Identifier: Apache-2.0
/*
 * A selection made ready for one window: what of it to read, which rows to take, and the verdict
 * on what they hold.
 *
 * Two steps, so that the costly one is made once for each distinct (stack, comm, event type), not
 * once a sample: cam_selector_row() looks at CPU and task of a row, cam_selector_verdict() at the
 * rest. Verdicts on functions, stacks and comms are cached by id; the tables may grow while the
 * window is read. One thread, as the window.
 */
#pragma once
#include "base/buf.h"
#include "query/select.h"

enum cam_verdict {
	CAM_VERDICT_NO,
	CAM_VERDICT_OTHER_EVENT, /* of a type not asked for; not looked at further */
	CAM_VERDICT_IDLE,	 /* would be a yes, but idle is hidden */
	CAM_VERDICT_BEFORE,	 /* a yes for the first side of a differential */
	CAM_VERDICT_YES,
	CAM_VERDICT_BY_STACK, /* not known without it; never of cam_selector_verdict() */
};

enum cam_row {
	CAM_ROW_NO,
	CAM_ROW_YES,
	CAM_ROW_AWAKE, /* yes, and its task is not the idle one, whatever its comm says */
};

/* Answers by id, filled in as ids turn up; 0 is "not asked yet". */
struct cam_select_cache {
	uint32_t *v;
	size_t n;
};

struct cam_selector {
	const struct cam_selection *selection;
	const struct cam_tables *tables;
	/* Where the selection names no event type; those of the same name are meant, too. */
	struct cam_etype_id main_etype;	  /* CAM_NONE: none */
	struct cam_etype_id before_etype; /* CAM_NONE unless this is a differential */
	struct cam_select_cache stacks, functions, comms, tasks, etypes;
	struct cam_buf name;	  /* the one being looked at, as a C string */
	struct cam_range *ranges; /* the times, in order; none: nothing of this window */
	size_t n_ranges;
	/* Those that know the wall time, in order; only where that was asked for. */
	struct cam_anchor *anchors;
	size_t n_anchors, cap_anchors;
	bool whole;    /* the ranges hold all of the window */
	bool by_task;  /* rows need their task */
	bool by_stack; /* the verdict may need the stack */
	bool unplaced; /* a wall time was asked for, and the window has none */
};

/* 1: some of the window lies within the selection's times, by its anchors; 0: nothing, and whether that is for want of a
 * wall clock. Errors as from the window. No names are read for it. */
int cam_selector_touches(const struct cam_selection *s, struct cam_window *w, bool *unplaced);
/* Errors as from the window, and -ENOMEM; then nothing is to be closed. */
int cam_selector_open(struct cam_selector *x, const struct cam_selection *s, struct cam_window *w,
		      struct cam_etype_id main_etype, struct cam_etype_id before_etype);
void cam_selector_close(struct cam_selector *x);
/* Reads the anchors, also where the selection's times did not need them. Errors as from the window. */
int cam_selector_need_anchors(struct cam_selector *x, struct cam_window *w);
/* True: neither times, CPUs nor tasks matter, so what totals() gives is enough. */
bool cam_selector_by_totals(const struct cam_selector *x);
/* The columns cam_selector_row() looks at. */
unsigned cam_selector_columns(const struct cam_selector *x);
/* Row i of a batch: enum cam_row, or -ENOMEM. */
int cam_selector_row(struct cam_selector *x, const struct cam_batch *b, size_t i);
/* enum cam_verdict, or -ENOMEM. */
int cam_selector_verdict(struct cam_selector *x, struct cam_stack_id stack, struct cam_str_id comm,
			 struct cam_etype_id etype, bool awake);
/* The same where it does not depend on the stack; CAM_VERDICT_BY_STACK where it does. */
int cam_selector_verdict_of_comm(struct cam_selector *x, struct cam_str_id comm,
				 struct cam_etype_id etype, bool awake);
/* 1: one of the selection's match expressions is found in the function's own name; 0, or -ENOMEM. */
int cam_selector_names(struct cam_selector *x, struct cam_func_id function);
/*
 * 0: nothing in the window can be a yes, by the names of its functions and commands alone; 1: something may. Errors as
 * from the window, and what the selection's patience answers.
 */
int cam_selector_may_match(struct cam_selector *x, struct cam_window *w);
/* How many of a ledger row's samples fall into the selection's times and CPUs. */
uint64_t cam_selector_ledger(const struct cam_selector *x, const struct cam_ledger_row *row);
