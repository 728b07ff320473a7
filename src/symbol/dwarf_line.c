// SPDX-License-Identifier: Apache-2.0
/*
 * The line number program, run for its rows.
 *
 * Invariants
 *  1. A sequence is rows [first, first + n) of ascending address, of which [low, high) is covered; only such are kept.
 *     Sequences are sorted by low.
 *  2. Of rows with one address the last counts: the others cover nothing.
 *  3. Steps of the program are bounded by its bytes; the operands that move the address do not loop.
 *
 * Example: rows (0x10, line 3) (0x18, line 4) and the end at 0x20: 0x17 is line 3, 0x18 line 4, 0x20 nothing.
 */
#include "symbol/dwarf_line.h"

#include "base/vec.h"
#include "symbol/sort.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_FORMATS 16u
#define MAX_OVERLAP 8u /* sequences that may hold an address: code that was merged by the linker */

struct row {
	uint64_t address;
	uint32_t file, line;
};

struct sequence {
	uint64_t low, high;
	uint32_t first, n;
};

struct name {
	struct cam_dwarf_value text; /* TEXT_HERE: an offset in .debug_line */
	uint64_t directory;
};

struct cam_dwarf_lines {
	struct row *rows;
	struct sequence *sequences;
	struct name *directories, *files;
	size_t n_rows, cap_rows, n_sequences, cap_sequences;
	size_t n_directories, cap_directories, n_files, cap_files;
	bool from_zero; /* files and directories are numbered from 0 */
};

struct program {
	struct cam_dwarf_source *s;
	struct cam_dwarf_lines *l;
	struct cam_dwarf_shape shape;
	const uint8_t *base;
	uint64_t at; /* of base in .debug_line */
	uint8_t min_instruction, max_operations, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operands; /* of the standard opcodes */
	/* The machine. */
	uint64_t address;
	uint32_t file, line, operation;
	uint32_t first; /* row of the sequence */
	bool ordered;
};

static int add_name(struct name **names, size_t *n, size_t *cap, const struct name *new)
{
	int error = cam_vec_reserve(names, cap, *n + 1, sizeof(**names), CAM_DWARF_MAX_FILES);
	if (!error)
		(*names)[(*n)++] = *new;
	return error;
}

static bool text_here(struct program *p, struct cam_rd *r, struct name *out)
{
	static const struct cam_dwarf_attribute string = {.form = 0x08};
	if (!cam_rd_left(r) || !*r->p) {
		cam_rd_u8(r);
		return false;
	}
	out->text = cam_dwarf_value_read(r, &p->shape, &string, p->base);
	out->text.v += p->at;
	return !cam_rd_error(r);
}

/* Versions 2 to 4: texts, an empty one ends them. */
static int read_old_names(struct program *p, struct cam_rd *r)
{
	struct cam_dwarf_lines *l = p->l;
	struct name new = {0};
	int error = 0;
	while (!error && text_here(p, r, &new))
		error = add_name(&l->directories, &l->n_directories, &l->cap_directories, &new);
	while (!error && text_here(p, r, &new)) {
		new.directory = cam_rd_varint(r);
		cam_rd_varint(r); /* time */
		cam_rd_varint(r); /* bytes */
		error = add_name(&l->files, &l->n_files, &l->cap_files, &new);
	}
	return error ? error : cam_rd_error(r);
}

/* Version 5: what an element is made of, then the elements. */
static int read_names(struct program *p, struct cam_rd *r, struct name **names, size_t *n,
		      size_t *cap)
{
	enum { CONTENT_PATH = 1, CONTENT_DIRECTORY = 2 };
	struct cam_dwarf_attribute formats[MAX_FORMATS];
	uint8_t n_formats = cam_rd_u8(r);
	if (n_formats > MAX_FORMATS)
		return -EBADMSG;
	for (uint8_t i = 0; i < n_formats; i++) {
		formats[i] = (struct cam_dwarf_attribute){0};
		formats[i].name = (uint16_t)cam_rd_varint(r);
		formats[i].form = (uint16_t)cam_rd_varint(r);
	}
	uint64_t count = cam_rd_varint(r);
	int error = cam_rd_error(r);
	for (uint64_t i = 0; i < count && n_formats && !error; i++) {
		struct name new = {0};
		for (uint8_t k = 0; k < n_formats; k++) {
			struct cam_dwarf_value v =
				cam_dwarf_value_read(r, &p->shape, &formats[k], p->base);
			if (v.kind == CAM_DWARF_TEXT_HERE)
				v.v += p->at;
			if (formats[k].name == CONTENT_PATH)
				new.text = v;
			else if (formats[k].name == CONTENT_DIRECTORY)
				new.directory = v.v;
		}
		error = cam_rd_error(r);
		if (!error)
			error = add_name(names, n, cap, &new);
	}
	return error;
}

