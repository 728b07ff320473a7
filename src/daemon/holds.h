// SPDX-License-Identifier: Apache-2.0
/*
 * The descriptors of profiled files that the crew holds, by ingest's numbers; and beside each that of its debug
 * file, if there is one. One thread.
 *
 * Invariants
 *  1. A number has a row once it was asked for; a row's fd is -1 where nothing is held, and its debug_fd too then.
 *  2. `count` rows have an fd, at most max_files.
 *  3. A debug file is held only if whoever could write it could write the file itself: of root, or of the
 *     file's own owner, and writable for nobody else. So a forged one, put where another user's process looks for
 *     it, names nothing of that user's.
 */
#pragma once
#include "model/errand.h"

#include <time.h>

#define CAM_HOLDS_MAX_TRIES 8u /* debug files that turned out to be none of this file */

/* Whether there is a debug file. */
enum cam_hold_debug {
	CAM_HOLD_UNKNOWN, /* nobody has asked */
	CAM_HOLD_ASKED,	  /* the opener looks for it; names wait */
	CAM_HOLD_FOUND,
	CAM_HOLD_NONE,
};

struct cam_hold {
	int fd; /* -1: none */
	bool poisoned;
	bool symbols_only; /* a symboliser has died of its DWARF */
	bool grows;
	bool left_out, elsewhere; /* DWARF, as the symboliser said */
	struct cam_file_key key;
	struct timespec written; /* when it was last, as of when it came */
	int64_t bytes;
	uint32_t owner, group, mode;
	/* Its debug file. */
	enum cam_hold_debug debug;
	int debug_fd;
	bool debug_sure; /* the symboliser has found it to be the file's own */
	uint32_t skip;	 /* candidates that were none */
	int32_t pid;	 /* one that has it mapped */
	char *path;	 /* as that process calls it */
};

struct cam_holds {
	struct cam_hold *rows;
	size_t n, max_files, next_check;
	uint32_t count;
};

void cam_holds_free(struct cam_holds *h);
/* NULL: a number that has none. */
struct cam_hold *cam_holds_find(const struct cam_holds *h, uint32_t file);
/* Makes a row for a number; NULL: no memory, or a number that cannot be. Pointers to rows are void then. */
struct cam_hold *cam_holds_make(struct cam_holds *h, uint32_t file);
/* Takes fd over; -EMFILE: as many as may be are held already. */
int cam_holds_keep(struct cam_holds *h, uint32_t file, const struct cam_file_key *key, bool grows,
		   int fd);
/* Takes fd over, whatever the answer. -EPERM: its owner is not to be believed about the file. */
int cam_hold_keep_debug(struct cam_hold *row, int fd);
void cam_hold_drop_debug(struct cam_hold *row, enum cam_hold_debug now);
void cam_holds_release(struct cam_holds *h, uint32_t file);
/* Whether there is nothing more to look for. */
static inline bool cam_hold_is_settled(const struct cam_hold *row)
{
	return row->debug == CAM_HOLD_NONE || row->debug_sure;
}
/* Whether the file was written to since it is held; *now as it is. */
struct stat;
bool cam_hold_was_written(const struct cam_hold *row, struct stat *now);
