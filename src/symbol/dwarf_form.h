// SPDX-License-Identifier: Apache-2.0
/*
 * DWARF's smallest parts: abbreviations, and values of attributes by their form. Versions 2 to 5.
 *
 * Knows bytes only. Everything is untrusted; errors stick in the reader (base/buf.h).
 */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

/* What of a unit's header decides how its entries are read. */
struct cam_dwarf_shape {
	uint64_t at; /* of the unit in .debug_info: references within it count from there */
	uint16_t version;
	uint8_t address_bytes; /* 4 or 8 */
	uint8_t offset_bytes;  /* 4 or 8 */
};

enum cam_dwarf_kind {
	CAM_DWARF_NOTHING, /* of no interest here: blocks */
	CAM_DWARF_NUMBER,  /* also flags and offsets of sections */
	CAM_DWARF_ADDRESS,
	CAM_DWARF_ADDRESS_INDEX,
	CAM_DWARF_REFERENCE,   /* an offset in .debug_info */
	CAM_DWARF_TEXT_HERE,   /* offset from the reader's first byte */
	CAM_DWARF_TEXT,	       /* in .debug_str */
	CAM_DWARF_LINE_TEXT,   /* in .debug_line_str */
	CAM_DWARF_TEXT_INDEX,  /* by .debug_str_offsets */
	CAM_DWARF_RANGE_INDEX, /* by .debug_rnglists */
	CAM_DWARF_OUTER,       /* an offset in .debug_info of the supplement (dwz -m) */
	CAM_DWARF_OUTER_TEXT,  /* in .debug_str of the supplement */
};

struct cam_dwarf_value {
	enum cam_dwarf_kind kind;
	uint64_t v;
};

struct cam_dwarf_attribute {
	uint16_t name, form;
	int64_t constant; /* DW_FORM_implicit_const */
};

struct cam_dwarf_abbrev {
	uint64_t code;
	uint32_t first, n; /* of its attributes */
	uint32_t
		skip_bytes; /* of an entry, where all its forms are of fixed size; else UINT32_MAX */
	uint16_t tag;
	bool has_children;
};

#define CAM_DWARF_MAX_ABBREVS	 (1u << 16)
#define CAM_DWARF_MAX_ATTRIBUTES (1u << 19)
#define CAM_DWARF_MAX_PER_ENTRY	 256u /* usual are 10 */

struct cam_dwarf_abbrevs {
	struct cam_dwarf_abbrev *rows; /* codes ascend */
	struct cam_dwarf_attribute *attributes;
	size_t n, cap, n_attributes, cap_attributes;
};

/* -EBADMSG: malformed, or codes that do not ascend (compilers number from 1); -E2BIG, -ENOMEM. `only`: the
 * row of that code alone, unless 0. On an error free what there is. */
int cam_dwarf_abbrevs_read(struct cam_dwarf_abbrevs *a, struct cam_rd *r,
			   const struct cam_dwarf_shape *shape, uint64_t only);
void cam_dwarf_abbrevs_free(struct cam_dwarf_abbrevs *a);
const struct cam_dwarf_abbrev *cam_dwarf_abbrevs_find(const struct cam_dwarf_abbrevs *a,
						      uint64_t code);

/* Reads one value. A form that is not known is an error: nobody knows its size. base: the reader's first byte. */
struct cam_dwarf_value cam_dwarf_value_read(struct cam_rd *r, const struct cam_dwarf_shape *shape,
					    const struct cam_dwarf_attribute *a,
					    const uint8_t *base);
/* An unsigned number of 1 to 8 bytes. */
uint64_t cam_dwarf_number(struct cam_rd *r, unsigned bytes);
int64_t cam_dwarf_signed(struct cam_rd *r); /* SLEB128 */
