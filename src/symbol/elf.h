// SPDX-License-Identifier: Apache-2.0
/*
 * Function names of an ELF file by file offset, from .symtab and .dynsym; of a Go program without .symtab from .gopclntab.
 *
 * Sides: the symboliser (or a test) hands over a file that anyone may have made.
 * Offsets are offsets into the file, never addresses: the two differ by what the program headers
 * say, and an offset is what a mapping knows without reading the file.
 * Ownership: struct cam_elf is the caller's until cam_elf_free(); it does not keep the file open:
 * names stay in the file and are read when they are asked for, so that a table of 500,000
 * functions takes 12 MB, not 60.
 * Bounds: CAM_ELF_MAX_* (also in elf_file.h); memory is allocated only for symbols that were
 * actually read. One load reads a table once.
 * What names an offset, best first:
 *   1. the innermost symbol of .symtab whose [value, value + size) holds it; else of .dynsym;
 *   2. a jump stub (.plt, .plt.sec, .plt.got; x86-64): the name it jumps to, with "@plt";
 *   3. a symbol of .symtab without size, of code that is a function or (assembler) not said to be one: up
 *      to the next symbol, inside its section, and only if it does not itself lie inside a sized one. The
 *      model has no mark for this weaker knowledge; the order is how it is carried.
 * An offset that none of them holds has no name: the nearest symbol before it is not it.
 * Of several symbols with the same start perf's choice is taken: not weak, then global, then the
 * fewest leading underscores, then the longest readable name, then the first in the table.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"
#include "symbol/elf_file.h"

#define CAM_ELF_MAX_SYMBOLS   (8u << 20) /* rows of a table that are looked at; more is -E2BIG */
#define CAM_ELF_MAX_FUNCTIONS (2u << 20) /* kept of one file, 24 bytes each; more is -E2BIG */
#define CAM_ELF_MAX_NAME      4096u
#define CAM_ELF_MAX_MINI      (32u << 20) /* bytes of .gnu_debugdata once inflated; more is left out */

struct cam_elf;

/* -EBADMSG: not a little-endian ELF file, or one whose tables do not fit it; -E2BIG; -ENOMEM; or
 * what pread said. A file without symbols is no error. */
int cam_elf_load(const struct cam_bytes *b, struct cam_elf **out);
/* The same of a file with debug information only: offsets are addresses (elf_file.h). */
int cam_elf_load_debug(const struct cam_bytes *b, struct cam_elf **out);
void cam_elf_free(struct cam_elf *e);
size_t cam_elf_memory(const struct cam_elf *e);
/* The symbols that a stripped file carries along (.gnu_debugdata), and how to read them, by addresses as those of
 * cam_elf_load_debug(); NULL: it has none. Borrowed from e. */
const struct cam_elf *cam_elf_mini(const struct cam_elf *e, struct cam_bytes *b);
/* Borrowed from e. */
const struct cam_elf_file *cam_elf_outline(const struct cam_elf *e);
/* Raw bytes, borrowed from e; empty: it has none. */
struct cam_text cam_elf_build_id(const struct cam_elf *e);

struct cam_elf_hit {
	uint64_t start; /* of the function, a file offset */
	uint64_t end;	/* all of [start, end) is found so; 0: not known of more than the offset */
	enum cam_name_source source;
	struct cam_text name; /* demangled, without @VERSION; borrowed from the room below */
	char room[CAM_ELF_MAX_NAME];
};

/*
 * 1: named; 0: has no name; an error: what reading the name met (-EBADMSG: it does not end, or
 * lies outside). *work is how many bytes of tables and names this caller may still cause to be
 * looked at; it is counted down, and at 0 nothing has a name. (A crafted file can give one offset
 * two million symbols; an honest one takes a few hundred bytes an offset.)
 */
int cam_elf_find(const struct cam_elf *e, const struct cam_bytes *b, uint64_t offset,
		 uint64_t *work, struct cam_elf_hit *hit);
/* Whether cam_elf_find() has nothing for any offset of [from, end), of which there is at least one. */
bool cam_elf_is_bare(const struct cam_elf *e, uint64_t from, uint64_t end);
