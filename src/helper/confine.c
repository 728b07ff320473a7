// SPDX-License-Identifier: Apache-2.0
/*
 * How a helper gives up what it does not need, before it touches anything foreign.
 *
 * Walls, from the outside in; each would do alone for most of what could go wrong:
 *
 * 1. limits: memory, descriptors, CPU, no core dumps (a core of the opener is other people's data);
 * 2. user and capabilities: symboliser and sealer become an ordinary user with none; the opener keeps
 *    the four it is for;
 * 3. Landlock: symboliser and sealer can open no file, not even one they may read. Not the opener:
 *    from within a Landlock domain the kernel lets nobody look into processes outside of it, and that
 *    is the opener's job;
 * 4. seccomp: lists of what is allowed. For symboliser and sealer there is no call that takes a path
 *    but newfstatat() (glibc's fstat(); the filter cannot see whether its path is empty), and so,
 *    where it may, the symboliser also moves to a root directory with nothing in it. Anything else
 *    kills. For the opener what is not allowed fails with ENOSYS, as on an older kernel, since libc
 *    may try; what it could only do if someone else drives it (exec, socket, …) kills. It cannot
 *    write: there is no call for it, and openat() only reads. The server has a list of that kind, too, and
 *    Landlock: it reads below the store's directory, and nowhere else.
 *
 * Who asks JVMs for their maps (--java-maps, not by default) is as the opener, but may become another
 * user in another root and mount namespace, write a file there and connect to a socket there. Who fetches
 * debug files (--debuginfod) runs libraries for TLS and names, which read files and start threads: Landlock
 * keeps it from writing and executing, seccomp from what only someone who drives it would do. Who reads systemd's
 * journal (--journal) maps files that others write, by a library: it keeps the right to read files, Landlock leaves it
 * the journal's directories alone, and of system calls it has what reading them takes.
 *
 * Invariants: a. Nothing here can be undone by the process itself. b. Where the kernel has no seccomp
 * the other walls stand, and the answer is -EOPNOTSUPP; where it only lacks Landlock the answer is 0,
 * since seccomp forbids the same; any other failure is an answer of its own, and the caller must not
 * go on. c. Called before threads are started: they inherit it.
 */
#include "helper/helper.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
	SOCKET_FD = 3,
	SYMBOLISER_FILES = 64,
	SYMBOLISER_CPU_SECONDS = 60,
	FETCHER_CPU_SECONDS = 120,
	NOBODY = 65534,
};
#define SYMBOLISER_ADDRESS_BYTES (448ull << 20) /* with its libraries, and holes */
#define FETCHER_BYTES		 (1ull << 30)
#define SERVER_BYTES		 (448ull << 20) /* below the unit's MemoryMax */
#define JOURNAL_BYTES		 (2ull << 30)	/* mapped files, mostly */

static int limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now;
	if (getrlimit(what, &now))
		return -errno;
	struct rlimit want = {soft < now.rlim_max ? soft : now.rlim_max,
			      hard < now.rlim_max ? hard : now.rlim_max};
	return setrlimit(what, &want) ? -errno : 0;
}

static int set_fetcher_limits(void)
{
	int err = limit(RLIMIT_NOFILE, SYMBOLISER_FILES, SYMBOLISER_FILES);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_AS, FETCHER_BYTES, FETCHER_BYTES);
	if (!err)
		err = limit(RLIMIT_FSIZE, CAM_FETCH_MAX_BYTES, CAM_FETCH_MAX_BYTES);
	if (!err)
		err = limit(RLIMIT_CPU, FETCHER_CPU_SECONDS, FETCHER_CPU_SECONDS + 5);
	return err;
}

/* Beyond its seconds the symboliser gets SIGXCPU, and is replaced: whatever it was reading had it
 * in a loop. ASan alone needs more than the budget of either kind of memory. */
