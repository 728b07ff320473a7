// SPDX-License-Identifier: Apache-2.0
/*
 * Loaded symbol tables, by the identity of the file they were read from, so that the next offsets
 * of a large file cost no second load. The least recently used go first.
 *
 * A file that could not be read is remembered as such: a malformed file is parsed once, not once a
 * second. The key has the change time, so a file that was written to is another file.
 */
#pragma once
#include "symbol/elf.h"

#define CAM_ELF_CACHE_FILES 256u

struct cam_elf_cache;

/* max_bytes: of all tables together; the one in use may exceed it alone. blocks: what short reads go through (borrowed); NULL:
 * nothing. Who owns them forgets them before a descriptor means another file. */
struct cam_elf_cache *cam_elf_cache_new(size_t max_bytes, struct cam_blocks *blocks);
void cam_elf_cache_free(struct cam_elf_cache *c);
size_t cam_elf_cache_memory(const struct cam_elf_cache *c);

/*
 * The table of the file behind fd (borrowed), and how to read it: *b is valid while fd is open, *e
 * until the next call. Errors: those of cam_elf_load(); -EBADMSG also where fd is no regular file.
 */
int cam_elf_cache_get(struct cam_elf_cache *c, int fd, struct cam_bytes *b,
		      const struct cam_elf **e);
/* That one stays until the next pin, whatever else is asked for; NULL: none does. */
void cam_elf_cache_pin(struct cam_elf_cache *c, const struct cam_elf *e);
/* All but what is pinned, for whoever needs the memory more. */
void cam_elf_cache_empty(struct cam_elf_cache *c);
/* The same, read as a file with debug information only: cam_elf_load_debug(). */
int cam_elf_cache_get_debug(struct cam_elf_cache *c, int fd, struct cam_bytes *b,
			    const struct cam_elf **e);
