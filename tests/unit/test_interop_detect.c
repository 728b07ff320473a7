// SPDX-License-Identifier: Apache-2.0
#include "interop/detect.h"
#include "support_input.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static enum cam_format detect_data(const char *name)
{
	struct cam_input *in;
	int fd = open_data(name);
	assert_int_equal(cam_input_open_fd(&in, fd, NULL), 0);
	enum cam_format format = cam_detect(cam_input_peek(in));
	cam_input_close(in);
	close(fd);
	return format;
}

/* All files of a directory of tests/data whose names end so. */
static void expect_all(const char *dir, const char *end, enum cam_format want)
{
	char path[1024];
	unsigned seen = 0;
	snprintf(path, sizeof(path), "%s/%s", getenv("PERFCAM_TEST_DATA"), dir);
	DIR *d = opendir(path);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (!cam_text_ends(cam_text_of(e->d_name), cam_text_of(end)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (detect_data(path) != want)
			fail_msg("%s is not seen as %s", path, cam_format_name(want));
		seen++;
	}
	closedir(d);
	assert_true(seen > 5);
}

static void recorded_files_are_told_apart(void **state)
{
	(void)state;
	expect_all(".", ".stacks.gz", CAM_FORMAT_PERF_SCRIPT);
	expect_all(".", ".raw.gz", CAM_FORMAT_PERF_SCRIPT);
	expect_all("oracle", ".folded.gz", CAM_FORMAT_FOLDED);
	expect_all("oracle", ".folded-all-pid.gz", CAM_FORMAT_FOLDED);
}

static void a_variant_is_seen_as_perf_script(void **state)
{
	(void)state;
	/* Each line of it is a sample, or it has no time: the hardest to tell. */
	static const char *const hard[] = {"flat",    "flatns",	  "notime",
					   "tidonly", "sideband", "misc"};
	for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "variants/nginx-997.%s.gz", hard[i]);
		assert_int_equal(detect_data(name), CAM_FORMAT_PERF_SCRIPT);
	}
}

static void short_and_strange_files(void **state)
{
	(void)state;
	static const struct {
		struct cam_text first;
		enum cam_format want;
	} cases[] = {
		{{"", 0}, CAM_FORMAT_EMPTY},
		{{"PERFILE2\x68\0\0\0", 12}, CAM_FORMAT_PERF_DATA},
		{{"2ELIFREP\0\0\0\x68", 12}, CAM_FORMAT_PERF_DATA},
		{{"\0PFCWN1\n", 8}, CAM_FORMAT_WINDOW},
		{{"\x1f\x8b\x08\0", 4}, CAM_FORMAT_COMPRESSED},
		{{"\x28\xb5\x2f\xfd\0", 5}, CAM_FORMAT_COMPRESSED},
		{{"\x7f"
		  "ELF\2\1\1\0\0\0",
		  10},
		 CAM_FORMAT_BINARY},
		{{"\0\0\0\0", 4}, CAM_FORMAT_BINARY},
		{{"a;b;c 1", 7}, CAM_FORMAT_FOLDED},
		{{"a;b;c 1\n", 8}, CAM_FORMAT_FOLDED},
		{{"a;b;c 1 2\n", 10}, CAM_FORMAT_FOLDED},
		{{"a;b c;d 1.5\n", 12}, CAM_FORMAT_FOLDED},
		{{"main 1\nmain;f 2\n", 16}, CAM_FORMAT_FOLDED},
		{{"hello, world\n", 13}, CAM_FORMAT_UNKNOWN},
		{{"\n\n\n", 3}, CAM_FORMAT_UNKNOWN},
		{{"{\"a\": 1}\n", 9}, CAM_FORMAT_UNKNOWN},
		{{"a 1 1.000000: e:\n\n", 18}, CAM_FORMAT_PERF_SCRIPT},
		{{"a 1 e:\n\t10 f (m)\n\n", 18}, CAM_FORMAT_PERF_SCRIPT},
		{{"# ========\n# captured on    : x\n", 32}, CAM_FORMAT_PERF_SCRIPT},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum cam_format got = cam_detect(cases[i].first);
		if (got != cases[i].want)
			fail_msg("case %zu: %s, not %s", i, cam_format_name(got),
				 cam_format_name(cases[i].want));
	}
}

/* No bytes may be read past the end, whatever they are: for the sanitizer's eyes. */
static void random_bytes_are_nothing(void **state)
{
	(void)state;
	uint64_t x = 88172645463325252u;
	for (int round = 0; round < 2000; round++) {
		size_t n = (size_t)round % 257;
		char *bytes = malloc(n ? n : 1);
		for (size_t i = 0; i < n; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[i] = (char)x;
		}
		enum cam_format f = cam_detect((struct cam_text){bytes, n});
		assert_true(f != CAM_FORMAT_PERF_SCRIPT && f != CAM_FORMAT_PERF_DATA);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_files_are_told_apart),
		cmocka_unit_test(a_variant_is_seen_as_perf_script),
		cmocka_unit_test(short_and_strange_files),
		cmocka_unit_test(random_bytes_are_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
