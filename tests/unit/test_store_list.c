// SPDX-License-Identifier: Apache-2.0
/*
 * The writer's own list, and what a reader keeps of files it has met: what is kept between two looks at the
 * directory is what a fresh look would find, and a look costs little.
 */
#include "base/index.h"
#include "store/seal.h"
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

/* Counts which files are opened. */
struct counting {
	struct relay relay;
	struct sim_disk *disk;
	unsigned opened, windows;
};

static int counting_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
			 struct cam_file **out)
{
	struct counting *c = (struct counting *)io;
	c->opened++;
	c->windows += cam_name_kind(name) == CAM_FILE_WINDOW;
	return relay_ops.open(io, name, mode, out);
}

/* Another content is another file. */
static int counting_stamp(struct cam_io *io, const char *name, struct cam_io_stamp *out)
{
	struct sim_disk *disk = ((struct counting *)io)->disk;
	size_t n;
	const uint8_t *bytes = sim_get(disk, name, &n);
	*out = (struct cam_io_stamp){.bytes = n, .inode = bytes ? cam_hash(bytes, n) : 0};
	return bytes ? 0 : -ENOENT;
}

struct fixture {
	struct cam_store_known *known;
	struct sim_disk *disk;
	struct cam_io_ops ops;
	struct counting io;
	struct cam_store *s;
	unsigned n;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int holder;
	f->disk = sim_new();
	f->ops = relay_ops;
	f->ops.open = counting_open;
	f->ops.stamp = counting_stamp;
	f->io.disk = f->disk;
	f->known = cam_store_known_new();
	assert_non_null(f->known);
	f->io.relay = (struct relay){{&f->ops}, sim_io(f->disk)};
	assert_int_equal(cam_store_open_live(&f->io.relay.io, &f->s, &holder), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cam_store_close(f->s);
	cam_store_known_free(f->known);
	assert_int_equal(sim_open_files(f->disk), 0);
	sim_free(f->disk);
	free(f);
	return 0;
}

/* The next window, of a hundred seconds. */
static void add(struct fixture *f, bool seal)
{
	struct numbered_window w = {.boot = 1,
				    .start_ns = (100 + f->n * 100) * NS,
				    .realtime_ns = REAL + f->n * 100 * (int64_t)NS};
	numbered_window(f->s, &w, 3 * f->n++, 3, seal);
}

static unsigned retain(struct fixture *f, const struct cam_retention *limits)
{
	unsigned deleted;
	assert_int_equal(cam_store_retain(f->s, limits, &deleted), 0);
	return deleted;
}

/* A reader that has met files before lists the same as one that comes anew. */
static void check_reader(struct fixture *f, const struct cam_store_list *fresh)
{
	struct cam_store_list again;
	assert_int_equal(cam_store_list_read(&f->io.relay.io, f->known, &again), 0);
	assert_int_equal(again.n, fresh->n);
	assert_int_equal(again.n_readable, fresh->n_readable);
	assert_int_equal(again.last_sequence, fresh->last_sequence);
	for (size_t i = 0; i < fresh->n; i++) {
		struct cam_store_entry *a = &again.entries[i];
		const struct cam_store_entry *b = &fresh->entries[i];
		assert_string_equal(a->name, b->name);
		assert_int_equal(a->state, b->state);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->position, b->position);
		assert_int_equal(a->shadowed, b->shadowed);
		assert_true(cam_text_equal(a->info.host, b->info.host));
		assert_true(cam_text_equal(a->info.name, b->info.name));
		a->info.host = b->info.host;
		a->info.name = b->info.name;
		assert_memory_equal(&a->info, &b->info, sizeof(a->info));
	}
	cam_store_list_free(&again);
}

/* What the store keeps says of every sealed window what a reader's list says. */
static void check_list(struct fixture *f)
{
	struct cam_store_list fresh;
	assert_int_equal(cam_store_refresh(f->s), 0);
	assert_int_equal(cam_store_list_read(sim_io(f->disk), NULL, &fresh), 0);
	assert_int_equal(f->s->list.n, fresh.n);
	assert_int_equal(f->s->list.n_readable, fresh.n_readable);
	assert_int_equal(f->s->list.last_sequence, fresh.last_sequence);
	for (size_t i = 0; i < fresh.n; i++) {
		const struct cam_store_entry *a = &f->s->list.entries[i], *b = &fresh.entries[i];
		assert_string_equal(a->name, b->name);
		assert_int_equal(a->state, b->state);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->shadowed, b->shadowed);
		assert_int_equal(a->info.start_ns, b->info.start_ns);
		assert_int_equal(a->info.end_ns, b->info.end_ns);
		assert_int_equal(a->info.samples, b->info.samples);
		assert_int_equal(a->info.sequence, b->info.sequence);
		assert_int_equal(a->info.realtime_ns, b->info.realtime_ns);
		assert_int_equal(a->info.clean_end, b->info.clean_end);
		assert_true(cam_text_equal(a->info.host, b->info.host));
	}
	check_reader(f, &fresh);
	cam_store_list_free(&fresh);
}

