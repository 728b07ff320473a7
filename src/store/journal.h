// SPDX-License-Identifier: Apache-2.0
/*
 * The journal of an open window: append-only checksummed blocks, readable at any moment.
 * docs/journal-format.md is the specification.
 *
 * Block: length, type, sequence, crc32c, payload (zstd where it pays). The file's header is its
 * first block and is never rewritten; recovery is a scan to the last good block. What a block uses
 * it defines, or its epoch has defined before. An epoch is 10 s of samples, and goes on, to 60 s at
 * most, while it has cost more than 18 bytes a sample. A bad block in the middle costs its samples,
 * and up to the end of its epoch the stacks it was the first to use: those are [damaged].
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"
#include "store/io.h"

struct cam_journal_writer;

/*
 * Writes into an empty file (borrowed). `compress` false for temporary files. All calls get the
 * same tables, which only grow. Each block is one pwrite(): a crash tears at most that one; after an
 * error the same or another block may be offered, and goes to the same place. Syncing is the
 * caller's.
 */
int cam_journal_writer_new(struct cam_file *file, bool compress, struct cam_journal_writer **out);
void cam_journal_writer_free(struct cam_journal_writer *w);
int cam_journal_writer_begin(struct cam_journal_writer *w, const struct cam_tables *t,
			     const struct cam_window_head *head);
int cam_journal_writer_append(struct cam_journal_writer *w, const struct cam_tables *t,
			      const struct cam_block *block);
/* The last block: says that the window ended, where, and that it ended on purpose. */
int cam_journal_writer_end(struct cam_journal_writer *w, uint64_t end_ns);
/* Bytes written so far: where the next block goes. */
uint64_t cam_journal_writer_bytes(const struct cam_journal_writer *w);

/*
 * Opens a journal for reading (takes the file over, also on error): every good block up to now, as
 * a window. A torn or bad tail is not damage (it is what a crash leaves): it is
 * cut, and info.clean_end is false. A bad block with good ones after it is damage, and a row of the
 * ledger (CAM_CAUSE_DAMAGED). -EBADMSG: not even the header is good; -EPROTONOSUPPORT: made by a
 * newer perfcam in a way this one cannot read; -E2BIG: the tables would pass max_table_bytes.
 *
 * Samples come in the order in which they were appended, not sorted by second, CPU and time as
 * those of sealed windows are.
 */
int cam_journal_open(struct cam_file *file, size_t max_table_bytes, struct cam_window **out);
/* Of a window that cam_journal_open() gave: bytes behind the last good block. */
uint64_t cam_journal_torn_bytes(const struct cam_window *w);

/* What a journal says of itself at first glance. */
struct cam_journal_peek {
	struct cam_window_info info; /* as far as that is known without its samples: no cpus, lost,
				      * events; start and end from the first and last blocks */
	char *host;		     /* info.host; to be freed */
	uint64_t samples;	     /* that were written, still readable or not */
	bool exact;		     /* that number is known; else it is a guess */
	bool used;		     /* it holds any block but the header */
};
/* Errors as of cam_journal_open(), the file stays the caller's. Takes little time and memory. */
int cam_journal_peek(struct cam_file *file, struct cam_journal_peek *out);
