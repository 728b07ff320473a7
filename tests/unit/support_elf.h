// SPDX-License-Identifier: Apache-2.0
/* ELF files made by hand, right or wrong in any field: what no linker would write. */
#pragma once
#include "base/buf.h"
#include "symbol/bytes.h"

#include <elf.h>

/*
 * A file whose code is [0x1000, 0x1000 + code_bytes) at address 0x401000 and in one section, with
 * one symbol table. Order: header, program header, section headers, (code, not in the bytes),
 * symbols, strings. Fields may be changed before made_elf_finish() puts them in.
 */
struct made_elf {
	Elf64_Ehdr head;
	Elf64_Phdr code;
	Elf64_Shdr sections[5]; /* none, .text, .symtab, .strtab, one more */
	struct cam_buf symbols, strings;
};

enum { MADE_TEXT = 1, MADE_SYMBOLS, MADE_STRINGS, MADE_OTHER };
#define MADE_CODE_AT	  0x1000u
#define MADE_CODE_ADDRESS 0x401000u

void made_elf_start(struct made_elf *m, uint64_t code_bytes);
/* A global function at this offset of the file. */
void made_elf_add(struct made_elf *m, uint64_t offset, uint64_t bytes, const char *name);
/* Sets the places of the tables, as they will be in the file. */
void made_elf_place(struct made_elf *m);
/* The file, at least as far as the code's end; frees the tables. */
struct cam_buf made_elf_finish(struct made_elf *m);
