// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the outline of an ELF file that may lie about everything.
 *
 * Own code, not libelf: libelf maps the file or reads it whole, and follows counts further than we
 * may (in a sparse file of 4 GiB the string table can have 4 GiB).
 *
 * Invariants
 *  1. A table is entered in *f only when all of it lies inside the file.
 *  2. Counts are bounded before anything is read by them: 4,096 program headers, 65,536 sections.
 *     The worst file costs 4 MiB of section headers, read in blocks.
 *  3. Of tables of one kind the first one counts.
 *
 * Example: /bin/true. 13 program headers, one of them PT_LOAD with PF_X: {address 0x2000, offset
 * 0x2000, 0x2d11 bytes}; .dynsym with 50 rows; no .symtab; .plt of 16-byte stubs; a build id of 20
 * bytes.
 */
#include "symbol/elf_file.h"

#include <elf.h>
#include <errno.h>

#define NOTE_BYTES 4096u /* of a note segment that are searched for the build id */
#define MAX_NOTES  16u
#define MAX_NAME   24u /* of a section, that is compared */

struct reading {
	struct cam_elf_file *f;
	const struct cam_bytes *b;
	uint64_t headers_at, n_headers;
	uint32_t names_index; /* of the section with the sections' names */
	uint64_t names_at, names_bytes;
	uint32_t dynsym_index;
	uint32_t notes;
	bool debug; /* only of what is elsewhere: cam_elf_file_read_debug() */
};

static uint64_t word(const struct cam_elf_file *f, const uint8_t *row, size_t at32, size_t at64)
{
	return f->is_64 ? cam_get64(row + at64) : cam_get32(row + at32);
}

