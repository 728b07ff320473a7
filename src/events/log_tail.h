// SPDX-License-Identifier: Apache-2.0
/*
 * A log file that others write: its new lines, wherever it is rotated to.
 *
 * Only what is appended from now on is read. A file that another one takes the place of (rotation by rename) is
 * read to its end, then the new one from its beginning; one that has become shorter (copytruncate), or whose
 * last bytes that were read have become others (shorter, and longer again), is read from its beginning; one that is gone is looked for again, and not held open for more than a minute of looks.
 *
 * A recorder may have rights that whoever can write a log's directory has not. So only regular files with one name are
 * read, through no symbolic link at all; a FIFO or device is not waited for; and none of a network's or a
 * user's file system, which can keep a reader waiting for ever.
 *
 * One thread; a turn reads at most CAM_LOG_TURN_BYTES.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>
#include <sys/types.h>

#define CAM_LOG_LINE_BYTES 4096u /* what is longer is cut there */
#define CAM_LOG_TURN_BYTES (256u << 10)

struct cam_log_counts {
	uint64_t lines, cut;
	uint64_t skipped_bytes; /* of a file that grew faster than it is read */
	uint32_t rotations, truncations;
};

struct cam_log_tail;

/*
 * 0 also where the file is not there (yet): it is looked for. -ELOOP: a symbolic link, -EINVAL: not a regular file, -EMLINK: it has
 * several names, -EREMOTE: of such a file system, other errors of open(): nothing is made.
 */
int cam_log_tail_open(const char *path, struct cam_log_tail **out);
void cam_log_tail_close(struct cam_log_tail *t);
/* Without its newline; borrowed for the call. */
typedef void cam_log_tail_fn(void *arg, struct cam_text line);
/* Reads what has come; look: also whether it was rotated (once a second is enough). 0, or why it could not be read
 * this time; it is tried again. */
int cam_log_tail_read(struct cam_log_tail *t, bool look, cam_log_tail_fn *fn, void *arg);
struct cam_log_counts cam_log_tail_counts(const struct cam_log_tail *t);
