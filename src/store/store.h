// SPDX-License-Identifier: Apache-2.0
/*
 * The store: a directory of sealed windows (*.pcw), the journal of the open one and journals that
 * wait for sealing (*.pcj), the annex of late events (events.pcj), pins, a lock.
 *
 * One writer (the lock), any number of readers, no coordination between them: a reader opens
 * what it finds, a deleted window lives on for whoever holds it open. Sealed files never change.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"
#include "store/io.h"

struct cam_store;

struct cam_retention {
	uint64_t keep_ns;	 /* age, by recorded time; 0: no limit */
	uint64_t max_bytes;	 /* 0: no limit */
	uint64_t min_free_bytes; /* of the file system */
	uint64_t max_pinned_bytes;
};

/* For reading. Takes a snapshot of the list. */
int cam_store_open_read(struct cam_io *io, struct cam_source **out);

/*
 * For writing: takes the lock (-EWOULDBLOCK: *holder has it), removes temporary files, seals what
 * a crash left unsealed (recovery is sealing).
 */
int cam_store_open_write(struct cam_io *io, struct cam_store **out, int *holder);
void cam_store_close(struct cam_store *s);

/*
 * Door C into this store: begin() opens a journal file, append() writes blocks and syncs the file
 * at most sync_ns of samples apart (0: only at the end), end() closes it; unsealed journals are
 * sealed by cam_store_seal_pending(). After a failed sync the file is abandoned and its content
 * rewritten into a new one.
 */
struct cam_journal *cam_store_journal(struct cam_store *s, uint64_t sync_ns);
int cam_store_seal_pending(struct cam_store *s, unsigned *sealed);
/* Deletes at most what the limits need, oldest first; never pinned ones, nor the newest 10 min. */
int cam_store_retain(struct cam_store *s, const struct cam_retention *r, unsigned *deleted);

/* A pin keeps what lies in it: wall-clock nanoseconds, may lie in the future. */
struct cam_pin {
	int64_t from_ns, to_ns;
	char note[64];
};
typedef int cam_pin_fn(void *arg, const struct cam_pin *p);
int cam_store_pin(struct cam_store *s, const struct cam_pin *p);
int cam_store_unpin(struct cam_store *s, int64_t from_ns, int64_t to_ns);
int cam_store_pins(struct cam_io *io, cam_pin_fn *fn, void *arg);
/* A late event: to the annex, merged by readers into the windows it falls into. */
int cam_store_add_event(struct cam_store *s, const struct cam_boot_id *boot, uint64_t time_ns,
			uint64_t uncertainty_ns, enum cam_severity severity, struct cam_text source,
			struct cam_text text);

/* What `perfcam verify` reports, one call per file. */
struct cam_verify_report {
	const char *name;
	const char *kind;    /* "window", "journal", "annex", "pins", "temporary", "foreign" */
	const char *verdict; /* "ok", "torn tail", "damaged", "unreadable", "newer" */
	uint64_t bytes, samples;
	uint64_t damaged_chunks, damaged_bytes, damaged_samples;
	uint64_t torn_bytes;
	uint64_t from_ns, to_ns; /* of what is damaged; 0, 0: none */
};
typedef int cam_verify_fn(void *arg, const struct cam_verify_report *r);
int cam_store_verify(struct cam_io *io, cam_verify_fn *fn, void *arg);
