// SPDX-License-Identifier: Apache-2.0
/* Runs a program and all that it starts, counts their calls that may fail, and makes chosen ones fail:
 *
 *   fail_nth FILE [KIND FROM TO] -- COMMAND…
 *
 * Calls number FROM to TO of a KIND (see rules[]) fail with an error that such a call may have. FILE is made, `struct
 * torture` of torture.h, and holds every call afterwards; the allocations among them are fail_alloc.so's (LD_PRELOAD).
 * Prints one line of JSON to FILE.json: how the program ended, who died of which signal, and what failed.
 *
 * The program is traced, and a filter of seccomp stops it at these calls alone: whatever makes the call, the C
 * library's own buffers or a bare syscall(), is seen, and nothing has to be built for it. Addresses are not random. */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PIDS 4194304

static const char *const kinds[TORTURE_KINDS] = {"alloc", "map",  "open", "read",
						 "write", "sync", "name", "socket",
						 "event", "perf", "bpf",  "process"};
enum { ALLOC, MAP, OPEN, READ, WRITE, SYNC, NAME, SOCKET, EVENT, PERF, BPF, PROCESS };

static const struct rule {
	uint32_t number;
	uint8_t kind;
	int error;
} rules[] = {
	{SYS_mmap, MAP, ENOMEM},
	{SYS_mremap, MAP, ENOMEM},
	{SYS_brk, MAP, ENOMEM},
	{SYS_open, OPEN, EMFILE},
	{SYS_openat, OPEN, EMFILE},
	{SYS_openat2, OPEN, EMFILE},
	{SYS_memfd_create, OPEN, EMFILE},
	{SYS_dup, OPEN, EMFILE},
	{SYS_fcntl, OPEN, EMFILE},
	{SYS_read, READ, EIO},
	{SYS_pread64, READ, EIO},
	{SYS_readv, READ, EIO},
	{SYS_preadv, READ, EIO},
	{SYS_getdents64, READ, EIO},
	{SYS_fstat, READ, EIO},
	{SYS_newfstatat, READ, EIO},
	{SYS_statx, READ, EIO},
	{SYS_lseek, READ, EIO},
	{SYS_readlinkat, READ, EIO},
	{SYS_readlink, READ, EIO},
	{SYS_fstatfs, READ, EIO},
	{SYS_statfs, READ, EIO},
	{SYS_write, WRITE, ENOSPC},
	{SYS_pwrite64, WRITE, ENOSPC},
	{SYS_writev, WRITE, ENOSPC},
	{SYS_pwritev, WRITE, ENOSPC},
	{SYS_ftruncate, WRITE, ENOSPC},
	{SYS_fallocate, WRITE, ENOSPC},
	{SYS_copy_file_range, WRITE, ENOSPC},
	{SYS_sendfile, WRITE, ENOSPC},
	{SYS_fsync, SYNC, EIO},
	{SYS_fdatasync, SYNC, EIO},
	{SYS_sync_file_range, SYNC, EIO},
	{SYS_syncfs, SYNC, EIO},
	{SYS_rename, NAME, EIO},
	{SYS_renameat, NAME, EIO},
	{SYS_renameat2, NAME, EIO},
	{SYS_linkat, NAME, EIO},
	{SYS_unlink, NAME, EIO},
	{SYS_unlinkat, NAME, EIO},
	{SYS_mkdir, NAME, ENOSPC},
	{SYS_mkdirat, NAME, ENOSPC},
	{SYS_fchmod, NAME, EPERM},
	{SYS_fchown, NAME, EPERM},
	{SYS_flock, NAME, ENOLCK},
	{SYS_socket, SOCKET, EMFILE},
	{SYS_socketpair, SOCKET, EMFILE},
	{SYS_bind, SOCKET, EADDRINUSE},
	{SYS_listen, SOCKET, EADDRINUSE},
	{SYS_connect, SOCKET, ECONNREFUSED},
	{SYS_accept4, SOCKET, EMFILE},
	{SYS_accept, SOCKET, EMFILE},
	{SYS_sendmsg, SOCKET, ENOBUFS},
	{SYS_sendto, SOCKET, ENOBUFS},
	{SYS_recvmsg, SOCKET, ENOMEM},
	{SYS_recvfrom, SOCKET, ECONNRESET},
	{SYS_getsockopt, SOCKET, ENOBUFS},
	{SYS_setsockopt, SOCKET, ENOMEM},
	{SYS_epoll_create1, EVENT, EMFILE},
	{SYS_epoll_ctl, EVENT, ENOMEM},
	{SYS_eventfd2, EVENT, EMFILE},
	{SYS_timerfd_create, EVENT, EMFILE},
	{SYS_timerfd_settime, EVENT, ENOMEM},
	{SYS_signalfd4, EVENT, EMFILE},
	{SYS_inotify_init1, EVENT, EMFILE},
	{SYS_pipe2, EVENT, EMFILE},
	{SYS_ioctl, EVENT, ENOMEM},
	{SYS_poll, EVENT, EINTR},
	{SYS_ppoll, EVENT, EINTR},
	{SYS_perf_event_open, PERF, EMFILE},
	{SYS_bpf, BPF, ENOMEM},
	{SYS_clone, PROCESS, EAGAIN},
	{SYS_clone3, PROCESS, EAGAIN},
	{SYS_fork, PROCESS, EAGAIN},
	{SYS_vfork, PROCESS, EAGAIN},
	{SYS_execve, PROCESS, ENOMEM},
	{SYS_pidfd_open, PROCESS, EMFILE},
	{SYS_prctl, PROCESS, EINVAL},
	{SYS_seccomp, PROCESS, ENOMEM},
	{SYS_setrlimit, PROCESS, EPERM},
	{SYS_prlimit64, PROCESS, EPERM},
	{SYS_capset, PROCESS, EPERM},
	{SYS_setresuid, PROCESS, EAGAIN},
	{SYS_setresgid, PROCESS, EPERM},
	{SYS_setgroups, PROCESS, ENOMEM},
	{SYS_sched_setaffinity, PROCESS, EINVAL},
	{SYS_setpriority, PROCESS, EACCES},
};
#define N_RULES (sizeof rules / sizeof *rules)