#define WORD(f, row, what, member) \
	word(f, row, offsetof(Elf32_##what, member), offsetof(Elf64_##what, member))
#define HALF(f, row, what, member) \
	cam_get16((row) +          \
		  ((f)->is_64 ? offsetof(Elf64_##what, member) : offsetof(Elf32_##what, member)))
#define UINT(f, row, what, member) \
	cam_get32((row) +          \
		  ((f)->is_64 ? offsetof(Elf64_##what, member) : offsetof(Elf32_##what, member)))

static bool lies_inside(const struct cam_bytes *b, uint64_t at, uint64_t n)
{
	return at <= b->size && n <= b->size - at;
}

void cam_elf_section_decode(const struct cam_elf_file *f, const uint8_t *row,
			    struct cam_elf_section *out)
{
	*out = (struct cam_elf_section){
		.name = UINT(f, row, Shdr, sh_name),
		.type = UINT(f, row, Shdr, sh_type),
		.link = UINT(f, row, Shdr, sh_link),
		.flags = WORD(f, row, Shdr, sh_flags),
		.address = WORD(f, row, Shdr, sh_addr),
		.offset = WORD(f, row, Shdr, sh_offset),
		.bytes = WORD(f, row, Shdr, sh_size),
		.row_bytes = WORD(f, row, Shdr, sh_entsize),
	};
}

static int read_section(const struct reading *r, uint32_t index, struct cam_elf_section *out)
{
	uint8_t row[sizeof(Elf64_Shdr)];
	const struct cam_elf_file *f = r->f;
	if (index >= f->n_sections)
		return -EBADMSG;
	size_t n = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint64_t at = f->sections_at + (uint64_t)index * f->section_row_bytes;
	int error = cam_bytes_read(r->b, at, row, n);
	if (!error)
		cam_elf_section_decode(f, row, out);
	return error;
}

/* Counts too large for the header stand in the first section's. */
static int read_large_counts(struct reading *r, uint32_t n_headers)
{
	struct cam_elf_file *f = r->f;
	struct cam_elf_section first;
	uint8_t row[sizeof(Elf64_Shdr)];
	size_t n = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	int error = cam_bytes_read(r->b, f->sections_at, row, n);
	if (error)
		return error;
	cam_elf_section_decode(f, row, &first);
	if (!f->n_sections) {
		if (first.bytes > CAM_ELF_MAX_SECTIONS)
			return -E2BIG;
		f->n_sections = (uint32_t)first.bytes;
	}
	if (r->names_index == SHN_XINDEX)
		r->names_index = first.link;
	if (n_headers == PN_XNUM)
		r->n_headers = UINT(f, row, Shdr, sh_info);
	return 0;
}

static int read_header(struct reading *r, uint64_t *header_row_bytes)
{
	struct cam_elf_file *f = r->f;
	uint8_t h[sizeof(Elf64_Ehdr)];
	int error = cam_bytes_read(r->b, 0, h, sizeof(Elf32_Ehdr));
	if (error)
		return error;
	if (memcmp(h, ELFMAG, SELFMAG) || h[EI_DATA] != ELFDATA2LSB ||
	    (h[EI_CLASS] != ELFCLASS64 && h[EI_CLASS] != ELFCLASS32))
		return -EBADMSG;
	f->is_64 = h[EI_CLASS] == ELFCLASS64;
	error = f->is_64 ? cam_bytes_read(r->b, 0, h, sizeof(h)) : 0;
	if (error)
		return error;
	f->machine = HALF(f, h, Ehdr, e_machine);
	f->entry = WORD(f, h, Ehdr, e_entry);
	r->headers_at = WORD(f, h, Ehdr, e_phoff);
	r->n_headers = HALF(f, h, Ehdr, e_phnum);
	*header_row_bytes = HALF(f, h, Ehdr, e_phentsize);
	f->sections_at = WORD(f, h, Ehdr, e_shoff);
	f->n_sections = HALF(f, h, Ehdr, e_shnum);
	f->section_row_bytes = HALF(f, h, Ehdr, e_shentsize);
	r->names_index = HALF(f, h, Ehdr, e_shstrndx);
	if (!f->sections_at)
		f->n_sections = 0;
	else
		error = read_large_counts(r, (uint32_t)r->n_headers);
	if (!error && r->n_headers > CAM_ELF_MAX_HEADERS)
		error = -E2BIG;
	return error;
}

/* The first build id among these notes, which are those of a segment or a section. */
static int read_notes(struct reading *r, uint64_t at, uint64_t bytes, uint64_t align)
{
	uint8_t notes[NOTE_BYTES];
	if (r->f->build_id_bytes || r->notes++ >= MAX_NOTES)
		return 0;
	size_t n = bytes < sizeof(notes) ? (size_t)bytes : sizeof(notes);
	int error = cam_bytes_read(r->b, at, notes, n);
	if (error)
		return error;
	uint64_t pad = align == 8 ? 7 : 3;
	for (size_t i = 0; n - i >= 12;) {
		uint64_t name = cam_get32(notes + i), id = cam_get32(notes + i + 4);
		uint64_t id_at = i + 12 + ((name + pad) & ~pad);
		uint64_t next = id_at + ((id + pad) & ~pad);
		if (id_at + id > n)
			break;
		if (cam_get32(notes + i + 8) == NT_GNU_BUILD_ID && name == 4 && id &&
		    id <= CAM_ELF_MAX_BUILD_ID && !memcmp(notes + i + 12, "GNU", 4)) {
			memcpy(r->f->build_id, notes + id_at, id);
			r->f->build_id_bytes = (uint32_t)id;
			break;
		}
		if (next > n)
			break;
		i = next;
	}
	return 0;
}

static int add_segment(struct cam_elf_file *f, uint64_t address, uint64_t offset, uint64_t bytes)
{
	if (f->n_segments == CAM_ELF_MAX_SEGMENTS)
		return -E2BIG;
	f->segments[f->n_segments++] = (struct cam_elf_segment){address, offset, bytes};
	return 0;
}

static int take_segment_of_debug(struct reading *r, const uint8_t *row)
{
	struct cam_elf_file *f = r->f;
	uint64_t address = WORD(f, row, Phdr, p_vaddr), bytes = WORD(f, row, Phdr, p_memsz);
	if (UINT(f, row, Phdr, p_type) != PT_LOAD || !(UINT(f, row, Phdr, p_flags) & PF_X) ||
	    !bytes)
		return 0;
	return address + bytes < address ? -EBADMSG : add_segment(f, address, address, bytes);
}

static int take_segment(struct reading *r, const uint8_t *row)
{
	struct cam_elf_file *f = r->f;
	if (r->debug)
		return take_segment_of_debug(r, row);
	uint32_t type = UINT(f, row, Phdr, p_type);
	uint64_t offset = WORD(f, row, Phdr, p_offset), bytes = WORD(f, row, Phdr, p_filesz);
	if (type == PT_NOTE)
		return read_notes(r, offset, bytes, WORD(f, row, Phdr, p_align));
	if (type == PT_GNU_EH_FRAME && lies_inside(r->b, offset, bytes))
		f->frame_index =
			(struct cam_elf_segment){WORD(f, row, Phdr, p_vaddr), offset, bytes};
	if (type != PT_LOAD || !(UINT(f, row, Phdr, p_flags) & PF_X) || !bytes)
		return 0;
	uint64_t address = WORD(f, row, Phdr, p_vaddr);
	if (!lies_inside(r->b, offset, bytes) || address + bytes < address)
		return -EBADMSG;
	return add_segment(f, address, offset, bytes);
}

static int read_segments(struct reading *r, uint64_t row_bytes)
{
	struct cam_rows rows;
	const uint8_t *row;
	size_t need = r->f->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (!r->n_headers)
		return 0;
	if (row_bytes < need)
		return -EBADMSG;
	int error = cam_rows_start(&rows, r->b, r->headers_at, r->n_headers, row_bytes);
	while (!error && (row = cam_rows_next(&rows)))
		error = take_segment(r, row);
	return error ? error : rows.error;
}

static int take_symbols(struct reading *r, uint32_t index, const struct cam_elf_section *s)
{
	enum cam_elf_kind kind = s->type == SHT_SYMTAB ? CAM_ELF_SYMTAB : CAM_ELF_DYNSYM;
	struct cam_elf_table *t = &r->f->symbols[kind];
	struct cam_elf_section strings;
	if (t->rows)
		return 0;
	if (s->row_bytes != (r->f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)) ||
	    !lies_inside(r->b, s->offset, s->bytes))
		return -EBADMSG;
	int error = read_section(r, s->link, &strings);
	if (error)
		return error;
	if (strings.type != SHT_STRTAB || !lies_inside(r->b, strings.offset, strings.bytes))
		return -EBADMSG;
	*t = (struct cam_elf_table){s->offset, s->bytes / s->row_bytes, strings.offset,
				    strings.bytes};
	if (kind == CAM_ELF_DYNSYM)
		r->dynsym_index = index;
	return 0;
}

/* Relocations of the stubs point into .got.plt and say so by SHF_INFO_LINK; others do not. */
static int take_relocations(struct reading *r, const struct cam_elf_section *s)
{
	struct cam_elf_table *t = &r->f->relocations[s->flags & SHF_INFO_LINK ? 0 : 1];
	if (!(s->flags & SHF_ALLOC) || t->rows || !r->dynsym_index || s->link != r->dynsym_index)
		return 0;
	if (s->row_bytes != sizeof(Elf64_Rela) || !lies_inside(r->b, s->offset, s->bytes))
		return -EBADMSG;
	*t = (struct cam_elf_table){.at = s->offset, .rows = s->bytes / s->row_bytes};
	return 0;
}

/* The section's name, cut; empty: it has none. */
static int read_section_name(const struct reading *r, const struct cam_elf_section *s,
			     char name[MAX_NAME + 1])
{
	memset(name, 0, MAX_NAME + 1);
	if (s->name >= r->names_bytes)
		return 0;
	uint64_t left = r->names_bytes - s->name;
	return cam_bytes_read(r->b, r->names_at + s->name, name,
			      left < MAX_NAME ? (size_t)left : MAX_NAME);
}

static int take_stubs(struct reading *r, const struct cam_elf_section *s)
{
	static const struct {
		char name[12];
		uint32_t stub_bytes;
	} known[] = {{".plt", 16}, {".plt.sec", 16}, {".plt.got", 8}};
	struct cam_elf_file *f = r->f;
	char name[MAX_NAME + 1];
	if (f->n_stubs == CAM_ELF_MAX_STUBS)
		return 0;
	int error = read_section_name(r, s, name);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name))
			continue;
		uint64_t stub = s->row_bytes == 8 || s->row_bytes == 16 ? s->row_bytes
									: known[i].stub_bytes;
		if (!lies_inside(r->b, s->offset, s->bytes))
			return -EBADMSG;
		f->stubs[f->n_stubs++] =
			(struct cam_elf_stubs){s->address, s->offset, s->bytes, (uint32_t)stub};
	}
	return 0;
}

static int take_frames(struct reading *r, const struct cam_elf_section *s)
{
	char name[MAX_NAME + 1];
	/* One that lies costs stacks, not names. */
	if (!lies_inside(r->b, s->offset, s->bytes))
		return 0;
	int error = read_section_name(r, s, name);
	if (error)
		return error;
	bool compressed = s->flags & SHF_COMPRESSED;
	struct cam_elf_segment *to = NULL;
	if (!strcmp(name, ".eh_frame") && !compressed)
		to = &r->f->eh_frame;
	else if (!strcmp(name, ".debug_frame"))
		to = &r->f->debug_frame;
	if (!to || to->bytes)
		return 0;
	if (to == &r->f->debug_frame)
		r->f->debug_frame_compressed = compressed;
	*to = (struct cam_elf_segment){s->address, s->offset, s->bytes};
	return 0;
}

static int take_debug(struct reading *r, const struct cam_elf_section *s)
{
	static const char *const known[CAM_ELF_DEBUG_PARTS] = {
		".debug_info",	      ".debug_abbrev",	".debug_line",	   ".debug_str",
		".debug_line_str",    ".debug_ranges",	".debug_rnglists", ".debug_addr",
		".debug_str_offsets", ".gnu_debuglink", ".gnu_debugdata",  ".gnu_debugaltlink",
		".debug_sup",	      ".gopclntab"};
	static const char relocated[] = ".data.rel.ro";
	char name[MAX_NAME + 1];
	/* One that lies costs what it would have told, not the rest. */
	if (!lies_inside(r->b, s->offset, s->bytes))
		return 0;
	int error = read_section_name(r, s, name);
	/* As a position-independent program has Go's. */
	const char *end =
		name +
		(strncmp(name, relocated, sizeof(relocated) - 1) != 0 ? 0 : sizeof(relocated) - 1);
	for (size_t i = 0; !error && i < CAM_ELF_DEBUG_PARTS; i++) {
		struct cam_elf_part *part = &r->f->debug[i];
		if (!part->bytes && !strcmp(end, known[i]))
			*part = (struct cam_elf_part){s->offset, s->bytes,
						      s->flags & SHF_COMPRESSED};
	}
	return error;
}

static int take_data(struct reading *r, const struct cam_elf_section *s, bool amd64)
{
	int error = take_debug(r, s);
	return error || !amd64 ? error : take_frames(r, s);
}

static int take_section(struct reading *r, uint32_t index, const struct cam_elf_section *s)
{
	bool amd64 = r->f->is_64 && r->f->machine == EM_X86_64 && !r->debug;
	r->f->has_code |= s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR;
	switch (s->type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
		return take_symbols(r, index, s);
	case SHT_NOTE:
		return read_notes(r, s->offset, s->bytes, 4);
	case SHT_RELA:
		return amd64 ? take_relocations(r, s) : 0;
	case SHT_PROGBITS:
	case SHT_X86_64_UNWIND: /* LLVM's linker and gold call .eh_frame that */
		if (s->flags & SHF_EXECINSTR)
			return amd64 ? take_stubs(r, s) : 0;
		return take_data(r, s, amd64);
	default:
		return 0;
	}
}

static int read_sections(struct reading *r)
{
	struct cam_elf_file *f = r->f;
	struct cam_elf_section s;
	struct cam_rows rows;
	const uint8_t *row;
	if (!f->n_sections)
		return 0;
	if (f->section_row_bytes < (f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return -EBADMSG;
	int error =
		cam_rows_start(&rows, r->b, f->sections_at, f->n_sections, f->section_row_bytes);
	if (error)
		return error;
	if (r->names_index != SHN_UNDEF) {
		error = read_section(r, r->names_index, &s);
		if (error)
			return error;
		if (!lies_inside(r->b, s.offset, s.bytes))
			return -EBADMSG;
		r->names_at = s.offset;
		r->names_bytes = s.bytes;
	}
	for (uint32_t i = 0; !error && (row = cam_rows_next(&rows)); i++) {
		cam_elf_section_decode(f, row, &s);
		error = take_section(r, i, &s);
	}
	return error ? error : rows.error;
}

static int read_outline(struct reading *r)
{
	uint64_t row_bytes;
	memset(r->f, 0, sizeof(*r->f));
	int error = read_header(r, &row_bytes);
	if (!error)
		error = read_segments(r, row_bytes);
	if (!error)
		error = read_sections(r);
	/* Who has cut the sections off has left the code. */
	r->f->has_code |= !r->f->n_sections && r->f->n_segments;
	return error;
}

int cam_elf_file_read(struct cam_elf_file *f, const struct cam_bytes *b)
{
	struct reading r = {.f = f, .b = b};
	return read_outline(&r);
}

int cam_elf_file_read_debug(struct cam_elf_file *f, const struct cam_bytes *b)
{
	struct reading r = {.f = f, .b = b, .debug = true};
	return read_outline(&r);
}

bool cam_elf_file_address(const struct cam_elf_file *f, uint64_t offset, uint64_t *address)
{
	for (uint32_t i = 0; i < f->n_segments; i++) {
		const struct cam_elf_segment *s = &f->segments[i];
		if (offset < s->offset || offset - s->offset >= s->bytes)
			continue;
		*address = s->address + (offset - s->offset);
		return true;
	}
	return false;
}

bool cam_elf_file_offset(const struct cam_elf_file *f, uint64_t address, uint64_t *offset,
			 uint64_t *follow)
{
	for (uint32_t i = 0; i < f->n_segments; i++) {
		const struct cam_elf_segment *s = &f->segments[i];
		if (address < s->address || address - s->address >= s->bytes)
			continue;
		*offset = s->offset + (address - s->address);
		*follow = s->bytes - (address - s->address);
		return true;
	}
	return false;
}
