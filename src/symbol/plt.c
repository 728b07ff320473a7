// SPDX-License-Identifier: Apache-2.0
/*
 * Example: a stub of .plt at 0x1030 is `ff 25 e2 2f 00 00`: jmp *0x2fe2(%rip), which ends at
 * 0x1036, so its slot is 0x4018. .rela.plt has a row {0x4018, R_X86_64_JUMP_SLOT, symbol 3};
 * .dynsym's row 3 is "puts": the stub is puts@plt.
 */
#include "symbol/plt.h"

#include <elf.h>
#include <errno.h>

/* The address of the slot that the stub's jump goes through; 0: there is no such jump. */
static uint64_t slot_of(const uint8_t *stub, size_t n, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t i = 0;
	if (n >= sizeof(endbr64) && !memcmp(stub, endbr64, sizeof(endbr64)))
		i += sizeof(endbr64);
	if (i < n && stub[i] == 0xf2) /* bnd */
		i++;
	if (n - i < 6 || stub[i] != 0xff || stub[i + 1] != 0x25)
		return 0;
	return address + i + 6 + (uint64_t)(int64_t)(int32_t)cam_get32(stub + i + 2);
}

/* The symbol that is put into the slot; 0: none. */
static int symbol_of(const struct cam_elf_file *f, const struct cam_bytes *b, uint64_t slot,
		     uint64_t *work, uint32_t *symbol)
{
	*symbol = 0;
	for (size_t t = 0; t < 2; t++) {
		struct cam_rows rows;
		const uint8_t *row;
		uint64_t n = f->relocations[t].rows;
		if (n > *work / sizeof(Elf64_Rela))
			n = *work / sizeof(Elf64_Rela);
		int error = cam_rows_start(&rows, b, f->relocations[t].at, n, sizeof(Elf64_Rela));
		if (error)
			return error;
		while ((row = cam_rows_next(&rows))) {
			*work -= sizeof(Elf64_Rela);
			uint64_t info = cam_get64(row + offsetof(Elf64_Rela, r_info));
			uint32_t type = ELF64_R_TYPE(info);
			if (cam_get64(row) != slot ||
			    (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT))
				continue;
			*symbol = (uint32_t)ELF64_R_SYM(info);
			return 0;
		}
		if (rows.error)
			return rows.error;
	}
	return 0;
}

int cam_plt_find(const struct cam_elf_file *f, const struct cam_bytes *b, uint64_t offset,
		 uint64_t *work, uint64_t *start, uint32_t *name)
{
	const struct cam_elf_table *symbols = &f->symbols[CAM_ELF_DYNSYM];
	const struct cam_elf_stubs *s = f->stubs;
	while (s < f->stubs + f->n_stubs && (offset < s->offset || offset - s->offset >= s->bytes))
		s++;
	if (s == f->stubs + f->n_stubs)
		return 0;
	uint8_t stub[16], row[sizeof(Elf64_Sym)];
	uint64_t before = (offset - s->offset) / s->stub_bytes * s->stub_bytes;
	uint64_t left = s->bytes - before;
	size_t n = left < s->stub_bytes ? (size_t)left : s->stub_bytes;
	uint32_t symbol;
	int error = cam_bytes_read(b, s->offset + before, stub, n);
	if (error)
		return error;
	uint64_t slot = slot_of(stub, n, s->address + before);
	if (!slot)
		return 0;
	error = symbol_of(f, b, slot, work, &symbol);
	if (error || !symbol || symbol >= symbols->rows)
		return error;
	error = cam_bytes_read(b, symbols->at + (uint64_t)symbol * sizeof(row), row, sizeof(row));
	if (error)
		return error;
	*start = s->offset + before;
	*name = cam_get32(row);
	return *name != 0;
}
