// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind tables of real files and of programs built here in many ways, against binutils' own
 * interpreter (`readelf -wF`): every byte of every function has the rule that it says, and the step finds it in the
 * packed table, of one level or of two.
 */
#include "model/unwind_step.h"
#include "support_frames.h"
#include "support_oracle.h"
#include "symbol/frame_index.h"
#include "symbol/table_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct cam_step_env {
	struct cam_table_cache *tables;
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_block(e->tables, number);
}

/* Only rules are looked up here: no stack, no image. */
static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_find(e->tables, number);
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	(void)e;
	return NULL;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	(void)e;
	(void)k;
	return NULL;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	(void)e;
	(void)to;
	(void)bytes;
	(void)address;
	return -1;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	(void)e;
	(void)address;
	return 0;
}

#define PACKED	    1u /* the number of the file in the cache */
#define MAX_COLUMNS 24u
#define VALUE_BYTES 24u

struct segment {
	uint64_t address, offset, bytes;
};

/* readelf's words of one row. */
struct words {
	uint64_t address;
	char cfa[VALUE_BYTES], rbp[VALUE_BYTES], ra[VALUE_BYTES];
};

struct range {
	uint64_t start, end;
};

struct comparing {
	const char *path;
	struct frames frames;
	struct cam_step_env packed;
	unsigned int every; /* so many functions one is compared */
	struct segment segments[8];
	unsigned int n_segments;
	char columns[MAX_COLUMNS][8];
	unsigned int n_columns;
	struct words *cies; /* by their place: where an FDE prints no rows it has its CIE's */
	size_t n_cies;
	bool in_cie, in_fde;
	struct range fde;
	unsigned int fde_rows;
	struct words before, of_cie;
	struct range *fdes; /* file offsets */
	size_t n_fdes;
	unsigned long checked, expressions, elsewhere;
};

