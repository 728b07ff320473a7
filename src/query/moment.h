// SPDX-License-Identifier: Apache-2.0
/* Selection → what is known of that moment: who ran, on which core, what happened, what was not seen. */
#pragma once
#include "query/flame.h"
#include "query/view_moment.h"

struct cam_moment_options {
	enum cam_weight weight;
	size_t rows;			     /* of each table */
	size_t max_events;		     /* to give; the rest is counted */
	const struct cam_progress *progress; /* NULL: nobody asks; told of each table anew */
};

/*
 * The selection is settled, with times; its filters narrow the tables, not the coverage. The moment is the
 * middle of its times. Errors, with *out empty: as cam_walk()'s.
 */
int cam_moment_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_moment_options *o, struct cam_moment *out);
/* The same without tables and coverage: window, time, events and counters. */
int cam_moment_look(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_moment_options *o, struct cam_moment *out);
