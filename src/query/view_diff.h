// SPDX-License-Identifier: Apache-2.0
/*
 * Door E, what changed between two selections, A (before) and B (after), function by function.
 *
 * Sides, ownership, thread and refusals as in query/views.h. Amounts are CPU-seconds where the event
 * is a clock, or else samples (`in_seconds`); those of A are scaled as was asked for (`scale`), so that
 * the two can be compared. docs/diff.md says how intervals and significance are had, and what they are
 * worth.
 */
#pragma once
#include "query/views.h"

enum cam_diff_scale {
	CAM_DIFF_BY_TIME,  /* A as if it had lasted as long as B */
	CAM_DIFF_BY_TOTAL, /* A as if it had as much in all: what is left are changes of share */
	CAM_DIFF_AS_IS,
};

/* One amount in both, and its change with the interval that holds the true one 19 times of 20. */
struct cam_diff_change {
	double before, after;
	double low, high; /* of after − before; NAN: there is no telling */
};

struct cam_diff_row {
	uint32_t name_at, name_n;		/* in cam_diff.text */
	uint8_t kind;				/* enum cam_frame_kind */
	uint8_t notes;				/* enum cam_view_note, where it has a self */
	bool significant;			/* also given how many rows were looked at */
	uint64_t samples_before, samples_after; /* as counted */
	struct cam_diff_change amount;
	struct cam_diff_change share; /* of everything in the selection: 0 … 1 */
	double p; /* how likely such a change is by chance; 1 where there is no telling */
	double q; /* the same after control for many rows (false discovery rate) */
};

struct cam_diff_side {
	struct cam_seen seen;
	char *strings;	   /* what seen points into */
	char *event;	   /* its name; empty: none */
	double hz;	   /* samples a second of a busy CPU; 0: not known */
	double per_sample; /* CPU-seconds; 0: the event is no clock */
	uint64_t samples;
	uint32_t
		stretches; /* that it was cut into to see how much counts vary; 0: it has no times */
};

struct cam_diff {
	struct cam_diff_row *rows; /* by name and kind */
	size_t n_rows;
	struct cam_diff_row all; /* everything together */
	struct cam_diff_side sides[2];
	enum cam_diff_scale scale;
	double factor;		      /* A's samples were multiplied by this */
	bool in_seconds;	      /* amounts are CPU-seconds, else samples */
	bool self;		      /* functions by themselves, else with all they call */
	bool other_event, other_rate; /* the two were sampled differently: beware */
	size_t n_tested, n_significant;
	char *text;
};

void cam_diff_free(struct cam_diff *d);

static inline struct cam_text cam_diff_name(const struct cam_diff *d, const struct cam_diff_row *r)
{
	return (struct cam_text){d->text + r->name_at, r->name_n};
}
static inline double cam_diff_growth(const struct cam_diff_change *c)
{
	return c->after - c->before;
}
