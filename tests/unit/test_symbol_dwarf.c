// SPDX-License-Identifier: Apache-2.0
/* What is inlined at random offsets, and on which lines, as llvm-symbolizer and addr2line say it. */
#include "base/cleanup.h"
#include "support_oracle.h"
#include "symbol/companion.h"
#include "symbol/dwarf_cache.h"
#include "symbol/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OFFSETS = 300 };

static struct cam_dwarf_hit hit;

struct opened {
	int fd;
	struct cam_bytes b;
	struct cam_elf_file f;
	struct cam_dwarf *d;
};

static int open_dwarf(const char *path, const char *original, struct opened *o)
{
	uint64_t work = 1u << 30;
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(o->fd >= 0);
	assert_int_equal(cam_bytes_of_file(&o->b, o->fd), 0);
	struct cam_elf_file of;
	struct cam_bytes code;
	CAM_AUTOCLOSE int fd = open(original, O_RDONLY | O_CLOEXEC);
	assert_int_equal(cam_bytes_of_file(&code, fd), 0);
	assert_int_equal(cam_elf_file_read(&of, &code), 0);
	assert_int_equal(cam_elf_file_read_debug(&o->f, &o->b), 0);
	assert_int_equal(o->f.build_id_bytes, of.build_id_bytes);
	assert_memory_equal(o->f.build_id, of.build_id, of.build_id_bytes);
	o->d = NULL;
	return cam_dwarf_open(&o->f, &o->b, &work, &o->d);
}

/* What dwz -m put there for several, and how they find it. */
static void lean_on(struct opened *o, const char *supplement, struct opened *s)
{
	struct cam_companion_supplement wanted;
	assert_int_equal(open_dwarf(supplement, supplement, s), 0);
	cam_companion_supplement(&o->f, &o->b, &wanted);
	assert_int_equal(wanted.path.n, strlen(supplement));
	assert_memory_equal(wanted.path.p, supplement, wanted.path.n);
	assert_true(cam_companion_is_supplement(&wanted, &s->f, &s->b));
	assert_false(cam_companion_is_supplement(&wanted, &o->f, &o->b));
	cam_dwarf_lean(o->d, s->d, &s->b);
}

static void close_dwarf(struct opened *o)
{
	cam_dwarf_free(o->d);
	close(o->fd);
}

/* Without suffixes of clones and without parameters, which addr2line has and names here have not. */
static size_t name_bytes(const char *name, size_t n)
{
	static const char anonymous[] = "(anonymous namespace)";
	for (size_t i = 0; i < n; i++) {
		if (name[i] == '.')
			return i;
		if (name[i] != '(')
			continue;
		if (n - i < sizeof(anonymous) - 1 ||
		    memcmp(name + i, anonymous, sizeof(anonymous) - 1))
			return i;
		i += sizeof(anonymous) - 2;
	}
	return n;
}

/* "name file:line" of each level, the innermost first, as lines; "" where nothing is known. Directories
 * are left out; and so is a line of 0. */
static void say_levels(const struct cam_dwarf_hit *h, struct cam_buf *out)
{
	for (uint32_t i = h->n_levels; i--;) {
		const struct cam_inlined *l = &h->levels[i];
		const char *slash = l->file.n ? memrchr(l->file.p, '/', l->file.n) : NULL;
		int name = (int)name_bytes(l->name.p, l->name.n);
		if (l->line)
			cam_buf_printf(out, "%.*s %.*s:%u\n", name, l->name.p,
				       slash ? (int)(l->file.p + l->file.n - slash - 1)
					     : (int)l->file.n,
				       slash ? slash + 1 : l->file.p, l->line);
		else
			cam_buf_printf(out, "%.*s ?\n", name, l->name.p);
	}
	cam_buf_put_u8(out, 0);
}

