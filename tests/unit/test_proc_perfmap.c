// SPDX-License-Identifier: Apache-2.0
/* The perf map of a process that has its own /tmp, with whatever an enemy may put there. */
#include "proc/perfmap.h"

#include "base/cleanup.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { OWN = 12345, OTHER = 12346 };

struct child {
	pid_t pid;
	char tmp[64];  /* its /tmp, as seen from here */
	char map[128]; /* where its map belongs */
	uint64_t start_ns;
};

/* Lives in its own mount namespace, with an empty /tmp, as `uid`. */
static struct child start(uid_t uid, bool pid_namespace)
{
	struct child c;
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	if (pid_namespace)
		assert_int_equal(unshare(CLONE_NEWPID), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("t", "/tmp", "tmpfs", 0, "mode=1777") || setresgid(uid, uid, uid) ||
		    setresuid(uid, uid, uid) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	CAM_AUTOCLOSE int dir = cam_process_open(c.pid);
	assert_int_equal(cam_process_start(dir, &c.start_ns), 0);
	snprintf(c.tmp, sizeof(c.tmp), "/proc/%d/root/tmp", c.pid);
	snprintf(c.map, sizeof(c.map), "%s/perf-%d.map", c.tmp, pid_namespace ? 1 : c.pid);
	return c;
}

static void end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void make_file(const char *path, uid_t owner, const char *text)
{
	CAM_AUTOCLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchown(fd, owner, owner), 0);
}

/* What hold answers; 1: the file that begins with text. Never takes long. */
static int hold(const struct child *c, uint64_t start_ns, const char *text)
{
	struct cam_file_key key = {0};
	struct timespec a, b;
	char got[64] = "";
	int fd;
	clock_gettime(CLOCK_MONOTONIC, &a);
	int err = cam_perfmap_hold(c->pid, start_ns, &key, &fd);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true(b.tv_sec - a.tv_sec < 5);
	assert_true((fd >= 0) == !err);
	if (err)
		return err;
	struct stat s;
	assert_int_equal(fstat(fd, &s), 0);
	assert_true(key.inode == s.st_ino && key.bytes == (uint64_t)s.st_size);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(pread(fd, got, sizeof(got) - 1, 0) >= 0);
	close(fd);
	return strncmp(got, text, strlen(text)) == 0 ? 1 : 0;
}

static void its_own_map_is_held(void **state)
{
	(void)state;
	struct child c = start(OWN, false), other = start(OTHER, false);
	assert_int_equal(hold(&c, c.start_ns, ""), -ENOENT);
	make_file(c.map, OWN, "mine");
	assert_int_equal(hold(&c, c.start_ns, "mine"), 1);
	assert_int_equal(hold(&c, 0, "mine"), 1);
	/* As a fork record tells it, up to half a second later; beyond that it is another process. */
	assert_int_equal(hold(&c, c.start_ns + 400000000, "mine"), 1);
	assert_int_equal(hold(&c, c.start_ns + 2000000000, "mine"), -ESRCH);
	assert_int_equal(hold(&c, c.start_ns - 2000000000, "mine"), -ESRCH);
	/* The other has another /tmp. */
	assert_int_equal(hold(&other, other.start_ns, ""), -ENOENT);
	end(&other);
	end(&c);
	assert_int_equal(hold(&c, c.start_ns, "mine"), -ESRCH);
}

