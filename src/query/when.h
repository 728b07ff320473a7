// SPDX-License-Identifier: Apache-2.0
/*
 * The times of a selection as people write them, until the windows are at hand that some forms need:
 *
 *	at T [around 5s]	that much before and after it; T as in time.h
 *	from T [to T]		to now, or the first such moment behind `from`
 *	last 10m		up to now
 *	event ID [around 5s]	around an event: its id, or the first digits of it (event_id.h)
 *	window NAME		a window, by the name of its file
 *	time 10%/2		a part of all there is, as perf writes it: 10%/2 is the second tenth, 10%-20% the same;
 *				A,B: from A to B, seconds on the windows' own clock, either of them may be left out
 *
 * "Now" is the clock's; of files it is the end of the last of them (`of_files`), so that `-90s`, `last 10m`
 * and a clock without a date mean what is in the file, whenever it was made.
 *
 * boot+12345.678 is looked up in the newest boot that was recorded at that stamp. Times of one boot
 * are kept on the windows' clock, and only windows of that boot are meant: whatever the wall clock
 * did meanwhile, they are exact.
 */
#pragma once
#include "model/cursor.h"
#include "query/time.h"

enum cam_when_key {
	CAM_WHEN_AT,
	CAM_WHEN_AROUND,
	CAM_WHEN_FROM,
	CAM_WHEN_TO,
	CAM_WHEN_LAST,
	CAM_WHEN_EVENT,
	CAM_WHEN_WINDOW,
	CAM_WHEN_TIME,
	CAM_WHEN_MAX,
};

#define CAM_WHEN_MAX_BYTES 256u /* of one value */
#define CAM_WHEN_WHY_BYTES 400u /* room for `why` that fits any message */

/* Zeroed but for the world is empty. */
struct cam_when {
	struct cam_time_world world;
	bool of_files;		  /* the windows are of files, not of a store that goes on */
	char *text[CAM_WHEN_MAX]; /* NULL: not given */
};

/* What they come to: half-open. */
struct cam_when_range {
	bool on_clock; /* the windows' clock, of one boot; else the wall clock */
	struct cam_boot_id boot_id;
	int64_t from_ns, to_ns;
};

void cam_when_free(struct cam_when *w);
bool cam_when_is_empty(const struct cam_when *w);
/* Sets one. -EINVAL: given twice, or not of its form; -ENOMEM. `why` then says it, as in time.h. */
int cam_when_set(struct cam_when *w, enum cam_when_key key, struct cam_text value, char *why,
		 size_t why_bytes);
/* Whether they go together. -EINVAL, and why. */
int cam_when_check(const struct cam_when *w, char *why, size_t why_bytes);
/* Whether windows are needed to say when that is. */
bool cam_when_needs_windows(const struct cam_when *w);
/*
 * Of what was set and checked. source may be NULL where no windows are needed. -EINVAL: a range that ends
 * before it begins; -ENODATA: the windows do not know that moment, event or window: both with why. -ENOMEM.
 */
int cam_when_settle(const struct cam_when *w, struct cam_source *source, struct cam_when_range *out,
		    char *why, size_t why_bytes);
/*
 * The same as a stretch of wall clock, for whoever keeps no windows' clock (pins): -ENODATA also where
 * the windows do not know the wall time.
 */
int cam_when_settle_wall(const struct cam_when *w, struct cam_source *source, int64_t *from_ns,
			 int64_t *to_ns, char *why, size_t why_bytes);
/* The name of a key, as in the grammar: "at", … */
const char *cam_when_name(enum cam_when_key key);
