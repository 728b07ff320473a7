// SPDX-License-Identifier: Apache-2.0
#include "cli/attendant.h"

#include "base/packet.h"
#include "base/units.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Who dies sooner than that after its start died quickly; so many times in a row, and it is left at that. */
#define QUICK_SECONDS 10
#define QUICK_DEATHS  5u
#define PAUSE_NS \
	(100 * CAM_NS_PER_MS) /* before the first new start; then twice as long each time */
/* Each server has the addresses of the one before: nobody shall try them out. */
#define HOUR_SECONDS 3600
#define HOUR_DEATHS  20u
#define SERVER_NICE  5
#define END_SECONDS  3 /* a server may take to end; then it is killed */

struct attendant {
	struct cam_serving *serving;
	int tell_fd;	  /* the recorder's */
	int told_fd;	  /* readable once SIGTERM has come, which stays to be waited for */
	sigset_t at_ease; /* what was blocked before */
	sigset_t awaited; /* SIGTERM, SIGCHLD: blocked, and waited for */
	unsigned quick;	  /* deaths in a row */
	unsigned deaths;  /* in this hour */
	time_t hour;	  /* when it began; CLOCK_MONOTONIC, as the next */
	time_t started;
};

static time_t now_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void tell_ready(const struct cam_serving *s)
{
	if (write(s->ready_fd, "r", 1) != 1)
		cam_failed("nobody hears that the server is ready: %s", strerror(errno));
	close(s->ready_fd);
}

/* What begins here ends with its parent, also if that is killed. */
static void end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(CAM_EXIT_FAILED);
}

static _Noreturn void serve(const struct attendant *a, pid_t parent, int status_fd, int ready_fd)
{
	struct cam_serving *s = a->serving;
	end_with(parent);
	/* What it takes does not count within max-cpu: it gives way instead. */
	if (getpriority(PRIO_PROCESS, 0) < SERVER_NICE)
		setpriority(PRIO_PROCESS, 0, SERVER_NICE);
	sigprocmask(SIG_SETMASK, &a->at_ease, NULL);
	close(a->tell_fd);
	close(a->told_fd);
	s->status_fd = status_fd;
	s->ready = tell_ready;
	s->ready_fd = ready_fd;
	int status = cam_serving_run(s);
	cam_serving_close(s);
	_exit(status);
}

/* Whether the server says so before it is gone or this process is told to end. */
static bool says_ready(const struct attendant *a, int ready_fd)
{
	struct pollfd of[] = {{.fd = ready_fd, .events = POLLIN},
			      {.fd = a->told_fd, .events = POLLIN}};
	char word;
	while (poll(of, 2, -1) < 0)
		if (errno != EINTR)
			return false;
	return !of[1].revents && read(ready_fd, &word, 1) == 1;
}

/* Forks a server, and waits until it answers (then *answers), is gone or is to end. */
static int start_server(struct attendant *a, pid_t *out, bool *answers)
{
	int pair[2], ready[2];
	a->started = now_seconds();
	*out = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	if (pipe2(ready, O_CLOEXEC)) {
		int err = -errno;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	pid_t self = getpid(), server = fork();
	int err = server < 0 ? -errno : 0;
	if (server == 0) {
		close(pair[0]);
		close(ready[0]);
		serve(a, self, pair[1], ready[1]);
	}
	close(pair[1]);
	close(ready[1]);
	*answers = !err && says_ready(a, ready[0]);
	close(ready[0]);
	if (*answers)
		err = cam_packet_send(a->tell_fd, &server, sizeof(server), pair[0]);
	close(pair[0]);
	*out = server < 0 ? 0 : server;
	return err;
}

/* Whoever may not signal it need not wait for it, either. */
static void signal_server(pid_t server, int signal_number)
{
	if (kill(server, signal_number)) {
		cam_failed("cannot end the server: %s", strerror(errno));
		_exit(CAM_EXIT_FAILED);
	}
}

/* One that does not end, wherever it hangs, is killed. */
static void end_server(pid_t server, int *status)
{
	sigset_t child;
	time_t until = now_seconds() + END_SECONDS;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	signal_server(server, SIGTERM);
	while (waitpid(server, status, WNOHANG) != server) {
		time_t left = until - now_seconds();
		if (left > 0) {
			sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = left});
			continue;
		}
		signal_server(server, SIGKILL);
		waitpid(server, status, 0);
		return;
	}
}

