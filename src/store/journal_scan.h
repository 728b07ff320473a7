// SPDX-License-Identifier: Apache-2.0
/* Walks over the good blocks of a journal file, around the bad ones. Private to journal_*.c. */
#pragma once
#include "base/buf.h"
#include "store/io.h"
#include "store/journal_format.h"

struct cam_journal_scan {
	struct cam_file *file; /* borrowed */
	uint64_t size;	       /* of the file when the scan began */
	uint64_t good_end;     /* end of the last good block */
	uint32_t sequence;     /* of the last good block */
	uint32_t seed;	       /* of every block's crc but the first's */
	uint64_t budget;       /* bytes that candidates for a block may still cost */
	uint64_t looked;       /* bytes of payload that the last look at a block read */
	struct cam_buf block;  /* the last good block, head and payload as in the file */
	/* For the search: a piece of the file. */
	uint8_t *window;
	uint64_t window_at;
	size_t window_bytes;
};

/* A good block. */
struct cam_journal_span {
	uint64_t at;
	uint64_t skipped; /* bytes between the good block before and this */
	uint32_t missing; /* blocks between, by sequence */
	struct cam_journal_head head;
	const uint8_t *payload; /* in scan->block; valid until the next call */
};

/*
 * Reads the first block (in scan->block). -EBADMSG: it is not a good header block; or the errno
 * with which it could not be read. On error nothing is left to close.
 */
int cam_journal_scan_open(struct cam_journal_scan *s, struct cam_file *file);
void cam_journal_scan_close(struct cam_journal_scan *s);
/* 1: the next good block; 0: none follows; -ENOMEM. Parts that cannot be read are bad. */
int cam_journal_scan_next(struct cam_journal_scan *s, struct cam_journal_span *out);
/* Reads again the block at `at` that was found good: 1; 0: it is not, now. */
int cam_journal_scan_read(struct cam_journal_scan *s, uint64_t at, struct cam_journal_head *head,
			  const uint8_t **payload);
