// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors are closed by others than who lets them go. A close that waits, as one of FUSE does for its server, is made of a
 * socket with SO_LINGER whose peer does not read.
 */
#include "base/units.h"
#include "daemon/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LINGER_S 6

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Its close takes LINGER_S; *peer is the other end. */
static int slow_descriptor(int *peer)
{
	static char bytes[1 << 16];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(at);
	struct linger linger = {1, LINGER_S};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	*peer = accept(listener, NULL, NULL);
	assert_true(*peer >= 0);
	close(listener);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	/* Until neither end takes any more, for longer than it takes to move what there is. */
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	while (poll(&ready, 1, 100) > 0)
		assert_true(send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0 || errno == EAGAIN);
	return fd;
}

/* Whether the other end of a pipe is closed within `ms`. */
static bool hangs_up(int fd, int ms)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	return poll(&end, 1, ms) > 0 && (end.revents & POLLHUP);
}

static void all_are_closed(void **state)
{
	(void)state;
	struct cam_closer c;
	int ends[100];
	assert_int_equal(cam_closer_open(&c), 0);
	assert_int_equal(cam_closer_pending(&c), 0);
	for (unsigned i = 0; i < 100; i++) {
		int both[2];
		assert_int_equal(pipe2(both, O_CLOEXEC), 0);
		ends[i] = both[0];
		cam_closer_close(&c, both[1]);
	}
	assert_int_equal(c.n, 1);
	cam_closer_free(&c);
	for (unsigned i = 0; i < 100; i++) {
		assert_true(hangs_up(ends[i], 0));
		close(ends[i]);
	}
}

static void one_that_hangs_is_left_behind(void **state)
{
	(void)state;
	struct cam_closer c;
	int peer, first[2], second[2], again[2];
	int slow = slow_descriptor(&peer);
	assert_int_equal(pipe2(first, O_CLOEXEC), 0);
	assert_int_equal(pipe2(second, O_CLOEXEC), 0);
	assert_int_equal(cam_closer_open(&c), 0);
	uint64_t began = now_ns();
	cam_closer_close(&c, slow);
	cam_closer_close(&c, first[1]);
	assert_true(now_ns() - began < CAM_NS_PER_SEC);
	/* Nobody has closed it yet, and it counts. */
	assert_false(hangs_up(first[0], 700));
	assert_int_equal(cam_closer_pending(&c), 2);
	/* The next to come finds that it takes too long. */
	cam_closer_close(&c, second[1]);
	assert_int_equal(c.n, 2);
	assert_true(hangs_up(first[0], 1000));
	assert_true(hangs_up(second[0], 1000));
	assert_true(now_ns() - began < LINGER_S * CAM_NS_PER_SEC);
	/* It counts what it has closed right after that. */
	while (cam_closer_pending(&c) != 1 && now_ns() - began < LINGER_S * CAM_NS_PER_SEC)
		poll(NULL, 0, 5);
	assert_int_equal(cam_closer_pending(&c), 1);
	/* Its server answers: whose thread is there for the next that hangs. */
	close(peer);
	slow = slow_descriptor(&peer);
	assert_int_equal(pipe2(again, O_CLOEXEC), 0);
	began = now_ns();
	while (cam_closer_pending(&c) && now_ns() - began < LINGER_S * CAM_NS_PER_SEC)
		poll(NULL, 0, 5);
	began = now_ns();
	cam_closer_close(&c, slow);
	poll(NULL, 0, 700);
	cam_closer_close(&c, again[1]);
	assert_true(hangs_up(again[0], 1000));
	assert_int_equal(c.n, 2);
	close(peer);
	close(again[0]);
	cam_closer_free(&c);
	assert_true(now_ns() - began < LINGER_S * CAM_NS_PER_SEC);
	close(first[0]);
	close(second[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_closed),
		cmocka_unit_test(one_that_hangs_is_left_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
