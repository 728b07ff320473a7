// SPDX-License-Identifier: Apache-2.0
/*
 * What retention deletes: by example, and for thousands of random stores by the invariants that
 * retain.c states, each checked on its own terms.
 */
#include "store/retain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S	  1000000000ull
#define MAX_ITEMS 64

/* Which windows are left, one letter each. */
static const char *left(const struct cam_retain_item *items, size_t n)
{
	static char text[MAX_ITEMS + 1];
	for (size_t i = 0; i < n; i++)
		text[i] = items[i].doomed ? '.' : (char)('a' + i % 26);
	text[n] = '\0';
	return text;
}

static struct cam_retain_item window(uint64_t sequence, uint8_t boot, uint64_t start_s,
				     uint64_t end_s)
{
	return (struct cam_retain_item){
		.sequence = sequence,
		.bytes = 100,
		.start_ns = start_s * S,
		.end_ns = end_s * S,
		.boot_id = {{boot}},
		.live = true,
	};
}

/* n windows of two minutes, one boot, end to end. */
static void day(struct cam_retain_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		items[i] = window(i + 1, 1, 1000 + 120 * i, 1000 + 120 * (i + 1));
}

static void plan(struct cam_retain_item *items, size_t n, struct cam_retention r,
		 uint64_t free_bytes)
{
	assert_int_equal(cam_retain_plan(items, n, &r, free_bytes), 0);
}

static void test_no_limits(void **state)
{
	(void)state;
	struct cam_retain_item items[10];
	day(items, 10);
	plan(items, 10, (struct cam_retention){0}, 0);
	assert_string_equal(left(items, 10), "abcdefghij");
	plan(NULL, 0, (struct cam_retention){.max_bytes = 1}, 0);
}

static void test_age(void **state)
{
	(void)state;
	struct cam_retain_item items[10];
	day(items, 10);
	plan(items, 10, (struct cam_retention){.keep_ns = 840 * S}, 0);
	/* c ended 840 s ago: not longer than that. */
	assert_int_equal(items[2].age_ns, 840 * S);
	assert_string_equal(left(items, 10), "..cdefghij");
	/* The newest ten minutes stay: f ended 480 s ago, e 600 s ago. */
	plan(items, 10, (struct cam_retention){.keep_ns = 1}, 0);
	assert_string_equal(left(items, 10), ".....fghij");
}

static void test_bytes(void **state)
{
	(void)state;
	struct cam_retain_item items[10];
	day(items, 10);
	plan(items, 10, (struct cam_retention){.max_bytes = 1000}, 0);
	assert_string_equal(left(items, 10), "abcdefghij");
	plan(items, 10, (struct cam_retention){.max_bytes = 999}, 0);
	assert_string_equal(left(items, 10), ".bcdefghij");
	plan(items, 10, (struct cam_retention){.max_bytes = 800}, 0);
	assert_string_equal(left(items, 10), "..cdefghij");
	plan(items, 10, (struct cam_retention){.max_bytes = 1}, 0);
	assert_string_equal(left(items, 10), ".....fghij");
	/* A pin does not count, and does not go. */
	items[1].pinned = true;
	plan(items, 10, (struct cam_retention){.max_bytes = 800}, 0);
	assert_string_equal(left(items, 10), ".bcdefghij");
	/* What is being written stays whatever its age. */
	items[0].busy = true;
	plan(items, 10, (struct cam_retention){.max_bytes = 1, .keep_ns = 1}, 0);
	assert_string_equal(left(items, 10), "ab...fghij");
}

static void test_free_space(void **state)
{
	(void)state;
	struct cam_retain_item items[11];
	day(items, 10);
	items[0].pinned = items[3].pinned = items[7].pinned = true;
	plan(items, 10, (struct cam_retention){.min_free_bytes = 500}, 500);
	assert_string_equal(left(items, 10), "abcdefghij");
	plan(items, 10, (struct cam_retention){.min_free_bytes = 501}, 500);
	assert_string_equal(left(items, 10), "a.cdefghij");
	plan(items, 10, (struct cam_retention){.min_free_bytes = 800}, 500);
	assert_string_equal(left(items, 10), "a..d.fghij");
	/* Now pins are broken, oldest first; never the newest ten minutes. */
	plan(items, 10, (struct cam_retention){.min_free_bytes = 801}, 500);
	assert_string_equal(left(items, 10), "...d.fghij");
	plan(items, 10, (struct cam_retention){.min_free_bytes = 1 << 20}, 500);
	assert_string_equal(left(items, 10), ".....fghij");
	/* What is deleted for another reason is room already. */
	plan(items, 10, (struct cam_retention){.min_free_bytes = 700, .keep_ns = 840 * S}, 500);
	assert_string_equal(left(items, 10), "a..defghij");
	/* A file of which nothing can be read goes first, and only for room. */
	items[10] = (struct cam_retain_item){.bytes = 100, .hopeless = true};
	plan(items, 11, (struct cam_retention){.keep_ns = 840 * S, .max_bytes = 1}, 0);
	assert_string_equal(left(items, 11), "a..d.fghijk");
	plan(items, 11, (struct cam_retention){.min_free_bytes = 600}, 500);
	assert_string_equal(left(items, 11), "abcdefghij.");
}

