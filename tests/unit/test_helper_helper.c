// SPDX-License-Identifier: Apache-2.0
/* The helpers are this program itself: main() looks for "helper ROLE DEED". */
#include "helper/helper.h"
#include "model/errand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what the children do ---- */

static char packet[CAM_ERRAND_MAX_BYTES];

/* Sends back what it gets, with the descriptor. */
static int echo(void)
{
	for (;;) {
		int fd;
		ssize_t n = cam_packet_receive(3, packet, sizeof(packet), &fd);
		if (n <= 0)
			return n == 0 ? 0 : 1;
		if (cam_packet_send(3, packet, (size_t)n, fd))
			return 2;
		if (fd >= 0)
			close(fd);
	}
}

/* One line about everything that start() promises. */
static int describe(int argc, char **argv)
{
	char line[4096], target[256];
	int n = snprintf(line, sizeof(line), "%s/%s/%d fds", argv[1], argv[2], argc);
	int kept = strcmp(argv[2], "opener") == 0 ? 3 : 2; /* from here on ours */
	for (int fd = 0; fd < 256; fd++) {
		char name[32];
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		ssize_t k = readlink(name, target, sizeof(target));
		if (k > 0)
			n += snprintf(line + n, sizeof(line) - (size_t)n, " %d=%.*s", fd,
				      fd < kept || fd == 4 ? (int)k : 0, target);
	}
	int death = 0;
	prctl(PR_GET_PDEATHSIG, &death);
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	struct sigaction pipe_action, usr_action;
	sigaction(SIGPIPE, NULL, &pipe_action);
	sigaction(SIGUSR1, NULL, &usr_action);
	n += snprintf(line + n, sizeof(line) - (size_t)n,
		      "; nice %d policy %d io %ld death %d leader %d blocked %d default %d",
		      getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
		      syscall(SYS_ioprio_get, 1, 0) >> 13, death, getsid(0) == getpid(),
		      sigismember(&blocked, SIGUSR1),
		      pipe_action.sa_handler == SIG_DFL && usr_action.sa_handler == SIG_DFL);
	return cam_packet_send(3, line, (size_t)n, -1) ? 1 : 0;
}

/* Starts a helper of its own, tells its pid, and waits to be killed. */
static int have_child(void)
{
	struct cam_helper h;
	if (cam_helper_start(&h, CAM_HELPER_OPENER, -1, (const char *const[]){"echo", NULL}))
		return 1;
	if (cam_packet_send(3, &h.pid, sizeof(h.pid), -1))
		return 2;
	for (;;)
		pause();
}

static int be_helper(int argc, char **argv)
{
	if (argc < 4)
		return 99;
	for (enum cam_helper_role r = 0; r < CAM_HELPER_ROLES; r++) {
		if (strcmp(argv[2], cam_helper_role_name(r)) == 0)
			cam_helper_be_polite(r);
	}
	if (strcmp(argv[3], "echo") == 0)
		return echo();
	if (strcmp(argv[3], "describe") == 0)
		return describe(argc, argv);
	if (strcmp(argv[3], "child") == 0)
		return have_child();
	if (strcmp(argv[3], "last-words") == 0) {
		struct pollfd p = {3, POLLIN, 0}; /* there is something, which it does not read */
		return poll(&p, 1, 10000) != 1 || cam_packet_send(3, "bye", 3, -1) ? 1 : 7;
	}
	if (strcmp(argv[3], "nothing") == 0)
		return 7;
	return 98;
}

/* ---- the tests ---- */

static struct cam_helper start(enum cam_helper_role role, const char *deed, int extra)
{
	struct cam_helper h;
	const char *const args[] = {deed, NULL};
	assert_int_equal(cam_helper_start(&h, role, extra, args), 0);
	assert_true(h.pid > 0 && h.pidfd >= 0 && h.socket >= 0);
	return h;
}

static ssize_t receive(struct cam_helper *h, void *to, size_t room, int *fd)
{
	struct pollfd p = {h->socket, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 10000), 1);
	return cam_packet_receive(h->socket, to, room, fd);
}

