// SPDX-License-Identifier: Apache-2.0
/* Sections that inflate to far more than they take in the file, and that lie about how much: every reader of compressed
 * sections answers soon, and with no more memory than it has a bound for. */
#include "support_elf.h"
#include "support_frames.h"
#include "support_input.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"

#include <errno.h>
#include <lzma.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zlib.h>

#include <cmocka.h>

#define MIB	  (1ull << 20)
#define GIB	  (1ull << 30)
#define MAX_BYTES (64u << 20) /* of a file here */
/* What a reader may take beside what it inflates: windows of the libraries, blocks, the table of a section's name. */
#define SMALL_KIB (4u << 10)

enum { PACKED_ZLIB = 1, PACKED_ZSTD = 2 }; /* as an Elf64_Chdr has them */

/* Zeros: n times the stream of a MiB, between zlib's head and sum. */
static void put_zlib(struct cam_buf *to, uint64_t mebibytes)
{
	static uint8_t zeros[MIB], packed[8192];
	z_stream z = {.next_in = zeros,
		      .avail_in = sizeof(zeros),
		      .next_out = packed,
		      .avail_out = sizeof(packed)};
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FULL_FLUSH), Z_OK);
	assert_int_equal(z.avail_in, 0);
	cam_buf_put(to, "\x78\x9c", 2);
	for (uint64_t i = 0; i < mebibytes; i++)
		cam_buf_put(to, packed, z.total_out);
	deflateEnd(&z);
	uint32_t sum = (uint32_t)(mebibytes * MIB % 65521) << 16 | 1;
	cam_buf_put(to, "\x01\x00\x00\xff\xff", 5);
	for (int shift = 24; shift >= 0; shift -= 8)
		cam_buf_put_u8(to, (uint8_t)(sum >> shift));
}

static void put_zstd(struct cam_buf *to, uint64_t mebibytes)
{
	static uint8_t zeros[MIB];
	struct cam_buf frame = zstd_of(zeros, sizeof(zeros));
	for (uint64_t i = 0; i < mebibytes; i++)
		cam_buf_put(to, frame.data, frame.len);
	cam_buf_free(&frame);
}

/* A compressed section of so many MiB of zeros, that says it has `said` bytes. */
static struct cam_buf make_packed(int type, uint64_t said, uint64_t mebibytes)
{
	struct cam_buf b = CAM_BUF(MAX_BYTES);
	Elf64_Chdr head = {.ch_type = (Elf64_Word)type, .ch_size = said, .ch_addralign = 1};
	cam_buf_put(&b, &head, sizeof(head));
	(type == PACKED_ZLIB ? put_zlib : put_zstd)(&b, mebibytes);
	assert_int_equal(cam_buf_error(&b), 0);
	return b;
}

struct part {
	const char *name;
	struct cam_buf bytes; /* freed by make_file() */
	bool packed;
};

#define MAX_PARTS 12

/* A program with the symbol "all" of 64 bytes of code, and these sections. */
static struct cam_buf make_file(struct part *parts, size_t n)
{
	struct made_elf m;
	Elf64_Shdr rows[MADE_OTHER + MAX_PARTS + 1];
	struct cam_buf names = CAM_BUF(4096);
	made_elf_start(&m, 64);
	made_elf_add(&m, MADE_CODE_AT, 64, "all");
	made_elf_place(&m);
	uint64_t at = m.sections[MADE_STRINGS].sh_offset + m.sections[MADE_STRINGS].sh_size;
	memcpy(rows, m.sections, sizeof(rows[0]) * MADE_OTHER);
	cam_buf_put_u8(&names, 0);
	for (size_t i = 0; i < n; i++) {
		rows[MADE_OTHER + i] =
			(Elf64_Shdr){.sh_name = (Elf64_Word)names.len,
				     .sh_type = SHT_PROGBITS,
				     .sh_flags = parts[i].packed ? SHF_COMPRESSED : 0,
				     .sh_offset = at,
				     .sh_size = parts[i].bytes.len};
		cam_buf_put(&names, parts[i].name, strlen(parts[i].name) + 1);
		at += parts[i].bytes.len;
	}
	rows[MADE_OTHER + n] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names.len};
	m.head.e_shoff = at + names.len;
	m.head.e_shnum = (Elf64_Half)(MADE_OTHER + n + 1);
	m.head.e_shstrndx = (Elf64_Half)(MADE_OTHER + n);
	struct cam_buf file = made_elf_finish(&m);
	for (size_t i = 0; i < n; i++) {
		cam_buf_put(&file, parts[i].bytes.data, parts[i].bytes.len);
		cam_buf_free(&parts[i].bytes);
	}
	cam_buf_put(&file, names.data, names.len);
	cam_buf_put(&file, rows, sizeof(rows[0]) * (MADE_OTHER + n + 1));
	assert_int_equal(cam_buf_error(&file), 0);
	cam_buf_free(&names);
	return file;
}