static unsigned windows_opened_by_a_list(struct fixture *f)
{
	struct cam_store_list list;
	f->io.windows = 0;
	assert_int_equal(cam_store_list_read(&f->io.relay.io, f->known, &list), 0);
	cam_store_list_free(&list);
	return f->io.windows;
}

static void copy_file(struct fixture *f, const char *from, const char *to)
{
	size_t n;
	const uint8_t *bytes = sim_get(f->disk, from, &n);
	assert_non_null(bytes);
	uint8_t *copy = malloc(n);
	memcpy(copy, bytes, n);
	sim_put(f->disk, to, copy, n);
	free(copy);
}

/* A reader opens a sealed file once, and once more where it became another one. */
static void test_reader_opens_what_is_new(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; i < 20; i++)
		add(f, true);
	assert_int_equal(windows_opened_by_a_list(f), 20);
	assert_int_equal(windows_opened_by_a_list(f), 0);
	add(f, true);
	assert_int_equal(windows_opened_by_a_list(f), 1);
	/* One whose directory cannot be read is looked at each time: it may get better. */
	sim_put(f->disk, "broken.pcw", (const uint8_t *)"x", 1);
	assert_int_equal(windows_opened_by_a_list(f), 1);
	assert_int_equal(windows_opened_by_a_list(f), 1);
	/* It does, and then becomes another one. */
	struct cam_store_list list, fresh;
	assert_int_equal(cam_store_list_read(sim_io(f->disk), NULL, &list), 0);
	for (unsigned i = 0; i < 2; i++) {
		copy_file(f, list.entries[5 + i].name, "broken.pcw");
		assert_int_equal(windows_opened_by_a_list(f), 1);
		assert_int_equal(windows_opened_by_a_list(f), 0);
		assert_int_equal(cam_store_list_read(sim_io(f->disk), NULL, &fresh), 0);
		check_reader(f, &fresh);
		cam_store_list_free(&fresh);
	}
	cam_store_list_free(&list);
	/* A disk that says nothing of a file before it is opened: all of them, each time. */
	f->ops.stamp = NULL;
	assert_int_equal(windows_opened_by_a_list(f), 22);
}

/* Once a window: only the new one is opened, however many there are. */
static void test_cost(void **state)
{
	struct fixture *f = *state;
	struct cam_retention all = {.keep_ns = 1000000 * NS, .max_bytes = 1 << 30};
	for (unsigned i = 0; i < 100; i++) {
		add(f, true);
		f->io.opened = f->io.windows = 0;
		assert_int_equal(retain(f, &all), 0);
		assert_true(f->io.windows <= 1);
		assert_true(f->io.opened <= 3);
	}
	f->io.opened = 0;
	assert_int_equal(retain(f, &all), 0);
	assert_int_equal(f->io.windows, 0);
	assert_true(f->io.opened <= 1); /* the pins */
	check_list(f);
}

/* Through everything that changes a file: written, ended, sealed, replaced, deleted, by hand. */
static void test_follows(void **state)
{
	struct fixture *f = *state;
	struct numbered n;
	size_t bytes;
	unsigned sealed;
	check_list(f);
	add(f, false);
	add(f, false);
	check_list(f);
	assert_int_equal(cam_store_seal_pending(f->s, &sealed), 0);
	assert_int_equal(sealed, 2);
	check_list(f);
	/* Being written: it grows, and what is known of it grows too. */
	numbered_init(&n, cam_store_journal(f->s, 0));
	assert_int_equal(
		numbered_begin(&n, &(struct numbered_window){.boot = 1, .start_ns = 900 * NS}), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(numbered_append(&n, 100 + 3 * i, 3), 0);
		assert_int_equal(cam_store_refresh(f->s), 0);
		const struct cam_store_entry *e = cam_store_find(f->s, "open-00000003.pcj");
		assert_non_null(e);
		sim_get(f->disk, e->name, &bytes);
		assert_int_equal(e->bytes, bytes);
		assert_in_range(e->info.end_ns, 900 * NS + (3 * i + 2) * STEP_NS,
				900 * NS + (3 * i + 3) * STEP_NS);
	}
	assert_int_equal(numbered_end(&n), 0);
	numbered_drop(&n);
	check_list(f);
	assert_int_equal(cam_store_seal_pending(f->s, &sealed), 0);
	check_list(f);
	/* Better names. */
	struct cam_window *better;
	const char *name = "perfcam-h-20260415-03-00-00-1s.pcw";
	assert_int_equal(cam_store_open_file(sim_io(f->disk), name, &better), 0);
	numbered_better(better);
	assert_int_equal(cam_store_replace(f->s, name, better), 0);
	better->ops->close(better);
	check_list(f);
	/* By hand: one comes, one goes, one is not what its name says. */
	const uint8_t *data = sim_get(f->disk, name, &bytes);
	uint8_t *copy = malloc(bytes);
	memcpy(copy, data, bytes);
	sim_put(f->disk, "mine.pcw", copy, bytes);
	sim_put(f->disk, "broken.pcw", copy, 100);
	free(copy);
	assert_int_equal(sim_io(f->disk)->ops->unlink(sim_io(f->disk), name), 0);
	check_list(f);
}

