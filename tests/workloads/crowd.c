// SPDX-License-Identifier: Apache-2.0
/*
 * A million functions, all of which run: code of its own making that calls them in an order without
 * any order, each for some microseconds, so that hardly two samples are of the same one.
 *
 *	crowd map SECONDS	code made at run time, told of in /tmp/perf-PID.map
 *	crowd elf SECONDS FILE	a program with as many symbols, made as FILE, which it becomes
 *
 * The seconds are of its CPU time; SIGVTALRM ends it. Function n is crowd_N, N being n in seven hexadecimal digits; it takes EACH bytes.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define CROWD	  (1u << 20)
#define EACH	  16u
#define FIRST	  4096u /* where function 0 is in the code; before it is who calls them */
#define CODE_SIZE (FIRST + CROWD * EACH)
#define LOADED_AT 0x10000000u
#define NAME_SIZE 14u

static const uint8_t caller_code[] = {
	0x48, 0x8d, 0x1d, 0xf9, 0x0f, 0x00, 0x00, /* lea FIRST - 7(%rip),%rbx */
	0xb8, 0x01, 0x00, 0x00, 0x00,		  /* mov $1,%eax */
	0x69, 0xc0, 0x0d, 0x66, 0x19, 0x00,	  /* 1: imul $1664525,%eax */
	0x05, 0x5f, 0xf3, 0x6e, 0x3c,		  /* add $1013904223,%eax */
	0x89, 0xc2,				  /* mov %eax,%edx */
	0xc1, 0xea, 0x0c,			  /* shr $12,%edx */
	0x48, 0xc1, 0xe2, 0x04,			  /* shl $4,%rdx */
	0x48, 0x01, 0xda,			  /* add %rbx,%rdx */
	0x50, 0xff, 0xd2, 0x58,			  /* push %rax; call *%rdx; pop %rax */
	0xeb, 0xe3,				  /* jmp 1b */
};
static const uint8_t function_code[EACH] = {
	0x55, 0x48, 0x89, 0xe5,	      /* push %rbp; mov %rsp,%rbp */
	0xb9, 0x00, 0x20, 0x00, 0x00, /* mov $0x2000,%ecx */
	0xff, 0xc9, 0x75, 0xfc,	      /* dec %ecx; jnz -4 */
	0x5d, 0xc3, 0x90,	      /* pop %rbp; ret; nop */
};

static void make_code(uint8_t *code)
{
	memcpy(code, caller_code, sizeof(caller_code));
	for (uint32_t i = 0; i < CROWD; i++)
		memcpy(code + FIRST + i * EACH, function_code, EACH);
}

static void end_after(unsigned seconds)
{
	struct itimerval end = {.it_value = {seconds, 0}};
	setitimer(ITIMER_VIRTUAL, &end, NULL);
}

static void run_here(unsigned seconds)
{
	char path[64];
	uint8_t *code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		exit(1);
	make_code(code);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		exit(1);
	for (uint32_t i = 0; i < CROWD; i++)
		fprintf(map, "%lx %x crowd_%07x\n", (unsigned long)(code + FIRST + i * EACH), EACH,
			i);
	if (fclose(map))
		exit(1);
	end_after(seconds);
	((void (*)(void))(void *)code)();
}

/* What is in the file behind its code, in this order: symbols, their names, names of sections, sections. */
static void write_program(FILE *f)
{
	static const char sections[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	uint64_t symbols = 4096 + CODE_SIZE, names = symbols + (CROWD + 1) * sizeof(Elf64_Sym);
	uint64_t titles = names + 1 + CROWD * NAME_SIZE,
		 headers = (titles + sizeof(sections) + 7) & ~7ull;
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = 1,
			.e_entry = LOADED_AT,
			.e_phoff = sizeof(e),
			.e_shoff = headers,
			.e_ehsize = sizeof(e),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 5,
			.e_shstrndx = 4};
	Elf64_Phdr p = {PT_LOAD,   PF_R | PF_X, 4096,	   LOADED_AT,
			LOADED_AT, CODE_SIZE,	CODE_SIZE, 4096};
	Elf64_Shdr s[5] = {
		{0},
		{1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, LOADED_AT, 4096, CODE_SIZE, 0, 0, 16,
		 0},
		{7, SHT_SYMTAB, 0, 0, symbols, names - symbols, 3, 1, 8, sizeof(Elf64_Sym)},
		{15, SHT_STRTAB, 0, 0, names, titles - names, 0, 0, 1, 0},
		{23, SHT_STRTAB, 0, 0, titles, sizeof(sections), 0, 0, 1, 0},
	};
	uint8_t *code = malloc(CODE_SIZE);
	Elf64_Sym symbol = {0};
	if (!code)
		exit(1);
	memset(code, 0, FIRST);
	make_code(code);
	fwrite(&e, sizeof(e), 1, f);
	fwrite(&p, sizeof(p), 1, f);
	fseek(f, 4096, SEEK_SET);
	fwrite(code, CODE_SIZE, 1, f);
	fwrite(&symbol, sizeof(symbol), 1, f);
	for (uint32_t i = 0; i < CROWD; i++) {
		symbol = (Elf64_Sym){1 + i * NAME_SIZE,
				     ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     0,
				     1,
				     LOADED_AT + FIRST + i * EACH,
				     EACH};
		fwrite(&symbol, sizeof(symbol), 1, f);
	}
	fputc(0, f);
	for (uint32_t i = 0; i < CROWD; i++)
		fprintf(f, "crowd_%07x%c", i, 0);
	fwrite(sections, sizeof(sections), 1, f);
	fseek(f, (long)headers, SEEK_SET);
	fwrite(s, sizeof(s), 1, f);
	free(code);
}

static void become(unsigned seconds, const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(1);
	write_program(f);
	if (fclose(f) || chmod(path, 0755))
		exit(1);
	/* It outlives the exec: that program needs no system call to end. */
	end_after(seconds);
	execl(path, path, (char *)NULL);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "map") == 0)
		run_here((unsigned)atoi(argv[2]));
	else if (argc == 4 && strcmp(argv[1], "elf") == 0)
		become((unsigned)atoi(argv[2]), argv[3]);
	return 2;
}
