// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of live share; private to them.
 *	live.c		the door: records, answers, the clock
 *	live_sample.c	a sample: who, where, park or store
 *	live_unwind.c	processes and their mappings → whoever unwinds
 *	live_tables.c	unwind tables of files → whoever unwinds
 *	live_copies.c	samples that come with a copy of their stack
 *	live_place.c	frames → place
 *	live_names.c	names of locations
 *	live_window.c	windows: which one, when to cut, what a full disk costs
 */
#pragma once
#include "ingest/jit.h"
#include "ingest/ksymbols.h"
#include "ingest/ledger.h"
#include "ingest/live_unwinding.h"
#include "ingest/namebook.h"
#include "ingest/open_window.h"
#include "ingest/parking.h"

#define CAM_LIVE_MAX_FRAMES  CAM_MAX_STACK_FRAMES
#define CAM_LIVE_NODES	     32768u
#define CAM_LIVE_MAX_CPUS    1024u
#define CAM_LIVE_MAX_TICKETS 64u
#define CAM_LIVE_TIME_UNIT   10000u

/* A location that waits for its name. */
struct cam_live_want {
	struct cam_loc_id loc;
	uint32_t file;	 /* whom to ask about */
	uint32_t book;	 /* where the answer is noted */
	uint32_t ticket; /* 0: not asked */
	uint64_t offset;
	uint32_t tries;
	bool last;		/* code made at run time: asked for after the process's end */
	uint64_t not_before_ns; /* …: to be asked for again */
};

struct cam_live_window {
	struct cam_open_window w;
	unsigned slot;	 /* 0 or 1: which of the two this is */
	uint32_t number; /* from 1, unique; 0: is not open */
	uint64_t start_ns, end_ns, last_ns;
	struct cam_live_want *wants;
	size_t n_wants, cap_wants;
	struct cam_etype_id etype;
	struct cam_loc_id unknown;		 /* CAM_NONE: not made yet */
	struct cam_loc_id marks[CAM_STACK_ENDS]; /* [truncated], or [unmapped]; as well */
	struct cam_module_id dynamic;		 /* the kernel's changing code, as of… */
	uint32_t dynamic_turn;
	/* All of it is written, but perhaps for its end: nothing can be added, only that is tried again. */
	bool ending;
};

/* A frame, found: in which file, where. */
struct cam_live_frame {
	struct cam_files_row *file; /* NULL: unknown, or a mark */
	uint64_t address;	    /* in the file, else absolute; of a mark: enum cam_stack_end */
	const struct cam_image *image;	 /* of code made at run time: whose… */
	const struct cam_image_map *map; /* …mapping it lies in; else NULL */
	bool mark;
};

/* A path from the root, and where its node is noted. */
struct cam_live_path {
	uint64_t tag;
	uint32_t check;
	struct cam_module_id module; /* of its leaf */
};

struct cam_live_node {
	uint64_t tag;
	uint32_t check, node;
};

struct cam_live_ticket {
	uint32_t ticket; /* 0: free */
	uint32_t file, book;
	uint32_t turn; /* of the kernel's code when it was asked */
	uint64_t sent_ns;
};

struct cam_live_loss {
	uint64_t from_ns, to_ns, samples;
};

struct cam_live {
	struct cam_live_options options;
	struct cam_live_doors doors;
	struct cam_live_stats stats;
	struct cam_buf host, event, cgroup; /* ours, of options */
	int32_t *pids;

	struct cam_words words;
	struct cam_files *files;
	struct cam_processes *processes;
	struct cam_jits *jits;
	struct cam_namebook *names;
	struct cam_ledger *ledger;
	struct cam_facts facts;
	struct cam_parking parking;

	uint64_t now_ns; /* the newest of tick's and records' times */
	uint64_t tick_ns;
	uint64_t released_ns; /* as the last tick was told */
	uint32_t next_ticket;
	bool errands_full; /* send() said so, since the last tick */
	bool no_more;	   /* records will come */

	struct cam_live_window windows[2];
	struct cam_live_window *cur, *prev; /* NULL: none */
	uint32_t window_number;
	uint64_t next_start_ns; /* where the last window ended; CAM_TIME_NONE: none has */
	struct cam_anchor anchor;
	bool has_anchor;
	int refused; /* what the journal said last; 0: it takes blocks */
	struct cam_live_loss losses[CAM_LIVE_MAX_CPUS + 1]; /* the disk's; the last: other CPUs */
	bool has_losses;

