// SPDX-License-Identifier: Apache-2.0
/* Tells an unwinder what a process runs, from /proc and .eh_frame, as ingest does in the recorder. */
#pragma once
#include "model/unwinder.h"

#include <sys/types.h>

#define TELL_MAX_FILES 64u

/* Files by the numbers they were told with; begin with {0}. */
struct tell {
	uint32_t n_files;
	uint32_t next_image;
	char path[TELL_MAX_FILES][256];
};

/* The tables of its files that were not told yet, then its mappings; the image's number. */
uint32_t tell_process(struct tell *t, struct cam_unwinder *u, pid_t pid, uint64_t start_ns);
