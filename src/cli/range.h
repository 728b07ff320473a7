// SPDX-License-Identifier: Apache-2.0
/*
 * A stretch of time as a verb's options say it: --at T [--around 5s], --from T [--to T], --last 10m,
 * --event ID [--around 5s], --time 10%/2, or one argument (picking.h). What they mean is query/when.h's.
 */
#pragma once
#include "cli/options.h"
#include "query/select.h"
#include "store/io.h"

struct cam_range_options {
	const char *bare; /* a time, a window's name or an event's, as an argument */
	const char *at, *around, *from, *to, *last, *event, *time;
};

#define CAM_RANGE_OPTIONS(o)                                                                  \
	{"at", 0, CAM_OPTION_TEXT, &(o).at, "T", "this time: 03:14:07, -90s, boot+123.4, …"}, \
		{"around",    0,    CAM_OPTION_TEXT,                                          \
		 &(o).around, "5s", "with --at or --event: that much before and after it"},   \
		{"from", 0, CAM_OPTION_TEXT, &(o).from, "T", "from this time …"},             \
		{"to", 0, CAM_OPTION_TEXT, &(o).to, "T", "… to this (default: now)"},         \
		{"event", 0, CAM_OPTION_TEXT, &(o).event, "ID", "around this event"},         \
		{"last", 0, CAM_OPTION_TEXT, &(o).last, "10m", "from that long ago to now"},  \
	{                                                                                     \
		"time", 0, CAM_OPTION_TEXT, &(o).time, "10%/2",                               \
			"a part of it, as of perf: 10%-20%; A,B: seconds of its clock"        \
	}

/* Now and the local zone, as the C library knows them. */
struct cam_time_world cam_range_world(void);
/* Seconds east of UTC then; arg is a world. For whoever draws times. */
int32_t cam_range_zone(void *arg, int64_t sec);
/* Says what is wrong: an exit status. */
int cam_range_moment(const char *option, const char *text, int64_t *realtime_ns);

/* Nothing was given. */
bool cam_range_is_empty(const struct cam_range_options *o);
/* Into the times of a selection, whose world is set. An exit status, after saying what is wrong. */
int cam_range_set(const struct cam_range_options *o, struct cam_when *when);
/* Half-open. An exit status. io: the store whose windows are asked, where that is needed. */
int cam_range_resolve(const struct cam_range_options *o, struct cam_io *io, int64_t *from_ns,
		      int64_t *to_ns);
