// SPDX-License-Identifier: Apache-2.0
/* Newest wins, byte by byte, against a plain array of bytes; bounds; turns. */
#include "symbol/jitcode.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SPACE 4096u

static int add(struct cam_jitcode *c, uint64_t start, uint64_t bytes, const char *name)
{
	return cam_jitcode_add(c, start, bytes, cam_text_of(name));
}

static const char *name_of(const struct cam_jitcode *c, uint64_t address)
{
	static char name[CAM_JITCODE_MAX_NAME + 1];
	struct cam_jitcode_hit hit;
	if (!cam_jitcode_find(c, address, &hit))
		return "";
	memcpy(name, hit.name.p, hit.name.n);
	name[hit.name.n] = '\0';
	return name;
}

static void test_newest_wins(void **state)
{
	(void)state;
	struct cam_jitcode *c = cam_jitcode_new();
	add(c, 0, 10, "a");
	add(c, 4, 2, "b");
	assert_string_equal(name_of(c, 0), "");
	assert_int_equal(cam_jitcode_settle(c), 0);
	assert_string_equal(name_of(c, 3), "a");
	assert_string_equal(name_of(c, 4), "b");
	assert_string_equal(name_of(c, 6), "a");
	assert_string_equal(name_of(c, 10), "");
	add(c, 5, 7, "c");
	cam_jitcode_settle(c);
	assert_string_equal(name_of(c, 4), "b");
	assert_string_equal(name_of(c, 5), "c");
	assert_string_equal(name_of(c, 11), "c");
	assert_string_equal(name_of(c, 3), "a");
	/* A piece behind another function still says where its own begins. */
	add(c, 100, 50, "d");
	add(c, 110, 10, "e");
	cam_jitcode_settle(c);
	struct cam_jitcode_hit hit;
	assert_true(cam_jitcode_find(c, 130, &hit));
	assert_int_equal(hit.start, 100);
	cam_jitcode_free(c);
}

static void test_nonsense_is_refused(void **state)
{
	(void)state;
	struct cam_jitcode *c = cam_jitcode_new();
	assert_int_equal(add(c, 1, 0, "a"), -EINVAL);
	assert_int_equal(add(c, 1, 1, ""), -EINVAL);
	assert_int_equal(add(c, 1, CAM_JITCODE_MAX_BYTES + 1ull, "a"), -EINVAL);
	assert_int_equal(add(c, UINT64_MAX - 4, 8, "a"), -EINVAL);
	assert_int_equal(add(c, UINT64_MAX - 8, 8, "end"), 0);
	char name[CAM_JITCODE_MAX_NAME + 100];
	memset(name, 'n', sizeof(name));
	assert_int_equal(cam_jitcode_add(c, 0, 1, (struct cam_text){name, sizeof(name)}), 0);
	cam_jitcode_settle(c);
	assert_int_equal(strlen(name_of(c, 0)), CAM_JITCODE_MAX_NAME);
	assert_string_equal(name_of(c, UINT64_MAX - 1), "end");
	cam_jitcode_free(c);
}

/* The oracle: one id a byte. */
static void test_random_against_bytes(void **state)
{
	(void)state;
	static uint32_t owner[SPACE];
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct cam_jitcode *c = cam_jitcode_new();
		srandom(seed);
		memset(owner, 0, sizeof(owner));
		for (uint32_t id = 1; id <= 3000; id++) {
			char name[16];
			uint32_t start = (uint32_t)random() % SPACE;
			uint32_t bytes = 1 + (uint32_t)random() % (seed % 2 ? 40 : 400);
			snprintf(name, sizeof(name), "%u", id);
			add(c, start, bytes, name);
			for (uint32_t i = start; i < start + bytes && i < SPACE; i++)
				owner[i] = id;
			if (random() % 100 == 0)
				cam_jitcode_settle(c);
		}
		cam_jitcode_settle(c);
		for (uint32_t i = 0; i < SPACE; i++)
			assert_int_equal(strtoul(name_of(c, i), NULL, 10), owner[i]);
		cam_jitcode_free(c);
	}
}

static void test_turns(void **state)
{
	(void)state;
	struct cam_jitcode *c = cam_jitcode_new(), *other = cam_jitcode_new();
	struct cam_jitcode_hit hit;
	assert_true(cam_jitcode_turn(c) != cam_jitcode_turn(other));
	add(c, 0, 10, "a");
	add(c, 10, 10, "b");
	cam_jitcode_settle(c);
	uint64_t turn = cam_jitcode_turn(c);
	assert_true(cam_jitcode_tell(c, 2, &hit));
	assert_false(cam_jitcode_tell(c, 30, &hit));
	/* Nobody was told of b, nor of a at 8, nor that 30 is nothing; a again is still a. */
	add(c, 8, 4, "c");
	add(c, 30, 4, "d");
	add(c, 0, 5, "a");
	cam_jitcode_settle(c);
	assert_true(cam_jitcode_turn(c) == turn);
	add(c, 0, 5, "e");
	cam_jitcode_settle(c);
	assert_true(cam_jitcode_turn(c) != turn);
	turn = cam_jitcode_turn(c);
	cam_jitcode_clear(c);
	assert_true(cam_jitcode_turn(c) != turn);
	assert_int_equal(cam_jitcode_rows(c), 0);
	cam_jitcode_free(c);
	cam_jitcode_free(other);
}

/* More rows than are kept: the newest are there, the oldest are not, memory is bounded. */
static void test_oldest_go(void **state)
{
	(void)state;
	struct cam_jitcode *c = cam_jitcode_new();
	uint64_t n = CAM_JITCODE_MAX_ROWS + CAM_JITCODE_MAX_ROWS / 4;
	size_t most = 0;
	for (uint64_t i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%" PRIu64, i);
		assert_int_equal(add(c, i * 64, 64, name), 0);
		if (i % 65536 == 0 && cam_jitcode_memory(c) > most)
			most = cam_jitcode_memory(c);
	}
	cam_jitcode_settle(c);
	assert_in_range(cam_jitcode_rows(c), CAM_JITCODE_MAX_ROWS / 2,
			CAM_JITCODE_MAX_ROWS * 9 / 8);
	assert_true(most < 160u << 20);
	assert_string_equal(name_of(c, (n - 1) * 64), "function_1310719");
	assert_string_equal(name_of(c, (n / 2) * 64 + 63), "function_655360");
	assert_string_equal(name_of(c, 0), "");
	cam_jitcode_free(c);
}

/* The same few places, over and over: what is not to be seen any more costs nothing for long. */
static void test_names_are_squeezed(void **state)
{
	(void)state;
	struct cam_jitcode *c = cam_jitcode_new();
	char name[512];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (uint32_t i = 0; i < 400000; i++) {
		snprintf(name, 32, "n%u_", i);
		name[strlen(name)] = 'y';
		assert_int_equal(add(c, i % 1000 * 16, 16, name), 0);
	}
	cam_jitcode_settle(c);
	assert_in_range(cam_jitcode_rows(c), 1000, 2000);
	assert_memory_equal(name_of(c, 999 * 16), "n399999_", 8);
	assert_memory_equal(name_of(c, 0), "n399000_", 8);
	assert_true(cam_jitcode_memory(c) < CAM_JITCODE_MAX_NAMES + (16u << 20));
	cam_jitcode_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_wins),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_random_against_bytes),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_oldest_go),
		cmocka_unit_test(test_names_are_squeezed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
