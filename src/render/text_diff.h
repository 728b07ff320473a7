// SPDX-License-Identifier: Apache-2.0
/* What changed between two selections, as a table and as JSON. */
#pragma once
#include "base/out.h"
#include "query/view_diff.h"

/* Rows in the order given; those beyond it are counted in words. */
struct cam_diff_table {
	const struct cam_diff *diff;
	const uint32_t *rows; /* indices */
	size_t n_rows;
	size_t n_hidden; /* rows of the diff that are not significant, and were left out for that */
	struct cam_text names[2]; /* what A and B are called */
	unsigned columns;	  /* of the terminal; 0: 120 */
};

int cam_text_diff_write(const struct cam_diff_table *t, struct cam_out *out);
int cam_json_diff_write(const struct cam_diff_table *t, struct cam_out *out);
