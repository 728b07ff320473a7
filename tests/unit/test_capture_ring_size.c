// SPDX-License-Identifier: Apache-2.0
#include "capture/ring_size.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static bool power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/* Within the budget, powers of two, and no larger ring would have fitted. */
static void all_numbers_of_cpus(void **state)
{
	(void)state;
	size_t max = CAM_RING_DEFAULT_BYTES_ALL, page = 4096;
	struct cam_ring_size last = {SIZE_MAX, SIZE_MAX};
	for (uint32_t n = 1; n <= 1024; n++) {
		struct cam_ring_size s;
		assert_int_equal(cam_ring_size_choose(max, page, n, n, &s), 0);
		assert_true(power_of_two(s.sample_bytes) && power_of_two(s.side_bytes));
		assert_true(s.sample_bytes >= page && s.sample_bytes <= 512u << 10);
		assert_true(s.side_bytes >= s.sample_bytes && s.side_bytes <= 512u << 10);
		size_t all = n * (s.sample_bytes + page + s.side_bytes + page);
		assert_true(all <= max);
		assert_int_equal(all, cam_ring_size_total(&s, page, n, n));
		if (s.side_bytes < 512u << 10)
			assert_true(all + n * s.side_bytes > max);
		assert_true(s.sample_bytes <= last.sample_bytes && s.side_bytes <= last.side_bytes);
		last = s;
	}
}

static void known_answers(void **state)
{
	(void)state;
	static const struct {
		uint32_t cpus;
		size_t sample_kib, side_kib;
	} cases[] = {
		{1, 512, 512},	{2, 512, 512}, {23, 512, 512}, {24, 256, 512}, {31, 256, 512},
		{32, 256, 256}, {96, 64, 128}, {512, 16, 16},  {1024, 8, 8},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_ring_size s;
		assert_int_equal(
			cam_ring_size_choose(24u << 20, 4096, cases[i].cpus, cases[i].cpus, &s), 0);
		assert_int_equal(s.sample_bytes, cases[i].sample_kib << 10);
		assert_int_equal(s.side_bytes, cases[i].side_kib << 10);
	}
}

static void odd_hosts(void **state)
{
	(void)state;
	struct cam_ring_size s;
	/* Pages of 64 KiB. */
	assert_int_equal(cam_ring_size_choose(24u << 20, 65536, 96, 96, &s), 0);
	assert_int_equal(s.sample_bytes, 65536);
	assert_int_equal(s.side_bytes, 65536);
	assert_int_equal(cam_ring_size_choose(24u << 20, 65536, 97, 97, &s), -ENOMEM);
	/* One page each is the least. */
	assert_int_equal(cam_ring_size_choose(24u << 20, 4096, 1536, 1536, &s), 0);
	assert_int_equal(s.side_bytes, 4096);
	assert_int_equal(cam_ring_size_choose(24u << 20, 4096, 1537, 1537, &s), -ENOMEM);
	/* Samples of some CPUs, the side band of all; or the side band alone. */
	assert_int_equal(cam_ring_size_choose(4u << 20, 4096, 1, 8, &s), 0);
	assert_true(cam_ring_size_total(&s, 4096, 1, 8) <= 4u << 20);
	assert_int_equal(cam_ring_size_choose(24u << 20, 4096, 0, 40, &s), 0);
	assert_int_equal(s.sample_bytes, 0);
	assert_int_equal(s.side_bytes, 512u << 10);
}

static void shrinking(void **state)
{
	(void)state;
	struct cam_ring_size s = {16384, 16384};
	static const size_t steps[][2] = {{8192, 16384}, {8192, 8192}, {4096, 8192}, {4096, 4096}};
	for (size_t i = 0; i < 4; i++) {
		assert_true(cam_ring_size_shrink(&s, 4096));
		assert_int_equal(s.sample_bytes, steps[i][0]);
		assert_int_equal(s.side_bytes, steps[i][1]);
	}
	assert_false(cam_ring_size_shrink(&s, 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_numbers_of_cpus),
		cmocka_unit_test(known_answers),
		cmocka_unit_test(odd_hosts),
		cmocka_unit_test(shrinking),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
