// SPDX-License-Identifier: Apache-2.0
/*
 * What verify says of each file: the right kind and verdict, and a time range in which everything
 * lies that a reader misses.
 */
#include "store/store_parts.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REAL	INT64_C(1776222000000000000)
#define WINDOW	"perfcam-h-20260415-03-00-00-41s.pcw"
#define JOURNAL "open-00000001.pcj"
#define START	(100 * NS)

/* Five blocks of ten samples, ten seconds apart. */
static uint64_t time_of(unsigned k)
{
	return START + k / 10 * (10 * NS + 10 * STEP_NS) + k % 10 * STEP_NS;
}

static void make_window(struct sim_disk *d, size_t ends[6], bool seal)
{
	struct cam_store *s = store_open(sim_io(d));
	struct numbered_window w = {.boot = 1, .start_ns = START, .realtime_ns = REAL};
	struct numbered n;
	unsigned sealed;
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	sim_get(d, JOURNAL, &ends[0]);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(numbered_append(&n, 10 * i, 10), 0);
		sim_get(d, JOURNAL, &ends[i + 1]);
		n.next_ns += 10 * NS;
	}
	n.next_ns -= 10 * NS;
	if (seal) {
		assert_int_equal(numbered_end(&n), 0);
		assert_int_equal(cam_store_seal_pending(s, &sealed), 0);
	}
	numbered_drop(&n);
	cam_store_close(s);
}

/* What a reader misses lies in the range that is reported, and the count is right. */
static void check_range(struct cam_io *io, const struct cam_verify_report *r)
{
	struct numbers found;
	unsigned missing = 0;
	store_read(io, &found);
	for (unsigned k = 0; k < 50; k++) {
		if (found.times[k])
			continue;
		missing++;
		assert_in_range(time_of(k), r->from_ns, r->to_ns - 1);
	}
	assert_true(missing == 0 || strcmp(r->verdict, "damaged") == 0);
	assert_int_equal(missing, r->damaged_samples + found.nameless);
	if (r->damaged_samples)
		assert_true(r->from_ns >= START - NS && r->to_ns <= START + 60 * NS);
}

/* A byte of a sealed window, each in turn. */
static void test_window(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_verify_report r;
	size_t ends[6], n;
	unsigned narrow = 0;
	make_window(d, ends, true);
	assert_string_equal(verdict_of(io, WINDOW, &r), "ok");
	assert_string_equal(r.kind, "window");
	assert_non_null(sim_get(d, WINDOW, &n));
	assert_int_equal(r.bytes, n);
	assert_int_equal(r.samples, 50);
	assert_int_equal(r.from_ns | r.to_ns | r.damaged_chunks | r.torn_bytes, 0);
	uint64_t hash = hash_disk(d, true);
	for (size_t byte = 0; byte < n; byte++) {
		sim_flip(d, WINDOW, byte * 8 + byte % 8);
		const char *verdict = verdict_of(io, WINDOW, &r);
		assert_true(strcmp(verdict, "damaged") == 0 || strcmp(verdict, "unreadable") == 0 ||
			    strcmp(verdict, "newer") == 0);
		if (strcmp(verdict, "damaged") == 0) {
			assert_true(r.damaged_chunks > 0);
			check_range(io, &r);
			narrow += r.damaged_samples && r.to_ns - r.from_ns <= 10 * NS;
		}
		sim_flip(d, WINDOW, byte * 8 + byte % 8);
	}
	assert_true(narrow > 20);
	assert_true(hash_disk(d, true) == hash);
	sim_free(d);
}

/* A byte of a journal, each in turn: its header, a block in the middle, the last one. */
static void test_journal(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_verify_report r;
	size_t ends[6];
	make_window(d, ends, false);
	assert_string_equal(verdict_of(io, JOURNAL, &r), "ok");
	assert_string_equal(r.kind, "journal");
	assert_int_equal(r.bytes, ends[5]);
	assert_int_equal(r.samples, 50);
	for (size_t byte = 0; byte < ends[5]; byte++) {
		sim_flip(d, JOURNAL, byte * 8 + byte % 8);
		const char *verdict = verdict_of(io, JOURNAL, &r);
		if (byte < ends[0]) {
			assert_string_equal(verdict, "unreadable");
		} else if (byte < ends[4]) {
			assert_string_equal(verdict, "damaged");
			assert_int_equal(r.damaged_samples, 10);
			check_range(io, &r);
		} else {
			assert_string_equal(verdict, "torn tail");
			assert_int_equal(r.torn_bytes, ends[5] - ends[4]);
			assert_int_equal(r.samples, 40);
		}
		sim_flip(d, JOURNAL, byte * 8 + byte % 8);
	}
	sim_cut(d, JOURNAL, ends[5] - 1);
	assert_string_equal(verdict_of(io, JOURNAL, &r), "torn tail");
	assert_int_equal(r.torn_bytes, ends[5] - 1 - ends[4]);
	sim_free(d);
}

