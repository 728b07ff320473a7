// SPDX-License-Identifier: Apache-2.0
/*
 * Names for code that ran at another time, from files of this machine.
 *
 * Sides: importers that read addresses (interop) and `resymbolise` call; daemon/librarian.h, which can
 * open files and has a symboliser, implements, and tests.
 * Handed over: modules as they were recorded, for numbers; then offsets for names, copies of stacks for
 * frames. Ask about a module once, then for all offsets of it in one call, in any number: an errand
 * carries up to 512, several are under way at a time, and a file is opened and read once.
 * Ownership: arguments are borrowed for the call, what a callback gets until it returns. Numbers of files
 * are the namer's and stay good as long as it does.
 * Thread: one, and it must live as long as the namer (helper/helper.h). Calls wait for their answers; a
 * callback must not call the namer.
 * Refusals: module(): -ENOENT, no file here is that module; -E2BIG, more modules than it keeps. names(),
 * unwind(): -EINVAL, no such number; a callback's non-zero answer ends the call and is returned. What a
 * file's bytes cause is no error of the call: those offsets are answered without a name.
 * Counted on refusal: nothing; the caller knows what has stayed without a name.
 *
 * That module or none: with a build-id only a file that has this build-id counts, wherever it lies; without
 * one only the very file that was recorded (device, inode, change time, size). A path proves nothing.
 */
#pragma once
#include "model/errand.h"

#define CAM_NAMER_MAX_MODULES 65536u

struct cam_namer_module {
	enum cam_module_kind kind;
	struct cam_text path; /* as recorded. JIT: the perf map to read, by this machine's path */
	struct cam_text build_id; /* raw bytes; empty: not known */
	struct cam_text key; /* as struct cam_module has it (ingest/files.h); empty: not known */
	/*
	 * KERNEL: a symbol and where it was ("_stext", from perf.data's record of the kernel's mapping):
	 * by it addresses of another boot are moved to where this machine's symbols say it is. Empty: the
	 * addresses are taken as they are. VDSO: there if it came with the kernel that runs here, and has no build-id.
	 */
	struct cam_text landmark;
	uint64_t landmark_address;
};

/* Which file names a module: for people. */
enum cam_namer_origin {
	CAM_NAMER_ITSELF,     /* the recorded path */
	CAM_NAMER_DEBUG,      /* /usr/lib/debug */
	CAM_NAMER_CACHE,      /* perf's ~/.debug */
	CAM_NAMER_SYMFS,      /* the directory that was given */
	CAM_NAMER_DEBUGINFOD, /* a server, or the cache of what it gave */
	CAM_NAMER_GIVEN,      /* a file that was named for it: kallsyms, a perf map */
	CAM_NAMER_ORIGINS,
};

/* Offsets are of the file; of the kernel and of code made at run time, absolute addresses. Each offset is
 * answered once, in any order: i is its place in the list; without a name its source is CAM_NAME_NONE. */
typedef int cam_namer_name_fn(void *arg, size_t i, const struct cam_name *name);

/* A stack to be walked (x86-64). maps ascend, at most CAM_UNWIND_MAX_MAPS; their files are numbers of
 * module(), or CAM_NONE: memory of no file, or of one that is not here. */
struct cam_namer_stack {
	struct cam_raw_copy copy; /* at most CAM_RAW_MAX_STACK bytes of it are looked at */
	const struct cam_unwind_mapping *maps;
	size_t n_maps;
};
/* Once for each stack, in order. How far it got: end. */
typedef int cam_namer_frames_fn(void *arg, size_t i, const struct cam_unwind_tidings *unwound);

struct cam_namer {
	void *self;
	/* Finds the file; the same module again gives the same number. */
	int (*module)(struct cam_namer *n, const struct cam_namer_module *m, uint32_t *file);
	/* names_only: by the tables of symbols alone. Debug information takes many times as long; it tells lines
	 * and what was inlined. */
	int (*names)(struct cam_namer *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		     bool names_only, cam_namer_name_fn *fn, void *arg);
	/* Many at a time are quicker than one by one; tables of their files are read as they are needed. */
	int (*unwind)(struct cam_namer *n, const struct cam_namer_stack *stacks, size_t n_stacks,
		      cam_namer_frames_fn *fn, void *arg);
	/* Where the names of a file come from; *path is borrowed. */
	enum cam_namer_origin (*origin)(struct cam_namer *n, uint32_t file, struct cam_text *path);
};