/* Waits for its end, or to be told to end, which it passes on: then true. */
static bool outlive(const struct attendant *a, pid_t server, int *status)
{
	while (waitpid(server, status, WNOHANG) != server) {
		int signal_number;
		if (sigwait(&a->awaited, &signal_number) == 0 && signal_number == SIGTERM) {
			end_server(server, status);
			return true;
		}
	}
	return false;
}

/* Says how it ended, and whether there is to be another one. */
static bool is_to_be_replaced(struct attendant *a, int status)
{
	time_t now = now_seconds();
	a->quick = now - a->started < QUICK_SECONDS ? a->quick + 1 : 1;
	if (now - a->hour >= HOUR_SECONDS) {
		a->hour = now;
		a->deaths = 0;
	}
	a->deaths++;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CAM_EXIT_OK)
		return false; /* somebody told it to end */
	if (a->quick > QUICK_DEATHS) {
		cam_note("the server ended %u times in a row within %d seconds of its start: it is "
			 "not started again",
			 a->quick, QUICK_SECONDS);
		return false;
	}
	if (a->deaths > HOUR_DEATHS) {
		cam_note("the server ended %u times within an hour: it is not started again",
			 a->deaths);
		return false;
	}
	if (WIFSIGNALED(status))
		cam_note("the server was ended by signal %d; another one is started",
			 WTERMSIG(status));
	else
		cam_note("the server ended with status %d; another one is started",
			 WEXITSTATUS(status));
	return true;
}

/* Twice as long each time; whether it was told to end meanwhile. */
static bool pause_ends_it(const struct attendant *a)
{
	sigset_t end;
	uint64_t ns = (uint64_t)PAUSE_NS << (a->quick - 1);
	struct timespec pause = {.tv_sec = (time_t)(ns / CAM_NS_PER_SEC),
				 .tv_nsec = (long)(ns % CAM_NS_PER_SEC)};
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	return sigtimedwait(&end, NULL, &pause) == SIGTERM;
}

static void attend(struct attendant *a)
{
	bool answered = false;
	for (;;) {
		pid_t server;
		bool answers = false;
		int status = CAM_EXIT_FAILED << 8;
		int err = start_server(a, &server, &answers);
		if (err)
			cam_failed("cannot start the server: %s", cam_errno_words(err));
		if (server && err)
			end_server(server, &status);
		else if (server && outlive(a, server, &status))
			return;
		/* One that never began would not do so later: it said why. */
		answered = answered || answers;
		if (!answered || !is_to_be_replaced(a, status) || pause_ends_it(a))
			return;
	}
}

static int await_signals(struct attendant *a)
{
	sigset_t end;
	signal(SIGCHLD, SIG_DFL); /* whoever started it may not want to hear */
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	a->awaited = end;
	sigaddset(&a->awaited, SIGCHLD);
	sigprocmask(SIG_BLOCK, &a->awaited, &a->at_ease);
	a->told_fd = signalfd(-1, &end, SFD_CLOEXEC);
	return a->told_fd < 0 ? -errno : 0;
}

int cam_attendant_start(struct cam_serving *s, pid_t *out, int *out_fd)
{
	int told[2];
	pid_t recorder = getpid(), server;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, told))
		return cam_failed("cannot split: %s", strerror(errno));
	*out_fd = told[0];
	*out = fork();
	if (*out < 0) {
		close(told[1]);
		return cam_failed("cannot split: %s", strerror(errno));
	}
	if (*out == 0) {
		struct attendant a = {.serving = s, .tell_fd = told[1], .hour = now_seconds()};
		/* An interrupt at the terminal is the recorder's to pass on, by its end. */
		setpgid(0, 0);
		end_with(recorder);
		close(told[0]);
		if (await_signals(&a))
			_exit(cam_failed("cannot split: %s", strerror(errno)));
		attend(&a);
		_exit(CAM_EXIT_OK);
	}
	cam_server_leave(s->server);
	close(told[1]);
	/* The packet stays there for the recorder. */
	bool serves = recv(told[0], &server, sizeof(server), MSG_PEEK) == (ssize_t)sizeof(server);
	return serves ? CAM_EXIT_OK : CAM_EXIT_FAILED;
}

void cam_attendant_stop(pid_t attendant)
{
	kill(attendant, SIGTERM);
	waitpid(attendant, NULL, 0);
}