static struct cam_buf bytes_of(const char *text, size_t n)
{
	struct cam_buf b = CAM_BUF(4096);
	cam_buf_put(&b, text, n);
	return b;
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct reading {
	struct cam_bytes b;
	int (*read)(const struct cam_bytes *b);
	int wanted;
};

static int in_time(void *arg)
{
	const struct reading *r = arg;
	double before = cpu_seconds();
	int error = r->read(&r->b);
	double took = cpu_seconds() - before;
	if (error != r->wanted)
		fprintf(stderr, "# %d, not %d\n", error, r->wanted);
	if (took > 1)
		fprintf(stderr, "# %.1f s\n", took);
	return error != r->wanted || took > 1;
}

/* It answers so, within a second, and with no more memory. */
static void check(struct cam_buf *file, int (*read)(const struct cam_bytes *b), int wanted,
		  uint64_t most_kib)
{
	struct reading r = {
		.b = cam_bytes_of_memory(file->data, file->len), .read = read, .wanted = wanted};
	assert_in_range(peak_growth_kib(in_time, &r), 0,
			most_kib + SMALL_KIB + SANITIZER_SLACK_KIB / 8);
}

static int read_dwarf(const struct cam_bytes *b)
{
	static struct cam_dwarf_hit hit;
	struct cam_elf_file f;
	struct cam_dwarf *d;
	uint64_t work = 64u << 20;
	int error = cam_elf_file_read(&f, b);
	if (!error)
		error = cam_dwarf_open(&f, b, &work, &d);
	if (error)
		return error;
	error = cam_dwarf_find(d, b, MADE_CODE_ADDRESS, &work, &hit) > 0;
	cam_dwarf_free(d);
	return error;
}

static int count_rows(void *arg, const struct cam_ehframe_piece *p)
{
	*(int *)arg += (int)p->n_rows;
	return 0;
}

/* How many rows a table has; or why not. */
static int read_frames(const struct cam_bytes *b)
{
	int rows = 0, error = cam_ehframe_read(b, count_rows, &rows);
	return error ? error : rows;
}

/* 1: the symbol is found, whatever else the file has. */
static int read_symbols(const struct cam_bytes *b)
{
	static struct cam_elf_hit hit;
	struct cam_elf *e;
	uint64_t work = 1u << 20;
	int found = cam_elf_load(b, &e);
	if (found)
		return found;
	found = cam_elf_find(e, b, MADE_CODE_AT + 1, &work, &hit);
	struct cam_bytes inside;
	if (cam_elf_mini(e, &inside))
		found = -EXFULL; /* what is carried along was believed */
	cam_elf_free(e);
	return found;
}

static const char *const dwarf_names[CAM_ELF_DWARF_PARTS] = {
	".debug_info",	 ".debug_abbrev",   ".debug_line", ".debug_str",	".debug_line_str",
	".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_str_offsets"};

/* A bomb in the section, and in those that DWARF must have something else. */
static struct cam_buf make_dwarf(const char *name, int type, uint64_t said, uint64_t mebibytes)
{
	struct part parts[3] = {{name, make_packed(type, said, mebibytes), true}};
	size_t n = 1;
	for (size_t i = 0; i < 2; i++)
		if (strcmp(dwarf_names[i], name) != 0)
			parts[n++] = (struct part){dwarf_names[i], bytes_of("\0\0\0\0", 4), false};
	return make_file(parts, n);
}

static const struct lie {
	uint64_t said, mebibytes;
	int error;	   /* of DWARF */
	uint64_t most_mib; /* what is inflated before that is known */
} lies[] = {
	{GIB, 1024, -E2BIG, 0},		  /* true, and too much */
	{UINT64_MAX, 1, -E2BIG, 0},	  /* all memory there is */
	{UINT32_MAX + GIB, 1, -E2BIG, 0}, /* more than a length of zlib holds */
	{4096, 1024, -EBADMSG, 0},	  /* little, and there is no end */
	{1, 1024, -EBADMSG, 0},		  {MIB - 1, 1, -EBADMSG, 1},
	{60 * MIB, 1, -EBADMSG, 1}, /* much, and there is little */
	{60 * MIB, 1024, -EBADMSG, 60},
};

static void a_section_that_lies_costs_what_it_is(void **state)
{
	(void)state;
	for (int type = PACKED_ZLIB; type <= PACKED_ZSTD; type++) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			const struct lie *l = &lies[i];
			struct cam_buf file = make_dwarf(".debug_str", type, l->said, l->mebibytes);
			assert_true(file.len < 2 * MIB);
			check(&file, read_dwarf, l->error, l->most_mib << 10);
			check(&file, read_symbols, 1, 0);
			cam_buf_free(&file);
		}
	}
}

