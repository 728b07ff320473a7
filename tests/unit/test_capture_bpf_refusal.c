// SPDX-License-Identifier: Apache-2.0
/*
 * Where BPF is not to be had the source says why and leaves nothing behind; where it is, a round asks
 * nothing of bpf(2). Each case runs in a child, which gives up what the case is about.
 */
#include "capture/witness.h"
#include "support_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;
	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Mappings of events and BPF maps: their number, and their bytes. */
static int count_mapped(size_t *bytes)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;
	*bytes = 0;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end;
		if (!strstr(line, "anon_inode:") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		n++;
		*bytes += end - start;
	}
	if (f)
		fclose(f);
	return n;
}

/* Opens once; the answer, and in *left what it left open or mapped. */
static int try_open(struct cam_bpf_refusal *why, int *left)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys"};
	struct cam_capture_options o = {.hz = 97, .event = CAM_EVENT_CPU_CLOCK};
	struct cam_capture *c = NULL;
	size_t bytes;
	int fds = count_entries("/proc/self/fd"), maps = count_mapped(&bytes);
	int err = cam_bpf_source_open(&o, &host, &c, why);
	if (!err)
		c->ops->close(c);
	*left = abs(count_entries("/proc/self/fd") - fds) + abs(count_mapped(&bytes) - maps);
	return err;
}

/* In a child: prepare(), then what open answers, as its exit status; its words in `text`. */
static int refusal_after(int (*prepare)(void), char *text, size_t bytes)
{
	int out[2];
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct cam_bpf_refusal why;
		char words[128] = "";
		int left = 0;
		if (prepare())
			_exit(201);
		int err = try_open(&why, &left);
		if (err)
			cam_bpf_refusal_text(&why, words, sizeof(words));
		if (write(out[1], words, strlen(words)) < 0 || left)
			_exit(202);
		_exit(-err);
	}
	close(out[1]);
	ssize_t n = read(out[0], text, bytes - 1);
	text[n > 0 ? n : 0] = '\0';
	close(out[0]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int nothing(void)
{
	return 0;
}

static int drop(const cap_value_t *caps, int n)
{
	cap_t c = cap_get_proc();
	int err = cap_set_flag(c, CAP_EFFECTIVE, n, caps, CAP_CLEAR) ||
		  cap_set_flag(c, CAP_PERMITTED, n, caps, CAP_CLEAR) || cap_set_proc(c);
	cap_free(c);
	return err;
}

static int without_bpf(void)
{
	static const cap_value_t caps[] = {CAP_BPF, CAP_SYS_ADMIN};
	return drop(caps, 2);
}

static int without_perfmon(void)
{
	static const cap_value_t caps[] = {CAP_PERFMON, CAP_SYS_ADMIN};
	return drop(caps, 2);
}

static int with_just_enough(void)
{
	cap_t c = cap_from_text("cap_bpf,cap_perfmon=ep");
	int err = cap_set_proc(c);
	cap_free(c);
	return err;
}

static int without_btf(void)
{
	return unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL);
}

static int refuse_call(uint32_t action, int only_command)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int err = only_command < 0
			  ? seccomp_rule_add(f, action, SCMP_SYS(bpf), 0)
			  : seccomp_rule_add(f, action, SCMP_SYS(bpf), 1,
					     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)only_command));
	if (!err)
		err = seccomp_load(f);
	seccomp_release(f);
	return err;
}

static int with_a_verifier_that_refuses(void)
{
	return refuse_call(SCMP_ACT_ERRNO(EACCES), BPF_PROG_LOAD);
}

static int on_an_old_kernel(void)
{
	return refuse_call(SCMP_ACT_ERRNO(EINVAL), BPF_MAP_CREATE);
}

static void each_refusal_says_why_and_leaves_nothing(void **state)
{
	(void)state;
	static const struct {
		int (*prepare)(void);
		int answer;
		const char *words[2];
	} cases[] = {
		{nothing, 0, {"", ""}},
		{with_just_enough, 0, {"", ""}},
		{without_bpf, -EPERM, {"a BPF ring buffer: not allowed", "(EPERM)"}},
		{without_perfmon, -EPERM, {"loading the program: not allowed", "(EPERM)"}},
		{without_btf, -EOPNOTSUPP, {"the kernel's BTF", "not possible (ENOENT)"}},
		{with_a_verifier_that_refuses, -EOPNOTSUPP, {"loading the program", "(EACCES)"}},
		{on_an_old_kernel, -EOPNOTSUPP, {"a BPF ring buffer: not possible", "(EINVAL)"}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];
		int answer = refusal_after(cases[i].prepare, text, sizeof(text));
		if (answer != cases[i].answer)
			fail_msg("case %zu: %d, %s", i, answer, text);
		assert_non_null(strstr(text, cases[i].words[0]));
		assert_non_null(strstr(text, cases[i].words[1]));
	}
}

