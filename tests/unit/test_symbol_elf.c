// SPDX-License-Identifier: Apache-2.0
/* Names of file offsets, against what is known by hand, and against readelf, objdump and perf. */
#include "base/cleanup.h"
#include "support_oracle.h"
#include "symbol/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ANYWHERE 8000u

struct loaded {
	struct cam_bytes b;
	struct cam_elf *e;
	struct cam_elf_hit hit;
};

static void load(struct loaded *l, const char *path)
{
	struct stat s;
	l->b.memory = NULL;
	l->b.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(l->b.fd >= 0);
	assert_int_equal(fstat(l->b.fd, &s), 0);
	l->b.size = (uint64_t)s.st_size;
	l->b.blocks = NULL;
	assert_int_equal(cam_elf_load(&l->b, &l->e), 0);
}

static void unload(struct loaded *l)
{
	cam_elf_free(l->e);
	close(l->b.fd);
}

/* As far as a hit says that it holds, it does: at its ends and at places in between. */
static void check_end(const struct loaded *l, uint64_t offset)
{
	static struct cam_elf_hit other;
	const struct cam_elf_hit *hit = &l->hit;
	if (!hit->end)
		return;
	assert_in_range(offset, hit->start, hit->end - 1);
	for (uint64_t i = 0; i <= 16; i++) {
		uint64_t work = 1u << 20, at = hit->start + (hit->end - 1 - hit->start) * i / 16;
		assert_int_equal(cam_elf_find(l->e, &l->b, at, &work, &other), 1);
		assert_int_equal(other.start, hit->start);
		assert_int_equal(other.end, hit->end);
		assert_int_equal(other.source, hit->source);
		assert_true(cam_text_equal(other.name, hit->name));
	}
}

/* `name+0x12`, or NULL; valid until the next call. */
static const char *name_of(struct loaded *l, uint64_t offset)
{
	static char text[CAM_ELF_MAX_NAME + 32];
	uint64_t work = 1u << 20;
	int found = cam_elf_find(l->e, &l->b, offset, &work, &l->hit);
	assert_in_range(found, 0, 1);
	if (!found)
		return NULL;
	assert_true(l->hit.start <= offset);
	check_end(l, offset);
	snprintf(text, sizeof(text), "%.*s+0x%lx", (int)l->hit.name.n, l->hit.name.p,
		 (unsigned long)(offset - l->hit.start));
	return text;
}

static void assert_name(const char *where, uint64_t offset, const char *is, const char *want)
{
	if (is && want ? strcmp(is, want) : is != want)
		fail_msg("%s at 0x%lx: %s, and not %s", where, (unsigned long)offset,
			 is ? is : "unnamed", want ? want : "unnamed");
}

static const struct {
	const char *symbol;
	uint64_t plus;
	const char *name; /* NULL: has none */
} places[] = {
	{"_start", 0, "_start+0x0"},
	{"_start", 15, "_start+0xf"},
	{"outer_one", 15, "outer_one+0xf"},
	{"outer_one", 16, "inner_one+0x0"},
	{"outer_one", 31, "inner_one+0xf"},
	{"outer_one", 32, "outer_one+0x20"}, /* not inner_label: it has no size */
	{"outer_one", 63, "outer_one+0x3f"},
	{"outer_one", 64, NULL}, /* nor does inner_label reach out of outer_one */
	{"outer_one", 95, NULL},
	{"no_size", 0, "no_size+0x0"},
	{"no_size", 31, "no_size+0x1f"},
	{"no_size", 32, "after_no_size+0x0"},
	{"plain_label", 0, "plain_label+0x0"},
	{"plain_label", 15, "plain_label+0xf"},
	{"hidden_label", 0, NULL},
	{"_one_name", 0, "one_name+0x0"},
	{"weak_alias", 8, "local_alias+0x8"},
	{"abc", 8, "abcdef+0x8"},
	{"aliased_no_size", 15, "aliased+0xf"},
	{"aliased_no_size", 16, NULL}, /* its alias has a size: it ends there */
	{"chosen_at_start", 1, "chosen_at_start+0x1"},
	{"data_in_code", 1, NULL},
	{"_ZNK5outer5inner3runIlLi8EEEiPKcRT_", 1, "outer::inner::run<long, 8>+0x1"},
	{"_ZN5outer3runEv.cold", 1, "outer::run+0x1"},
	{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", 1,
	 "core::fmt::Formatter::write_str+0x1"},
	{"_ZN47_$LT$alloc..string..String$u20$as$u20$Clone$GT$5clone17h0123456789abcdefE", 1,
	 "<alloc::string::String as Clone>::clone+0x1"},
	{"_RNvMs_NtCs1234_7mycrate3fooNtB4_3Bar3baz", 1, "<mycrate::foo::Bar>::baz+0x1"},
	{"_Znot_really_mangled", 1, "_Znot_really_mangled+0x1"},
	{"last_no_size", 7, "last_no_size+0x7"},
	{"last_no_size", 8, NULL}, /* another section */
	{"alone", 15, "alone+0xf"},
	{"alone", 16, NULL},
};

