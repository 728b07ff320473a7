// SPDX-License-Identifier: Apache-2.0
/*
 * Units of .debug_info, their entries, and the addresses that entries cover.
 *
 * Everything is untrusted. What is read is paid for from s->work, so that entries which point at each other's long
 * lists cannot keep anyone busy.
 */
#pragma once
#include "symbol/dwarf_form.h"
#include "symbol/section.h"

/* A file's DWARF, as long as the file is at hand. */
struct cam_dwarf_source {
	struct cam_section sections[CAM_ELF_DWARF_PARTS];
	const struct cam_bytes *b;
	uint64_t work; /* bytes that may still be looked at; at 0 everything is -EBUSY */
	struct cam_dwarf_source *supplement; /* NULL: there is none, or it was not given */
};

#define CAM_DWARF_NOWHERE UINT64_MAX

enum {
	CAM_DWARF_TAG_COMPILE_UNIT = 0x11,
	CAM_DWARF_TAG_INLINED = 0x1d,
	CAM_DWARF_TAG_SUBPROGRAM = 0x2e,
	CAM_DWARF_TAG_PARTIAL_UNIT = 0x3c,
	CAM_DWARF_TAG_SKELETON_UNIT = 0x4a,
};

struct cam_dwarf_unit {
	struct cam_dwarf_shape shape;
	uint64_t end, entries, abbrev_at;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t low;			  /* what ranges count from */
	uint64_t line_at;		  /* CAM_DWARF_NOWHERE */
	struct cam_dwarf_value directory; /* TEXT_HERE: an offset in .debug_info */
	bool is_split;			  /* its entries are in a .dwo file */
};

/* What an entry says, of what is of interest here. */
struct cam_dwarf_entry {
	uint16_t tag; /* 0: the end of a list of children */
	bool has_children;
	struct cam_dwarf_value name, linkage, origin, specification;
	struct cam_dwarf_value low, high, ranges;
	struct cam_dwarf_value call_file, call_line;
	struct cam_dwarf_value lines, directory, str_offsets, addr, rnglists, dwo;
};

/* Reads the entry at the reader; `base` is the reader's first byte. Answers how many attributes it went through.
 * r->error: malformed. */
uint32_t cam_dwarf_entry_read(struct cam_rd *r, const uint8_t *base,
			      const struct cam_dwarf_shape *shape,
			      const struct cam_dwarf_abbrevs *abbrevs, struct cam_dwarf_entry *out);

/*
 * The header at u->shape.at and its first entry. u->end is right whenever it is not 0, so that the next unit can be
 * tried. 0; -ENOTSUP: of a kind without code, or of another version; -EBADMSG; or what reading met.
 */
int cam_dwarf_unit_read(struct cam_dwarf_source *s, struct cam_dwarf_unit *u,
			struct cam_dwarf_entry *root);
int cam_dwarf_unit_abbrevs(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			   uint64_t only, struct cam_dwarf_abbrevs *out);

/* An address, itself or by its index; false: neither. */
bool cam_dwarf_unit_address(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			    struct cam_dwarf_value v, uint64_t *address);

typedef int cam_dwarf_range_fn(void *arg, uint64_t low, uint64_t high);
/* Each [low, high) that the entry covers; what was linked away (low 0) is left out. fn's error ends it. */
int cam_dwarf_unit_ranges(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			  const struct cam_dwarf_entry *e, cam_dwarf_range_fn *fn, void *arg);
/* 1 and the text, NUL-terminated in `room`; 0: it is none, or in a supplement that is not there. */
int cam_dwarf_unit_text(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			struct cam_dwarf_value v, char *room, size_t room_bytes,
			struct cam_text *out);
/* False: the work is used up. */
static inline bool cam_dwarf_pay(struct cam_dwarf_source *s, uint64_t bytes)
{
	s->work -= bytes < s->work ? bytes : s->work;
	return s->work != 0;
}