static int read_header(struct program *p, struct cam_rd *r)
{
	struct cam_dwarf_lines *l = p->l;
	p->shape.version = cam_rd_u16(r);
	if (p->shape.version < 2 || p->shape.version > 5)
		return -ENOTSUP;
	if (p->shape.version == 5) {
		p->shape.address_bytes = cam_rd_u8(r);
		cam_rd_u8(r); /* of segment selectors */
	}
	uint64_t header = cam_dwarf_number(r, p->shape.offset_bytes);
	if (cam_rd_error(r) || header > cam_rd_left(r))
		return -EBADMSG;
	const uint8_t *program = r->p + header;
	p->min_instruction = cam_rd_u8(r);
	p->max_operations = p->shape.version >= 4 ? cam_rd_u8(r) : 1;
	cam_rd_u8(r); /* is a statement */
	p->line_base = (int8_t)cam_rd_u8(r);
	p->line_range = cam_rd_u8(r);
	p->opcode_base = cam_rd_u8(r);
	if (cam_rd_error(r) || !p->line_range || !p->opcode_base || !p->max_operations)
		return -EBADMSG;
	p->operands = cam_rd_bytes(r, p->opcode_base - 1u);
	int error = cam_rd_error(r);
	struct cam_rd names = {r->p, program, 0};
	if (error || names.p > names.end)
		return -EBADMSG;
	l->from_zero = p->shape.version == 5;
	if (!l->from_zero) {
		error = read_old_names(p, &names);
	} else {
		error = read_names(p, &names, &l->directories, &l->n_directories,
				   &l->cap_directories);
		if (!error)
			error = read_names(p, &names, &l->files, &l->n_files, &l->cap_files);
	}
	r->p = program;
	return error;
}

static void reset(struct program *p)
{
	p->address = 0;
	p->operation = 0;
	p->file = 1;
	p->line = 1;
	p->first = (uint32_t)p->l->n_rows;
	p->ordered = true;
}

static void advance(struct program *p, uint64_t by)
{
	if (p->max_operations == 1) {
		p->address += p->min_instruction * by;
		return;
	}
	uint64_t operations = p->operation + by;
	p->address += p->min_instruction * (operations / p->max_operations);
	p->operation = (uint32_t)(operations % p->max_operations);
}

static int add_row(struct program *p)
{
	struct cam_dwarf_lines *l = p->l;
	struct row new = {p->address, p->file, p->line};
	struct row *last = l->n_rows > p->first ? &l->rows[l->n_rows - 1] : NULL;
	if (last && last->address > new.address)
		p->ordered = false;
	if (last && last->address == new.address) {
		*last = new;
		return 0;
	}
	if (last && last->file == new.file && last->line == new.line)
		return 0;
	int error = cam_vec_reserve(&l->rows, &l->cap_rows, l->n_rows + 1, sizeof(*l->rows),
				    CAM_DWARF_MAX_LINES);
	if (!error)
		l->rows[l->n_rows++] = new;
	return error;
}

static int end_sequence(struct program *p)
{
	struct cam_dwarf_lines *l = p->l;
	size_t n = l->n_rows - p->first;
	uint64_t low = n ? l->rows[p->first].address : 0;
	int error = 0;
	/* What the linker threw away lies at 0. */
	if (n && p->ordered && low > 1 && p->address > low) {
		error = cam_vec_reserve(&l->sequences, &l->cap_sequences, l->n_sequences + 1,
					sizeof(*l->sequences), CAM_DWARF_MAX_LINES);
		if (!error)
			l->sequences[l->n_sequences++] =
				(struct sequence){low, p->address, p->first, (uint32_t)n};
	} else {
		l->n_rows = p->first;
	}
	reset(p);
	return error;
}