static int set_limits(enum cam_confinement what)
{
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && what == CAM_CONFINE_FETCHER)
		return set_fetcher_limits();
	if (err || what != CAM_CONFINE_SYMBOLISER)
		return err;
	err = limit(RLIMIT_NOFILE, SYMBOLISER_FILES, SYMBOLISER_FILES);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_AS, SYMBOLISER_ADDRESS_BYTES, SYMBOLISER_ADDRESS_BYTES);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_DATA, CAM_SYMBOLISER_BYTES, CAM_SYMBOLISER_BYTES);
	if (!err)
		err = limit(RLIMIT_FSIZE, 0, 0);
	if (!err)
		err = limit(RLIMIT_CPU, SYMBOLISER_CPU_SECONDS, SYMBOLISER_CPU_SECONDS + 5);
	return err;
}

/* perfcam's own user, else nobody. By reading the file: the resolver would load foreign modules and
 * ask servers. */
static void find_user(uid_t *uid, gid_t *gid)
{
	*uid = *gid = NOBODY;
	FILE *f = fopen("/etc/passwd", "re");
	if (!f)
		return;
	for (struct passwd *p = fgetpwent(f); p; p = fgetpwent(f)) {
		bool own = strcmp(p->pw_name, "perfcam") == 0;
		if ((own || strcmp(p->pw_name, "nobody") == 0) && p->pw_uid != 0) {
			*uid = p->pw_uid;
			*gid = p->pw_gid;
		}
		if (own)
			break;
	}
	fclose(f);
}

/* Only root can, and needs to: uid 0 owns files without any capability. In a user namespace that has
 * no other user (EINVAL) it stays who it is. */
static int become_ordinary(enum cam_confinement what)
{
	uid_t uid;
	gid_t gid;
	if (geteuid() != 0)
		return 0;
	find_user(&uid, &gid);
	/* Where it is refused the seccomp list alone keeps it from paths; newfstatat() tells then
	 * which files exist. */
	if (what == CAM_CONFINE_SYMBOLISER && chroot("/proc/self/fdinfo") == 0 && chdir("/"))
		return -errno;
	if (setgroups(0, NULL) && errno != EPERM)
		return -errno;
	if (setresgid(gid, gid, gid) && errno != EINVAL && errno != EPERM)
		return -errno;
	if (setresuid(uid, uid, uid) && errno != EINVAL && errno != EPERM)
		return -errno;
	return 0;
}

static void free_capabilities(cap_t *caps)
{
	if (*caps)
		cap_free(*caps);
}

static bool is_kept(cap_value_t v, const cap_value_t *keep, int n)
{
	for (int i = 0; i < n; i++) {
		if (keep[i] == v)
			return true;
	}
	return false;
}

/* Of those it has, only `keep` stay permitted and effective; none is inheritable or ambient. */
static int keep_capabilities(const cap_value_t *keep, int n)
{
	CAM_CLEANUP(free_capabilities) cap_t have = cap_get_proc();
	CAM_CLEANUP(free_capabilities) cap_t want = cap_init();
	if (!have || !want)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		cap_flag_value_t v = CAP_CLEAR;
		if (cap_get_flag(have, keep[i], CAP_PERMITTED, &v) == 0 && v == CAP_SET &&
		    (cap_set_flag(want, CAP_PERMITTED, 1, &keep[i], CAP_SET) ||
		     cap_set_flag(want, CAP_EFFECTIVE, 1, &keep[i], CAP_SET)))
			return -errno;
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	return cap_set_proc(want) ? -errno : 0;
}

/* Needs CAP_SETPCAP; without it nothing can be gained all the same (no_new_privs). */
static void lower_bounds(const cap_value_t *keep, int n)
{
	for (cap_value_t v = 0; CAP_IS_SUPPORTED(v); v++) {
		if (!is_kept(v, keep, n))
			cap_drop_bound(v);
	}
}

static int drop_privileges(enum cam_confinement what)
{
	static const cap_value_t opener[] = {CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE,
					     CAP_DAC_READ_SEARCH, CAP_SYSLOG};
	static const cap_value_t java[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN,
					   CAP_SYS_CHROOT, CAP_SETUID,		CAP_SETGID};
	static const cap_value_t journal[] = {CAP_DAC_READ_SEARCH};
	bool is_java = what == CAM_CONFINE_JAVA, is_journal = what == CAM_CONFINE_JOURNAL;
	bool is_opener = what == CAM_CONFINE_OPENER || is_java || is_journal;
	const cap_value_t *keep = is_java ? java : is_journal ? journal : opener;
	int n = is_java	     ? (int)(sizeof(java) / sizeof(java[0]))
		: is_journal ? 1
		: is_opener  ? (int)(sizeof(opener) / sizeof(opener[0]))
			     : 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	lower_bounds(keep, n);
	int err = is_opener ? 0 : become_ordinary(what);
	if (!err)
		err = keep_capabilities(keep, n);
	if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = -errno;
	return err;
}

