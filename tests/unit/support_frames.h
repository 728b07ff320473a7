// SPDX-License-Identifier: Apache-2.0
/* A file's unwind table as a whole, for tests: what the symboliser hands on in pieces. Failures fail the test. */
#pragma once
#include "model/unwind_table.h"
#include "symbol/ehframe.h"

struct frames {
	struct cam_unwind_rule *rules;
	struct cam_unwind_row *rows;
	size_t n_rules, n_rows, rules_cap, rows_cap;
	unsigned int pieces;
	bool ended;
};

/* Checks what every table promises. Errors are those of cam_ehframe_read(). */
int frames_of_bytes(const struct cam_bytes *b, struct frames *f);
void frames_of_path(const char *path, struct frames *f);
void frames_free(struct frames *f);
/* The index of the row that holds the offset; -1: it is before all rows. */
long frames_row(const struct frames *f, uint64_t offset);
/* NULL: has none. */
const struct cam_unwind_rule *frames_rule(const struct frames *f, uint64_t offset);
/* "rsp+16 rbp@cfa-16", "none", …; valid until the next call. */
const char *frames_text(const struct cam_unwind_rule *r);