static uint64_t address_of(const char *nm, const char *symbol)
{
	char line[256], type;
	const char *p = nm;
	for (; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		unsigned long address;
		if (sscanf(p, "%lx %c %255s", &address, &type, line) == 3 && !strcmp(line, symbol))
			return address;
	}
	fail_msg("no %s", symbol);
	return 0;
}

static void check_places(const char *path)
{
	struct oracle_symbols s = oracle_symbols(path);
	struct cam_buf nm = oracle_run("nm %s", path);
	struct loaded l;
	load(&l, path);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t address = address_of((char *)nm.data, places[i].symbol);
		uint64_t offset = address - s.code_address + s.code_at + places[i].plus;
		assert_name(places[i].symbol, offset, name_of(&l, offset), places[i].name);
	}
	/* Nothing else in the file has a name: headers, strings, beyond its end. */
	assert_null(name_of(&l, 0));
	assert_null(name_of(&l, s.code_at + s.code_bytes));
	assert_null(name_of(&l, l.b.size));
	assert_null(name_of(&l, UINT64_MAX));
	unload(&l);
	cam_buf_free(&nm);
	oracle_symbols_free(&s);
}

#define BUILD_64 "gcc -nostdlib -static -Wl,--build-id -o %2$s %1$s"
#define BUILD_32 \
	"gcc -E %1$s | as --32 -o %2$s.o - && ld -m elf_i386 --build-id -o %2$s %2$s.o 2>/dev/null"

static void each_place_has_its_name(void **state)
{
	(void)state;
	check_places(oracle_build("names.S", BUILD_64));
}

static void so_it_has_in_32_bits(void **state)
{
	(void)state;
	check_places(oracle_build("names.S", BUILD_32));
}

static void a_stripped_file_has_no_names_and_its_build_id(void **state)
{
	(void)state;
	const char *path = oracle_build("names.S", BUILD_64 " && strip %2$s");
	struct cam_buf notes = oracle_run("readelf -nW %s", path);
	const char *id = strstr((char *)notes.data, "Build ID: ");
	struct loaded l;
	char hex[3];
	assert_non_null(id);
	load(&l, path);
	struct cam_text mine = cam_elf_build_id(l.e);
	assert_int_equal(mine.n, 20);
	for (size_t i = 0; i < mine.n; i++) {
		snprintf(hex, sizeof(hex), "%02x", (unsigned char)mine.p[i]);
		assert_memory_equal(hex, id + strlen("Build ID: ") + 2 * i, 2);
	}
	for (uint64_t at = 0; at < l.b.size; at += 8)
		assert_null(name_of(&l, at));
	unload(&l);
	cam_buf_free(&notes);
}

static uint64_t next_random(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return *x >> 33;
}

/* Offsets of the code: around each symbol's ends, and anywhere. */
static uint64_t *pick_offsets(const struct oracle_symbols *s, size_t *n)
{
	size_t at = 0;
	uint64_t *offsets = calloc(s->n * 4 + ANYWHERE, sizeof(*offsets)), x = 1;
	assert_non_null(offsets);
	for (size_t i = 0; i < s->n; i++) {
		const struct oracle_symbol *row = &s->rows[i];
		offsets[at++] = row->start;
		if (!row->bytes)
			continue;
		offsets[at++] = row->start + row->bytes / 2;
		offsets[at++] = row->start + row->bytes - 1;
		if (row->start + row->bytes < s->code_at + s->code_bytes)
			offsets[at++] = row->start + row->bytes;
	}
	for (size_t i = 0; i < ANYWHERE; i++)
		offsets[at++] = s->code_at + next_random(&x) % s->code_bytes;
	*n = at;
	return offsets;
}