/* The same of the next address in an oracle's output: lines of name and file:line, up to an address. */
static char *say_oracle(char **at, struct cam_buf *out)
{
	char *line;
	while ((line = strsep(at, "\n")) && strncmp(line, "0x", 2)) {
		char *where = strsep(at, "\n");
		if (!*line || !where)
			continue;
		line[name_bytes(line, strlen(line))] = 0;
		where[strcspn(where, " ")] = 0;
		char *slash = strrchr(where, '/'), *number = strrchr(where, ':');
		assert_non_null(number);
		if (number[1] == '?' || number[1] == '0')
			cam_buf_printf(out, "%s ?\n", line);
		else
			cam_buf_printf(out, "%s %s\n", line, slash ? slash + 1 : where);
	}
	cam_buf_put_u8(out, 0);
	return line;
}

/* An offset inside of a function of inlines.c that has code, or of any of C++. */
static uint64_t random_offset(const struct oracle_symbols *symbols)
{
	static const char *const names[] = {"main", "spin", "fill", "sum"};
	for (;;) {
		const struct oracle_symbol *s = &symbols->rows[(size_t)random() % symbols->n];
		for (size_t i = 0; i < 4 && s->bytes; i++) {
			size_t n = strlen(names[i]);
			if (!strncmp(s->name, "_ZN", 3) ||
			    (!strncmp(s->name, names[i], n) && (!s->name[n] || s->name[n] == '.')))
				return s->start + (uint64_t)random() % s->bytes;
		}
	}
}

/* Answers how many of them had something inlined. `tool` reads addresses and prints as addr2line does; it is given
 * `original`, which is the same program. supplement: NULL, or what path refers to. */
static unsigned compare(const char *path, const char *supplement, const char *original,
			const char *tool)
{
	struct opened o, second = {.fd = -1};
	struct oracle_symbols symbols = oracle_symbols(original);
	uint64_t addresses[OFFSETS], work = 1u << 30;
	unsigned inlined = 0;
	char list[64];
	assert_int_equal(open_dwarf(path, original, &o), 0);
	if (supplement)
		lean_on(&o, supplement, &second);
	snprintf(list, sizeof(list), "%s/addresses", oracle_dir());
	FILE *f = fopen(list, "we");
	assert_non_null(f);
	for (size_t i = 0; i < OFFSETS; i++) {
		addresses[i] = random_offset(&symbols) + symbols.code_address - symbols.code_at;
		fprintf(f, "0x%llx\n", (unsigned long long)addresses[i]);
	}
	fclose(f);
	struct cam_buf text = oracle_run("%s -e %s < %s", tool, original, list);
	char *at = (char *)text.data, *line = strsep(&at, "\n");
	for (size_t i = 0; i < OFFSETS; i++) {
		struct cam_buf mine = CAM_BUF(1u << 20), theirs = CAM_BUF(1u << 20);
		assert_non_null(line);
		assert_int_equal(strtoull(line, NULL, 16), addresses[i]);
		line = say_oracle(&at, &theirs);
		int got = cam_dwarf_find(o.d, &o.b, addresses[i], &work, &hit);
		if (got != 1)
			fail_msg("%s at %llx: %d", path, (unsigned long long)addresses[i], got);
		inlined += hit.n_levels > 1;
		assert_false(cam_dwarf_is_elsewhere(o.d));
		say_levels(&hit, &mine);
		if (strcmp((char *)mine.data, (char *)theirs.data))
			fail_msg("%s at %llx:\n%sand not\n%s", path,
				 (unsigned long long)addresses[i], (char *)mine.data,
				 (char *)theirs.data);
		cam_buf_free(&mine);
		cam_buf_free(&theirs);
	}
	cam_buf_free(&text);
	oracle_symbols_free(&symbols);
	close_dwarf(&o);
	if (supplement)
		close_dwarf(&second);
	return inlined;
}

#define LLVM "llvm-symbolizer --output-style=GNU -a -i -f"
#define GNU  "addr2line -a -i -f"
/* Each demangler has its own spelling: here it is binutils'. And it would take .symtab's name for the function itself. */
#define CPP                                                               \
	"f() { strip -s --keep-section='.debug_*' -o $2.bare $2 && " LLVM \
	" --no-demangle -e $2.bare | c++filt -p; }; f"

