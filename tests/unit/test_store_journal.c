// SPDX-License-Identifier: Apache-2.0
/* The journal, written and read back: against the plain window in memory that it was made of. */
#include "support_dump.h"
#include "support_journal.h"

#include "base/units.h"
#include "store/journal_format.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Writes f to a disk and opens it again. */
static struct cam_window *through(struct sim_disk *d, struct fake_window *f, bool compress,
				  bool end)
{
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct cam_window *w = NULL;
	journal_write_fake(f, file, compress, end, NULL);
	file->ops->close(file);
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	return w;
}

static void round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 24; seed++) {
		struct sim_disk *d = sim_new();
		/* Some windows of many epochs, some of one block. */
		struct fake_window *f =
			rich_window(seed, seed % 3 ? 5 : 40, 1 + (unsigned)seed * 3);
		struct cam_window *fake = fake_window_ready(f);
		struct cam_window *w = through(d, f, seed & 2, true);
		struct dump expected, got;
		dump_window(&expected, fake, DUMP_ALL);
		dump_window(&got, w, DUMP_ALL);
		assert_dumps_equal(&got, &expected);
		assert_int_equal(w->info.samples, fake->info.samples);
		assert_int_equal(w->info.events, fake->info.events);
		assert_int_equal(w->info.lost, fake->info.lost);
		assert_int_equal(w->info.cpus, fake->info.cpus);
		assert_int_equal(w->info.start_ns, fake->info.start_ns);
		assert_int_equal(w->info.end_ns, fake->info.end_ns);
		assert_int_equal(w->info.realtime_ns, fake->info.realtime_ns);
		assert_int_equal(w->info.realtime_uncertainty_ns,
				 fake->info.realtime_uncertainty_ns);
		assert_int_equal(w->info.has_places, fake->info.has_places);
		assert_true(w->info.clean_end);
		assert_false(w->info.sealed);
		assert_memory_equal(&w->damage, &(struct cam_damage){0}, sizeof(w->damage));
		assert_int_equal(cam_journal_torn_bytes(w), 0);
		dump_free(&expected);
		dump_free(&got);
		w->ops->close(w);
		assert_int_equal(sim_open_files(d), 0);
		fake_window_free(f);
		sim_free(d);
	}
}

/* A reader may come at any moment. */
static void open_journal(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = rich_window(3, 4, 20);
	fake_window_ready(f);
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct cam_journal_writer *writer = NULL;
	struct cam_window_head head = journal_head(f);
	struct cam_window *w = NULL;
	assert_int_equal(journal_open_at(d, "j", &w), -EBADMSG);
	assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
	struct cam_block early = journal_second(f, 0);
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &early), -EINVAL);
	assert_int_equal(cam_journal_writer_end(writer, 0), -EINVAL);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), -EINVAL);
	uint64_t samples = 0;
	for (uint64_t nth = 0; nth < 4; nth++) {
		assert_int_equal(journal_open_at(d, "j", &w), 0);
		assert_int_equal(w->info.samples, samples);
		assert_false(w->info.clean_end);
		assert_int_equal(w->info.file_bytes, cam_journal_writer_bytes(writer));
		struct dump all;
		dump_window(&all, w, DUMP_SAMPLES);
		assert_int_equal(all.n, samples);
		dump_free(&all);
		w->ops->close(w);
		struct cam_block b = journal_second(f, nth);
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
		samples += b.n_samples;
	}
	cam_journal_writer_free(writer);
	file->ops->close(file);
	fake_window_free(f);
	sim_free(d);
}

static void head_fields(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct sim_disk *d = sim_new();
		struct fake_window *f = rich_window(i, 1, 3);
		fake_window_ready(f);
		f->w.info.clock = i & 1 ? CAM_CLOCK_FOREIGN : CAM_CLOCK_MONOTONIC;
		f->w.info.imported = i & 2;
		f->w.info.sequence = 77 + i;
		f->w.info.time_unit_ns = 1000;
		f->w.info.host = i ? CAM_TEXT("a-host.example") : CAM_TEXT("");
		memset(f->w.info.boot_id.bytes, (int)i + 1, 16);
		struct cam_window *w = through(d, f, true, false);
		assert_int_equal(w->info.clock, f->w.info.clock);
		assert_int_equal(w->info.imported, f->w.info.imported);
		assert_int_equal(w->info.sequence, 77 + i);
		assert_int_equal(w->info.time_unit_ns, 1000);
		assert_true(cam_text_equal(w->info.host, f->w.info.host));
		assert_memory_equal(&w->info.boot_id, &f->w.info.boot_id, 16);
		w->ops->close(w);
		fake_window_free(f);
		sim_free(d);
	}
}