/* The pids that BPF gives are not those of a nested namespace: the plain source knows better. */
static void another_pid_namespace_is_refused(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct cam_bpf_refusal why;
		int left, status;
		if (unshare(CLONE_NEWPID))
			_exit(1);
		pid_t inner = fork();
		if (inner == 0)
			_exit(try_open(&why, &left) == -EOPNOTSUPP && !left ? 0 : 2);
		_exit(waitpid(inner, &status, 0) == inner ? status >> 8 : 3);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* With so many descriptors: 0 opened, 1 refused and nothing left, else what went wrong. */
static int open_with_descriptors(rlim_t n)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {n, n};
		struct cam_bpf_refusal why;
		int left;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			_exit(2);
		int err = try_open(&why, &left);
		_exit(left ? 3 : !err ? 0 : why.step && why.error ? 1 : 4);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/*
 * They end after the first, the second, …: nothing is left behind wherever that is. A child each,
 * because libbpf remembers for the whole process what the kernel seemed unable to do.
 */
static void running_out_of_descriptors_leaves_nothing(void **state)
{
	(void)state;
	rlim_t n = 6;
	int answer;
	while ((answer = open_with_descriptors(n)) == 1 && n < 100)
		n++;
	assert_int_equal(answer, 0);
	assert_true(n > 20); /* it was refused at each step of the way */
}

/* Locked memory for the rings of two CPUs and not a page more: they are smaller, and it says so. */
static void little_locked_memory_makes_smaller_rings(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit none = {0, 0};
		struct log l = {0};
		/* Another user: root's account is shared with whoever else profiles here. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) || prctl(PR_SET_KEEPCAPS, 1) ||
		    setresuid(54321, 54321, 54321) || with_just_enough())
			_exit(201);
		struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 97}, NULL);
		drain_for(c, &l, 1050000000);
		uint32_t controls = 0;
		size_t mapped;
		/* What it says it has mapped is what is mapped; and the counters, the ends, the state. */
		count_mapped(&mapped);
		if (mapped != c->info.ring_bytes + 3 * (size_t)getpagesize())
			_exit(204);
		for (size_t i = 0; i < l.n; i++)
			controls += l.at[i].raw.type == CAM_RAW_COUNTS &&
				    l.at[i].raw.counts.control_hz == CAM_WITNESS_HZ;
		_exit(!c->info.rings_shrunk || c->info.side_ring_bytes >= 512 << 10 ? 202
		      : controls < c->info.cpus					    ? 203
										    : 0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void wrong_options_are_refused(void **state)
{
	(void)state;
	struct cam_capture *c = NULL;
	int32_t tid = 1;
	uint32_t far = 8000;
	struct cam_capture_options no_rate = {0}, threads = {.hz = 97, .tids = &tid, .n_tids = 1};
	struct cam_capture_options nowhere = {.hz = 97, .cpus = &far, .n_cpus = 1};
	struct cam_capture_options tight = {.hz = 97, .max_ring_bytes = 16384};
	assert_int_equal(cam_capture_open_bpf(&no_rate, &c), -EINVAL);
	assert_int_equal(cam_capture_open_bpf(&threads, &c), -EOPNOTSUPP);
	assert_int_equal(cam_capture_open_bpf(&nowhere, &c), -ENODEV);
	assert_int_equal(cam_capture_open_bpf(&tight, &c), -ENOMEM);
	assert_null(c);
}

/* Rounds, counts, the rescan and another rate, while bpf(2) would be the end of it. */
static void a_round_makes_no_bpf_call(void **state)
{
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct log l = {0};
		size_t counts = 0;
		struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 97}, NULL);
		if (refuse_call(SCMP_ACT_KILL_PROCESS, -1))
			_exit(201);
		drain_for(c, &l, 1100000000);
		if (c->ops->rescan(c) || c->ops->set_rate(c, 49))
			_exit(202);
		drain(c, &l);
		for (size_t i = 0; i < l.n; i++)
			counts += l.at[i].raw.type == CAM_RAW_COUNTS;
		_exit(counts >= c->info.cpus ? 0 : 203);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_refusal_says_why_and_leaves_nothing),
		cmocka_unit_test(another_pid_namespace_is_refused),
		cmocka_unit_test(running_out_of_descriptors_leaves_nothing),
		cmocka_unit_test(little_locked_memory_makes_smaller_rings),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(a_round_makes_no_bpf_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
