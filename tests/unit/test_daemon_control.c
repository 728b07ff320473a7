// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "daemon/control.h"
#include "daemon/control_peer.h"
#include "daemon/control_place.h"
#include "daemon/control_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A recorder that notes what it is asked, in a thread of its own. */
struct recorder {
	char store[64], given[PATH_MAX], path[PATH_MAX];
	struct cam_control *control;
	atomic_bool stop;
	pthread_t thread;
	struct cam_control_request last;
	char last_text[64];
	char verb;
	struct cam_control_ticket later;
	atomic_bool has_later;
};

static int noted(struct recorder *r, const struct cam_control_request *q, char verb)
{
	r->last = *q;
	r->verb = verb;
	snprintf(r->last_text, sizeof(r->last_text), "%.*s", (int)q->text.n, q->text.p);
	return 0;
}

static int on_mark(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	cam_buf_printf(reply, "noted");
	return noted(self, q, 'm');
}

static int on_pin(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	noted(self, q, 'p');
	cam_buf_printf(reply, "the budget of pins is used up");
	return -ENOSPC;
}

static int on_unpin(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	(void)reply;
	noted(self, q, 'u');
	return -ENOENT;
}

static int on_snapshot(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	struct recorder *r = self;
	(void)reply;
	noted(r, q, 's');
	r->later = q->ticket;
	r->has_later = true;
	return CAM_CONTROL_LATER;
}

static int on_status(void *self, const struct cam_control_request *q, struct cam_buf *reply)
{
	(void)q;
	(void)self;
	for (size_t i = 0; i < CAM_CONTROL_REPLY_MAX; i++)
		cam_buf_put_u8(reply, 'x');
	return 0;
}

/* reload is left out: a recorder that cannot. */
static const struct cam_control_ops ops = {
	.mark = on_mark,
	.pin = on_pin,
	.unpin = on_unpin,
	.snapshot = on_snapshot,
	.status = on_status,
};

static void *loop(void *arg)
{
	struct recorder *r = arg;
	struct pollfd p = {.fd = cam_control_fd(r->control), .events = POLLIN};
	while (!r->stop) {
		if (poll(&p, 1, 10) > 0 && cam_control_handle(r->control))
			abort();
	}
	return NULL;
}

static void make_store(struct recorder *r)
{
	memset(r, 0, sizeof(*r));
	strcpy(r->store, "/tmp/perfcam-test-XXXXXX");
	assert_non_null(mkdtemp(r->store));
	snprintf(r->given, sizeof(r->given), "%s/socket", r->store);
}

static int open_control(struct recorder *r)
{
	return cam_control_open(r->store, r->given, &ops, r, &r->control, r->path, sizeof(r->path));
}

static void start(struct recorder *r)
{
	make_store(r);
	assert_int_equal(open_control(r), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, loop, r), 0);
}

static void stop_loop(struct recorder *r)
{
	r->stop = true;
	pthread_join(r->thread, NULL);
	r->stop = false;
}

static void finish(struct recorder *r)
{
	struct stat st;
	stop_loop(r);
	cam_control_close(r->control);
	/* Neither socket nor link is left. */
	assert_int_equal(lstat(r->path, &st), -1);
	assert_int_equal(rmdir(r->store), 0);
}

static int ask(struct recorder *r, enum cam_control_verb verb, int64_t from, int64_t to,
	       const char *text, char said[256])
{
	struct cam_buf reply = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	struct cam_control_request q = {.from_ns = from, .to_ns = to, .text = cam_text_of(text)};
	char path[PATH_MAX];
	int status = cam_control_ask(r->store, NULL, verb, &q, &reply, path, sizeof(path));
	snprintf(said, 256, "%.*s", (int)reply.len, reply.data ? (char *)reply.data : "");
	cam_buf_free(&reply);
	return status;
}