/* Those of the innermost symbols that hold the offset: [*first, *end) of the rows, which all start
 * at one place; of .symtab where it has one. false: none. */
static bool innermost(const struct oracle_symbols *s, uint64_t offset, size_t *first, size_t *end)
{
	for (int dynamic = 0; dynamic < 2; dynamic++) {
		size_t low = 0, high = s->n;
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (s->rows[middle].start <= offset)
				low = middle + 1;
			else
				high = middle;
		}
		for (size_t i = low; i-- > 0;) {
			const struct oracle_symbol *row = &s->rows[i];
			if (row->dynamic != dynamic || offset - row->start >= row->bytes)
				continue;
			*end = low;
			for (*first = i; *first && s->rows[*first - 1].start == row->start;)
				--*first;
			return true;
		}
	}
	return false;
}

static bool is_one_of(const struct oracle_symbols *s, size_t first, size_t end, const char *name,
		      size_t n)
{
	uint64_t start = s->rows[first].start;
	for (size_t i = first; i < end && s->rows[i].start == start; i++) {
		if (strlen(s->rows[i].readable) == n && !memcmp(s->rows[i].readable, name, n))
			return true;
	}
	return false;
}

/* Whether this is a symbol without a size, and none starts between its start and the offset. */
static bool is_unsized(const struct oracle_symbols *s, const char *name, uint64_t start,
		       uint64_t offset)
{
	size_t n = strcspn(name, "+");
	bool found = false;
	for (size_t i = 0; i < s->n; i++) {
		const struct oracle_symbol *row = &s->rows[i];
		if (row->start > start && row->start <= offset)
			return false;
		found |= row->start == start && !row->bytes && strlen(row->readable) == n &&
			 !memcmp(row->readable, name, n);
	}
	return found;
}

/* What is said to be bare has no name anywhere; what has one is not bare. Answers whether it is. */
static bool check_bare(struct loaded *l, uint64_t from, uint64_t bytes)
{
	bool bare = cam_elf_is_bare(l->e, from, from + bytes), named = false;
	for (uint64_t at = from; at < from + bytes && !named; at++)
		named = name_of(l, at) != NULL;
	assert_false(bare && named);
	return bare;
}

/* Every offset inside a sized symbol has one of its names; others have none, but for stubs and what
 * symbols without a size may name. Answers how many of the random ones are inside one, in %. */
static unsigned int compare_with_readelf(const char *path)
{
	struct oracle_symbols s = oracle_symbols(path);
	size_t n, first, end, inside = 0, simple = 0, bare = 0, nameless = 0;
	uint64_t *offsets CAM_AUTOFREE = pick_offsets(&s, &n);
	struct loaded l;
	load(&l, path);
	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(&l, offsets[i]);
		if (innermost(&s, offsets[i], &first, &end)) {
			if (!name || !is_one_of(&s, first, end, l.hit.name.p, l.hit.name.n))
				fail_msg("%s at 0x%lx: %s is not %s", path,
					 (unsigned long)offsets[i], name ? name : "unnamed",
					 s.rows[first].readable);
			assert_int_equal(l.hit.start, s.rows[first].start);
			simple += i >= n - ANYWHERE && l.hit.end;
			inside += i >= n - ANYWHERE;
		} else if (name && !strstr(name, "@plt+") &&
			   !is_unsized(&s, name, l.hit.start, offsets[i])) {
			fail_msg("%s at 0x%lx: %s, where readelf has nothing", path,
				 (unsigned long)offsets[i], name);
		}
		/* name is overwritten from here on */
		bool is_nameless = !name;
		nameless += is_nameless;
		check_bare(&l, offsets[i], 1);
		if (is_nameless)
			bare += check_bare(&l, offsets[i], 60);
	}
	unload(&l);
	oracle_symbols_free(&s);
	print_message(
		"# %s: %zu of %zu in functions that have one name throughout; %zu of %zu bare\n",
		path, simple, inside, bare, nameless);
	assert_true(simple >= inside / 2);
	return (unsigned int)(inside * 100 / ANYWHERE);
}

