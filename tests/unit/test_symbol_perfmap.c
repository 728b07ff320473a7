// SPDX-License-Identifier: Apache-2.0
/* perf maps: lines good and bad, growing, written anew, a million of them, and who asks for them. */
#include "symbol/perfmap.h"

#include "base/cleanup.h"
#include "symbol/jit_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

static bool feed(struct cam_perfmap *m, const char *text)
{
	struct cam_bytes b = cam_bytes_of_memory(text, strlen(text));
	bool behind;
	assert_int_equal(cam_perfmap_read(m, &b, 1 << 20, &behind), 0);
	return behind;
}

static const char *name_in(const struct cam_jitcode *c, uint64_t address)
{
	static char name[CAM_JITCODE_MAX_NAME + 1];
	struct cam_jitcode_hit hit;
	if (!cam_jitcode_find(c, address, &hit))
		return "";
	memcpy(name, hit.name.p, hit.name.n);
	name[hit.name.n] = '\0';
	return name;
}

#define NAME(address) name_in(m.code, address)

static void test_lines(void **state)
{
	(void)state;
	struct cam_perfmap m;
	cam_perfmap_open(&m);
	feed(&m, "1000 10 plain\n"
		 "0x2000 0x20 LazyCompile:*f /srv/a b.js:1:2\n"
		 "0X3000 0X8\tTAB\n"
		 "00007F0000001000 00000010 java.lang.String.hashCode()\n"
		 "zz 10 no number\n"
		 "4000\n"
		 "4000 10\n"
		 "4000 10 \n"
		 "4000 0 empty\n"
		 "4000 -1 negative\n"
		 "11111111111111111 10 seventeen digits\n"
		 "ffffffffffffffff 10 past the end\n"
		 "\n"
		 "0x 10 no digits\n"
		 "5000 10 \xff\x01<b>\n");
	assert_string_equal(NAME(0x1000), "plain");
	assert_string_equal(NAME(0x100f), "plain");
	assert_string_equal(NAME(0x1010), "");
	assert_string_equal(NAME(0xfff), "");
	assert_string_equal(NAME(0x201f), "LazyCompile:*f /srv/a b.js:1:2");
	assert_string_equal(NAME(0x3000), "TAB");
	assert_string_equal(NAME(0x7f0000001004), "java.lang.String.hashCode()");
	assert_string_equal(NAME(0x4000), "");
	assert_string_equal(NAME(0x5000), "\xff\x01<b>");
	assert_int_equal(m.bad_lines, 10);
	cam_perfmap_close(&m);
}

static void test_grows(void **state)
{
	(void)state;
	struct cam_perfmap m;
	cam_perfmap_open(&m);
	feed(&m, "1000 10 one\n2000 10 tw");
	assert_string_equal(NAME(0x1000), "one");
	assert_string_equal(NAME(0x2000), "");
	feed(&m, "1000 10 one\n2000 10 two\n1008 4 three\n");
	assert_string_equal(NAME(0x2000), "two");
	assert_string_equal(NAME(0x1008), "three");
	assert_string_equal(NAME(0x1004), "one");
	assert_int_equal(m.bad_lines, 0);
	cam_perfmap_close(&m);
}

static void test_written_anew(void **state)
{
	(void)state;
	struct cam_perfmap m;
	struct cam_jitcode_hit hit;
	cam_perfmap_open(&m);
	feed(&m, "1000 10 one\n2000 10 two\n");
	uint64_t turn = cam_jitcode_turn(m.code);
	assert_true(cam_jitcode_tell(m.code, 0x1000, &hit));
	/* Shorter. */
	feed(&m, "3000 10 x\n");
	assert_string_equal(NAME(0x1000), "");
	assert_string_equal(NAME(0x3000), "x");
	assert_true(cam_jitcode_turn(m.code) != turn);
	/* Longer, and other bytes where the last reading ended. */
	feed(&m, "4000 10 y\n5000 10 z\n");
	assert_string_equal(NAME(0x3000), "");
	assert_string_equal(NAME(0x4000), "y");
	/* The same file again changes nothing. */
	turn = cam_jitcode_turn(m.code);
	feed(&m, "4000 10 y\n5000 10 z\n");
	assert_true(cam_jitcode_turn(m.code) == turn);
	cam_perfmap_close(&m);
}

