// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "support_mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void assert_text(struct cam_text t, const char *want)
{
	char got[512];
	snprintf(got, sizeof(got), "%.*s", (int)t.n, t.p);
	assert_string_equal(got, want);
}

static const struct cam_mapping *mapping_at(const struct cam_process *p, uint64_t start)
{
	for (uint32_t i = 0; i < p->tidings.n_mappings; i++) {
		if (p->tidings.mappings[i].start == start)
			return &p->tidings.mappings[i];
	}
	fail_msg("no mapping at %lx", (unsigned long)start);
	return NULL;
}

static int become_odd(void *arg)
{
	(void)arg;
	return prctl(PR_SET_NAME, "a) R 1\n(b") || setresuid(1234, 0, 0);
}

static void a_process_is_described(void **state)
{
	(void)state;
	char dir[32], path[64], own[512];
	test_mkdir(dir);
	snprintf(path, sizeof(path), "%s/a file", dir);
	test_file(path, "x");
	uint64_t before = clock_ns(CLOCK_BOOTTIME);
	struct mapped child = mapped_start(path, NULL, become_odd, NULL);
	struct cam_process p = {0};
	uint64_t asked = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(cam_process_read(&p, child.pid, child.pid), 0);
	assert_text(p.tidings.comm, "a) R 1\n(b");
	assert_int_equal(p.tidings.uid, 1234);
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n > 0 ? n : 0] = '\0';
	assert_text(p.tidings.exe, own);
	uint64_t now = clock_ns(CLOCK_BOOTTIME), tick = CAM_NS_PER_SEC / 100;
	assert_true(p.tidings.start_ns + tick >= before && p.tidings.start_ns <= now);
	assert_true(p.tidings.maps_read_ns >= asked &&
		    p.tidings.maps_read_ns <= clock_ns(CLOCK_MONOTONIC));
	const struct cam_mapping *m = mapping_at(&p, child.m.start);
	assert_text(m->path, path);
	assert_int_equal(m->end, child.m.end);
	assert_int_equal(m->file_offset, 4096);
	assert_int_equal(m->inode, child.m.inode);
	assert_int_equal(m->major, child.m.major);
	assert_int_equal(m->minor, child.m.minor);
	mapped_end(&child);
	assert_int_equal(cam_process_read(&p, child.pid, child.pid), -ESRCH);
	cam_process_free(&p);
	test_rmdir(dir);
}

static bool has_mapping_of(const struct cam_process *p, const char *name)
{
	for (uint32_t i = 0; i < p->tidings.n_mappings; i++) {
		if (cam_text_ends(p->tidings.mappings[i].path, cam_text_of(name)))
			return true;
	}
	return false;
}

/* Two shells that become each other, all the time: an answer is of one or of the other. */
static void an_answer_is_of_one_program(void **state)
{
	(void)state;
	char dir[32], one[64], other[64], script[160];
	unsigned of_bash = 0, of_dash = 0;
	struct cam_process p = {0};
	test_mkdir(dir);
	snprintf(one, sizeof(one), "%s/one", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(script, sizeof(script), "exec /bin/bash --norc %s\n", other);
	test_file(one, script);
	snprintf(script, sizeof(script), "exec /bin/dash %s\n", one);
	test_file(other, script);
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/dash", "dash", one, NULL);
		_exit(1);
	}
	for (int i = 0; i < 2000 || ((!of_bash || !of_dash) && i < 100000); i++) {
		if (cam_process_read(&p, pid, pid))
			continue;
		bool bash = cam_text_ends(p.tidings.exe, CAM_TEXT("/bash"));
		bool dash = cam_text_ends(p.tidings.exe, CAM_TEXT("/dash"));
		assert_false(bash && has_mapping_of(&p, "/dash"));
		assert_false(dash && has_mapping_of(&p, "/bash"));
		of_bash += bash;
		of_dash += dash;
	}
	assert_true(of_bash && of_dash);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cam_process_free(&p);
	test_rmdir(dir);
}

/* Against what the shell's tools make of the same file. */
static void executable_mappings_are_those_of_maps(void **state)
{
	(void)state;
	struct cam_process p = {0};
	char command[256], line[8192];
	uint32_t n = 0;
	assert_int_equal(cam_process_read(&p, getpid(), getpid()), 0);
	snprintf(command, sizeof(command),
		 "grep -E '^[0-9a-f]+-[0-9a-f]+ ..x' /proc/%d/maps | tr -s ' ' | cut -d' ' "
		 "-f1,3-5",
		 (int)getpid());
	FILE *f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char want[256];
		const struct cam_mapping *m = &p.tidings.mappings[n];
		assert_true(n < p.tidings.n_mappings);
		snprintf(want, sizeof(want), "%08lx-%08lx %08lx %02x:%02x %lu\n",
			 (unsigned long)m->start, (unsigned long)m->end,
			 (unsigned long)m->file_offset, m->major, m->minor,
			 (unsigned long)m->inode);
		assert_string_equal(line, want);
		n++;
	}
	pclose(f);
	assert_int_equal(n, p.tidings.n_mappings);
	assert_true(n >= 3);
	assert_int_equal(p.left_out, 0);
	cam_process_free(&p);
}

