// SPDX-License-Identifier: Apache-2.0
/* Counters ⇄ the bytes of a block's extension. Private to journal_*.c. */
#pragma once
#include "base/buf.h"
#include "model/journal.h"

/* Appends the rows, in any order. -EINVAL: an unknown kind; -ENOMEM. */
int cam_journal_put_counters(const struct cam_counter *rows, size_t n, struct cam_buf *out);

/* While rows are taken. */
struct cam_journal_counters {
	struct cam_rd bytes;
	uint64_t rows; /* that are left */
	uint64_t run;  /* of these, of the run at hand */
	uint64_t kind, time_ns, span_ns, unit, subject;
};
/* 1: a row; 0: no more; -EBADMSG. Rows of unknown kinds are passed over. */
int cam_journal_get_counter(struct cam_journal_counters *c, struct cam_counter *out);
