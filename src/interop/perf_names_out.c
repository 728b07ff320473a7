// SPDX-License-Identifier: Apache-2.0
/*
 * The ELF files: a header, two program headers (all of the file's offsets, where an address is its offset; the note),
 * the note with the build-id, .symtab, .strtab, .shstrtab, then the section headers. Section 1, .text, is all
 * offsets there are and has no bytes: symbols must be in a section of that name.
 *
 * kallsyms has no sizes: behind a symbol that no other follows at once stands "(unknown)". (In brackets
 * perf would take it for a module.)
 */
#include "interop/perf_names_out.h"

#include "base/escape.h"
#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FILE  (512u << 20)
#define ALL_BYTES 0x7fffffffffffull

enum { TEXT = 1, NOTE, SYMTAB, STRTAB, SHSTRTAB, SECTIONS };
/* Where each name begins: 1, 7, 26, 34, 42. */
static const char section_names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab";

void cam_perf_names_free(struct cam_perf_names *n)
{
	free(n->rows);
	cam_index_free(&n->index);
	*n = (struct cam_perf_names){0};
}

static bool same_symbol(const void *rows, uint32_t id, const void *key)
{
	const struct cam_perf_symbol *a = (const struct cam_perf_symbol *)rows + id, *b = key;
	return a->module == b->module && a->start == b->start;
}

int cam_perf_names_add(struct cam_perf_names *n, const struct cam_perf_symbol *s)
{
	uint64_t hash = cam_hash_u64(s->start, s->module);
	uint32_t at = cam_index_find(&n->index, hash, same_symbol, n->rows, s);
	if (at != CAM_INDEX_NONE) {
		struct cam_perf_symbol *old = &n->rows[at];
		old->bytes = s->bytes > old->bytes ? s->bytes : old->bytes;
		return 0;
	}
	int err =
		cam_vec_reserve(&n->rows, &n->cap, n->n + 1, sizeof(*n->rows), CAM_PERF_NAMES_MAX);
	if (!err)
		err = cam_index_reserve(&n->index);
	if (err)
		return err;
	n->rows[n->n] = *s;
	cam_index_add(&n->index, hash, (uint32_t)n->n++);
	return 0;
}

struct cam_text cam_perf_names_id(const struct cam_perf_names *n, const struct cam_tables *t,
				  uint32_t module, char room[CAM_PERF_NAMES_ID])
{
	struct cam_text own = {"", 0}, path = CAM_TEXT("[kernel.kallsyms]");
	if (module) {
		own = cam_string(t, t->modules[module].build_id);
		path = cam_string(t, t->modules[module].path);
	}
	uint64_t hash = cam_hash_u64(cam_hash(path.p, path.n), cam_hash(own.p, own.n));
	static const char ours[4] = {'p', 'c', 'a', 'm'};
	memcpy(room, ours, sizeof(ours));
	memcpy(room + 4, &n->salt, sizeof(n->salt));
	memcpy(room + 12, &hash, sizeof(hash));
	return (struct cam_text){room, CAM_PERF_NAMES_ID};
}

struct cam_text cam_perf_names_path(struct cam_text path)
{
	static const char *const anonymous[] = {"//anon", "/dev/zero", "/anon_hugepage", "[stack",
						"/SYSV",  "[heap]",    "/tmp/perf-"};
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++) {
		if (cam_text_starts(path, cam_text_of(anonymous[i])))
			return CAM_TEXT("[jit]");
	}
	return path;
}

