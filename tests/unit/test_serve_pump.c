// SPDX-License-Identifier: Apache-2.0
/* What is written at the pace of a reader ends in time, however slowly that one reads. */
#include "serve/pump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define ALL (1u << 20)

static atomic_bool stop;

struct job {
	atomic_int result;
	atomic_bool ended, done;
};

static int write_all(void *arg, struct cam_pump *p, struct cam_out *out)
{
	struct job *j = arg;
	static const char bytes[1024];
	(void)p;
	for (unsigned i = 0; i < ALL / sizeof(bytes) && !out->error; i++)
		cam_out_bytes(out, bytes, sizeof(bytes));
	atomic_store(&j->result, out->error);
	atomic_store(&j->ended, true);
	return out->error;
}

static void done(void *arg)
{
	atomic_store(&((struct job *)arg)->done, true);
}

static int64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static struct cam_stream *start(struct job *j, int64_t seconds)
{
	struct cam_stream *s = NULL;
	const struct cam_pump_work w = {.work = write_all,
					.done = done,
					.arg = j,
					.max_bytes = 2 * ALL,
					.until_s = now_s() + seconds,
					.stop = &stop};
	assert_int_equal(cam_pump_start(&w, &s), 0);
	return s;
}

static void all_of_it_arrives(void **state)
{
	struct job j = {0};
	char room[4096];
	size_t all = 0;
	ssize_t got;
	(void)state;
	struct cam_stream *s = start(&j, 60);
	while ((got = s->read(s, room, sizeof(room))) > 0)
		all += (size_t)got;
	assert_int_equal(got, 0);
	assert_int_equal(all, ALL);
	s->close(s);
	assert_true(j.done);
}

/* The writer gives up, and so does what still lies between them: the place is free for somebody else. */
static void a_slow_reader_is_not_waited_for(void **state)
{
	struct job j = {0};
	char room[16];
	int64_t begun = now_s();
	(void)state;
	struct cam_stream *s = start(&j, 0);
	assert_true(s->read(s, room, sizeof(room)) != 0);
	while (!atomic_load(&j.ended) && now_s() < begun + 10)
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	assert_int_equal(j.result, -ETIMEDOUT);
	assert_int_equal(s->read(s, room, sizeof(room)), -ETIMEDOUT);
	s->close(s);
	assert_true(j.done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_arrives),
		cmocka_unit_test(a_slow_reader_is_not_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
