// SPDX-License-Identifier: Apache-2.0
/*
 * What DWARF says of an address: its function, what is inlined there, and the source lines.
 *
 * Sides: the symboliser (or a test) hands over a file that anyone may have made.
 * Addresses are those of the file's program headers; a debug file has the addresses of the file it was taken from.
 * Own code, not libdw: that loads whole sections (a browser's have 2 GB), calls exit() when memory is short, and
 * follows paths (readlink, open), which a symboliser may not. Here units are found by reading the head of each
 * once, and a unit's entries and lines when an address of it is first asked for.
 * Ownership: struct cam_dwarf is the caller's until cam_dwarf_free(); it does not keep the file open.
 * Bounds: what is kept of loaded units is at most CAM_DWARF_UNIT_CACHE_BYTES (the one in use may exceed it alone),
 * inflated sections take at most CAM_DWARF_INFLATED_BYTES; a unit larger than dwarf_tree.h and dwarf_line.h allow has
 * no chains, or no lines. Each find pays for what it reads, and so does the file: CAM_DWARF_FILE_WORK.
 * What dwz has moved to a file that several share, the supplement, is found there if that one was opened, too, and
 * given by cam_dwarf_lean(). Split units (.dwo) are not read. cam_dwarf_is_elsewhere() tells that something was needed that is
 * in neither; what is inlined and has its name there is "[inlined]".
 */
#pragma once
#include "model/name.h"
#include "symbol/dwarf_unit.h"

#define CAM_DWARF_UNIT_CACHE_BYTES (24u << 20)
#define CAM_DWARF_INFLATED_BYTES   (64u << 20)
#define CAM_DWARF_MAX_UNITS	   (1u << 17)
#define CAM_DWARF_MAX_CODE	   (1u << 20) /* ranges of all units, 16 bytes each */
#define CAM_DWARF_LOADED_UNITS	   64u
/* Where opening, or one unit, takes more than that, it is too large: else each errand would be used up by it again. */
#define CAM_DWARF_ENOUGH_WORK (192u << 20)
/* All finds of one opened file together; from then on all of it is too large. A program of 500 units takes 33 KiB for each of 20,000
 * addresses in no order, most of it for units that others had pushed out. A symboliser lives for 20 s of CPU, that is 8 GB of such work: the
 * next one begins anew. */
#define CAM_DWARF_FILE_WORK (4ull << 30)

struct cam_dwarf;

/* -ENODATA: it has none; -E2BIG: more than the bounds above; -EBADMSG; -ENOMEM; -EBUSY: *work was used up;
 * or what reading met. */
int cam_dwarf_open(const struct cam_elf_file *f, const struct cam_bytes *b, uint64_t *work,
		   struct cam_dwarf **out);
void cam_dwarf_free(struct cam_dwarf *d);
size_t cam_dwarf_memory(const struct cam_dwarf *d);

/* Whether something that the last find wanted lies in a file that is not there. */
bool cam_dwarf_is_elsewhere(const struct cam_dwarf *d);
/* The file may have changed since the last find: what was kept of its bytes is read anew, and it leans on none. */
void cam_dwarf_renew(struct cam_dwarf *d);
/* Its supplement, and how that is read. Both must stay until renew() or free(); that they belong together was checked by the
 * caller (companion.h). */
void cam_dwarf_lean(struct cam_dwarf *d, struct cam_dwarf *supplement, const struct cam_bytes *b);

#define CAM_DWARF_HIT_TEXT (64u << 10)

struct cam_dwarf_hit {
	uint64_t low; /* where the function that has the code starts */
	/* The function with the code, then what is inlined, the outermost first. Only the first may be without a name. */
	struct cam_inlined levels[1 + CAM_NAME_MAX_INLINED];
	uint32_t n_levels;
	size_t text_used;
	char text[CAM_DWARF_HIT_TEXT];
};

/* 1: found; 0: DWARF says nothing of it; -E2BIG: its unit is too large, or all of it was; or why it could not be read. *work counts
 * bytes, as in elf.h. */
int cam_dwarf_find(struct cam_dwarf *d, const struct cam_bytes *b, uint64_t address, uint64_t *work,
		   struct cam_dwarf_hit *hit);
