// SPDX-License-Identifier: Apache-2.0
/* What the files behind store.h share; nobody else includes this. */
#pragma once
#include "base/buf.h"
#include "store/name.h"
#include "store/store.h"

/* A journal's tables may take this much while it is read: far more than ingest lets them grow. */
#define CAM_STORE_TABLE_BYTES ((size_t)1 << 30)
#define CAM_STORE_MAX_FILES   (1u << 20)

enum cam_entry_state {
	CAM_ENTRY_OK,	  /* its header can be read: info is valid */
	CAM_ENTRY_BAD,	  /* nothing in it can be read */
	CAM_ENTRY_NEWER,  /* made by a newer perfcam: not touched */
	CAM_ENTRY_FAILED, /* the disk did not answer: not touched */
};

/* What became of the attempts to seal a journal, in this process. */
struct cam_seal_state {
	uint32_t round;	  /* in which it was last tried */
	uint8_t failures; /* of sealing itself; the disk's do not count */
	bool found;	  /* it was there when the store was opened */
	bool busy;	  /* a job has it */
	bool unsynced;	  /* it got its name, but the directory could not be synced */
	bool done;	  /* sealed for good: only the journal could not be removed */
};

/* One window or journal in the directory. */
struct cam_store_entry {
	char *name; /* name and host in one allocation */
	enum cam_entry_state state;
	bool journal;
	bool deleted;  /* by retention, since it was listed */
	bool shadowed; /* a journal whose sealed window is there too */
	/* Of the writer's own list. */
	bool changes;	      /* it is being written, or has been replaced: to be read again */
	bool stays;	      /* while the list is refreshed */
	bool used;	      /* a journal that holds more than its header */
	bool written_exactly; /* that number is known */
	uint64_t written;     /* a journal's samples, whether they are still readable or not */
	struct cam_seal_state seal;
	uint64_t bytes;
	uint64_t position;	  /* where its boot stands in the order of boots… */
	int64_t boot_realtime_ns; /* …and among those without numbers */
	struct cam_window_info info;
};

/* The directory at one moment. Readable ones first, in order of (boot, start). */
struct cam_store_list {
	struct cam_store_entry *entries;
	size_t n, cap;
	size_t n_readable;
	uint64_t last_sequence;
};

/* For readers: opens every file, but those that are known (NULL: none) and have not changed; learns the others. */
int cam_store_list_read(struct cam_io *io, struct cam_store_known *known,
			struct cam_store_list *list);
/*
 * For the writer: brings the list up to date. Opens only files it has not met, and of journals it
 * looks at the ends only, so that infos of these lack what cam_journal_peek() does not know. On
 * error the list is as it was.
 */
int cam_store_list_refresh(struct cam_io *io, struct cam_store_list *list);
void cam_store_list_free(struct cam_store_list *list);
/* Sets info.pinned and counts the bytes; -EBADMSG as cam_pins_read(), everything is pinned then. */
int cam_store_list_pin(struct cam_io *io, struct cam_store_list *list, uint64_t max_pinned_bytes,
		       uint64_t *pinned_bytes);
/* Whether both are the same window, whatever the form of its file. */
bool cam_store_same_window(const struct cam_window_info *a, const struct cam_window_info *b);
/* Whether a journal without a readable header holds, or once held, any other block. */
int cam_journal_looks_used(struct cam_file *f, bool *used);
/* Opens a window or a journal by the kind of its name. */
int cam_store_open_file(struct cam_io *io, const char *name, struct cam_window **out);
/*
 * The same for a writer, who must not take a disk that does not answer for a file that is bad:
 * *error becomes what any read of the file fails with, as long as the window is open.
 */
int cam_store_open_watched(struct cam_io *io, const char *name, struct cam_window **out,
			   int *error);
/* Puts a watch on an open file; takes it over, also on error. */
int cam_store_watch(struct cam_file **f, int *error);

/* Removes it where it is there. */
int cam_store_remove(struct cam_io *io, const char *name);
/* All n bytes, or -EBADMSG where the file is shorter. */
int cam_store_read_full(struct cam_file *f, void *bytes, size_t n, uint64_t at);
/* Appends a whole file to *out; -E2BIG past max_bytes. */
int cam_store_read_file(struct cam_io *io, const char *name, size_t max_bytes, struct cam_buf *out);
/* What becomes `name` is first written to `temporary`. One that a failure left is removed. */
int cam_store_create_temporary(struct cam_io *io, const char *name, char temporary[CAM_NAME_BYTES],
			       struct cam_file **out);
