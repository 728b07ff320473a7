// SPDX-License-Identifier: Apache-2.0
/* Names of stripped Go programs are those that the same program has with symbols. */
#include "base/cleanup.h"
#include "support_oracle.h"
#include "symbol/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GO \
	"GO111MODULE=off CGO_ENABLED=0 GOFLAGS= GOCACHE=${TMPDIR:-/tmp}/perfcam-go-cache go build "

enum { HEADER = 72 };

static struct cam_elf_hit hit;

/* The file in memory, to be changed. */
static uint8_t *read_file(const char *path, size_t *bytes)
{
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	assert_true(size > 0);
	uint8_t *all = malloc((size_t)size);
	assert_non_null(all);
	assert_int_equal(pread(fd, all, (size_t)size, 0), size);
	*bytes = (size_t)size;
	return all;
}

/* The runtime's table says "main.Max[...]" where symbols have the types, and leaves ".abi0" out. */
static bool is_name(struct cam_text is, const char *symbol)
{
	const char *types = strchr(symbol, '['), *suffix = strstr(symbol, ".abi0");
	size_t n = suffix && !suffix[5] ? (size_t)(suffix - symbol) : strlen(symbol);
	/* readelf's line is cut at a blank. */
	const char *blank = memchr(is.p, ' ', is.n);
	if (blank)
		is.n = (size_t)(blank - is.p);
	if (types && memmem(is.p, is.n, "[...]", 5))
		n = is.n = (size_t)(types - symbol);
	return is.n == n && !memcmp(is.p, symbol, n);
}

/* How many of the symbols' middles have their name here. */
static size_t count(const struct oracle_symbols *s, uint8_t *all, size_t bytes)
{
	struct cam_bytes b = cam_bytes_of_memory(all, bytes);
	struct cam_elf *e;
	uint64_t work = UINT64_MAX;
	size_t named = 0;
	assert_int_equal(cam_elf_load(&b, &e), 0);
	for (size_t i = 0; i < s->n; i++) {
		const struct oracle_symbol *row = &s->rows[i];
		if (!row->bytes ||
		    cam_elf_find(e, &b, row->start + row->bytes / 2, &work, &hit) != 1)
			continue;
		assert_int_equal(hit.source, CAM_NAME_SYMTAB);
		if (!is_name(hit.name, row->name) || hit.start != row->start)
			fail_msg("%s is %.*s here", row->name, (int)hit.name.n, hit.name.p);
		named++;
	}
	cam_elf_free(e);
	return named;
}

static size_t sized(const struct oracle_symbols *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->rows[i].bytes != 0;
	return n;
}

static void stripped_programs_keep_their_names(void **state)
{
	(void)state;
	static const char *const builds[] = {
		GO "-o %2$s %1$s && cp %2$s %2$s.bare && strip %2$s.bare",
		GO "-o %2$s %1$s && " GO "-ldflags='-s -w' -o %2$s.bare %1$s",
		GO "-buildmode=pie -o %2$s %1$s && cp %2$s %2$s.bare && strip %2$s.bare",
	};
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		const char *path = oracle_build("functions.go", builds[i]);
		struct oracle_symbols s = oracle_symbols(path);
		char bare[256];
		size_t bytes;
		snprintf(bare, sizeof(bare), "%s.bare", path);
		struct cam_buf left =
			oracle_run("readelf -SW %s | grep -c ' .symtab ' || true", bare);
		assert_string_equal((char *)left.data, "0\n");
		uint8_t *all = read_file(bare, &bytes);
		assert_true(sized(&s) > 1000);
		assert_in_range(count(&s, all, bytes), sized(&s) * 98 / 100, sized(&s));
		free(all);
		cam_buf_free(&left);
		oracle_symbols_free(&s);
	}
}

static uint8_t *find_table(uint8_t *all, size_t bytes)
{
	static const uint8_t start[] = {0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	uint8_t *table = memmem(all, bytes, start, sizeof(start));
	if (!table) {
		static const uint8_t later[] = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
		table = memmem(all, bytes, later, sizeof(later));
	}
	assert_non_null(table);
	return table;
}

/* Of later versions; of one that does not say where its code starts; of one that nobody knows. */
static void versions_are_told_apart(void **state)
{
	(void)state;
	const char *path = oracle_build("functions.go",
					GO "-o %2$s %1$s && cp %2$s %2$s.bare && strip %2$s.bare");
	struct oracle_symbols s = oracle_symbols(path);
	char bare[256];
	size_t bytes;
	snprintf(bare, sizeof(bare), "%s.bare", path);
	uint8_t *all = read_file(bare, &bytes), *table = find_table(all, bytes);
	size_t named = count(&s, all, bytes);
	table[0] = 0xf1;
	assert_int_equal(count(&s, all, bytes), named);
	memset(table + 24, 0, 8);
	assert_int_equal(count(&s, all, bytes), named);
	/* It starts elsewhere (as with cgo): then nobody knows, and nothing is named. */
	all[24] ^= 0x40;
	assert_int_equal(count(&s, all, bytes), 0);
	all[24] ^= 0x40;
	table[0] = 0xf7;
	assert_int_equal(count(&s, all, bytes), 0);
	free(all);
	oracle_symbols_free(&s);
}

/* Each byte of the header, and bytes of the table, changed: no harm, and what is named is inside of the file. */
static void a_table_that_lies_does_no_harm(void **state)
{
	(void)state;
	const char *path =
		oracle_build("functions.go", GO "-ldflags='-s -w' -o %2$s %1$s && test -s %2$s");
	size_t bytes;
	uint64_t work = 1u << 20, x = 7;
	uint8_t *all = read_file(path, &bytes), *table = find_table(all, bytes);
	for (unsigned i = 0; i < 400; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		size_t at = i < 4 * HEADER && i % 3 ? i / 4 : (x >> 33) % 300000;
		uint8_t was = table[at];
		table[at] = i % 4 == 0	 ? 0xff
			    : i % 4 == 1 ? 0
			    : i % 4 == 2 ? (uint8_t)(was + 1)
					 : (uint8_t)(x >> 56);
		struct cam_bytes b = cam_bytes_of_memory(all, bytes);
		struct cam_elf *e;
		int error = cam_elf_load(&b, &e);
		assert_true(!error || error == -EBADMSG || error == -E2BIG);
		for (uint64_t offset = 0x1000; !error && offset < 0x80000; offset += 0x7ff1) {
			if (cam_elf_find(e, &b, offset, &work, &hit) == 1)
				assert_true(hit.start <= offset && hit.name.n <= sizeof(hit.room));
		}
		if (!error)
			cam_elf_free(e);
		table[at] = was;
	}
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stripped_programs_keep_their_names),
		cmocka_unit_test(versions_are_told_apart),
		cmocka_unit_test(a_table_that_lies_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
