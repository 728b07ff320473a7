// SPDX-License-Identifier: Apache-2.0
/*
 * Names for a perf.data file, as perf looks for them: a directory of the form of perf's build-id cache, with a
 * file of symbols for each module and one for the kernel. `perf --buildid-dir DIR report -i FILE` reads it.
 *
 *	.build-id/70/6572…/elf                 a module: ELF, with a table of symbols and no code
 *	.build-id/70/6572…/vdso                the same for [vdso]
 *	[kernel.kallsyms]/706572…/kallsyms     the kernel, in the form of /proc/kallsyms
 *
 * perf_data_out.c says which symbol lies where; whoever has the file system writes the files. One thread.
 */
#pragma once
#include "base/buf.h"
#include "base/index.h"
#include "model/tables.h"

#define CAM_PERF_NAMES_MAX (1u << 22)

struct cam_perf_symbol {
	uint32_t module; /* of the tables; 0: the kernel */
	uint32_t name;	 /* their string */
	uint64_t start, bytes;
};

#define CAM_PERF_NAMES_ID 20u

/* Zeroed but for the salt is empty. */
struct cam_perf_names {
	uint64_t
		salt; /* another one for every file: its symbols lie elsewhere, and share a directory with others' */
	struct cam_perf_symbol *rows;
	size_t n, cap;
	struct cam_index index;
};

void cam_perf_names_free(struct cam_perf_names *n);
/* One more; of one that is there the larger size counts. -ENOMEM, -E2BIG. */
int cam_perf_names_add(struct cam_perf_names *n, const struct cam_perf_symbol *s);

/* The build-id that a module (0: the kernel) has in file and directory. No program's: nobody else's cache is
 * mistaken for this one. */
struct cam_text cam_perf_names_id(const struct cam_perf_names *n, const struct cam_tables *t,
				  uint32_t module, char room[CAM_PERF_NAMES_ID]);
/* A path as perf takes it for a file: memory without one would have its names from elsewhere. */
struct cam_text cam_perf_names_path(struct cam_text path);

/* A file of the directory; path and bytes are good until it returns. Not 0: ends it, and is the answer. */
typedef int cam_perf_names_fn(void *arg, const char *path, const void *bytes, size_t n);
/* All files; sorts the symbols. -ENOMEM, -E2BIG, or fn's answer. */
int cam_perf_names_write(struct cam_perf_names *n, const struct cam_tables *t,
			 cam_perf_names_fn *fn, void *arg);
