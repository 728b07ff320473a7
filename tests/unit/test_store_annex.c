// SPDX-License-Identifier: Apache-2.0
/* The annex: late events among the windows they fall into, torn and rotten files, trimming. */
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

static void reopen(struct fixture *f)
{
	cam_store_close(f->s);
	f->s = store_open(f->io);
}

/* A window of boot 1 with 10 samples, from start_s on, that holds marks of its own. */
static void add_window(struct fixture *f, uint64_t start_s, unsigned first, unsigned own_mark,
		       bool seal)
{
	struct numbered n;
	struct numbered_window w = {.boot = 1, .start_ns = start_s * NS};
	unsigned sealed;
	numbered_init(&n, cam_store_journal(f->s, 0));
	assert_int_equal(numbered_begin(&n, &w), 0);
	assert_int_equal(numbered_append(&n, first, 10), 0);
	assert_int_equal(numbered_mark(&n, w.start_ns + 4 * STEP_NS, own_mark), 0);
	assert_int_equal(numbered_end(&n), 0);
	if (seal)
		assert_int_equal(cam_store_seal_pending(f->s, &sealed), 0);
}

struct order {
	struct cam_window *w;
	char text[512];
	uint64_t last_ns;
	struct cam_str_id ids[16];
	struct cam_text texts[16];
	size_t n;
};

static int note_event(void *arg, const struct cam_event *e)
{
	struct order *o = arg;
	const struct cam_tables *t;
	assert_int_equal(o->w->ops->tables(o->w, &t), 0);
	struct cam_text text = cam_string(t, e->text);
	assert_true(e->time_ns >= o->last_ns);
	o->last_ns = e->time_ns;
	assert_true(o->n < 16);
	o->ids[o->n] = e->text;
	o->texts[o->n++] = text;
	snprintf(o->text + strlen(o->text), sizeof(o->text) - strlen(o->text), "%.*s;", (int)text.n,
		 text.p);
	return 0;
}

/* The events of the i-th window, in the order in which they come. */
static const char *events_of(struct fixture *f, size_t i)
{
	static struct order o;
	struct cam_source *source;
	struct numbers found = {0};
	const struct cam_window_info *info;
	o = (struct order){0};
	assert_int_equal(cam_store_open_read(f->io, &source), 0);
	assert_int_equal(source->ops->open(source, i, &o.w), 0);
	assert_int_equal(source->ops->info(source, i, &info), 0);
	assert_int_equal(o.w->ops->events(o.w, note_event, &o), 0);
	/* The samples and all their names are what they are without late events. */
	window_read(o.w, &found);
	assert_int_equal(found.total, info->samples);
	/* Ids and strings stay what and where they are until the window is closed. */
	const struct cam_tables *t;
	assert_int_equal(o.w->ops->tables(o.w, &t), 0);
	for (size_t k = 0; k < o.n; k++) {
		struct cam_text text = cam_string(t, o.ids[k]);
		assert_ptr_equal(text.p, o.texts[k].p);
		assert_int_equal(text.n, o.texts[k].n);
	}
	unsigned events = 0;
	for (unsigned k = 0; k < MAX_MARKS; k++)
		events += found.marks[k];
	assert_int_equal(events, info->events);
	o.w->ops->close(o.w);
	source->ops->close(source);
	return o.text;
}