	/* Unwinding. */
	struct cam_link due; /* processes that are to be handed over */
	uint32_t old_images[CAM_LIVE_OLD_IMAGES];
	size_t n_old_images;
	struct cam_unwind_mapping unwind_maps[CAM_UNWIND_MAX_MAPS];
	struct cam_link tables_first, tables_later; /* files whose tables are wanted */
	struct cam_live_table tables[CAM_LIVE_TABLES];
	struct cam_link copies; /* oldest first */
	size_t copy_bytes;
	bool copies_full; /* the errands of copies find no room, until one is answered */

	struct cam_live_ticket tickets[CAM_LIVE_MAX_TICKETS];
	bool names_came;
	uint32_t turn; /* counts changes of kernel code, and losses of records */
	uint64_t dynamic_from, dynamic_to; /* all code that ever changed */
	struct cam_ksymbols ksymbols;	   /* what is known of it without asking */
	uint64_t placing_ns;		   /* of the sample whose frames are being placed */

	struct cam_live_frame frames[CAM_LIVE_MAX_FRAMES];
	struct cam_live_path paths[CAM_LIVE_MAX_FRAMES];
	struct cam_live_node nodes[CAM_LIVE_NODES];
};

/* live.c */
/* Sends; the ticket is set here. -EAGAIN: not now. */
int cam_live_send(struct cam_live *l, struct cam_errand *e);
/* Another one. */
uint32_t cam_live_ticket(struct cam_live *l);

/* live_sample.c */
void cam_live_sample(struct cam_live *l, const struct cam_raw *r);
/* What one that was expected has mapped is asked for, once its answer is there. */
void cam_live_expected_answer(struct cam_live *l, int32_t pid);
/* Stores those that have waited long enough, or all. */
void cam_live_release(struct cam_live *l, bool all);
/* Stores those of before that time. */
void cam_live_release_before(struct cam_live *l, uint64_t time_ns);

/* live_place.c */
/* Of the first n of l->frames. */
int cam_live_place(struct cam_live *l, struct cam_live_window *w, size_t n,
		   struct cam_place_id *out);

/* live_names.c */
/* Names a location that is new, or notes that its name is wanted. */
void cam_live_names_find(struct cam_live *l, struct cam_live_window *w,
			 const struct cam_files_row *f, struct cam_loc_id loc, uint64_t address);
/* Whether that is kernel code which has changed since the start. */
bool cam_live_is_dynamic(const struct cam_live *l, const struct cam_files_row *f, uint64_t address);
void cam_live_names_answer(struct cam_live *l, const struct cam_tidings *t);
/* Enters the names that have come. */
void cam_live_names_apply(struct cam_live *l);
void cam_live_names_ask(struct cam_live *l);
/* Lets the symboliser read on in a file that grows. */
void cam_live_names_refresh(struct cam_live *l, struct cam_files_row *f);
void cam_live_names_change(struct cam_live *l, const struct cam_raw_ksymbol *k, uint64_t time_ns);
/* Such records may be lost. */
void cam_live_names_lost(struct cam_live *l);

/* live_window.c */
/* The one of that time; opens one if there is none. */
int cam_live_window_at(struct cam_live *l, uint64_t time_ns, struct cam_live_window **out);
/* Before that time comes: if it cuts, what waits of prev goes into it. Not while a sample is stored. */
void cam_live_window_settle(struct cam_live *l, uint64_t time_ns);
/* Cuts before a sample of that time, if it must be. */
int cam_live_window_turn(struct cam_live *l, uint64_t time_ns);
/* -E2BIG: did not fit, counted as lost to the disk. */
int cam_live_window_put(struct cam_live *l, struct cam_live_window *w, const struct cam_sample *s);
/* Whether samples are not even looked at: the disk is full, and so is the memory for them. */
bool cam_live_window_is_stuck(const struct cam_live *l, const struct cam_live_window *w);
void cam_live_window_lose(struct cam_live *l, uint32_t cpu, uint64_t time_ns);
/* Writes what is pending; closes the one whose time has passed. */
int cam_live_window_tick(struct cam_live *l, uint64_t released_ns);
/* Ends all that is open at end_ns. */
int cam_live_window_end_all(struct cam_live *l, uint64_t end_ns);