static int sum_times(void *arg, const struct cam_batch *b)
{
	uint64_t *sums = arg;
	assert_null(b->stack);
	assert_null(b->cpu);
	for (size_t i = 0; i < b->n; i++) {
		sums[0]++;
		sums[1] += b->time_ns[i];
	}
	return 0;
}

/* Any range gives what the plain list gives, whatever epochs and blocks it cuts. */
static void ranges(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = rich_window(8, 50, 30);
	struct cam_window *fake = fake_window_ready(f), *w = through(d, f, false, true);
	const uint64_t start = f->w.info.start_ns;
	for (unsigned i = 0; i < 300; i++) {
		struct cam_range r = {start + i * 160 * CAM_NS_PER_MS,
				      start + i * 160 * CAM_NS_PER_MS +
					      (i % 7) * (i % 7) * (i % 7) * 100 * CAM_NS_PER_MS};
		uint64_t got[2] = {0}, expected[2] = {0};
		assert_int_equal(w->ops->samples(w, r, CAM_COL_TIME, sum_times, got), 0);
		assert_int_equal(fake->ops->samples(fake, r, CAM_COL_TIME, sum_times, expected), 0);
		assert_int_equal(got[0], expected[0]);
		assert_int_equal(got[1], expected[1]);
	}
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
}

static int answer_42(void *arg, const struct cam_batch *b)
{
	(void)b;
	++*(int *)arg;
	return 42;
}

struct nest {
	struct cam_window *w;
	uint64_t inner[2];
	unsigned calls;
};

static int ask_inside(void *arg, const struct cam_batch *b)
{
	struct nest *n = arg;
	const struct cam_tables *t;
	n->inner[0] = n->inner[1] = 0;
	n->calls += (unsigned)b->n;
	assert_int_equal(n->w->ops->tables(n->w, &t), 0);
	assert_true(t->n_tasks > b->task[0]);
	return n->w->ops->samples(n->w, CAM_RANGE_ALL, CAM_COL_TIME, sum_times, n->inner);
}

static void callbacks(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = rich_window(5, 12, 40);
	fake_window_ready(f);
	struct cam_window *w = through(d, f, true, true);
	int calls = 0;
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME, answer_42, &calls), 42);
	assert_int_equal(calls, 1);
	struct nest n = {.w = w};
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TASK, ask_inside, &n), 0);
	assert_int_equal(n.calls, f->n_samples);
	assert_int_equal(n.inner[0], f->n_samples);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
}

/* Values at the ends of their types, and samples without a time among others. */
static void extremes(void **state)
{
	(void)state;
	static const uint64_t times[] = {0, 1, 10000, UINT64_MAX - 1, CAM_TIME_NONE, 5, 1u << 31};
	for (size_t n = 1; n <= 7; n++) {
		struct sim_disk *d = sim_new();
		struct fake_window *f = fake_window_new();
		struct cam_etype_id e = fake_etype(f, "", UINT64_MAX, true);
		for (size_t i = 0; i < n; i++) {
			struct cam_task k = {.pid = i & 1 ? INT32_MIN : INT32_MAX,
					     .tid = i & 2 ? INT32_MIN : INT32_MAX,
					     .uid = i & 1 ? 0 : CAM_UID_NONE,
					     .start_ns = UINT64_MAX - i};
			struct cam_function fn = {.kind = CAM_FUNC_MARK,
						  .source = CAM_NAME_OWN,
						  .start = UINT64_MAX - (i & 1)};
			struct cam_location l = {.address = i & 1 ? UINT64_MAX : 0,
						 .func_offset = i & 2 ? UINT64_MAX - 1 : 0};
			struct cam_sample s = {.time_ns = times[i],
					       .weight = i & 1 ? UINT64_MAX : 0,
					       .cpu = i & 1 ? CAM_CPU_NONE - 1 : 0,
					       .etype = e};
			struct cam_loc_id loc;
			assert_int_equal(cam_task_intern(&f->t, &k, &s.task), 0);
			assert_int_equal(cam_function_intern(&f->t, &fn, &l.func), 0);
			assert_int_equal(cam_location_intern(&f->t, &l, &loc), 0);
			assert_int_equal(cam_place_intern(&f->t, &loc, 1, &s.place), 0);
			fake_add_sample(f, &s);
		}
		f->w.info.has_places = true;
		struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
		struct cam_journal_writer *writer = NULL;
		struct cam_window_head head = journal_head(f);
		struct cam_block b = {.samples = f->samples, .n_samples = n};
		assert_int_equal(cam_journal_writer_new(file, false, &writer), 0);
		assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
		cam_journal_writer_free(writer);
		file->ops->close(file);
		struct cam_window *w = NULL;
		struct dump expected, got;
		assert_int_equal(journal_open_at(d, "j", &w), 0);
		dump_window(&expected, fake_window_ready(f), DUMP_ALL);
		dump_window(&got, w, DUMP_ALL);
		assert_dumps_equal(&got, &expected);
		dump_free(&expected);
		dump_free(&got);
		w->ops->close(w);
		fake_window_free(f);
		sim_free(d);
	}
}

