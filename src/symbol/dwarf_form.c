// SPDX-License-Identifier: Apache-2.0
#include "symbol/dwarf_form.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum form {
	FORM_ADDR = 0x01,
	FORM_BLOCK2 = 0x03,
	FORM_BLOCK4 = 0x04,
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_BLOCK1 = 0x0a,
	FORM_DATA1 = 0x0b,
	FORM_FLAG = 0x0c,
	FORM_SDATA = 0x0d,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_REF_ADDR = 0x10,
	FORM_REF1 = 0x11,
	FORM_REF2 = 0x12,
	FORM_REF4 = 0x13,
	FORM_REF8 = 0x14,
	FORM_REF_UDATA = 0x15,
	FORM_INDIRECT = 0x16,
	FORM_SEC_OFFSET = 0x17,
	FORM_EXPRLOC = 0x18,
	FORM_FLAG_PRESENT = 0x19,
	FORM_STRX = 0x1a,
	FORM_ADDRX = 0x1b,
	FORM_REF_SUP4 = 0x1c,
	FORM_STRP_SUP = 0x1d,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f,
	FORM_REF_SIG8 = 0x20,
	FORM_IMPLICIT_CONST = 0x21,
	FORM_LOCLISTX = 0x22,
	FORM_RNGLISTX = 0x23,
	FORM_REF_SUP8 = 0x24,
	FORM_STRX1 = 0x25,
	FORM_STRX2 = 0x26,
	FORM_STRX3 = 0x27,
	FORM_STRX4 = 0x28,
	FORM_ADDRX1 = 0x29,
	FORM_ADDRX2 = 0x2a,
	FORM_ADDRX3 = 0x2b,
	FORM_ADDRX4 = 0x2c,
	FORM_GNU_ADDR_INDEX = 0x1f01,
	FORM_GNU_STR_INDEX = 0x1f02,
	FORM_GNU_REF_ALT = 0x1f20,
	FORM_GNU_STRP_ALT = 0x1f21,
};

/* Sizes that are not a number of bytes. */
enum {
	SIZE_UNKNOWN,
	SIZE_LEB = 20,
	SIZE_SIGNED_LEB,
	SIZE_ADDRESS,
	SIZE_OFFSET,
	SIZE_REF_ADDR, /* version 2: as an address, later as an offset */
	SIZE_TEXT,
	SIZE_BLOCK1,
	SIZE_BLOCK2,
	SIZE_BLOCK4,
	SIZE_BLOCK,
	SIZE_NONE, /* nothing is stored */
};

struct form_rule {
	uint8_t size, kind;
};

static const struct form_rule rules[] = {
	[FORM_ADDR] = {SIZE_ADDRESS, CAM_DWARF_ADDRESS},
	[FORM_BLOCK2] = {SIZE_BLOCK2, CAM_DWARF_NOTHING},
	[FORM_BLOCK4] = {SIZE_BLOCK4, CAM_DWARF_NOTHING},
	[FORM_DATA2] = {2, CAM_DWARF_NUMBER},
	[FORM_DATA4] = {4, CAM_DWARF_NUMBER},
	[FORM_DATA8] = {8, CAM_DWARF_NUMBER},
	[FORM_STRING] = {SIZE_TEXT, CAM_DWARF_TEXT_HERE},
	[FORM_BLOCK] = {SIZE_BLOCK, CAM_DWARF_NOTHING},
	[FORM_BLOCK1] = {SIZE_BLOCK1, CAM_DWARF_NOTHING},
	[FORM_DATA1] = {1, CAM_DWARF_NUMBER},
	[FORM_FLAG] = {1, CAM_DWARF_NUMBER},
	[FORM_SDATA] = {SIZE_SIGNED_LEB, CAM_DWARF_NUMBER},
	[FORM_STRP] = {SIZE_OFFSET, CAM_DWARF_TEXT},
	[FORM_UDATA] = {SIZE_LEB, CAM_DWARF_NUMBER},
	[FORM_REF_ADDR] = {SIZE_REF_ADDR, CAM_DWARF_REFERENCE},
	[FORM_REF1] = {1, CAM_DWARF_REFERENCE},
	[FORM_REF2] = {2, CAM_DWARF_REFERENCE},
	[FORM_REF4] = {4, CAM_DWARF_REFERENCE},
	[FORM_REF8] = {8, CAM_DWARF_REFERENCE},
	[FORM_REF_UDATA] = {SIZE_LEB, CAM_DWARF_REFERENCE},
	[FORM_SEC_OFFSET] = {SIZE_OFFSET, CAM_DWARF_NUMBER},
	[FORM_EXPRLOC] = {SIZE_BLOCK, CAM_DWARF_NOTHING},
	[FORM_FLAG_PRESENT] = {SIZE_NONE, CAM_DWARF_NUMBER},
	[FORM_STRX] = {SIZE_LEB, CAM_DWARF_TEXT_INDEX},
	[FORM_ADDRX] = {SIZE_LEB, CAM_DWARF_ADDRESS_INDEX},
	[FORM_REF_SUP4] = {4, CAM_DWARF_OUTER},
	[FORM_STRP_SUP] = {SIZE_OFFSET, CAM_DWARF_OUTER_TEXT},
	[FORM_DATA16] = {16, CAM_DWARF_NOTHING},
	[FORM_LINE_STRP] = {SIZE_OFFSET, CAM_DWARF_LINE_TEXT},
	[FORM_REF_SIG8] = {8, CAM_DWARF_NOTHING},
	[FORM_IMPLICIT_CONST] = {SIZE_NONE, CAM_DWARF_NUMBER},
	[FORM_LOCLISTX] = {SIZE_LEB, CAM_DWARF_NOTHING},
	[FORM_RNGLISTX] = {SIZE_LEB, CAM_DWARF_RANGE_INDEX},
	[FORM_REF_SUP8] = {8, CAM_DWARF_OUTER},
	[FORM_STRX1] = {1, CAM_DWARF_TEXT_INDEX},
	[FORM_STRX2] = {2, CAM_DWARF_TEXT_INDEX},
	[FORM_STRX3] = {3, CAM_DWARF_TEXT_INDEX},
	[FORM_STRX4] = {4, CAM_DWARF_TEXT_INDEX},
	[FORM_ADDRX1] = {1, CAM_DWARF_ADDRESS_INDEX},
	[FORM_ADDRX2] = {2, CAM_DWARF_ADDRESS_INDEX},
	[FORM_ADDRX3] = {3, CAM_DWARF_ADDRESS_INDEX},
	[FORM_ADDRX4] = {4, CAM_DWARF_ADDRESS_INDEX},
};

