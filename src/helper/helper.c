// SPDX-License-Identifier: Apache-2.0
/*
 * Starting another process from one that has threads.
 *
 * clone() as vfork() does it, and exec: fork() would copy the page tables of a recorder with all its
 * rings (and, from a thread, could leave malloc locked in the child); posix_spawn() cannot set the
 * parent-death signal or the priorities. Until it executes, the child has its parent's memory, with a
 * stack of its own, and the thread that started it stands still, so that
 *
 * 1. everything it needs is prepared before (struct plan), it only makes system calls;
 * 2. all signals are blocked around it, and their handlers are reset before they are unblocked: no
 *    handler of the recorder can run in the child;
 * 3. it tells its errno by writing it into the plan, which the parent reads once it runs again.
 *
 * It begins with its parent's own table of descriptors, and leaves it for one of its own without any from
 * OWN_FDS up: to close a file of somebody else's file system may take for ever. So numbers below are kept from such files
 * (the recorder takes them all before anything else), and what a child needs is put there.
 *
 * Worked example: start(OPENER) in a recorder that has descriptors 0 to 90. The child's end of the socket is put at 60.
 * The child leaves all from 64 up behind, makes copies above all others (/dev/null, its end of the socket),
 * puts them where they belong (3; 0 and 1), and closes from 4 up; 2 stays.
 */
#include "helper/helper.h"

#include "model/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_ARGS = 16,
	HELPER_NICE = 10,
	CHILD_STACK_BYTES = 32 * 1024,
	DEATH_WAIT_MS = 200,
	SOCKET_FD = 3,
	EXTRA_FD = 4,
	OWN_FDS = CAM_HELPER_FDS, /* the kernel copies tables in parts of so many */
};

/* What the child needs to know, prepared by its parent. */
struct plan {
	enum cam_helper_role role;
	int socket, extra_fd;
	pid_t parent;
	const char *argv[3 + MAX_ARGS + 1];
	volatile int error;
	bool shares;		/* begins with its parent's table of descriptors … */
	volatile bool kept_out; /* … and could not leave it */
};

const char *cam_helper_role_name(enum cam_helper_role role)
{
	static const char *const names[] = {"opener", "symboliser", "sealer", "fetcher", "journal"};
	return (unsigned)role < CAM_HELPER_ROLES ? names[role] : "?";
}

/* Two numbers at which a child finds what it is given, and one that stays /dev/null; -1: none yet, or none to be had. */
static int lent_fds[3] = {-1, -1, -1};

/* Where few files may be open the numbers are needed for windows. */
void cam_helper_reserve(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur < CAM_HELPER_FEW_FILES)
		return;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < OWN_FDS) {
		lent_fds[0] = lent_fds[1];
		lent_fds[1] = lent_fds[2];
		lent_fds[2] = fd;
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	if (fd >= 0)
		close(fd);
}

/* Puts fd at that number, where a child has it too; the number it has there. Where so many were taken that none was left,
 * it stays where it is. */
static int lend(int fd, int number)
{
	return fd >= OWN_FDS && number >= 0 && dup3(fd, number, O_CLOEXEC) == number ? number : fd;
}

/* The number stays taken. */
static void take_back(int number, int fd)
{
	if (number != fd)
		dup3(lent_fds[2], number, O_CLOEXEC);
}

/* Away from the parent's table, without what is at OWN_FDS and above. Where that is refused nothing was changed. */
static int leave_table(struct plan *p)
{
	if (p->shares && syscall(SYS_close_range, OWN_FDS, ~0u, CLOSE_RANGE_UNSHARE)) {
		p->kept_out = true;
		return -errno;
	}
	return 0;
}

/* Copies of all that is kept, above what is in use, then each to its number. */
static int arrange_descriptors(const struct plan *p)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(null, F_DUPFD_CLOEXEC, EXTRA_FD + 1);
	int socket = fcntl(p->socket, F_DUPFD_CLOEXEC, EXTRA_FD + 1);
	int extra = p->extra_fd < 0 ? -1 : fcntl(p->extra_fd, F_DUPFD_CLOEXEC, EXTRA_FD + 1);
	unsigned first = SOCKET_FD + 1;
	if (high < 0 || socket < 0 || (p->extra_fd >= 0 && extra < 0))
		return -errno;
	if (dup2(high, 0) < 0 || dup2(high, 1) < 0 || dup2(socket, SOCKET_FD) < 0)
		return -errno;
	/* It may be left behind, and who reads what the recorder says must come to an end. */
	if (p->role == CAM_HELPER_OPENER && dup2(high, 2) < 0)
		return -errno;
	if (extra >= 0) {
		first++;
		if (dup2(extra, EXTRA_FD) < 0)
			return -errno;
	}
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return 0;
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return -errno;
	for (unsigned fd = first; fd < files.rlim_cur; fd++)
		close((int)fd);
	return 0;
}

void cam_helper_be_polite(enum cam_helper_role role)
{
	setpriority(PRIO_PROCESS, 0, HELPER_NICE);
	if (role == CAM_HELPER_SEALER) {
		struct sched_param none = {0};
		sched_setscheduler(0, SCHED_BATCH, &none);
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	}
}

