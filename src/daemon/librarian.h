// SPDX-License-Identifier: Apache-2.0
/*
 * A namer (model/namer.h) over this machine's files and a symboliser of its own.
 *
 * It looks for a module, in this order: its recorded path; below the directory given as symfs; in
 * /usr/lib/debug/.build-id; in perf's cache (~/.debug/.build-id, where `perf archive` is unpacked to);
 * in directories of files by build-id, as debuginfod's clients keep them. Where the file itself is
 * found as well as one with its debug information, names come from both. What is then still missing (the code,
 * or all symbols) may be fetched, where the caller has somebody who fetches.
 *
 * Files are opened without following what is not a regular file, and parsed only by the symboliser; the
 * build-id that counts is the one the symboliser has read. A file on which the symboliser dies twice is
 * not given to it again.
 */
#pragma once
#include "model/namer.h"

/* Who fetches files from elsewhere: debuginfod.h. */
struct cam_librarian_fetch {
	void *self;
	/* A descriptor of the file (the caller's), or -ENOENT, … What is in it is not known. */
	int (*fetch)(void *self, struct cam_text build_id, bool executable);
	/* It is the right one: it gets its place in found_dir. */
	int (*keep)(void *self, struct cam_text build_id, bool executable, int fd);
	/* It is not. */
	void (*refuse)(void *self);
};

struct cam_librarian_options {
	const char *symfs;	/* NULL: none. A path below it counts as the recorded one does */
	const char *debug_dir;	/* NULL: /usr/lib/debug */
	const char *perf_cache; /* NULL: ~/.debug */
	const char *found_dir;	/* what debuginfod gave, DIR/HEX/debuginfo; NULL: perfcam's cache */
	const char *client_dir; /* what it gave others; NULL: ~/.cache/debuginfod_client */
	const struct cam_librarian_fetch *fetch; /* NULL: nothing is fetched. Borrowed */
	const char *
		kallsyms; /* symbols of the recorded kernel; NULL: perf's cache, a vmlinux, /proc */
	const char *vmlinux; /* the recorded kernel itself; counts if it has its build-id */
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
