// SPDX-License-Identifier: Apache-2.0
/* The oracle is that a name follows from its file and offset: a book may forget, but not lie. */
#include "ingest/namebook.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t function_of(uint64_t offset)
{
	return offset / 100 * 100;
}

static void put(struct cam_namebook *b, uint32_t file, uint64_t offset)
{
	char text[64];
	struct cam_name n = {.offset = offset, .start = function_of(offset)};
	if (function_of(offset) % 700) {
		snprintf(text, sizeof(text), "f_%u_%llu", file, (unsigned long long)n.start);
		n.source = CAM_NAME_SYMTAB;
		n.name = cam_text_of(text);
		if (n.start % 300 == 0)
			n.module = CAM_TEXT("[mod]");
	}
	assert_int_equal(cam_namebook_put(b, file, &n), 0);
}

static bool check(struct cam_namebook *b, uint32_t file, uint64_t offset)
{
	char text[64];
	struct cam_name n;
	if (!cam_namebook_find(b, file, offset, &n))
		return false;
	uint64_t start = function_of(offset);
	assert_int_equal(n.offset, offset);
	if (start % 700 == 0) {
		assert_int_equal(n.source, CAM_NAME_NONE);
		return true;
	}
	snprintf(text, sizeof(text), "f_%u_%llu", file, (unsigned long long)start);
	assert_int_equal(n.source, CAM_NAME_SYMTAB);
	assert_int_equal(n.start, start);
	assert_true(cam_text_equal(n.name, cam_text_of(text)));
	assert_true(cam_text_equal(n.module, start % 300 ? CAM_TEXT("") : CAM_TEXT("[mod]")));
	return true;
}

static void a_book_with_room_forgets_nothing(void **state)
{
	(void)state;
	struct cam_namebook *b;
	assert_int_equal(cam_namebook_new(6u << 20, &b), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		put(b, i % 7, i * 13);
		/* …nor while its tables grow. */
		for (uint32_t k = 0; (i % 97 == 0 || i == 19999) && k <= i; k++)
			assert_true(check(b, k % 7, k * 13));
	}
	assert_false(check(b, 8, 13));
	assert_false(check(b, 1, 14));
	cam_namebook_free(b);
}

static void put_whole(struct cam_namebook *b, uint32_t file, uint64_t start, uint64_t bytes)
{
	char text[64];
	snprintf(text, sizeof(text), "f_%u_%llu", file, (unsigned long long)start);
	struct cam_name n = {.offset = start + bytes / 2,
			     .start = start,
			     .end = start + bytes,
			     .source = CAM_NAME_SYMTAB,
			     .name = cam_text_of(text)};
	if (start % 300 == 0)
		n.module = CAM_TEXT("[mod]");
	assert_int_equal(cam_namebook_put(b, file, &n), 0);
}

/* Functions of 100 bytes in a row, every third and every seventh of them not known. */
static void a_function_with_one_name_is_found_by_each_offset(void **state)
{
	(void)state;
	struct cam_namebook *b;
	assert_int_equal(cam_namebook_new(6u << 20, &b), 0);
	uint32_t found = 0, all = 0;
	for (uint32_t i = 0; i < 600; i++) {
		if (i % 3 && i % 7)
			put_whole(b, 5, (uint64_t)i * 100, 100);
	}
	for (uint32_t at = 0; at < 60000; at += 1 + at % 3) {
		bool known = at / 100 % 3 && at / 100 % 7, is = check(b, 5, at);
		assert_true(known || !is);
		assert_false(check(b, 6, at));
		all += known;
		found += known && is;
	}
	print_message("# %u of %u\n", found, all);
	/* Where a block is two functions' it is the later one's: the rest is asked for. */
	assert_true(found >= all * 6 / 10 && found < all);
	cam_namebook_free(b);
}

/* What is used stays, however often the book turns; at times another function's block takes its
 * place, and it is asked for again. */
static void such_functions_are_forgotten_like_others(void **state)
{
	(void)state;
	struct cam_namebook *b;
	assert_int_equal(cam_namebook_new(256u << 10, &b), 0);
	put_whole(b, 2, 200, 100);
	uint32_t asked = 0;
	for (uint32_t i = 1; i < 40000; i++) {
		if (i % 7 == 0)
			continue;
		put_whole(b, i % 5, (uint64_t)i * 100, 100);
		assert_true(check(b, i % 5, (uint64_t)i * 100 + 49));
		if (!check(b, 1, 170)) {
			put_whole(b, 1, 100, 100);
			asked++;
		}
		check(b, i % 5, (uint64_t)(i / 2) * 100 + 3);
	}
	assert_in_range(asked, 1, 2000); /* of 34,285 */
	assert_false(check(b, 2, 250));
	cam_namebook_free(b);
}

/* Many times more than fits: memory stays, what is used stays, the rest is forgotten. */
static void a_full_book_keeps_what_is_used(void **state)
{
	(void)state;
	struct cam_namebook *b;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(cam_namebook_new(256u << 10, &b), 0);
	for (uint32_t i = 0; i < 20; i++)
		put(b, 1, i * 50);
	unsigned found = 0;
	for (uint32_t i = 0; i < 200000; i++) {
		put(b, 2, i * 37);
		if (i % 100 == 0) {
			for (uint32_t k = 0; k < 20; k++)
				assert_true(check(b, 1, k * 50));
		}
	}
	for (uint32_t i = 0; i < 200000; i++)
		found += check(b, 2, i * 37);
	assert_true(found > 500 && found < 20000);
	assert_true(check(b, 2, 199999 * 37));
	assert_true(cam_namebook_bytes(b) <= (256u << 10) + 4096);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd <=
		    before + (264u << 10) + CAM_NAMEBOOK_MAX_RECORD);
	cam_namebook_free(b);
}

