// SPDX-License-Identifier: Apache-2.0
/* The oracle is qsort() over all records, by time, stream, number. */
#include "ingest/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_STREAMS 40u
#define MAX_RECORDS 4000u

struct record {
	uint64_t time_ns;
	uint32_t stream, number;
};

struct list {
	struct cam_stream stream;
	const struct record *records;
	size_t n, at;
};

struct taken {
	struct record records[MAX_RECORDS];
	size_t n;
};

static bool list_peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct list *l = (struct list *)s;
	if (l->at == l->n)
		return false;
	*time_ns = l->records[l->at].time_ns;
	return true;
}

static void list_take(struct cam_stream *s, struct cam_raw *out)
{
	struct list *l = (struct list *)s;
	assert_true(l->at < l->n);
	const struct record *r = &l->records[l->at++];
	*out = (struct cam_raw){.type = CAM_RAW_EXIT, .time_ns = r->time_ns, .cpu = r->stream};
	out->pid = (int32_t)r->number;
}

static void note(void *arg, const struct cam_raw *r)
{
	struct taken *t = arg;
	assert_true(t->n < MAX_RECORDS);
	t->records[t->n++] = (struct record){r->time_ns, r->cpu, (uint32_t)r->pid};
}

static int compare(const void *x, const void *y)
{
	const struct record *a = x, *b = y;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

struct world {
	struct record records[MAX_STREAMS][MAX_RECORDS / MAX_STREAMS];
	struct list lists[MAX_STREAMS];
	struct cam_stream *streams[MAX_STREAMS];
	size_t n;
};

static unsigned dice(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % sides;
}

/* Streams of random length (some empty), steps of 0 to 4: many equal times. */
static void make_world(struct world *w, unsigned *seed)
{
	w->n = 1 + dice(seed, MAX_STREAMS);
	for (uint32_t i = 0; i < w->n; i++) {
		size_t n = dice(seed, 3) ? dice(seed, MAX_RECORDS / MAX_STREAMS) : 0;
		uint64_t time_ns = dice(seed, 50);
		for (uint32_t k = 0; k < n; k++) {
			time_ns += dice(seed, 5);
			w->records[i][k] = (struct record){time_ns, i, k};
		}
		w->lists[i] = (struct list){{list_peek, list_take}, w->records[i], n, 0};
		w->streams[i] = &w->lists[i].stream;
	}
}

static void random_streams_come_out_sorted(void **state)
{
	(void)state;
	static struct world w;
	static struct taken taken, expected;
	struct cam_order *o;
	assert_int_equal(cam_order_new(MAX_STREAMS, &o), 0);
	size_t total = 0;
	for (unsigned run = 0; run < 400; run++) {
		unsigned seed = run;
		make_world(&w, &seed);
		expected.n = taken.n = 0;
		for (size_t i = 0; i < w.n; i++) {
			for (size_t k = 0; k < w.lists[i].n; k++)
				expected.records[expected.n++] = w.records[i][k];
		}
		qsort(expected.records, expected.n, sizeof(expected.records[0]), compare);
		/* In rounds: each releases exactly what is older than its bound. */
		for (uint64_t before = 0; taken.n < expected.n; before += 1 + dice(&seed, 40)) {
			cam_order_release(o, w.streams, w.n, before, note, &taken);
			for (size_t k = 0; k < taken.n; k++)
				assert_true(taken.records[k].time_ns < before);
			if (taken.n < expected.n)
				assert_true(expected.records[taken.n].time_ns >= before);
		}
		assert_int_equal(taken.n, expected.n);
		assert_memory_equal(taken.records, expected.records,
				    taken.n * sizeof(taken.records[0]));
		total += taken.n;
	}
	assert_true(total > 100000);
	cam_order_free(o);
}

/* The example of order.c. */
static void a_record_of_the_bound_itself_waits(void **state)
{
	(void)state;
	static const struct record a[] = {{1, 0, 0}, {4, 0, 1}, {9, 0, 2}},
				   b[] = {{2, 1, 0}, {4, 1, 1}};
	struct list lists[3] = {{{list_peek, list_take}, a, 3, 0},
				{{list_peek, list_take}, b, 2, 0},
				{{list_peek, list_take}, NULL, 0, 0}};
	struct cam_stream *streams[3] = {&lists[0].stream, &lists[1].stream, &lists[2].stream};
	static struct taken t;
	struct cam_order *o;
	assert_int_equal(cam_order_new(3, &o), 0);
	cam_order_release(o, streams, 3, 9, note, &t);
	static const struct record out[] = {{1, 0, 0}, {2, 1, 0}, {4, 0, 1}, {4, 1, 1}};
	assert_int_equal(t.n, 4);
	assert_memory_equal(t.records, out, sizeof(out));
	cam_order_release(o, streams, 3, 10, note, &t);
	assert_int_equal(t.n, 5);
	assert_int_equal(t.records[4].time_ns, 9);
	cam_order_free(o);
}

/* A stream that breaks its promise holds nobody up and loses nothing. */
static void a_step_back_in_a_stream_comes_at_once(void **state)
{
	(void)state;
	static const struct record a[] = {{5, 0, 0}, {3, 0, 1}, {7, 0, 2}},
				   b[] = {{4, 1, 0}, {6, 1, 1}};
	struct list lists[2] = {{{list_peek, list_take}, a, 3, 0},
				{{list_peek, list_take}, b, 2, 0}};
	struct cam_stream *streams[2] = {&lists[0].stream, &lists[1].stream};
	static struct taken t;
	struct cam_order *o;
	assert_int_equal(cam_order_new(2, &o), 0);
	cam_order_release(o, streams, 2, 100, note, &t);
	static const uint64_t times[] = {4, 5, 3, 6, 7};
	assert_int_equal(t.n, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(t.records[i].time_ns, times[i]);
	cam_order_free(o);
}

static void streams_beyond_the_maximum_wait(void **state)
{
	(void)state;
	static const struct record a[] = {{2, 0, 0}}, b[] = {{1, 1, 0}};
	struct list lists[2] = {{{list_peek, list_take}, a, 1, 0},
				{{list_peek, list_take}, b, 1, 0}};
	struct cam_stream *streams[2] = {&lists[0].stream, &lists[1].stream};
	static struct taken t;
	struct cam_order *o;
	assert_int_equal(cam_order_new(1, &o), 0);
	cam_order_release(o, streams, 2, 100, note, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(lists[1].at, 0);
	cam_order_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams_come_out_sorted),
		cmocka_unit_test(a_record_of_the_bound_itself_waits),
		cmocka_unit_test(a_step_back_in_a_stream_comes_at_once),
		cmocka_unit_test(streams_beyond_the_maximum_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
