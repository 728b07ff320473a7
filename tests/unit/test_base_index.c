// SPDX-License-Identifier: Apache-2.0
#include "base/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * Two chains of two addresses, of two processes. XXH3 adds its seed to what it has of so few bytes, so that with the pid
 * as a part of the seed some chain of the one process had the hash of another chain of the other: the two differ by runs of
 * low bits, as a sum does when one is added. Which runs depends on the process's own seed: all are tried.
 */
static void short_contents_with_two_numbers_have_two_hashes(void **state)
{
	(void)state;
	const uint64_t chain[2] = {0x00007f3a12345678u, 0x00005581deadbee0u};
	struct cam_hash_128 one = cam_hash_128(chain, sizeof(chain), 0);
	for (unsigned i = 0; i <= 64; i++) {
		for (unsigned k = 0; k <= 64; k++) {
			uint64_t low = i ? UINT64_MAX >> (64 - i) : 0;
			uint64_t lower = k ? UINT64_MAX >> (64 - k) : 0;
			const uint64_t other[2] = {chain[0] ^ low ^ lower, chain[1] ^ low};
			struct cam_hash_128 h = cam_hash_128(other, sizeof(other), 1);
			assert_false(h.low == one.low && h.high == one.high);
		}
	}
}

static void the_same_content_with_another_number_has_another_hash(void **state)
{
	(void)state;
	struct cam_hash_128 a = cam_hash_128("abc", 3, 7), b = cam_hash_128("abc", 3, 7);
	assert_true(a.low == b.low && a.high == b.high);
	for (uint64_t with = 0; with < 1000; with++) {
		b = cam_hash_128("abc", 3, with);
		assert_int_equal(a.low == b.low, with == 7);
		assert_int_equal(a.high == b.high, with == 7);
	}
}

/* A file says what is hashed, and whoever made it can read this program: no constant of it gives all others one hash. */
static void no_number_makes_all_others_alike(void **state)
{
	(void)state;
	static const uint64_t known[] = {0,
					 1,
					 UINT64_MAX,
					 0xd6e8feb86659fd93u,
					 0xa0761d6478bd642fu,
					 0xe7037ed1a0b428dbu,
					 0x9e3779b97f4a7c15u};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		for (uint64_t other = 1; other <= 1000; other++) {
			assert_true(cam_hash_u64(other, known[i]) != cam_hash_u64(0, known[i]));
			assert_true(cam_hash_u64(known[i], other) != cam_hash_u64(known[i], 0));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_number_makes_all_others_alike),
		cmocka_unit_test(short_contents_with_two_numbers_have_two_hashes),
		cmocka_unit_test(the_same_content_with_another_number_has_another_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
