// SPDX-License-Identifier: Apache-2.0
/*
 * perf maps: what a compiler at run time writes to /tmp/perf-PID.map, a line a function:
 *	START SIZE NAME		both hexadecimal, with or without 0x; the name may hold spaces
 * It grows while it is read, and each call reads on from where the last one stopped. Lines that make no
 * sense are passed over and counted. A map that was written anew (it is shorter, or other bytes stand
 * where the last reading ended) is read anew.
 */
#pragma once
#include "symbol/bytes.h"
#include "symbol/jitcode.h"

#define CAM_PERFMAP_MARK_BYTES 64u

struct cam_perfmap {
	struct cam_jitcode *code;
	uint64_t at; /* what is before was read */
	uint64_t bad_lines;
	bool in_long_line; /* …which began before `at` */
	uint8_t head[CAM_PERFMAP_MARK_BYTES], tail[CAM_PERFMAP_MARK_BYTES]; /* up to `at` */
};

int cam_perfmap_open(struct cam_perfmap *m);
void cam_perfmap_close(struct cam_perfmap *m);
/*
 * Reads on, at most about max_bytes; *behind: there is more to read. A last line that does not end yet
 * waits. -ENOMEM, or what reading said; what was read before stays.
 */
int cam_perfmap_read(struct cam_perfmap *m, const struct cam_bytes *b, uint64_t max_bytes,
		     bool *behind);