static int by_place(const void *x, const void *y)
{
	const struct cam_perf_symbol *a = x, *b = y;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void put_section(struct cam_buf *b, uint32_t name, Elf64_Shdr s)
{
	s.sh_name = name;
	s.sh_addralign = s.sh_addralign ? s.sh_addralign : 1;
	cam_buf_put(b, &s, sizeof(s));
}

static void pad(struct cam_buf *b)
{
	while (b->len % 8)
		cam_buf_put_u8(b, 0);
}

/* The note, the symbols and their names; where each of them begins. */
static void put_contents(struct cam_buf *b, const struct cam_perf_symbol *rows, size_t n,
			 const struct cam_tables *t, struct cam_text id, size_t at[SECTIONS + 1])
{
	struct cam_buf names = CAM_BUF(MAX_FILE);
	at[NOTE] = b->len;
	cam_buf_put_u32(b, 4);
	cam_buf_put_u32(b, (uint32_t)id.n);
	cam_buf_put_u32(b, NT_GNU_BUILD_ID);
	cam_buf_put(b, "GNU", 4);
	cam_buf_put(b, id.p, id.n);
	pad(b);
	at[SYMTAB] = b->len;
	cam_buf_put_u8(&names, 0);
	cam_buf_put(b, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
	for (size_t i = 0; i < n; i++) {
		const Elf64_Sym sym = {
			.st_name = (uint32_t)names.len,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = TEXT,
			.st_value = rows[i].start,
			.st_size = rows[i].bytes,
		};
		cam_buf_put(b, &sym, sizeof(sym));
		cam_escape_put(&names, cam_string(t, (struct cam_str_id){rows[i].name}),
			       CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES);
		cam_buf_put_u8(&names, 0);
	}
	at[STRTAB] = b->len;
	if (names.len)
		cam_buf_put(b, names.data, names.len);
	if (!cam_buf_error(b))
		b->error = cam_buf_error(&names);
	at[SHSTRTAB] = b->len;
	cam_buf_put(b, section_names, sizeof(section_names));
	at[SECTIONS] = b->len;
	pad(b);
	cam_buf_free(&names);
}

static void put_headers(struct cam_buf *b, struct cam_text id, size_t note, size_t sections)
{
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_shoff = sections,
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = SHSTRTAB,
	};
	const Elf64_Phdr all = {.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = ALL_BYTES,
				.p_memsz = ALL_BYTES,
				.p_align = 4096};
	const Elf64_Phdr of_note = {.p_type = PT_NOTE,
				    .p_flags = PF_R,
				    .p_offset = note,
				    .p_vaddr = note,
				    .p_paddr = note,
				    .p_filesz = 16 + id.n,
				    .p_memsz = 16 + id.n,
				    .p_align = 4};
	memcpy(b->data, &head, sizeof(head));
	memcpy(b->data + sizeof(head), &all, sizeof(all));
	memcpy(b->data + sizeof(head) + sizeof(all), &of_note, sizeof(of_note));
}

static int make_elf(struct cam_buf *b, const struct cam_perf_symbol *rows, size_t n,
		    const struct cam_tables *t, struct cam_text id)
{
	size_t at[SECTIONS + 1];
	cam_buf_clear(b);
	for (size_t i = 0; i < sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr); i++)
		cam_buf_put_u8(b, 0);
	put_contents(b, rows, n, t, id, at);
	size_t sections = b->len;
	cam_buf_put(b, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
	put_section(b, 1,
		    (Elf64_Shdr){.sh_type = SHT_NOBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_size = ALL_BYTES});
	put_section(b, 7,
		    (Elf64_Shdr){.sh_type = SHT_NOTE,
				 .sh_flags = SHF_ALLOC,
				 .sh_addr = at[NOTE],
				 .sh_offset = at[NOTE],
				 .sh_size = 16 + id.n,
				 .sh_addralign = 4});
	put_section(b, 26,
		    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				 .sh_offset = at[SYMTAB],
				 .sh_size = (n + 1) * sizeof(Elf64_Sym),
				 .sh_link = STRTAB,
				 .sh_info = 1,
				 .sh_addralign = 8,
				 .sh_entsize = sizeof(Elf64_Sym)});
	put_section(b, 34,
		    (Elf64_Shdr){.sh_type = SHT_STRTAB,
				 .sh_offset = at[STRTAB],
				 .sh_size = at[SHSTRTAB] - at[STRTAB]});
	put_section(b, 42,
		    (Elf64_Shdr){.sh_type = SHT_STRTAB,
				 .sh_offset = at[SHSTRTAB],
				 .sh_size = at[SECTIONS] - at[SHSTRTAB]});
	if (!cam_buf_error(b))
		put_headers(b, id, at[NOTE], sections);
	return cam_buf_error(b);
}

/* A line ends with its name, and a space would begin a module's. */
static void put_plain(struct cam_buf *b, struct cam_text name)
{
	size_t from = b->len;
	cam_escape_put(b, name, CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES);
	for (size_t i = from; i < b->len; i++)
		b->data[i] = b->data[i] == ' ' ? '_' : b->data[i];
}

static int make_kallsyms(struct cam_buf *b, const struct cam_perf_symbol *rows, size_t n,
			 const struct cam_tables *t)
{
	cam_buf_clear(b);
	for (size_t i = 0; i < n; i++) {
		uint64_t end = rows[i].start + rows[i].bytes;
		cam_buf_printf(b, "%016llx T ", (unsigned long long)rows[i].start);
		put_plain(b, cam_string(t, (struct cam_str_id){rows[i].name}));
		cam_buf_put_u8(b, '\n');
		if (end > rows[i].start && (i + 1 == n || rows[i + 1].start > end))
			cam_buf_printf(b, "%016llx T (unknown)\n", (unsigned long long)end);
	}
	return cam_buf_error(b);
}

static void hex_of(struct cam_text id, char room[2 * CAM_PERF_NAMES_ID + 1])
{
	room[0] = 0;
	for (size_t i = 0; i < id.n && i < CAM_PERF_NAMES_ID; i++)
		snprintf(room + 2 * i, 3, "%02x", (unsigned)(uint8_t)id.p[i]);
}

static int write_module(struct cam_buf *b, const struct cam_perf_symbol *rows, size_t n,
			const struct cam_tables *t, struct cam_text id, cam_perf_names_fn *fn,
			void *arg)
{
	char path[128], hex[2 * CAM_PERF_NAMES_ID + 1];
	uint32_t module = rows[0].module;
	bool vdso = module &&
		    cam_text_equal(cam_string(t, t->modules[module].path), CAM_TEXT("[vdso]"));
	hex_of(id, hex);
	if (module)
		snprintf(path, sizeof(path), ".build-id/%.2s/%s/%s", hex, hex + 2,
			 vdso ? "vdso" : "elf");
	else
		snprintf(path, sizeof(path), "[kernel.kallsyms]/%s/kallsyms", hex);
	int err = module ? make_elf(b, rows, n, t, id) : make_kallsyms(b, rows, n, t);
	return err ? err : fn(arg, path, b->data, b->len);
}

int cam_perf_names_write(struct cam_perf_names *n, const struct cam_tables *t,
			 cam_perf_names_fn *fn, void *arg)
{
	char room[CAM_PERF_NAMES_ID];
	struct cam_buf b = CAM_BUF(MAX_FILE);
	int err = 0;
	cam_index_free(&n->index);
	if (n->n)
		qsort(n->rows, n->n, sizeof(*n->rows), by_place);
	for (size_t from = 0, to; from < n->n && !err; from = to) {
		for (to = from; to < n->n && n->rows[to].module == n->rows[from].module; to++)
			;
		struct cam_text id = cam_perf_names_id(n, t, n->rows[from].module, room);
		err = write_module(&b, n->rows + from, to - from, t, id, fn, arg);
	}
	cam_buf_free(&b);
	return err;
}
