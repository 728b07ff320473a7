// SPDX-License-Identifier: Apache-2.0
#include "support_elf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MAX_BYTES (512u << 20)

void made_elf_start(struct made_elf *m, uint64_t code_bytes)
{
	*m = (struct made_elf){
		.head =
			{
				.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_EXEC,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = sizeof(Elf64_Ehdr),
				.e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 1,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = MADE_OTHER,
			},
		.code =
			{
				.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = MADE_CODE_AT,
				.p_vaddr = MADE_CODE_ADDRESS,
				.p_filesz = code_bytes,
				.p_memsz = code_bytes,
				.p_align = 0x1000,
			},
		.symbols = CAM_BUF(MAX_BYTES),
		.strings = CAM_BUF(MAX_BYTES),
	};
	m->sections[MADE_TEXT] = (Elf64_Shdr){
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = MADE_CODE_ADDRESS,
		.sh_offset = MADE_CODE_AT,
		.sh_size = code_bytes,
	};
	Elf64_Sym none = {0};
	cam_buf_put(&m->symbols, &none, sizeof(none));
	cam_buf_put_u8(&m->strings, 0);
}

void made_elf_add(struct made_elf *m, uint64_t offset, uint64_t bytes, const char *name)
{
	Elf64_Sym s = {
		.st_name = (uint32_t)m->strings.len,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = MADE_TEXT,
		.st_value = offset - MADE_CODE_AT + MADE_CODE_ADDRESS,
		.st_size = bytes,
	};
	cam_buf_put(&m->symbols, &s, sizeof(s));
	cam_buf_put(&m->strings, name, strlen(name) + 1);
}

void made_elf_place(struct made_elf *m)
{
	uint64_t at = MADE_CODE_AT + m->code.p_filesz;
	m->sections[MADE_SYMBOLS] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = at,
		.sh_size = m->symbols.len,
		.sh_link = MADE_STRINGS,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	m->sections[MADE_STRINGS] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = at + m->symbols.len,
		.sh_size = m->strings.len,
	};
}

struct cam_buf made_elf_finish(struct made_elf *m)
{
	struct cam_buf b = CAM_BUF(MAX_BYTES);
	cam_buf_put(&b, &m->head, sizeof(m->head));
	cam_buf_put(&b, &m->code, sizeof(m->code));
	cam_buf_put(&b, m->sections, sizeof(m->sections));
	size_t code_end = MADE_CODE_AT + (size_t)m->code.p_filesz, before = b.len;
	uint8_t *room = cam_buf_reserve(&b, code_end - before);
	assert_non_null(room);
	memset(room, 0x90, code_end - before);
	b.len = code_end;
	cam_buf_put(&b, m->symbols.data, m->symbols.len);
	cam_buf_put(&b, m->strings.data, m->strings.len);
	assert_int_equal(cam_buf_error(&b) | m->symbols.error | m->strings.error, 0);
	cam_buf_free(&m->symbols);
	cam_buf_free(&m->strings);
	return b;
}
