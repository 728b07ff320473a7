// SPDX-License-Identifier: Apache-2.0
/* Pins: the file, its rot, what they keep, and their budget. */
#include "store/store_parts.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REAL INT64_C(1776222000000000000)
#define S    INT64_C(1000000000)

struct fixture {
	struct sim_disk *disk;
	struct cam_io *io;
	struct cam_store *s;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->disk = sim_new();
	f->io = sim_io(f->disk);
	f->s = store_open(f->io);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cam_store_close(f->s);
	assert_int_equal(sim_open_files(f->disk), 0);
	sim_free(f->disk);
	free(f);
	return 0;
}

static int pin(struct fixture *f, int64_t from_ns, int64_t to_ns, const char *note)
{
	struct cam_pin p = {from_ns, to_ns, ""};
	snprintf(p.note, sizeof(p.note), "%s", note);
	return cam_store_pin(f->s, &p);
}

static int print_pin(void *arg, const struct cam_pin *p)
{
	char *text = arg;
	snprintf(text + strlen(text), 512 - strlen(text), "%lld-%lld %s\n",
		 (long long)(p->from_ns - REAL), (long long)(p->to_ns - REAL), p->note);
	return 0;
}

static const char *all_pins(struct fixture *f, int expected)
{
	static char text[512];
	text[0] = '\0';
	assert_int_equal(cam_store_pins(f->io, print_pin, text), expected);
	return text;
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	assert_string_equal(all_pins(f, 0), "");
	assert_int_equal(pin(f, REAL, REAL + 5, "first"), 0);
	assert_int_equal(pin(f, REAL - 7, REAL + 5, ""), 0);
	assert_int_equal(pin(f, REAL + 1, REAL + 2, "a \n\t\x7f b"), 0);
	assert_string_equal(all_pins(f, 0), "0-5 first\n-7-5 \n1-2 a     b\n");
	assert_int_equal(pin(f, REAL, REAL + 5, "again"), 0);
	assert_string_equal(all_pins(f, 0), "0-5 again\n-7-5 \n1-2 a     b\n");
	assert_int_equal(cam_store_unpin(f->s, REAL - 7, REAL + 5), 0);
	assert_int_equal(cam_store_unpin(f->s, REAL - 7, REAL + 5), -ENOENT);
	assert_string_equal(all_pins(f, 0), "0-5 again\n1-2 a     b\n");
	assert_int_equal(pin(f, REAL, REAL, "empty"), -EINVAL);
	assert_int_equal(pin(f, REAL + 1, REAL, "backwards"), -EINVAL);
	assert_int_equal(pin(f, INT64_MIN, INT64_MAX, "all"), 0);
	assert_int_equal(cam_store_unpin(f->s, INT64_MIN, INT64_MAX), 0);
	struct cam_pin unended = {REAL, REAL + 9, ""};
	memset(unended.note, 'x', sizeof(unended.note));
	assert_int_equal(cam_store_pin(f->s, &unended), 0);
	assert_int_equal(strlen(strrchr(all_pins(f, 0), ' ') + 1), 63 + 1);
}

/* Every bit of the file: noticed, and the other pins are still there. */
static void test_rot(void **state)
{
	struct fixture *f = *state;
	size_t n;
	assert_int_equal(pin(f, REAL, REAL + 5, "first"), 0);
	assert_int_equal(pin(f, REAL + 7, REAL + 9, "second one"), 0);
	assert_int_equal(pin(f, REAL + 11, REAL + 12, "third"), 0);
	uint64_t clean = hash_disk(f->disk, true);
	sim_get(f->disk, "pins", &n);
	for (size_t bit = 0; bit < n * 8; bit++) {
		struct cam_pins pins;
		unsigned known = 0;
		sim_flip(f->disk, "pins", bit);
		int err = cam_pins_read(f->io, &pins);
		assert_true(err == -EBADMSG || err == -EPROTONOSUPPORT);
		for (size_t i = 0; i < pins.n; i++) {
			known |= pins.rows[i].from_ns == REAL ? 1u : 0;
			known |= pins.rows[i].from_ns == REAL + 7 ? 2u : 0;
			known |= pins.rows[i].from_ns == REAL + 11 ? 4u : 0;
		}
		/* At most one line is bad: or two, where the end of a line is. */
		if (err == -EBADMSG)
			assert_true(pins.n >= 1 && __builtin_popcount(known) == (int)pins.n);
		free(pins.rows);
		sim_flip(f->disk, "pins", bit);
	}
	assert_true(hash_disk(f->disk, true) == clean);
	/* Cut anywhere, it is bad; what is left of it is used, and made whole by the next pin. */
	for (size_t cut = n; cut-- > 0;) {
		struct cam_pins pins;
		sim_cut(f->disk, "pins", cut);
		assert_int_equal(cam_pins_read(f->io, &pins), -EBADMSG);
		free(pins.rows);
	}
	assert_int_equal(pin(f, REAL + 20, REAL + 21, "new"), 0);
	assert_string_equal(all_pins(f, 0), "20-21 new\n");
}

/* Windows of 100 s, a second of samples each, boot 1; the last one is from + n - 1. */
static void add_windows(struct fixture *f, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		struct numbered_window w = {
			.boot = 1,
			.start_ns = (100 + 100 * i) * NS,
			.realtime_ns = REAL + 100 * i * S,
		};
		numbered_window(f->s, &w, i, 1, true);
	}
}

static const char *left(struct fixture *f)
{
	static char text[32];
	struct numbers found;
	store_read(f->io, &found);
	for (unsigned i = 0; i < 26; i++)
		text[i] = found.times[i] ? (char)('a' + i) : '.';
	text[26] = '\0';
	for (size_t i = 26; i > 0 && text[i - 1] == '.'; i--)
		text[i - 1] = '\0';
	return text;
}