/* Built once each: the compiler takes most of this test's time. */
static const char *kitchen(void)
{
	static char path[128];
	if (!path[0])
		snprintf(path, sizeof(path), "%s",
			 oracle_build("kitchen.c", "gcc -O2 -o %2$s %1$s -pthread"));
	return path;
}

static const char *shapes(void)
{
	static char path[128];
	if (!path[0])
		snprintf(path, sizeof(path), "%s",
			 oracle_build("shapes.cc", "clang++ -std=c++17 -O2 -o %2$s %1$s -pthread"));
	return path;
}

/* Of exported labels nobody knows where they end: what lies between two of them may be anybody's. */
static void an_exported_label_names_nothing(void **state)
{
	(void)state;
	const char *path = oracle_build(
		"names.S", "gcc -nostdlib -shared -Wl,--build-id -o %2$s %1$s && strip %2$s");
	struct oracle_symbols s = oracle_symbols(path);
	struct cam_buf nm = oracle_run("nm -D %s", path);
	struct loaded l;
	load(&l, path);
	uint64_t moved = s.code_at - s.code_address;
	uint64_t label = address_of((char *)nm.data, "plain_label") + moved;
	uint64_t sized = address_of((char *)nm.data, "outer_one") + moved;
	assert_name("outer_one", sized, name_of(&l, sized), "outer_one+0x0");
	assert_name("plain_label", label, name_of(&l, label), NULL);
	unload(&l);
	cam_buf_free(&nm);
	oracle_symbols_free(&s);
}

static void programs_are_as_readelf_says(void **state)
{
	(void)state;
	assert_true(compare_with_readelf(kitchen()) > 20);
	assert_true(compare_with_readelf(shapes()) > 50);
}

static void a_stripped_library_has_gaps_as_readelf_says(void **state)
{
	(void)state;
	struct cam_buf libc = oracle_run("realpath $(gcc -print-file-name=libc.so.6)");
	struct cam_buf cxx = oracle_run("realpath $(clang++ -print-file-name=libstdc++.so.6)");
	struct cam_buf python = oracle_run("realpath /usr/bin/python3");
	struct cam_buf *all[] = {&libc, &cxx, &python};
	for (int i = 0; i < 3; i++) {
		char *path = (char *)all[i]->data;
		path[strcspn(path, "\n")] = 0;
		/* Distributions strip them; one that does not has no gaps to test. */
		unsigned int named = compare_with_readelf(path);
		assert_in_range(named, 5, 90);
		cam_buf_free(all[i]);
	}
}

/* Whether the offset is in one symbol that lies in another: of these perf names the one that its
 * tree happens to meet first. */
static bool is_nested(const struct oracle_symbols *s, uint64_t offset)
{
	const struct oracle_symbol *holder = NULL;
	for (size_t i = 0; i < s->n && s->rows[i].start <= offset; i++) {
		const struct oracle_symbol *row = &s->rows[i];
		if (offset - row->start >= row->bytes)
			continue;
		if (holder && holder->start != row->start)
			return true;
		holder = row;
	}
	return false;
}

/* Where we say a name perf says the same, but for stubs (perf counts them, we read them) and for
 * symbols without a size inside others (perf prefers them). */
static void compare_with_perf(const char *path, bool all_named)
{
	struct oracle_symbols s = oracle_symbols(path);
	size_t n, named = 0;
	uint64_t *offsets CAM_AUTOFREE = pick_offsets(&s, &n);
	char **perf = oracle_perf_file(path, offsets, n);
	struct loaded l;
	load(&l, path);
	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(&l, offsets[i]);
		if (!name || strstr(name, "@plt+") || is_nested(&s, offsets[i]))
			continue;
		if (perf[i] && strcmp(perf[i], name) &&
		    is_unsized(&s, perf[i],
			       offsets[i] - strtoull(strrchr(perf[i], '+') + 1, NULL, 16),
			       offsets[i]))
			continue;
		assert_name(path, offsets[i], name, perf[i]);
		named++;
	}
	assert_true(named > n / 10 && (!all_named || named > n / 2));
	unload(&l);
	oracle_perf_free(perf, n);
	oracle_symbols_free(&s);
}