/* The example of retain.c: a reboot, and a clock that starts at 1970 (nobody looks at it). */
static void test_boots(void **state)
{
	(void)state;
	struct cam_retain_item items[11];
	items[0] = window(1, 1, 0, 120);
	items[1] = window(2, 1, 120, 240);
	for (size_t i = 0; i < 9; i++)
		items[2 + i] = window(3 + i, 2, 20 + 120 * i, i == 8 ? 1020 : 140 + 120 * i);
	plan(items, 11, (struct cam_retention){.keep_ns = 1100 * S}, 0);
	assert_int_equal(items[0].age_ns, 1120 * S);
	assert_int_equal(items[1].age_ns, 1000 * S);
	assert_int_equal(items[10].age_ns, 0);
	assert_string_equal(left(items, 11), ".bcdefghijk");
	plan(items, 11, (struct cam_retention){.max_bytes = 300}, 0);
	assert_string_equal(left(items, 11), ".....fghijk");
}

/* The minutes before a reboot are among the newest until ten have been recorded after it. */
static void test_newest_across_boots(void **state)
{
	(void)state;
	struct cam_retain_item items[8];
	day(items, 7);
	items[7] = window(8, 2, 5, 125);
	plan(items, 8, (struct cam_retention){.max_bytes = 1, .keep_ns = 1}, 0);
	/* Ages: h 0, g 120, f 240, e 360, d 480, c 600. */
	assert_string_equal(left(items, 8), "...defgh");
}

static void test_imports(void **state)
{
	(void)state;
	struct cam_retain_item items[12];
	/* Alone: ten minutes of what came last, whatever its clock says. */
	for (size_t i = 0; i < 8; i++) {
		items[i] = window(i + 1, 0, 9000 - 1000 * i, 9000 - 1000 * i + 120);
		items[i].live = false;
	}
	plan(items, 8, (struct cam_retention){.max_bytes = 1, .keep_ns = 1}, 0);
	assert_string_equal(left(items, 8), "...defgh");
	/* It ages with what is recorded after it, and never ages anything itself. */
	day(items, 4);
	items[4] = window(5, 0, 0, 100000);
	items[4].live = false;
	plan(items, 5, (struct cam_retention){.keep_ns = 700 * S}, 0);
	assert_string_equal(left(items, 5), "abcde");
	assert_int_equal(items[4].age_ns, 0);
	for (size_t i = 0; i < 7; i++)
		items[5 + i] = window(6 + i, 1, 2000 + 120 * i, 2120 + 120 * i);
	/* As the list has it: the boot first, the import after it. */
	struct cam_retain_item import = items[4];
	memmove(&items[4], &items[5], 7 * sizeof(items[0]));
	items[11] = import;
	plan(items, 12, (struct cam_retention){.keep_ns = 800 * S}, 0);
	assert_int_equal(items[11].age_ns, 840 * S);
	assert_string_equal(left(items, 12), "....efghijk.");
}

/* Times at the ends of 64 bits: ages stop there instead of starting again. */
static void test_extremes(void **state)
{
	(void)state;
	struct cam_retain_item items[3] = {
		window(1, 1, 0, 1),
		window(2, 2, 0, 0),
		window(3, 3, 0, 0),
	};
	items[1].end_ns = items[2].end_ns = UINT64_MAX;
	plan(items, 3, (struct cam_retention){.keep_ns = UINT64_MAX - 1}, 0);
	assert_int_equal(items[0].age_ns, UINT64_MAX);
	assert_string_equal(left(items, 3), "..c");
	items[0].start_ns = items[0].end_ns = UINT64_MAX;
	items[0].bytes = items[1].bytes = items[2].bytes = UINT64_MAX;
	plan(items, 3, (struct cam_retention){.max_bytes = UINT64_MAX}, 0);
	assert_string_equal(left(items, 3), "abc");
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % below;
}

