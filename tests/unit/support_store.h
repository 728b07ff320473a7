// SPDX-License-Identifier: Apache-2.0
/*
 * Windows whose content is known: samples are numbered, and everything about sample k follows
 * from k. What a store gives back is checked field by field, and answered as a set of numbers.
 *
 *	struct numbered n;
 *	numbered_init(&n, cam_store_journal(s, 0));
 *	numbered_begin(&n, &(struct numbered_window){.boot = 1, .start_ns = NS, .host = "h"});
 *	numbered_append(&n, 0, 5);
 *	numbered_end(&n);
 *	struct numbers found;
 *	store_read(io, &found);
 *
 * A window that says something wrong fails the test, wherever it is found.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"
#include "store/io.h"
#include "store/store.h"
#include "support_sim_io.h"

#define NS	    UINT64_C(1000000000)
#define MAX_NUMBERS 512u
#define MAX_MARKS   32u
/* Between two samples of a window. */
#define STEP_NS (10 * UINT64_C(1000000))

struct numbered_window {
	uint8_t boot;
	uint64_t start_ns;
	int64_t realtime_ns; /* of start_ns; 0: no anchor, so not known */
	const char *host;    /* NULL: "h" */
	bool imported;
};

struct numbered {
	struct cam_journal *to;
	struct cam_tables t;
	struct numbered_window w;
	uint64_t next_ns;
	bool open;
};

void numbered_init(struct numbered *n, struct cam_journal *to);
int numbered_begin(struct numbered *n, const struct numbered_window *w);
/* One block: samples first .. first + count - 1, STEP_NS apart, going on from the last block. */
int numbered_append(struct numbered *n, unsigned first, unsigned count);
/* One block with the event "mark k". */
int numbered_mark(struct numbered *n, uint64_t time_ns, unsigned k);
int numbered_end(struct numbered *n);
/* Forgets the window without ending it. */
void numbered_drop(struct numbered *n);
/* A whole window, sealed or not. */
void numbered_window(struct cam_store *s, const struct numbered_window *w, unsigned first,
		     unsigned count, bool seal);

struct numbers {
	uint8_t times[MAX_NUMBERS]; /* how often each was found */
	/* Generation of the names of each sample: 0, or what numbered_better() made of them. */
	uint8_t generation[MAX_NUMBERS];
	unsigned total;
	/* Samples of which names (or the leaf's offset) were in a part that is lost. */
	unsigned nameless;
	unsigned windows, journals, unreadable;
	uint64_t damaged; /* chunks */
	/* Events whose text is "mark K". */
	uint8_t marks[MAX_MARKS];
};

/* Everything a reader finds in a store. */
void store_read(struct cam_io *io, struct numbers *out);
void window_read(struct cam_window *w, struct numbers *out);
bool numbers_equal(const struct numbers *a, const struct numbers *b);

/* Gives an open window better names: "g3" for "f3". What cannot be read is in its damage. */
void numbered_better(struct cam_window *w);

int add_mark(struct cam_store *s, uint8_t boot, uint64_t time_ns, unsigned k);

/* Names and bytes of all files; of temporary ones without `all` the names only. */
uint64_t hash_disk(struct sim_disk *d, bool all);
/* A set of hashes, each with a number: 0 until whoever asked for it first sets another. */
struct memo {
	uint64_t *keys;
	uint32_t *states;
	size_t cap, n;
};
uint32_t *memo_find(struct memo *m, uint64_t key);
void memo_free(struct memo *m);

/* Before thousands of runs: memory that is freed is kept, not given back to the kernel each time. */
void keep_memory(void);
/*
 * A disk in front of another one: calls are passed on. A test copies relay_ops, puts functions of
 * its own into the copy, and embeds a relay as the first member of what these need.
 */
struct relay {
	struct cam_io io;
	struct cam_io *real;
};
extern const struct cam_io_ops relay_ops;

/* Keeps the first bytes of a file. */
void sim_cut(struct sim_disk *d, const char *name, size_t bytes);
/* The verdict of one file, or NULL if there is none of that name. */
const char *verdict_of(struct cam_io *io, const char *name, struct cam_verify_report *r);
/* Opens and fails the test if that fails. */
struct cam_store *store_open(struct cam_io *io);