static struct torture *torture;
static uint8_t loading[MAX_PIDS];
static unsigned deaths;
static char died[4096] = "";
static int report_fd = -1;

static void stop(const char *what)
{
	fprintf(stderr, "fail_nth: %s: %s\n", what, strerror(errno));
	exit(125);
}

static const struct rule *rule_of(uint64_t number)
{
	for (size_t i = 0; i < N_RULES; i++)
		if (rules[i].number == number)
			return &rules[i];
	return NULL;
}

/* The filter compares the call with each number in turn; the last instruction but one allows, the last stops. */
static void install_filter(void)
{
	struct sock_filter code[N_RULES + 4];
	unsigned n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_RULES; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rules[i].number,
						       (uint8_t)(N_RULES - i + 1), 0);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		stop("seccomp");
}

/* Descriptors of signals, timers and wake-ups are no files: reading and writing them does not fail. */
static int is_made_up(pid_t pid, int fd)
{
	char path[64], to[16] = "";
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	return readlink(path, to, sizeof to - 1) > 0 && !strncmp(to, "anon_inode:", 11);
}

/* Not tried: the loader's calls, and fcntl() that makes no descriptor. */
static int is_tried(pid_t pid, const struct user_regs_struct *r)
{
	if (loading[pid])
		return 0;
	if (r->orig_rax == SYS_fcntl)
		return r->rsi == F_DUPFD || r->rsi == F_DUPFD_CLOEXEC;
	if (r->orig_rax == SYS_read || r->orig_rax == SYS_write)
		return !is_made_up(pid, (int)r->rdi);
	return 1;
}

static void at_call(pid_t pid)
{
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, 0, &r))
		return;
	if (r.orig_rax == SYS_getpgid) {
		if ((int)r.rdi == TORTURE_BEGUN)
			loading[pid] = 0;
		return;
	}
	const struct rule *rule = rule_of(r.orig_rax);
	if (!rule || !is_tried(pid, &r))
		return;
	uint64_t words[128];
	struct iovec to = {words, sizeof words}, from = {(void *)r.rsp, sizeof words};
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);
	if (!torture_fails(torture, rule->kind, rule->number, words, n > 0 ? (unsigned)n / 8 : 0))
		return;
	/* No kernel interrupts a wait for ever: one that is asked for again goes on. */
	static int interrupted;
	if (rule->error == EINTR && (interrupted = !interrupted) == 0)
		return;
	/* The kernel skips a call of number -1, and what it returns is what is there. */
	r.rax = rule->number == SYS_brk ? 0 : (uint64_t)-rule->error;
	r.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
}

/* Signals that a program has sent to itself, by a fault of its own; SIGSYS: a helper did what it must not. */
static int is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL ||
	       signal == SIGFPE || signal == SIGSYS;
}

/* Which file the address lies in, and its place there. */
static void print_place(pid_t pid, unsigned long long address, char *to, size_t size)
{
	char path[64], line[512], file[256];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	snprintf(to, size, "%llx", address);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long long begin, end, offset;
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %255s", &begin, &end, &offset, file) ==
			    4 &&
		    address >= begin && address < end)
			snprintf(to, size, "%s+%llx", file, address - begin + offset);
	}
	if (maps)
		fclose(maps);
}

