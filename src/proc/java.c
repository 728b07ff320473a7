// SPDX-License-Identifier: Apache-2.0
/*
 * The attach protocol of HotSpot: whoever may write a file .attach_pidPID into /tmp and sends SIGQUIT
 * makes the JVM listen at /tmp/.java_pidPID (it does so for good); a request there is a version, a
 * command and three arguments, each ended by a 0. PID is the JVM's own idea of it.
 *
 * SIGQUIT kills a process that does not expect it, so it is sent only to one that catches it (a JVM with
 * -Xrs does not) and was not told to ignore who attaches; through a descriptor of the process, opened
 * before it was looked at, so that no other can get it.
 *
 * Invariants
 *  1. Before anything is made, signalled or connected to, this process is of the JVM's user and groups,
 *     and sees the JVM's file systems only.
 *  2. The socket must be the JVM's user's, and no link.
 *  3. Every wait has an end, and the process has one: alarm().
 */
#include "proc/java.h"

#include "base/cleanup.h"
#include "base/packet.h"
#include "proc/perfmap.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_MS	 5000
#define STEP_MS	 50
#define QUIT_BIT (1ull << (SIGQUIT - 1))

struct jvm {
	uint32_t uid, gid;
	int32_t pid; /* its own */
	bool catches_quit;
};

static bool read_jvm(int dir, struct jvm *j)
{
	char status[4096];
	ssize_t n = cam_process_file(dir, "status", status, sizeof(status) - 1);
	if (n < 0)
		return false;
	status[n] = '\0';
	char *uid = strstr(status, "\nUid:\t"), *gid = strstr(status, "\nGid:\t");
	char *pid = strstr(status, "\nNSpid:\t"), *caught = strstr(status, "\nSigCgt:\t");
	char *end = pid ? strchr(pid + 1, '\n') : NULL;
	if (!uid || !gid || !end || !caught)
		return false;
	while (end[-1] != '\t')
		end--;
	/* The effective ones are the second. */
	j->uid = (uint32_t)strtoul(strchr(uid + 6, '\t'), NULL, 10);
	j->gid = (uint32_t)strtoul(strchr(gid + 6, '\t'), NULL, 10);
	j->pid = (int32_t)strtol(end, NULL, 10);
	j->catches_quit = strtoull(caught + 9, NULL, 16) & QUIT_BIT;
	return j->pid > 0;
}

/* By its command line, as far as that goes. */
static bool lets_attach(int dir)
{
	char line[16384];
	ssize_t n = cam_process_file(dir, "cmdline", line, sizeof(line) - 1);
	if (n <= 0)
		return false;
	static const char no[] = "+DisableAttachMechanism";
	return !memmem(line, (size_t)n, no, sizeof(no) - 1);
}

/* Its file systems, its root, its user. */
static int become(int dir, const struct jvm *j)
{
	CAM_AUTOCLOSE int mounts = openat(dir, "ns/mnt", O_RDONLY | O_CLOEXEC);
	CAM_AUTOCLOSE int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	gid_t gid = j->gid;
	if (mounts < 0 || root < 0 || setns(mounts, CLONE_NEWNS) || fchdir(root) || chroot(".") ||
	    chdir("/") || setgroups(1, &gid) || setresgid(gid, gid, gid) ||
	    setresuid(j->uid, j->uid, j->uid))
		return -errno;
	/* Root's JVM is asked with root's rights; any other's, with none. */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static bool is_its_socket(const char *path, uint32_t uid)
{
	struct stat s;
	return lstat(path, &s) == 0 && S_ISSOCK(s.st_mode) && s.st_uid == uid;
}

/* Makes it listen. */
static int wake(int process, const struct jvm *j, const char *path)
{
	char trigger[40];
	struct timespec step = {0, STEP_MS * 1000000};
	if (!j->catches_quit)
		return -EOPNOTSUPP;
	snprintf(trigger, sizeof(trigger), "/tmp/.attach_pid%d", j->pid);
	CAM_AUTOCLOSE int fd =
		open(trigger, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = syscall(SYS_pidfd_send_signal, process, SIGQUIT, NULL, 0) ? -errno : 0;
	for (int ms = 0; !err && !is_its_socket(path, j->uid); ms += STEP_MS) {
		if (ms >= WAIT_MS)
			err = -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	unlink(trigger);
	return err;
}

static int request(const char *path)
{
	static const char text[] = "1\0jcmd\0Compiler.perfmap\0\0";
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval patience = {WAIT_MS / 1000, 0};
	char answer[512];
	CAM_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		return -errno;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    send(fd, text, sizeof(text), MSG_NOSIGNAL) != (ssize_t)sizeof(text))
		return -errno;
	/* It is written when the answer ends; what it says is of no interest. */
	ssize_t n;
	do
		n = recv(fd, answer, sizeof(answer), 0);
	while (n > 0);
	return n < 0 ? -errno : 0;
}

int cam_java_ask(const struct cam_java_request *r)
{
	struct jvm j;
	char path[40];
	CAM_AUTOCLOSE int process = (int)syscall(SYS_pidfd_open, r->pid, 0);
	CAM_AUTOCLOSE int dir = cam_process_open(r->pid);
	if (process < 0 || dir < 0)
		return -ESRCH;
	int err = cam_perfmap_confirm(dir, r->start_ns);
	if (err)
		return err;
	if (!read_jvm(dir, &j) || !lets_attach(dir))
		return -EOPNOTSUPP;
	err = become(dir, &j);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", j.pid);
	if (!is_its_socket(path, j.uid))
		err = wake(process, &j, path);
	return err ? err : request(path);
}

static void reap(unsigned *children)
{
	while (*children && waitpid(-1, NULL, WNOHANG) > 0)
		--*children;
}

int cam_java_run(int socket)
{
	unsigned children = 0;
	for (;;) {
		struct cam_java_request r;
		struct pollfd p = {.fd = socket, .events = POLLIN};
		int ready = poll(&p, 1, children ? 1000 : -1);
		reap(&children);
		if (ready <= 0)
			continue;
		int fd;
		ssize_t n = cam_packet_receive(socket, &r, sizeof(r), &fd);
		if (fd >= 0)
			close(fd);
		if (n == -EAGAIN || n == -EMSGSIZE)
			continue;
		if (n <= 0)
			return (int)n;
		if (n != sizeof(r) || r.pid <= 0 || children >= CAM_JAVA_AT_ONCE)
			continue;
		pid_t pid = fork();
		if (pid == 0) {
			alarm(CAM_JAVA_SECONDS);
			close(socket);
			return cam_java_ask(&r);
		}
		children += pid > 0;
	}
}