static void names_are_those_of_perf(void **state)
{
	(void)state;
	compare_with_perf(oracle_build("names.S", BUILD_64), true);
	compare_with_perf(kitchen(), false);
	compare_with_perf(shapes(), true);
}

/* objdump labels each stub: `0000000000001030 <puts@plt>:`. */
static unsigned int compare_stubs(const char *path)
{
	struct oracle_symbols s = oracle_symbols(path);
	struct cam_buf dump = oracle_run("objdump -d %s | grep '@plt>:'", path);
	unsigned int n = 0;
	char *rest = NULL;
	struct loaded l;
	load(&l, path);
	for (char *p = strtok_r((char *)dump.data, "\n", &rest); p;
	     p = strtok_r(NULL, "\n", &rest)) {
		unsigned long address;
		char name[256], want[300];
		assert_int_equal(sscanf(p, "%lx <%255[^>]>:", &address, name), 2);
		uint64_t offset = address - s.code_address + s.code_at;
		snprintf(want, sizeof(want), "%s+0x5", name);
		assert_name(path, offset, name_of(&l, offset + 5), want);
		assert_int_equal(l.hit.source, CAM_NAME_DYNSYM);
		n++;
	}
	unload(&l);
	cam_buf_free(&dump);
	oracle_symbols_free(&s);
	return n;
}

static void stubs_are_as_objdump_says(void **state)
{
	(void)state;
	const char *lazy = "gcc -O2 -Wl,-z,lazy -o %2$s %1$s -pthread";
	const char *now = "gcc -O2 -Wl,-z,now -o %2$s %1$s -pthread";
	const char *marked = "gcc -O2 -fcf-protection=full -Wl,-z,ibtplt -o %2$s %1$s -pthread";
	unsigned int stubs = compare_stubs(oracle_build("kitchen.c", lazy));
	assert_true(stubs >= 10);
	assert_int_equal(compare_stubs(oracle_build("kitchen.c", now)), stubs);
	assert_int_equal(compare_stubs(oracle_build("kitchen.c", marked)), stubs);
}

/* Linkers of 2018 to 2021 wrote `bnd jmp` (f2 ff 25) into .plt.sec; today's no longer do. */
static void stubs_of_older_linkers_are_read_too(void **state)
{
	(void)state;
	static const uint8_t today[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25};
	const char *path = oracle_build(
		"kitchen.c", "gcc -O2 -fcf-protection=full -Wl,-z,ibtplt -o %2$s %1$s -pthread");
	struct cam_buf file = oracle_run("cat %s", path);
	struct loaded l;
	static struct cam_elf_hit was;
	unsigned int stubs = 0;
	load(&l, path);
	for (size_t i = 0; i + 16 <= file.len; i += 16) {
		uint8_t *stub = file.data + i;
		if (memcmp(stub, today, sizeof(today)))
			continue;
		uint64_t work = 1u << 20;
		struct cam_bytes b = cam_bytes_of_memory(file.data, file.len);
		assert_int_equal(cam_elf_find(l.e, &b, i + 9, &work, &was), 1);
		uint32_t jump = cam_get32(stub + 6) - 1;
		memcpy(stub + 4, "\xf2\xff\x25", 3);
		memcpy(stub + 7, &jump, sizeof(jump));
		assert_int_equal(cam_elf_find(l.e, &b, i + 9, &work, &l.hit), 1);
		assert_int_equal(l.hit.name.n, was.name.n);
		assert_memory_equal(l.hit.name.p, was.name.p, was.name.n);
		stubs++;
	}
	assert_true(stubs >= 10);
	unload(&l);
	cam_buf_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_name),
		cmocka_unit_test(so_it_has_in_32_bits),
		cmocka_unit_test(a_stripped_file_has_no_names_and_its_build_id),
		cmocka_unit_test(programs_are_as_readelf_says),
		cmocka_unit_test(a_stripped_library_has_gaps_as_readelf_says),
		cmocka_unit_test(an_exported_label_names_nothing),
		cmocka_unit_test(names_are_those_of_perf),
		cmocka_unit_test(stubs_are_as_objdump_says),
		cmocka_unit_test(stubs_of_older_linkers_are_read_too),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
