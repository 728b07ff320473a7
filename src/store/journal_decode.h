// SPDX-License-Identifier: Apache-2.0
/*
 * Payloads of data blocks → rows with ids of the reader's own tables. Private to journal_*.c.
 *
 * Nothing in a payload is believed: a right crc says only that it is as it was written. -EBADMSG:
 * the block is malformed, and leaves no ids behind; -E2BIG, -ENOMEM: of the tables, final.
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "model/journal.h"
#include "store/journal_counter.h"
#include "store/journal_format.h"

#include <sys/types.h>

#define CAM_JOURNAL_RUNS 16u

/* Blocks that are missing leave holes: runs of local ids, with where they begin in ids. */
struct cam_journal_runs {
	struct cam_journal_run {
		uint32_t local;
		size_t first;
	} v[CAM_JOURNAL_RUNS];
	unsigned n;
	uint32_t next; /* the next definition's local id */
};

/* Local ids of an epoch → own ids; CAM_NONE where a definition was lost. */
struct cam_journal_map {
	uint32_t *ids;
	size_t n, cap;
	struct cam_journal_runs runs;
	/* As before the last block. */
	size_t saved_n;
	struct cam_journal_runs saved;
};

struct cam_journal_decode {
	struct cam_tables *t;
	struct ZSTD_DCtx_s *zstd; /* borrowed */
	struct cam_buf plain;
	uint64_t epoch; /* 0: none yet */
	struct cam_journal_map maps[CAM_JT_MAX];
	uint16_t *depth;	 /* by own place */
	uint64_t *function_base; /* beside the ids of functions */
	/* By own location, and of the root: what last stood below it, if of this generation. */
	struct cam_journal_successor {
		uint32_t own, generation;
	} * successors, root_successor;
	uint32_t generation; /* of the epoch, and since the last gap */
	size_t depth_cap, function_base_cap, successors_cap;
	/* What stands for definitions that were lost; CAM_NONE until one is needed. */
	uint32_t lost_string, lost_place, lost_task, lost_etype;
};

/* A block while its rows are taken from it, in this order: samples, events, facts. Counters by
 * cam_journal_get_counter(). */
struct cam_journal_view {
	uint64_t epoch, samples_before;
	uint8_t flags;
	uint64_t base[CAM_JT_MAX], n[CAM_JT_MAX];
	uint64_t left[CAM_JN_MAX]; /* rows not yet taken */
	struct cam_rd columns[CAM_JC_MAX];
	uint32_t next[CAM_JT_MAX]; /* the local id that code 0 means next */
	/* Samples. */
	struct cam_rd chain_lengths;
	uint64_t unit, step;
	uint64_t last_time[CAM_JOURNAL_SLOTS];
	struct cam_sample one; /* where a column holds one value for all, and the row before */
	bool begun;
	uint64_t last_anchor, last_event, last_ledger;
	struct cam_journal_counters counters;
	struct cam_rd inlined, lines;
	uint64_t n_inlined, n_lines;
};

/* Of a header block's payload: *host is to be freed. -EBADMSG, -EPROTONOSUPPORT, -ENOMEM. */
int cam_journal_parse_header(const uint8_t *payload, size_t n, struct cam_window_info *info,
			     char **host);

void cam_journal_decode_init(struct cam_journal_decode *d, struct cam_tables *t,
			     struct ZSTD_DCtx_s *zstd);
void cam_journal_decode_free(struct cam_journal_decode *d);

/*
 * Decompresses and takes the definitions. The payload is borrowed as long as the view. after_gap:
 * blocks are missing between the one before and this.
 */
int cam_journal_decode_block(struct cam_journal_decode *d, const struct cam_journal_head *head,
			     const uint8_t *payload, bool after_gap, struct cam_journal_view *v);

/* Decompresses only: rows that refer to nothing (times, anchors, ledger) can be taken then. */
int cam_journal_decode_view(struct cam_journal_decode *d, const struct cam_journal_head *head,
			    const uint8_t *payload, struct cam_journal_view *v);
/* The time of the next sample, instead of all of it. 1: a row; 0: no more. */
int cam_journal_decode_time(struct cam_journal_view *v, uint64_t *time_ns);

/* Forgets the ids of the last block, whose rows turned out malformed. */
void cam_journal_decode_drop(struct cam_journal_decode *d);

/* Up to max rows: their number, 0: no more. *lost counts those whose stack is not known. */
ssize_t cam_journal_decode_samples(struct cam_journal_decode *d, struct cam_journal_view *v,
				   struct cam_sample *rows, size_t max, uint64_t *lost);
/* 1: a row; 0: no more. */
int cam_journal_decode_anchor(struct cam_journal_view *v, struct cam_anchor *a);
int cam_journal_decode_ledger(struct cam_journal_view *v, struct cam_ledger_row *r);
int cam_journal_decode_event(struct cam_journal_decode *d, struct cam_journal_view *v,
			     struct cam_event *e);
int cam_journal_decode_fact(struct cam_journal_decode *d, struct cam_journal_view *v,
			    struct cam_fact *f);
