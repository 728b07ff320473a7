// SPDX-License-Identifier: Apache-2.0
/*
 * How rare a score is: the share of other moments, as long as the one asked about, in which anything at all
 * scores as high. So thousands of processes, functions and seconds may be compared, and a quiet moment is still
 * called unusual only as often as the threshold says.
 *
 * Where stacks were read for a part of the history only, functions are judged by that part and all else by the
 * whole, and each chance counts twice. Cores and paths through the kernel are judged each by themselves, so that no process is
 * harder to find for their sake, and more strictly: what they add to the false alarms is one in a hundred at most.
 */
#pragma once
#include "query/view_why.h"
#include "query/why_scan.h"

#define CAM_WHY_RARE	   0.03 /* of moments: what is more common is not reported */
#define CAM_WHY_RARE_STOP  0.01
#define CAM_WHY_RARE_PLACE 0.005 /* a core; and a path through the kernel */

struct cam_why_null {
	float *best; /* of each moment, descending; they overlap */
	size_t n;
	uint64_t apart; /* how many of them fit beside each other */
};

struct cam_why_judge {
	struct cam_why_null surges, functions, cores, paths, stops, pauses;
	bool split; /* surges are without functions */
};

/* width: of a moment, in seconds. -ENOMEM. To be freed either way. */
int cam_why_judge_make(const struct cam_why_axis *a, const struct cam_why_scan *s, unsigned width,
		       struct cam_why_judge *j);
void cam_why_judge_free(struct cam_why_judge *j);
/* Share of other moments that reach it, at least 1 of those that there are. */
double cam_why_judge_p(const struct cam_why_judge *j, const struct cam_why_candidate *c);
/* The score above which a surge (or a stop) is rare. */
double cam_why_judge_threshold(const struct cam_why_judge *j, bool stop);
/* Share of other moments whose surges score less than that. */
double cam_why_judge_below(const struct cam_why_judge *j);
/* Too few moments to call anything rare: then it must be well above all of them. */
bool cam_why_judge_is_coarse(const struct cam_why_judge *j);
bool cam_why_judge_is_rare(const struct cam_why_judge *j, const struct cam_why_candidate *c);
/* What an answer says of its history. */
void cam_why_count_seconds(const struct cam_why_history *h, const struct cam_why_judge *judge,
			   struct cam_why *w);