static int run_extended(struct program *p, struct cam_rd *r)
{
	enum { END_SEQUENCE = 1, SET_ADDRESS = 2 };
	uint64_t n = cam_rd_varint(r);
	const uint8_t *body = n <= cam_rd_left(r) ? cam_rd_bytes(r, (size_t)n) : NULL;
	if (!body)
		return -EBADMSG;
	if (n == 0)
		return 0;
	struct cam_rd operand = cam_rd_make(body + 1, (size_t)n - 1);
	if (body[0] == END_SEQUENCE)
		return end_sequence(p);
	if (body[0] == SET_ADDRESS && (n == 9 || n == 5)) {
		p->address = cam_dwarf_number(&operand, (unsigned)n - 1);
		p->operation = 0;
	}
	return 0;
}

static int run_standard(struct program *p, struct cam_rd *r, uint8_t opcode)
{
	enum {
		COPY = 1,
		ADVANCE_PC,
		ADVANCE_LINE,
		SET_FILE,
		CONST_ADD_PC = 8,
		FIXED_ADVANCE_PC,
	};
	switch (opcode) {
	case COPY:
		return add_row(p);
	case ADVANCE_PC:
		advance(p, cam_rd_varint(r));
		return 0;
	case ADVANCE_LINE:
		p->line += (uint32_t)cam_dwarf_signed(r);
		return 0;
	case SET_FILE:
		p->file = (uint32_t)cam_rd_varint(r);
		return 0;
	case CONST_ADD_PC:
		advance(p, (255u - p->opcode_base) / p->line_range);
		return 0;
	case FIXED_ADVANCE_PC:
		p->address += cam_rd_u16(r);
		p->operation = 0;
		return 0;
	default:
		for (uint8_t i = 0; i < p->operands[opcode - 1]; i++)
			cam_rd_varint(r);
		return 0;
	}
}

static int run(struct program *p, struct cam_rd *r)
{
	int error = 0;
	reset(p);
	while (!error && cam_rd_left(r) && !cam_rd_error(r)) {
		uint8_t opcode = cam_rd_u8(r);
		if (opcode >= p->opcode_base) {
			uint8_t special = (uint8_t)(opcode - p->opcode_base);
			advance(p, special / p->line_range);
			p->line += (uint32_t)(p->line_base + special % p->line_range);
			error = add_row(p);
		} else if (opcode) {
			error = run_standard(p, r, opcode);
		} else {
			error = run_extended(p, r);
		}
	}
	p->l->n_rows = p->first; /* of a sequence without an end */
	return error ? error : cam_rd_error(r);
}

static int read_program(struct program *p, uint8_t *copy, size_t n)
{
	p->base = copy;
	struct cam_rd r = cam_rd_make(copy, n);
	int error = read_header(p, &r);
	if (!error)
		error = run(p, &r);
	if (!error)
		error = cam_sort_by_key(p->l->sequences, p->l->n_sequences,
					sizeof(struct sequence));
	if (!error && p->l->n_rows < p->l->cap_rows) {
		void *exact = realloc(p->l->rows, (p->l->n_rows + 1) * sizeof(struct row));
		p->l->rows = exact ? exact : p->l->rows;
		p->l->cap_rows = exact ? p->l->n_rows + 1 : p->l->cap_rows;
	}
	return error;
}