static void test_merged(void **state)
{
	struct fixture *f = *state;
	add_window(f, 100, 0, 0, true);
	add_window(f, 200, 10, 1, true);
	add_window(f, 300, 20, 2, false);
	assert_string_equal(events_of(f, 0), "mark 0;");
	/* Out of order, before and after the window's own, at its edges, at the same time. */
	assert_int_equal(add_mark(f->s, 1, 200 * NS + 8 * STEP_NS, 5), 0);
	assert_int_equal(add_mark(f->s, 1, 200 * NS, 6), 0);
	assert_int_equal(add_mark(f->s, 1, 200 * NS + 4 * STEP_NS, 7), 0);
	assert_int_equal(add_mark(f->s, 1, 200 * NS + 10 * STEP_NS - 1, 8), 0);
	assert_int_equal(add_mark(f->s, 1, 200 * NS + 4 * STEP_NS, 9), 0);
	/* Into no window: after its end, before its start, of another boot. */
	assert_int_equal(add_mark(f->s, 1, 200 * NS + 10 * STEP_NS, 10), 0);
	assert_int_equal(add_mark(f->s, 1, 200 * NS - 1, 11), 0);
	assert_int_equal(add_mark(f->s, 2, 200 * NS, 12), 0);
	/* Into one that is not sealed yet. */
	assert_int_equal(add_mark(f->s, 1, 300 * NS, 13), 0);
	for (unsigned round = 0; round < 2; round++) {
		assert_string_equal(events_of(f, 0), "mark 0;");
		assert_string_equal(events_of(f, 1), "mark 6;mark 1;mark 7;mark 9;mark 5;mark 8;");
		assert_string_equal(events_of(f, 2), "mark 13;mark 2;");
		/* And the same when it is, by another writer. */
		reopen(f);
	}
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	struct cam_boot_id boot = {{1}};
	char text[8193];
	memset(text, 'x', sizeof(text));
	uint64_t before = hash_disk(f->disk, true);
	struct cam_text ok = CAM_TEXT("x");
	assert_int_equal(cam_store_add_event(f->s, &boot, 1, 0, CAM_SEVERITY_INFO, ok,
					     (struct cam_text){text, 8193}),
			 -E2BIG);
	assert_int_equal(cam_store_add_event(f->s, &boot, 1, 0, CAM_SEVERITY_INFO,
					     (struct cam_text){text, 256}, ok),
			 -E2BIG);
	assert_int_equal(cam_store_add_event(f->s, &boot, 1, 0, CAM_SEVERITY_MAX, ok, ok), -EINVAL);
	assert_int_equal(cam_store_add_event(f->s, &boot, CAM_TIME_NONE, 0, CAM_SEVERITY_INFO, ok,
					     ok),
			 -EINVAL);
	assert_true(hash_disk(f->disk, true) == before);
	assert_int_equal(cam_store_add_event(f->s, &boot, 1, 0, CAM_SEVERITY_INFO,
					     (struct cam_text){text, 255},
					     (struct cam_text){text, 8192}),
			 0);
	struct cam_annex a;
	assert_int_equal(cam_annex_read(f->io, &a), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.events[0].text.n, 8192);
	cam_annex_free(&a);
}

/* Five events, and where each block ends. */
static void five_events(struct fixture *f, size_t ends[6])
{
	add_window(f, 100, 0, 0, true);
	for (unsigned k = 0; k < 5; k++) {
		assert_int_equal(add_mark(f->s, 1, 100 * NS + k, 10 + k), 0);
		sim_get(f->disk, "events.pcj", &ends[k + 1]);
	}
	ends[0] = ends[1] - (ends[2] - ends[1]);
}

/* Cut anywhere: the whole events are there, the rest is cut off, and the annex goes on. */
static void test_torn(void **state)
{
	struct fixture *f = *state;
	size_t ends[6], n;
	five_events(f, ends);
	sim_get(f->disk, "events.pcj", &n);
	assert_int_equal(n, ends[5]);
	cam_store_close(f->s);
	for (size_t cut = 1; cut <= n; cut++) {
		struct sim_disk *d = sim_image(f->disk, 0, SIM_ALL, 0);
		struct cam_verify_report r;
		struct numbers found;
		unsigned whole = 0;
		while (whole < 5 && ends[whole + 1] <= cut)
			whole++;
		sim_cut(d, "events.pcj", cut);
		store_read(sim_io(d), &found);
		for (unsigned k = 0; k < 5; k++)
			assert_int_equal(found.marks[10 + k], k < whole);
		bool torn = cut != ends[whole];
		assert_string_equal(verdict_of(sim_io(d), "events.pcj", &r), cut < ends[0]
										     ? "unreadable"
									     : torn ? "torn tail"
										    : "ok");
		struct cam_store *s = store_open(sim_io(d));
		assert_int_equal(add_mark(s, 1, 100 * NS + 9, 20), 0);
		cam_store_close(s);
		store_read(sim_io(d), &found);
		for (unsigned k = 0; k < 5; k++)
			assert_int_equal(found.marks[10 + k], k < whole);
		assert_int_equal(found.marks[20], 1);
		assert_string_equal(verdict_of(sim_io(d), "events.pcj", &r), "ok");
		sim_free(d);
	}
	f->s = store_open(f->io);
}

