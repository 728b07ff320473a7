// SPDX-License-Identifier: Apache-2.0
/*
 * Verbs that change a store or want to know about its recorder: they ask the recorder where one
 * runs, and else take the store's lock themselves.
 */
#pragma once
#include "cli/options.h"
#include "daemon/control.h"
#include "daemon/settings.h"
#include "store/store.h"

#define CAM_ASK_OPTIONS(given)                                                                \
	{"store",                                                                             \
	 0,                                                                                   \
	 CAM_OPTION_TEXT,                                                                     \
	 &(given).flags[CAM_SET_STORE],                                                       \
	 "DIR",                                                                               \
	 "the store (default: perfcam.conf's, /var/lib/perfcam, or ~/.local/share/perfcam)"}, \
		{"control",	  0,                                                          \
		 CAM_OPTION_TEXT, &(given).flags[CAM_SET_CONTROL],                            \
		 "PATH",	  "the recorder's socket (default: found from the store)"},   \
	{                                                                                     \
		"config", 0, CAM_OPTION_TEXT, &(given).config, "FILE", "the configuration"    \
	}

struct cam_asking {
	struct cam_settings settings;
	struct cam_buf reply; /* what the recorder said, terminated */
	bool nobody;	      /* no recorder runs on the store; nothing was said */
	/* The store, for writing, once cam_asking_lock() has it. */
	struct cam_io *io;
	struct cam_store *store;
};

/* For a verb with no arguments and no option of its own but --json. NULL: *status is the exit status, after
 * saying why, or after --help. */
struct cam_asking *cam_asking_parse(const struct cam_verb *verb, int argc, char **argv, bool *json,
				    int *status);
/* Such a verb, whole: asks, and shows the reply. An exit status. */
typedef int cam_asking_show_fn(const struct cam_asking *a, bool json);
int cam_asking_run(const struct cam_verb *verb, int argc, char **argv, enum cam_control_verb ask,
		   cam_asking_show_fn *show);

/* NULL after saying why; *status is the exit status then. */
struct cam_asking *cam_asking_new(const struct cam_settings_given *given, int *status);
void cam_asking_free(struct cam_asking *a);
/* Asks. An exit status, after saying what failed, unless nobody is there: then FAILED and `nobody`. */
int cam_asking_ask(struct cam_asking *a, enum cam_control_verb verb,
		   const struct cam_control_request *r);
/* "no recorder runs on …" */
int cam_asking_say_nobody(const struct cam_asking *a);
/* Opens the store for reading. */
int cam_asking_open(struct cam_asking *a);
/* Takes the store's lock. */
int cam_asking_lock(struct cam_asking *a);
