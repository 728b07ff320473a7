// SPDX-License-Identifier: Apache-2.0
/* Any bytes, escaped and back, with every set of flags. */
#include "base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ALL                                                                              \
	(CAM_ESCAPE_CONTROL | CAM_ESCAPE_TAB | CAM_ESCAPE_BYTES | CAM_ESCAPE_SEMICOLON | \
	 CAM_ESCAPE_FORMULA)

static void check(const char *bytes, size_t n, unsigned flags, const char *want)
{
	struct cam_buf b = CAM_BUF(4096);
	char back[256];
	cam_escape_put(&b, (struct cam_text){bytes, n}, flags);
	assert_int_equal(cam_buf_error(&b), 0);
	if (want) {
		assert_int_equal(b.len, strlen(want));
		assert_memory_equal(b.data, want, b.len);
	}
	size_t got = cam_escape_undo((struct cam_text){(char *)b.data, b.len}, flags, back);
	assert_int_equal(got, n);
	assert_memory_equal(back, bytes, n);
	cam_buf_free(&b);
}

static void test_examples(void **state)
{
	(void)state;
	check("a\nb", 3, CAM_ESCAPE_CONTROL, "a\\x0ab");
	check("a\\x0ab", 6, CAM_ESCAPE_CONTROL, "a\\x5cx0ab");
	check("C:\\temp", 7, ALL, "C:\\temp");
	check("a\tb", 3, CAM_ESCAPE_CONTROL, "a\tb");
	check("a\tb", 3, ALL, "a\\x09b");
	check("\xff\xc3\xa9", 3, ALL, "\\xff\xc3\xa9");
	check("\xff", 1, CAM_ESCAPE_CONTROL, "\xff");
	check("\xc2\x9b", 2, ALL, "\\xc2\\x9b");
	check("a;b\\x3b", 7, CAM_ESCAPE_SEMICOLON, "a\\x3bb\\x5cx3b");
	check("\0", 1, CAM_ESCAPE_CONTROL, "\\x00");
	check("=1+1", 4, CAM_ESCAPE_FORMULA, "\\x3d1+1");
	check("-@x", 3, ALL, "\\x2d@x");
	check("a=b", 3, ALL, "a=b");
	check("\\x3d\\x3d", 8, CAM_ESCAPE_FORMULA, "\\x5cx3d\\x3d");
	check("+", 1, CAM_ESCAPE_CONTROL, "+");
	check("", 0, ALL, "");
}

/* A text of another tool goes through a window and out again as it was. */
static void test_texts_of_others_stay(void **state)
{
	(void)state;
	static const char few[] = "\\x05c14bd";
	unsigned seed = 2;
	for (int round = 0; round < 200000; round++) {
		char text[24], plain[24];
		size_t n = (size_t)rand_r(&seed) % sizeof(text);
		for (size_t i = 0; i < n; i++)
			text[i] = few[(size_t)rand_r(&seed) % (sizeof(few) - 1)];
		struct cam_buf b = CAM_BUF(4096);
		size_t m = cam_escape_undo((struct cam_text){text, n}, CAM_ESCAPE_CONTROL, plain);
		cam_escape_put(&b, (struct cam_text){plain, m}, CAM_ESCAPE_CONTROL);
		assert_int_equal(b.len, n);
		assert_true(!n || memcmp(b.data, text, n) == 0);
		cam_buf_free(&b);
	}
}

/* What others wrote and cam_escape_put() never would is left alone. */
static void test_only_ours_is_undone(void **state)
{
	(void)state;
	static const char *const kept[] = {"\\x41",  "\\x5c",	"\\x0A",   "\\x0",
					   "\\x5cx", "\\\\x0g", "\\x5cx41"};
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		char back[64];
		size_t n = cam_escape_undo(cam_text_of(kept[i]), ALL, back);
		assert_int_equal(n, strlen(kept[i]));
		assert_memory_equal(back, kept[i], n);
		check(kept[i], n, ALL, kept[i]);
	}
}

static void test_random_bytes_come_back(void **state)
{
	(void)state;
	static const char few[] = "\\x05c3dab;\n\t\xff\x80\xc2 =-";
	unsigned seed = 1;
	for (int round = 0; round < 200000; round++) {
		char bytes[16];
		size_t n = (size_t)rand_r(&seed) % sizeof(bytes);
		for (size_t i = 0; i < n; i++)
			bytes[i] = rand_r(&seed) & 7
					   ? few[(size_t)rand_r(&seed) % (sizeof(few) - 1)]
					   : (char)rand_r(&seed);
		check(bytes, n, (unsigned)rand_r(&seed) & ALL, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_only_ours_is_undone),
		cmocka_unit_test(test_texts_of_others_stay),
		cmocka_unit_test(test_random_bytes_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