static void test_each_verb(void **state)
{
	(void)state;
	struct recorder r;
	char said[256];
	start(&r);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, CAM_CONTROL_NOW, 0, "deploy 42", said), 0);
	assert_string_equal(said, "noted");
	assert_int_equal(r.verb, 'm');
	assert_true(r.last.from_ns == CAM_CONTROL_NOW);
	assert_string_equal(r.last_text, "deploy 42");
	assert_int_equal(r.last.peer.pid, getpid());
	assert_int_equal(r.last.peer.uid, geteuid());
	assert_int_equal(ask(&r, CAM_CONTROL_PIN, -5, 1776222847250000000, "why", said), ENOSPC);
	assert_string_equal(said, "the budget of pins is used up");
	assert_int_equal(r.last.from_ns, -5);
	assert_int_equal(r.last.to_ns, 1776222847250000000);
	assert_int_equal(ask(&r, CAM_CONTROL_UNPIN, 1, 2, "", said), ENOENT);
	assert_int_equal(r.verb, 'u');
	assert_string_equal(said, "");
	assert_int_equal(ask(&r, CAM_CONTROL_RELOAD, 0, 0, "", said), EOPNOTSUPP);
	/* The largest reply there may be. */
	struct cam_buf reply = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	struct cam_control_request q = {0};
	assert_int_equal(cam_control_ask(r.store, NULL, CAM_CONTROL_STATUS, &q, &reply, r.path,
					 sizeof(r.path)),
			 0);
	assert_int_equal(reply.len, CAM_CONTROL_REPLY_MAX);
	cam_buf_free(&reply);
	stop_loop(&r);
	assert_int_equal(cam_control_counts(r.control).requests, 5);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	finish(&r);
}

static int connect_to(const char *path)
{
	struct sockaddr_un address;
	int dir, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(cam_control_place_address(path, &address, &dir), 0);
	int err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (dir >= 0)
		close(dir);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The errno of the reply; -1: closed without one. */
static int reply_on(int fd)
{
	static char bytes[CAM_CONTROL_MAX_BYTES];
	struct cam_text text;
	int status;
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
	if (n <= 0)
		return -1;
	assert_int_equal(cam_control_get_reply((struct cam_text){bytes, (size_t)n}, &status, &text),
			 0);
	return -status;
}

static void test_answered_later(void **state)
{
	(void)state;
	struct recorder r;
	struct cam_buf packet = CAM_BUF(100);
	start(&r);
	cam_control_put_request(&packet, CAM_CONTROL_SNAPSHOT, &(struct cam_control_request){0});
	int fd = connect_to(r.path);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, packet.data, packet.len, 0), (ssize_t)packet.len);
	while (!r.has_later)
		usleep(1000);
	stop_loop(&r);
	struct cam_control_ticket first = r.later;
	assert_int_equal(cam_control_answer(r.control, first, 0, CAM_TEXT("w.pcw")), 0);
	assert_int_equal(reply_on(fd), 0);
	close(fd);
	/* Answered is answered; and the next one in that place is somebody else. */
	assert_int_equal(cam_control_answer(r.control, first, 0, CAM_TEXT("w.pcw")), -ENOENT);
	r.has_later = false;
	fd = connect_to(r.path);
	assert_int_equal(send(fd, packet.data, packet.len, 0), (ssize_t)packet.len);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	while (!r.has_later)
		usleep(1000);
	assert_int_equal(r.later.slot, first.slot);
	stop_loop(&r);
	assert_int_equal(cam_control_answer(r.control, first, 0, CAM_TEXT("")), -ENOENT);
	assert_int_equal(cam_control_answer(r.control, r.later, -EIO, CAM_TEXT("")), 0);
	assert_int_equal(reply_on(fd), EIO);
	close(fd);
	/* One that leaves before the answer comes. */
	r.has_later = false;
	fd = connect_to(r.path);
	assert_int_equal(send(fd, packet.data, packet.len, 0), (ssize_t)packet.len);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	while (!r.has_later)
		usleep(1000);
	close(fd);
	usleep(50000);
	stop_loop(&r);
	assert_int_equal(cam_control_answer(r.control, r.later, 0, CAM_TEXT("")), -ENOENT);
	assert_int_equal(cam_control_answer(r.control, (struct cam_control_ticket){99, 0}, 0,
					    CAM_TEXT("")),
			 -ENOENT);
	cam_buf_free(&packet);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	finish(&r);
}

