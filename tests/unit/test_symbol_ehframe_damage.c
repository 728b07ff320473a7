// SPDX-License-Identifier: Apache-2.0
/* Tables of files that lie: each byte changed, each length, real files shot at, and the worst we can make. */
#include "support_frames.h"
#include "support_oracle.h"
#include "symbol/frame_index.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Whatever the bytes are: a table that keeps its promises (frames_of_bytes checks them), or an error. */
static void try_bytes(const uint8_t *bytes, size_t n)
{
	struct cam_bytes b = cam_bytes_of_memory(bytes, n);
	struct cam_elf_file f;
	struct frames frames;
	int error = frames_of_bytes(&b, &frames);
	assert_true(!error || error == -EBADMSG || error == -E2BIG || error == -ENOEXEC);
	frames_free(&frames);
	if (cam_elf_file_read(&f, &b))
		return;
	for (uint64_t at = 0, stop; at < n; at += 1 + n / 8) {
		assert_true(cam_frame_index_start(&f, &b, at, &stop) <= at);
		assert_true(!stop || stop > at);
	}
}

#define SMALL                                                                               \
	"gcc -nostdlib -static -s -Wl,--build-id=none -Wl,-z,noseparate-code -o %2$s %1$s " \
	"2>/dev/null"

static struct cam_buf small_elf(void)
{
	return oracle_run("cat %s", oracle_build("frames_odd.S", SMALL));
}

static void test_each_byte_changed(void **state)
{
	struct cam_buf b = small_elf();
	(void)state;
	for (size_t i = 0; i < b.len; i++) {
		uint8_t was = b.data[i];
		for (unsigned int k = 0; k < 4; k++) {
			b.data[i] = (uint8_t[]){0, 0xff, was ^ 0x80, was + 1}[k];
			try_bytes(b.data, b.len);
		}
		b.data[i] = was;
	}
	cam_buf_free(&b);
}

static void test_each_length(void **state)
{
	struct cam_buf b = small_elf();
	(void)state;
	for (size_t n = 0; n <= b.len; n++) {
		uint8_t *exact =
			malloc(n ? n : 1); /* so that a sanitizer sees what is read beyond */
		memcpy(exact, b.data, n);
		try_bytes(exact, n);
		free(exact);
	}
	cam_buf_free(&b);
}

static void test_real_files_shot_at(void **state)
{
	struct cam_buf b = oracle_run("cat /lib64/ld-linux-x86-64.so.2");
	uint8_t *copy = malloc(b.len);
	struct cam_bytes whole = cam_bytes_of_memory(b.data, b.len);
	struct cam_elf_file f;
	(void)state;
	assert_non_null(copy);
	assert_int_equal(cam_elf_file_read(&f, &whole), 0);
	assert_true(f.eh_frame.bytes > 1000 && f.frame_index.bytes > 1000);
	srand(7);
	for (unsigned int round = 0; round < 300; round++) {
		memcpy(copy, b.data, b.len);
		for (unsigned int i = 0; i < 1u << round % 8; i++) {
			const struct cam_elf_segment *s = i % 4 ? &f.eh_frame : &f.frame_index;
			copy[s->offset + (uint64_t)rand() % s->bytes] = (uint8_t)rand();
		}
		try_bytes(copy, b.len);
	}
	free(copy);
	cam_buf_free(&b);
}

/* An ELF file of one executable segment of `code` bytes at 0x10000000 and an .eh_frame of these bytes. */
static struct cam_buf made(uint64_t code, const uint8_t *frames, size_t n)
{
	struct cam_buf b = CAM_BUF(256u << 20);
	static const char names[] = "\0.eh_frame";
	uint64_t names_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 3 * sizeof(Elf64_Shdr);
	uint64_t frames_at = names_at + sizeof(names);
	Elf64_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sizeof(head) + sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = 0x10000000,
		.p_filesz = code,
		.p_memsz = code,
	};
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names)},
		{.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = frames_at, .sh_size = n},
	};
	cam_buf_put(&b, &head, sizeof(head));
	cam_buf_put(&b, &segment, sizeof(segment));
	cam_buf_put(&b, sections, sizeof(sections));
	cam_buf_put(&b, names, sizeof(names));
	cam_buf_put(&b, frames, n);
	assert_int_equal(cam_buf_error(&b), 0);
	return b;
}

