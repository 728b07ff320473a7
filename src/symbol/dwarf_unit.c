// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_unit.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_RANGES  (1u << 16) /* of one entry */
#define ENTRY_BYTES 1024u      /* of a unit's first entry, with its header */

enum attribute {
	AT_NAME = 0x03,
	AT_STMT_LIST = 0x10,
	AT_LOW_PC = 0x11,
	AT_HIGH_PC = 0x12,
	AT_COMP_DIR = 0x1b,
	AT_ABSTRACT_ORIGIN = 0x31,
	AT_SPECIFICATION = 0x47,
	AT_RANGES = 0x55,
	AT_CALL_FILE = 0x58,
	AT_CALL_LINE = 0x59,
	AT_LINKAGE_NAME = 0x6e,
	AT_STR_OFFSETS_BASE = 0x72,
	AT_ADDR_BASE = 0x73,
	AT_RNGLISTS_BASE = 0x74,
	AT_DWO_NAME = 0x76,
	AT_MIPS_LINKAGE_NAME = 0x2007,
	AT_GNU_DWO_NAME = 0x2130,
	AT_GNU_ADDR_BASE = 0x2133,
};

enum { UNIT_COMPILE = 1, UNIT_PARTIAL = 3, UNIT_SKELETON = 4 };

enum range_entry {
	RANGE_END,
	RANGE_BASE_INDEX,
	RANGE_INDEX_INDEX,
	RANGE_INDEX_LENGTH,
	RANGE_OFFSETS,
	RANGE_BASE,
	RANGE_START_END,
	RANGE_START_LENGTH,
};

static struct cam_dwarf_value *place_of(struct cam_dwarf_entry *e, uint16_t name)
{
	switch (name) {
	case AT_NAME:
		return &e->name;
	case AT_STMT_LIST:
		return &e->lines;
	case AT_LOW_PC:
		return &e->low;
	case AT_HIGH_PC:
		return &e->high;
	case AT_COMP_DIR:
		return &e->directory;
	case AT_ABSTRACT_ORIGIN:
		return &e->origin;
	case AT_SPECIFICATION:
		return &e->specification;
	case AT_RANGES:
		return &e->ranges;
	case AT_CALL_FILE:
		return &e->call_file;
	case AT_CALL_LINE:
		return &e->call_line;
	case AT_LINKAGE_NAME:
	case AT_MIPS_LINKAGE_NAME:
		return &e->linkage;
	case AT_STR_OFFSETS_BASE:
		return &e->str_offsets;
	case AT_ADDR_BASE:
	case AT_GNU_ADDR_BASE:
		return &e->addr;
	case AT_RNGLISTS_BASE:
		return &e->rnglists;
	case AT_DWO_NAME:
	case AT_GNU_DWO_NAME:
		return &e->dwo;
	default:
		return NULL;
	}
}

static bool is_of_interest(uint16_t tag)
{
	return tag == CAM_DWARF_TAG_SUBPROGRAM || tag == CAM_DWARF_TAG_INLINED ||
	       tag == CAM_DWARF_TAG_COMPILE_UNIT || tag == CAM_DWARF_TAG_PARTIAL_UNIT ||
	       tag == CAM_DWARF_TAG_SKELETON_UNIT;
}

uint32_t cam_dwarf_entry_read(struct cam_rd *r, const uint8_t *base,
			      const struct cam_dwarf_shape *shape,
			      const struct cam_dwarf_abbrevs *abbrevs, struct cam_dwarf_entry *out)
{
	out->tag = 0;
	out->has_children = false;
	uint64_t code = cam_rd_varint(r);
	if (!code || cam_rd_error(r))
		return 0;
	const struct cam_dwarf_abbrev *a = cam_dwarf_abbrevs_find(abbrevs, code);
	if (!a) {
		r->error = -EBADMSG;
		return 0;
	}
	bool wanted = is_of_interest(a->tag);
	if (!wanted && a->skip_bytes != UINT32_MAX) {
		cam_rd_bytes(r, a->skip_bytes);
	} else {
		if (wanted)
			*out = (struct cam_dwarf_entry){0};
		for (uint32_t i = 0; i < a->n && !cam_rd_error(r); i++) {
			const struct cam_dwarf_attribute *at = &abbrevs->attributes[a->first + i];
			struct cam_dwarf_value v = cam_dwarf_value_read(r, shape, at, base);
			struct cam_dwarf_value *to = wanted ? place_of(out, at->name) : NULL;
			if (to)
				*to = v;
		}
	}
	out->tag = a->tag;
	out->has_children = a->has_children;
	return a->n;
}

