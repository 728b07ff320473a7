// SPDX-License-Identifier: Apache-2.0
/* What a process runs, from /proc and .eh_frame, told to an unwinder as ingest does in the recorder. */
#pragma once
#include "model/unwinder.h"
#include "symbol/bytes.h"

#include <sys/types.h>

#define TELL_MAX_FILES 64u

/* Files by number; begin with {0}. */
struct tell {
	uint32_t n_files, n_told;
	uint32_t next_image;
	char path[TELL_MAX_FILES][256];
};

/* Its executable mappings; their files get numbers. `maps` has room for CAM_UNWIND_MAX_MAPS. */
size_t tell_maps(struct tell *t, pid_t pid, struct cam_unwind_mapping *maps);
struct cam_bytes tell_open(const char *path);
void tell_close(struct cam_bytes *b);
/* The tables of its files that were not told yet, then its mappings; the image's number. */
uint32_t tell_process(struct tell *t, struct cam_unwinder *u, pid_t pid, uint64_t start_ns);