static struct form_rule rule_of(uint16_t form)
{
	switch (form) {
	case FORM_GNU_ADDR_INDEX:
		return rules[FORM_ADDRX];
	case FORM_GNU_STR_INDEX:
		return rules[FORM_STRX];
	case FORM_GNU_REF_ALT:
		return (struct form_rule){SIZE_OFFSET, CAM_DWARF_OUTER};
	case FORM_GNU_STRP_ALT:
		return rules[FORM_STRP_SUP];
	default:
		return form < sizeof(rules) / sizeof(rules[0]) ? rules[form]
							       : (struct form_rule){0};
	}
}

/* How many bytes a value of that form takes; UINT32_MAX: it depends on the value. */
static uint32_t fixed_bytes(struct form_rule rule, const struct cam_dwarf_shape *shape)
{
	switch (rule.size) {
	case SIZE_NONE:
		return 0;
	case SIZE_ADDRESS:
		return shape->address_bytes;
	case SIZE_OFFSET:
		return shape->offset_bytes;
	case SIZE_REF_ADDR:
		return shape->version == 2 ? shape->address_bytes : shape->offset_bytes;
	default:
		return rule.size && rule.size < SIZE_LEB ? rule.size : UINT32_MAX;
	}
}

uint64_t cam_dwarf_number(struct cam_rd *r, unsigned bytes)
{
	const uint8_t *p = cam_rd_bytes(r, bytes);
	uint64_t v = 0;
	for (unsigned i = bytes; p && i--;)
		v = v << 8 | p[i];
	return v;
}

int64_t cam_dwarf_signed(struct cam_rd *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = cam_rd_u8(r);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 77 && !cam_rd_error(r));
	if (byte & 0x80)
		r->error = -EBADMSG;
	if (shift < 64 && byte & 0x40)
		v |= ~UINT64_C(0) << shift;
	return (int64_t)v;
}

static void skip_text(struct cam_rd *r)
{
	const uint8_t *end = cam_rd_left(r) ? memchr(r->p, 0, cam_rd_left(r)) : NULL;
	if (end)
		r->p = end + 1;
	else
		r->error = -EBADMSG;
}

static void skip_block(struct cam_rd *r, uint64_t n)
{
	if (n > cam_rd_left(r))
		r->error = -EBADMSG;
	else
		r->p += n;
}

/* The value of a size that depends on it. */
static uint64_t read_varying(struct cam_rd *r, uint8_t size, const uint8_t *base)
{
	uint64_t v = 0;
	switch (size) {
	case SIZE_LEB:
		return cam_rd_varint(r);
	case SIZE_SIGNED_LEB:
		return (uint64_t)cam_dwarf_signed(r);
	case SIZE_TEXT:
		v = (uint64_t)(r->p - base);
		skip_text(r);
		return v;
	case SIZE_BLOCK1:
		skip_block(r, cam_dwarf_number(r, 1));
		return 0;
	case SIZE_BLOCK2:
		skip_block(r, cam_dwarf_number(r, 2));
		return 0;
	case SIZE_BLOCK4:
		skip_block(r, cam_dwarf_number(r, 4));
		return 0;
	case SIZE_BLOCK:
		skip_block(r, cam_rd_varint(r));
		return 0;
	default:
		r->error = -EBADMSG;
		return 0;
	}
}

