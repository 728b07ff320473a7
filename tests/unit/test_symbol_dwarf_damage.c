// SPDX-License-Identifier: Apache-2.0
/* DWARF that lies: each byte of a small file changed, each length, a program shot at, and the worst we can make. */
#include "support_oracle.h"
#include "symbol/dwarf.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define WORK (64u << 20)

static struct cam_dwarf_hit hit;

/* Whatever the bytes are: answers in their bounds, memory in its bounds, and no more work than is paid for. Answers how
 * many addresses had something inlined. */
static unsigned try_bytes(const uint8_t *bytes, size_t n, unsigned finds)
{
	struct cam_bytes b = cam_bytes_of_memory(bytes, n);
	struct cam_elf_file f;
	struct cam_dwarf *d;
	uint64_t work = WORK;
	unsigned inlined = 0;
	if (cam_elf_file_read_debug(&f, &b) || cam_dwarf_open(&f, &b, &work, &d))
		return 0;
	for (unsigned i = 0; i < finds && f.n_segments; i++) {
		const struct cam_elf_segment *s = &f.segments[0];
		uint64_t address = s->address + s->bytes / finds * i;
		int found = cam_dwarf_find(d, &b, address, &work, &hit);
		assert_true(found <= 1 && hit.n_levels <= 1 + CAM_NAME_MAX_INLINED);
		if (found != 1)
			continue;
		inlined += hit.n_levels > 1;
		for (uint32_t k = 1; k < hit.n_levels; k++)
			assert_true(hit.levels[k].name.n != 0);
	}
	assert_true(cam_dwarf_memory(d) <
		    CAM_DWARF_INFLATED_BYTES + CAM_DWARF_UNIT_CACHE_BYTES + (8u << 20) + 64 * n);
	cam_dwarf_free(d);
	return inlined;
}

static struct cam_buf build(const char *command)
{
	return oracle_run("cat %s", oracle_build("inlines.c", command));
}

static struct cam_buf small_elf(int version)
{
	char command[256];
	snprintf(command, sizeof(command),
		 "gcc -gdwarf-%d -O2 -shared -nostdlib -fPIC -Wl,--build-id=none -o %%2$s.so %%1$s"
		 " && strip --only-keep-debug %%2$s.so -o %%2$s",
		 version);
	return build(command);
}

static void each_byte_changed_does_no_harm(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		struct cam_buf b = small_elf(version);
		assert_in_range(try_bytes(b.data, b.len, 64), 5, 64);
		for (size_t i = 0; i < b.len; i++) {
			uint8_t was = b.data[i];
			b.data[i] = (uint8_t[]){0, 0xff, was ^ 0x80, was + 1}[random() % 4];
			try_bytes(b.data, b.len, 8);
			b.data[i] = was;
		}
		cam_buf_free(&b);
	}
}

static void each_length_does_no_harm(void **state)
{
	(void)state;
	struct cam_buf b = small_elf(5);
	for (size_t n = 0; n <= b.len; n += 1 + n / 64) {
		uint8_t *exact =
			malloc(n ? n : 1); /* so that a sanitizer sees what is read beyond */
		memcpy(exact, b.data, n);
		try_bytes(exact, n, 8);
		free(exact);
	}
	cam_buf_free(&b);
}

/* Several wrong bytes at once, where the debug information is. */
static void programs_shot_at_do_no_harm(void **state)
{
	(void)state;
	static const char *const commands[] = {"gcc -g -O2 %s -o %s",
					       "clang -gdwarf-5 -O2 %s -o %s",
					       "gcc -g -gz=zlib -O2 %s -o %s",
					       "gcc -g -gdwarf-2 -O2 %s -o %s"};
	for (size_t c = 0; c < 4; c++) {
		struct cam_buf b = build(commands[c]);
		struct cam_bytes whole = cam_bytes_of_memory(b.data, b.len);
		struct cam_elf_file f;
		assert_int_equal(cam_elf_file_read_debug(&f, &whole), 0);
		for (unsigned round = 0; round < 1500; round++) {
			size_t at[4];
			uint8_t was[4];
			for (unsigned k = 0; k < 4; k++) {
				const struct cam_elf_part *p =
					&f.debug[random() % CAM_ELF_DWARF_PARTS];
				at[k] = p->bytes ? p->offset + (size_t)random() % p->bytes
						 : (size_t)random() % b.len;
				was[k] = b.data[at[k]];
				b.data[at[k]] = (uint8_t)random();
			}
			try_bytes(b.data, b.len, 16);
			for (unsigned k = 4; k--;)
				b.data[at[k]] = was[k];
		}
		assert_in_range(try_bytes(b.data, b.len, 256), 5, 256);
		cam_buf_free(&b);
	}
}

