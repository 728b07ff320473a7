// SPDX-License-Identifier: Apache-2.0
/* How far long work is, on stderr, where that is a terminal and the work takes more than a second. */
#pragma once
#include "query/progress.h"

#include <stdbool.h>

#define CAM_PROGRESS_NAME 48u

struct cam_progress_bar {
	struct cam_progress progress; /* to be handed on */
	int64_t started_ns, shown_ns;
	bool terminal, shown;
	/* Of a file that is read. */
	const char *file; /* NULL: samples are counted */
	char name[CAM_PROGRESS_NAME];
	uint64_t done, bytes; /* bytes: 0 where they are not known */
};

/* It must stay where it is. */
void cam_progress_bar_init(struct cam_progress_bar *b);
/* The same for reading a file, told by where it is read: the farthest place counts. */
void cam_progress_bar_read(struct cam_progress_bar *b, int fd, const char *path);
void cam_progress_bar_at(struct cam_progress_bar *b, uint64_t at);
/* Wipes what was shown. */
void cam_progress_bar_end(struct cam_progress_bar *b);
