// SPDX-License-Identifier: Apache-2.0
/*
 * A file's functions as two sorted lists (.symtab, .dynsym), searched from the inside out.
 *
 * Loading streams each symbol table once, in blocks, and keeps {start, bytes, name's place,
 * binding} of the functions: 24 bytes each. Symbols with a size and those without are kept apart.
 * Names are not read: most are never asked for.
 *
 * Invariants
 *  1. `sized` and `unsized` are sorted by start; rows of one start keep the table's order.
 *  2. sized[i].up is the nearest earlier row that ends after row i does (NONE: there is none). All
 *     rows between the two end no later than row i: if row i ends before an offset, so do they.
 *     So the innermost row that holds x is found from the last row that starts at or before x by
 *     following `up`. Real files need 0 to 2 steps; a file crafted to need a million is given up
 *     after MAX_CLIMB.
 *  3. A row's [start, start + bytes) lies inside one executable segment (an unsized row's: inside
 *     its section, too).
 *
 * Example: f [0x100, 0x180), g [0x140, 0x150) inside it, h [0x180, 0x190). up: f NONE, g → f,
 * h NONE. 0x160: the last start before it is g, which ended; its up is f, which holds it. 0x190:
 * h ended and has no up: unnamed.
 */
#include "symbol/elf.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/demangle.h"
#include "symbol/elf_file.h"
#include "symbol/gopclntab.h"
#include "symbol/plt.h"
#include "symbol/sort.h"
#include "symbol/xz.h"

#include <elf.h>
#include <errno.h>

#define NONE	  UINT32_MAX
#define MAX_CLIMB 64u
#define MAX_TIES  64u /* symbols of one start whose names are compared */

enum binding {
	BOUND_GLOBAL,
	BOUND_LOCAL,
	BOUND_WEAK,
};

struct row {
	uint64_t start;
	uint32_t bytes;
	uint32_t name;
	uint32_t up;
	uint32_t binding;
};

struct list {
	struct row *rows;
	size_t n, cap;
};

struct side {
	struct list sized, unsized;
};

struct cam_elf {
	struct cam_elf_file file;
	struct side sides[CAM_ELF_KINDS];
	struct cam_elf *mini; /* NULL: none */
	uint8_t *mini_memory; /* what it was read from */
	size_t mini_bytes;
};

/* What finding needs and forgets. */
struct query {
	const struct cam_elf *e;
	const struct cam_bytes *b;
	uint64_t offset;
	uint64_t *work;
};

/* What loading needs and forgets. */
struct loading {
	struct cam_elf *e;
	const struct cam_bytes *b;
	struct extent {
		uint64_t start, end;
	} * sections; /* of code; addresses */
	size_t functions;
};

struct symbol {
	uint64_t value, bytes;
	uint32_t name, section;
	uint8_t type, binding, visibility;
};

static void decode_symbol(bool is_64, const uint8_t *row, struct symbol *s)
{
	uint8_t info, other;
	s->name = cam_get32(row);
	if (is_64) {
		info = row[offsetof(Elf64_Sym, st_info)];
		other = row[offsetof(Elf64_Sym, st_other)];
		s->section = cam_get16(row + offsetof(Elf64_Sym, st_shndx));
		s->value = cam_get64(row + offsetof(Elf64_Sym, st_value));
		s->bytes = cam_get64(row + offsetof(Elf64_Sym, st_size));
	} else {
		info = row[offsetof(Elf32_Sym, st_info)];
		other = row[offsetof(Elf32_Sym, st_other)];
		s->section = cam_get16(row + offsetof(Elf32_Sym, st_shndx));
		s->value = cam_get32(row + offsetof(Elf32_Sym, st_value));
		s->bytes = cam_get32(row + offsetof(Elf32_Sym, st_size));
	}
	s->type = ELF64_ST_TYPE(info);
	s->binding = ELF64_ST_BIND(info);
	s->visibility = ELF64_ST_VISIBILITY(other);
}

/*
 * Code in assembler that was not said to be a function: _start and _dl_start_user of the dynamic loader. Without a size
 * it counts only where nothing else does. Elsewhere than on x86 local ones mark what is code and what data ($x, $d).
 */
static bool is_label(const struct cam_elf_file *f, const struct symbol *s)
{
	bool x86 = f->machine == EM_X86_64 || f->machine == EM_386;
	return s->type == STT_NOTYPE && !s->bytes && (x86 || s->binding != STB_LOCAL) &&
	       s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL;
}