static void every_section_of_dwarf_is_bounded(void **state)
{
	(void)state;
	for (int type = PACKED_ZLIB; type <= PACKED_ZSTD; type++) {
		for (size_t i = 0; i < CAM_ELF_DWARF_PARTS; i++) {
			struct cam_buf file = make_dwarf(dwarf_names[i], type, GIB, 1024);
			check(&file, read_dwarf, -E2BIG, 0);
			cam_buf_free(&file);
			file = make_dwarf(dwarf_names[i], type, 4096, 1024);
			check(&file, read_dwarf, -EBADMSG, 0);
			cam_buf_free(&file);
		}
	}
}

/* Each of them fits, all of them do not. */
static void the_bound_is_of_all_sections_together(void **state)
{
	(void)state;
	for (int type = PACKED_ZLIB; type <= PACKED_ZSTD; type++) {
		struct part parts[CAM_ELF_DWARF_PARTS];
		for (size_t i = 0; i < CAM_ELF_DWARF_PARTS; i++)
			parts[i] = (struct part){dwarf_names[i], make_packed(type, 20 * MIB, 20),
						 true};
		struct cam_buf file = make_file(parts, CAM_ELF_DWARF_PARTS);
		check(&file, read_dwarf, -E2BIG, CAM_DWARF_INFLATED_BYTES >> 10);
		cam_buf_free(&file);
	}
}

/* What is true and not too much is taken: else all of this could be had by refusing everything. */
static void what_is_true_is_inflated(void **state)
{
	(void)state;
	for (int type = PACKED_ZLIB; type <= PACKED_ZSTD; type++) {
		struct cam_buf file = make_dwarf(".debug_str", type, 60 * MIB, 60);
		check(&file, read_dwarf, 0, 60 << 10);
		cam_buf_free(&file);
	}
}

/* Rules that cannot be had are left out: the table is one without them. */
static void rules_that_lie_are_left_out(void **state)
{
	(void)state;
	for (int type = PACKED_ZLIB; type <= PACKED_ZSTD; type++) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			const struct lie *l = &lies[i];
			struct part parts[] = {
				{".debug_frame", make_packed(type, l->said, l->mebibytes), true}};
			struct cam_buf file = make_file(parts, 1);
			check(&file, read_frames, 0,
			      l->said > CAM_EHFRAME_MAX_BYTES ? 0 : l->most_mib << 10);
			cam_buf_free(&file);
		}
	}
}

/* xz, of as many zeros; who reads it needs a dictionary as large as what it may have. */
static struct cam_buf make_xz(uint64_t mebibytes)
{
	static uint8_t zeros[MIB], room[1u << 16];
	struct cam_buf b = CAM_BUF(MAX_BYTES);
	lzma_options_lzma o;
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_lzma_preset(&o, 0);
	o.dict_size = CAM_ELF_MAX_MINI;
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &o}, {LZMA_VLI_UNKNOWN, NULL}};
	assert_int_equal(lzma_stream_encoder(&z, filters, LZMA_CHECK_CRC32), LZMA_OK);
	for (uint64_t i = 0; i <= mebibytes; i++) {
		z.next_in = zeros;
		z.avail_in = i < mebibytes ? sizeof(zeros) : 0;
		do {
			z.next_out = room;
			z.avail_out = sizeof(room);
			assert_true(lzma_code(&z, i < mebibytes ? LZMA_RUN : LZMA_FINISH) <=
				    LZMA_STREAM_END);
			cam_buf_put(&b, room, sizeof(room) - z.avail_out);
		} while (!z.avail_out || z.avail_in);
	}
	lzma_end(&z);
	return b;
}

/* Symbols that a file carries along, compressed once more: it has none then. */
static void symbols_carried_along_are_bounded(void **state)
{
	(void)state;
	struct part parts[] = {{".gnu_debugdata", make_xz(64), false}};
	struct cam_buf file = make_file(parts, 1);
	assert_true(file.len < MIB);
	/* With symbols of its own nobody looks at it. */
	check(&file, read_symbols, 1, 0);
	Elf64_Ehdr head;
	memcpy(&head, file.data, sizeof(head));
	Elf64_Word none = SHT_NULL;
	memcpy(file.data + head.e_shoff + MADE_SYMBOLS * sizeof(Elf64_Shdr) +
		       offsetof(Elf64_Shdr, sh_type),
	       &none, sizeof(none));
	check(&file, read_symbols, 0, 2 * (CAM_ELF_MAX_MINI >> 10));
	cam_buf_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_that_lies_costs_what_it_is),
		cmocka_unit_test(every_section_of_dwarf_is_bounded),
		cmocka_unit_test(the_bound_is_of_all_sections_together),
		cmocka_unit_test(what_is_true_is_inflated),
		cmocka_unit_test(rules_that_lie_are_left_out),
		cmocka_unit_test(symbols_carried_along_are_bounded),
	};
	/* meson has malloc() write to all that it hands out, so that memory nobody used would count. */
	mallopt(M_PERTURB, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