static int unlink_it(void *path)
{
	return unlink(path);
}

static void check_path(const char *dir, const char *name, mapped_prepare_fn *after)
{
	char path[512];
	struct cam_process p = {0};
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	test_file(path, "x");
	struct mapped child = mapped_start(path, NULL, after, path);
	assert_int_equal(cam_process_read(&p, child.pid, child.pid), 0);
	assert_text(mapping_at(&p, child.m.start)->path, path);
	mapped_end(&child);
	cam_process_free(&p);
}

/* maps writes a newline as \012, and a backslash as it is. */
static void names_come_as_they_are(void **state)
{
	(void)state;
	char dir[32], many[201];
	test_mkdir(dir);
	check_path(dir, "two\nlines", NULL);
	check_path(dir, "no\\012line", NULL);
	check_path(dir, "both\\012and\n", NULL);
	check_path(dir, "  spaces ", NULL);
	check_path(dir, "\xff\x01 bytes", NULL);
	check_path(dir, "gone", unlink_it);
	memset(many, '\n', 200);
	many[200] = '\0';
	check_path(dir, many, NULL);
	test_rmdir(dir);
}

static int enter(void *dir)
{
	return chroot(dir) || chdir("/");
}

static void paths_are_those_the_process_sees(void **state)
{
	(void)state;
	char dir[32], path[64];
	struct cam_process p = {0};
	test_mkdir(dir);
	snprintf(path, sizeof(path), "%s/prog", dir);
	test_file(path, "x");
	struct mapped child = mapped_start("/prog", enter, NULL, dir);
	assert_int_equal(cam_process_read(&p, child.pid, child.pid), 0);
	assert_text(mapping_at(&p, child.m.start)->path, "/prog");
	mapped_end(&child);
	cam_process_free(&p);
	test_rmdir(dir);
}

static int map_anonymous(void *arg)
{
	(void)arg;
	return mmap((void *)0x10000000, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED;
}

static void anonymous_code_is_called_as_in_records(void **state)
{
	(void)state;
	struct cam_process p = {0};
	struct mapped child = mapped_start("/proc/self/exe", map_anonymous, NULL, NULL);
	assert_int_equal(cam_process_read(&p, child.pid, child.pid), 0);
	assert_text(mapping_at(&p, 0x10000000)->path, "//anon");
	mapped_end(&child);
	cam_process_free(&p);
}

static void *be_named(void *arg)
{
	int *pipes = arg;
	char c;
	pid_t tid = gettid();
	pthread_setname_np(pthread_self(), "worker )\n");
	if (write(pipes[1], &tid, sizeof(tid)) == sizeof(tid) && read(pipes[2], &c, 1) < 0)
		abort();
	return NULL;
}

static void a_thread_has_its_own_name(void **state)
{
	(void)state;
	int pipes[4];
	pthread_t t;
	pid_t tid = 0;
	char comm[CAM_ERRAND_MAX_COMM];
	struct cam_process p = {0};
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&t, NULL, be_named, pipes), 0);
	assert_int_equal(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(cam_process_comm(getpid(), tid, comm), 9);
	assert_memory_equal(comm, "worker )\n", 9);
	assert_int_equal(cam_process_read(&p, getpid(), tid), 0);
	assert_text(p.tidings.comm, "worker )\n");
	close(pipes[3]);
	pthread_join(t, NULL);
	assert_int_equal(cam_process_comm(getpid(), tid, comm), -ESRCH);
	assert_int_equal(cam_process_comm(getpid(), 1, comm), -ESRCH);
	assert_int_equal(cam_process_comm(0, 0, comm), -ESRCH);
	assert_int_equal(cam_process_comm(-1, 0, comm), -ESRCH);
	close(pipes[0]);
	close(pipes[1]);
	close(pipes[2]);
	cam_process_free(&p);
}