/*
 * A change of user or capabilities made the kernel forget it. Who made the socket is the parent: if
 * that is not who the parent is now, it died in between.
 */
static int renew_death_signal(void)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	if (getsockopt(SOCKET_FD, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return 0; /* not started by cam_helper_start() */
	return peer.pid == getppid() ? 0 : -ESRCH;
}

/* From linux/landlock.h, whose version on the building machine may be older than the kernel. */
struct landlock_attr {
	uint64_t fs, net, scoped;
};

static int allow_below(int ruleset, int directory, uint64_t what)
{
	struct {
		uint64_t allowed;
		int32_t directory; /* the kernel's has no padding behind it */
	} below = {what, directory};
	return syscall(SYS_landlock_add_rule, ruleset, 1u /* below a path */, &below, 0u) ? -errno
											  : 0;
}

#define TO_READ (1u << 2 | 1u << 3) /* files, and lists of directories */
/* Also write, cut, make and remove files and directories. */
#define TO_WRITE (TO_READ | 1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 14)

/* Everything the kernel knows is handled; granted is how (TO_READ, TO_WRITE) below those n directories. 0, -EOPNOTSUPP, or
 * why not. */
static int forbid_files(const int *readable, size_t n, uint64_t how)
{
	static const int fs_bits[] = {13, 14, 15, 15,
				      16}; /* by version, from 1; then as the last */
	struct landlock_attr attr = {0};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* which version? */);
	if (abi < 1)
		return -EOPNOTSUPP;
	attr.fs = (1ull << fs_bits[abi < 5 ? abi - 1 : 4]) - 1;
	attr.net = abi >= 4 ? 3 : 0;	/* bind and connect TCP */
	attr.scoped = abi >= 6 ? 3 : 0; /* abstract sockets, signals */
	size_t bytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	CAM_AUTOCLOSE int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, bytes, 0u);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int err = allow_below(fd, readable[i], how & attr.fs);
		if (err)
			return err;
	}
	return syscall(SYS_landlock_restrict_self, fd, 0u) ? -errno : 0;
}

/* Files may be read, as who it is; not written, made, removed; executed where that is said. */
static int forbid_writing(bool may_execute)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* which version? */);
	if (abi < 1)
		return -EOPNOTSUPP;
	/* Bits 2 and 3 are reading files and directories, 13 came with version 2, 14 with 3. */
	struct landlock_attr attr = {
		.fs = 0x1ff2u | (may_execute ? 0 : 1u) | (abi >= 2 ? 1u << 13 : 0) |
		      (abi >= 3 ? 1u << 14 : 0),
		.scoped = may_execute && abi >= 6 ? 3 : 0, /* abstract sockets, signals */
	};
	size_t bytes = attr.scoped ? 24 : 8;
	CAM_AUTOCLOSE int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, bytes, 0u);
	if (fd < 0)
		return -errno;
	/* Scripts would not be themselves without it. */
	CAM_AUTOCLOSE int null = open("/dev/null", O_PATH | O_CLOEXEC);
	struct {
		uint64_t allowed;
		int32_t file; /* the kernel's has no padding behind it */
	} nowhere = {1u << 1 /* write files */, null};
	if (may_execute && null >= 0 &&
	    syscall(SYS_landlock_add_rule, fd, 1u /* below a path */, &nowhere, 0u))
		return -errno;
	return syscall(SYS_landlock_restrict_self, fd, 0u) ? -errno : 0;
}

/* A system call, and what an argument of it must be: (argument & mask) == value. */
struct rule {
	int call;
	struct {
		unsigned arg;
		uint64_t mask, value;
	} only[2];
};