static void await_end(struct cam_helper *h, int want)
{
	int status = -1;
	struct pollfd p = {h->pidfd, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(cam_helper_poll(h, &status), 1);
	assert_int_equal(status, want);
	assert_int_equal(h->pid, 0);
	assert_int_equal(cam_helper_poll(h, &status), 0);
}

static void assert_says(struct cam_helper *h, const char *want)
{
	char line[4096];
	int fd;
	ssize_t n = receive(h, line, sizeof(line) - 1, &fd);
	assert_true(n > 0);
	line[n] = '\0';
	assert_string_equal(line, want);
	await_end(h, 0);
	assert_int_equal(cam_helper_stop(h, NULL), 0);
	assert_int_equal(h->socket, -1);
}

static void on_signal(int s)
{
	(void)s;
}

static void a_helper_starts_with_nothing_it_was_not_given(void **state)
{
	(void)state;
	int low[40];
	struct sigaction ignore = {.sa_handler = SIG_IGN}, handle = {.sa_handler = on_signal};
	struct sigaction old_pipe, old_usr;
	sigset_t usr;
	sigaction(SIGPIPE, &ignore, &old_pipe);
	sigaction(SIGUSR1, &handle, &old_usr);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr, NULL);
	for (int i = 0; i < 40; i++) /* not close-on-exec, over the numbers that are used */
		assert_true((low[i] = open("/", O_RDONLY | O_DIRECTORY)) >= 0);
	struct cam_helper h = start(CAM_HELPER_OPENER, "describe", -1);
	assert_says(
		&h,
		"helper/opener/4 fds 0=/dev/null 1=/dev/null 2=/dev/null 3=; nice 10 policy 0 io 0 "
		"death 9 leader 1 blocked 0 default 1");
	h = start(CAM_HELPER_SYMBOLISER, "describe", -1);
	assert_says(&h, "helper/symboliser/4 fds 0=/dev/null 1=/dev/null 2= 3=; nice 10 policy 0 "
			"io 0 death 9 leader 1 blocked 0 default 1");
	h = start(CAM_HELPER_SEALER, "describe", low[0]);
	assert_says(&h, "helper/sealer/4 fds 0=/dev/null 1=/dev/null 2= 3= 4=/; nice 10 policy 3 "
			"io 3 death 9 leader 1 blocked 0 default 1");
	for (int i = 0; i < 40; i++)
		close(low[i]);
	sigprocmask(SIG_UNBLOCK, &usr, NULL);
	sigaction(SIGPIPE, &old_pipe, NULL);
	sigaction(SIGUSR1, &old_usr, NULL);
}

static void packets_and_descriptors_come_back(void **state)
{
	(void)state;
	static char out[CAM_ERRAND_MAX_BYTES], in[CAM_ERRAND_MAX_BYTES];
	struct cam_helper h = start(CAM_HELPER_OPENER, "echo", -1);
	int fd, pipes[2];
	assert_int_equal(cam_packet_receive(h.socket, in, sizeof(in), &fd), -EAGAIN);
	assert_int_equal(cam_packet_send(h.socket, out, 0, -1), -EINVAL);
	for (size_t n = 1; n <= sizeof(out); n = n * 2) {
		for (size_t i = 0; i < n; i++)
			out[i] = (char)(i * 31 + n);
		assert_int_equal(pipe(pipes), 0);
		assert_int_equal(cam_packet_send(h.socket, out, n, pipes[1]), 0);
		close(pipes[1]);
		assert_int_equal(receive(&h, in, sizeof(in), &fd), n);
		assert_memory_equal(in, out, n);
		assert_true(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
		char c = 0;
		assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(read(pipes[0], &c, 1), 1);
		assert_int_equal(c, 'x');
		close(fd);
		assert_int_equal(read(pipes[0], &c, 1), 0); /* nobody else kept it */
		close(pipes[0]);
		assert_int_equal(cam_packet_send(h.socket, out, n, -1), 0);
		assert_int_equal(receive(&h, in, sizeof(in), &fd), n);
		assert_int_equal(fd, -1);
	}
	assert_int_equal(cam_helper_stop(&h, NULL), 0);
}

/* A helper that does not read: the recorder is told, and does not wait. */
static void a_full_socket_does_not_block(void **state)
{
	(void)state;
	struct cam_helper h = start(CAM_HELPER_OPENER, "echo", -1);
	int fd, sent = 0, err = 0, status = 0;
	kill(h.pid, SIGSTOP);
	while (sent < 1000 && (err = cam_packet_send(h.socket, packet, sizeof(packet), -1)) == 0)
		sent++;
	assert_int_equal(err, -EAGAIN);
	assert_true(sent >= 1);
	assert_int_equal(cam_helper_stop(&h, &status), 0); /* although it is stopped */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	(void)fd;
}

/* One that sends two descriptors, or a packet that does not fit, gets neither in. */
static void surplus_is_dropped_and_closed(void **state)
{
	(void)state;
	int pair[2], pipes[2], fd;
	char small[4], c;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pipe(pipes), 0);
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	char two[] = "ab";
	struct iovec v = {two, 2};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&control.head), (int[]){pipes[1], pipes[1]}, 2 * sizeof(int));
	assert_int_equal(sendmsg(pair[0], &m, 0), 2);
	assert_int_equal(cam_packet_send(pair[0], "abcde", 5, pipes[1]), 0);
	assert_int_equal(cam_packet_send(pair[0], "ab", 2, -1), 0);
	close(pipes[1]);
	assert_int_equal(cam_packet_receive(pair[1], small, sizeof(small), &fd), -EMSGSIZE);
	assert_int_equal(fd, -1);
	assert_int_equal(cam_packet_receive(pair[1], small, sizeof(small), &fd), -EMSGSIZE);
	assert_int_equal(fd, -1);
	assert_int_equal(cam_packet_receive(pair[1], small, sizeof(small), &fd), 2);
	assert_int_equal(read(pipes[0], &c, 1), 0); /* no copy of the other end is left anywhere */
	close(pair[0]);
	assert_int_equal(cam_packet_receive(pair[1], small, sizeof(small), &fd), 0);
	assert_int_equal(cam_packet_send(pair[1], "x", 1, -1), -EPIPE);
	close(pair[1]);
	close(pipes[0]);
}