/* A look that fails changes nothing. */
static void test_failures(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; i < 5; i++)
		add(f, true);
	check_list(f);
	size_t had = f->s->list.n, bytes;
	const uint8_t *data = sim_get(f->disk, "perfcam-h-20260415-03-00-00-1s.pcw", &bytes);
	uint8_t *copy = malloc(bytes);
	memcpy(copy, data, bytes);
	sim_put(f->disk, "mine.pcw", copy, bytes);
	free(copy);
	sim_set_plan(f->disk, &(struct sim_plan){.at_call = 1, .fail_errno = EIO});
	assert_int_equal(cam_store_refresh(f->s), -EIO);
	assert_int_equal(f->s->list.n, had);
	for (size_t i = 0; i < had; i++)
		assert_non_null(f->s->list.entries[i].name);
	/* A file that cannot be read now is known to be there, and is read the next time. */
	sim_set_plan(f->disk, &(struct sim_plan){.at_call = 3, .fail_errno = EIO});
	assert_int_equal(cam_store_refresh(f->s), 0);
	assert_int_equal(f->s->list.n, 6);
	assert_int_equal(f->s->list.n_readable, 5);
	sim_set_plan(f->disk, &(struct sim_plan){0});
	check_list(f);
	assert_int_equal(f->s->list.n_readable, 6);
}

static uint64_t bytes_of(struct fixture *f)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < f->s->list.n; i++)
		bytes += f->s->list.entries[i].bytes;
	return bytes;
}

/* Journals that wait count like windows, with the bytes they have now; pins are looked up. */
static void test_retention(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; i < 20; i++)
		add(f, false);
	for (unsigned i = 0; i < 10; i++) {
		struct cam_seal_job job;
		assert_int_equal(cam_store_seal_next(f->s, &job), 1);
		int result = cam_seal_files(job.journal, job.window);
		assert_int_equal(cam_store_seal_done(f->s, &job, result), 0);
	}
	assert_int_equal(cam_store_refresh(f->s), 0);
	uint64_t all = bytes_of(f);
	struct cam_retention limits = {.max_bytes = all};
	assert_int_equal(retain(f, &limits), 0);
	limits.max_bytes = all - 1;
	assert_int_equal(retain(f, &limits), 1);
	check_list(f);
	assert_int_equal(f->s->list.n, 19);
	/* A pin that came since the list was made. */
	struct cam_pin pin = {REAL + 100 * (int64_t)NS, REAL + 100 * (int64_t)NS + 1, "kept"};
	assert_int_equal(cam_store_pin(f->s, &pin), 0);
	limits = (struct cam_retention){.keep_ns = 700 * NS};
	unsigned deleted = retain(f, &limits);
	assert_true(deleted > 5);
	struct numbers found;
	store_read(sim_io(f->disk), &found);
	assert_int_equal(found.times[0], 0);
	assert_int_equal(found.times[3], 1);
	assert_int_equal(found.times[6], 0);
	assert_int_equal(found.times[3 * 19], 1);
	assert_int_equal(found.windows + found.journals, 20 - 1 - deleted);
	assert_int_equal(cam_store_unpin(f->s, pin.from_ns, pin.to_ns), 0);
	assert_int_equal(retain(f, &limits), 1);
	check_list(f);
	/* What was deleted is not sealed, and what is left can be. */
	unsigned sealed;
	assert_int_equal(cam_store_seal_pending(f->s, &sealed), 0);
	store_read(sim_io(f->disk), &found);
	assert_int_equal(found.journals, 0);
	check_list(f);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_opens_what_is_new, setup, teardown),
		cmocka_unit_test_setup_teardown(test_follows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retention, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