#define MEMORY_RULES                                                                               \
	{SCMP_SYS(mmap), {{3, MAP_ANONYMOUS, MAP_ANONYMOUS}, {2, PROT_EXEC, 0}}},                  \
		{SCMP_SYS(mprotect), {{2, PROT_EXEC, 0}}}, {SCMP_SYS(munmap)}, {SCMP_SYS(mremap)}, \
		{SCMP_SYS(brk)}, {SCMP_SYS(madvise)}, {SCMP_SYS(futex)}, {SCMP_SYS(getrandom)},    \
		{SCMP_SYS(sched_getaffinity)},                                                     \
	{                                                                                          \
		SCMP_SYS(sched_yield)                                                              \
	}

/* sysinfo: qsort() asks it how much memory there is. */
#define COMMON_RULES                                                                               \
	{SCMP_SYS(read)}, {SCMP_SYS(pread64)}, {SCMP_SYS(recvmsg)}, {SCMP_SYS(sendmsg)},           \
		{SCMP_SYS(poll)}, {SCMP_SYS(ppoll)}, {SCMP_SYS(close)}, {SCMP_SYS(fstat)},         \
		{SCMP_SYS(newfstatat), {{3, ~0ull, AT_EMPTY_PATH}}}, {SCMP_SYS(clock_gettime)},    \
		{SCMP_SYS(gettimeofday)}, {SCMP_SYS(rt_sigreturn)}, {SCMP_SYS(restart_syscall)},   \
		{SCMP_SYS(exit)}, {SCMP_SYS(exit_group)}, {SCMP_SYS(getpid)}, {SCMP_SYS(sysinfo)}, \
	{                                                                                          \
		SCMP_SYS(gettid)                                                                   \
	}

static const struct rule symboliser_rules[] = {MEMORY_RULES, COMMON_RULES};

static const struct rule sealer_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(write)},
	{SCMP_SYS(pwrite64)},
	{SCMP_SYS(preadv)},
	{SCMP_SYS(pwritev)},
	{SCMP_SYS(writev)},
	{SCMP_SYS(lseek)},
	{SCMP_SYS(ftruncate)},
	{SCMP_SYS(fallocate)},
	{SCMP_SYS(fdatasync)},
	{SCMP_SYS(fsync)},
	{SCMP_SYS(fadvise64)},
	{SCMP_SYS(sync_file_range)},
	{SCMP_SYS(clock_nanosleep)},
};

#define NOT_TO_READ (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

static const struct rule opener_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(openat), {{2, NOT_TO_READ, 0}}},
	{SCMP_SYS(openat2)}, /* by a pointer: its flags cannot be seen from here */
	{SCMP_SYS(readlinkat)},
	{SCMP_SYS(newfstatat)},
	{SCMP_SYS(fstatfs)},
	{SCMP_SYS(ioctl), {{1, 0xffffffff, FS_IOC_GETVERSION}}},
	/* Threads. clone3() is not here, since its flags cannot be seen: libc turns to clone(). */
	{SCMP_SYS(clone), {{0, CLONE_THREAD, CLONE_THREAD}}},
	{SCMP_SYS(set_robust_list)},
	{SCMP_SYS(rseq)},
	{SCMP_SYS(rt_sigprocmask)},
	{SCMP_SYS(clock_nanosleep)},
};

/* The server listens already; it speaks to the recorder by a socket with a name. */
static const struct rule server_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(openat), {{2, NOT_TO_READ, 0}}},
	{SCMP_SYS(getdents64)},
	{SCMP_SYS(readlink)}, /* where the recorder's socket is */
	{SCMP_SYS(readlinkat)},
	{SCMP_SYS(newfstatat)},
	{SCMP_SYS(lseek)},
	{SCMP_SYS(fcntl)},
	{SCMP_SYS(fadvise64)},
	{SCMP_SYS(write)},
	{SCMP_SYS(writev)},
	{SCMP_SYS(accept4)},
	{SCMP_SYS(socket), {{0, ~0ull, AF_UNIX}}},
	{SCMP_SYS(connect)},
	{SCMP_SYS(recvfrom)},
	{SCMP_SYS(sendto)},
	{SCMP_SYS(shutdown)},
	{SCMP_SYS(setsockopt)},
	{SCMP_SYS(getsockopt)},
	{SCMP_SYS(getsockname)},
	{SCMP_SYS(getpeername)},
	{SCMP_SYS(eventfd2)},
	{SCMP_SYS(clone), {{0, CLONE_THREAD, CLONE_THREAD}}},
	{SCMP_SYS(set_robust_list)},
	{SCMP_SYS(rseq)},
	{SCMP_SYS(rt_sigprocmask)},
	{SCMP_SYS(rt_sigtimedwait)},
	{SCMP_SYS(clock_nanosleep)},
	{SCMP_SYS(getrusage)},
};

