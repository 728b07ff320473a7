// SPDX-License-Identifier: Apache-2.0
#include "ingest/collect.h"

#include "base/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC	 CAM_NS_PER_SEC
#define MAX_SEEN 64

/* A journal that remembers what it was given. */
struct seen_window {
	uint64_t start_ns, end_ns;
	size_t samples, blocks, facts, anchors;
	uint64_t lost[CAM_CAUSE_MAX];
	char host[32];
	enum cam_clock_kind clock;
	struct cam_boot_id boot_id;
};

struct recorder {
	struct cam_journal journal;
	struct seen_window windows[MAX_SEEN];
	size_t n;
	int fail_append; /* answered once */
	size_t largest_block;
};

static int seen_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	struct recorder *r = j->self;
	assert_true(r->n < MAX_SEEN);
	struct seen_window *w = &r->windows[r->n++];
	*w = (struct seen_window){
		.start_ns = head->start_ns, .clock = head->clock, .boot_id = head->boot_id};
	struct cam_text host = cam_string(t, head->host);
	snprintf(w->host, sizeof(w->host), "%.*s", (int)host.n, host.p);
	return 0;
}

static int seen_append(struct cam_journal *j, const struct cam_tables *t, const struct cam_block *b)
{
	struct recorder *r = j->self;
	if (r->fail_append) {
		int err = r->fail_append;
		r->fail_append = 0;
		return err;
	}
	struct seen_window *w = &r->windows[r->n - 1];
	for (size_t i = 0; i < b->n_samples; i++) {
		assert_true(b->samples[i].place.v < t->places.n);
		assert_true(b->samples[i].task.v < t->n_tasks);
	}
	for (size_t i = 0; i < b->n_ledger; i++)
		w->lost[b->ledger[i].cause] += b->ledger[i].samples;
	w->samples += b->n_samples;
	w->facts += b->n_facts;
	w->anchors += b->n_anchors;
	w->blocks++;
	if (b->n_samples > r->largest_block)
		r->largest_block = b->n_samples;
	return 0;
}

static int seen_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	struct recorder *r = j->self;
	(void)keep_empty;
	r->windows[r->n - 1].end_ns = end_ns;
	return 0;
}

static struct recorder make_recorder(void)
{
	return (struct recorder){
		.journal = {.begin = seen_begin, .append = seen_append, .end = seen_end}};
}

static const struct cam_collect_options import_options = {
	.window_ns = 120 * SEC,
	.max_table_bytes = 64u << 20,
	.host = {"somewhere", 9},
	.clock = CAM_CLOCK_FOREIGN,
	.imported = true,
};

static int give(struct cam_sink *s, uint64_t time_ns, const char *function)
{
	int err = cam_sink_begin(s, time_ns);
	if (err)
		return err;
	struct cam_str_id name, comm;
	struct cam_func_id f;
	struct cam_loc_id l;
	struct cam_task_id k;
	struct cam_etype_id e;
	err = s->string(s, cam_text_of(function), &name);
	if (!err)
		err = s->string(s, CAM_TEXT("app"), &comm);
	if (!err)
		err = s->function(s, &(struct cam_function){.name = name}, &f);
	if (!err)
		err = s->location(s, &(struct cam_location){.address = 1, .func = f}, &l);
	if (!err)
		err = s->task(s, &(struct cam_task){.pid = 1, .tid = 1, .comm = comm}, &k);
	if (!err)
		err = s->etype(s, &(struct cam_etype){.name = comm}, &e);
	if (err)
		return err;
	struct cam_sink_sample sample = {
		.time_ns = time_ns,
		.weight = 1,
		.task = k,
		.etype = e,
		.frames = &l,
		.n_frames = 1,
	};
	return s->sample(s, &sample);
}

