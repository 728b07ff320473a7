// SPDX-License-Identifier: Apache-2.0
/*
 * `record -o`: a recording of its own, outside any store. X.pcw: one window; DIR/: the window, its
 * flame graph and its perf script text, named as GitLab's helpers name them.
 *
 * It is recorded into a store of its own, in a directory beside the result (same file system, so
 * that a rename is all that is left to do), which is gone afterwards.
 */
#pragma once
#include "cli/options.h"
#include "daemon/recorder.h"

struct cam_one_off {
	char place[PATH_MAX]; /* the directory the results go to */
	char file[PATH_MAX];  /* X.pcw; "": DIR/ */
	char room[PATH_MAX];  /* the directory in it that is gone afterwards */
	bool made_place;      /* it was not there before */
	bool empty;	      /* no sample was taken: there is nothing to draw */
	const char *command;  /* what was recorded is this, and its children; NULL: none */
};

/* One of perfcam's own verbs, as if given by hand, without what it prints: words are its name and at most 6
 * arguments, NULL at the end. */
int cam_one_off_verb(int (*run)(const struct cam_verb *, int, char **), const char *const *words);

/* CAM_EXIT_OK and settings->store is where to record; or an exit status, said. */
int cam_one_off_begin(struct cam_one_off *o, const char *out, struct cam_settings *settings);
/* Moves the windows to their place, draws, prints the paths; always removes the room. */
int cam_one_off_end(struct cam_one_off *o, const struct cam_settings *settings, bool recorded);
/* What was to be recorded did not begin: leaves nothing behind. */
void cam_one_off_discard(const struct cam_one_off *o);