static void chains_and_lines_are_those_of_others(void **state)
{
	(void)state;
	static const struct {
		const char *command, *tool;
	} builds[] = {
		{"gcc -g -gdwarf-5 -O2 %s -o %s", LLVM},
		{"gcc -g -gdwarf-5 -O2 %s -o %s", GNU},
		{"gcc -g -gdwarf-4 -O3 %s -o %s", LLVM},
		{"gcc -g -gdwarf-3 -O1 %s -o %s", GNU},
		{"gcc -g -gdwarf-2 -O2 %s -o %s", GNU},
		{"gcc -g -gdwarf-5 -gdwarf64 -O2 %s -o %s", LLVM},
		{"gcc -g -gz=zlib -O2 -no-pie %s -o %s", LLVM},
		{"gcc -g -O2 -flto -flto-partition=none %s -o %s", LLVM},
		{"gcc -g -O2 -ffunction-sections -Wl,--gc-sections -static-pie %s -o %s", GNU},
		{"clang -gdwarf-5 -O2 %s -o %s", LLVM},
		{"clang -gdwarf-4 -O2 %s -o %s", LLVM},
	};
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		const char *path = oracle_build("inlines.c", builds[i].command);
		unsigned inlined = compare(path, NULL, path, builds[i].tool);
		if (inlined < 20)
			fail_msg("%s: %u", builds[i].command, inlined);
	}
}

/* As distributions have them: compressed, made smaller by dwz, in a file of their own. */
static void other_forms_of_files_say_the_same(void **state)
{
	(void)state;
	static const char *const makers[] = {
		"objcopy --compress-debug-sections=zlib %s %s",
		"objcopy --compress-debug-sections=zstd %s %s",
		"objcopy --only-keep-debug %s %s",
		"cp %s x && eu-strip -o y -f %s x",
		"dwz %s -o %s",
	};
	const char *path = oracle_build("inlines.c", "gcc -g -O2 -static -Wl,--build-id %s -o %s");
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		char other[128], line[512];
		snprintf(other, sizeof(other), "%s.%zu", path, i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(line, sizeof(line), makers[i], path, other);
#pragma GCC diagnostic pop
		struct cam_buf b = oracle_run("cd %s && %s", oracle_dir(), line);
		cam_buf_free(&b);
		assert_true(compare(other, NULL, path, LLVM) > 20);
	}
}

/* Two programs, and a file of what they have in common, as distributions make it of a package. */
static void what_programs_share_is_found_in_the_supplement(void **state)
{
	(void)state;
	static const struct {
		const char *source, *command, *dwz, *tool;
	} builds[] = {
		{"inlines.c", "gcc -g -O2 -Wl,--build-id %s -o %s", "dwz", LLVM},
		{"inlines.c", "gcc -g -gdwarf-4 -O2 -Wl,--build-id %s -o %s", "dwz", GNU},
		{"inlines.c", "gcc -g -O2 -Wl,--build-id %s -o %s", "dwz --dwarf-5", LLVM},
		{"inlines.c", "clang -gdwarf-4 -O2 -Wl,--build-id %s -o %s", "dwz", LLVM},
		{"shapes.cc", "g++ -g -O2 -Wl,--build-id %s -o %s", "dwz", CPP},
		{"shapes.cc", "g++ -g -O2 -Wl,--build-id %s -o %s", "dwz --dwarf-5", CPP},
	};
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		char one[140], common[140];
		const char *path = oracle_build(builds[i].source, builds[i].command);
		snprintf(one, sizeof(one), "%s.1", path);
		snprintf(common, sizeof(common), "%s.common", path);
		struct cam_buf b =
			oracle_run("cp %1$s %2$s && cp %1$s %2$s.2 && %3$s -m %4$s %2$s %2$s.2",
				   path, one, builds[i].dwz, common);
		cam_buf_free(&b);
		assert_true(compare(one, common, path, builds[i].tool) > 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_and_lines_are_those_of_others),
		cmocka_unit_test(other_forms_of_files_say_the_same),
		cmocka_unit_test(what_programs_share_is_found_in_the_supplement),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