/* Files in a directory of its own, as the store makes them. */
static const struct rule importer_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(openat)},
	{SCMP_SYS(newfstatat)},
	{SCMP_SYS(fstatfs)},
	{SCMP_SYS(getdents64)},
	{SCMP_SYS(readlinkat)},
	{SCMP_SYS(mkdir)},
	{SCMP_SYS(mkdirat)},
	{SCMP_SYS(renameat2)},
	{SCMP_SYS(unlink)},
	{SCMP_SYS(unlinkat)},
	{SCMP_SYS(fchmod)},
	{SCMP_SYS(fchown)},
	{SCMP_SYS(fcntl)},
	{SCMP_SYS(flock)},
	{SCMP_SYS(lseek)},
	{SCMP_SYS(write)},
	{SCMP_SYS(writev)},
	{SCMP_SYS(pwrite64)},
	{SCMP_SYS(pwritev)},
	{SCMP_SYS(preadv)},
	{SCMP_SYS(ftruncate)},
	{SCMP_SYS(fallocate)},
	{SCMP_SYS(fsync)},
	{SCMP_SYS(fdatasync)},
	{SCMP_SYS(fadvise64)},
	{SCMP_SYS(sync_file_range)},
	{SCMP_SYS(rt_sigprocmask)},
	{SCMP_SYS(uname)},
	{SCMP_SYS(clock_nanosleep)},
};

/* libsystemd looks into directories, maps files, and waits for changes. */
static const struct rule journal_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(mmap), {{2, PROT_WRITE | PROT_EXEC, 0}}},
	{SCMP_SYS(openat), {{2, NOT_TO_READ, 0}}},
	{SCMP_SYS(getdents64)},
	{SCMP_SYS(readlinkat)},
	{SCMP_SYS(newfstatat)},
	{SCMP_SYS(statx)},
	{SCMP_SYS(fstatfs)},
	{SCMP_SYS(lseek)},
	{SCMP_SYS(fcntl)},
	{SCMP_SYS(inotify_init1)},
	{SCMP_SYS(inotify_add_watch)},
	{SCMP_SYS(inotify_rm_watch)},
	{SCMP_SYS(rt_sigprocmask)},
	{SCMP_SYS(clock_nanosleep)},
};

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/* proc/java.c: a process for each JVM, which becomes its user, signals it, and asks through its socket. */
static const struct rule java_rules[] = {
	MEMORY_RULES,
	COMMON_RULES,
	{SCMP_SYS(openat)},
	{SCMP_SYS(readlinkat)},
	{SCMP_SYS(newfstatat)},
	{SCMP_SYS(clone), {{0, NEW_NAMESPACES, 0}}},
	{SCMP_SYS(set_robust_list)},
	{SCMP_SYS(rseq)},
	{SCMP_SYS(rt_sigprocmask)},
	{SCMP_SYS(rt_sigaction)},
	{SCMP_SYS(wait4)},
	{SCMP_SYS(alarm)},
	{SCMP_SYS(clock_nanosleep)},
	{SCMP_SYS(pidfd_open)},
	{SCMP_SYS(pidfd_send_signal)},
	{SCMP_SYS(setns), {{1, ~0ull, CLONE_NEWNS}}},
	{SCMP_SYS(fchdir)},
	{SCMP_SYS(chdir)},
	{SCMP_SYS(chroot)},
	{SCMP_SYS(setgroups)},
	{SCMP_SYS(setresgid)},
	{SCMP_SYS(setresuid)},
	{SCMP_SYS(prctl), {{0, ~0ull, PR_SET_NO_NEW_PRIVS}}},
	{SCMP_SYS(unlink)},
	{SCMP_SYS(socket), {{0, ~0ull, AF_UNIX}}},
	{SCMP_SYS(setsockopt)},
	{SCMP_SYS(connect)},
	{SCMP_SYS(sendto)},
	{SCMP_SYS(recvfrom)},
};

