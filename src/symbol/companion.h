// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a debug file is a file's own, and what that file says of it.
 *
 * By build-id, where the file has one: both are equal. Else by .gnu_debuglink, which has the CRC-32 of the debug file: that
 * is read whole for it, once (at most CAM_COMPANION_MAX_BYTES; a larger one is not believed).
 *
 * A debug file may in turn refer to a supplement, which several share (dwz -m): .gnu_debugaltlink has its path and its build-id,
 * .debug_sup (DWARF 5) the same, and the supplement says its id in a .debug_sup of its own.
 */
#pragma once
#include "base/text.h"
#include "symbol/elf_file.h"

#define CAM_COMPANION_MAX_BYTES (512ull << 20)
#define CAM_COMPANION_LINK	256u

struct cam_companion_link {
	struct cam_text name; /* empty: there is none */
	uint32_t crc;
	char room[CAM_COMPANION_LINK];
};

/* What .gnu_debuglink says. */
void cam_companion_link(const struct cam_elf_file *f, const struct cam_bytes *b,
			struct cam_companion_link *out);

struct cam_companion_supplement {
	struct cam_text path, id; /* id is empty: there is none */
	char room[CAM_COMPANION_LINK + CAM_ELF_MAX_BUILD_ID];
};

/* What a file with DWARF says of its supplement. */
void cam_companion_supplement(const struct cam_elf_file *f, const struct cam_bytes *b,
			      struct cam_companion_supplement *out);
/* Whether the file is that one. */
bool cam_companion_is_supplement(const struct cam_companion_supplement *wanted,
				 const struct cam_elf_file *f, const struct cam_bytes *b);

/* Checksums of files that were read, so that one is read once. */
struct cam_companions;
struct cam_companions *cam_companions_new(void);
void cam_companions_free(struct cam_companions *c);
bool cam_companion_is(struct cam_companions *c, const struct cam_elf_file *f,
		      const struct cam_companion_link *link, const struct cam_elf_file *debug,
		      const struct cam_bytes *debug_bytes);
