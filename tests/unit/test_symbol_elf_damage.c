// SPDX-License-Identifier: Apache-2.0
/* Files that lie: each byte changed, each length, and the cases someone would think of. */
#include "base/cleanup.h"
#include "support_elf.h"
#include "support_input.h"
#include "support_oracle.h"
#include "symbol/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

static struct cam_elf_hit hit;

static int find(const struct cam_elf *e, const struct cam_bytes *b, uint64_t offset)
{
	uint64_t work = 1u << 20;
	return cam_elf_find(e, b, offset, &work, &hit);
}

static void assert_found(const struct cam_elf *e, const struct cam_bytes *b, uint64_t offset,
			 const char *name)
{
	assert_int_equal(find(e, b, offset), 1);
	assert_int_equal(hit.name.n, strlen(name));
	assert_memory_equal(hit.name.p, name, hit.name.n);
}

/* Whatever the bytes are: an answer or an error, and an answer keeps its promises. */
static int try_bytes(const uint8_t *bytes, size_t n)
{
	struct cam_bytes b = cam_bytes_of_memory(bytes, n);
	struct cam_elf *e;
	int error = cam_elf_load(&b, &e);
	if (error) {
		assert_true(error == -EBADMSG || error == -E2BIG);
		return error;
	}
	assert_true(cam_elf_memory(e) <= 4096 + 2 * n);
	for (uint64_t at = 0; at < n + 64; at += 48) {
		int found = find(e, &b, at);
		assert_true(found == 0 || found == 1 || found == -EBADMSG);
		if (found != 1)
			continue;
		assert_true(hit.start <= at && hit.name.n && hit.name.n <= CAM_ELF_MAX_NAME);
		assert_true(hit.source == CAM_NAME_SYMTAB || hit.source == CAM_NAME_DYNSYM);
	}
	cam_elf_free(e);
	return 0;
}

/* A real one, with symbols, stubs and notes, and as small as a linker makes it. */
static struct cam_buf small_elf(void)
{
	const char *path =
		oracle_build("names.S",
			     "gcc -shared -nostdlib -Wl,--build-id,-z,noseparate-code,-z,lazy "
			     "-Wl,--hash-style=gnu -o %2$s %1$s && strip -d -R .comment %2$s");
	return oracle_run("cat %s", path);
}

static void no_changed_byte_does_harm(void **state)
{
	(void)state;
	struct cam_buf b = small_elf();
	unsigned int refused = 0;
	assert_int_equal(try_bytes(b.data, b.len), 0);
	for (size_t i = 0; i < b.len; i++) {
		uint8_t was = b.data[i];
		static const uint8_t changes[] = {0xff, 0x80, 0x01};
		for (size_t c = 0; c < sizeof(changes); c++) {
			b.data[i] = was ^ changes[c];
			refused += try_bytes(b.data, b.len) != 0;
		}
		b.data[i] = was;
	}
	print_message("# %zu bytes, %u changes were refused\n", b.len, refused);
	assert_true(refused > 100);
	cam_buf_free(&b);
}

static void no_missing_byte_does_harm(void **state)
{
	(void)state;
	struct cam_buf b = small_elf();
	unsigned int whole = 0;
	for (size_t n = 0; n < b.len; n++) {
		uint8_t *exact = malloc(n ? n : 1);
		assert_non_null(exact);
		memcpy(exact, b.data, n);
		whole += try_bytes(exact, n) == 0;
		free(exact);
	}
	/* The section headers are last: without all of them it is not the file it says it is. */
	assert_int_equal(whole, 0);
	cam_buf_free(&b);
}

static void two_wrong_fields_do_no_harm(void **state)
{
	(void)state;
	struct cam_buf b = small_elf();
	uint64_t x = 7;
	for (unsigned int round = 0; round < 20000; round++) {
		uint8_t was[6];
		size_t at[6];
		for (int i = 0; i < 6; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			/* Mostly the headers, which lie at both ends. */
			size_t span = x >> 60 ? 512 : b.len, from = x >> 59 & 1 ? b.len - span : 0;
			at[i] = from + (x >> 20) % span;
			was[i] = b.data[at[i]];
			b.data[at[i]] = (uint8_t)(x >> 12);
		}
		try_bytes(b.data, b.len);
		for (int i = 5; i >= 0; i--)
			b.data[at[i]] = was[i];
	}
	cam_buf_free(&b);
}