/* The deepest stack there may be, and 8,192 samples of one kind in a block. */
static void large_blocks(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = fake_window_new();
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	struct cam_place_id deep;
	for (size_t i = 0; i < CAM_MAX_STACK_FRAMES; i++)
		frames[i] = fake_frame(f, "recurse@/bin/deep", i % 900);
	assert_int_equal(cam_place_intern(&f->t, frames, CAM_MAX_STACK_FRAMES, &deep), 0);
	f->w.info.start_ns = 5 * CAM_NS_PER_SEC;
	for (uint64_t i = 0; i < 8192; i++)
		fake_sample(f, 5 * CAM_NS_PER_SEC + i, 0, fake_task(f, 1, 1, "x"), deep);
	f->w.info.end_ns = 6 * CAM_NS_PER_SEC;
	fake_window_ready(f);
	struct cam_window *w = through(d, f, true, true);
	uint64_t sums[2] = {0};
	const struct cam_tables *t;
	assert_int_equal(w->info.samples, 8192);
	assert_int_equal(w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_TIME, sum_times, sums), 0);
	assert_int_equal(sums[0], 8192);
	assert_int_equal(w->ops->tables(w, &t), 0);
	assert_int_equal(t->places.n, f->t.places.n);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
}

/* Stacks below 1/10,000 of the samples are [small] under what is large enough. */
static void small_stacks(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "x");
	f->w.info.start_ns = 7 * CAM_NS_PER_SEC;
	f->w.info.end_ns = 8 * CAM_NS_PER_SEC;
	struct cam_place_id often = fake_place(f, "main;work"),
			    two = fake_place(f, "main;rare;deep"),
			    three = fake_place(f, "main;seldom;f;g"),
			    four = fake_place(f, "main;seldom;f;h");
	for (uint64_t i = 0; i < 30000; i++)
		fake_sample(f, 7 * CAM_NS_PER_SEC + i * 10000, 0, task,
			    i < 2    ? two
			    : i < 4  ? three
			    : i == 4 ? four
				     : often);
	struct cam_window *fake = fake_window_ready(f), *w = through(d, f, true, true);
	struct dump expected, got;
	dump_window(&expected, fake, DUMP_SUMS);
	dump_window(&got, w, DUMP_SUMS);
	assert_dumps_equal(&got, &expected);
	size_t small = 0;
	for (size_t i = 0; i < got.n; i++)
		small += got.lines[i][0] == 't' && strstr(got.lines[i], "[small]") != NULL;
	assert_int_equal(small, 2);
	dump_free(&expected);
	dump_free(&got);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
}