static void a_later_answer_replaces_the_earlier(void **state)
{
	(void)state;
	struct cam_namebook *b;
	struct cam_name n = {.offset = 5, .source = CAM_NAME_NONE};
	assert_int_equal(cam_namebook_new(64u << 10, &b), 0);
	assert_int_equal(cam_namebook_put(b, 1, &n), 0);
	n.source = CAM_NAME_DWARF;
	n.name = CAM_TEXT("now");
	assert_int_equal(cam_namebook_put(b, 1, &n), 0);
	struct cam_name out;
	assert_true(cam_namebook_find(b, 1, 5, &out));
	assert_int_equal(out.source, CAM_NAME_DWARF);
	assert_true(cam_text_equal(out.name, CAM_TEXT("now")));
	cam_namebook_free(b);
}

/* The chain of an offset follows from the offset: as many functions as it has low bits, and lines. */
static void put_chain(struct cam_namebook *b, uint64_t offset)
{
	char texts[8][32], name[32];
	struct cam_inlined chain[8];
	struct cam_name n = {.offset = offset,
			     .start = offset & ~UINT64_C(63),
			     .source = CAM_NAME_SYMTAB,
			     .file = CAM_TEXT("/src/main.c"),
			     .line = (uint32_t)offset,
			     .n_inlined = offset % 8,
			     .inlined = chain};
	snprintf(name, sizeof(name), "f%llu", (unsigned long long)n.start);
	n.name = cam_text_of(name);
	for (uint32_t i = 0; i < n.n_inlined; i++) {
		snprintf(texts[i], sizeof(texts[i]), "in%u_%u", i, n.n_inlined);
		chain[i] = (struct cam_inlined){cam_text_of(texts[i]),
						i % 2 ? CAM_TEXT("h.h") : CAM_TEXT(""), i * 7};
	}
	assert_int_equal(cam_namebook_put(b, 3, &n), 0);
}

static void check_chain(struct cam_namebook *b, uint64_t offset)
{
	struct cam_name n;
	char text[32];
	assert_true(cam_namebook_find(b, 3, offset, &n));
	assert_true(cam_text_equal(n.file, CAM_TEXT("/src/main.c")));
	assert_int_equal(n.line, offset);
	assert_int_equal(n.n_inlined, offset % 8);
	for (uint32_t i = 0; i < n.n_inlined; i++) {
		snprintf(text, sizeof(text), "in%u_%u", i, n.n_inlined);
		assert_true(cam_text_equal(n.inlined[i].name, cam_text_of(text)));
		assert_true(
			cam_text_equal(n.inlined[i].file, i % 2 ? CAM_TEXT("h.h") : CAM_TEXT("")));
		assert_int_equal(n.inlined[i].line, i * 7);
	}
}

static void what_is_inlined_is_kept_with_its_offset(void **state)
{
	(void)state;
	struct cam_namebook *b;
	assert_int_equal(cam_namebook_new(64u << 10, &b), 0);
	for (uint64_t i = 0; i < 2000; i++) {
		put_chain(b, i);
		check_chain(b, i); /* also when it was just copied from one half to the other */
		check_chain(b, i - i % 16);
	}
	/* One that is too long in all keeps its function. */
	static char text[CAM_RAW_MAX_TEXT];
	memset(text, 'x', sizeof(text));
	struct cam_inlined chain[CAM_NAME_MAX_INLINED];
	for (size_t i = 0; i < CAM_NAME_MAX_INLINED; i++)
		chain[i] = (struct cam_inlined){{text, sizeof(text)}, CAM_TEXT("f.c"), 1};
	struct cam_name n = {.offset = 5,
			     .source = CAM_NAME_SYMTAB,
			     .name = CAM_TEXT("main"),
			     .n_inlined = CAM_NAME_MAX_INLINED,
			     .inlined = chain};
	assert_int_equal(cam_namebook_put(b, 4, &n), 0);
	assert_true(cam_namebook_find(b, 4, 5, &n));
	assert_int_equal(n.n_inlined, 0);
	assert_true(cam_text_equal(n.name, CAM_TEXT("main")));
	cam_namebook_free(b);
}

static void names_beyond_reason_are_refused(void **state)
{
	(void)state;
	struct cam_namebook *b;
	static char text[CAM_RAW_MAX_TEXT + 1];
	struct cam_name n = {.source = CAM_NAME_SYMTAB, .name = {text, sizeof(text)}};
	memset(text, 'x', sizeof(text));
	assert_int_equal(cam_namebook_new(4096, &b), 0);
	assert_int_equal(cam_namebook_put(b, 1, &n), -E2BIG);
	for (uint64_t i = 0; i < 100; i++) {
		n = (struct cam_name){.offset = i, .start = i, .source = CAM_NAME_SYMTAB};
		n.name = (struct cam_text){text, 1000};
		assert_int_equal(cam_namebook_put(b, 1, &n), 0);
	}
	cam_namebook_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_book_with_room_forgets_nothing),
		cmocka_unit_test(a_function_with_one_name_is_found_by_each_offset),
		cmocka_unit_test(such_functions_are_forgotten_like_others),
		cmocka_unit_test(a_full_book_keeps_what_is_used),
		cmocka_unit_test(a_later_answer_replaces_the_earlier),
		cmocka_unit_test(what_is_inlined_is_kept_with_its_offset),
		cmocka_unit_test(names_beyond_reason_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
