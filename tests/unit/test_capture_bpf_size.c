// SPDX-License-Identifier: Apache-2.0
#include "capture/bpf_size.h"
#include "capture/wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BUDGET (24u << 20)

static struct cam_bpf_places places(uint32_t cpus)
{
	return (struct cam_bpf_places){.page_bytes = 4096, .cpus = cpus, .rings = (cpus + 15) / 16};
}

static bool power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/* Worked out here once more, by the kernel's layout: two pages and the data twice; a page and data. */
static size_t mapped(const struct cam_bpf_size *s, uint32_t cpus)
{
	size_t rings = (cpus + 15) / 16, controls = 0;
	for (uint32_t cpu = 0; s->control_every && cpu < cpus; cpu += s->control_every)
		controls++;
	return rings * (2 * 4096 + 2 * s->ring_bytes) + cpus * (4096 + s->side_bytes) +
	       controls * 2 * 4096;
}

static void all_rings_fit_for_any_number_of_cpus(void **state)
{
	(void)state;
	for (uint32_t cpus = 1; cpus <= 1024; cpus++) {
		struct cam_bpf_places p = places(cpus);
		struct cam_bpf_size s;
		assert_int_equal(cam_bpf_size_choose(BUDGET, &p, &s), 0);
		assert_true(mapped(&s, cpus) <= BUDGET);
		assert_int_equal(mapped(&s, cpus), cam_bpf_size_total(&s, &p));
		assert_true(power_of_two(s.ring_bytes) && power_of_two(s.side_bytes));
		/* Something to live on: half a second of 16 CPUs with 200 bytes a sample, or the
		 * quarter that is woken for; a page of paths. */
		assert_true(s.ring_bytes >= 65536);
		assert_true(s.side_bytes >= 8192);
		assert_true(s.control_every >= 1 && (cpus - 1) / s.control_every < 256);
		/* Nothing is left that another step of both would have used. */
		struct cam_bpf_size larger = {s.ring_bytes * 2, s.side_bytes * 2, s.control_every};
		assert_true(mapped(&larger, cpus) > BUDGET || s.side_bytes == 512 << 10);
	}
}

static void few_cpus_take_what_they_need(void **state)
{
	(void)state;
	static const struct {
		uint32_t cpus;
		size_t ring, side;
		uint32_t every;
	} known[] = {
		{1, 256 << 10, 512 << 10, 1},  {2, 512 << 10, 512 << 10, 1},
		{16, 4 << 20, 512 << 10, 1},   {96, 512 << 10, 128 << 10, 1},
		{512, 128 << 10, 16 << 10, 2}, {1024, 64 << 10, 8 << 10, 4},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct cam_bpf_places p = places(known[i].cpus);
		struct cam_bpf_size s;
		assert_int_equal(cam_bpf_size_choose(BUDGET, &p, &s), 0);
		assert_int_equal(s.ring_bytes, known[i].ring);
		assert_int_equal(s.side_bytes, known[i].side);
		assert_int_equal(s.control_every, known[i].every);
	}
}

static void a_budget_too_small_is_refused(void **state)
{
	(void)state;
	struct cam_bpf_places p = places(2), none = {.page_bytes = 4096};
	struct cam_bpf_size s;
	/* One ring of 16 KiB twice and its two pages; two side bands and two controls of two pages. */
	size_t least = 32768 + 8192 + 2 * 8192 + 2 * 8192;
	assert_int_equal(cam_bpf_size_choose(least - 1, &p, &s), -ENOMEM);
	assert_int_equal(cam_bpf_size_choose(least, &p, &s), 0);
	assert_int_equal(cam_bpf_size_total(&s, &p), least);
	assert_int_equal(cam_bpf_size_choose(BUDGET, &none, &s), -EINVAL);
}

static void pages_of_64_kib_fit_too(void **state)
{
	(void)state;
	struct cam_bpf_places p = places(64);
	struct cam_bpf_size s;
	p.page_bytes = 65536;
	assert_int_equal(cam_bpf_size_choose(BUDGET, &p, &s), 0);
	assert_true(cam_bpf_size_total(&s, &p) <= BUDGET);
	assert_true(s.ring_bytes >= 65536 && s.side_bytes >= 65536);
	/* A ring must hold two records of the longest kind. */
	assert_true(s.ring_bytes >= 2 * (CAM_WIRE_MAX_BYTES + 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rings_fit_for_any_number_of_cpus),
		cmocka_unit_test(few_cpus_take_what_they_need),
		cmocka_unit_test(a_budget_too_small_is_refused),
		cmocka_unit_test(pages_of_64_kib_fit_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