/* What does not fit, or makes no sense, is refused; the journal goes on as if it had not been. */
static void refusals(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = rich_window(9, 2, 10);
	fake_window_ready(f);
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct cam_journal_writer *writer = NULL;
	struct cam_window_head head = journal_head(f);
	assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
	struct cam_sample bad[] = {
		{.task.v = (uint32_t)f->t.n_tasks},
		{.place.v = (uint32_t)f->t.places.n},
		{.etype.v = (uint32_t)f->t.n_etypes},
		{.detail.v = (uint32_t)f->t.strings.n},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cam_block b = {.samples = &bad[i], .n_samples = 1};
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), -EINVAL);
	}
	struct cam_event event = {.severity = CAM_SEVERITY_MAX};
	struct cam_block b = {.events = &event, .n_events = 1};
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), -EINVAL);
	struct cam_ledger_row row = {.cause = CAM_CAUSE_MAX};
	b = (struct cam_block){.ledger = &row, .n_ledger = 1};
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), -EINVAL);
	struct cam_loc_id named = {(uint32_t)f->t.n_locations};
	b = (struct cam_block){.named = &named, .n_named = 1};
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), -EINVAL);
	/* Two facts of 9 MiB each are more than a block may hold. */
	char *big = malloc(9u << 20);
	memset(big, 'x', 9u << 20);
	struct cam_fact facts[2];
	for (int i = 0; i < 2; i++) {
		big[0] = (char)('a' + i);
		assert_int_equal(cam_string_intern(&f->t, (struct cam_text){big, 9u << 20},
						   &facts[i].value),
				 0);
		facts[i].key = facts[i].value;
	}
	free(big);
	b = (struct cam_block){.facts = facts, .n_facts = 2};
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), -E2BIG);
	for (uint64_t nth = 0; nth < 2; nth++) {
		b = journal_second(f, nth);
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
	}
	cam_journal_writer_free(writer);
	file->ops->close(file);
	struct cam_window *w = NULL;
	struct dump expected, got;
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	dump_window(&expected, &f->w, DUMP_SAMPLES);
	dump_window(&got, w, DUMP_SAMPLES);
	assert_dumps_equal(&got, &expected);
	dump_free(&expected);
	dump_free(&got);
	w->ops->close(w);
	/* The reader's own bound. */
	file = sim_open_file(d, "j", CAM_IO_READ);
	assert_int_equal(cam_journal_open(file, 4096, &w), -E2BIG);
	assert_int_equal(sim_open_files(d), 0);
	fake_window_free(f);
	sim_free(d);
}

static struct cam_text leaf_label(struct cam_window *w, char *room)
{
	const struct cam_tables *t;
	assert_int_equal(w->ops->tables(w, &t), 0);
	/* The one stack: its leaf is the last node. */
	return cam_function_label(t, (struct cam_func_id){t->stacks.item[t->stacks.n - 1]}, room,
				  64);
}

/* One second of samples, a ledger row and an anchor that is far behind them; no end. */
static uint64_t end_without_end_block(bool imported, uint64_t anchor_ns)
{
	struct sim_disk *d = sim_new();
	struct fake_window *f = fake_window_new();
	struct cam_sample s[2] = {
		{.time_ns = 5 * CAM_NS_PER_SEC, .weight = 1, .task = fake_task(f, 1, 1, "x")},
		{.time_ns = 6 * CAM_NS_PER_SEC, .weight = 1, .task = fake_task(f, 1, 1, "x")},
	};
	struct cam_ledger_row row = {CAM_CAUSE_BOUND, 0, 5 * CAM_NS_PER_SEC, 5500000000u, 1};
	struct cam_anchor anchor = {.time_ns = anchor_ns, .realtime_ns = 77};
	struct cam_block b = {.samples = s,
			      .n_samples = 2,
			      .ledger = &row,
			      .n_ledger = 1,
			      .anchors = &anchor,
			      .n_anchors = 1};
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct cam_journal_writer *writer = NULL;
	struct cam_window_head head = journal_head(f);
	head.imported = imported;
	head.start_ns = 5 * CAM_NS_PER_SEC;
	assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
	assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
	cam_journal_writer_free(writer);
	struct cam_journal_peek peek;
	struct cam_window *w = NULL;
	assert_int_equal(cam_journal_peek(file, &peek), 0);
	file->ops->close(file);
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	assert_int_equal(w->info.start_ns, 5 * CAM_NS_PER_SEC);
	assert_int_equal(peek.info.start_ns, w->info.start_ns);
	assert_int_equal(peek.info.end_ns, w->info.end_ns);
	uint64_t end_ns = w->info.end_ns;
	free(peek.host);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
	return end_ns;
}

/* What was written says how long the recorder lived; the anchor of a file says when it was made. */
static void the_end_of_what_has_none(void **state)
{
	(void)state;
	uint64_t last = 6 * CAM_NS_PER_SEC + 1;
	assert_int_equal(end_without_end_block(false, 9 * CAM_NS_PER_SEC), 9 * CAM_NS_PER_SEC);
	assert_int_equal(end_without_end_block(false, 1), last);
	assert_int_equal(end_without_end_block(true, 9 * CAM_NS_PER_SEC), last);
	assert_int_equal(end_without_end_block(true, 1), last);
}