/* Up to its first entry. */
static int read_header(struct cam_dwarf_source *s, struct cam_dwarf_unit *u, struct cam_rd *r)
{
	const uint8_t *start = r->p;
	uint64_t at = u->shape.at, length = cam_rd_u32(r);
	bool is_64 = length == UINT32_MAX;
	if (is_64)
		length = cam_rd_u64(r);
	uint64_t body = at + (uint64_t)(r->p - start);
	if (cam_rd_error(r) || length > s->sections[CAM_ELF_DEBUG_INFO].bytes - body)
		return -EBADMSG;
	u->end = body + length;
	u->shape.offset_bytes = is_64 ? 8 : 4;
	u->shape.version = cam_rd_u16(r);
	if (u->shape.version < 2 || u->shape.version > 5)
		return -ENOTSUP;
	uint8_t type = UNIT_COMPILE;
	if (u->shape.version == 5) {
		type = cam_rd_u8(r);
		u->shape.address_bytes = cam_rd_u8(r);
		u->abbrev_at = cam_dwarf_number(r, u->shape.offset_bytes);
	} else {
		u->abbrev_at = cam_dwarf_number(r, u->shape.offset_bytes);
		u->shape.address_bytes = cam_rd_u8(r);
	}
	if (type == UNIT_SKELETON)
		cam_rd_u64(r);
	u->entries = at + (uint64_t)(r->p - start);
	if (cam_rd_error(r) || u->entries > u->end)
		return -EBADMSG;
	if (u->shape.address_bytes != 4 && u->shape.address_bytes != 8)
		return -ENOTSUP;
	return type == UNIT_COMPILE || type == UNIT_PARTIAL || type == UNIT_SKELETON ? 0 : -ENOTSUP;
}

int cam_dwarf_unit_abbrevs(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			   uint64_t only, struct cam_dwarf_abbrevs *out)
{
	/* A table does not say how long it is: a piece, and more where that was not enough. */
	struct cam_section *section = &s->sections[CAM_ELF_DEBUG_ABBREV];
	int error = -EBADMSG;
	for (size_t room = only ? 1024 : 16384; room <= 4u << 20 && error == -EBADMSG; room *= 16) {
		uint8_t *copy = malloc(room);
		int n = copy ? cam_section_some(section, s->b, u->abbrev_at, copy, room) : -ENOMEM;
		if (n < 0 || !cam_dwarf_pay(s, (uint64_t)n)) {
			free(copy);
			return n < 0 ? n : -EBUSY;
		}
		struct cam_rd r = cam_rd_make(copy, (size_t)n);
		cam_dwarf_abbrevs_free(out);
		error = cam_dwarf_abbrevs_read(out, &r, &u->shape, only);
		free(copy);
		if ((size_t)n < room)
			break;
	}
	if (error)
		cam_dwarf_abbrevs_free(out);
	return error;
}

static uint64_t number_or(struct cam_dwarf_value v, uint64_t other)
{
	return v.kind == CAM_DWARF_NUMBER ? v.v : other;
}

