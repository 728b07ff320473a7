// SPDX-License-Identifier: Apache-2.0
/*
 * jitdump: the binary form of a perf map (jit-PID.dump), of this machine's byte order and version 1.
 * Functions are loaded and moved; lines, unwinding information and the code itself are passed over.
 * Read as it grows; a record that is not whole yet waits.
 */
#pragma once
#include "symbol/bytes.h"
#include "symbol/jitcode.h"

struct cam_jitdump {
	struct cam_jitcode *code;
	uint64_t at;	/* of the next record; 0: the header was not read */
	uint64_t stamp; /* the header's time: of another one, it is another file */
	uint64_t bad_records;
	bool broken; /* a record has no sensible size: what follows cannot be read */
};

int cam_jitdump_open(struct cam_jitdump *d);
void cam_jitdump_close(struct cam_jitdump *d);
/* As cam_perfmap_read(). -EBADMSG: no jitdump, or one of another byte order or version. */
int cam_jitdump_read(struct cam_jitdump *d, const struct cam_bytes *b, uint64_t max_bytes,
		     bool *behind);
