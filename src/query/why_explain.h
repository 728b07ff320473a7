// SPDX-License-Identifier: Apache-2.0
/* What the samples of a finding have in common: process, core, function; who they are of; full cores. */
#pragma once
#include "query/view_why.h"
#include "query/why_rows.h"
#include "query/why_scan.h"

/* Which rows are meant: those of [at, at + length) of the entity. */
struct cam_why_which {
	enum cam_why_entity entity;
	uint32_t of;
	uint32_t at;
	unsigned length;
};

struct cam_why_explaining {
	struct cam_why_history *h;
	const struct cam_why_rows *rows;
	uint64_t period_ns;
	uint8_t *claimed; /* by row: a better finding has it */
};

bool cam_why_takes(const struct cam_why_explaining *e, const struct cam_why_which *w,
		   const struct cam_why_row *row);
/*
 * The name (string) of the processes that hold at least 60 % of what is above the seconds beside; 0: no one
 * does. *claimed: how many of the rows a better finding has. -ENOMEM.
 */
int cam_why_owner(const struct cam_why_explaining *e, const struct cam_why_which *w, uint32_t *name,
		  uint32_t *claimed);
/* Fills process, path, core, kernel and times of a finding. Texts are strings of names, by id in .n. -ENOMEM. */
int cam_why_explain(const struct cam_why_explaining *e, const struct cam_why_which *w,
		    struct cam_why_finding *f);
/* Of the machine's CPU time in so many seconds; < 0: not known. */
double cam_why_share(const struct cam_why_history *h, double samples, unsigned seconds);
/*
 * A whole finding of a candidate: its numbers, and what its samples say. name: whose it is (a string); 0: nobody's.
 * Score, p and significance as the candidate's alone: 0. -ENOMEM.
 */
int cam_why_describe(const struct cam_why_explaining *e, const struct cam_why_candidate *c,
		     uint32_t name, struct cam_why_finding *f);
/* The cores that one process had to itself. The same of texts. progress: asked for each; NULL: nobody. */
int cam_why_full_cores(const struct cam_why_explaining *e, const struct cam_progress *progress,
		       struct cam_why *out);
