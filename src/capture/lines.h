// SPDX-License-Identifier: Apache-2.0
/*
 * The lines of a file of /proc, read anew from its start, in one fixed buffer.
 *
 * The kernel makes such a file's text once, at the read from its start; reads that go on from there
 * are of the same text. So a file larger than the buffer is still one snapshot. A line that is
 * longer than the buffer is given by its beginning, and the rest of it passed over.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

struct cam_lines {
	char bytes[32 * 1024];
	size_t len, at; /* what is in the buffer, and how much of it was given */
	uint64_t offset;
	int fd;
	int error; /* negative errno of a read; the file ends there */
	bool skip; /* the rest of a long line comes next */
	bool end;
};

void cam_lines_start(struct cam_lines *l, int fd);
/* False: no more. The line is without its newline, borrowed until the next call. */
bool cam_lines_next(struct cam_lines *l, struct cam_text *line);

/* Decimal (or hexadecimal) at the start of s, which is moved behind it and the blanks before it;
 * false: there is none, or it does not fit. */
bool cam_number_take(struct cam_text *s, unsigned base, uint64_t *value);
