// SPDX-License-Identifier: Apache-2.0
/*
 * A unit's line table: address → file and line. Versions 2 to 5.
 *
 * The program is run once, its rows are kept, 16 bytes each; names of files stay in the file and are read when
 * they are asked for. Everything is untrusted; what is read is paid for (dwarf_unit.h).
 */
#pragma once
#include "symbol/dwarf_unit.h"

#define CAM_DWARF_MAX_LINES	 (2u << 20) /* rows of a unit */
#define CAM_DWARF_MAX_FILES	 (1u << 16)
#define CAM_DWARF_MAX_LINE_BYTES (32u << 20) /* of a unit's program */

struct cam_dwarf_lines;

/* -EBADMSG, -E2BIG, -ENOTSUP, -ENOMEM, -EBUSY, or what reading met. */
int cam_dwarf_lines_read(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			 struct cam_dwarf_lines **out);
void cam_dwarf_lines_free(struct cam_dwarf_lines *l);
size_t cam_dwarf_lines_memory(const struct cam_dwarf_lines *l);

/* False: the address is in no sequence, or its line is not known. */
bool cam_dwarf_lines_find(const struct cam_dwarf_lines *l, uint64_t address, uint32_t *file,
			  uint32_t *line);
/* The path of a file by its number, with its directories; empty: there is none. */
struct cam_text cam_dwarf_lines_path(struct cam_dwarf_lines *l, struct cam_dwarf_source *s,
				     const struct cam_dwarf_unit *u, uint64_t file, char *room,
				     size_t room_bytes);
