// SPDX-License-Identifier: Apache-2.0
/* Who is asked for a map, and who is not: SIGQUIT kills whoever does not expect it. A real JVM is asked in
 * tests/system/test_jit.py. */
#include "proc/java.h"

#include "base/cleanup.h"
#include "helper/helper.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { OWN = 12345, OTHER = 12346 };

static void nothing(int sig)
{
	(void)sig;
}

/* A would-be JVM in its own /tmp; with a socket there of `owner`, where it answers once. */
static pid_t start(bool catches, uid_t owner, int *said)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/.java_pid%d", getpid());
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (catches)
			signal(SIGQUIT, nothing);
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("t", "/tmp", "tmpfs", 0, "mode=1777"))
			_exit(1);
		if (owner && (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1) ||
			      chown(at.sun_path, owner, owner)))
			_exit(1);
		if (setresgid(OWN, OWN, OWN) || setresuid(OWN, OWN, OWN))
			_exit(1);
		(void)!write(ready[1], "x", 1);
		for (;;) {
			char text[64] = "";
			struct ucred who;
			socklen_t n = sizeof(who);
			int c = owner ? accept(fd, NULL, NULL) : (pause(), -1);
			if (c < 0)
				continue;
			ssize_t got = recv(c, text, sizeof(text), 0);
			bool good = got == 26 &&
				    !memcmp(text, "1\0jcmd\0Compiler.perfmap\0\0", 26) &&
				    !getsockopt(c, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
				    who.uid == OWN && who.gid == OWN;
			(void)!write(ready[1], good ? "y" : "n", 1);
			close(c);
		}
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[1]);
	*said = ready[0];
	return pid;
}

static int ask(pid_t pid, uint64_t start_ns)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		struct cam_java_request r = {.pid = pid, .start_ns = start_ns};
		/* As it is when it is asked in earnest. */
		if (cam_confine(CAM_CONFINE_JAVA))
			_exit(255);
		_exit(-cam_java_ask(&r) & 0xff);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void end(pid_t pid, int said)
{
	int status;
	/* It lives: nothing that was done to it has killed it. */
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(said);
}

static void one_that_does_not_expect_it_is_left_alone(void **state)
{
	(void)state;
	int said;
	pid_t pid = start(false, 0, &said);
	assert_int_equal(ask(pid, 0), -EOPNOTSUPP);
	/* Nor is one of another start asked anything. */
	assert_int_equal(ask(pid, 1), -ESRCH);
	end(pid, said);
}

static void one_that_listens_is_asked_as_its_own_user(void **state)
{
	(void)state;
	int said;
	char byte = 0;
	pid_t pid = start(false, OWN, &said);
	assert_int_equal(ask(pid, 0), 0);
	assert_int_equal(read(said, &byte, 1), 1);
	assert_int_equal(byte, 'y');
	end(pid, said);
}

static void a_socket_of_another_user_is_not_spoken_to(void **state)
{
	(void)state;
	int said;
	pid_t pid = start(false, OTHER, &said);
	struct pollfd p = {.fd = said, .events = POLLIN};
	assert_int_equal(ask(pid, 0), -EOPNOTSUPP);
	assert_int_equal(poll(&p, 1, 100), 0);
	end(pid, said);
}

static void one_that_never_listens_is_given_up(void **state)
{
	(void)state;
	int said;
	pid_t pid = start(true, 0, &said);
	char trigger[96];
	struct stat s;
	assert_int_equal(ask(pid, 0), -ETIMEDOUT);
	snprintf(trigger, sizeof(trigger), "/proc/%d/root/tmp/.attach_pid%d", pid, pid);
	assert_int_equal(stat(trigger, &s), -1);
	end(pid, said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_does_not_expect_it_is_left_alone),
		cmocka_unit_test(one_that_listens_is_asked_as_its_own_user),
		cmocka_unit_test(a_socket_of_another_user_is_not_spoken_to),
		cmocka_unit_test(one_that_never_listens_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
