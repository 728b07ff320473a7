// SPDX-License-Identifier: Apache-2.0
/*
 * The store: a directory of sealed windows (*.pcw), the journal of the open one and journals that
 * wait for sealing (*.pcj), the annex of late events (events.pcj), pins, a lock. name.h has the
 * names.
 *
 * One writer (the lock), any number of readers, no coordination between them: a reader opens
 * what it finds, a deleted window lives on for whoever holds it open. Sealed files never change.
 * A crash at any point loses no sealed window; seal.c says why.
 *
 * The io is borrowed, and must outlive what is made with it. A store belongs to one thread.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"
#include "store/io.h"
#include "store/name.h"

struct cam_store;

/* Zeros mean "no limit". */
struct cam_retention {
	uint64_t keep_ns;	   /* age, by recorded time: retain.c */
	uint64_t max_bytes;	   /* of what is not pinned */
	uint64_t min_free_bytes;   /* of the file system; beats every pin */
	uint64_t max_pinned_bytes; /* the first pins win; what does not fit is not pinned */
};

/* What happened since the store was opened, beyond what was asked. */
struct cam_store_counts {
	uint32_t recovered;    /* journals that were there when it was opened, sealed since */
	uint32_t empty;	       /* journals of a crash with nothing in them, removed */
	uint32_t set_aside;    /* journals without a readable header, renamed to *.bad */
	uint32_t unsealed;     /* journals that could not be sealed now and wait */
	uint32_t rewritten;    /* files written anew after a failed write or sync */
	uint32_t failed_syncs; /* of files and of the directory */
};

/*
 * For reading. Takes a snapshot of the list: sealed windows and journals alike, in order of (boot,
 * start), boots in the order in which they were recorded. Opening one that has been deleted since
 * answers -ENOENT; one that has been sealed since is found under its new name. Late events of the
 * annex are among the events of the window they fall into. What a newer perfcam wrote, and what
 * cannot be read at all, comes last: info() and open() answer why (-EPROTONOSUPPORT, -EBADMSG,
 * -EIO). Its windows are closed before it is.
 */
int cam_store_open_read(struct cam_io *io, struct cam_source **out);
/*
 * The same for who asks often: with what it has learnt of sealed files, the next list opens only what is new. Of one
 * directory, and one thread at a time; `known` may be freed before the source is closed.
 */
struct cam_store_known *cam_store_known_new(void);
void cam_store_known_free(struct cam_store_known *known);
int cam_store_open_again(struct cam_io *io, struct cam_store_known *known, struct cam_source **out);

/*
 * For writing: takes the lock (-EWOULDBLOCK: *holder has it; 0 where that is not known), removes
 * temporary files, seals what a crash left unsealed (recovery is sealing). A journal that cannot
 * be sealed now waits; it does not keep the store from opening.
 */
int cam_store_open_write(struct cam_io *io, struct cam_store **out, int *holder);
/* The same for a recorder, which must begin at once: what a crash left waits for
 * cam_store_seal_next(). */
int cam_store_open_live(struct cam_io *io, struct cam_store **out, int *holder);
/* An open window stays as it is, for the next writer to recover. */
void cam_store_close(struct cam_store *s);
const struct cam_store_counts *cam_store_counts(const struct cam_store *s);

/*
 * Door C into this store: begin() opens a journal file, append() writes blocks and syncs the file
 * at most sync_ns of recorded time apart (0: only at the end), end() closes it; unsealed journals
 * are sealed by cam_store_seal_pending(). Each call makes another door, for another window at
 * the same time; they are the store's and die with it. NULL: no memory.
 *
 * A block that append() refused may be offered again. A failed sync is no refusal: the file is
 * abandoned and its content written into a new one, if need be before the next block. end() may be
 * called again after an error; begin() gives the window up instead and leaves its journal to be
 * sealed as it is.
 */
struct cam_journal *cam_store_journal(struct cam_store *s, uint64_t sync_ns);
/*
 * Who syncs journals beside, while blocks are appended: one at a time. What append() would have done with a sync's
 * result it does when it is there. begin() and end() sync themselves, and wait for one of their file.
 */
struct cam_syncer {
	void *self;
	/* False: another is under way, or has not been asked for yet. f stays open until is_done(). */
	bool (*start)(void *self, struct cam_file *f);
	/* Of what was started. False: not yet, never so with `wait`. */
	bool (*is_done)(void *self, bool wait, int *result);
};
/* NULL: append() does it. Borrowed until the store is closed; of doors made before and after. */
void cam_store_set_syncer(struct cam_store *s, const struct cam_syncer *by);
/* The file that such a door writes, or has written last; "": none yet. */
const char *cam_store_journal_name(const struct cam_journal *door);
/* Goes on after an error, with the next journal; answers the first one. */
int cam_store_seal_pending(struct cam_store *s, unsigned *sealed);