/* CIE: version 1, no augmentation (absolute addresses), CFA rsp + 8, ra at CFA - 8. */
static const uint8_t cie[] = {16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 12, 7, 8, 0x90, 1, 0, 0};

static void put_fde(struct cam_buf *b, uint64_t start, uint64_t bytes, const uint8_t *program,
		    size_t n)
{
	cam_buf_put_u32(b, (uint32_t)(20 + n));
	cam_buf_put_u32(b, (uint32_t)b->len);
	cam_buf_put_u64(b, start);
	cam_buf_put_u64(b, bytes);
	cam_buf_put(b, program, n);
}

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Its table, and no more CPU time than a few seconds. */
static int timed(struct cam_buf *frames, uint64_t code, struct frames *out)
{
	struct cam_buf b = made(code, frames->data, frames->len);
	assert_int_equal(cam_buf_error(frames), 0);
	if (b.len < code)
		cam_buf_reserve(&b, code - b.len);
	struct cam_bytes bytes = cam_bytes_of_memory(b.data, code > b.len ? code : b.len);
	double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int error = frames_of_bytes(&bytes, out);
	assert_true(seconds(CLOCK_PROCESS_CPUTIME_ID) - before < 10);
	cam_buf_free(frames);
	cam_buf_free(&b);
	return error;
}

/* More rows than a table may have, and more rules: what is beyond is UNSUPPORTED. */
static void test_more_than_fits(void **state)
{
	struct cam_buf b = CAM_BUF(64u << 20);
	struct frames f;
	uint64_t code = 32u << 20;
	(void)state;
	cam_buf_put(&b, cie, sizeof(cie));
	for (uint32_t i = 0; i < 9000; i++) {
		uint8_t program[2048];
		for (uint32_t k = 0; k < sizeof(program); k += 2) {
			program[k] = 0x0e; /* def_cfa_offset: 128 of them in all */
			program[k + 1] = (uint8_t)(k / 2 % 128);
			if (k % 4 == 2)
				program[k] = 0x41, program[k + 1] = 0x41; /* advance 1 */
		}
		put_fde(&b, 0x10000000 + (uint64_t)i * 1024, 1024, program, sizeof(program));
	}
	assert_int_equal(timed(&b, code, &f), 0);
	assert_int_equal(f.n_rows, CAM_UNWIND_MAX_ROWS);
	assert_int_equal(frames_rule(&f, 8999 * 1024)->cfa, CAM_CFA_UNSUPPORTED);
	frames_free(&f);

	b = CAM_BUF(64u << 20);
	cam_buf_put(&b, cie, sizeof(cie));
	for (uint32_t i = 0; i < 6000; i++) {
		uint8_t program[] = {0x0e, (uint8_t)(0x80 | (i & 0x7f)), (uint8_t)(i >> 7), 0};
		put_fde(&b, 0x10000000 + (uint64_t)i * 16, 16, program, sizeof(program));
	}
	assert_int_equal(timed(&b, code, &f), 0);
	assert_int_equal(f.n_rules, CAM_UNWIND_MAX_RULES);
	assert_int_equal(frames_rule(&f, 4000 * 16)->cfa_offset, 4000);
	assert_int_equal(frames_rule(&f, 5999 * 16)->cfa, CAM_CFA_UNSUPPORTED);
	frames_free(&f);
}

