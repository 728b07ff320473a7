// SPDX-License-Identifier: Apache-2.0
/*
 * The journal of an open window: append-only checksummed blocks, readable at any moment.
 * docs/journal-format.md is the specification.
 *
 * Block: length, type, sequence, crc32c, payload (zstd where it pays). The file's header is its
 * first block and is never rewritten; recovery is a scan to the last good block. What a block uses
 * it defines, or it was defined in the last 10 s of samples: a bad block in the middle costs at
 * most those seconds.
 */
#pragma once
#include "model/cursor.h"
#include "model/journal.h"
#include "store/io.h"

struct cam_journal_writer;

/* Writes into an empty file (borrowed). `compress` false for temporary files. */
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
 * cut, and info.clean_end is false. A bad block with good ones after it is damage. -EBADMSG: not
 * even the header is good. max_table_bytes bounds the tables.
 */
int cam_journal_open(struct cam_file *file, size_t max_table_bytes, struct cam_window **out);