/* Where the code of its section ends; 0: it has no such section. */
static uint64_t section_end(const struct loading *l, const struct symbol *s)
{
	if (s->section >= l->e->file.n_sections)
		return 0;
	const struct extent *x = &l->sections[s->section];
	return s->value >= x->start && s->value < x->end ? x->end : 0;
}

static int keep_symbol(struct loading *l, struct side *side, const struct symbol *s)
{
	uint64_t value = s->value, bytes = s->bytes, offset, follow;
	if (l->e->file.machine == EM_ARM)
		value &= ~(uint64_t)1; /* says that it is Thumb code */
	struct list *list = bytes ? &side->sized : &side->unsized;
	if (!bytes) {
		uint64_t end = section_end(l, s);
		bytes = end > value ? end - value : 0;
	}
	if (!bytes || !cam_elf_file_offset(&l->e->file, value, &offset, &follow))
		return 0;
	if (bytes > follow)
		bytes = follow;
	if (bytes > UINT32_MAX)
		return 0;
	if (l->functions++ == CAM_ELF_MAX_FUNCTIONS)
		return -E2BIG;
	int error = cam_vec_reserve(&list->rows, &list->cap, list->n + 1, sizeof(*list->rows),
				    CAM_ELF_MAX_FUNCTIONS);
	if (error)
		return error;
	list->rows[list->n++] = (struct row){
		.start = offset,
		.bytes = (uint32_t)bytes,
		.name = s->name,
		.up = NONE,
		.binding = s->binding == STB_GLOBAL ? BOUND_GLOBAL
			   : s->binding == STB_WEAK ? BOUND_WEAK
						    : BOUND_LOCAL,
	};
	return 0;
}