/* An ELF file around these sections, with code at [0x1000, 0x2000). */
static struct cam_buf wrap(const struct cam_buf *info, const struct cam_buf *abbrev,
			   const struct cam_buf *ranges)
{
	static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_ranges\0.shstrtab";
	const struct cam_buf text = {.data = (uint8_t *)names, .len = sizeof(names)};
	const struct cam_buf *parts[] = {info, abbrev, ranges, &text};
	static const uint32_t name_at[] = {1, 13, 27, 41};
	struct cam_buf out = CAM_BUF(256u << 20);
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shoff = sizeof(h) + sizeof(Elf64_Phdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 5,
			.e_shstrndx = 4};
	Elf64_Phdr p = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_memsz = 0x1000};
	Elf64_Shdr s[5] = {0};
	uint64_t at = h.e_shoff + sizeof(s);
	for (int i = 0; i < 4; i++) {
		s[i + 1] = (Elf64_Shdr){.sh_type = i == 3 ? SHT_STRTAB : SHT_PROGBITS,
					.sh_name = name_at[i],
					.sh_offset = at,
					.sh_size = parts[i]->len};
		at += parts[i]->len;
	}
	cam_buf_put(&out, &h, sizeof(h));
	cam_buf_put(&out, &p, sizeof(p));
	cam_buf_put(&out, s, sizeof(s));
	for (int i = 0; i < 4; i++)
		cam_buf_put(&out, parts[i]->data, parts[i]->len);
	assert_int_equal(cam_buf_error(&out), 0);
	return out;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 4 MiB of entries of a byte or five each: all inlined in the one before, or each with the same list of 60,000 ranges. */
static void the_worst_is_paid_for(void **state)
{
	(void)state;
	for (int deep = 0; deep < 2; deep++) {
		struct cam_buf info = CAM_BUF(64u << 20), abbrev = CAM_BUF(4096),
			       ranges = CAM_BUF(64u << 20);
		/* 1: the unit: [0x1000, 0x2000); 2: a function with ranges; 3: the same, with children. */
		static const uint8_t rows[] = {1, 0x11, 1,    0x11, 0x01, 0x12, 0x01, 0,
					       0, 2,	0x2e, 0,    0x55, 0x06, 0,    0,
					       3, 0x1d, 1,    0x55, 0x06, 0,	0,    0};
		const uint32_t n = 800000;
		cam_buf_put(&abbrev, rows, sizeof(rows));
		for (uint64_t i = 0; i < 60000; i++) {
			cam_buf_put_u64(&ranges, 0x1000 + i % 0xff0);
			cam_buf_put_u64(&ranges, 0x1008 + i % 0xff0);
		}
		cam_buf_put_u64(&ranges, 0);
		cam_buf_put_u64(&ranges, 0);
		cam_buf_put_u32(&info, 7 + 17 + 5 * n);
		cam_buf_put_u16(&info, 4);
		cam_buf_put_u32(&info, 0);
		cam_buf_put_u8(&info, 8);
		cam_buf_put_u8(&info, 1);
		cam_buf_put_u64(&info, 0x1000);
		cam_buf_put_u64(&info, 0x2000);
		for (uint32_t i = 0; i < n; i++) {
			cam_buf_put_u8(&info, deep ? 3 : 2);
			cam_buf_put_u32(&info, 0);
		}
		struct cam_buf file = wrap(&info, &abbrev, &ranges);
		double before = seconds();
		try_bytes(file.data, file.len, 64);
		assert_true(seconds() - before < 5);
		cam_buf_free(&info);
		cam_buf_free(&abbrev);
		cam_buf_free(&ranges);
		cam_buf_free(&file);
	}
}

/* Units whose ranges say nothing (each the same list of 65,537), or functions of them: so much that no errand can pay for it. What
 * took all of one is not begun again by the next. */