static int send_raw(const char *path, const void *bytes, size_t n)
{
	int fd = connect_to(path);
	assert_true(fd >= 0);
	if (send(fd, bytes, n, MSG_NOSIGNAL) < 0) {
		close(fd);
		return -2;
	}
	int status = reply_on(fd);
	close(fd);
	return status;
}

static void test_malformed(void **state)
{
	(void)state;
	struct recorder r;
	char said[256];
	static uint8_t big[CAM_CONTROL_MAX_BYTES + 1];
	struct cam_buf good = CAM_BUF(200);
	start(&r);
	cam_control_put_request(
		&good, CAM_CONTROL_PIN,
		&(struct cam_control_request){.from_ns = 1, .to_ns = 2, .text = CAM_TEXT("n")});
	/* Every shorter packet, one byte more, each byte of the head changed. */
	unsigned refused = 0;
	for (size_t n = 1; n < good.len; n++, refused++)
		assert_int_equal(send_raw(r.path, good.data, n), EBADMSG);
	cam_buf_put_u8(&good, 0);
	assert_int_equal(send_raw(r.path, good.data, good.len), EBADMSG);
	refused++;
	good.len--;
	for (size_t i = 0; i < 5; i++, refused++) {
		good.data[i] ^= 0x80;
		assert_int_equal(send_raw(r.path, good.data, good.len),
				 i == 3 ? EPROTONOSUPPORT : EBADMSG);
		good.data[i] ^= 0x80;
	}
	assert_int_equal(send_raw(r.path, big, sizeof(big)), EBADMSG);
	refused++;
	/* A range that ends before it begins; a mark without a text; one that is too long. */
	assert_int_equal(ask(&r, CAM_CONTROL_PIN, 2, 2, "", said), EBADMSG);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 2, 2, "", said), EBADMSG);
	memset(big, 'x', CAM_CONTROL_TEXT_MAX + 1);
	big[CAM_CONTROL_TEXT_MAX + 1] = '\0';
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 2, 2, (char *)big, said), EBADMSG);
	refused += 3;
	assert_int_equal(r.verb, 0);
	assert_int_equal(send_raw(r.path, good.data, good.len), ENOSPC);
	/* Two requests in one connection, the first still unanswered. */
	cam_buf_clear(&good);
	cam_control_put_request(&good, CAM_CONTROL_SNAPSHOT, &(struct cam_control_request){0});
	int fd = connect_to(r.path);
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(fd, good.data, good.len, 0), (ssize_t)good.len);
	assert_int_equal(reply_on(fd), EBADMSG);
	refused++;
	close(fd);
	cam_buf_free(&good);
	stop_loop(&r);
	assert_int_equal(cam_control_counts(r.control).malformed, refused);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	finish(&r);
}

/* Sixteen who say nothing: the next is told so; after 5 s there is room again. */
static void test_too_many_and_idle(void **state)
{
	(void)state;
	struct recorder r;
	char said[256];
	int fds[CAM_CONTROL_CLIENTS];
	start(&r);
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++)
		assert_true((fds[i] = connect_to(r.path)) >= 0);
	usleep(100000);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 1, 0, "x", said), EBUSY);
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		assert_int_equal(reply_on(fds[i]), ETIMEDOUT);
		close(fds[i]);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_in_range(to.tv_sec - from.tv_sec, 4, 20);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 1, 0, "x", said), 0);
	stop_loop(&r);
	assert_int_equal(cam_control_counts(r.control).refused, 1);
	assert_int_equal(cam_control_counts(r.control).timed_out, CAM_CONTROL_CLIENTS);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	finish(&r);
}