static unsigned retain(struct fixture *f, struct cam_retention r)
{
	unsigned deleted;
	assert_int_equal(cam_store_retain(f->s, &r, &deleted), 0);
	return deleted;
}

static void test_pins_keep(void **state)
{
	struct fixture *f = *state;
	/* One in the past, one in the future: windows that come later fall into it. */
	add_windows(f, 0, 6);
	assert_int_equal(pin(f, REAL + 100 * S, REAL + 101 * S, "b"), 0);
	assert_int_equal(pin(f, REAL + 700 * S, REAL + 900 * S, "h and i"), 0);
	add_windows(f, 6, 14);
	/* Touching is not lying in it: the pin ends where j begins. */
	retain(f, (struct cam_retention){.keep_ns = 1});
	assert_string_equal(left(f), ".b.....hi.....opqrst");
	assert_int_equal(cam_store_unpin(f->s, REAL + 100 * S, REAL + 101 * S), 0);
	retain(f, (struct cam_retention){.keep_ns = 1});
	assert_string_equal(left(f), ".......hi.....opqrst");
}

static void test_budget(void **state)
{
	struct fixture *f = *state;
	uint64_t all, one;
	add_windows(f, 0, 14);
	assert_int_equal(pin(f, REAL + 300 * S, REAL + 500 * S, "d and e"), 0);
	assert_int_equal(pin(f, REAL, REAL + 200 * S, "a and b"), 0);
	assert_int_equal(cam_store_pinned_bytes(f->io, &all), 0);
	one = all / 4;
	/* Room for three (they are equally long to a few bytes): the pin that came first wins. */
	retain(f, (struct cam_retention){.keep_ns = 1, .max_pinned_bytes = 3 * one + one / 2});
	assert_string_equal(left(f), "a..de...ijklmn");
	assert_int_equal(cam_store_pinned_bytes(f->io, &all), 0);
	assert_in_range(all, 3 * one - 50, 3 * one + 50);
	/* Pinned bytes are not counted against the others' limit. */
	assert_int_equal(retain(f, (struct cam_retention){.max_bytes = 7 * one + one / 2}), 0);
	/* Free space beats every pin, oldest first, but not the newest ten minutes. */
	sim_set_capacity(f->disk, 1 << 20);
	uint64_t total, free_bytes;
	f->io->ops->space(f->io, &total, &free_bytes);
	assert_int_equal(retain(f, (struct cam_retention){.min_free_bytes = free_bytes}), 0);
	assert_int_equal(retain(f, (struct cam_retention){.min_free_bytes = free_bytes + 1}), 1);
	assert_string_equal(left(f), "...de...ijklmn");
	assert_int_equal(retain(f, (struct cam_retention){.min_free_bytes = total}), 2);
	assert_string_equal(left(f), "........ijklmn");
}

static void test_unreadable_pins_pin_everything(void **state)
{
	struct fixture *f = *state;
	add_windows(f, 0, 14);
	assert_int_equal(pin(f, REAL, REAL + S, "a"), 0);
	sim_flip(f->disk, "pins", 8 * 20);
	assert_int_equal(retain(f, (struct cam_retention){.keep_ns = 1, .max_bytes = 1}), 0);
	assert_string_equal(left(f), "abcdefghijklmn");
	sim_set_capacity(f->disk, 1 << 20);
	assert_int_equal(retain(f, (struct cam_retention){.min_free_bytes = 1 << 20}), 8);
	assert_string_equal(left(f), "........ijklmn");
}

static void test_newer(void **state)
{
	struct fixture *f = *state;
	static const char newer[] = "perfcam pins 2\nwho knows\n";
	add_windows(f, 0, 14);
	sim_put(f->disk, "pins", newer, sizeof(newer) - 1);
	uint64_t before = hash_disk(f->disk, true);
	assert_int_equal(pin(f, REAL, REAL + 1, "x"), -EPROTONOSUPPORT);
	assert_int_equal(cam_store_unpin(f->s, REAL, REAL + 1), -EPROTONOSUPPORT);
	assert_string_equal(all_pins(f, -EPROTONOSUPPORT), "");
	assert_int_equal(retain(f, (struct cam_retention){.keep_ns = 1, .max_bytes = 1}), 0);
	assert_true(hash_disk(f->disk, true) == before);
}

/* A clock that was never set, an uncertain one, one at the end of its range. */
static void test_covers(void **state)
{
	(void)state;
	struct cam_pin p = {1000, 2000, ""};
	struct cam_window_info w = {.start_ns = 5, .end_ns = 105, .realtime_ns = INT64_MIN};
	assert_false(cam_pin_covers(&p, &w));
	w.realtime_ns = 1999;
	assert_true(cam_pin_covers(&p, &w));
	w.realtime_ns = 2000;
	assert_false(cam_pin_covers(&p, &w));
	w.realtime_uncertainty_ns = 1;
	assert_true(cam_pin_covers(&p, &w));
	w.realtime_ns = 899;
	assert_false(cam_pin_covers(&p, &w));
	w.realtime_ns = 900;
	assert_true(cam_pin_covers(&p, &w));
	w.realtime_uncertainty_ns = UINT64_MAX;
	w.realtime_ns = INT64_MAX;
	assert_true(cam_pin_covers(&p, &w));
	w = (struct cam_window_info){.realtime_ns = 1000};
	assert_true(cam_pin_covers(&p, &w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pins_keep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_pins_pin_everything, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_newer, setup, teardown),
		cmocka_unit_test(test_covers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
