// SPDX-License-Identifier: Apache-2.0
/* Selection → what was different then, against everything else that is kept. docs/why.md has the method. */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/view_why.h"

#define CAM_WHY_MAX_ASKED_NS (600ull * 1000000000u)

struct cam_why_options {
	const struct cam_selection *baseline; /* settled; NULL: all that is kept */
	size_t limit;			      /* findings, and as many that are not significant */
	uint64_t samples;   /* to read for the history of functions; 0: CAM_WHY_SAMPLES */
	uint64_t max_bytes; /* of memory, about; 0: what a command may take, 2 GB */
	const struct cam_progress *progress;
};
#define CAM_WHY_SAMPLES 6000000u

/*
 * The selection is settled, with times of at most 10 minutes; its filters hold for the history as well. Errors, with *out
 * empty: as cam_walk()'s; -ENODATA: nothing was recorded then; -EDOM: the samples have no times;
 * -E2BIG: more than can be explained at once.
 */
int cam_why_build(struct cam_source *source, const struct cam_selection *s,
		  const struct cam_why_options *o, struct cam_why *out);
