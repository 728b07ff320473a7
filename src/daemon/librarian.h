// SPDX-License-Identifier: Apache-2.0
/*
 * A namer (model/namer.h) over this machine's files and a symboliser of its own.
 *
 * It looks for a module, in this order: its recorded path; below the directory given as symfs; in
 * /usr/lib/debug/.build-id; in perf's cache (~/.debug/.build-id, where `perf archive` is unpacked to);
 * in a directory of files by build-id, as debuginfod's client keeps them. Where the file itself is
 * found as well as one with its debug information, names come from both.
 *
 * Files are opened without following what is not a regular file, and parsed only by the symboliser; the
 * build-id that counts is the one the symboliser has read. A file on which the symboliser dies twice is
 * not given to it again.
 */
#pragma once
#include "model/namer.h"

struct cam_librarian_options {
	const char *symfs;	/* NULL: none. A path below it counts as the recorded one does */
	const char *debug_dir;	/* NULL: /usr/lib/debug */
	const char *perf_cache; /* NULL: ~/.debug */
	const char *found_dir;	/* what debuginfod gave, DIR/HEX/debuginfo; NULL: none */
	const char *kallsyms;	/* symbols of the recorded kernel; NULL: perf's cache, else /proc */
};

struct cam_librarian;

/* The texts of `o` are copied. The symboliser is started when it is first needed. */
int cam_librarian_new(const struct cam_librarian_options *o, struct cam_librarian **out);
void cam_librarian_free(struct cam_librarian *l);
struct cam_namer *cam_librarian_namer(struct cam_librarian *l);

/* The build-id of the kernel that runs here, if this symbol lies at that address in it: how many bytes; 0: it
 * does not, or who asks may not know. */
size_t cam_librarian_this_kernel(struct cam_text symbol, uint64_t address,
				 uint8_t id[CAM_ERRAND_MAX_BUILD_ID]);