static void test_long_line(void **state)
{
	(void)state;
	size_t n = 200000;
	CAM_AUTOFREE char *text = malloc(n + 64);
	struct cam_perfmap m;
	cam_perfmap_open(&m);
	strcpy(text, "1000 10 ");
	memset(text + 8, 'x', n);
	strcpy(text + 8 + n, "\n2000 10 two\n");
	feed(&m, text);
	assert_string_equal(NAME(0x2000), "two");
	assert_int_equal(m.bad_lines, 1);
	cam_perfmap_close(&m);
}

static void test_a_lot_at_a_time(void **state)
{
	(void)state;
	size_t n = 20000;
	CAM_AUTOFREE char *text = malloc(n * 32 + 1);
	char *to = text;
	struct cam_perfmap m;
	bool behind = true;
	int calls = 0;
	cam_perfmap_open(&m);
	for (size_t i = 0; i < n; i++)
		to += sprintf(to, "%zx 10 f%zu\n", i * 16, i);
	struct cam_bytes b = cam_bytes_of_memory(text, (size_t)(to - text));
	for (; behind && calls < 100; calls++)
		assert_int_equal(cam_perfmap_read(&m, &b, 100000, &behind), 0);
	assert_in_range(calls, 3, 99);
	assert_string_equal(NAME((n - 1) * 16), "f19999");
	assert_int_equal(cam_jitcode_rows(m.code), n);
	cam_perfmap_close(&m);
}

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A million functions, through the cache, as the symboliser does it. */
static void test_a_million(void **state)
{
	(void)state;
	CAM_AUTOCLOSE int fd = memfd_create("map", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");
	for (uint64_t i = 0; i < 1000000; i++)
		fprintf(f, "%lx %x LazyCompile:*fn%lu /srv/app/lib/file.js:%lu\n",
			0x7f0000000000 + (i * 7919 % 1000000) * 256, 200, i, i % 5000);
	fclose(f);
	struct cam_jit_cache *c = cam_jit_cache_new(CAM_JIT_CACHE_BYTES);
	struct cam_jitcode *code;
	bool behind = true;
	double before = cpu_seconds();
	while (behind)
		assert_int_equal(cam_jit_cache_get(c, fd, 1, CAM_FORMAT_PERF_MAP, &code, &behind),
				 0);
	double took = cpu_seconds() - before;
	print_message("a million functions: %.0f ms of CPU, %zu MiB\n", took * 1e3,
		      cam_jitcode_memory(code) >> 20);
	/* It must come to an end within seconds also in a build with sanitizers, and never have more than its cache may. */
	assert_true(took < 8);
	assert_in_range(cam_jitcode_memory(code), 1 << 20, CAM_JIT_CACHE_BYTES);
	assert_in_range(cam_jitcode_rows(code), 900000, 1000000);
	assert_string_equal(name_in(code, 0x7f0000000000 + (999999ul * 7919 % 1000000) * 256 + 199),
			    "LazyCompile:*fn999999 /srv/app/lib/file.js:4999");
	cam_jit_cache_free(c);
}

static void write_file(int fd, const char *text)
{
	assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void test_cache(void **state)
{
	(void)state;
	struct cam_jit_cache *c = cam_jit_cache_new(1 << 20);
	struct cam_jitcode *code;
	bool behind;
	int fds[CAM_JIT_CACHE_FILES + 1];
	for (size_t i = 0; i <= CAM_JIT_CACHE_FILES; i++) {
		char text[64];
		fds[i] = memfd_create("map", MFD_CLOEXEC);
		snprintf(text, sizeof(text), "1000 10 file%zu\n", i);
		write_file(fds[i], text);
		assert_int_equal(
			cam_jit_cache_get(c, fds[i], 1, CAM_FORMAT_PERF_MAP, &code, &behind), 0);
	}
	/* The last is known still, the first was read anew; each has its own. */
	for (size_t i = CAM_JIT_CACHE_FILES + 1; i-- > 0;) {
		char name[32];
		snprintf(name, sizeof(name), "file%zu", i);
		assert_int_equal(
			cam_jit_cache_get(c, fds[i], 1, CAM_FORMAT_PERF_MAP, &code, &behind), 0);
		assert_string_equal(name_in(code, 0x1000), name);
		assert_true(cam_jit_cache_memory(c) < 2u << 20);
		close(fds[i]);
	}
	CAM_AUTOCLOSE int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(cam_jit_cache_get(c, null, 1, CAM_FORMAT_PERF_MAP, &code, &behind),
			 -EBADMSG);
	cam_jit_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_written_anew),	cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_a_lot_at_a_time), cmocka_unit_test(test_a_million),
		cmocka_unit_test(test_cache),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
