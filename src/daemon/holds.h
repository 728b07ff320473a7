// SPDX-License-Identifier: Apache-2.0
/*
 * The descriptors of profiled files that the crew holds, by ingest's numbers; and beside each those of its aids, if there are
 * any: its debug file, and the supplement that its DWARF refers to (dwz -m). One thread.
 *
 * Invariants
 *  1. A number has a row once it was asked for; a row's fd is -1 where nothing is held, and those of its aids too then.
 *  2. `count` rows have an fd; these, the `aids` of them and what cannot be closed are at most max_files.
 *  3. An aid is held only if whoever could write it could write the file itself: of root, or of the
 *     file's own owner, and writable for nobody else. So a forged one, put where another user's process looks for
 *     it, names nothing of that user's.
 */
#pragma once
#include "daemon/closer.h"
#include "model/errand.h"

#include <time.h>

#define CAM_HOLDS_MAX_TRIES 8u /* aids that turned out to be none of this file */

/* Whether there is such an aid. */
enum cam_aid_state {
	CAM_AID_UNKNOWN, /* nobody has asked */
	CAM_AID_ASKED,	 /* the opener looks for it; names wait */
	CAM_AID_FOUND,
	CAM_AID_NONE,
};

enum cam_aid_kind {
	CAM_AID_DEBUG,
	CAM_AID_SUPPLEMENT,
	CAM_AIDS,
};

struct cam_aid {
	enum cam_aid_state state;
	int fd;	       /* -1: none */
	bool sure;     /* the symboliser has found it to be the file's own */
	uint32_t skip; /* candidates that were none */
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
	uint32_t look; /* of the crew, that found it as it was last */
	uint32_t owner, group, mode;
	struct cam_aid aids[CAM_AIDS];
	int32_t pid; /* one that has it mapped */
	char *path;  /* as that process calls it */
};

struct cam_holds {
	struct cam_hold *rows;
	size_t n, max_files, next_check;
	uint32_t count, aids;
	struct cam_closer *closer; /* closes what is let go; NULL: at once */
};

void cam_holds_free(struct cam_holds *h);
/* NULL: a number that has none. */
struct cam_hold *cam_holds_find(const struct cam_holds *h, uint32_t file);
/* Makes a row for a number; NULL: no memory, or a number that cannot be. Pointers to rows are void then. */
struct cam_hold *cam_holds_make(struct cam_holds *h, uint32_t file);
/* Takes fd over; -EMFILE: as many as may be are held already. */
int cam_holds_keep(struct cam_holds *h, uint32_t file, const struct cam_file_key *key, bool grows,
		   int fd);
/* Whether one more can be held. */
bool cam_holds_has_room(const struct cam_holds *h);
/* Takes fd over, whatever the answer. -EPERM: its owner is not to be believed about the file; -EMFILE. */
int cam_holds_keep_aid(struct cam_holds *h, struct cam_hold *row, enum cam_aid_kind kind, int fd);
void cam_holds_drop_aid(struct cam_holds *h, struct cam_aid *aid, enum cam_aid_state now);
void cam_holds_release(struct cam_holds *h, uint32_t file);
/* Whether there is nothing more to look for. */
static inline bool cam_aid_is_settled(const struct cam_aid *aid)
{
	return aid->state == CAM_AID_NONE || aid->sure;
}
bool cam_hold_is_settled(const struct cam_hold *row);
/* Whether the opener is looking for one of its aids. */
bool cam_hold_waits(const struct cam_hold *row);
/* Whether the file was written to since it is held; *now as it is. */
struct stat;
bool cam_hold_was_written(const struct cam_hold *row, struct stat *now);
