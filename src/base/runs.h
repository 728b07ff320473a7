// SPDX-License-Identifier: Apache-2.0
/*
 * A list of small numbers of which neighbours are often equal, as text: "0*48 1*48" is 48 times 0, then 48
 * times 1. For facts that are written into files and read by people, too.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_RUNS_BYTES 16384u
#define CAM_RUNS_NONE  (-1) /* a number that is not known; written as "-1" */

struct cam_runs {
	char text[CAM_RUNS_BYTES];
	size_t n; /* bytes of text */
	int last;
	uint32_t times; /* how often the last number came, not written yet */
	bool full;
};

/* Zeroed is empty. One number more; what does not fit is left out, with all behind it. */
void cam_runs_add(struct cam_runs *r, int number);
/* To be called once, behind the last: the text. */
struct cam_text cam_runs_end(struct cam_runs *r);

/* The number at a place of such a text; CAM_RUNS_NONE where there is none, or the text is no such. */
int cam_runs_at(struct cam_text runs, uint32_t place);