/* Every bit: the other events are there, and it is noticed. */
static void test_rot(void **state)
{
	struct fixture *f = *state;
	size_t ends[6], n;
	five_events(f, ends);
	sim_get(f->disk, "events.pcj", &n);
	for (size_t bit = 0; bit < n * 8; bit++) {
		struct cam_annex a;
		size_t hit = 0;
		while (ends[hit] <= bit / 8)
			hit++;
		sim_flip(f->disk, "events.pcj", bit);
		assert_int_equal(cam_annex_read(f->io, &a), 0);
		assert_int_equal(a.n, hit ? 4 : 5);
		for (size_t i = 0; i < a.n; i++)
			assert_int_equal(a.events[i].time_ns, 100 * NS + i + (hit && i + 1 >= hit));
		assert_true(a.bad_blocks || a.good_bytes < a.file_bytes);
		cam_annex_free(&a);
		sim_flip(f->disk, "events.pcj", bit);
	}
}

/* A write that failed half-way leaves nothing behind what is written after it. */
static void test_failed_write(void **state)
{
	struct fixture *f = *state;
	struct cam_verify_report r;
	struct numbers found;
	struct cam_boot_id boot = {{1}};
	char text[100];
	memset(text, 'x', sizeof(text));
	add_window(f, 100, 0, 0, true);
	assert_int_equal(add_mark(f->s, 1, 100 * NS, 5), 0);
	for (unsigned call = 1; call <= 2; call++) {
		struct sim_plan plan = {.at_call = call, .at_byte = 120, .fail_errno = EIO};
		sim_set_plan(f->disk, &plan);
		assert_int_equal(cam_store_add_event(f->s, &boot, 100 * NS, 0, CAM_SEVERITY_INFO,
						     CAM_TEXT("long"),
						     (struct cam_text){text, sizeof(text)}),
				 -EIO);
		assert_true(sim_plan_done(f->disk));
		sim_set_plan(f->disk, &(struct sim_plan){0});
		assert_int_equal(add_mark(f->s, 1, 100 * NS, 6 + call), 0);
		assert_string_equal(verdict_of(f->io, "events.pcj", &r), "ok");
	}
	store_read(f->io, &found);
	assert_int_equal(found.marks[5] + found.marks[7] + found.marks[8], 3);
}

/* A bad block in the middle stays where it is: it is said, and events go on behind the last. */
static void test_damage_is_kept(void **state)
{
	struct fixture *f = *state;
	size_t ends[6];
	struct cam_verify_report r;
	struct numbers found;
	five_events(f, ends);
	sim_flip(f->disk, "events.pcj", 8 * (ends[1] + 30));
	reopen(f);
	assert_int_equal(add_mark(f->s, 1, 100 * NS + 9, 20), 0);
	store_read(f->io, &found);
	assert_int_equal(found.marks[10] + found.marks[12] + found.marks[13] + found.marks[14], 4);
	assert_int_equal(found.marks[11], 0);
	assert_int_equal(found.marks[20], 1);
	assert_string_equal(verdict_of(f->io, "events.pcj", &r), "damaged");
	assert_int_equal(r.damaged_chunks, 1);
	assert_int_equal(r.damaged_bytes, ends[2] - ends[1]);
}

/* Nothing of it can be read: it is set aside, and new events do not wait for a human. */
static void test_garbage(void **state)
{
	struct fixture *f = *state;
	struct cam_verify_report r;
	struct numbers found;
	size_t n;
	add_window(f, 100, 0, 0, true);
	sim_put(f->disk, "events.pcj", "garbage", 7);
	store_read(f->io, &found);
	assert_string_equal(verdict_of(f->io, "events.pcj", &r), "unreadable");
	reopen(f);
	assert_int_equal(add_mark(f->s, 1, 100 * NS, 20), 0);
	store_read(f->io, &found);
	assert_int_equal(found.marks[20], 1);
	assert_memory_equal(sim_get(f->disk, "events.pcj.bad", &n), "garbage", 7);
	assert_string_equal(verdict_of(f->io, "events.pcj.bad", &r), "ok");
	assert_string_equal(r.kind, "foreign");
}

