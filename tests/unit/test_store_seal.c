// SPDX-License-Identifier: Apache-2.0
/* Sealing and recovery: what becomes of a journal, whatever state it is found in. */
#include "base/crc32c.h"
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

#define REAL	INT64_C(1776222000000000000)
#define JOURNAL "open-00000001.pcj"
#define WINDOW	"perfcam-h-20260415-03-00-00-1s.pcw"

struct bytes {
	uint8_t *data;
	size_t n;
};

static struct bytes get(struct sim_disk *d, const char *name)
{
	struct bytes b;
	const uint8_t *data = sim_get(d, name, &b.n);
	assert_non_null(data);
	b.data = malloc(b.n + 1);
	assert_non_null(b.data);
	memcpy(b.data, data, b.n);
	return b;
}

static void put(struct sim_disk *d, const char *name, struct bytes b)
{
	sim_put(d, name, b.data, b.n);
}

static bool is_there(struct sim_disk *d, const char *name)
{
	size_t n;
	return sim_get(d, name, &n) != NULL;
}

static bool same(struct sim_disk *d, const char *name, struct bytes b)
{
	size_t n;
	const uint8_t *data = sim_get(d, name, &n);
	return data && n == b.n && memcmp(data, b.data, n) == 0;
}

/* Four blocks of three samples; `ends[i]` is where block i ends (0: the header). */
static void make_journal(struct sim_disk *d, size_t ends[6], bool end)
{
	struct cam_store *s = store_open(sim_io(d));
	struct numbered_window w = {.boot = 1, .start_ns = 100 * NS, .realtime_ns = REAL};
	struct numbered n;
	numbered_init(&n, cam_store_journal(s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	sim_get(d, JOURNAL, &ends[0]);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(numbered_append(&n, 3 * i, 3), 0);
		sim_get(d, JOURNAL, &ends[i + 1]);
	}
	if (end)
		assert_int_equal(numbered_end(&n), 0);
	numbered_drop(&n);
	sim_get(d, JOURNAL, &ends[5]);
	cam_store_close(s);
}

/* Opens for writing and closes: the counts of what recovery did. */
static struct cam_store_counts recover(struct sim_disk *d)
{
	struct cam_store *s = store_open(sim_io(d));
	struct cam_store_counts counts = *cam_store_counts(s);
	cam_store_close(s);
	assert_int_equal(sim_open_files(d), 0);
	return counts;
}

static unsigned count_samples(struct sim_disk *d)
{
	struct numbers found;
	store_read(sim_io(d), &found);
	for (unsigned k = 0; k < found.total; k++)
		assert_int_equal(found.times[k], 1);
	return found.total;
}

/* The file depends on the journal alone: another store, another day, another writer. */
static void test_pure(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *a = sim_new(), *b = sim_new();
	make_journal(a, ends, true);
	struct bytes journal = get(a, JOURNAL);
	recover(a);
	put(b, "open-00000077.pcj", journal);
	recover(b);
	struct bytes window = get(a, WINDOW);
	assert_true(same(b, WINDOW, window));
	assert_false(is_there(b, "open-00000077.pcj"));
	free(journal.data);
	free(window.data);
	sim_free(a);
	sim_free(b);
}

/* Cut at every byte: every whole block is in the window, and nothing else. */
static void test_torn(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	make_journal(d, ends, true);
	for (size_t cut = 0; cut <= ends[5]; cut++) {
		struct sim_disk *c = sim_image(d, 0, SIM_ALL, 0);
		unsigned blocks = 0;
		sim_cut(c, JOURNAL, cut);
		while (blocks < 4 && ends[blocks + 1] <= cut)
			blocks++;
		struct cam_store_counts counts = recover(c);
		assert_int_equal(counts.recovered, blocks > 0);
		assert_int_equal(counts.empty, blocks == 0);
		assert_int_equal(counts.set_aside + counts.unsealed, 0);
		assert_int_equal(count_samples(c), 3 * blocks);
		assert_int_equal(is_there(c, WINDOW), blocks > 0);
		assert_false(is_there(c, JOURNAL));
		if (blocks) {
			struct cam_window *w;
			assert_int_equal(cam_store_open_file(sim_io(c), WINDOW, &w), 0);
			assert_int_equal(w->info.clean_end, cut == ends[5]);
			assert_int_equal(w->info.end_ns,
					 cut == ends[5]
						 ? 100 * NS + 12 * STEP_NS
						 : 100 * NS + (3 * blocks - 1) * STEP_NS + 1);
			w->ops->close(w);
		}
		sim_free(c);
	}
	sim_free(d);
}

/* Both are there, as after a crash between rename and unlink. */
static void test_window_wins(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	make_journal(d, ends, true);
	struct bytes journal = get(d, JOURNAL);
	recover(d);
	struct bytes window = get(d, WINDOW);
	put(d, JOURNAL, journal);
	/* Readers see one of them. */
	assert_int_equal(count_samples(d), 12);
	recover(d);
	assert_true(same(d, WINDOW, window));
	assert_false(is_there(d, JOURNAL));
	/* Where retention takes the window, the journal goes with it: it would come back. */
	put(d, JOURNAL, journal);
	struct sim_disk *c = sim_image(d, 0, SIM_ALL, 0);
	struct cam_store *s = store_open(sim_io(c));
	put(c, JOURNAL, journal);
	unsigned deleted;
	struct numbered_window later = {.boot = 1, .start_ns = 2000 * NS};
	numbered_window(s, &later, 100, 3, false);
	struct cam_retention short_keep = {.keep_ns = 1};
	assert_int_equal(cam_store_retain(s, &short_keep, &deleted), 0);
	assert_int_equal(deleted, 1);
	assert_false(is_there(c, WINDOW));
	assert_false(is_there(c, JOURNAL));
	cam_store_close(s);
	sim_free(c);
	/* A shorter journal, as a power cut brings it back, does not take anything away. */
	put(d, JOURNAL, journal);
	sim_cut(d, JOURNAL, ends[2]);
	recover(d);
	assert_true(same(d, WINDOW, window));
	assert_false(is_there(d, JOURNAL));
	/* A window that has less is made anew from the journal. */
	sim_free(d);
	d = sim_new();
	put(d, JOURNAL, journal);
	sim_cut(d, JOURNAL, ends[2]);
	recover(d);
	assert_int_equal(count_samples(d), 6);
	put(d, JOURNAL, journal);
	recover(d);
	assert_true(same(d, WINDOW, window));
	assert_false(is_there(d, JOURNAL));
	free(journal.data);
	free(window.data);
	sim_free(d);
}

/* The window has rotted, at any byte: the journal makes it anew, under its name. */
static void test_journal_heals(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	make_journal(d, ends, true);
	struct bytes journal = get(d, JOURNAL);
	recover(d);
	struct bytes window = get(d, WINDOW);
	for (size_t byte = 0; byte < window.n; byte += 7) {
		struct sim_disk *c = sim_image(d, 0, SIM_ALL, 0);
		put(c, JOURNAL, journal);
		sim_flip(c, WINDOW, byte * 8 + byte % 8);
		recover(c);
		assert_int_equal(count_samples(c), 12);
		assert_false(is_there(c, JOURNAL));
		/* Where even its header is gone nobody knows that it is the same window. */
		if (!same(c, WINDOW, window))
			assert_true(same(c, "perfcam-h-20260415-03-00-00-1s.2.pcw", window));
		sim_free(c);
	}
	/* Each has what the other has not: both stay, and nothing changes again. */
	put(d, JOURNAL, journal);
	sim_cut(d, JOURNAL, ends[3]);
	sim_flip(d, WINDOW, window.n / 2 * 8);
	uint64_t hash = hash_disk(d, true);
	assert_int_equal(recover(d).unsealed, 1);
	assert_true(hash_disk(d, true) == hash);
	free(journal.data);
	free(window.data);
	sim_free(d);
}

/* Any byte of the header is bad: set aside, said, never sealed as something else. */
static void test_bad_header(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	make_journal(d, ends, true);
	for (size_t byte = 0; byte < ends[0]; byte++) {
		struct sim_disk *c = sim_image(d, 0, SIM_ALL, 0);
		struct cam_verify_report r;
		sim_flip(c, JOURNAL, byte * 8 + byte % 8);
		struct bytes before = get(c, JOURNAL);
		struct cam_store_counts counts = recover(c);
		assert_int_equal(counts.set_aside, 1);
		assert_int_equal(counts.recovered, 0);
		assert_true(same(c, JOURNAL ".bad", before));
		assert_string_equal(verdict_of(sim_io(c), JOURNAL ".bad", &r), "unreadable");
		assert_string_equal(r.kind, "journal");
		/* A second recovery leaves it alone, and the store goes on. */
		assert_int_equal(recover(c).set_aside, 0);
		struct cam_store *s = store_open(sim_io(c));
		numbered_window(s, &(struct numbered_window){.boot = 2}, 0, 3, true);
		cam_store_close(s);
		assert_int_equal(count_samples(c), 3);
		assert_true(same(c, JOURNAL ".bad", before));
		free(before.data);
		sim_free(c);
	}
	sim_free(d);
}

/* A bad block in the middle costs its samples; both sides are kept, and the ledger says so. */
static int find_damaged(void *arg, const struct cam_ledger_row *row)
{
	if (row->cause == CAM_CAUSE_DAMAGED)
		*(struct cam_ledger_row *)arg = *row;
	return 0;
}

static void test_bad_block(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	make_journal(d, ends, true);
	sim_flip(d, JOURNAL, (ends[2] + 40) * 8);
	assert_int_equal(recover(d).recovered, 1);
	struct numbers found;
	store_read(sim_io(d), &found);
	assert_int_equal(found.total, 9);
	for (unsigned k = 0; k < 12; k++)
		assert_int_equal(found.times[k], k < 6 || k >= 9);
	struct cam_window *w;
	struct cam_ledger_row row = {0};
	assert_int_equal(cam_store_open_file(sim_io(d), WINDOW, &w), 0);
	assert_int_equal(w->ops->ledger(w, find_damaged, &row), 0);
	assert_int_equal(row.samples, 3);
	assert_in_range(row.from_ns, 100 * NS + 5 * STEP_NS, 100 * NS + 6 * STEP_NS);
	assert_in_range(row.to_ns, 100 * NS + 8 * STEP_NS, 100 * NS + 9 * STEP_NS);
	w->ops->close(w);
	sim_free(d);
}

/* Names of hosts, years and collisions, as sealing makes them. */
static void test_names(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_store *s = store_open(sim_io(d));
	struct numbered_window w = {.start_ns = NS, .host = "db-1.example-2"};
	int64_t ten_years = 3652 * INT64_C(86400000000000);
	int64_t reals[] = {REAL, REAL + 10, REAL - ten_years, REAL + ten_years, 1, REAL, 1};
	for (unsigned i = 0; i < 7; i++) {
		w.boot = (uint8_t)(i + 1);
		w.realtime_ns = reals[i];
		numbered_window(s, &w, 3 * i, 3, true);
	}
	cam_store_close(s);
	assert_true(is_there(d, "perfcam-db-1.example-2-20260415-03-00-00-1s.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-20260415-03-00-00-1s.2.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-20260415-03-00-00-1s.3.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-20160415-03-00-00-1s.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-20360414-03-00-00-1s.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-19700101-00-00-00-1s.pcw"));
	assert_true(is_there(d, "perfcam-db-1.example-2-19700101-00-00-00-1s.2.pcw"));
	assert_int_equal(count_samples(d), 21);
	sim_free(d);
}

/* A next generation replaces a window, only that window, and only whole; readers keep theirs. */
static void test_generations(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_store *s = store_open(io);
	struct numbered_window w = {.boot = 1, .start_ns = NS, .realtime_ns = REAL};
	struct cam_window *reader, *better, *other;
	struct numbers before = {0}, after;
	unsigned refused = 0;
	numbered_window(s, &w, 0, 12, true);
	w.start_ns = 2 * NS;
	w.realtime_ns = REAL + (int64_t)NS;
	numbered_window(s, &w, 12, 12, true);
	assert_int_equal(cam_store_open_file(io, WINDOW, &reader), 0);
	assert_int_equal(cam_store_open_file(io, WINDOW, &better), 0);
	assert_int_equal(cam_store_open_file(io, "perfcam-h-20260415-03-00-01-1s.pcw", &other), 0);
	uint64_t hash = hash_disk(d, true);
	assert_int_equal(cam_store_replace(s, WINDOW, other), -EINVAL);
	assert_int_equal(cam_store_replace(s, "nobody.pcw", other), -ENOENT);
	assert_int_equal(cam_store_replace(s, "pins", other), -EINVAL);
	numbered_better(better);
	better->info.samples--;
	assert_int_equal(cam_store_replace(s, WINDOW, better), -EINVAL);
	better->info.samples++;
	assert_true(hash_disk(d, true) == hash);
	/* Nor may it be one that could not be read wholly: names would be lost for good. */
	for (uint64_t call = 1; call < 40; call++) {
		struct cam_window *half;
		assert_int_equal(cam_store_open_file(io, WINDOW, &half), 0);
		sim_set_plan(d, &(struct sim_plan){.at_call = call, .fail_errno = EIO});
		numbered_better(half);
		int err = cam_store_replace(s, WINDOW, half);
		assert_true(sim_plan_done(d));
		sim_set_plan(d, &(struct sim_plan){0});
		half->ops->close(half);
		store_read(io, &after);
		assert_int_equal(after.total - after.nameless, 24);
		assert_int_equal(after.damaged, 0);
		refused += err != 0;
	}
	assert_true(refused > 20);
	/* In two steps: whoever staged it has not the lock. Two of them do not meet. */
	char staged[CAM_NAME_BYTES], twice[CAM_NAME_BYTES];
	assert_int_equal(cam_store_stage(io, better, staged), 0);
	assert_int_equal(cam_store_stage(io, better, twice), 0);
	assert_string_not_equal(staged, twice);
	assert_int_equal(cam_store_adopt(s, staged, "perfcam-h-20260415-03-00-01-1s.pcw"), -EINVAL);
	assert_int_equal(cam_store_adopt(s, WINDOW, WINDOW), -EINVAL);
	assert_int_equal(cam_store_adopt(s, staged, "pins"), -EINVAL);
	assert_int_equal(cam_store_adopt(s, staged, "nobody.pcw"), -ENOENT);
	assert_int_equal(cam_store_adopt(s, staged, WINDOW), 0);
	assert_int_equal(cam_store_adopt(s, staged, WINDOW), -ENOENT);
	assert_int_equal(cam_store_adopt(s, twice, WINDOW), 0);
	assert_int_equal(cam_store_replace(s, WINDOW, better), 0);
	better->ops->close(better);
	other->ops->close(other);
	store_read(io, &after);
	for (unsigned k = 0; k < 24; k++) {
		assert_int_equal(after.times[k], 1);
		assert_int_equal(after.generation[k], k < 12);
	}
	window_read(reader, &before);
	assert_int_equal(before.total, 12);
	assert_int_equal(before.generation[3], 0);
	reader->ops->close(reader);
	cam_store_close(s);
	sim_free(d);
}

/* Files of a newer perfcam: named, and nothing else, by recovery, retention, verify, readers. */
static void test_newer(void **state)
{
	(void)state;
	size_t ends[6];
	struct sim_disk *d = sim_new();
	struct cam_verify_report r;
	unsigned deleted;
	make_journal(d, ends, true);
	struct bytes journal = get(d, JOURNAL);
	recover(d);
	/* The window: an unknown incompatible bit in the header, and its crc put right. */
	struct bytes window = get(d, WINDOW);
	window.data[8 + 8 + 3] |= 0x80;
	uint32_t crc = cam_crc32c(0, window.data, 20);
	for (int i = 0; i < 4; i++)
		window.data[20 + i] = (uint8_t)(crc >> (8 * i));
	put(d, WINDOW, window);
	/* The journal likewise: its features come first in its header. */
	journal.data[24 + 8 + 3] |= 0x80;
	crc = cam_crc32c(0, journal.data, 20);
	crc = cam_crc32c(crc, journal.data + 24, ends[0] - 24);
	for (int i = 0; i < 4; i++)
		journal.data[20 + i] = (uint8_t)(crc >> (8 * i));
	put(d, "open-00000009.pcj", journal);
	assert_string_equal(verdict_of(sim_io(d), WINDOW, &r), "newer");
	assert_string_equal(verdict_of(sim_io(d), "open-00000009.pcj", &r), "newer");
	sim_set_capacity(d, 1 << 20);
	struct cam_store *s = store_open(sim_io(d));
	assert_int_equal(cam_store_counts(s)->unsealed + cam_store_counts(s)->set_aside, 0);
	struct cam_retention all = {.keep_ns = 1, .max_bytes = 1, .min_free_bytes = 1 << 20};
	assert_int_equal(cam_store_retain(s, &all, &deleted), 0);
	assert_int_equal(deleted, 0);
	/* A window of the same name goes beside it, with the next number. */
	struct numbered_window w = {.boot = 1, .start_ns = 100 * NS, .realtime_ns = REAL};
	numbered_window(s, &w, 0, 3, true);
	cam_store_close(s);
	assert_true(is_there(d, "perfcam-h-20260415-03-00-00-1s.2.pcw"));
	assert_int_equal(count_samples(d), 3);
	assert_true(same(d, WINDOW, window));
	assert_true(same(d, "open-00000009.pcj", journal));
	free(window.data);
	free(journal.data);
	sim_free(d);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pure),	    cmocka_unit_test(test_torn),
		cmocka_unit_test(test_window_wins), cmocka_unit_test(test_journal_heals),
		cmocka_unit_test(test_bad_header),  cmocka_unit_test(test_bad_block),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_generations),
		cmocka_unit_test(test_newer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