int cam_dwarf_unit_read(struct cam_dwarf_source *s, struct cam_dwarf_unit *u,
			struct cam_dwarf_entry *root)
{
	uint8_t bytes[ENTRY_BYTES];
	uint64_t at = u->shape.at;
	u->end = 0;
	int n = cam_section_some(&s->sections[CAM_ELF_DEBUG_INFO], s->b, at, bytes, sizeof(bytes));
	if (n < 0)
		return n;
	struct cam_rd r = cam_rd_make(bytes, (size_t)n);
	int error = read_header(s, u, &r);
	if (error)
		return error;
	if (!cam_dwarf_pay(s, 64))
		return -EBUSY;
	struct cam_rd peek = r;
	uint64_t code = cam_rd_varint(&peek);
	struct cam_dwarf_abbrevs abbrevs = {0};
	*root = (struct cam_dwarf_entry){0};
	if (code)
		error = cam_dwarf_unit_abbrevs(s, u, code, &abbrevs);
	if (!error && code)
		cam_dwarf_entry_read(&r, bytes, &u->shape, &abbrevs, root);
	cam_dwarf_abbrevs_free(&abbrevs);
	if (error || cam_rd_error(&r))
		return error ? error : -EBADMSG;
	/* Without a base of its own: behind the header of the only contribution. */
	unsigned head = u->shape.offset_bytes == 8 ? 16 : 8;
	u->str_offsets_base = number_or(root->str_offsets, head);
	u->addr_base = number_or(root->addr, u->shape.version >= 5 ? head : 0);
	u->rnglists_base = number_or(root->rnglists, head + 4);
	u->line_at = number_or(root->lines, CAM_DWARF_NOWHERE);
	u->directory = root->directory;
	if (u->directory.kind == CAM_DWARF_TEXT_HERE)
		u->directory.v += at;
	u->is_split = root->dwo.kind != CAM_DWARF_NOTHING;
	u->low = 0;
	if (!cam_dwarf_unit_address(s, u, root->low, &u->low))
		u->low = 0;
	return 0;
}

bool cam_dwarf_unit_address(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			    struct cam_dwarf_value v, uint64_t *address)
{
	uint8_t bytes[8];
	unsigned n = u->shape.address_bytes;
	*address = v.v;
	if (v.kind != CAM_DWARF_ADDRESS_INDEX)
		return v.kind == CAM_DWARF_ADDRESS;
	if (v.v > UINT32_MAX || cam_section_read(&s->sections[CAM_ELF_DEBUG_ADDR], s->b,
						 u->addr_base + v.v * n, bytes, n))
		return false;
	*address = n == 8 ? cam_get64(bytes) : cam_get32(bytes);
	return true;
}

/* A list of ranges that is being read. */
struct listing {
	struct cam_dwarf_source *s;
	const struct cam_dwarf_unit *u;
	struct cam_section *section;
	uint64_t at, base;
	cam_dwarf_range_fn *fn;
	void *arg;
};

static int tell(const struct listing *l, uint64_t low, uint64_t high)
{
	/* Linkers write 0 (or 1, or all ones) where the code was thrown away. */
	return low > 1 && low < high ? l->fn(l->arg, low, high) : 0;
}

/* .debug_ranges: 1: goes on, 0: that was the end. */
static int next_pair(struct listing *l)
{
	uint8_t bytes[16];
	unsigned n = l->u->shape.address_bytes;
	int error = cam_section_read(l->section, l->s->b, l->at, bytes, 2 * (size_t)n);
	if (error)
		return error;
	l->at += 2 * (uint64_t)n;
	uint64_t low = n == 8 ? cam_get64(bytes) : cam_get32(bytes);
	uint64_t high = n == 8 ? cam_get64(bytes + 8) : cam_get32(bytes + 4);
	if (!low && !high)
		return 0;
	if (low == (n == 8 ? UINT64_MAX : UINT32_MAX)) {
		l->base = high;
		return 1;
	}
	error = tell(l, l->base + low, l->base + high);
	return error ? error : 1;
}

static uint64_t indexed(struct listing *l, struct cam_rd *r)
{
	struct cam_dwarf_value v = {CAM_DWARF_ADDRESS_INDEX, cam_rd_varint(r)};
	uint64_t address;
	return cam_dwarf_unit_address(l->s, l->u, v, &address) ? address : 0;
}

/* .debug_rnglists: as above. */
static int next_entry(struct listing *l)
{
	uint8_t bytes[24];
	int got = cam_section_some(l->section, l->s->b, l->at, bytes, sizeof(bytes)), error = 0;
	if (got < 0)
		return got;
	struct cam_rd r = cam_rd_make(bytes, (size_t)got);
	unsigned n = l->u->shape.address_bytes;
	uint64_t low;
	switch (cam_rd_u8(&r)) {
	case RANGE_END:
		return cam_rd_error(&r);
	case RANGE_BASE_INDEX:
		l->base = indexed(l, &r);
		break;
	case RANGE_INDEX_INDEX:
		low = indexed(l, &r);
		error = tell(l, low, indexed(l, &r));
		break;
	case RANGE_INDEX_LENGTH:
		low = indexed(l, &r);
		error = tell(l, low, low + cam_rd_varint(&r));
		break;
	case RANGE_OFFSETS:
		low = cam_rd_varint(&r);
		error = tell(l, l->base + low, l->base + cam_rd_varint(&r));
		break;
	case RANGE_BASE:
		l->base = cam_dwarf_number(&r, n);
		break;
	case RANGE_START_END:
		low = cam_dwarf_number(&r, n);
		error = tell(l, low, cam_dwarf_number(&r, n));
		break;
	case RANGE_START_LENGTH:
		low = cam_dwarf_number(&r, n);
		error = tell(l, low, low + cam_rd_varint(&r));
		break;
	default:
		return -EBADMSG;
	}
	l->at += (uint64_t)(r.p - bytes);
	if (cam_rd_error(&r))
		return cam_rd_error(&r);
	return error ? error : 1;
}

