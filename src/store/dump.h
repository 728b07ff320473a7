// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of a window or journal, one by one, with whether each is what its checksum says: for
 * `perfcam verify --dump` and for whoever has a file in a hex editor. Nothing is decoded but what says where
 * the parts are, and memory follows one part.
 */
#pragma once
#include "store/io.h"

struct cam_dump_row {
	uint64_t at, bytes; /* in the file */
	const char *part;   /* "header", "directory", "strings", "data", "unreadable", … */
	uint32_t number;    /* of the parts of its kind */
	bool good;	    /* its checksum is right (zeros: they are zeros) */
	char words[96];	    /* what it holds, as far as its head says */
};
typedef int cam_dump_fn(void *arg, const struct cam_dump_row *row);

/*
 * In order of the file. -EPROTOTYPE: neither window nor journal; -EBADMSG: one, without a readable header
 * or directory; -EPROTONOSUPPORT: of a newer perfcam; what fn answers. The file is taken over.
 */
int cam_dump(struct cam_file *file, cam_dump_fn *fn, void *arg);