static void last_words_can_be_read_after_death(void **state)
{
	(void)state;
	struct cam_helper h = start(CAM_HELPER_OPENER, "last-words", -1);
	char said[8];
	int fd;
	assert_int_equal(cam_packet_send(h.socket, "never read", 10, -1), 0);
	await_end(&h, 7 << 8);
	assert_int_equal(cam_packet_receive(h.socket, said, sizeof(said), &fd), 3);
	assert_memory_equal(said, "bye", 3);
	assert_int_equal(cam_packet_receive(h.socket, said, sizeof(said), &fd), 0);
	assert_int_equal(cam_packet_send(h.socket, "x", 1, -1), -EPIPE);
	assert_int_equal(cam_helper_stop(&h, NULL), 0);
}

static void a_helper_dies_with_its_parent(void **state)
{
	(void)state;
	struct cam_helper h = start(CAM_HELPER_OPENER, "child", -1);
	pid_t grandchild = 0;
	int fd;
	assert_int_equal(receive(&h, &grandchild, sizeof(grandchild), &fd), sizeof(grandchild));
	int pidfd = (int)syscall(SYS_pidfd_open, grandchild, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(cam_helper_stop(&h, NULL), 0);
	struct pollfd p = {pidfd, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 10000), 1);
	close(pidfd);
}

static void what_cannot_start_says_so_and_leaves_nothing(void **state)
{
	(void)state;
	struct cam_helper h;
	const char *many[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
			      "j", "k", "l", "m", "n", "o", "p", "q", NULL};
	assert_int_equal(cam_helper_start(&h, CAM_HELPER_ROLES, -1, NULL), -EINVAL);
	assert_int_equal(cam_helper_start(&h, CAM_HELPER_OPENER, -1, many), -E2BIG);
	assert_int_equal(cam_helper_start(&h, CAM_HELPER_OPENER, 12345, NULL), -EBADF);
	assert_int_equal(h.pid, 0);
	assert_int_equal(cam_helper_stop(&h, NULL), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void *allocate(void *stop)
{
	while (!*(volatile bool *)stop)
		free(malloc((size_t)(rand() % 5000)));
	return NULL;
}

/* While other threads allocate: a child that needs malloc's lock would hang now and then. */
static void starting_is_safe_beside_threads(void **state)
{
	(void)state;
	pthread_t threads[2];
	volatile bool stop = false;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate, (void *)&stop), 0);
	for (int i = 0; i < 20; i++) {
		struct cam_helper h = start(CAM_HELPER_OPENER, "nothing", -1);
		await_end(&h, 7 << 8);
		cam_helper_stop(&h, NULL);
	}
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* In a process of its own; answers how the helper's start went: 0, as it should. */
static int start_in_need(bool refused)
{
	pid_t pid = fork();
	if (pid == 0) {
		int status = 0;
		struct cam_helper h;
		scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
		while (!refused && fcntl(0, F_DUPFD_CLOEXEC, 3) < 100)
			;
		if (refused &&
		    (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(close_range), 0) ||
		     seccomp_load(ctx)))
			_exit(1);
		if (cam_helper_start(&h, CAM_HELPER_OPENER, -1,
				     (const char *const[]){"nothing", NULL}))
			_exit(2);
		struct pollfd p = {h.pidfd, POLLIN, 0};
		if (poll(&p, 1, 10000) != 1 || cam_helper_poll(&h, &status) != 1)
			_exit(3);
		_exit(status == 7 << 8 ? 0 : 4);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* As in a container whose filter does not know close_range(2), and on a host of many CPUs. */
static void a_helper_starts_where_its_parents_table_cannot_be_left(void **state)
{
	(void)state;
	assert_int_equal(start_in_need(true), 0);
	assert_int_equal(start_in_need(false), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return be_helper(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_helper_starts_with_nothing_it_was_not_given),
		cmocka_unit_test(packets_and_descriptors_come_back),
		cmocka_unit_test(a_full_socket_does_not_block),
		cmocka_unit_test(surplus_is_dropped_and_closed),
		cmocka_unit_test(last_words_can_be_read_after_death),
		cmocka_unit_test(a_helper_dies_with_its_parent),
		cmocka_unit_test(what_cannot_start_says_so_and_leaves_nothing),
		cmocka_unit_test(starting_is_safe_beside_threads),
		cmocka_unit_test(a_helper_starts_where_its_parents_table_cannot_be_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