/* Born unnamed, named two blocks later: then all its samples have the name, not before. */
static void late_names(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = fake_window_new();
	struct cam_module m = {.path = fake_str(f, "/lib/libx.so"), .kind = CAM_MODULE_FILE};
	struct cam_location l = {.address = 0x1234,
				 .func = {CAM_NONE},
				 .func_offset = CAM_OFFSET_NONE,
				 .late = true};
	struct cam_loc_id loc;
	struct cam_place_id place;
	assert_int_equal(cam_module_intern(&f->t, &m, &l.module), 0);
	assert_int_equal(cam_location_intern(&f->t, &l, &loc), 0);
	assert_int_equal(cam_place_intern(&f->t, &loc, 1, &place), 0);
	struct cam_task_id task = fake_task(f, 1, 1, "x");
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct cam_journal_writer *writer = NULL;
	struct cam_window_head head = journal_head(f);
	assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
	uint64_t named_at = 0;
	for (uint64_t nth = 0; nth < 70; nth++) {
		struct cam_sample s = {
			.time_ns = nth * CAM_NS_PER_SEC, .weight = 1, .task = task, .place = place};
		struct cam_block b = {.samples = &s, .n_samples = 1};
		if (nth == 3) {
			struct cam_function fn = {.name = fake_str(f, "late_name"),
						  .module = l.module,
						  .source = CAM_NAME_SYMTAB};
			struct cam_func_id func;
			assert_int_equal(cam_function_intern(&f->t, &fn, &func), 0);
			cam_location_name(&f->t, loc, func, 0x34);
			b.named = &loc;
			b.n_named = 1;
			named_at = cam_journal_writer_bytes(writer);
		}
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
		char room[64];
		struct cam_window *w = NULL;
		assert_int_equal(journal_open_at(d, "j", &w), 0);
		struct cam_text label = leaf_label(w, room);
		assert_true(cam_text_equal(label, nth < 3 ? CAM_TEXT("[libx.so+0x1234]")
							  : CAM_TEXT("late_name")));
		struct dump all;
		dump_window(&all, w, DUMP_SAMPLES);
		assert_int_equal(all.n, nth + 1);
		for (size_t i = 0; i < all.n; i++) {
			assert_true(!!strstr(all.lines[i], "late_name{") == (nth >= 3));
			assert_true(!!strstr(all.lines[i], "leaf 34 ") == (nth >= 3));
		}
		dump_free(&all);
		w->ops->close(w);
	}
	/* Epochs after the one in which it was named have the name themselves. */
	sim_flip(d, "j", (named_at + CAM_JOURNAL_HEAD + 3) * 8);
	struct cam_window *w = NULL;
	struct dump all;
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	assert_int_equal(w->damage.chunks, 1);
	dump_window(&all, w, DUMP_SAMPLES);
	assert_int_equal(all.n, 69);
	for (size_t i = 0; i < all.n; i++)
		assert_non_null(strstr(all.lines[i], "late_name{"));
	dump_free(&all);
	w->ops->close(w);
	cam_journal_writer_free(writer);
	file->ops->close(file);
	fake_window_free(f);
	sim_free(d);
}

/* A write that fails, wherever and after whatever part of it, is done again without a trace. */
static void failed_writes(void **state)
{
	(void)state;
	struct fake_window *f = rich_window(11, 6, 8);
	struct dump expected, got;
	dump_window(&expected, fake_window_ready(f), DUMP_ALL);
	for (uint64_t call = 1; call <= 8; call++) {
		for (uint64_t byte = 0; byte < 2000; byte += 97) {
			struct sim_disk *d = sim_new();
			struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
			struct cam_journal_writer *writer = NULL;
			struct cam_window_head head = journal_head(f);
			sim_set_plan(d, &(struct sim_plan){.at_call = call,
							   .at_byte = byte,
							   .fail_errno = byte & 1 ? ENOSPC : EIO});
			unsigned errors = 0;
			assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
			while (cam_journal_writer_begin(writer, &f->t, &head))
				errors++;
			for (uint64_t nth = 0; nth < 6; nth++) {
				struct cam_block b = journal_second(f, nth);
				while (cam_journal_writer_append(writer, &f->t, &b))
					errors++;
			}
			while (cam_journal_writer_end(writer, f->w.info.end_ns))
				errors++;
			assert_int_equal(errors, 1);
			cam_journal_writer_free(writer);
			file->ops->close(file);
			struct cam_window *w = NULL;
			assert_int_equal(journal_open_at(d, "j", &w), 0);
			assert_true(w->info.clean_end);
			assert_int_equal(w->damage.chunks, 0);
			dump_window(&got, w, DUMP_ALL);
			assert_dumps_equal(&got, &expected);
			dump_free(&got);
			w->ops->close(w);
			sim_free(d);
		}
	}
	dump_free(&expected);
	fake_window_free(f);
}