/* 32 MiB of instructions that make nothing; of CIEs; of functions on top of each other. */
static void test_no_file_takes_long(void **state)
{
	struct cam_buf b = CAM_BUF(64u << 20);
	uint8_t *remember = malloc(30u << 20);
	struct frames f;
	(void)state;
	assert_non_null(remember);
	memset(remember, 0, 30u << 20);
	cam_buf_put(&b, cie, sizeof(cie));
	put_fde(&b, 0x10000000, 4096, remember, 30u << 20);
	assert_int_equal(timed(&b, 1u << 20, &f), 0);
	frames_free(&f);
	free(remember);

	b = CAM_BUF(64u << 20);
	for (uint32_t i = 0; i < CAM_EHFRAME_MAX_CIES + 1; i++)
		cam_buf_put(&b, cie, sizeof(cie));
	assert_int_equal(timed(&b, 1u << 20, &f), -E2BIG);
	frames_free(&f);

	b = CAM_BUF(64u << 20);
	cam_buf_put(&b, cie, sizeof(cie));
	for (uint32_t i = 0; i < 1000000; i++)
		put_fde(&b, 0x10000000 + i % 7, 4096, (const uint8_t[]){0x41, 0, 0, 0}, 4);
	assert_int_equal(timed(&b, 1u << 20, &f), 0);
	assert_true(f.n_rows < 20);
	frames_free(&f);

	b = CAM_BUF(64u << 20);
	cam_buf_reserve(&b, CAM_EHFRAME_MAX_BYTES + 1);
	memset(b.data, 0, CAM_EHFRAME_MAX_BYTES + 1);
	b.len = CAM_EHFRAME_MAX_BYTES + 1;
	assert_int_equal(timed(&b, 1u << 20, &f), -E2BIG);
	frames_free(&f);
}

/* In no order, one inside the other, two that start alike, beyond the segment. */
static void test_functions_that_overlap(void **state)
{
	static const uint8_t program[] = {0x0e, 16, 0, 0};
	static const struct {
		uint64_t offset;
		const char *rule;
	} want[] = {
		{0x0ff, NULL},	   {0x100, "rsp+16"}, {0x1ff, "rsp+16"}, {0x200, "none"},
		{0x400, "rsp+32"}, {0x43f, "rsp+32"}, {0x440, "rsp+48"}, {0x44f, "rsp+48"},
		{0x450, "none"},   {0x600, "rsp+80"}, {0x6ff, "rsp+80"}, {0x700, "none"},
		{0xff0, "rsp+16"}, {0xfff, "rsp+16"}, {0x1000, "none"},
	};
	struct cam_buf b = CAM_BUF(1u << 20);
	struct frames f;
	(void)state;
	cam_buf_put(&b, cie, sizeof(cie));
	put_fde(&b, 0x10000600, 0x80, (const uint8_t[]){0x0e, 64, 0, 0}, 4);
	put_fde(&b, 0x10000600, 0x100, (const uint8_t[]){0x0e, 80, 0, 0}, 4);
	put_fde(&b, 0x10000400, 0x100, (const uint8_t[]){0x0e, 32, 0, 0}, 4);
	put_fde(&b, 0x10000440, 0x10, (const uint8_t[]){0x0e, 48, 0, 0}, 4);
	put_fde(&b, 0x10000ff0, 0x100, program, 4);
	put_fde(&b, 0x10002000, 0x100, program, 4);
	put_fde(&b, 0x10000100, 0x100, program, 4);
	put_fde(&b, 0, 0x100, program, 4);
	assert_int_equal(timed(&b, 0x1000, &f), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct cam_unwind_rule *r = frames_rule(&f, want[i].offset);
		assert_string_equal(frames_text(r), want[i].rule ? want[i].rule : "nothing");
	}
	frames_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_byte_changed),
		cmocka_unit_test(test_each_length),
		cmocka_unit_test(test_real_files_shot_at),
		cmocka_unit_test(test_more_than_fits),
		cmocka_unit_test(test_no_file_takes_long),
		cmocka_unit_test(test_functions_that_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
