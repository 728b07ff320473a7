// SPDX-License-Identifier: Apache-2.0
/* How far long work is, on stderr, where that is a terminal and the work takes more than a second. */
#pragma once
#include "query/progress.h"

#include <stdbool.h>

struct cam_progress_bar {
	struct cam_progress progress; /* to be handed on */
	int64_t started_ns, shown_ns;
	bool terminal, shown;
};

/* It must stay where it is. */
void cam_progress_bar_init(struct cam_progress_bar *b);
/* Wipes what was shown. */
void cam_progress_bar_end(struct cam_progress_bar *b);