static int load_made(struct made_elf *m, struct cam_elf **e, struct cam_bytes *b,
		     struct cam_buf *file)
{
	*file = made_elf_finish(m);
	*b = cam_bytes_of_memory(file->data, file->len);
	return cam_elf_load(b, e);
}

static void counts_beyond_all_bounds_are_refused(void **state)
{
	(void)state;
	static const struct {
		uint64_t sections; /* in the first section's header, e_shnum being 0 */
		int error;
	} cases[] = {
		{1ull << 32, -E2BIG}, {UINT64_MAX, -E2BIG}, {60000, -EBADMSG}, {MADE_OTHER, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made_elf m;
		struct cam_elf *e = NULL;
		struct cam_bytes b;
		struct cam_buf file;
		made_elf_start(&m, 64);
		made_elf_add(&m, MADE_CODE_AT, 64, "all");
		made_elf_place(&m);
		m.head.e_shnum = 0;
		m.sections[0].sh_size = cases[i].sections;
		assert_int_equal(load_made(&m, &e, &b, &file), cases[i].error);
		if (e)
			assert_found(e, &b, MADE_CODE_AT + 63, "all");
		cam_elf_free(e);
		cam_buf_free(&file);
	}
}

static void overlapping_tables_are_read_as_they_are(void **state)
{
	(void)state;
	struct made_elf m;
	struct cam_elf *e;
	struct cam_bytes b;
	struct cam_buf file;
	made_elf_start(&m, 64);
	made_elf_add(&m, MADE_CODE_AT, 64, "all");
	made_elf_place(&m);
	/* Symbols, strings, code and headers are all the same bytes. */
	m.sections[MADE_STRINGS].sh_offset = 0;
	m.sections[MADE_STRINGS].sh_size = MADE_CODE_AT;
	m.sections[MADE_OTHER] = m.sections[MADE_SYMBOLS];
	m.sections[MADE_OTHER].sh_type = SHT_DYNSYM;
	m.sections[MADE_OTHER].sh_offset = 0;
	m.sections[MADE_OTHER].sh_size = 960;
	m.head.e_shnum = MADE_OTHER + 1;
	assert_int_equal(load_made(&m, &e, &b, &file), 0);
	assert_found(e, &b, MADE_CODE_AT, "ELF\2\1\1"); /* the string at 1 */
	cam_elf_free(e);
	cam_buf_free(&file);
}

static void a_name_without_an_end_is_no_name(void **state)
{
	(void)state;
	struct made_elf m;
	struct cam_elf *e;
	struct cam_bytes b;
	struct cam_buf file;
	made_elf_start(&m, 256);
	made_elf_add(&m, MADE_CODE_AT, 64, "good");
	made_elf_add(&m, MADE_CODE_AT + 64, 64, "versioned@@GLIBC_2.34");
	made_elf_add(&m, MADE_CODE_AT + 128, 64, "endless");
	m.strings.len--;
	made_elf_place(&m);
	assert_int_equal(load_made(&m, &e, &b, &file), 0);
	assert_found(e, &b, MADE_CODE_AT, "good");
	assert_found(e, &b, MADE_CODE_AT + 64, "versioned");
	assert_int_equal(find(e, &b, MADE_CODE_AT + 128), -EBADMSG);
	assert_int_equal(find(e, &b, MADE_CODE_AT + 192), 0);
	cam_elf_free(e);
	cam_buf_free(&file);
}

static void a_symbol_ends_with_its_segment(void **state)
{
	(void)state;
	struct made_elf m;
	struct cam_elf *e;
	struct cam_bytes b;
	struct cam_buf file;
	Elf64_Sym absolute = {
		.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = SHN_ABS,
		.st_value = MADE_CODE_ADDRESS,
		.st_size = 32,
	};
	made_elf_start(&m, 64);
	made_elf_add(&m, MADE_CODE_AT + 32, 1000, "too_long");
	cam_buf_put(&m.symbols, &absolute, sizeof(absolute));
	made_elf_place(&m);
	assert_int_equal(load_made(&m, &e, &b, &file), 0);
	assert_int_equal(find(e, &b, MADE_CODE_AT + 31), 0); /* an absolute value is no place */
	assert_found(e, &b, MADE_CODE_AT + 63, "too_long");
	assert_int_equal(find(e, &b, MADE_CODE_AT + 64), 0);
	cam_elf_free(e);
	cam_buf_free(&file);
}

/* A hundred that end together, and then one that holds them all: one step away. */
static void the_outer_one_is_found_past_many_inner_ones(void **state)
{
	(void)state;
	struct made_elf m;
	struct cam_elf *e;
	struct cam_bytes b;
	struct cam_buf file;
	made_elf_start(&m, 1024);
	made_elf_add(&m, MADE_CODE_AT, 1024, "outer");
	for (unsigned int i = 1; i <= 100; i++)
		made_elf_add(&m, MADE_CODE_AT + i, 500 - i, "inner");
	made_elf_place(&m);
	assert_int_equal(load_made(&m, &e, &b, &file), 0);
	assert_found(e, &b, MADE_CODE_AT + 499, "inner");
	assert_int_equal(hit.start, MADE_CODE_AT + 100);
	assert_found(e, &b, MADE_CODE_AT + 500, "outer");
	cam_elf_free(e);
	cam_buf_free(&file);
}

static void a_table_outside_the_file_is_refused(void **state)
{
	(void)state;
	for (int section = MADE_SYMBOLS; section <= MADE_STRINGS; section++) {
		struct made_elf m;
		struct cam_elf *e;
		struct cam_bytes b;
		struct cam_buf file;
		made_elf_start(&m, 64);
		made_elf_add(&m, MADE_CODE_AT, 64, "all");
		made_elf_place(&m);
		m.sections[section].sh_size += 24 * 1000;
		assert_int_equal(load_made(&m, &e, &b, &file), -EBADMSG);
		cam_buf_free(&file);
	}
}

static void a_long_name_is_cut(void **state)
{
	(void)state;
	struct made_elf m;
	struct cam_elf *e;
	struct cam_bytes b;
	struct cam_buf file;
	char name[3 * CAM_ELF_MAX_NAME];
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	made_elf_start(&m, 64);
	made_elf_add(&m, MADE_CODE_AT, 64, name);
	made_elf_place(&m);
	assert_int_equal(load_made(&m, &e, &b, &file), 0);
	name[CAM_ELF_MAX_NAME] = 0;
	assert_found(e, &b, MADE_CODE_AT, name);
	cam_elf_free(e);
	cam_buf_free(&file);
}

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A sparse file of 4 GiB on memory that is not there: `what` has the rest of it. */
static int load_sparse(void *what)
{
	struct made_elf m;
	struct cam_elf *e = NULL;
	bool strings = *(bool *)what;
	uint64_t giant = 4ull << 30;
	made_elf_start(&m, 64);
	made_elf_add(&m, MADE_CODE_AT, 64, "all");
	made_elf_place(&m);
	m.sections[strings ? MADE_STRINGS : MADE_SYMBOLS].sh_size =
		giant - (giant - m.sections[MADE_SYMBOLS].sh_offset) % 24 -
		m.sections[MADE_STRINGS].sh_offset;
	struct cam_buf file = made_elf_finish(&m);
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, file.data, file.len, 0) != (ssize_t)file.len ||
	    ftruncate(fd, (off_t)giant))
		return -1;
	struct cam_bytes b = {.fd = fd, .size = giant};
	double before = cpu_ms();
	int error = cam_elf_load(&b, &e);
	int found = e ? find(e, &b, MADE_CODE_AT + 1) : 0;
	cam_elf_free(e);
	close(fd);
	cam_buf_free(&file);
	if (cpu_ms() - before > 1000)
		return -1;
	return strings ? error || found != 1 : error != -E2BIG;
}