static int print_report(void *arg, const struct cam_verify_report *r)
{
	char *text = arg;
	snprintf(text + strlen(text), 1024 - strlen(text), "%s: %s, %s\n", r->name, r->kind,
		 r->verdict);
	return 0;
}

static int stop(void *arg, const struct cam_verify_report *r)
{
	(void)arg;
	(void)r;
	return 7;
}

/* All kinds, in order of names, beside a writer that holds the lock. */
static void test_kinds(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	char text[1024] = "";
	struct cam_verify_report r;
	size_t ends[6];
	make_window(d, ends, true);
	struct cam_store *s = store_open(io);
	struct cam_pin p = {REAL, REAL + 1, "x"};
	assert_int_equal(cam_store_pin(s, &p), 0);
	assert_int_equal(add_mark(s, 1, START, 0), 0);
	sim_put(d, "a.pcw", "", 0);
	sim_put(d, "b.pcw", "not a window at all, but long enough to be read as one", 54);
	sim_put(d, "c.tmp", "x", 1);
	sim_put(d, "pins.tmp", "x", 1);
	sim_put(d, "d.txt", "x", 1);
	sim_put(d, "open-00000005.pcj", "", 0);
	sim_put(d, "open-00000006.pcj.bad", "x", 1);
	uint64_t hash = hash_disk(d, true);
	assert_int_equal(cam_store_verify(io, print_report, text), 0);
	assert_string_equal(text,
			    "a.pcw: window, unreadable\n"
			    "b.pcw: window, unreadable\n"
			    "c.tmp: foreign, ok\n"
			    "d.txt: foreign, ok\n"
			    "events.pcj: annex, ok\n"
			    "open-00000005.pcj: journal, torn tail\n"
			    "open-00000006.pcj.bad: journal, unreadable\n" WINDOW ": window, ok\n"
			    "pins: pins, ok\n"
			    "pins.tmp: temporary, ok\n");
	assert_int_equal(cam_store_verify(io, stop, NULL), 7);
	assert_true(hash_disk(d, true) == hash);
	sim_flip(d, "pins", 8 * 20);
	assert_string_equal(verdict_of(io, "pins", &r), "unreadable");
	sim_put(d, "pins", "perfcam pins 9\n", 15);
	assert_string_equal(verdict_of(io, "pins", &r), "newer");
	cam_store_close(s);
	sim_free(d);
}

/* The disk does not answer: that is said of the file, and the others are still judged. */
static void test_unreadable_disk(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	size_t ends[6];
	make_window(d, ends, true);
	sim_put(d, "z.txt", "x", 1);
	for (uint64_t call = 2;; call++) {
		char text[1024] = "";
		sim_set_plan(d, &(struct sim_plan){.at_call = call, .fail_errno = EIO});
		assert_int_equal(cam_store_verify(io, print_report, text), 0);
		bool reached = sim_plan_done(d);
		sim_set_plan(d, &(struct sim_plan){0});
		assert_non_null(strstr(text, "z.txt: foreign, ok\n"));
		if (!reached)
			break;
		assert_null(strstr(text, "newer"));
	}
	assert_int_equal(sim_open_files(d), 0);
	sim_free(d);
}

/* In the place of the C library's: names are copied by it. */
static unsigned copies_left = UINT_MAX;

char *strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = copies_left ? malloc(n) : NULL;
	copies_left -= copies_left && copies_left != UINT_MAX;
	return copy ? memcpy(copy, s, n) : NULL;
}

static int say_nothing(void *arg, const struct cam_verify_report *r)
{
	(void)arg;
	(void)r;
	return 0;
}

static void test_no_memory_for_names(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	for (const char *name = "abc"; *name; name++)
		sim_put(d, name, "x", 1);
	for (copies_left = 0; copies_left < 3; copies_left++) {
		unsigned had = copies_left;
		assert_int_equal(cam_store_verify(sim_io(d), say_nothing, NULL), -ENOMEM);
		copies_left = had;
	}
	copies_left = UINT_MAX;
	sim_free(d);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_unreadable_disk),
		cmocka_unit_test(test_no_memory_for_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
