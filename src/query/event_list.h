// SPDX-License-Identifier: Apache-2.0
/*
 * Selection → the events in its times, by time; windows without any are not read. An event that lies outside of the
 * window that holds it (a line of the kernel's log from before the recorder started) counts by its own time.
 */
#pragma once
#include "query/progress.h"
#include "query/select.h"
#include "query/view_moment.h"

struct cam_event_list_options {
	/* To give, and no more of: where there are more, the most severe ones, and of those alike the newest.
	 * 0: all. */
	size_t most;
	enum cam_severity least; /* nothing less severe than this is looked at */
	const struct cam_select_expressions
		*match;		/* all of them somewhere in its text; NULL: any text */
	struct cam_text source; /* empty: any */
	const struct cam_progress *progress;
};

struct cam_event_list {
	struct cam_moment_event *events; /* by time */
	size_t n;
	size_t n_all;		  /* how many there are of what was asked for */
	uint64_t unreadable;	  /* windows left out */
	struct cam_tables *names; /* of the texts */
};

/* Of a settled selection: its times; filters do not narrow events. Errors, with *out empty: as cam_walk()'s,
 * -E2BIG past 2^20 events. */
int cam_event_list_build(struct cam_source *source, const struct cam_selection *s,
			 const struct cam_event_list_options *o, struct cam_event_list *out);
void cam_event_list_free(struct cam_event_list *l);