/* What an opener has no use for and someone who drives it has; what a list allows stays allowed. */
static const int never[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(socket),
	SCMP_SYS(socketpair),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(kill),
	SCMP_SYS(tkill),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(keyctl),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(ftruncate),
	SCMP_SYS(truncate),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat2),
	SCMP_SYS(linkat),
	SCMP_SYS(symlinkat),
	SCMP_SYS(mknodat),
	SCMP_SYS(mkdirat),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchownat),
	SCMP_SYS(setresuid),
	SCMP_SYS(open_by_handle_at),
};

/* …but for these, which are a fetcher's work: connections, and the descriptor it is given to write to. */
static const struct rule fetcher_may[] = {
	{SCMP_SYS(socket)},   {SCMP_SYS(socketpair)}, {SCMP_SYS(connect)},   {SCMP_SYS(tkill)},
	{SCMP_SYS(pwrite64)}, {SCMP_SYS(pwritev)},    {SCMP_SYS(ftruncate)},
};

/* What the sanitizer's runtime needs to live and to report; no such build is ever installed. */
static const struct rule sanitizer_rules[] = {
	{SCMP_SYS(write)},	    {SCMP_SYS(sigaltstack)}, {SCMP_SYS(rt_sigaction)},
	{SCMP_SYS(rt_sigprocmask)}, {SCMP_SYS(prctl)},
};

static int allow(scmp_filter_ctx ctx, const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct scmp_arg_cmp args[2];
		unsigned k = 0;
		while (k < 2 && rules[i].only[k].mask) {
			args[k] = SCMP_CMP(rules[i].only[k].arg, SCMP_CMP_MASKED_EQ,
					   rules[i].only[k].mask, rules[i].only[k].value);
			k++;
		}
		int err = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, rules[i].call, k, args);
		if (err)
			return err;
	}
	return 0;
}

static bool is_on(const struct rule *rules, size_t n, int call)
{
	for (size_t i = 0; i < n; i++) {
		if (rules[i].call == call)
			return true;
	}
	return false;
}

/* Death for what is never of use, but for those on a list. */
static int kill_others(scmp_filter_ctx ctx, const struct rule *rules, size_t n)
{
	int err = 0;
	for (size_t i = 0; !err && i < sizeof(never) / sizeof(never[0]); i++) {
		if (!is_on(rules, n, never[i]))
			err = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, never[i], 0);
	}
	return err;
}

static int allow_and_kill(scmp_filter_ctx ctx, const struct rule *rules, size_t n)
{
	int err = allow(ctx, rules, n);
	return err ? err : kill_others(ctx, rules, n);
}

static int add_rules(scmp_filter_ctx ctx, enum cam_confinement what)
{
	int err;
	switch (what) {
	case CAM_CONFINE_OPENER:
		err = allow_and_kill(ctx, opener_rules,
				     sizeof(opener_rules) / sizeof(opener_rules[0]));
		break;
	case CAM_CONFINE_JAVA:
		err = allow_and_kill(ctx, java_rules, sizeof(java_rules) / sizeof(java_rules[0]));
		break;
	case CAM_CONFINE_JOURNAL:
		err = allow_and_kill(ctx, journal_rules,
				     sizeof(journal_rules) / sizeof(journal_rules[0]));
		break;
	case CAM_CONFINE_SERVER:
		err = allow_and_kill(ctx, server_rules,
				     sizeof(server_rules) / sizeof(server_rules[0]));
		break;
	case CAM_CONFINE_IMPORTER: /* libraries may try anything: it fails */
		err = allow(ctx, importer_rules,
			    sizeof(importer_rules) / sizeof(importer_rules[0]));
		break;
	case CAM_CONFINE_FETCHER:
		return kill_others(ctx, fetcher_may, sizeof(fetcher_may) / sizeof(fetcher_may[0]));
	case CAM_CONFINE_SYMBOLISER:
		err = allow(ctx, symboliser_rules,
			    sizeof(symboliser_rules) / sizeof(symboliser_rules[0]));
		break;
	default:
		err = allow(ctx, sealer_rules, sizeof(sealer_rules) / sizeof(sealer_rules[0]));
	}
	if (!err && SANITIZED)
		err = allow(ctx, sanitizer_rules,
			    sizeof(sanitizer_rules) / sizeof(sanitizer_rules[0]));
	return err;
}