/* Where the list of the entry starts; false: it has none. */
static bool start_list(struct listing *l, struct cam_dwarf_value ranges)
{
	const struct cam_dwarf_unit *u = l->u;
	uint8_t bytes[8];
	bool five = u->shape.version >= 5;
	l->section = &l->s->sections[five ? CAM_ELF_DEBUG_RNGLISTS : CAM_ELF_DEBUG_RANGES];
	l->at = ranges.v;
	if (ranges.kind == CAM_DWARF_NUMBER)
		return true;
	unsigned n = u->shape.offset_bytes;
	if (ranges.kind != CAM_DWARF_RANGE_INDEX || ranges.v > UINT32_MAX ||
	    cam_section_read(l->section, l->s->b, u->rnglists_base + ranges.v * n, bytes, n))
		return false;
	l->at = u->rnglists_base + (n == 8 ? cam_get64(bytes) : cam_get32(bytes));
	return true;
}

int cam_dwarf_unit_ranges(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			  const struct cam_dwarf_entry *e, cam_dwarf_range_fn *fn, void *arg)
{
	struct listing l = {.s = s, .u = u, .base = u->low, .fn = fn, .arg = arg};
	uint64_t low, high;
	if (e->ranges.kind == CAM_DWARF_NOTHING) {
		if (!cam_dwarf_unit_address(s, u, e->low, &low))
			return 0;
		if (e->high.kind == CAM_DWARF_NUMBER)
			high = low + e->high.v;
		else if (!cam_dwarf_unit_address(s, u, e->high, &high))
			return 0;
		return tell(&l, low, high);
	}
	if (!start_list(&l, e->ranges))
		return 0;
	int more = 1;
	for (uint32_t i = 0; more == 1 && i < MAX_RANGES; i++) {
		if (!cam_dwarf_pay(s, 16))
			return -EBUSY;
		more = u->shape.version >= 5 ? next_entry(&l) : next_pair(&l);
	}
	return more < 0 ? more : 0;
}

int cam_dwarf_unit_text(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			struct cam_dwarf_value v, char *room, size_t room_bytes,
			struct cam_text *out)
{
	enum cam_elf_debug from = CAM_ELF_DEBUG_STR;
	uint64_t at = v.v;
	uint8_t bytes[8];
	unsigned n = u->shape.offset_bytes;
	if (!cam_dwarf_pay(s, 64))
		return -EBUSY;
	switch (v.kind) {
	case CAM_DWARF_TEXT:
		break;
	case CAM_DWARF_OUTER_TEXT:
		s = s->supplement;
		if (!s)
			return 0;
		break;
	case CAM_DWARF_LINE_TEXT:
		from = CAM_ELF_DEBUG_LINE_STR;
		break;
	case CAM_DWARF_TEXT_HERE:
		from = CAM_ELF_DEBUG_INFO;
		break;
	case CAM_DWARF_TEXT_INDEX:
		if (at > UINT32_MAX ||
		    cam_section_read(&s->sections[CAM_ELF_DEBUG_STR_OFFSETS], s->b,
				     u->str_offsets_base + at * n, bytes, n))
			return 0;
		at = n == 8 ? cam_get64(bytes) : cam_get32(bytes);
		break;
	default:
		return 0;
	}
	int error = cam_section_text(&s->sections[from], s->b, at, room, room_bytes, out);
	if (error)
		return error == -EBADMSG ? 0 : error;
	return out->n != 0;
}
