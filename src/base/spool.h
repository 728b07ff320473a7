// SPDX-License-Identifier: Apache-2.0
/*
 * A stream whose bytes are kept until they are wanted: a nameless temporary file, for formats that say at
 * their start how much follows. It ends with the process.
 */
#pragma once
#include "base/out.h"

struct cam_spool {
	struct cam_out out; /* write here */
	uint64_t bytes;	    /* written, after cam_spool_rewind() */
	int fd;
};

/* In $TMPDIR, else /tmp. A negative errno. The struct must not move afterwards. */
int cam_spool_open(struct cam_spool *s);
/* Ends the writing: `bytes` is then known. The first error of it. */
int cam_spool_rewind(struct cam_spool *s);
/* All of it into another stream. */
int cam_spool_copy(struct cam_spool *s, struct cam_out *to);
void cam_spool_close(struct cam_spool *s);
