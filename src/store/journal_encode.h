// SPDX-License-Identifier: Apache-2.0
/* Rows with the caller's ids → the payload of a data block. Private to journal_*.c. */
#pragma once
#include "base/buf.h"
#include "model/journal.h"
#include "store/journal_format.h"

/* Which rows of a table the epoch has defined, and how it numbers them. */
struct cam_journal_marks {
	uint32_t *mark;
	size_t cap;
	uint32_t base, next;
	uint32_t block_next; /* next, before this block */
	/* The rows this block defines, in order. */
	uint32_t *rows;
	size_t n, rows_cap;
};

struct cam_journal_encode {
	struct cam_journal_marks tables[CAM_JT_MAX];
	uint64_t *function_base;
	uint32_t *successor; /* by location: the mark of the one that last stood below it */
	size_t function_base_cap, successor_cap;
	uint32_t root_successor;

	/* Of the block at hand. */
	struct cam_buf columns[CAM_JC_MAX];
	struct cam_buf counters, inlined, lines;
	size_t n_lines;	  /* the same, whose source line is known */
	size_t n_inlined; /* locations of this block at which something is */
	uint8_t flags;
	size_t n_chains;
	uint64_t last_address[CAM_JOURNAL_SLOTS];
	uint8_t last_kind[CAM_JOURNAL_SLOTS];
	int error;
};

/* Where a block stands in its journal. */
struct cam_journal_place {
	uint64_t epoch;
	bool starts_epoch;
	uint64_t samples_before;
};

void cam_journal_encode_init(struct cam_journal_encode *en);
void cam_journal_encode_free(struct cam_journal_encode *en);
/*
 * Appends the payload to `out`. After an error, and where the payload did not get into the file,
 * the next block must start an epoch. -E2BIG: larger than a block may be; -EINVAL: an id out of
 * range; -ENOMEM.
 */
int cam_journal_encode_block(struct cam_journal_encode *en, const struct cam_tables *t,
			     const struct cam_block *b, const struct cam_journal_place *at,
			     struct cam_buf *out);
