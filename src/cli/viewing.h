// SPDX-License-Identifier: Apache-2.0
/* What verbs that show a view have in common: where they read, what they select, where they write. */
#pragma once
#include "cli/output.h"
#include "cli/picking.h"
#include "cli/progress_bar.h"
#include "query/flame.h"

struct cam_viewing {
	/* From the command line. */
	struct cam_reading_options from;
	struct cam_range_options range;
	struct cam_filter_options filters;
	const char *out, *weight;
	bool json;
	/* Once open. */
	struct cam_selection selection;
	struct cam_reading in;
	enum cam_weight weigh;
	struct cam_progress_bar bar;
	int read_status;
};

// clang-format off
#define CAM_VIEWING_OPTIONS(v)                                                                            \
	CAM_READING_OPTIONS((v).from),                                                                    \
	{"output", 'o', CAM_OPTION_TEXT, &(v).out, "FILE", "write here (.gz and .zst compress)"},         \
	{"weight", 0, CAM_OPTION_TEXT, &(v).weight, "samples|period",                                     \
	 "what shares are of (default: period in other tools' files, else samples)"},                     \
	{"json", 0, CAM_OPTION_FLAG, &(v).json, NULL, "as JSON"},                                         \
	CAM_RANGE_OPTIONS((v).range),                                                                     \
	CAM_FILTER_OPTIONS((v).filters, "idle CPUs, too", "without them (the default)",                   \
			   "only this event (default: the first one met; * is all)")
// clang-format on

/*
 * The command line, whose only argument is a selection (picking.h). False: *status is the answer, and all that is to
 * be said was said.
 */
bool cam_viewing_parse(struct cam_viewing *v, const struct cam_verb *verb,
		       const struct cam_option *options, int argc, char **argv, int *status);
/*
 * Reads what was asked for and opens it. OK: to be closed. Other exit statuses: said, and nothing is
 * open.
 */
int cam_viewing_open(struct cam_viewing *v);
/* Closes; the worse of a verb's status and of what reading had to say. */
int cam_viewing_close(struct cam_viewing *v, int status);
/* The view as text or JSON, whatever put makes of it, to where -o says: an exit status, also of what is missing. */
typedef void cam_viewing_put_fn(const struct cam_viewing *v, const void *view, struct cam_out *out);
int cam_viewing_write(const struct cam_viewing *v, cam_viewing_put_fn *put, const void *view,
		      const struct cam_seen *seen);
/* What finds the same data again, for commands that are shown: "--store '/my store'"; nothing where it is the usual one, or cannot be
 * typed. */
#define CAM_VIEWING_WHERE_BYTES 4608u
void cam_viewing_where(const struct cam_viewing *v, char room[CAM_VIEWING_WHERE_BYTES]);
/* Says that there are no samples, and why: an exit status. */
int cam_viewing_nothing(const struct cam_viewing *v, const struct cam_seen *seen);
/* An error of a query: an exit status. */
int cam_viewing_failed(const struct cam_viewing *v, int err);
