// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of a Go program, from the table that its own runtime walks stacks by (.gopclntab): a program that was
 * stripped, or built with -ldflags=-s, still has it.
 *
 * Sides: elf.c, where a file has no .symtab; the file may be anybody's.
 * Go 1.18 and later, 64 bits. Entries are counted from where Go's code starts, which the table says; where it does
 * not, the program's entry point tells, if Go's own start routine is seen to be there. Else nothing is known: a wrong
 * place would give each function another's name.
 * Bounds: as many functions as fn takes; the table is read once, in blocks, whatever it says.
 */
#pragma once
#include "symbol/elf_file.h"

/* [address, address + bytes) has the name at that offset of the names. An error ends it and is returned. */
typedef int cam_gopclntab_fn(void *arg, uint64_t address, uint64_t bytes, uint32_t name);

/* Where the names lie in the file; each ends with a NUL. */
struct cam_gopclntab_names {
	uint64_t at, bytes;
};

/* 0; -ENODATA: there is no such table, or of a version that is not known; -EBADMSG: it contradicts itself; functions that
 * were told before are right. */
int cam_gopclntab_read(const struct cam_elf_file *f, const struct cam_bytes *b,
		       struct cam_gopclntab_names *names, cam_gopclntab_fn *fn, void *arg);