/* It ended but is not reaped: it has a name, and no memory. */
static void a_zombie_has_no_mappings(void **state)
{
	(void)state;
	struct cam_process p = {0};
	siginfo_t info;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, "late");
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(cam_process_read(&p, pid, pid), 0);
	assert_text(p.tidings.comm, "late");
	assert_int_equal(p.tidings.n_mappings, 0);
	assert_int_equal(p.tidings.exe.n, 0);
	waitpid(pid, NULL, 0);
	assert_int_equal(cam_process_read(&p, pid, pid), -ESRCH);
	cam_process_free(&p);
}

/* Ending in the middle of it: the answer is whole, or there is none. */
static void a_process_may_end_while_it_is_read(void **state)
{
	(void)state;
	struct cam_process p = {0};
	unsigned gone = 0, whole = 0;
	for (unsigned i = 0; i < 300; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			for (volatile unsigned k = 0; k < i * 300; k++) {
			}
			_exit(0);
		}
		/* Reaped by the kernel at once, so that its directory goes while it is read. */
		int err = cam_process_read(&p, pid, pid);
		assert_true(err == 0 || err == -ESRCH);
		gone += err != 0;
		whole += err == 0;
		if (!err)
			assert_true(p.tidings.start_ns > 0 && p.tidings.comm.n > 0);
	}
	assert_true(gone > 0 && whole > 0);
	cam_process_free(&p);
}

static int be_unreaped(void **state)
{
	(void)state;
	return signal(SIGCHLD, SIG_IGN) == SIG_ERR;
}

static int be_reaped(void **state)
{
	(void)state;
	return signal(SIGCHLD, SIG_DFL) == SIG_ERR;
}

static void the_cgroup_is_the_one_that_says_most(void **state)
{
	(void)state;
	static const struct {
		const char *all, *want;
	} cases[] = {
		{"0::/user.slice/a.scope\n", "/user.slice/a.scope"},
		{"0::/\n", "/"},
		{"", ""},
		{"rubbish\n1:x\n", ""},
		{"4:memory:/docker/abc\n1:cpu,cpuacct:/docker/cpu\n0::/\n", "/docker/abc"},
		{"7:perf_event:/p\n4:memory:/docker/abc/d/e\n0::/\n", "/p"},
		{"7:perf_event:/\n1:cpuacct,cpu:/only/cpu\n3:pids:/a/b/c/d\n", "/only/cpu"},
		{"9:name=systemd:/a/b\n3:pids:/a/b/c/d\n0::/\n", "/a/b/c/d"},
		{"9:name=systemd:/a/b\n0::/v2\n", "/v2"},
		{"0::/with:colons:in it", "/with:colons:in it"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_text(cam_cgroup_pick(cam_text_of(cases[i].all)), cases[i].want);
}

/* Each file is mapped twice, one behind the other; after some thousand there is no room left for their names. */
static void what_has_no_room_is_left_out(void **state)
{
	(void)state;
	enum { FILES = 8000, PAGE = 4096 };
	struct cam_process p = {0};
	char name[250], want[300];
	char *at = mmap(NULL, 2ul * FILES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%0248u", i);
		int fd = memfd_create(name, MFD_CLOEXEC);
		assert_true(fd >= 0 && ftruncate(fd, PAGE) == 0);
		for (unsigned k = 0; k < 2; k++)
			assert_ptr_not_equal(mmap(at + (2ul * i + k) * PAGE, PAGE,
						  PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
						  fd, 0),
					     MAP_FAILED);
		close(fd);
	}
	assert_int_equal(cam_process_read(&p, getpid(), getpid()), 0);
	assert_true(p.left_out > 0);
	for (uint32_t i = 0; i < p.tidings.n_mappings; i++) {
		const struct cam_mapping *m = &p.tidings.mappings[i];
		uint64_t page = (m->start - (uint64_t)(uintptr_t)at) / PAGE;
		if (m->start < (uint64_t)(uintptr_t)at || page >= 2 * FILES)
			continue;
		snprintf(want, sizeof(want), "/memfd:%0248u (deleted)", (unsigned)page / 2);
		assert_text(m->path, want);
	}
	cam_process_free(&p);
	munmap(at, 2ul * FILES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_described),
		cmocka_unit_test(an_answer_is_of_one_program),
		cmocka_unit_test(executable_mappings_are_those_of_maps),
		cmocka_unit_test(what_has_no_room_is_left_out),
		cmocka_unit_test(names_come_as_they_are),
		cmocka_unit_test(paths_are_those_the_process_sees),
		cmocka_unit_test(anonymous_code_is_called_as_in_records),
		cmocka_unit_test(a_thread_has_its_own_name),
		cmocka_unit_test(a_zombie_has_no_mappings),
		cmocka_unit_test_setup_teardown(a_process_may_end_while_it_is_read, be_unreaped,
						be_reaped),
		cmocka_unit_test(the_cgroup_is_the_one_that_says_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