/* The example of collect.c's head comment. */
static void windows_are_cut_by_the_samples_own_time(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	static const uint64_t times_ms[] = {10000, 129900, 130000, 131000, 129950, 5000};
	for (size_t i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++)
		assert_int_equal(give(s, times_ms[i] * CAM_NS_PER_MS, "f"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.windows[0].samples, 2);
	assert_int_equal(r.windows[1].samples, 3);
	assert_int_equal(r.windows[2].samples, 1);
	assert_true(r.windows[1].start_ns == 130 * SEC);
	assert_true(r.windows[1].end_ns == 131 * SEC + 1);
	assert_true(r.windows[2].start_ns == 5 * SEC);
	assert_memory_not_equal(&r.windows[0].boot_id, &r.windows[2].boot_id, 16);
	assert_int_equal(cam_collect_stats(c).samples, 6);
	assert_int_equal(cam_collect_stats(c).windows, 3);
	/* Its last window is of an earlier time than its first: there is no length to tell. */
	assert_true(cam_collect_stats(c).unplaced_ns == 0);
	cam_collect_free(c);
}

static void a_cut_ends_the_life_of_ids(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	assert_int_equal(give(s, SEC, "f"), 0);
	uint32_t generation = s->generation;
	assert_int_equal(give(s, 2 * SEC, "f"), 0);
	assert_int_equal(s->generation, generation);
	assert_int_equal(give(s, 200 * SEC, "f"), 0);
	assert_int_equal(s->generation, generation + 1);
	/* An id of the old window, or none at all, is refused. */
	struct cam_loc_id stale = {77};
	struct cam_sink_sample sample = {.time_ns = 200 * SEC, .frames = &stale, .n_frames = 1};
	assert_int_equal(s->sample(s, &sample), -EINVAL);
	struct cam_place_id place;
	assert_int_equal(s->stack(s, &stale, 1, &place), -EINVAL);
	const struct cam_sink_sample placed = {.time_ns = 200 * SEC, .place = {1u << 20}};
	assert_int_equal(s->sample(s, &placed), -EINVAL);
	cam_collect_free(c);
}

static void facts_and_anchors_are_in_every_window(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	assert_int_equal(cam_sink_fact(s, CAM_TEXT("hostname"), CAM_TEXT("web-1")), 0);
	assert_int_equal(cam_sink_fact(s, CAM_TEXT("arch"), CAM_TEXT("x86_64")), 0);
	assert_int_equal(cam_sink_anchor(s, &(struct cam_anchor){.time_ns = 7}), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(give(s, i * 120 * SEC, "f"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(r.windows[i].facts, 2);
		assert_int_equal(r.windows[i].anchors, 1);
		assert_string_equal(r.windows[i].host, "web-1");
	}
	cam_collect_free(c);
}

static void blocks_hold_about_a_second(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(give(s, i * 10 * CAM_NS_PER_MS, "f"), 0);
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(give(s, 11 * SEC + i, "f"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.windows[0].samples, 21000);
	assert_int_equal(r.windows[0].blocks, 10 + 3);
	assert_true(r.largest_block <= 8192);
	cam_collect_free(c);
}

static void a_refused_block_is_offered_again(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	assert_int_equal(give(s, SEC, "f"), 0);
	r.fail_append = -ENOSPC;
	assert_int_equal(cam_collect_finish(c), -ENOSPC);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.windows[0].samples, 1);
	cam_collect_free(c);
}

static void what_does_not_fit_is_cut_early_and_nothing_is_lost(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	struct cam_collect_options o = import_options;
	o.max_table_bytes = 1u << 20;
	assert_int_equal(cam_collect_new(&r.journal, &o, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	for (uint64_t i = 0; i < 30000; i++) {
		char name[300];
		snprintf(name, sizeof(name), "%0250llu", (unsigned long long)i);
		assert_int_equal(give(s, i * CAM_NS_PER_MS, name), 0);
	}
	assert_int_equal(cam_collect_finish(c), 0);
	size_t kept = 0;
	for (size_t i = 0; i < r.n; i++)
		kept += r.windows[i].samples;
	assert_true(r.n > 3);
	assert_int_equal(kept, 30000);
	assert_true(cam_collect_stats(c).dropped == 0);
	cam_collect_free(c);
}

/* A single stack larger than the tables may be: refused, counted once, in the ledger. */
static void what_can_never_fit_is_in_the_ledger(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	struct cam_collect_options o = import_options;
	o.max_table_bytes = 1u << 16;
	assert_int_equal(cam_collect_new(&r.journal, &o, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	static char huge[1u << 18];
	memset(huge, 'x', sizeof(huge) - 1);
	assert_int_equal(give(s, SEC, "f"), 0);
	assert_int_equal(give(s, 2 * SEC, huge), -E2BIG);
	assert_int_equal(give(s, 3 * SEC, "f"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	uint64_t kept = 0, lost = 0;
	for (size_t i = 0; i < r.n; i++) {
		kept += r.windows[i].samples;
		lost += r.windows[i].lost[CAM_CAUSE_BOUND];
	}
	assert_true(kept == 2 && lost == 1 && cam_collect_stats(c).dropped == 1);
	cam_collect_free(c);
}

static void times_that_jump_about_are_bounded_and_counted(void **state)
{
	(void)state;
	static struct recorder r;
	r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	struct cam_collect_options o = import_options;
	assert_int_equal(cam_collect_new(&r.journal, &o, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	/* Two samples 1e9 seconds apart: two windows, none for the empty time between. */
	assert_int_equal(give(s, 0, "f"), 0);
	assert_int_equal(give(s, 1000000000ull * SEC, "f"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.n, 2);
	cam_collect_free(c);
}

static void samples_without_times_need_no_clock(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	assert_int_equal(give(s, CAM_TIME_NONE, "f"), 0);
	assert_int_equal(give(s, CAM_TIME_NONE, "g"), 0);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.windows[0].clock, CAM_CLOCK_ABSENT);
	assert_true(r.windows[0].end_ns == CAM_TIME_NONE);
	/* Among timed samples one without a time cannot be placed: refused and counted. */
	assert_int_equal(give(s, SEC, "f"), 0);
	assert_int_equal(give(s, CAM_TIME_NONE, "f"), -ERANGE);
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.windows[1].samples, 1);
	assert_true(r.windows[1].lost[CAM_CAUSE_BOUND] == 1);
	cam_collect_free(c);
}

/* Stack number i: like its neighbours near the root, longer and shorter than what is remembered of a way. */
static size_t stack_of(size_t i, struct cam_loc_id *frames)
{
	static const size_t depths[] = {1, 2, 3, 7, 127, 128, 129, 300, CAM_MAX_STACK_FRAMES};
	size_t n = depths[i % (sizeof(depths) / sizeof(depths[0]))], own = i % 13;
	for (size_t k = 0; k < n; k++)
		frames[n - 1 - k].v = (uint32_t)(k + own < n ? k % 3 : 3 + (i + k) % 5);
	return n;
}

static int check_places(struct cam_journal *j, const struct cam_tables *t,
			const struct cam_block *b)
{
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	for (size_t i = 0; i < b->n_samples; i++) {
		uint32_t node = b->samples[i].place.v;
		size_t n = stack_of(b->samples[i].weight, frames);
		for (size_t k = 0; k < n; k++, node = t->places.parent[node])
			assert_int_equal(t->places.item[node], frames[k].v);
		assert_int_equal(node, 0);
	}
	return seen_append(j, t, b);
}

static void stacks_are_those_of_their_frames(void **state)
{
	(void)state;
	struct recorder r = make_recorder();
	r.journal.self = &r;
	r.journal.append = check_places;
	struct cam_collect *c;
	assert_int_equal(cam_collect_new(&r.journal, &import_options, &c), 0);
	struct cam_sink *s = cam_collect_sink(c);
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	/* Two windows: what was remembered of the first is nothing to the second. */
	for (size_t i = 0; i < 4000; i++) {
		assert_int_equal(cam_sink_begin(s, (i < 2000 ? 200 : 400) * SEC + i), 0);
		struct cam_task_id task;
		struct cam_etype_id etype;
		assert_int_equal(s->task(s, &(struct cam_task){.pid = 1}, &task), 0);
		assert_int_equal(s->etype(s, &(struct cam_etype){0}, &etype), 0);
		for (uint32_t k = 0; k < 8; k++) {
			struct cam_loc_id l;
			assert_int_equal(
				s->location(s, &(struct cam_location){.address = k + 1}, &l), 0);
			assert_int_equal(l.v, k);
		}
		struct cam_sink_sample sample = {.time_ns = (i < 2000 ? 200 : 400) * SEC + i,
						 .weight = i,
						 .task = task,
						 .etype = etype,
						 .frames = frames,
						 .n_frames = stack_of(i, frames)};
		assert_int_equal(s->sample(s, &sample), 0);
	}
	assert_int_equal(cam_collect_finish(c), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.windows[0].samples + r.windows[1].samples, 4000);
	cam_collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_cut_by_the_samples_own_time),
		cmocka_unit_test(a_cut_ends_the_life_of_ids),
		cmocka_unit_test(facts_and_anchors_are_in_every_window),
		cmocka_unit_test(blocks_hold_about_a_second),
		cmocka_unit_test(a_refused_block_is_offered_again),
		cmocka_unit_test(what_does_not_fit_is_cut_early_and_nothing_is_lost),
		cmocka_unit_test(what_can_never_fit_is_in_the_ledger),
		cmocka_unit_test(times_that_jump_about_are_bounded_and_counted),
		cmocka_unit_test(samples_without_times_need_no_clock),
		cmocka_unit_test(stacks_are_those_of_their_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