/* Atomically: written whole under a temporary name, synced, renamed over, the directory synced. */
int cam_store_replace_file(struct cam_io *io, const char *name, const void *bytes, size_t n);

struct cam_pins {
	struct cam_pin *rows;
	size_t n, cap;
};
/* -EBADMSG: damaged, the rows are what could be read; -EPROTONOSUPPORT: a newer perfcam's. */
int cam_pins_read(struct cam_io *io, struct cam_pins *pins);
bool cam_pin_covers(const struct cam_pin *pin, const struct cam_window_info *info);

/* A late event, with strings of its own. */
struct cam_annex_event {
	struct cam_boot_id boot_id;
	uint64_t time_ns, uncertainty_ns;
	enum cam_severity severity;
	struct cam_text source, text;
	uint32_t arrival;
};

struct cam_annex {
	struct cam_annex_event *events; /* in order of boot, time, arrival */
	size_t n, cap;
	uint8_t *bytes;	     /* of the file: the events' strings lie in them */
	uint64_t good_bytes; /* up to the end of the last good block */
	uint64_t file_bytes;
	uint64_t bad_blocks, bad_bytes; /* between good ones */
	uint32_t next_sequence;
	uint32_t seed; /* of the blocks' checksums */
};
/* No file is an empty annex; -EPROTONOSUPPORT. */
int cam_annex_read(struct cam_io *io, struct cam_annex *a);
void cam_annex_free(struct cam_annex *a);
/* The events that fall into a window. */
size_t cam_annex_find(const struct cam_annex *a, const struct cam_window_info *info,
		      const struct cam_annex_event **first);

/* The annex as the writer keeps it. */
struct cam_annex_writer {
	struct cam_file *file;
	uint64_t bytes; /* up to the last acknowledged block */
	uint32_t next_sequence;
	bool ready;   /* it has been read; else that is tried first */
	bool suspect; /* a write or sync failed: the next event goes into a new file */
	bool lazy;    /* what is appended is synced later, all at once */
};
/* Cuts a torn tail. */
int cam_annex_recover(struct cam_io *io, struct cam_annex_writer *w);
void cam_annex_writer_close(struct cam_annex_writer *w);
/* Drops events that no window of the list can show any more, once they are half of a big file. */
int cam_annex_trim(struct cam_io *io, struct cam_annex_writer *w, const struct cam_store_list *list,
		   uint64_t min_bytes);

/* Writes a window into an empty file. */
int cam_seal_write(struct cam_window *in, struct cam_file *f);
/* Opens what was written; the file stays the caller's. */
int cam_seal_open(struct cam_file *f, struct cam_window **out);
/* -EBADMSG if the file is not, wholly, that window. */
int cam_seal_verify(struct cam_file *f, const struct cam_window_info *expected);

struct cam_store_door; /* one door C: store_journal.c */

struct cam_store {
	struct cam_io *io;
	struct cam_file *lock;
	uint64_t sequence;	    /* the last one given to a window */
	struct cam_store_list list; /* as the directory was when it was last looked at */
	bool list_stale;	    /* something in it has changed since */
	uint32_t round;		    /* of sealing: each journal is tried once in it */
	int seal_error;		    /* the first at which no job could be made, not yet said */
	struct cam_store_door *doors;
	const struct cam_syncer *syncer; /* NULL: none */
	struct cam_annex_writer annex;
	struct cam_store_counts counts;
};

int cam_store_sync_dir(struct cam_store *s);
/* s->list as the directory is now. */
int cam_store_refresh(struct cam_store *s);
struct cam_store_entry *cam_store_find(struct cam_store *s, const char *name);
/* Whether a door is writing this journal. */
bool cam_store_is_open(const struct cam_store *s, const char *name);
/* What the doors know better than the list: of journals that are being written. */
void cam_store_doors_note(struct cam_store *s);
void cam_store_doors_free(struct cam_store *s);
