// SPDX-License-Identifier: Apache-2.0
/*
 * What the program says to people: one line on stderr that names what was wrong and what to do,
 * and the exit status that goes with it. Bytes from files are shown safely.
 */
#pragma once

enum cam_exit {
	CAM_EXIT_OK = 0,
	CAM_EXIT_FAILED = 1,
	CAM_EXIT_USAGE = 2,
	CAM_EXIT_INCOMPLETE = 3, /* a result, but part of the data was damaged or lost */
};

/* Each prints "perfcam: …" and answers the status of its name. */
int cam_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cam_failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cam_incomplete(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What was asked for was refused with err: the user's mistake, but for -ENOMEM, which is nobody's. */
int cam_refused(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Something worth knowing that changes no status. */
void cam_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A negative errno in words that fit perfcam: "not a window, or damaged beyond reading", … */
const char *cam_errno_words(int err);