static void read_segments(struct comparing *c)
{
	struct cam_buf b = oracle_run("readelf -lW %s 2>/dev/null", c->path);
	char *rest = NULL;
	for (char *l = strtok_r((char *)b.data, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		unsigned long at, address, bytes;
		char flags[4];
		if (sscanf(l, " LOAD 0x%lx 0x%lx 0x%*x 0x%lx 0x%*x %3[RWE ]", &at, &address, &bytes,
			   flags) == 4 &&
		    strchr(flags, 'E')) {
			assert_true(c->n_segments < 8);
			c->segments[c->n_segments++] = (struct segment){address, at, bytes};
		}
	}
	assert_true(c->n_segments);
	cam_buf_free(&b);
}

static bool offset_of(const struct comparing *c, uint64_t address, uint64_t *offset)
{
	for (unsigned int i = 0; i < c->n_segments; i++) {
		const struct segment *s = &c->segments[i];
		*offset = s->offset + (address - s->address);
		if (address >= s->address && address - s->address < s->bytes)
			return true;
	}
	return false;
}

static bool rbp_agrees(const struct words *w, const struct cam_unwind_rule *r)
{
	int offset;
	if (!w->rbp[0] || !strcmp(w->rbp, "u")) /* said to be undefined, or nothing said */
		return r->rbp == CAM_RBP_SAME || r->rbp == CAM_RBP_GONE;
	if (!strcmp(w->rbp, "s"))
		return r->rbp == CAM_RBP_SAME;
	if (!strcmp(w->rbp, "exp"))
		return r->rbp == CAM_RBP_AT_RBP || r->rbp == CAM_RBP_GONE;
	if (sscanf(w->rbp, "c%d", &offset) == 1 && offset == (int16_t)offset)
		return r->rbp == CAM_RBP_AT_CFA && r->rbp_offset == offset;
	return r->rbp == CAM_RBP_GONE;
}

static bool agrees(struct comparing *c, const struct words *w, const struct cam_unwind_rule *r)
{
	int offset;
	if (!strcmp(w->cfa, "exp")) {
		c->expressions++;
		if (r->cfa == CAM_CFA_SIGNAL || r->cfa == CAM_CFA_UNSUPPORTED)
			return true;
		return (r->cfa == CAM_CFA_PLT || r->cfa == CAM_CFA_DEREF_RBP) &&
		       !strcmp(w->ra, "c-8") && rbp_agrees(w, r);
	}
	if (!strcmp(w->ra, "u"))
		return r->cfa == CAM_CFA_END;
	bool rsp = sscanf(w->cfa, "rsp%d", &offset) == 1;
	bool rbp = !rsp && sscanf(w->cfa, "rbp%d", &offset) == 1;
	if ((!rsp && !rbp) || strcmp(w->ra, "c-8")) {
		c->elsewhere++;
		return r->cfa == CAM_CFA_UNSUPPORTED;
	}
	return r->cfa == (rsp ? CAM_CFA_RSP : CAM_CFA_RBP) && r->cfa_offset == offset &&
	       rbp_agrees(w, r);
}

/* What the unwinder finds there is that row's rule. */
static void check_packed(struct comparing *c, uint64_t offset, long row)
{
	struct cam_unwind_rule found;
	const struct cam_unwind_file *f = cam_step_file(&c->packed, PACKED);
	assert_true(cam_step_find(&c->packed, f, offset, &found));
	const struct cam_unwind_rule *want = &c->frames.rules[c->frames.rows[row].rule];
	assert_memory_equal(&found, want, sizeof(found));
}

/* [from, to) has this rule, all of it. */
static void check_range(struct comparing *c, const struct words *w, uint64_t from, uint64_t to)
{
	uint64_t at = 0;
	if (from >= to)
		return;
	assert_true(offset_of(c, from, &at));
	long first = frames_row(&c->frames, at),
	     last = frames_row(&c->frames, at + (to - from) - 1);
	if (first < 0)
		fail_msg("%s: nothing at 0x%lx", c->path, (unsigned long)from);
	const struct cam_unwind_rule *r = &c->frames.rules[c->frames.rows[first].rule];
	if (!agrees(c, w, r))
		fail_msg("%s: 0x%lx: %s, and not %s, rbp %s, ra %s", c->path, (unsigned long)from,
			 frames_text(r), w->cfa, w->rbp, w->ra);
	for (long i = first + 1; i <= last; i++) {
		if (!agrees(c, w, &c->frames.rules[c->frames.rows[i].rule]))
			fail_msg("%s: another row within 0x%lx..0x%lx", c->path,
				 (unsigned long)from, (unsigned long)to);
	}
	check_packed(c, at, first);
	check_packed(c, at + (to - from) - 1, last);
	c->checked++;
}

static int pass_over(void *arg, const struct cam_ehframe_piece *p)
{
	(void)arg;
	(void)p;
	return 0;
}

/* As the symboliser has it for stacks that it walks itself. */
static void pack(struct comparing *c, unsigned int levels)
{
	struct cam_bytes b;
	int fd = open(c->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(cam_bytes_of_file(&b, fd), 0);
	c->packed.tables = cam_table_cache_new(32u << 20);
	assert_non_null(c->packed.tables);
	assert_int_equal(cam_table_cache_read(c->packed.tables, PACKED, &b, pass_over, NULL), 0);
	close(fd);
	const struct cam_unwind_file *f = cam_step_file(&c->packed, PACKED);
	assert_non_null(f);
	assert_int_equal(f->levels, levels);
}

static void end_entry(struct comparing *c)
{
	if (c->in_fde)
		check_range(c, c->fde_rows ? &c->before : &c->of_cie, c->before.address,
			    c->fde.end);
	else if (c->in_cie)
		c->cies[c->n_cies++] = c->before;
	c->in_cie = c->in_fde = false;
}

static void start_fde(struct comparing *c, uint64_t cie, uint64_t start, uint64_t end)
{
	uint64_t offset;
	if (!start || !offset_of(c, start, &offset))
		return;
	c->in_fde = true;
	c->fde = (struct range){start, end};
	c->fde_rows = 0;
	c->before.address = start;
	c->fdes = reallocarray(c->fdes, c->n_fdes + 1, sizeof(*c->fdes));
	c->fdes[c->n_fdes++] = (struct range){offset, offset + (end - start)};
	bool found = false;
	for (size_t i = 0; i < c->n_cies; i++) {
		if (c->cies[i].address == cie) {
			c->of_cie = c->cies[i];
			found = true;
		}
	}
	assert_true(found);
}

static void take_columns(struct comparing *c, char *line)
{
	char *rest = NULL;
	c->n_columns = 0;
	for (char *w = strtok_r(line, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest)) {
		assert_true(c->n_columns < MAX_COLUMNS);
		snprintf(c->columns[c->n_columns++], sizeof(c->columns[0]), "%s", w);
	}
}

static void take_row(struct comparing *c, char *line, uint64_t address)
{
	struct words w = {.address = address};
	char *rest = NULL, *word = strtok_r(line, " \n", &rest);
	for (unsigned int i = 0; i < c->n_columns && word; i++) {
		char *to = !strcmp(c->columns[i], "CFA")   ? w.cfa
			   : !strcmp(c->columns[i], "rbp") ? w.rbp
			   : !strcmp(c->columns[i], "ra")  ? w.ra
							   : NULL;
		if (to)
			snprintf(to, VALUE_BYTES, "%s", word);
		word = strtok_r(NULL, " \n", &rest);
		if (word && word[0] == '(') /* `r0 (rax)` */
			word = strtok_r(NULL, " \n", &rest);
	}
	if (c->in_fde && c->fde_rows++)
		check_range(c, &c->before, c->before.address, address);
	if (c->in_cie)
		w.address = c->before.address;
	c->before = w;
}

static void take_line(struct comparing *c, char *line)
{
	unsigned long place, cie, start, end, address;
	char letters[16];
	if (sscanf(line, "%lx %*x %*x FDE cie=%lx pc=%lx..%lx", &place, &cie, &start, &end) == 4) {
		end_entry(c);
		start_fde(c, cie, start, end);
		c->in_fde &= c->n_fdes % c->every == 0;
	} else if (sscanf(line, "%lx %*x %*x CIE \"%15[^\"]", &place, letters) >= 1 &&
		   strstr(line, " CIE ")) {
		end_entry(c);
		c->cies = reallocarray(c->cies, c->n_cies + 1, sizeof(*c->cies));
		c->in_cie = true;
		c->before = (struct words){.address = place};
	} else if (strstr(line, "   LOC ")) {
		take_columns(c, line);
	} else if ((c->in_cie || c->in_fde) && sscanf(line, "%lx ", &address) == 1 &&
		   strlen(line) > 17 && line[16] == ' ') {
		take_row(c, line, address);
	} else if (strstr(line, "Contents of")) {
		end_entry(c);
		c->n_cies = 0;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Code that no function claims is NONE, but for padding. */
static void check_gaps(struct comparing *c)
{
	qsort(c->fdes, c->n_fdes, sizeof(*c->fdes), by_start);
	for (size_t i = 0; i < c->n_fdes; i++) {
		uint64_t end = c->fdes[i].end;
		uint64_t next = i + 1 < c->n_fdes ? c->fdes[i + 1].start : UINT32_MAX;
		if (next <= end || (next - end < 16 && next % 16 == 0))
			continue;
		assert_int_equal(frames_rule(&c->frames, end)->cfa, CAM_CFA_NONE);
		assert_int_equal(frames_row(&c->frames, end), frames_row(&c->frames, next - 1));
	}
	assert_true(frames_row(&c->frames, c->fdes[0].start - 1) < 0);
}

/* How many rows were compared. */
static unsigned long compare_packed(const char *path, unsigned int levels, unsigned int every)
{
	struct comparing c = {.path = path, .every = every};
	char command[512], line[1024];
	read_segments(&c);
	frames_of_path(path, &c.frames);
	pack(&c, levels);
	snprintf(command, sizeof(command), "readelf -wNF %s 2>/dev/null", path);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		/* Most lines of a large file are rows of what is not compared. */
		if (c.in_fde || c.in_cie || strchr(line, '='))
			take_line(&c, line);
		else if (strstr(line, " CIE ") || strstr(line, "Contents of"))
			take_line(&c, line);
	}
	pclose(f);
	end_entry(&c);
	assert_true(c.n_fdes);
	check_gaps(&c);
	print_message(
		"# %s: %lu rows alike (%lu by expressions, %lu by other registers), %zu of our "
		"own, %zu rules, %u pieces\n",
		path, c.checked, c.expressions, c.elsewhere, c.frames.n_rows, c.frames.n_rules,
		c.frames.pieces);
	frames_free(&c.frames);
	cam_table_cache_free(c.packed.tables);
	free(c.cies);
	free(c.fdes);
	return c.checked;
}

static unsigned long compare(const char *path)
{
	return compare_packed(path, 1, 1);
}

static void test_files_of_this_system(void **state)
{
	(void)state;
	assert_true(compare("/lib/x86_64-linux-gnu/libc.so.6") > 20000);
	assert_true(compare("/lib64/ld-linux-x86-64.so.2") > 2000);
	assert_true(compare("/usr/lib/x86_64-linux-gnu/libcrypto.so.3") > 50000);
	assert_true(compare("/usr/bin/python3") > 20000);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

/* The compiler that the BPF programs are made with: every 16th function, of 860,000 rows. With sanitizers the reading of readelf's
 * text takes minutes, and the rows of other files take the same ways through the code. */
#if !SANITIZED
static void test_a_table_of_two_levels(void **state)
{
	(void)state;
	assert_true(compare_packed("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 2, 16) > 30000);
}
#endif

static void test_compilers_and_options(void **state)
{
	static const char *const commands[] = {
		"gcc -O0 -o %2$s %1$s",
		"gcc -O2 -fomit-frame-pointer -o %2$s %1$s",
		"gcc -O2 -mavx2 -mstackrealign -fstack-protector-all -o %2$s %1$s",
		"gcc -Os -fcf-protection=full -z ibtplt -Wl,-z,lazy -o %2$s %1$s",
		"gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -g -o %2$s %1$s",
		"gcc -O2 -fno-asynchronous-unwind-tables -g -gz=zlib -o %2$s %1$s",
		"gcc -O2 -fno-asynchronous-unwind-tables -g -o %2$s %1$s && objcopy --compress-debug-sections=zstd %2$s",
		"gcc -O2 -static -o %2$s %1$s",
		"gcc -O2 -static-pie -o %2$s %1$s",
		"gcc -O2 -no-pie -Wl,-Ttext-segment=0x10000000 -o %2$s %1$s",
		"gcc -O2 -no-pie -Wl,--section-start=.text=0x7000000 -o %2$s %1$s",
		"gcc -O2 -Wl,-z,noseparate-code -o %2$s %1$s",
		"clang -O0 -o %2$s %1$s",
		"clang -O2 -o %2$s %1$s",
		"clang -O2 -fno-asynchronous-unwind-tables -g -gdwarf-4 -o %2$s %1$s",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		assert_true(compare(oracle_build("frames.c", commands[i])) > 30);
}

static struct cam_buf slurp(const char *path)
{
	return oracle_run("cat %s", path);
}

static void assert_same(const struct frames *a, const struct frames *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
}

/* As `sstrip` leaves it: .eh_frame is found by the program header. */
static void test_without_section_headers(void **state)
{
	const char *path = oracle_build("frames.c", "gcc -O2 -o %2$s %1$s");
	struct cam_buf b = slurp(path);
	struct frames whole, stripped;
	(void)state;
	frames_of_path(path, &whole);
	memset(b.data + 40, 0, 8); /* e_shoff */
	memset(b.data + 60, 0, 4); /* e_shnum, e_shstrndx */
	struct cam_bytes bytes = cam_bytes_of_memory(b.data, b.len);
	assert_int_equal(frames_of_bytes(&bytes, &stripped), 0);
	assert_same(&whole, &stripped);
	frames_free(&whole);
	frames_free(&stripped);
	cam_buf_free(&b);
}

static const struct {
	const char *symbol;
	uint64_t plus;
	const char *rule;
} odd[] = {
	{"_start", 0, "end"},
	{"odd", 0, "rsp+8"},
	{"odd", 1, "rsp+16"},
	{"odd", 2, "rbp+16 rbp@cfa-16"},
	{"odd", 3, "rsp+16"},
	{"odd", 4, "rsp+8"},
	{"odd", 5, "unsupported"},
	{"odd", 6, "rsp+8 rbp-gone"},
	{"odd", 7, "rsp+8"},
	{"odd", 8, "rsp+8 rbp-gone"},
	{"odd", 9, "rsp+8"},
	{"odd", 10, "rsp+8 rbp-gone"},
	{"odd", 11, "unsupported"},
	{"odd", 12, "*(rbp-8) rbp@rbp+0"},
	{"odd", 13, "plt+11"},
	{"odd", 14, "unsupported"},
	{"odd", 15, "rsp+16"},
	{"odd", 16, "rsp+24 rbp@cfa-24"},
	{"odd", 17, "rsp+24 rbp@cfa-16"},
	{"odd", 18, "rsp+24 rbp-gone"},
	{"odd", 19, "rsp+24"},
	{"odd", 20, "rsp+8"},
	{"odd", 21, "none"},
	{"broken", 0, "rsp+8"},
	{"broken", 1, "rsp+16"},
	{"broken", 2, "unsupported"},
	{"returns_from_signal", 0, "signal"},
	{"plain_but_marked", 0, "rsp+8"},
};

#define ODD_BUILD "gcc -nostdlib -static -o %2$s %1$s 2>/dev/null"

static void test_what_no_compiler_writes(void **state)
{
	const char *path = oracle_build("frames_odd.S", ODD_BUILD);
	struct oracle_symbols s = oracle_symbols(path);
	struct frames f;
	(void)state;
	frames_of_path(path, &f);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		size_t k = 0;
		while (k < s.n && strcmp(s.rows[k].name, odd[i].symbol))
			k++;
		assert_true(k < s.n);
		const char *is = frames_text(frames_rule(&f, s.rows[k].start + odd[i].plus));
		if (strcmp(is, odd[i].rule))
			fail_msg("%s+%lu: %s, and not %s", odd[i].symbol,
				 (unsigned long)odd[i].plus, is, odd[i].rule);
	}
	frames_free(&f);
	oracle_symbols_free(&s);
}

static void test_other_machines(void **state)
{
	const char *path = oracle_build("frames_odd.S", ODD_BUILD);
	struct cam_buf b = slurp(path);
	struct frames f;
	(void)state;
	struct cam_bytes bytes = cam_bytes_of_memory(b.data, b.len);
	b.data[18] = 183; /* e_machine: aarch64 */
	assert_int_equal(frames_of_bytes(&bytes, &f), -ENOEXEC);
	b.data[0] = 0;
	assert_int_equal(frames_of_bytes(&bytes, &f), -EBADMSG);
	cam_buf_free(&b);
	path = oracle_build("names.S", "gcc -m32 -nostdlib -static -o %2$s %1$s");
	b = slurp(path);
	bytes = cam_bytes_of_memory(b.data, b.len);
	assert_int_equal(frames_of_bytes(&bytes, &f), -ENOEXEC);
	cam_buf_free(&b);
}

static void test_a_file_without_cfi(void **state)
{
	const char *path = oracle_build("names.S", "gcc -nostdlib -static -o %2$s %1$s");
	struct frames f;
	(void)state;
	frames_of_path(path, &f);
	assert_int_equal(f.n_rows, 0);
	assert_int_equal(f.pieces, 1);
	frames_free(&f);
}

/* Starts of functions by the index alone, against readelf's FDEs. */
static void test_starts(void **state)
{
	const char *path = "/lib/x86_64-linux-gnu/libc.so.6";
	struct cam_bytes b = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct comparing c = {.path = path};
	struct cam_elf_file f;
	struct stat s;
	char line[1024];
	unsigned long start, end, n = 0;
	uint64_t stop;
	(void)state;
	assert_int_equal(fstat(b.fd, &s), 0);
	b.size = (uint64_t)s.st_size;
	assert_int_equal(cam_elf_file_read(&f, &b), 0);
	read_segments(&c);
	FILE *in = popen("readelf -wNF /lib/x86_64-linux-gnu/libc.so.6", "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		uint64_t from = 0, to;
		if (sscanf(line, "%*x %*x %*x FDE cie=%*x pc=%lx..%lx", &start, &end) != 2)
			continue;
		assert_true(offset_of(&c, start, &from));
		to = from + (end - start);
		assert_int_equal(cam_frame_index_start(&f, &b, from, &stop), from);
		assert_int_equal(cam_frame_index_start(&f, &b, from + (to - from) / 2, &stop),
				 from);
		assert_int_equal(cam_frame_index_start(&f, &b, to - 1, &stop), from);
		assert_int_equal(stop, to);
		assert_in_range(cam_frame_index_start(&f, &b, to, &stop), to, to);
		n++;
	}
	pclose(in);
	assert_true(n > 2000);
	assert_int_equal(cam_frame_index_start(&f, &b, 16, &stop), 16);
	assert_int_equal(stop, 0);
	assert_int_equal(cam_frame_index_start(&f, &b, b.size + 5, &stop), b.size + 5);
	close(b.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_this_system),
#if !SANITIZED
		cmocka_unit_test(test_a_table_of_two_levels),
#endif
		cmocka_unit_test(test_compilers_and_options),
		cmocka_unit_test(test_without_section_headers),
		cmocka_unit_test(test_what_no_compiler_writes),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_a_file_without_cfi),
		cmocka_unit_test(test_starts),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