static void four_sparse_gibibytes_take_no_memory(void **state)
{
	(void)state;
	for (int strings = 0; strings < 2; strings++) {
		bool what = strings;
		assert_in_range(peak_growth_kib(load_sparse, &what), 0,
				4096 + SANITIZER_SLACK_KIB / 8);
	}
}

enum crowd {
	CROWD_APART,   /* one after the other, in no order */
	CROWD_NESTED,  /* each inside the one before */
	CROWD_TOGETHER /* all at one place */
};

#define CROWD 1000000u

static struct cam_buf make_crowd(enum crowd kind)
{
	struct made_elf m;
	made_elf_start(&m, 2 * CROWD + 64);
	cam_buf_put(&m.strings, "one\0other", 10);
	for (uint64_t i = 0; i < CROWD; i++) {
		uint64_t at = i * 7919 % CROWD;
		Elf64_Sym s = {
			.st_name = 1 + 4 * (i == CROWD / 2),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = MADE_TEXT,
		};
		s.st_value = MADE_CODE_ADDRESS + (kind == CROWD_TOGETHER ? 0 : at);
		s.st_size = kind == CROWD_APART ? 1 : 2 * (CROWD - at);
		cam_buf_put(&m.symbols, &s, sizeof(s));
	}
	made_elf_place(&m);
	return made_elf_finish(&m);
}

