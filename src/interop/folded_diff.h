// SPDX-License-Identifier: Apache-2.0
/*
 * Two texts of folded stacks → one with two columns, as difffolded.pl prints them: "stack BEFORE AFTER", each
 * stack of either once, 0 where it was not. Sorted by bytes (that script prints them in any order).
 */
#pragma once
#include "base/out.h"
#include "base/text.h"

#include <stdbool.h>

struct cam_folded_diff_options {
	bool normalise; /* -n: before scaled to after's total, rounded down */
	bool strip_hex; /* -s: 0x7f12 becomes 0x..., so that addresses do not tell stacks apart */
};

/* Lines that are no folded stack are left out. The stream's error, -ENOMEM. */
int cam_folded_diff_write(struct cam_text before, struct cam_text after,
			  const struct cam_folded_diff_options *o, struct cam_out *out);
