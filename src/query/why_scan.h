// SPDX-License-Identifier: Apache-2.0
/*
 * Every second of a history scored: how unusual was the most unusual process, name, cgroup, function, core or kernel path in it?
 * That is done for all seconds alike, the one asked about among them, so that a score can be judged by
 * how many other moments reach it. why_scan.c opens with how.
 */
#pragma once
#include "query/why_history.h"
#include "query/why_stats.h"

#define CAM_WHY_LENGTHS 3u /* sums over 1, 2 and 3 seconds */

enum cam_why_entity {
	CAM_WHY_NAME, /* all processes of a name */
	CAM_WHY_PROCESS,
	CAM_WHY_CGROUP,
	CAM_WHY_FUNCTION,
	CAM_WHY_CORE,	     /* where several processes ran more */
	CAM_WHY_KERNEL_PATH, /* of the history's functions */
	CAM_WHY_ENTITY_MAX,
};

/* The best of an entity within the seconds asked about. */
struct cam_why_candidate {
	enum cam_why_entity entity;
	uint32_t
		of; /* a name or cgroup: its string; a core: its number; else a process, a function */
	bool stopped;
	double score;
	uint32_t at;	 /* its first second */
	unsigned length; /* in seconds */
	uint32_t x;	 /* samples in it */
	struct cam_why_law law;
	uint32_t episodes; /* earlier and later times at 80 % of it or more */
	double before;	   /* mean of sums of that length in the minute before; < 0: not known */
	double days; /* the same within 10 minutes of that time on other days; < 0: not known */
	/* Of a pause (why_pauses.h), which need not be whole seconds; 0: it is none. */
	uint64_t pause_from_ns, pause_ns;
	uint64_t pause_other_ns; /* the longest of its other ones */
};

/* What processes share, and none of them is. */
static inline bool cam_why_is_place(const struct cam_why_candidate *c)
{
	return c->entity == CAM_WHY_CORE || c->entity == CAM_WHY_KERNEL_PATH;
}

/* The most unusual of all sums that begin in a second. */
struct cam_why_best {
	float score, mean;
	uint32_t x, of;
	uint8_t entity, length;
};

struct cam_why_scan {
	/* By length - 1 and second: the best of all sums that begin there. */
	float *by_process[CAM_WHY_LENGTHS], *by_function[CAM_WHY_LENGTHS],
		*by_core[CAM_WHY_LENGTHS], *by_path[CAM_WHY_LENGTHS], *stopped[CAM_WHY_LENGTHS];
	float *paused; /* by second: the most unusual pause */
	/* By second; surge: without cores and paths. */
	struct cam_why_best *surge, *stop, *core, *path;
	struct cam_why_candidate *candidates;
	size_t n_candidates, cap_candidates;
};

/* The history's cells are sorted by it. progress, where there is one, is asked for each entity: what it says ends the
 * work. -ENOMEM. To be freed either way. */
int cam_why_scan_run(struct cam_why_history *h, const struct cam_progress *progress,
		     struct cam_why_scan *s);
void cam_why_scan_free(struct cam_why_scan *s);
