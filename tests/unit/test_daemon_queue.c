// SPDX-License-Identifier: Apache-2.0
/* The queue between drain and ingest: everything comes out as it went in, in order, or is refused. */
#include "daemon/queue.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define QUEUE_BYTES 65536u

/* The i-th record: its kind, sizes and content follow from i alone. */
static void make(uint32_t i, struct cam_raw *r, uint64_t *frames, char *text)
{
	*r = (struct cam_raw){.cpu = i % 7, .time_ns = i, .pid = (int32_t)i, .tid = -(int32_t)i};
	uint32_t n = i * 2654435761u >> 24;
	if (i % 3) {
		r->type = CAM_RAW_SAMPLE;
		for (uint32_t k = 0; k < n; k++)
			frames[k] = (uint64_t)i << 32 | k;
		r->sample = (struct cam_raw_sample){.kernel = frames,
						    .n_kernel = n / 3,
						    .user = frames + n / 3,
						    .n_user = n - n / 3,
						    .weight = i};
	} else {
		r->type = CAM_RAW_MMAP;
		memset(text, 'a' + (int)(i % 26), n);
		r->mmap = (struct cam_mapping){.start = i, .end = i + 1, .path = {text, n}};
	}
}

static void check(uint32_t i, const struct cam_raw *got)
{
	uint64_t frames[256];
	char text[256];
	struct cam_raw want;
	make(i, &want, frames, text);
	assert_int_equal(got->type, want.type);
	assert_int_equal(got->time_ns, i);
	assert_int_equal(got->tid, -(int32_t)i);
	if (want.type == CAM_RAW_SAMPLE) {
		assert_int_equal(got->sample.n_kernel, want.sample.n_kernel);
		assert_int_equal(got->sample.n_user, want.sample.n_user);
		assert_int_equal(got->sample.weight, i);
		assert_memory_equal(got->sample.kernel, frames, want.sample.n_kernel * 8);
		assert_memory_equal(got->sample.user, want.sample.user, want.sample.n_user * 8);
	} else {
		assert_int_equal(got->mmap.end, i + 1);
		assert_int_equal(got->mmap.path.n, want.mmap.path.n);
		assert_memory_equal(got->mmap.path.p, text, want.mmap.path.n);
	}
}

static int put(struct cam_queue *q, uint32_t i)
{
	uint64_t frames[256];
	char text[256];
	struct cam_raw r;
	make(i, &r, frames, text);
	return cam_queue_put(q, &r);
}

static void keeps_order_when_filled_and_emptied_in_turns(void **state)
{
	(void)state;
	struct cam_queue *q;
	assert_int_equal(cam_queue_new(QUEUE_BYTES, &q), 0);
	uint32_t in = 0, out = 0;
	struct cam_raw r;
	for (int turn = 0; turn < 200; turn++) {
		int err;
		while ((err = put(q, in)) == 0)
			in++;
		assert_int_equal(err, -ENOSPC);
		assert_true(in > out);
		for (int k = 0; k < 1 + turn && cam_queue_peek(q, &r); k++) {
			check(out++, &r);
			cam_queue_drop(q);
		}
	}
	while (cam_queue_peek(q, &r)) {
		check(out++, &r);
		cam_queue_drop(q);
	}
	assert_int_equal(in, out);
	assert_true(cam_queue_peak_bytes(q) <= QUEUE_BYTES);
	cam_queue_free(q);
}

#define THREADED 50000u

static void *produce(void *arg)
{
	uint32_t i = 0;
	while (i < THREADED) {
		if (!put(arg, i))
			i++;
	}
	return NULL;
}

static void two_threads_lose_nothing(void **state)
{
	(void)state;
	struct cam_queue *q;
	assert_int_equal(cam_queue_new(QUEUE_BYTES, &q), 0);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, produce, q), 0);
	for (uint32_t i = 0; i < THREADED;) {
		struct cam_raw r;
		if (!cam_queue_peek(q, &r))
			continue;
		check(i++, &r);
		cam_queue_drop(q);
	}
	pthread_join(thread, NULL);
	cam_queue_free(q);
}

static void refuses_an_odd_size(void **state)
{
	(void)state;
	struct cam_queue *q;
	assert_int_equal(cam_queue_new(1000, &q), -EINVAL);
	assert_int_equal(cam_queue_new(QUEUE_BYTES + 8, &q), -EINVAL);
}

/* After any history, an empty queue takes as much as a new one. */
static void an_empty_queue_has_all_its_room(void **state)
{
	(void)state;
	for (uint32_t history = 0; history < 300; history += 7) {
		struct cam_queue *q;
		struct cam_raw r;
		assert_int_equal(cam_queue_new(QUEUE_BYTES, &q), 0);
		for (uint32_t i = 0; i < history; i++) {
			assert_int_equal(put(q, i), 0);
			assert_true(cam_queue_peek(q, &r));
			cam_queue_drop(q);
		}
		uint64_t frames[256];
		char text[256];
		size_t bytes = 0;
		for (uint32_t i = 0; put(q, i) == 0; i++) {
			make(i, &r, frames, text);
			bytes += cam_raw_packed_bytes(&r) + 8;
		}
		assert_true(bytes + CAM_RAW_MAX_BYTES > QUEUE_BYTES);
		cam_queue_free(q);
	}
}

/* A quiet recorder must not touch the whole ring. */
static void an_empty_queue_begins_anew(void **state)
{
	(void)state;
	struct cam_queue *q;
	assert_int_equal(cam_queue_new(1u << 20, &q), 0);
	const void *first = NULL;
	for (uint32_t i = 1; i < 1000; i += 3) {
		struct cam_raw r;
		assert_int_equal(put(q, i), 0);
		assert_true(cam_queue_peek(q, &r));
		if (!first)
			first = r.sample.kernel;
		assert_ptr_equal(r.sample.kernel, first);
		cam_queue_drop(q);
	}
	cam_queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_order_when_filled_and_emptied_in_turns),
		cmocka_unit_test(two_threads_lose_nothing),
		cmocka_unit_test(refuses_an_odd_size),
		cmocka_unit_test(an_empty_queue_begins_anew),
		cmocka_unit_test(an_empty_queue_has_all_its_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