int cam_dwarf_lines_read(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			 struct cam_dwarf_lines **out)
{
	struct cam_section *section = &s->sections[CAM_ELF_DEBUG_LINE];
	uint8_t head[12];
	if (u->line_at == CAM_DWARF_NOWHERE)
		return -EBADMSG;
	int n = cam_section_some(section, s->b, u->line_at, head, sizeof(head));
	if (n < 0)
		return n;
	struct cam_rd r = cam_rd_make(head, (size_t)n);
	uint64_t length = cam_rd_u32(&r);
	bool is_64 = length == UINT32_MAX;
	if (is_64)
		length = cam_rd_u64(&r);
	if (cam_rd_error(&r))
		return -EBADMSG;
	if (length > CAM_DWARF_MAX_LINE_BYTES)
		return -E2BIG;
	struct program p = {.s = s, .shape = u->shape, .at = u->line_at + (is_64 ? 12 : 4)};
	p.shape.offset_bytes = is_64 ? 8 : 4;
	if (!cam_dwarf_pay(s, length))
		return -EBUSY;
	p.l = calloc(1, sizeof(*p.l));
	uint8_t *copy = malloc(length ? length : 1);
	int error = p.l && copy ? cam_section_read(section, s->b, p.at, copy, length) : -ENOMEM;
	if (!error)
		error = read_program(&p, copy, length);
	free(copy);
	if (error)
		cam_dwarf_lines_free(p.l);
	else
		*out = p.l;
	return error;
}

void cam_dwarf_lines_free(struct cam_dwarf_lines *l)
{
	if (!l)
		return;
	free(l->rows);
	free(l->sequences);
	free(l->directories);
	free(l->files);
	free(l);
}

size_t cam_dwarf_lines_memory(const struct cam_dwarf_lines *l)
{
	return sizeof(*l) + l->cap_rows * sizeof(struct row) +
	       l->cap_sequences * sizeof(struct sequence) +
	       (l->cap_directories + l->cap_files) * sizeof(struct name);
}

/* The last row of the sequence that starts at or before the address. */
static const struct row *row_of(const struct cam_dwarf_lines *l, const struct sequence *s,
				uint64_t address)
{
	size_t low = 0, high = s->n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (l->rows[s->first + middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return &l->rows[s->first + low];
}

bool cam_dwarf_lines_find(const struct cam_dwarf_lines *l, uint64_t address, uint32_t *file,
			  uint32_t *line)
{
	size_t low = 0, high = l->n_sequences;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->sequences[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < MAX_OVERLAP && low; i++) {
		const struct sequence *s = &l->sequences[--low];
		if (address >= s->high)
			continue;
		const struct row *row = row_of(l, s, address);
		*file = row->file;
		*line = row->line;
		return row->line != 0;
	}
	return false;
}

static const struct name *name_at(const struct cam_dwarf_lines *l, const struct name *names,
				  size_t n, uint64_t number)
{
	if (!l->from_zero && !number--)
		return NULL;
	return number < n ? &names[number] : NULL;
}

/* Appends "/" where one is needed and a text; a path from the root begins anew. */
static size_t join(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
		   struct cam_dwarf_value v, char *room, size_t used, size_t room_bytes)
{
	struct cam_text text;
	char part[1024];
	int got;
	if (v.kind == CAM_DWARF_TEXT_HERE)
		got = cam_section_text(&s->sections[CAM_ELF_DEBUG_LINE], s->b, v.v, part,
				       sizeof(part), &text) == 0;
	else
		got = cam_dwarf_unit_text(s, u, v, part, sizeof(part), &text);
	if (got <= 0 || !text.n)
		return used;
	if (text.p[0] == '/')
		used = 0;
	if (used && room[used - 1] != '/' && used < room_bytes)
		room[used++] = '/';
	size_t fits = text.n < room_bytes - used ? text.n : room_bytes - used;
	memcpy(room + used, text.p, fits);
	return used + fits;
}

struct cam_text cam_dwarf_lines_path(struct cam_dwarf_lines *l, struct cam_dwarf_source *s,
				     const struct cam_dwarf_unit *u, uint64_t file, char *room,
				     size_t room_bytes)
{
	const struct name *f = name_at(l, l->files, l->n_files, file);
	struct cam_text text;
	if (!f)
		return (struct cam_text){"", 0};
	size_t used = 0;
	/* The unit's own directory; it may be text in .debug_info. */
	if (cam_dwarf_unit_text(s, u, u->directory, room, room_bytes, &text) == 1)
		used = text.n;
	const struct name *d = name_at(l, l->directories, l->n_directories, f->directory);
	if (d)
		used = join(s, u, d->text, room, used, room_bytes);
	return (struct cam_text){room, join(s, u, f->text, room, used, room_bytes)};
}