static size_t make_store(uint64_t *seed, struct cam_retain_item *items)
{
	size_t n = 1 + draw(seed, MAX_ITEMS - 1);
	uint8_t boot = 1;
	uint64_t at = draw(seed, 3) ? draw(seed, 5000) : UINT64_MAX / S - 100000;
	for (size_t i = 0; i < n; i++) {
		if (draw(seed, 12) == 0) {
			boot++;
			at = draw(seed, 5000);
		}
		uint64_t length = 1 + draw(seed, 240);
		items[i] = window(i + 1, boot, at, at + length);
		at += length + (draw(seed, 4) ? 0 : draw(seed, 300));
		items[i].bytes = draw(seed, 1000);
		items[i].pinned = draw(seed, 6) == 0;
		items[i].hopeless = draw(seed, 30) == 0;
		items[i].busy = draw(seed, 30) == 0;
		items[i].pinned &= !items[i].hopeless;
		items[i].live = !items[i].hopeless;
	}
	return n;
}

/* The true age, counted second by second: how much later recording ever was, gaps of a boot in. */
static uint64_t recorded_since(const struct cam_retain_item *items, size_t n, size_t of)
{
	uint64_t age = 0;
	for (uint8_t boot = items[of].boot_id.bytes[0];; boot++) {
		uint64_t from = UINT64_MAX, to = 0;
		bool any = false, more = false;
		for (size_t i = 0; i < n; i++) {
			more |= items[i].live && items[i].boot_id.bytes[0] > boot;
			if (!items[i].live || items[i].boot_id.bytes[0] != boot)
				continue;
			any = true;
			from = items[i].start_ns < from ? items[i].start_ns : from;
			to = items[i].end_ns > to ? items[i].end_ns : to;
		}
		if (any)
			age += to - (boot == items[of].boot_id.bytes[0] ? items[of].end_ns : from);
		if (!more)
			return age;
	}
}

static void check_invariants(const struct cam_retain_item *items, size_t n,
			     const struct cam_retention *r, uint64_t free_bytes)
{
	uint64_t kept = 0, freed = 0;
	bool more_windows = false, more_files = false, any_for_bytes = false, broke_pin = false;
	const struct cam_retain_item *last = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct cam_retain_item *w = &items[i];
		if (w->live)
			assert_int_equal(w->age_ns, recorded_since(items, n, i));
		bool spared = w->busy || (w->live && w->age_ns < CAM_RETAIN_NEWEST_NS);
		bool too_old =
			w->live && !w->pinned && !spared && r->keep_ns && w->age_ns > r->keep_ns;
		assert_false(w->doomed && spared);
		if (too_old)
			assert_true(w->doomed);
		if (w->doomed && w->pinned)
			broke_pin = true;
		bool could_go = !w->doomed && !spared && !w->pinned;
		more_files |= could_go;
		more_windows |= could_go && !w->hopeless;
		if (!w->doomed && !w->pinned && !w->hopeless)
			kept += w->bytes;
		if (w->doomed)
			freed += w->bytes;
		if (w->doomed && !too_old && !w->hopeless && !w->pinned) {
			any_for_bytes = true;
			last = w;
		}
	}
	bool enough_free = free_bytes + freed >= r->min_free_bytes;
	/* A limit is kept, or there is nothing left to take. */
	assert_true(!r->max_bytes || kept <= r->max_bytes || !more_windows);
	assert_true(enough_free || !more_files);
	/* Pins are broken for nothing but room, and only when nothing else is left. */
	if (broke_pin)
		assert_true(!more_files && r->min_free_bytes > free_bytes);
	/* No more than it takes: without the last one a limit would not be kept. */
	if (any_for_bytes && last->bytes) {
		bool bytes_need = r->max_bytes && kept + last->bytes > r->max_bytes;
		bool room_needs = free_bytes + freed - last->bytes < r->min_free_bytes;
		assert_true(bytes_need || room_needs || broke_pin);
		/* Oldest first: nothing older of its kind was passed over. */
		for (const struct cam_retain_item *w = items; w < last; w++) {
			bool spared = w->busy || w->newest || w->pinned || w->hopeless;
			assert_true(w->doomed || spared);
		}
	}
}

static void test_invariants(void **state)
{
	(void)state;
	struct cam_retain_item items[MAX_ITEMS];
	for (uint64_t round = 0; round < 20000; round++) {
		uint64_t seed = round;
		size_t n = make_store(&seed, items);
		struct cam_retention r = {
			.keep_ns = draw(&seed, 2) ? draw(&seed, 6000) * S : 0,
			.max_bytes = draw(&seed, 2) ? draw(&seed, 20000) : 0,
			.min_free_bytes = draw(&seed, 2) ? draw(&seed, 20000) : 0,
		};
		uint64_t free_bytes = draw(&seed, 20000);
		plan(items, n, r, free_bytes);
		check_invariants(items, n, &r, free_bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_limits),  cmocka_unit_test(test_age),
		cmocka_unit_test(test_bytes),	   cmocka_unit_test(test_free_space),
		cmocka_unit_test(test_boots),	   cmocka_unit_test(test_newest_across_boots),
		cmocka_unit_test(test_imports),	   cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_invariants),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
