// SPDX-License-Identifier: Apache-2.0
/* Tests of the ledger: a book that takes its rows, and records to feed it with. */
#pragma once
#include "ingest/ledger.h"

#define S	     CAM_NS_PER_SEC
#define MS	     CAM_NS_PER_MS
#define HZ	     97u
#define BOOK_CPUS    4u
#define BOOK_SECONDS 200u

/* Rows, spread over seconds as docs/window-format.md says that cells do. */
struct book {
	uint64_t cell[BOOK_CPUS][BOOK_SECONDS][CAM_CAUSE_MAX];
	uint64_t busy[BOOK_CPUS][BOOK_SECONDS]; /* the test's own count */
	uint64_t sum[CAM_CAUSE_MAX];
	uint64_t rows;
	struct cam_ledger_row last[CAM_CAUSE_MAX];
	uint64_t cut_ns; /* no row may cross it */
	int answer;	 /* of each row */
};

struct book *book_new(void);
/* What takes the rows: a cam_ledger_fn. */
int book_row(void *book, const struct cam_ledger_row *r);
struct cam_ledger *book_ledger(struct book *b, bool due_known, bool bpf);
/* busy and all causes of one second. */
uint64_t book_cell(const struct book *b, uint32_t cpu, uint64_t second);

uint64_t feed_random(uint64_t *state, uint64_t below);
void feed_counts(struct cam_ledger *l, uint32_t cpu, uint64_t t, struct cam_raw_counts k);
void feed_counter(struct cam_ledger *l, uint32_t cpu, uint64_t t, uint64_t span,
		  enum cam_counter_kind kind, uint64_t value);
/* CPU, THROTTLE, UNTHROTTLE. */
void feed_state(struct cam_ledger *l, uint32_t cpu, uint64_t t, enum cam_raw_type type,
		bool online);
void feed_lost(struct cam_ledger *l, uint32_t cpu, uint64_t from, uint64_t t, uint64_t n);
