// SPDX-License-Identifier: Apache-2.0
/*
 * The part of live_parts.h about unwinding; private to the files of live.
 *	live_unwind.c	processes and their mappings → whoever unwinds
 *	live_tables.c	unwind tables of files → whoever unwinds
 *	live_copies.c	samples that come with a copy of their stack
 */
#pragma once
#include "ingest/live.h"
#include "ingest/parking.h"

#define CAM_LIVE_PARK_NS (400 * CAM_NS_PER_MS)
/* However late it came: with a tick (200 ms) it is in the journal within a second of its time, which is what a kill may cost. */
#define CAM_LIVE_AGE_NS	    (550 * CAM_NS_PER_MS)
#define CAM_LIVE_COPY_BYTES ((size_t)4 << 20)
#define CAM_LIVE_TABLES	    16u	  /* asked for at a time */
#define CAM_LIVE_OLD_IMAGES 1024u /* not yet forgotten */

/* What is known of a sample's circumstances. */
struct cam_live_who {
	struct cam_process *process;
	struct cam_thread *thread; /* NULL: it is not (or no more) of this process */
	struct cam_image *image;   /* NULL: not known */
	bool known;		   /* the image is to be trusted */
	const char *comm;	   /* NULL: not known */
	uint32_t execs;		   /* which of the process's programs it is */
};

/* A table that was asked for. */
struct cam_live_table {
	uint32_t ticket; /* 0: free */
	uint32_t file, book;
	bool begun;
	int error; /* of whoever takes it */
	uint64_t heard_ns;
};

/* A sample that waits for its stack to be walked. */
struct cam_live_copy {
	struct cam_link of_copies;
	uint32_t ticket;  /* of the errand under way; 0: none */
	uint32_t lacking; /* the file whose table is missing; CAM_NONE: none is */
	uint16_t tries;
	bool patient; /* one answer will do, by the look of it: all tables have been made */
	size_t bytes;
	struct cam_parked parked; /* last: the packed record is behind it */
};

/* live_sample.c */
bool cam_live_is_trusted(const struct cam_live *l, const struct cam_process *p);
/* Asks to take hold of a mapping's file; false: there is nothing to wait for. */
bool cam_live_ask_file(struct cam_live *l, const struct cam_process *p,
		       const struct cam_image_map *m);
/* Asks for what is not known about the process; true: an answer is worth waiting for. */
bool cam_live_ask_who(struct cam_live *l, const struct cam_live_who *w, const struct cam_raw *r);
bool cam_live_in_scope(const struct cam_live *l, const struct cam_process *p);
/* What a sample that waited is to be stored with, now. */
struct cam_live_who cam_live_parked_who(struct cam_live *l, struct cam_parked *q,
					const struct cam_raw *r);
/* Head of a sample that is to wait; its holds are taken. */
struct cam_parked cam_live_parked(struct cam_live *l, const struct cam_live_who *w,
				  uint64_t sampled_ns);
/* Whether it has waited long enough; more_ns: so much longer than others. */
bool cam_live_is_overdue(const struct cam_live *l, const struct cam_parked *q, uint64_t more_ns);
/* Stores one that waited, or parks it again; takes its holds over. */
void cam_live_resume(struct cam_live *l, struct cam_parked *q, const struct cam_raw *r);

/* live_unwind.c */
/* The process was sampled: does whoever unwinds have what it needs? */
void cam_live_unwind_sampled(struct cam_live *l, struct cam_process *p, const struct cam_raw *r);
/* Its mappings have changed. */
void cam_live_unwind_changed(struct cam_live *l, int32_t pid);
void cam_live_unwind_left(void *arg, struct cam_process *p);
void cam_live_unwind_forget_image(void *arg, uint32_t number);
void cam_live_unwind_tick(struct cam_live *l);
/* An image's mappings into l->unwind_maps; answers how many. */
size_t cam_live_unwind_maps(struct cam_live *l, const struct cam_image *i);

/* live_tables.c */
/* The file's table is needed; `first`: a sample has stopped there. */
void cam_live_table_want(struct cam_live *l, struct cam_files_row *f, bool first);
/* The symboliser does not have it: sent for at once, so that it is there before what follows.
 * false: it cannot be had now. */
bool cam_live_table_lack(struct cam_live *l, struct cam_files_row *f);
/* The file was taken hold of, or could not be. */
void cam_live_table_held(struct cam_live *l, uint32_t file);
/* The file's number is not of use any more. */
void cam_live_table_forget(struct cam_live *l, uint32_t file);
void cam_live_table_answer(struct cam_live *l, const struct cam_tidings *t);
void cam_live_tables_tick(struct cam_live *l);

/* live_copies.c */
/* Takes over a sample with a copy of its stack; false: there is no room, or no use. */
bool cam_live_copy_take(struct cam_live *l, const struct cam_live_who *w, const struct cam_raw *r);
void cam_live_copy_answer(struct cam_live *l, const struct cam_tidings *t);
/* An answer has come that some may have waited for. */
void cam_live_copies_retry(struct cam_live *l);
/* Goes on with those that have waited long enough, or with all. */
void cam_live_copies_tick(struct cam_live *l, bool all);
/* Goes on with those of before that time. */
void cam_live_copies_before(struct cam_live *l, uint64_t time_ns);
/* Without a word. */
void cam_live_copies_free(struct cam_live *l);
