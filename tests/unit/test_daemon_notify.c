// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The service manager: a socket of this name ('@': abstract). */
static int manager(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	memcpy(a.sun_path, name, strlen(name));
	if (name[0] == '@')
		a.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	return fd;
}

static void expect(int fd, const char *text)
{
	char got[2048];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, text);
}

static void speak(const char *name)
{
	struct cam_notify n;
	int fd = manager(name);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(cam_notify_open(&n), 0);
	/* What is started later must not speak for us. */
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_int_equal(n.watchdog_ns, 0);
	assert_int_equal(cam_notify_ready(&n, "97 Hz on 2 CPUs\nREADY=0"), 0);
	expect(fd, "READY=1\nSTATUS=97 Hz on 2 CPUs READY=0\n");
	assert_int_equal(cam_notify_ready(&n, NULL), 0);
	expect(fd, "READY=1\n");
	assert_int_equal(cam_notify_alive(&n), 0);
	expect(fd, "WATCHDOG=1\n");
	assert_int_equal(cam_notify_stopping(&n), 0);
	expect(fd, "STOPPING=1\n");
	/* Longer than a datagram of ours: cut, and still lines. */
	char big[5000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(cam_notify_ready(&n, big), 0);
	char got[2048];
	ssize_t length = recv(fd, got, sizeof(got), 0);
	assert_in_range(length, 500, 1024);
	assert_int_equal(got[length - 1], '\n');
	/* The manager goes away: an error, not a signal. */
	close(fd);
	assert_true(cam_notify_alive(&n) < 0);
	cam_notify_close(&n);
}

static void test_path(void **state)
{
	(void)state;
	char dir[] = "/tmp/perfcam-test-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/notify", dir);
	speak(path);
	unlink(path);
	rmdir(dir);
}

static void test_abstract(void **state)
{
	(void)state;
	char name[64];
	snprintf(name, sizeof(name), "@perfcam-test-%d", (int)getpid());
	speak(name);
}

static void test_reloading(void **state)
{
	(void)state;
	struct cam_notify n;
	struct timespec before, after;
	char name[64], got[256];
	unsigned long long usec;
	snprintf(name, sizeof(name), "@perfcam-test-%d", (int)getpid());
	int fd = manager(name);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(cam_notify_open(&n), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(cam_notify_reloading(&n), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ssize_t length = recv(fd, got, sizeof(got) - 1, 0);
	assert_true(length > 0);
	got[length] = '\0';
	assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%llu\n", &usec), 1);
	assert_true(usec >= (unsigned long long)before.tv_sec * 1000000 +
				    (unsigned long long)before.tv_nsec / 1000);
	assert_true(usec <= (unsigned long long)after.tv_sec * 1000000 +
				    (unsigned long long)after.tv_nsec / 1000);
	cam_notify_close(&n);
	close(fd);
}

static uint64_t watchdog(const char *usec, const char *pid)
{
	struct cam_notify n;
	setenv("NOTIFY_SOCKET", "@perfcam-test", 1);
	setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(cam_notify_open(&n), 0);
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	cam_notify_close(&n);
	return n.watchdog_ns;
}

static void test_watchdog(void **state)
{
	(void)state;
	char own[16];
	snprintf(own, sizeof(own), "%d", (int)getpid());
	assert_int_equal(watchdog("30000000", NULL), 30000000000);
	assert_int_equal(watchdog("30000000", own), 30000000000);
	/* Meant for another process. */
	assert_int_equal(watchdog("30000000", "1"), 0);
	assert_int_equal(watchdog("soon", NULL), 0);
	assert_int_equal(watchdog("99999999999999999999", NULL), 0);
}

static void test_by_hand(void **state)
{
	(void)state;
	struct cam_notify n;
	char big[200];
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(cam_notify_open(&n), 0);
	assert_int_equal(n.fd, -1);
	assert_int_equal(cam_notify_ready(&n, "x"), 0);
	assert_int_equal(cam_notify_reloading(&n), 0);
	cam_notify_close(&n);
	setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
	assert_int_equal(cam_notify_open(&n), -EAFNOSUPPORT);
	assert_int_equal(cam_notify_ready(&n, "x"), 0);
	memset(big, '/', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	setenv("NOTIFY_SOCKET", big, 1);
	assert_int_equal(cam_notify_open(&n), -ENAMETOOLONG);
	assert_int_equal(cam_notify_alive(&n), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),	  cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_reloading), cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