struct cam_dwarf_value cam_dwarf_value_read(struct cam_rd *r, const struct cam_dwarf_shape *shape,
					    const struct cam_dwarf_attribute *a,
					    const uint8_t *base)
{
	uint16_t form = a->form;
	if (form == FORM_INDIRECT)
		form = (uint16_t)cam_rd_varint(r);
	struct form_rule rule = rule_of(form);
	uint32_t bytes = fixed_bytes(rule, shape);
	uint64_t v = 0;
	if (rule.size == SIZE_NONE)
		v = form == FORM_IMPLICIT_CONST ? (uint64_t)a->constant : 1;
	else if (bytes == UINT32_MAX)
		v = read_varying(r, rule.size, base);
	else if (bytes <= 8)
		v = cam_dwarf_number(r, bytes);
	else
		skip_block(r, bytes);
	if (rule.kind == CAM_DWARF_REFERENCE && form != FORM_REF_ADDR)
		v += shape->at;
	return (struct cam_dwarf_value){(enum cam_dwarf_kind)rule.kind, v};
}

/* One row's attributes, up to the pair of zeros. */
static int read_attributes(struct cam_dwarf_abbrevs *a, struct cam_rd *r,
			   struct cam_dwarf_abbrev *row, const struct cam_dwarf_shape *shape)
{
	for (;;) {
		struct cam_dwarf_attribute new = {0};
		uint64_t name = cam_rd_varint(r), form = cam_rd_varint(r);
		if (cam_rd_error(r) || name > UINT16_MAX || form > UINT16_MAX)
			return -EBADMSG;
		if (form == FORM_IMPLICIT_CONST)
			new.constant = cam_dwarf_signed(r);
		if (!name && !form)
			return 0;
		if (row->n == CAM_DWARF_MAX_PER_ENTRY)
			return -EBADMSG;
		int error = cam_vec_reserve(&a->attributes, &a->cap_attributes, a->n_attributes + 1,
					    sizeof(*a->attributes), CAM_DWARF_MAX_ATTRIBUTES);
		if (error)
			return error;
		new.name = (uint16_t)name;
		new.form = (uint16_t)form;
		a->attributes[a->n_attributes++] = new;
		row->n++;
		uint32_t bytes =
			form == FORM_INDIRECT ? UINT32_MAX : fixed_bytes(rule_of(new.form), shape);
		if (bytes == UINT32_MAX || row->skip_bytes == UINT32_MAX)
			row->skip_bytes = UINT32_MAX;
		else
			row->skip_bytes += bytes;
	}
}

int cam_dwarf_abbrevs_read(struct cam_dwarf_abbrevs *a, struct cam_rd *r,
			   const struct cam_dwarf_shape *shape, uint64_t only)
{
	uint64_t before = 0;
	for (;;) {
		struct cam_dwarf_abbrev row = {.code = cam_rd_varint(r)};
		if (cam_rd_error(r) || (row.code && row.code <= before))
			return -EBADMSG;
		if (!row.code)
			return 0;
		before = row.code;
		uint64_t tag = cam_rd_varint(r);
		row.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
		row.has_children = cam_rd_u8(r) != 0;
		row.first = (uint32_t)a->n_attributes;
		int error = read_attributes(a, r, &row, shape);
		if (!error && (!only || only == row.code))
			error = cam_vec_reserve(&a->rows, &a->cap, a->n + 1, sizeof(*a->rows),
						CAM_DWARF_MAX_ABBREVS);
		if (error)
			return error;
		if (!only || only == row.code)
			a->rows[a->n++] = row;
		else
			a->n_attributes = row.first;
		if (only == row.code)
			return 0;
	}
}

void cam_dwarf_abbrevs_free(struct cam_dwarf_abbrevs *a)
{
	free(a->rows);
	free(a->attributes);
	*a = (struct cam_dwarf_abbrevs){0};
}

const struct cam_dwarf_abbrev *cam_dwarf_abbrevs_find(const struct cam_dwarf_abbrevs *a,
						      uint64_t code)
{
	size_t low = 0, high = a->n;
	/* Numbered from 1 without gaps, as compilers do. */
	if (code && code <= a->n && a->rows[code - 1].code == code)
		return &a->rows[code - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (a->rows[middle].code == code)
			return &a->rows[middle];
		if (a->rows[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