static void a_pid_namespace_has_its_own_numbers(void **state)
{
	(void)state;
	int status;
	/* The namespace is for children of the caller, for ever: so in a process of its own. */
	pid_t pid = fork();
	if (pid == 0) {
		char wrong[160];
		struct child c = start(OWN, true);
		snprintf(wrong, sizeof(wrong), "%s/perf-%d.map", c.tmp, c.pid);
		make_file(wrong, OWN, "outer");
		assert_int_equal(hold(&c, c.start_ns, ""), -ENOENT);
		make_file(c.map, OWN, "inner");
		assert_int_equal(hold(&c, c.start_ns, "inner"), 1);
		end(&c);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

enum kind { LINK, DANGLING, FIFO, DIRECTORY, DEVICE, SOCKET, HARD_LINK, GARBAGE, KINDS };

static void make(enum kind kind, const struct child *c, uid_t owner)
{
	char secret[96];
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	snprintf(secret, sizeof(secret), "%s/secret", c->tmp);
	switch (kind) {
	case LINK:
		make_file(secret, OWN, "mine");
		assert_int_equal(symlink("secret", c->map), 0);
		break;
	case DANGLING:
		assert_int_equal(symlink("/nowhere/at/all", c->map), 0);
		break;
	case FIFO:
		assert_int_equal(mkfifo(c->map, 0666), 0);
		break;
	case DIRECTORY:
		assert_int_equal(mkdir(c->map, 0777), 0);
		break;
	case DEVICE:
		assert_int_equal(mknod(c->map, S_IFCHR | 0666, makedev(1, 5)), 0);
		break;
	case SOCKET: {
		CAM_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		memcpy(at.sun_path, c->map, strlen(c->map) + 1);
		assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
		break;
	}
	case HARD_LINK:
		make_file(secret, owner, "secret");
		assert_int_equal(link(secret, c->map), 0);
		break;
	default:
		make_file(c->map, owner, "\xff\x00garbage");
		assert_int_equal(truncate(c->map, (off_t)1 << 40), 0);
	}
	assert_int_equal(lchown(c->map, owner, owner), 0);
}

/* Eight kinds of object by three owners: only what is the process's own and a file is opened. */
static void what_an_enemy_may_put_there(void **state)
{
	(void)state;
	static const uid_t owners[] = {OWN, OTHER, 0};
	static const int expected[KINDS] = {-ELOOP,  -ELOOP,  -EINVAL, -EINVAL,
					    -EINVAL, -EINVAL, -EPERM,  1};
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t i = 0; i < 3; i++) {
			struct child c = start(OWN, false);
			make((enum kind)kind, &c, owners[i]);
			bool own = owners[i] == OWN;
			assert_int_equal(hold(&c, c.start_ns, "\xff"),
					 kind == GARBAGE && !own ? -EPERM : expected[kind]);
			end(&c);
		}
	}
}

/* Each of them in turn in the map's place, as quickly as can be. */
static _Noreturn void swap(const struct child *c, char others[][128], size_t n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
	for (size_t i = 0;; i = (i + 1) % n)
		renameat2(AT_FDCWD, c->map, AT_FDCWD, others[i], RENAME_EXCHANGE);
}

/* Between a look and the opening somebody may put something else there: what is read is the process's own all the same. */
static void what_is_swapped_meanwhile(void **state)
{
	(void)state;
	struct child c = start(OWN, false);
	char others[4][128];
	struct timespec now, begun;
	unsigned own = 0, refused = 0;
	for (unsigned i = 0; i < 4; i++)
		snprintf(others[i], sizeof(others[i]), "%s/other%u", c.tmp, i);
	make_file(c.map, OWN, "mine");
	make_file(others[0], OTHER, "secret");
	make_file(others[1], 0, "secret");
	assert_int_equal(symlink("other0", others[2]), 0);
	assert_int_equal(mkfifo(others[3], 0666), 0);
	pid_t swapper = fork();
	assert_true(swapper >= 0);
	if (swapper == 0)
		swap(&c, others, 4);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		int got = hold(&c, c.start_ns, "mine");
		assert_int_not_equal(got, 0);
		own += got == 1;
		refused += got < 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begun.tv_sec < 2 ||
		 ((!own || !refused) && now.tv_sec - begun.tv_sec < 30));
	print_message("%u times its own, %u refused\n", own, refused);
	assert_true(own && refused);
	kill(swapper, SIGKILL);
	assert_int_equal(waitpid(swapper, NULL, 0), swapper);
	end(&c);
}

static void root_takes_only_its_own(void **state)
{
	(void)state;
	struct child c = start(0, false);
	make_file(c.map, OWN, "forged");
	assert_int_equal(hold(&c, c.start_ns, ""), -EPERM);
	unlink(c.map);
	make_file(c.map, 0, "mine");
	assert_int_equal(hold(&c, c.start_ns, "mine"), 1);
	end(&c);
}

static void tmp_itself_may_be_a_link(void **state)
{
	(void)state;
	struct child c = start(OWN, false);
	char dir[96], file[128];
	/* Its /tmp cannot be replaced, but its root directory can have been. */
	snprintf(dir, sizeof(dir), "%s/root", c.tmp);
	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(file, sizeof(file), "%s/tmp", dir);
	assert_int_equal(symlink("/elsewhere", file), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (chroot(dir) || chdir("/"))
			_exit(1);
		pause();
	}
	struct child jailed = {.pid = pid};
	for (int i = 0; i < 200 && hold(&jailed, 0, "") == -ENOENT; i++)
		usleep(10000);
	assert_int_equal(hold(&jailed, 0, ""), -ELOOP);
	end(&jailed);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_map_is_held),
		cmocka_unit_test(a_pid_namespace_has_its_own_numbers),
		cmocka_unit_test(what_an_enemy_may_put_there),
		cmocka_unit_test(what_is_swapped_meanwhile),
		cmocka_unit_test(root_takes_only_its_own),
		cmocka_unit_test(tmp_itself_may_be_a_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