/* How far a bad first block reaches: seconds until the first sample that is whole again. */
static uint64_t damaged_seconds(bool cheap)
{
	struct sim_disk *d = sim_new();
	struct fake_window *f = fake_window_new();
	const uint64_t start = 100 * CAM_NS_PER_SEC;
	f->w.info.start_ns = start;
	f->w.info.end_ns = start + 100 * CAM_NS_PER_SEC;
	struct cam_task_id task = fake_task(f, 1, 1, "x");
	for (uint64_t i = 0; i < 100 * 20; i++) {
		char folded[64];
		/* Always the same stack, or always another, with a name that does not compress. */
		uint64_t x = cheap ? 1 : (i + 1) * 0x9e3779b97f4a7c15u;
		snprintf(folded, sizeof(folded), "root;%016" PRIx64 "%016" PRIx64, x, x * x);
		fake_sample(f, start + i * 50 * CAM_NS_PER_MS, 0, task, fake_place(f, folded));
	}
	fake_window_ready(f);
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct written at;
	journal_write_fake(f, file, true, true, &at);
	file->ops->close(file);
	sim_flip(d, "j", (at.end[0] + CAM_JOURNAL_HEAD) * 8);
	struct cam_window *w = NULL;
	struct dump all;
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	assert_int_equal(w->damage.chunks, 1);
	assert_int_equal(w->damage.samples, 20);
	dump_window(&all, w, DUMP_SAMPLES);
	assert_int_equal(all.n, 99 * 20);
	uint64_t damaged = 0;
	for (size_t i = 0; i < all.n; i++)
		damaged += strstr(all.lines[i], "[damaged]{") != NULL;
	assert_int_equal(w->damage.stacks, damaged);
	/* It is the first ones that are damaged: sorted by time. */
	for (size_t i = 0; i < all.n; i++)
		assert_true((strstr(all.lines[i], "[damaged]{") != NULL) == (i < damaged));
	dump_free(&all);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
	return 1 + damaged / 20;
}

static void epochs(void **state)
{
	(void)state;
	assert_in_range(damaged_seconds(true), 9, 11);
	assert_in_range(damaged_seconds(false), 55, 61);
}

/* A feature this reader does not know: refused by name, not as damage. */
static void newer(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct fake_window *f = rich_window(1, 1, 3);
	fake_window_ready(f);
	struct cam_window *w = through(d, f, false, true);
	w->ops->close(w);
	size_t n;
	const uint8_t *bytes = sim_get(d, "j", &n);
	uint8_t *copy = malloc(n);
	memcpy(copy, bytes, n);
	struct cam_journal_head head;
	for (int word = 0; word < 3; word++) {
		memcpy(copy, bytes, n);
		copy[CAM_JOURNAL_HEAD + 4 * word] |= 0x80;
		assert_true(cam_journal_get_head(copy, &head));
		cam_journal_put_head(copy, &head, 0);
		sim_put(d, "newer", copy, n);
		int err = journal_open_at(d, "newer", &w);
		assert_int_equal(err, word == 2 ? -EPROTONOSUPPORT : 0);
		if (!err)
			w->ops->close(w);
	}
	free(copy);
	fake_window_free(f);
	sim_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	cmocka_unit_test(open_journal),
		cmocka_unit_test(head_fields),	cmocka_unit_test(ranges),
		cmocka_unit_test(callbacks),	cmocka_unit_test(extremes),
		cmocka_unit_test(large_blocks), cmocka_unit_test(refusals),
		cmocka_unit_test(small_stacks), cmocka_unit_test(the_end_of_what_has_none),
		cmocka_unit_test(late_names),	cmocka_unit_test(failed_writes),
		cmocka_unit_test(epochs),	cmocka_unit_test(newer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