static int read_symbols(struct loading *l, enum cam_elf_kind kind)
{
	const struct cam_elf_file *f = &l->e->file;
	const struct cam_elf_table *t = &f->symbols[kind];
	struct cam_rows rows;
	struct symbol s;
	const uint8_t *row;
	if (t->rows > CAM_ELF_MAX_SYMBOLS)
		return -E2BIG;
	int error = cam_rows_start(&rows, l->b, t->at, t->rows,
				   f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	while (!error && (row = cam_rows_next(&rows))) {
		decode_symbol(f->is_64, row, &s);
		bool function = s.type == STT_FUNC || s.type == STT_GNU_IFUNC;
		bool absolute = s.section >= SHN_LORESERVE && s.section != SHN_XINDEX;
		/* Exported symbols have gaps between them, which one without a size would name. */
		bool ends = s.bytes || kind == CAM_ELF_SYMTAB;
		if ((function || is_label(f, &s)) && ends && s.name && s.section != SHN_UNDEF &&
		    !absolute)
			error = keep_symbol(l, &l->e->sides[kind], &s);
	}
	return error ? error : rows.error;
}

static int keep_go_function(void *arg, uint64_t address, uint64_t bytes, uint32_t name)
{
	struct loading *l = arg;
	const struct symbol s = {
		.value = address, .bytes = bytes, .name = name, .binding = STB_GLOBAL};
	return keep_symbol(l, &l->e->sides[CAM_ELF_SYMTAB], &s);
}

/* A Go program without symbols: what its runtime knows stands for them. One that lies has none. */
static int read_go_functions(struct loading *l)
{
	struct cam_elf_table *t = &l->e->file.symbols[CAM_ELF_SYMTAB];
	struct cam_gopclntab_names names = {0};
	if (t->rows)
		return 0;
	int error = cam_gopclntab_read(&l->e->file, l->b, &names, keep_go_function, l);
	t->strings_at = names.at;
	t->strings_bytes = names.bytes;
	return error == -ENODATA || error == -EBADMSG ? 0 : error;
}

/* Where each section of code lies: what bounds symbols without a size. */
static int read_extents(struct loading *l)
{
	const struct cam_elf_file *f = &l->e->file;
	struct cam_elf_section s;
	struct cam_rows rows;
	const uint8_t *row;
	if (!f->n_sections)
		return 0;
	l->sections = calloc(f->n_sections, sizeof(*l->sections));
	if (!l->sections)
		return -ENOMEM;
	int error =
		cam_rows_start(&rows, l->b, f->sections_at, f->n_sections, f->section_row_bytes);
	for (uint32_t i = 0; !error && i < f->n_sections && (row = cam_rows_next(&rows)); i++) {
		cam_elf_section_decode(f, row, &s);
		if (s.flags & SHF_EXECINSTR && s.address + s.bytes >= s.address)
			l->sections[i] = (struct extent){s.address, s.address + s.bytes};
	}
	return error ? error : rows.error;
}

static int finish_list(struct list *list)
{
	if (list->n < list->cap) {
		void *exact = list->n ? realloc(list->rows, list->n * sizeof(*list->rows)) : NULL;
		if (!list->n)
			free(list->rows);
		list->rows = list->n && !exact ? list->rows : exact;
		list->cap = list->n;
	}
	return cam_sort_by_key(list->rows, list->n, sizeof(*list->rows));
}

static uint64_t end_of(const struct row *r)
{
	return r->start + r->bytes;
}

/* Each step over a row moves past what that row already is above of: linear altogether. */
static void find_ups(struct list *list)
{
	for (uint32_t i = 1; i < list->n; i++) {
		uint32_t up = i - 1;
		while (up != NONE && end_of(&list->rows[up]) <= end_of(&list->rows[i]))
			up = list->rows[up].up;
		list->rows[i].up = up;
	}
}

static int load(struct cam_elf *e, const struct cam_bytes *b)
{
	struct loading l = {.e = e, .b = b};
	int error = 0;
	if (e->file.n_segments)
		error = read_extents(&l);
	for (int kind = 0; !error && kind < CAM_ELF_KINDS && e->file.n_segments; kind++) {
		error = read_symbols(&l, kind);
		if (!error && kind == CAM_ELF_SYMTAB)
			error = read_go_functions(&l);
		if (!error)
			error = finish_list(&e->sides[kind].sized);
		if (!error)
			error = finish_list(&e->sides[kind].unsized);
		if (!error)
			find_ups(&e->sides[kind].sized);
	}
	free(l.sections);
	return error;
}

static int load_as(int (*read)(struct cam_elf_file *, const struct cam_bytes *),
		   const struct cam_bytes *b, struct cam_elf **out)
{
	struct cam_elf *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	int error = read(&e->file, b);
	if (!error)
		error = load(e, b);
	if (error) {
		cam_elf_free(e);
		return error;
	}
	*out = e;
	return 0;
}

/* Only where it is needed. What cannot be read is left out: the file has its other symbols. */
static int load_mini(struct cam_elf *e, const struct cam_bytes *b)
{
	const struct cam_elf_part *part = &e->file.debug[CAM_ELF_DEBUG_DATA];
	if (!part->bytes || part->compressed || e->file.symbols[CAM_ELF_SYMTAB].rows)
		return 0;
	int error = cam_xz_inflate(b, part->offset, part->bytes, CAM_ELF_MAX_MINI, &e->mini_memory,
				   &e->mini_bytes);
	struct cam_bytes inside = cam_bytes_of_memory(e->mini_memory, e->mini_bytes);
	if (!error)
		error = cam_elf_load_debug(&inside, &e->mini);
	if (!error &&
	    (e->mini->file.is_64 != e->file.is_64 || e->mini->file.machine != e->file.machine)) {
		cam_elf_free(e->mini);
		e->mini = NULL;
	}
	return error == -ENOMEM ? error : 0;
}

int cam_elf_load(const struct cam_bytes *b, struct cam_elf **out)
{
	int error = load_as(cam_elf_file_read, b, out);
	if (!error)
		error = load_mini(*out, b);
	if (error == -ENOMEM && *out) {
		cam_elf_free(*out);
		*out = NULL;
	}
	return error;
}

const struct cam_elf *cam_elf_mini(const struct cam_elf *e, struct cam_bytes *b)
{
	*b = cam_bytes_of_memory(e->mini_memory, e->mini_bytes);
	return e->mini;
}

int cam_elf_load_debug(const struct cam_bytes *b, struct cam_elf **out)
{
	return load_as(cam_elf_file_read_debug, b, out);
}

void cam_elf_free(struct cam_elf *e)
{
	for (int kind = 0; e && kind < CAM_ELF_KINDS; kind++) {
		free(e->sides[kind].sized.rows);
		free(e->sides[kind].unsized.rows);
	}
	if (e) {
		cam_elf_free(e->mini);
		free(e->mini_memory);
	}
	free(e);
}

size_t cam_elf_memory(const struct cam_elf *e)
{
	size_t rows = 0;
	for (int kind = 0; kind < CAM_ELF_KINDS; kind++)
		rows += e->sides[kind].sized.n + e->sides[kind].unsized.n;
	return sizeof(*e) + rows * sizeof(struct row) + e->mini_bytes +
	       (e->mini ? cam_elf_memory(e->mini) : 0);
}

const struct cam_elf_file *cam_elf_outline(const struct cam_elf *e)
{
	return &e->file;
}

struct cam_text cam_elf_build_id(const struct cam_elf *e)
{
	return (struct cam_text){(const char *)e->file.build_id, e->file.build_id_bytes};
}

/* The last row that starts at or before the offset. */
static uint32_t last_before(const struct list *list, uint64_t offset)
{
	size_t low = 0, high = list->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list->rows[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint32_t)low - 1 : NONE;
}

static bool holds(const struct row *r, uint64_t offset)
{
	return offset >= r->start && offset - r->start < r->bytes;
}

static uint32_t innermost(const struct list *list, uint64_t offset)
{
	uint32_t i = last_before(list, offset);
	for (unsigned int climb = 0; i != NONE && !holds(&list->rows[i], offset); climb++)
		i = climb < MAX_CLIMB ? list->rows[i].up : NONE;
	return i;
}

/* The raw name, NUL-terminated, its @VERSION cut off; empty: no name. Longer ones are cut. */
static int read_name(const struct query *q, enum cam_elf_kind kind, uint32_t name,
		     char room[CAM_ELF_MAX_NAME + 1], struct cam_text *out)
{
	const struct cam_elf_table *t = &q->e->file.symbols[kind];
	size_t got = 0;
	char *end = NULL;
	while (!end && got < CAM_ELF_MAX_NAME) {
		if (name + (uint64_t)got >= t->strings_bytes)
			return -EBADMSG;
		uint64_t left = t->strings_bytes - name - got;
		size_t n = got ? CAM_ELF_MAX_NAME - got : 128; /* most names are short */
		n = n < left ? n : (size_t)left;
		int error = cam_bytes_read(q->b, t->strings_at + name + got, room + got, n);
		if (error)
			return error;
		end = memchr(room + got, 0, n);
		got += n;
	}
	*out = (struct cam_text){room, end ? (size_t)(end - room) : got};
	char *version = memchr(room, '@', out->n);
	if (version && version != room)
		out->n = (size_t)(version - room);
	room[out->n] = 0;
	return 0;
}

/* Takes what is about to be done out of *work; false: there is not enough left. */
static bool pay(uint64_t *work, uint64_t bytes)
{
	bool enough = *work > bytes;
	*work = enough ? *work - bytes : 0;
	return enough;
}

static size_t underscores(struct cam_text t)
{
	size_t n = 0;
	while (n < t.n && t.p[n] == '_')
		n++;
	return n;
}

static bool is_better(struct cam_text a, struct cam_text than)
{
	size_t mine = underscores(a), others = underscores(than);
	return mine != others ? mine < others : a.n > than.n;
}

/* The best binding among the rows that start where row *at does and hold the offset; *at becomes
 * the first of them, *end the row behind them. */
static uint32_t best_binding(const struct list *list, uint64_t offset, uint32_t *at, uint32_t *end)
{
	uint64_t start = list->rows[*at].start;
	uint32_t best = BOUND_WEAK, i;
	while (*at && list->rows[*at - 1].start == start)
		--*at;
	for (i = *at; i < list->n && list->rows[i].start == start; i++) {
		if (holds(&list->rows[i], offset) && list->rows[i].binding < best)
			best = list->rows[i].binding;
	}
	*end = i;
	return best;
}

/* Chooses among the rows that start where row `at` does. */
static int choose_name(const struct query *q, enum cam_elf_kind kind, const struct list *list,
		       uint32_t at, struct cam_elf_hit *hit)
{
	char raw[CAM_ELF_MAX_NAME + 1], readable[CAM_ELF_MAX_NAME];
	uint32_t end, best = best_binding(list, q->offset, &at, &end);
	unsigned int ties = 0;
	hit->name = (struct cam_text){hit->room, 0};
	hit->start = list->rows[at].start;
	hit->source = kind == CAM_ELF_SYMTAB ? CAM_NAME_SYMTAB : CAM_NAME_DYNSYM;
	if (!pay(q->work, (uint64_t)(end - at) * sizeof(struct row)))
		return 0;
	for (uint32_t i = at; i < end && ties < MAX_TIES; i++) {
		struct cam_text name;
		if (!holds(&list->rows[i], q->offset) || list->rows[i].binding != best)
			continue;
		ties++;
		int error = read_name(q, kind, list->rows[i].name, raw, &name);
		if (error)
			return error;
		if (!pay(q->work, name.n))
			break;
		name = cam_demangle(name, readable, sizeof(readable), q->work);
		if (name.n && (!hit->name.n || is_better(name, hit->name))) {
			memcpy(hit->room, name.p, name.n);
			hit->name.n = name.n;
		}
	}
	return hit->name.n != 0;
}

/* Whether any symbol with a size holds the offset, or starts in [from, offset]. */
static bool sized_symbol_near(const struct cam_elf *e, uint64_t from, uint64_t offset)
{
	for (int kind = 0; kind < CAM_ELF_KINDS; kind++) {
		const struct list *list = &e->sides[kind].sized;
		uint32_t i = last_before(list, offset);
		if (i != NONE && list->rows[i].start >= from)
			return true;
		if (innermost(list, from) != NONE)
			return true;
	}
	return false;
}

static int find_unsized(const struct query *q, struct cam_elf_hit *hit)
{
	int best = CAM_ELF_KINDS;
	uint32_t at = NONE;
	uint64_t start = 0;
	for (int kind = 0; kind < CAM_ELF_KINDS; kind++) {
		const struct list *list = &q->e->sides[kind].unsized;
		uint32_t i = last_before(list, q->offset);
		if (i != NONE && (at == NONE || list->rows[i].start > start)) {
			best = kind;
			at = i;
			start = list->rows[i].start;
		}
	}
	if (at == NONE || !holds(&q->e->sides[best].unsized.rows[at], q->offset) ||
	    sized_symbol_near(q->e, start, q->offset))
		return 0;
	return choose_name(q, best, &q->e->sides[best].unsized, at, hit);
}

static int find_stub(const struct query *q, struct cam_elf_hit *hit)
{
	const struct cam_text suffix = CAM_TEXT("@plt");
	char raw[CAM_ELF_MAX_NAME + 1];
	struct cam_text name;
	uint32_t name_at;
	int error = cam_plt_find(&q->e->file, q->b, q->offset, q->work, &hit->start, &name_at);
	if (error <= 0)
		return error;
	error = read_name(q, CAM_ELF_DYNSYM, name_at, raw, &name);
	if (error)
		return error;
	size_t room = sizeof(hit->room) - suffix.n;
	name = cam_demangle(name, hit->room, room, q->work);
	if (!name.n || !pay(q->work, name.n))
		return 0;
	if (name.n > room)
		name.n = room;
	memmove(hit->room, name.p, name.n);
	memcpy(hit->room + name.n, suffix.p, suffix.n);
	hit->name = (struct cam_text){hit->room, name.n + suffix.n};
	hit->source = CAM_NAME_DYNSYM;
	return 1;
}

/* How far what row `at` is named holds, from its start on: only where it is as simple as nearly always, no other
 * symbol within or around it, nor one of the same start and another size. */
static uint64_t simple_end(const struct list *list, uint32_t at, uint64_t offset)
{
	const struct row *r = &list->rows[at];
	uint32_t last = last_before(list, offset);
	uint64_t end = r->start + r->bytes;
	if (list->rows[last].start != r->start)
		return 0;
	if (last + 1 < list->n && list->rows[last + 1].start < end)
		end = list->rows[last + 1].start;
	for (uint32_t i = last; list->rows[i].start == r->start; i--) {
		if (list->rows[i].bytes != r->bytes)
			return 0;
		if (!i)
			break;
	}
	return end;
}

int cam_elf_find(const struct cam_elf *e, const struct cam_bytes *b, uint64_t offset,
		 uint64_t *work, struct cam_elf_hit *hit)
{
	struct query q = {e, b, offset, work};
	hit->end = 0;
	if (!*work)
		return 0;
	for (int kind = 0; kind < CAM_ELF_KINDS; kind++) {
		const struct list *list = &e->sides[kind].sized;
		uint32_t i = innermost(list, offset);
		if (i == NONE)
			continue;
		/* A symbol of the other list might hold a part of it. */
		if (kind == 0 || !e->sides[0].sized.n)
			hit->end = simple_end(list, i, offset);
		return choose_name(&q, kind, list, i, hit);
	}
	int found = find_stub(&q, hit);
	return found ? found : find_unsized(&q, hit);
}

bool cam_elf_is_bare(const struct cam_elf *e, uint64_t from, uint64_t end)
{
	for (uint32_t i = 0; i < e->file.n_stubs; i++) {
		const struct cam_elf_stubs *s = &e->file.stubs[i];
		if (s->offset < end && from < s->offset + s->bytes)
			return false;
	}
	for (int kind = 0; kind < CAM_ELF_KINDS; kind++) {
		const struct list *lists[] = {&e->sides[kind].sized, &e->sides[kind].unsized};
		for (int i = 0; i < 2; i++) {
			uint32_t last = last_before(lists[i], end - 1);
			/* What starts before and holds one of them holds the first, too. */
			if (last != NONE && (lists[i]->rows[last].start >= from ||
					     innermost(lists[i], from) != NONE))
				return false;
		}
	}
	return true;
}