/*
 * Sealing in another process. The store names a journal and opens it, and an empty file; somebody
 * runs cam_seal_files() (store/seal.h) with the two, in a child by their descriptors
 * (cam_file_fd()); the store checks the result and puts it into its place:
 *
 *	while (cam_store_seal_next(s, &job) > 0)
 *		cam_store_seal_done(s, &job, cam_seal_files(job.journal, job.window));
 *
 * is cam_store_seal_pending(). Jobs may overlap; all must be done before the store is closed.
 */
struct cam_seal_job {
	struct cam_file *journal;    /* to read */
	struct cam_file *window;     /* to write */
	char name[CAM_NAME_BYTES];   /* of the journal */
	char sealed[CAM_NAME_BYTES]; /* of the window, once done; empty: there was nothing in it */
};
/*
 * 1: *job is to be done. 0: none is waiting that has not been tried since the last window ended.
 * Negative, once: none, and one could not even be begun. Cheap where there is nothing to do.
 */
int cam_store_seal_next(struct cam_store *s, struct cam_seal_job *job);
/*
 * Ends a job, closes its files. `result` is what cam_seal_files() answered (of a child: minus its
 * exit status, -EFAULT where a signal ended it, -ECANCELED where it was stopped on purpose). 0: the
 * window is durable under its name, the journal gone. Else the journal is as it was, and is given out
 * again when the next window has ended; but not after the second failure that was not the disk's:
 * then it stays, readable, and is counted as unsealed.
 */
int cam_store_seal_done(struct cam_store *s, struct cam_seal_job *job, int result);
/* Journals that wait, those that are being sealed and those that could not be among them. */
size_t cam_store_seal_waiting(const struct cam_store *s);
/*
 * The next generation of a sealed window: the same window (boot, sequence, start, end, number of
 * samples; else -EINVAL) with better names. Replaces the file; who has the old one open keeps it.
 * -EBADMSG: `better` could not be read wholly (its damage says so), the old one stays.
 */
int cam_store_replace(struct cam_store *s, const char *name, struct cam_window *better);
/* The same in two steps, for one who has not the lock: the first, which takes its time, writes, syncs and verifies
 * a file beside it; the second, by the lock's holder, checks its head and renames it. */
int cam_store_stage(struct cam_io *io, struct cam_window *better, char staged[CAM_NAME_BYTES]);
int cam_store_adopt(struct cam_store *s, const char *staged, const char *name);
/* A sealed window as its file is: without late events. */
int cam_store_open_sealed(struct cam_io *io, const char *name, struct cam_window **out);
/*
 * Deletes at most what the limits need, oldest first; never the newest 10 min, nor a pinned one
 * (but for free space). Journals count too; one that is being written stays.
 */
int cam_store_retain(struct cam_store *s, const struct cam_retention *r, unsigned *deleted);

/* A pin keeps what lies in it: wall-clock nanoseconds, half-open, may lie in the future. */
struct cam_pin {
	int64_t from_ns, to_ns;
	char note[64];
};
typedef int cam_pin_fn(void *arg, const struct cam_pin *p);
/* Durable when it returns. A second pin of the same range changes the note. */
int cam_store_pin(struct cam_store *s, const struct cam_pin *p);
/* -ENOENT: no pin has exactly this range. */
int cam_store_unpin(struct cam_store *s, int64_t from_ns, int64_t to_ns);
/* -EBADMSG, after the pins that are readable: some are not (then nothing but a lack of free space
 * deletes anything, until the next pin or unpin writes the file anew). */
int cam_store_pins(struct cam_io *io, cam_pin_fn *fn, void *arg);
/* What all pins keep now: to refuse a pin whose budget is used up. */
int cam_store_pinned_bytes(struct cam_io *io, uint64_t *bytes);

/* A late event: to the annex, merged by readers into the windows it falls into. Durable when it
 * returns 0; after an error it may be offered again. -E2BIG: too long, or the annex is full. */
int cam_store_add_event(struct cam_store *s, const struct cam_boot_id *boot, uint64_t time_ns,
			uint64_t uncertainty_ns, enum cam_severity severity, struct cam_text source,
			struct cam_text text);

/* Many of them: between these two calls none is durable, behind the second one, if it answers 0, all are. */
void cam_store_add_many(struct cam_store *s);
int cam_store_added_many(struct cam_store *s);

/* What `perfcam verify` reports, one call per file, in order of their names. */
struct cam_verify_report {
	const char *name;
	const char *kind;    /* "window", "journal", "annex", "pins", "temporary", "foreign" */
	const char *verdict; /* "ok", "torn tail", "damaged", "unreadable", "newer" */
	uint64_t bytes, samples;
	uint64_t damaged_chunks, damaged_bytes, damaged_samples;
	uint64_t torn_bytes;
	uint64_t from_ns, to_ns; /* of what is damaged, on the window's clock; 0, 0: none, or all */
};
typedef int cam_verify_fn(void *arg, const struct cam_verify_report *r);
/* Reads every byte, changes nothing. */
int cam_store_verify(struct cam_io *io, cam_verify_fn *fn, void *arg);