static int load_crowd(void *arg)
{
	struct cam_buf *file = arg;
	struct cam_bytes b = cam_bytes_of_memory(file->data, file->len);
	struct cam_elf *e;
	return cam_elf_load(&b, &e);
}

static void a_million_symbols_take_what_they_weigh(void **state)
{
	(void)state;
	for (int kind = CROWD_APART; kind <= CROWD_TOGETHER; kind++) {
		struct cam_buf file = make_crowd(kind);
		struct cam_bytes b = cam_bytes_of_memory(file.data, file.len);
		struct cam_elf *e;
		/* The table and as much again while it is sorted. */
		assert_in_range(peak_growth_kib(load_crowd, &file), 0,
				2 * 24 * CROWD / 1024 + 16384 + SANITIZER_SLACK_KIB);
		assert_int_equal(cam_elf_load(&b, &e), 0);
		assert_in_range(cam_elf_memory(e), 24 * CROWD, 24 * CROWD + 8192);
		uint64_t work = 64u << 20;
		double before = cpu_ms();
		unsigned int named = 0;
		for (unsigned int i = 0; i < 512; i++) {
			uint64_t at = MADE_CODE_AT + i * 1953;
			named += cam_elf_find(e, &b, at, &work, &hit) == 1;
		}
		print_message("# crowd %d: %u of 512 named in %.1f ms\n", kind, named,
			      cpu_ms() - before);
		assert_int_equal(named, kind == CROWD_TOGETHER ? 2 : 512);
		assert_true(cpu_ms() - before < 2000);
		/* Behind the innermost: all that start before have ended, or are too deep to look. */
		work = 64u << 20;
		assert_int_equal(cam_elf_find(e, &b, MADE_CODE_AT + 2 * CROWD + 1, &work, &hit), 0);
		cam_elf_free(e);
		cam_buf_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_changed_byte_does_harm),
		cmocka_unit_test(no_missing_byte_does_harm),
		cmocka_unit_test(two_wrong_fields_do_no_harm),
		cmocka_unit_test(counts_beyond_all_bounds_are_refused),
		cmocka_unit_test(overlapping_tables_are_read_as_they_are),
		cmocka_unit_test(a_name_without_an_end_is_no_name),
		cmocka_unit_test(a_symbol_ends_with_its_segment),
		cmocka_unit_test(the_outer_one_is_found_past_many_inner_ones),
		cmocka_unit_test(a_table_outside_the_file_is_refused),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(four_sparse_gibibytes_take_no_memory),
		cmocka_unit_test(a_million_symbols_take_what_they_weigh),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