static void what_nobody_can_pay_for_is_tried_once(void **state)
{
	(void)state;
	/* 1: a unit with ranges; 2: one of [0x1000, 0x2000), with children; 3: a function with ranges. */
	static const uint8_t rows[] = {1,    0x11, 0,	 0x55, 0x17, 0,	   0, 2,
				       0x11, 1,	   0x11, 0x01, 0x12, 0x01, 0, 0,
				       3,    0x2e, 0,	 0x55, 0x17, 0,	   0, 0};
	for (int inside = 0; inside < 2; inside++) {
		struct cam_buf info = CAM_BUF(1u << 20), abbrev = CAM_BUF(4096),
			       ranges = CAM_BUF(4u << 20);
		cam_buf_put(&abbrev, rows, sizeof(rows));
		for (unsigned i = 0; i < 65537; i++) {
			cam_buf_put_u64(&ranges, 5);
			cam_buf_put_u64(&ranges, 5);
		}
		for (unsigned i = 0; i < (inside ? 1 : 300); i++) {
			cam_buf_put_u32(&info, 7 + (inside ? 17 + 300 * 5 : 5));
			cam_buf_put_u16(&info, 4);
			cam_buf_put_u32(&info, 0);
			cam_buf_put_u8(&info, 8);
			cam_buf_put_u8(&info, inside ? 2 : 1);
			if (inside) {
				cam_buf_put_u64(&info, 0x1000);
				cam_buf_put_u64(&info, 0x2000);
			} else {
				cam_buf_put_u32(&info, 0);
			}
			for (unsigned k = 0; inside && k < 300; k++) {
				cam_buf_put_u8(&info, 3);
				cam_buf_put_u32(&info, 0);
			}
		}
		struct cam_buf file = wrap(&info, &abbrev, &ranges);
		struct cam_bytes b = cam_bytes_of_memory(file.data, file.len);
		struct cam_elf_file f;
		struct cam_dwarf *d = NULL;
		uint64_t work = 256u << 20;
		assert_int_equal(cam_elf_file_read_debug(&f, &b), 0);
		assert_int_equal(cam_dwarf_open(&f, &b, &work, &d), inside ? 0 : -E2BIG);
		if (inside) {
			work = 256u << 20;
			assert_int_equal(cam_dwarf_find(d, &b, 0x1234, &work, &hit), -E2BIG);
			assert_int_equal(work, 0);
			work = 256u << 20;
			assert_int_equal(cam_dwarf_find(d, &b, 0x1235, &work, &hit), -E2BIG);
			assert_true(work > 255u << 20);
		}
		cam_dwarf_free(d);
		cam_buf_free(&info);
		cam_buf_free(&abbrev);
		cam_buf_free(&ranges);
		cam_buf_free(&file);
	}
}

/* Units of [0x1000 + 16 i, + 16), each with so many functions whose ranges say nothing that it takes half of an errand's work. */
static struct cam_buf file_of_dear_units(unsigned n)
{
	/* 1: a unit with code, with children; 2: a function with ranges. */
	static const uint8_t rows[] = {1, 0x11, 1, 0x11, 0x01, 0x12, 0x01, 0, 0,
				       2, 0x2e, 0, 0x55, 0x17, 0,    0,	   0};
	enum { FUNCTIONS = 128 };
	struct cam_buf info = CAM_BUF(1u << 20), abbrev = CAM_BUF(4096), ranges = CAM_BUF(4u << 20);
	cam_buf_put(&abbrev, rows, sizeof(rows));
	for (unsigned i = 0; i < 65537; i++) {
		cam_buf_put_u64(&ranges, 5);
		cam_buf_put_u64(&ranges, 5);
	}
	for (unsigned i = 0; i < n; i++) {
		cam_buf_put_u32(&info, 7 + 17 + FUNCTIONS * 5);
		cam_buf_put_u16(&info, 4);
		cam_buf_put_u32(&info, 0);
		cam_buf_put_u8(&info, 8);
		cam_buf_put_u8(&info, 1);
		cam_buf_put_u64(&info, 0x1000 + 16 * i);
		cam_buf_put_u64(&info, 0x1010 + 16 * i);
		for (unsigned k = 0; k < FUNCTIONS; k++) {
			cam_buf_put_u8(&info, 2);
			cam_buf_put_u32(&info, 0);
		}
	}
	struct cam_buf file = wrap(&info, &abbrev, &ranges);
	cam_buf_free(&info);
	cam_buf_free(&abbrev);
	cam_buf_free(&ranges);
	return file;
}

/* No unit is too large for an errand, but there are many, and each is read again when others have pushed it out. */
static void many_dear_units_are_bounded_in_sum(void **state)
{
	(void)state;
	enum { UNITS = 256, ERRAND = 256u << 20 };
	struct cam_buf file = file_of_dear_units(UNITS);
	struct cam_bytes b = cam_bytes_of_memory(file.data, file.len);
	struct cam_elf_file f;
	struct cam_dwarf *d = NULL;
	uint64_t work = ERRAND, spent = 0;
	unsigned read = 0;
	assert_int_equal(cam_elf_file_read_debug(&f, &b), 0);
	assert_int_equal(cam_dwarf_open(&f, &b, &work, &d), 0);
	for (unsigned i = 0; i < 4 * UNITS; i++) {
		work = ERRAND;
		int found = cam_dwarf_find(d, &b, 0x1000 + 16 * (i % UNITS), &work, &hit);
		spent += ERRAND - work;
		read += found == 0;
		/* What is told as too large costs nothing. */
		assert_true(found == 0 || (found == -E2BIG && work == ERRAND));
	}
	assert_in_range(read, 20, 40);
	assert_in_range(spent, CAM_DWARF_FILE_WORK, CAM_DWARF_FILE_WORK + ERRAND);
	cam_dwarf_free(d);
	cam_buf_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_changed_does_no_harm),
		cmocka_unit_test(each_length_does_no_harm),
		cmocka_unit_test(programs_shot_at_do_no_harm),
		cmocka_unit_test(the_worst_is_paid_for),
		cmocka_unit_test(what_nobody_can_pay_for_is_tried_once),
		cmocka_unit_test(many_dear_units_are_bounded_in_sum),
	};
	srandom(7);
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