/* Runs fn in another process as this user; its answer, as an exit status. */
static int as_user(uid_t uid, gid_t extra, int (*fn)(const char *path), const char *path)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(1, &extra) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(200);
		_exit(fn(path));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int stranger_asks(const char *path)
{
	struct cam_buf packet = CAM_BUF(100);
	cam_control_put_request(&packet, CAM_CONTROL_STATUS, &(struct cam_control_request){0});
	int fd = connect_to(path);
	if (fd < 0)
		return -fd;
	/* It may be refused before it has asked. */
	if (send(fd, packet.data, packet.len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return 201;
	int status = reply_on(fd);
	return status == -1 && errno == ECONNRESET ? reply_on(fd) : status;
}

static void test_who_may_ask(void **state)
{
	(void)state;
	struct recorder r;
	struct stat st;
	start(&r);
	assert_int_equal(chmod(r.store, 0755), 0);
	assert_int_equal(lstat(r.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(as_user(1234, 1234, stranger_asks, r.path), EACCES);
	/* Even where the mode does not keep them out, the recorder does. */
	assert_int_equal(chmod(r.path, 0666), 0);
	assert_int_equal(as_user(1234, 1234, stranger_asks, r.path), EACCES);
	stop_loop(&r);
	assert_int_equal(cam_control_counts(r.control).refused, 1);
	assert_int_equal(cam_control_counts(r.control).requests, 0);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	finish(&r);
}

static int connects(const char *path)
{
	int fd = connect_to(path);
	return fd < 0 ? -fd : reply_on(fd) == -1 ? 0 : 202;
}

/* Peers by group, against the kernel's own word: a listener of the test's. */
static void test_members_of_the_group(void **state)
{
	(void)state;
	static const struct {
		uid_t uid;
		gid_t extra, group;
		int admitted;
	} cases[] = {
		{1234, 1234, 1234, 0},	     {1234, 4321, 4321, 0},
		{1234, 4321, 4322, -EACCES}, {1234, 4321, CAM_GID_NONE, -EACCES},
		{0, 0, CAM_GID_NONE, 0},
	};
	char dir[] = "/tmp/perfcam-test-XXXXXX", path[64];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/s", dir);
	strcpy(address.sun_path, path);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(listen(listener, 1), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fflush(NULL);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(as_user(cases[i].uid, cases[i].extra, connects, path));
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), status;
		struct cam_control_peer peer;
		assert_int_equal(cam_control_admit(fd, cases[i].group, &peer), cases[i].admitted);
		assert_int_equal(peer.uid, cases[i].uid);
		close(fd);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	close(listener);
	unlink(path);
	rmdir(dir);
}

static void test_nobody_there(void **state)
{
	(void)state;
	struct recorder r;
	char said[256];
	int status;
	make_store(&r);
	assert_int_equal(cam_control_place_link(r.store, r.given), 0);
	assert_int_equal(ask(&r, CAM_CONTROL_STATUS, 0, 0, "", said), -ENOENT);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (open_control(&r))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(ask(&r, CAM_CONTROL_STATUS, 0, 0, "", said), -ECONNREFUSED);
	/* What it left does not keep the next one from listening. */
	assert_int_equal(open_control(&r), 0);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 1, 0, "x", said), 0);
	finish(&r);
}

static void test_the_name_is_taken(void **state)
{
	(void)state;
	struct recorder r;
	struct cam_control *second;
	char path[PATH_MAX];
	struct stat before, after;
	start(&r);
	assert_int_equal(lstat(r.path, &before), 0);
	assert_int_equal(cam_control_open(r.store, r.given, &ops, &r, &second, path, sizeof(path)),
			 -EADDRINUSE);
	assert_string_equal(path, r.path);
	assert_int_equal(lstat(r.path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	finish(&r);
	make_store(&r);
	int fd = open(r.given, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	assert_int_equal(open_control(&r), -ENOTSOCK);
	assert_int_equal(lstat(r.given, &after), 0);
	assert_int_equal(after.st_size, 4);
	unlink(r.given);
	assert_int_equal(symlink("/nonexistent", r.given), 0);
	assert_int_equal(open_control(&r), -ELOOP);
	unlink(r.given);
	assert_int_equal(rmdir(r.store), 0);
}

/* An address holds 107 bytes; a path may be longer. */
static void test_long_path(void **state)
{
	(void)state;
	struct recorder r;
	char said[256], deep[PATH_MAX];
	make_store(&r);
	snprintf(deep, sizeof(deep), "%s/%0200d", r.store, 7);
	assert_int_equal(mkdir(deep, 0700), 0);
	snprintf(r.given, sizeof(r.given), "%.300s/socket", deep);
	assert_int_equal(open_control(&r), 0);
	assert_int_equal(pthread_create(&r.thread, NULL, loop, &r), 0);
	assert_int_equal(ask(&r, CAM_CONTROL_MARK, 1, 0, "x", said), 0);
	stop_loop(&r);
	cam_control_close(r.control);
	assert_int_equal(rmdir(deep), 0);
	assert_int_equal(rmdir(r.store), 0);
}

/* As a user whose places are ours to choose; 0, or the number of the line that is wrong. */
#define MUST(x)                                    \
	do {                                       \
		if (!(x))                          \
			return __LINE__ % 199 + 1; \
	} while (0)

static int looks_for_places(const char *base)
{
	char store[2][PATH_MAX], link[PATH_MAX], path[2][PATH_MAX], found[PATH_MAX], run[PATH_MAX];
	snprintf(run, sizeof(run), "%s/run", base);
	snprintf(store[0], PATH_MAX, "%s/perfcam", base);
	snprintf(store[1], PATH_MAX, "%s/other", base);
	snprintf(link, sizeof(link), "%s/perfcam/.control", base);
	MUST(mkdir(run, 0700) == 0 && mkdir(store[0], 0700) == 0 && mkdir(store[1], 0700) == 0);
	setenv("XDG_DATA_HOME", base, 1);
	unsetenv("XDG_RUNTIME_DIR");
	/* No run-time directory: in the store itself. */
	MUST(cam_control_place_listen(store[0], "", path[0], PATH_MAX) == 0);
	MUST(strcmp(path[0], link) == 0);
	setenv("XDG_RUNTIME_DIR", run, 1);
	for (int i = 0; i < 2; i++) {
		MUST(cam_control_place_listen(store[i], "", path[i], PATH_MAX) == 0);
		MUST(cam_control_place_ask(store[i], "", found, PATH_MAX) == 0);
		MUST(strcmp(found, path[i]) == 0);
	}
	/* The usual store has the plain name, any other one of its own. */
	MUST(strlen(path[0]) == strlen(run) + strlen("/perfcam/control"));
	MUST(strcmp(path[0] + strlen(run), "/perfcam/control") == 0);
	MUST(strncmp(path[1] + strlen(run), "/perfcam/control-", 17) == 0);
	/* The link wins: the recorder may have been told another place. */
	MUST(cam_control_place_link(store[0], "/else/where") == 0);
	MUST(cam_control_place_link(store[0], "/some/where") == 0);
	MUST(cam_control_place_ask(store[0], "", found, PATH_MAX) == 0);
	MUST(strcmp(found, "/some/where") == 0);
	MUST(cam_control_place_ask(store[0], "/given", found, PATH_MAX) == 0);
	MUST(strcmp(found, "/given") == 0);
	cam_control_place_unlink(store[0], "/else/where");
	MUST(access(link, F_OK) != 0 && readlink(link, found, 10) > 0);
	/* A link left by another does not keep the store from being the place. */
	unsetenv("XDG_RUNTIME_DIR");
	MUST(cam_control_place_listen(store[0], "", path[0], PATH_MAX) == 0);
	MUST(readlink(link, found, 10) < 0);
	MUST(cam_control_place_ask(store[0], "", found, PATH_MAX) == -ENOENT);
	return 0;
}

static void test_places(void **state)
{
	(void)state;
	char base[] = "/tmp/perfcam-test-XXXXXX", command[128];
	assert_non_null(mkdtemp(base));
	assert_int_equal(chown(base, 1234, 1234), 0);
	assert_int_equal(as_user(1234, 1234, looks_for_places, base), 0);
	snprintf(command, sizeof(command), "rm -r %s", base);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_verb),    cmocka_unit_test(test_answered_later),
		cmocka_unit_test(test_malformed),    cmocka_unit_test(test_too_many_and_idle),
		cmocka_unit_test(test_who_may_ask),  cmocka_unit_test(test_members_of_the_group),
		cmocka_unit_test(test_nobody_there), cmocka_unit_test(test_the_name_is_taken),
		cmocka_unit_test(test_long_path),    cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
