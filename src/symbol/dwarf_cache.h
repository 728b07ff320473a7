// SPDX-License-Identifier: Apache-2.0
/*
 * Opened DWARF, by the identity of the file it is in, as elf_cache.h has symbol tables.
 *
 * A file without any, or whose DWARF could not be read or is too large, is remembered as such.
 */
#pragma once
#include "symbol/dwarf.h"

#define CAM_DWARF_CACHE_FILES 64u

struct cam_dwarf_cache;

/* max_bytes: of all files together; the one in use may exceed it alone. */
struct cam_dwarf_cache *cam_dwarf_cache_new(size_t max_bytes);
void cam_dwarf_cache_free(struct cam_dwarf_cache *c);
/* All of it, for whoever needs the memory more. */
void cam_dwarf_cache_empty(struct cam_dwarf_cache *c);

/*
 * The DWARF of the file behind b->fd, whose outline is f; valid until the next call, and beside `kept`, another one that
 * was just got (NULL: none), which stays. Errors: those of cam_dwarf_open(); of a file in memory -ENODATA.
 */
int cam_dwarf_cache_get(struct cam_dwarf_cache *c, const struct cam_bytes *b,
			const struct cam_elf_file *f, const struct cam_dwarf *kept, uint64_t *work,
			struct cam_dwarf **out);