static void reset_signals(void)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t none;
	for (int s = 1; s < NSIG; s++)
		sigaction(s, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child, on its parent's memory. Comes back only if it failed. */
static int try_to_become(struct plan *p)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	if (getppid() != p->parent) /* it died before it could be said */
		return -ESRCH;
	/* Away from the terminal: an interrupt there is the recorder's to handle. */
	setsid();
	/* First of all: a store's lock is among them, and a recorder that is killed now would not have
	 * let go of it before this one gets its turn. */
	int err = leave_table(p);
	if (!err)
		err = arrange_descriptors(p);
	if (err)
		return err;
	reset_signals();
	execve("/proc/self/exe", (char *const *)p->argv, environ);
	return -errno;
}

static int become_helper(void *plan)
{
	struct plan *p = plan;
	p->error = try_to_become(p);
	return 127;
}

static pid_t clone_helper(struct plan *p)
{
	_Alignas(64) char stack[CHILD_STACK_BYTES];
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = clone(become_helper, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | (p->shares ? CLONE_FILES : 0) | SIGCHLD, p);
	int err = pid < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	if (p->error) {
		waitpid(pid, NULL, 0);
		return p->error;
	}
	return pid;
}

/* With a copy of the whole table where the other way is not to be had (helper.h). */
static pid_t spawn(struct plan *p)
{
	p->shares = p->socket < OWN_FDS && p->extra_fd < OWN_FDS;
	pid_t pid = clone_helper(p);
	if (pid >= 0 || !p->kept_out)
		return pid;
	p->shares = false;
	p->error = 0;
	return clone_helper(p);
}

/* Room for the largest packet on its way, and a few more behind it. */
static int widen(int socket)
{
	int want = 4 * (int)CAM_ERRAND_MAX_BYTES, got = 0;
	socklen_t n = sizeof(got);
	if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &want, sizeof(want)) &&
	    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &want, sizeof(want)))
		return -errno;
	if (getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &got, &n))
		return -errno;
	return got < (int)CAM_ERRAND_MAX_BYTES + 4096 ? -ENOBUFS : 0;
}

static int make_pair(int pair[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	int err = widen(pair[0]);
	if (!err)
		err = widen(pair[1]);
	if (!err && fcntl(pair[0], F_SETFL, O_NONBLOCK))
		err = -errno;
	if (err) {
		close(pair[0]);
		close(pair[1]);
	}
	return err;
}

int cam_helper_start(struct cam_helper *h, enum cam_helper_role role, int extra_fd,
		     const char *const *args)
{
	struct plan p = {.role = role,
			 .extra_fd = extra_fd,
			 .parent = getpid(),
			 .argv = {"perfcam", "helper", cam_helper_role_name(role)}};
	int pair[2];
	*h = CAM_HELPER_NONE;
	if ((unsigned)role >= CAM_HELPER_ROLES)
		return -EINVAL;
	for (size_t i = 0; args && args[i]; i++) {
		if (i == MAX_ARGS)
			return -E2BIG;
		p.argv[3 + i] = args[i];
	}
	/* Also those that have become free since. */
	cam_helper_reserve();
	int err = make_pair(pair);
	if (err)
		return err;
	p.socket = lend(pair[1], lent_fds[0]);
	p.extra_fd = extra_fd < 0 ? -1 : lend(extra_fd, lent_fds[1]);
	pid_t pid = spawn(&p);
	take_back(p.socket, pair[1]);
	take_back(p.extra_fd, extra_fd);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return pid;
	}
	/* It is not reaped yet, so the number still means it. */
	*h = (struct cam_helper){pid, (int)syscall(SYS_pidfd_open, pid, 0), pair[0]};
	return 0;
}

int cam_helper_poll(struct cam_helper *h, int *status)
{
	int s = 0;
	if (!h->pid)
		return 0;
	pid_t got = waitpid(h->pid, &s, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return 0;
	if (status)
		*status = s;
	if (h->pidfd >= 0)
		close(h->pidfd);
	h->pid = 0;
	h->pidfd = -1;
	return 1;
}

/* Until it is dead, or DEATH_WAIT_MS; a kernel without pidfds is asked every few milliseconds. */
static void await_death(const struct cam_helper *h)
{
	struct pollfd p = {h->pidfd, POLLIN, 0};
	siginfo_t info = {0};
	if (h->pidfd >= 0) {
		poll(&p, 1, DEATH_WAIT_MS);
		return;
	}
	for (int waited = 0; waited < DEATH_WAIT_MS; waited += 5) {
		if (waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			return;
		poll(NULL, 0, 5);
	}
}

int cam_helper_stop(struct cam_helper *h, int *status)
{
	int err = 0;
	if (h->pid) {
		kill(h->pid, SIGKILL); /* ours, and not reaped: the number still means it */
		await_death(h);
		if (cam_helper_poll(h, status) == 0) {
			err = -EBUSY;
			if (h->pidfd >= 0)
				close(h->pidfd);
		}
	}
	if (h->socket >= 0)
		close(h->socket);
	*h = CAM_HELPER_NONE;
	return err;
}