static int filter_calls(enum cam_confinement what)
{
	uint32_t kill = SCMP_ACT_KILL_PROCESS;
	if (syscall(SYS_seccomp, 2u /* is this action available? */, 0u, &kill))
		return -EOPNOTSUPP;
	bool lenient = what == CAM_CONFINE_OPENER || what == CAM_CONFINE_JAVA ||
		       what == CAM_CONFINE_SERVER || what == CAM_CONFINE_JOURNAL ||
		       what == CAM_CONFINE_IMPORTER; /* libc may try */
	scmp_filter_ctx ctx = seccomp_init(what == CAM_CONFINE_FETCHER ? SCMP_ACT_ALLOW
					   : lenient		       ? SCMP_ACT_ERRNO(ENOSYS)
								       : SCMP_ACT_KILL_PROCESS);
	if (!ctx)
		return -ENOMEM;
	int err = add_rules(ctx, what);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}

int cam_confine(enum cam_confinement what)
{
	if (what < CAM_CONFINE_OPENER || what > CAM_CONFINE_FETCHER)
		return -EINVAL;
	int err = set_limits(what);
	if (!err)
		err = drop_privileges(what);
	if (!err)
		err = renew_death_signal();
	if (!err && what == CAM_CONFINE_FETCHER)
		err = forbid_writing(false);
	else if (!err && what != CAM_CONFINE_OPENER && what != CAM_CONFINE_JAVA)
		err = forbid_files(NULL, 0, 0);
	/* Without Landlock seccomp forbids the same: there is no call to open a file with. */
	if (err && err != -EOPNOTSUPP)
		return err;
	return filter_calls(what);
}

int cam_confine_server(const int *readable, size_t n)
{
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_DATA, SERVER_BYTES, SERVER_BYTES);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = forbid_files(readable, n, TO_READ);
	/* Without Landlock it is an ordinary user that can write nothing. */
	if (err && err != -EOPNOTSUPP)
		return err;
	return filter_calls(CAM_CONFINE_SERVER);
}

int cam_confine_journal(const int *directories, size_t n)
{
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_AS, JOURNAL_BYTES, JOURNAL_BYTES);
	if (!err)
		err = drop_privileges(CAM_CONFINE_JOURNAL);
	if (!err)
		err = renew_death_signal();
	if (!err)
		err = forbid_files(directories, n, TO_READ);
	/* Without Landlock it can read other files, and tell nobody but the recorder. */
	if (err && err != -EOPNOTSUPP)
		return err;
	return filter_calls(CAM_CONFINE_JOURNAL);
}

int cam_confine_hook(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : forbid_writing(true);
}

bool cam_confine_has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* which version? */) >= 1;
}

int cam_confine_importer(int directory)
{
	int err = limit(RLIMIT_CORE, 0, 0);
	if (!err && !SANITIZED)
		err = limit(RLIMIT_DATA, CAM_IMPORTER_BYTES, CAM_IMPORTER_BYTES);
	if (!err)
		err = limit(RLIMIT_CPU, SYMBOLISER_CPU_SECONDS, SYMBOLISER_CPU_SECONDS + 5);
	if (!err)
		err = limit(RLIMIT_NOFILE, SYMBOLISER_FILES, SYMBOLISER_FILES);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = forbid_files(&directory, 1, TO_WRITE);
	if (err && err != -EOPNOTSUPP)
		return err;
	/* Without Landlock it could open what its user may: then it reads nothing at all. */
	return err ? -EPERM : filter_calls(CAM_CONFINE_IMPORTER);
}
