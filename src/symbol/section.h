// SPDX-License-Identifier: Apache-2.0
/*
 * A section of a foreign file, read by position: as it lies in the file, or inflated (zlib, zstd) into memory.
 *
 * Ownership: a section does not keep the file; the same bytes are handed over with each call. What was inflated
 * is the section's until cam_section_free().
 * Bounds: an inflated section takes its memory from a budget, before anything is allocated.
 */
#pragma once
#include "base/text.h"
#include "symbol/elf_file.h"

#define CAM_SECTION_BLOCK_BYTES 4096u

struct cam_section {
	uint64_t at, bytes; /* of the file; inflated: at is 0 */
	uint8_t *memory;    /* inflated */
	/* The last bytes that were read of the file, since neighbours are often asked for. */
	uint64_t block_at;
	uint32_t block_bytes;
	uint8_t block[CAM_SECTION_BLOCK_BYTES];
};

/* -E2BIG: inflated it exceeds the budget, which is counted down; -EBADMSG: it does not inflate to what it says
 * it has; -ENOTSUP: another compression; -ENOMEM. A part without bytes is a section without bytes. */
int cam_section_open(struct cam_section *s, const struct cam_elf_file *f, const struct cam_bytes *b,
		     const struct cam_elf_part *part, uint64_t *budget);
void cam_section_free(struct cam_section *s);
/* The file may have changed: what was kept of it is not used any more. */
static inline void cam_section_forget(struct cam_section *s)
{
	s->block_bytes = 0;
}

/* Exactly n bytes; -EBADMSG: they are not there. */
int cam_section_read(struct cam_section *s, const struct cam_bytes *b, uint64_t at, void *to,
		     size_t n);
/* As many of n as there are; negative: an error. */
int cam_section_some(struct cam_section *s, const struct cam_bytes *b, uint64_t at, void *to,
		     size_t n);
/* n bytes where they are, if they are in memory; NULL: they are not, or not there. */
const uint8_t *cam_section_borrow(const struct cam_section *s, const struct cam_bytes *b,
				  uint64_t at, size_t n);
/* A text up to its NUL, cut at room_bytes - 1, NUL-terminated. -EBADMSG: it does not end. */
int cam_section_text(struct cam_section *s, const struct cam_bytes *b, uint64_t at, char *room,
		     size_t room_bytes, struct cam_text *out);