/* Who, of which signal, and where in the program: the words of its stack that look like it. */
static void note_death(pid_t pid, int signal)
{
	struct user_regs_struct r = {0};
	uint64_t words[1024] = {0};
	char where[384], path[64], name[64] = "";
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	struct iovec to = {words, sizeof words}, from = {(void *)r.rsp, sizeof words};
	process_vm_readv(pid, &to, 1, &from, 1, 0);
	print_place(pid, r.rip, where, sizeof where);
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char command[256] = "";
	if (fd >= 0 && read(fd, command, sizeof command - 1) > 0)
		snprintf(name, sizeof name, "%s", command + strlen(command) + 1);
	if (fd >= 0)
		close(fd);
	size_t at = strlen(died);
	if (at + 768 > sizeof died)
		return;
	at += (size_t)snprintf(died + at, sizeof died - at,
			       "%s{\"signal\":%d,\"who\":\"%s\",\"where\":\"%s\",\"at\":[\"%llx\"",
			       deaths++ ? "," : "", signal, name, where, r.rip);
	for (unsigned i = 0, found = 0; i < 1024 && found < 6; i++)
		if (words[i] > torture->text_begin && words[i] < torture->text_end && ++found)
			at += (size_t)snprintf(died + at, sizeof died - at, ",\"%llx\"",
					       (unsigned long long)words[i]);
	snprintf(died + at, sizeof died - at, "]}");
}

/* One stop of one process; goes on with it. */
static void at_stop(pid_t pid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	if (event == PTRACE_EVENT_SECCOMP)
		at_call(pid);
	if (event == PTRACE_EVENT_EXEC)
		loading[pid] = 1;
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		ptrace(PTRACE_LISTEN, pid, 0, 0);
		return;
	}
	if (!event && is_fault(signal))
		note_death(pid, signal);
	ptrace(PTRACE_CONT, pid, 0, event ? 0 : signal);
}

static int trace(pid_t child)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return -1;
		if (WIFSTOPPED(status)) {
			at_stop(pid, status);
			continue;
		}
		loading[pid] = 0;
		if (pid == child)
			return status;
	}
}

static void run(char **argv)
{
	raise(SIGSTOP);
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		stop("personality");
	install_filter();
	execvp(argv[0], argv);
	stop(argv[0]);
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, sizeof *torture))
		stop(path);
	torture = mmap(NULL, sizeof *torture, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (torture == MAP_FAILED || setenv("TORTURE", path, 1))
		stop(path);
	close(fd);
	torture->kind = TORTURE_KINDS;
}

static void print_report(int status)
{
	dprintf(report_fd,
		"{\"exit\":%d,\"signal\":%d,\"deaths\":[%s],\"failed\":%llu,\"call\":%u,\"callers\":[",
		WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		WIFSIGNALED(status) ? WTERMSIG(status) : 0, died,
		(unsigned long long)torture->failed, torture->first.number);
	for (unsigned i = 0; i < TORTURE_CALLERS; i++)
		dprintf(report_fd, "%s\"%llx\"", i ? "," : "",
			(unsigned long long)torture->first.callers[i]);
	dprintf(report_fd, "],\"counted\":{");
	for (unsigned i = 0; i < TORTURE_KINDS; i++)
		dprintf(report_fd, "%s\"%s\":%llu", i ? "," : "", kinds[i],
			(unsigned long long)torture->counted[i]);
	dprintf(report_fd, "}}\n");
}

int main(int argc, char **argv)
{
	int at = argc > 2 && strcmp(argv[2], "--") ? 5 : 2;
	if (argc < at + 2 || strcmp(argv[at], "--")) {
		fprintf(stderr, "usage: fail_nth FILE [KIND FROM TO] -- COMMAND...\n");
		return 125;
	}
	map_file(argv[1]);
	char report[4096];
	snprintf(report, sizeof report, "%s.json", argv[1]);
	report_fd = open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (report_fd < 0)
		stop(report);
	if (at == 5) {
		for (unsigned i = 0; i < TORTURE_KINDS; i++)
			if (!strcmp(kinds[i], argv[2]))
				torture->kind = i;
		torture->from = strtoull(argv[3], NULL, 10);
		torture->to = strtoull(argv[4], NULL, 10);
	}
	pid_t child = fork();
	if (child == 0)
		run(argv + at + 1);
	int status;
	if (child < 0 || waitpid(child, &status, WUNTRACED) != child)
		stop("fork");
	long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	loading[child] = 1;
	if (ptrace(PTRACE_SEIZE, child, 0, options) || kill(child, SIGCONT))
		stop("ptrace");
	print_report(trace(child));
	return 0;
}