/* The annex of a newer perfcam: no event is added, none is shown, no byte is changed. */
static void test_newer(void **state)
{
	struct fixture *f = *state;
	size_t ends[6], n;
	struct cam_verify_report r;
	five_events(f, ends);
	cam_store_close(f->s);
	/* Its header with an incompatible feature, and the crc that belongs to it. */
	uint8_t *bytes = malloc(ends[5]);
	memcpy(bytes, sim_get(f->disk, "events.pcj", &n), ends[5]);
	bytes[24 + 8] = 1;
	uint32_t crc = cam_crc32c(0, bytes, 20);
	crc = cam_crc32c(crc, bytes + 24, ends[0] - 24);
	for (int i = 0; i < 4; i++)
		bytes[20 + i] = (uint8_t)(crc >> (8 * i));
	sim_put(f->disk, "events.pcj", bytes, ends[5]);
	free(bytes);
	uint64_t before = hash_disk(f->disk, true);
	f->s = store_open(f->io);
	assert_int_equal(add_mark(f->s, 1, 100 * NS, 20), -EPROTONOSUPPORT);
	assert_string_equal(events_of(f, 0), "mark 0;");
	assert_string_equal(verdict_of(f->io, "events.pcj", &r), "newer");
	assert_true(hash_disk(f->disk, true) == before);
}

static void test_trim(void **state)
{
	struct fixture *f = *state;
	struct cam_store_list list;
	size_t before, after;
	add_window(f, 100, 0, 0, true);
	add_window(f, 200, 10, 1, true);
	assert_int_equal(add_mark(f->s, 1, 100 * NS, 5), 0);
	assert_int_equal(add_mark(f->s, 1, 199 * NS, 6), 0);
	assert_int_equal(add_mark(f->s, 3, 200 * NS, 7), 0);
	assert_int_equal(add_mark(f->s, 1, 250 * NS, 8), 0);
	assert_int_equal(cam_store_list_read(f->io, NULL, &list), 0);
	/* Less than half is of no use: nothing happens. */
	uint64_t hash = hash_disk(f->disk, true);
	assert_int_equal(cam_annex_trim(f->io, &f->s->annex, &list, 0), 0);
	assert_true(hash_disk(f->disk, true) == hash);
	/* The first window goes, and with it what only it could show. What is later than every
	 * window may fall into one that is still to come. */
	list.entries[0].deleted = true;
	sim_get(f->disk, "events.pcj", &before);
	assert_int_equal(cam_annex_trim(f->io, &f->s->annex, &list, before + 1), 0);
	assert_true(hash_disk(f->disk, true) == hash);
	assert_int_equal(cam_annex_trim(f->io, &f->s->annex, &list, 0), 0);
	sim_get(f->disk, "events.pcj", &after);
	assert_true(after < before / 2 + 1);
	cam_store_list_free(&list);
	struct cam_annex a;
	assert_int_equal(add_mark(f->s, 1, 200 * NS, 9), 0);
	assert_int_equal(cam_annex_read(f->io, &a), 0);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.events[0].time_ns, 200 * NS);
	assert_int_equal(a.events[1].time_ns, 250 * NS);
	cam_annex_free(&a);
	assert_string_equal(events_of(f, 1), "mark 9;mark 1;");
}

/* Trimming that fails after the new file has the name: what is added next must not go into the old, nameless one. */
static void test_failed_trim(void **state)
{
	struct fixture *f = *state;
	bool failed = true;
	add_window(f, 100, 0, 0, true);
	for (unsigned call = 1; failed; call++) {
		struct sim_plan plan = {.at_call = call, .fail_errno = EIO};
		struct cam_store_list list;
		struct numbers found;
		reopen(f);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(add_mark(f->s, 3, 200 * NS, 7), 0);
		assert_int_equal(cam_store_list_read(f->io, NULL, &list), 0);
		sim_set_plan(f->disk, &plan);
		failed = cam_annex_trim(f->io, &f->s->annex, &list, 0) != 0;
		sim_set_plan(f->disk, &(struct sim_plan){0});
		cam_store_list_free(&list);
		assert_int_equal(add_mark(f->s, 1, 100 * NS, 10 + call), 0);
		store_read(f->io, &found);
		for (unsigned i = 1; i <= call; i++)
			assert_int_equal(found.marks[10 + i], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trim, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_trim, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
