// SPDX-License-Identifier: Apache-2.0
/* Door E, recurrence: what comes before events of one kind. As views.h says. */
#pragma once
#include "query/views.h"

#define CAM_RECURRENCE_BEFORE_S 120u /* seconds of the profile before the event */
#define CAM_RECURRENCE_AFTER_S	30u  /* and from it on */
#define CAM_RECURRENCE_LENGTH	(CAM_RECURRENCE_BEFORE_S + CAM_RECURRENCE_AFTER_S)
#define CAM_RECURRENCE_NEAR_S	10u /* before the event: what is counted */

enum cam_recurrence_kind { CAM_BEFORE_PROCESS, CAM_BEFORE_FUNCTION, CAM_BEFORE_PATH };

struct cam_recurrence_row {
	enum cam_recurrence_kind kind;
	struct cam_text process; /* a name; else empty */
	/* A function; of a path through the kernel where it ends, and begins. Of a process: what was high before the same events. */
	struct cam_text function, entry;
	uint32_t before; /* events that it was high before */
	uint32_t of;	 /* events, of those that could be looked at */
	double usually;	 /* share of all moments that it is high in */
	double p; /* chance of that many, times twice the names (or functions and paths) that were tried */
	double mean, expected; /* samples in the 10 s before; in any 10 s */
	int32_t lag_s;	       /* where the mean is highest: seconds from the event, < 0 before */
	uint64_t event;	       /* id of the one with most samples before it */
	float profile[CAM_RECURRENCE_LENGTH]; /* mean samples, second by second */
};

struct cam_recurrence {
	struct cam_recurrence_row *rows; /* p below 0.05, smallest first */
	size_t n_rows;
	uint64_t events;	  /* that match */
	uint64_t used;		  /* of them 10 s apart, with 10 s before them that were observed */
	uint64_t tried;		  /* names */
	uint64_t tried_functions; /* and paths */
	uint64_t history_s, functions_s;
	struct cam_seen seen;
	struct cam_tables *names;
	char *strings;
};

void cam_recurrence_free(struct cam_recurrence *r);
