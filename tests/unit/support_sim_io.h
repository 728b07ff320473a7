// SPDX-License-Identifier: Apache-2.0
/*
 * A simulated disk: struct cam_io_ops over memory, with the crashes, errors and rot of real ones.
 *
 * What it knows of every file: what is on the platter, what the page cache shows, and the writes
 * between the two; of the directory likewise. fdatasync() makes a file's content durable, never
 * its name; sync_dir() makes names durable, never content. A failed fdatasync() behaves as on
 * Linux: the pages are marked clean and never written, the next fdatasync() succeeds. A failed
 * sync_dir() is taken to behave alike: no later one makes the changes before it durable.
 *
 * Three ways to use it:
 *
 *  - live, with a plan: the call with number `at_call` crashes or fails. After a crash every call
 *    answers -ESHUTDOWN; then make images of what a restart may find.
 *
 *  - recorded: run the workload once with sim_record(), then walk over its operations with
 *    sim_replay_step() and make images before and inside each: every crash point of a run costs
 *    no second run.
 *
 *	struct sim_disk *r = sim_replay_new(d);
 *	do {
 *		for (size_t cut = 0; cut <= sim_replay_bytes(r); cut++)
 *			check(sim_image(r, cut, SIM_NONE, 0));
 *	} while (sim_replay_step(r));
 *
 *  - as plain files: sim_put(), sim_get(), sim_flip().
 *
 * An image is a disk of its own on which all is durable; content is shared (copy on write), so it
 * costs what un-synced writes cost. Wrong use by a test aborts.
 */
#pragma once
#include "store/io.h"

struct sim_disk;

/* What a restart may find, after a crash. */
enum sim_image {
	SIM_DEATH, /* the process died, the machine did not: all that was written so far */
	/* A power cut: of what was not synced, … */
	SIM_ALL,    /* … all made it */
	SIM_NONE,   /* … nothing */
	SIM_NAMES,  /* … names only: files never synced are empty */
	SIM_ZEROS,  /* … names and lengths, the data are zeros */
	SIM_DATA,   /* … data only */
	SIM_PREFIX, /* … the first ones of all, in order; the last of them torn (by seed) */
	SIM_SECTOR, /* … any of them, torn at sectors of 512 bytes (by seed) */
	SIM_BYTE,   /* … any of them, torn at any byte (by seed) */
	SIM_IMAGES,
};

struct sim_plan {
	uint64_t at_call;  /* counted from 1; 0: nothing happens */
	uint64_t at_byte;  /* of a pwrite(): so many of its bytes still get through */
	int fail_errno;	   /* the call fails with this (positive); 0: crash */
	bool fail_forever; /* and so does each one of the same kind after it */
};

struct sim_disk *sim_new(void);
void sim_free(struct sim_disk *d);
/* The disk as the store sees it. */
struct cam_io *sim_io(struct sim_disk *d);

/* Counts from here on: the next call is number 1. */
void sim_set_plan(struct sim_disk *d, const struct sim_plan *plan);
uint64_t sim_calls(const struct sim_disk *d);
bool sim_crashed(const struct sim_disk *d);
/* Whether the planned call was reached. */
bool sim_plan_done(const struct sim_disk *d);
/* All files together may hold so many bytes, then -ENOSPC; 0 (at first): any number. */
void sim_set_capacity(struct sim_disk *d, uint64_t bytes);
unsigned sim_open_files(const struct sim_disk *d);
unsigned sim_syncs(const struct sim_disk *d);

/*
 * Cut: of the operation that a replay comes to next, so many bytes were done (of others than
 * pwrite() nothing is); for a live disk always 0. The caller frees the image.
 */
struct sim_disk *sim_image(const struct sim_disk *d, size_t cut, enum sim_image how, uint64_t seed);
/* How many writes and changes of names are not synced. */
size_t sim_pending(const struct sim_disk *d);

/* From here on changes are recorded; the state now is where replays begin. */
void sim_record(struct sim_disk *d);
/* Changes recorded so far: what a workload notes beside its promises. */
size_t sim_recorded(const struct sim_disk *d);
/* The recorded disk must outlive its replays. */
struct sim_disk *sim_replay_new(const struct sim_disk *recorded);
/* Changes done so far. */
size_t sim_replay_position(const struct sim_disk *replay);
/* Bytes of the next change if it is a pwrite(), else 0. */
size_t sim_replay_bytes(const struct sim_disk *replay);
/* Does the next change; false: there is none. */
bool sim_replay_step(struct sim_disk *replay);

/* Durable at once; replaces. */
void sim_put(struct sim_disk *d, const char *name, const void *bytes, size_t n);
/* What a reader sees; NULL: no such file. Valid until the next change. */
const uint8_t *sim_get(const struct sim_disk *d, const char *name, size_t *n);
void sim_flip(struct sim_disk *d, const char *name, uint64_t bit);
