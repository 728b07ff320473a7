// SPDX-License-Identifier: Apache-2.0
/*
 * Host counters: invented trees of /proc whose answers are known, and the real one, where each
 * value must lie between what python, reading the same files before and after, saw.
 */
#include "base/units.h"
#include "capture/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define S    CAM_NS_PER_SEC
#define TICK (S / 100)

/* The rows of one read. */
struct rows {
	struct cam_counter row[8192];
	size_t n;
	int answer;
};

static int on_counter(void *arg, const struct cam_counter *c)
{
	struct rows *r = arg;
	assert_true(r->n < sizeof(r->row) / sizeof(r->row[0]));
	assert_true((unsigned)c->kind < CAM_COUNTER_MAX);
	r->row[r->n++] = *c;
	return r->answer;
}

static const struct cam_counter *find(const struct rows *r, enum cam_counter_kind kind,
				      uint32_t subject)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].kind == kind && r->row[i].subject == subject)
			return &r->row[i];
	return NULL;
}

static uint64_t value(const struct rows *r, enum cam_counter_kind kind, uint32_t subject)
{
	const struct cam_counter *c = find(r, kind, subject);
	return c ? c->value : 0;
}

/* A tree of files that a test writes. */
struct tree {
	char dir[64];
	struct rows *r;
	struct cam_host *h;
};

static void put(const struct tree *t, const char *file, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct tree tree_new(void)
{
	struct tree t = {.dir = "/tmp/perfcam-host-XXXXXX"};
	assert_non_null(mkdtemp(t.dir));
	t.r = calloc(1, sizeof(*t.r));
	assert_non_null(t.r);
	static const char *const dirs[] = {"pressure", "net", "77", "cg"};
	for (unsigned i = 0; i < 4; i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", t.dir, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	return t;
}

static void tree_open(struct tree *t)
{
	char cgroup[128];
	snprintf(cgroup, sizeof(cgroup), "%s/cg", t->dir);
	struct cam_host_options o = {t->dir, cgroup, on_counter, t->r};
	assert_int_equal(cam_host_open(&o, &t->h), 0);
}

static void tree_read(struct tree *t, uint64_t now)
{
	t->r->n = 0;
	assert_int_equal(cam_host_read(t->h, now), 0);
}

static void tree_free(struct tree *t)
{
	char command[128];
	cam_host_close(t->h);
	free(t->r);
	snprintf(command, sizeof(command), "rm -rf %s", t->dir);
	assert_int_equal(system(command), 0);
}

/* n CPUs after `second` seconds; CPU i was busy for i ticks of each. `hole`: a CPU that is not
 * there. The line of interrupts has `irqs` numbers. */
static void put_stat(const struct tree *t, unsigned n, unsigned second, unsigned hole,
		     unsigned irqs)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/stat", t->dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "cpu  1 2 3 4 5 6 7 8 9 10\n");
	for (unsigned i = 0; i < n; i++) {
		unsigned busy = i % 50, k = second;
		if (i == hole)
			continue;
		/* guest and guest_nice are part of user and nice. */
		fprintf(f, "cpu%u %u %u %u %u %u %u %u %u %u %u\n", i, 1000 + busy * k, 3 * k,
			7 + 2 * k, 5000 + (80 - busy) * k, 10 * k, k, 2 * k, 2 * k, busy * k,
			3 * k);
	}
	fprintf(f, "intr 123456");
	for (unsigned i = 0; i < irqs; i++)
		fprintf(f, " %u", i % 7);
	fprintf(f,
		"\nctxt %u\nbtime 1794717264\nprocesses 618157\nprocs_running %u\n"
		"procs_blocked 3\nsoftirq 1 2 3\n",
		5000 * second, 4 + second);
	assert_int_equal(fclose(f), 0);
}

static void the_counters_of_many_cpus(void **state)
{
	(void)state;
	static const unsigned sizes[] = {1, 2, 96, 512, CAM_HOST_MAX_CPUS};
	for (unsigned k = 0; k < 5; k++) {
		struct tree t = tree_new();
		/* With more interrupts than the buffer holds, and with none. */
		put_stat(&t, sizes[k], 1, UINT32_MAX, k % 2 ? 0 : 60000);
		tree_open(&t);
		tree_read(&t, 10 * S);
		assert_int_equal(t.r->n, 1);
		assert_int_equal(value(t.r, CAM_COUNTER_RUNNABLE, 0), 5);
		assert_int_equal(t.r->row[0].span_ns, 0);
		put_stat(&t, sizes[k], 2, UINT32_MAX, k % 2 ? 0 : 60000);
		tree_read(&t, 11 * S + 5);
		for (unsigned i = 0; i < sizes[k]; i++) {
			assert_int_equal(value(t.r, CAM_COUNTER_USER, i), (i % 50 + 3) * TICK);
			assert_int_equal(value(t.r, CAM_COUNTER_SYSTEM, i), 2 * TICK);
			assert_int_equal(value(t.r, CAM_COUNTER_IRQ, i), TICK);
			assert_int_equal(value(t.r, CAM_COUNTER_SOFTIRQ, i), 2 * TICK);
			assert_int_equal(value(t.r, CAM_COUNTER_STEAL, i), 2 * TICK);
			const struct cam_counter *idle = find(t.r, CAM_COUNTER_IDLE, i);
			assert_int_equal(idle->value, (90 - i % 50) * TICK);
			assert_int_equal(idle->span_ns, S + 5);
			assert_int_equal(idle->time_ns, 11 * S + 5);
			/* All of the second, once. */
			assert_int_equal(value(t.r, CAM_COUNTER_USER, i) + idle->value + 7 * TICK,
					 S);
		}
		assert_int_equal(value(t.r, CAM_COUNTER_SWITCHES, 0), 5000);
		assert_int_equal(value(t.r, CAM_COUNTER_RUNNABLE, 0), 6);
		assert_int_equal(t.r->n, 6 * sizes[k] + 2);
		assert_int_equal(cam_host_stats(t.h).cpus, sizes[k]);
		assert_int_equal(cam_host_read(t.h, 11 * S), -EINVAL);
		tree_free(&t);
	}
}

static void a_cpu_that_went_and_came_begins_anew(void **state)
{
	(void)state;
	struct tree t = tree_new();
	put_stat(&t, 4, 1, UINT32_MAX, 10);
	tree_open(&t);
	tree_read(&t, 10 * S);
	put_stat(&t, 4, 2, 2, 10);
	tree_read(&t, 11 * S);
	assert_null(find(t.r, CAM_COUNTER_IDLE, 2));
	assert_non_null(find(t.r, CAM_COUNTER_IDLE, 3));
	put_stat(&t, 4, 3, UINT32_MAX, 10);
	tree_read(&t, 12 * S);
	assert_null(find(t.r, CAM_COUNTER_IDLE, 2));
	put_stat(&t, 4, 4, UINT32_MAX, 10);
	tree_read(&t, 13 * S);
	assert_int_equal(value(t.r, CAM_COUNTER_IDLE, 2), 88 * TICK);
	assert_int_equal(find(t.r, CAM_COUNTER_IDLE, 2)->span_ns, S);
	/* More CPUs than there were, and more than may be. */
	put_stat(&t, CAM_HOST_MAX_CPUS + 3, 5, UINT32_MAX, 10);
	tree_read(&t, 14 * S);
	assert_int_equal(cam_host_stats(t.h).no_room, 3);
	assert_null(find(t.r, CAM_COUNTER_IDLE, 4));
	assert_int_equal(cam_host_stats(t.h).backwards, 0);
	tree_free(&t);
}

/* Idle does go backwards on real kernels. */
static void what_goes_backwards_is_not_given_twice(void **state)
{
	(void)state;
	static const unsigned idle[] = {1000, 1100, 1098, 1199, 50, 150};
	static const unsigned given[] = {0, 100, 0, 99, 0, 100};
	struct tree t = tree_new();
	for (unsigned i = 0; i < 6; i++) {
		char text[128];
		snprintf(text, sizeof(text), "cpu0 5 0 0 %u 0 0 0 0 0 0\n", idle[i]);
		put(&t, "stat", text);
		if (!i)
			tree_open(&t);
		tree_read(&t, (10 + i) * S);
		assert_int_equal(value(t.r, CAM_COUNTER_IDLE, 0), given[i] * TICK);
		/* Nothing else moved: zeros are left out. */
		assert_int_equal(t.r->n, i ? 1 : 0);
	}
	assert_int_equal(cam_host_stats(t.h).backwards, 2);
	tree_free(&t);
}

static void the_other_files(void **state)
{
	(void)state;
	struct tree t = tree_new();
	put_stat(&t, 1, 1, UINT32_MAX, 10);
	put(&t, "pressure/cpu",
	    "some avg10=52.15 avg60=13.46 avg300=6.53 total=1000\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=777\n");
	put(&t, "pressure/io",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=10\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
	put(&t, "net/softnet_stat",
	    "000004af 00000001 0000000a 00000000\n"
	    "00004cd1 ffffffff 00000000 00000000\n");
	put(&t, "cgroups",
	    "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
	    "memory\t4\t31\t1\npids\t8\t1\t1\n");
	tree_open(&t);
	tree_read(&t, 10 * S);
	assert_int_equal(value(t.r, CAM_COUNTER_MEMORY_CGROUPS, 0), 31);
	assert_int_equal(t.r->n, 2);
	put_stat(&t, 1, 2, UINT32_MAX, 10);
	put(&t, "pressure/cpu",
	    "some avg10=52.15 avg60=13.46 avg300=6.53 total=501000\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=999\n");
	put(&t, "pressure/io",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=10\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=8\n");
	put(&t, "net/softnet_stat",
	    "000004af 00000004 0000001b 00000000\n"
	    "00004cd1 ffffffff 00000000 00000000\n");
	tree_read(&t, 11 * S);
	assert_int_equal(value(t.r, CAM_COUNTER_PSI_CPU, 0), 500 * CAM_NS_PER_MS);
	assert_int_equal(value(t.r, CAM_COUNTER_PSI_IO_FULL, 0), 3000);
	/* On, and nobody waited: said. Off: not said. */
	assert_non_null(find(t.r, CAM_COUNTER_PSI_IO, 0));
	assert_null(find(t.r, CAM_COUNTER_PSI_MEMORY, 0));
	assert_int_equal(value(t.r, CAM_COUNTER_SOFTNET_DROPPED, 0), 3);
	assert_int_equal(value(t.r, CAM_COUNTER_SOFTNET_SQUEEZED, 0), 0x11);
	/* A CPU went, and its counts with it. */
	put(&t, "net/softnet_stat", "000004af 00000005 0000001b 00000000\n");
	tree_read(&t, 12 * S);
	assert_null(find(t.r, CAM_COUNTER_SOFTNET_DROPPED, 0));
	assert_int_equal(cam_host_stats(t.h).backwards, 1);
	/* The taker's failure is handed on, after all was read. */
	t.r->answer = -ENOSPC;
	t.r->n = 0;
	assert_int_equal(cam_host_read(t.h, 13 * S), -ENOSPC);
	assert_non_null(find(t.r, CAM_COUNTER_MEMORY_CGROUPS, 0));
	tree_free(&t);
}

static void memory_cgroups_of_version_2(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t n;
	} cases[] = {
		{"nr_descendants 40\nnr_subsys_memory 31\nnr_dying_descendants 9\n"
		 "nr_dying_subsys_memory 2000\n",
		 2031},
		{"nr_descendants 40\nnr_dying_descendants 9\n", 49},
		{"something else\n", 0},
	};
	for (unsigned i = 0; i < 3; i++) {
		struct tree t = tree_new();
		put_stat(&t, 1, 1, UINT32_MAX, 10);
		put(&t, "cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\n");
		put(&t, "cg/cgroup.stat", cases[i].text);
		tree_open(&t);
		tree_read(&t, 10 * S);
		assert_int_equal(value(t.r, CAM_COUNTER_MEMORY_CGROUPS, 0), cases[i].n);
		assert_int_equal(t.r->n, cases[i].n ? 2 : 1);
		tree_free(&t);
	}
}

static void a_broken_tree_gives_what_it_has(void **state)
{
	(void)state;
	struct rows r = {.n = 0};
	struct cam_host *h;
	struct cam_host_options none = {"/nonexistent", NULL, on_counter, &r};
	assert_int_equal(cam_host_open(&none, &h), -ENOENT);
	struct tree t = tree_new();
	put(&t, "stat",
	    "cpu0 1 2\ncpu1 x\ncpu99999999999999999999 1 1 1 1 1 1 1 1\n"
	    "cpu2 1 2 3 4 5 6 7 8\nctxt -\nprocs_running\n");
	put(&t, "pressure/cpu", "total=\nsome total=x\nsome total=99999999999999999999999\n");
	put(&t, "net/softnet_stat", "zz zz\n\n00000001\n");
	tree_open(&t);
	tree_read(&t, 10 * S);
	tree_read(&t, 11 * S);
	assert_int_equal(cam_host_stats(t.h).unreadable, 6);
	assert_int_equal(t.r->n, 1);
	assert_int_equal(value(t.r, CAM_COUNTER_IDLE, 2), 0);
	put(&t, "stat", "");
	tree_read(&t, 12 * S);
	assert_int_equal(t.r->n, 0);
	tree_free(&t);
}

static void the_delay_of_an_invented_thread(void **state)
{
	(void)state;
	struct tree t = tree_new();
	put_stat(&t, 1, 1, UINT32_MAX, 10);
	/* Started at 1234 ticks; a name as hostile as can be. */
	put(&t, "77/stat", "77 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1234 22 23\n");
	put(&t, "77/schedstat", "1000000 500 3\n");
	tree_open(&t);
	struct cam_host_watch w[] = {{77, 1234 * TICK + 17}, {78, 0}, {0, 0}, {-1, 0}};
	cam_host_watch(t.h, 9 * S, w, 4);
	assert_int_equal(cam_host_stats(t.h).watched, 1);
	put(&t, "77/schedstat", "2000000 900500 9\n");
	tree_read(&t, 10 * S);
	assert_int_equal(value(t.r, CAM_COUNTER_RUN_DELAY, 77), 900000);
	assert_int_equal(find(t.r, CAM_COUNTER_RUN_DELAY, 77)->span_ns, S);
	cam_host_watch(t.h, 10 * S, w, 1);
	put(&t, "77/schedstat", "2000000 400 9\n");
	tree_read(&t, 11 * S);
	assert_null(find(t.r, CAM_COUNTER_RUN_DELAY, 77));
	assert_int_equal(cam_host_stats(t.h).backwards, 1);
	/* Another process has the number now. */
	w[0].start_ns = 1300 * TICK;
	cam_host_watch(t.h, 11 * S, w, 1);
	assert_int_equal(cam_host_stats(t.h).watched, 0);
	tree_free(&t);
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

/* What python reads: six numbers for each CPU in order, then ctxt, PSI of cpu, and dropped and
 * squeezed packets. */
#define SEEN_CPUS 64u
struct seen {
	uint64_t cpu[SEEN_CPUS][6];
	uint64_t ctxt, psi, dropped, squeezed;
	unsigned cpus;
};

static void look(struct seen *s)
{
	FILE *f = popen(
		"python3 -c '\n"
		"import re\n"
		"for l in open(\"/proc/stat\"):\n"
		"    m = re.match(r\"cpu\\d+ (.*)\", l)\n"
		"    if m:\n"
		"        v = [int(x) for x in m.group(1).split()]\n"
		"        print(v[0] + v[1], v[2], v[5], v[6], v[7], v[3] + v[4])\n"
		"    if l.startswith(\"ctxt\"): ctxt = l.split()[1]\n"
		"try: psi = re.search(r\"some .*total=(\\d+)\", open(\"/proc/pressure/cpu\").read())[1]\n"
		"except OSError: psi = 0\n"
		"net = [l.split() for l in open(\"/proc/net/softnet_stat\")]\n"
		"print(\"end\", ctxt, psi, sum(int(l[1], 16) for l in net), "
		"sum(int(l[2], 16) for l in net))\n"
		"'",
		"r");
	assert_non_null(f);
	s->cpus = 0;
	for (unsigned long v[6]; s->cpus < SEEN_CPUS; s->cpus++) {
		if (fscanf(f, "%lu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2], &v[3], &v[4],
			   &v[5]) != 6)
			break;
		for (unsigned k = 0; k < 6; k++)
			s->cpu[s->cpus][k] = v[k];
	}
	unsigned long v[4];
	assert_int_equal(fscanf(f, " end %lu %lu %lu %lu", &v[0], &v[1], &v[2], &v[3]), 4);
	s->ctxt = v[0];
	s->psi = v[1];
	s->dropped = v[2];
	s->squeezed = v[3];
	assert_int_equal(pclose(f), 0);
}

/* got lies between the smallest and the largest difference that the outer readings allow. */
static void assert_between(uint64_t got, const uint64_t v[4], uint64_t unit, uint64_t slack)
{
	uint64_t least = v[2] > v[1] + slack ? v[2] - v[1] - slack : 0;
	assert_in_range(got / unit, least, v[3] - v[0] + slack);
}

static void this_host_as_python_sees_it(void **state)
{
	(void)state;
	struct rows *r = calloc(1, sizeof(*r));
	struct seen *s = calloc(4, sizeof(*s));
	assert_non_null(r);
	assert_non_null(s);
	struct cam_host_options o = {NULL, NULL, on_counter, r};
	struct cam_host *h;
	assert_int_equal(cam_host_open(&o, &h), 0);
	look(&s[0]);
	assert_int_equal(cam_host_read(h, now(CLOCK_MONOTONIC)), 0);
	look(&s[1]);
	usleep(500000);
	look(&s[2]);
	r->n = 0;
	assert_int_equal(cam_host_read(h, now(CLOCK_MONOTONIC)), 0);
	look(&s[3]);
	assert_true(s[0].cpus > 0);
	assert_int_equal(cam_host_stats(h).cpus, s[0].cpus);
	uint64_t all = 0;
	for (unsigned cpu = 0; cpu < s[0].cpus; cpu++) {
		for (unsigned k = 0; k < 6; k++) {
			uint64_t v[] = {s[0].cpu[cpu][k], s[1].cpu[cpu][k], s[2].cpu[cpu][k],
					s[3].cpu[cpu][k]};
			uint64_t got = value(r, (enum cam_counter_kind)k, cpu);
			/* Idle may step back by a tick. */
			assert_between(got, v, TICK, k == CAM_COUNTER_IDLE ? 2 : 0);
			all += got;
		}
		assert_non_null(find(r, CAM_COUNTER_IDLE, cpu));
	}
	assert_true(all > 0);
	assert_between(value(r, CAM_COUNTER_SWITCHES, 0),
		       (uint64_t[]){s[0].ctxt, s[1].ctxt, s[2].ctxt, s[3].ctxt}, 1, 0);
	assert_true(value(r, CAM_COUNTER_SWITCHES, 0) > 0);
	assert_between(value(r, CAM_COUNTER_PSI_CPU, 0),
		       (uint64_t[]){s[0].psi, s[1].psi, s[2].psi, s[3].psi}, 1000, 0);
	assert_between(value(r, CAM_COUNTER_SOFTNET_SQUEEZED, 0),
		       (uint64_t[]){s[0].squeezed, s[1].squeezed, s[2].squeezed, s[3].squeezed}, 1,
		       0);
	assert_true(value(r, CAM_COUNTER_RUNNABLE, 0) >= 1);
	cam_host_close(h);
	free(r);
	free(s);
}

static pid_t spin(pid_t wanted)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	a.set_tid = wanted ? (uint64_t)(uintptr_t)&wanted : 0;
	a.set_tid_size = wanted ? 1 : 0;
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	alarm(30); /* should the test fail and forget it */
	for (;;)
		getppid();
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned long delay_of(pid_t pid)
{
	char path[64];
	unsigned long ran, waited;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &ran, &waited), 2);
	fclose(f);
	return waited;
}

/* The same number, another process: its delay is not taken for the first one's. */
static void a_number_that_is_used_again(void **state)
{
	(void)state;
	struct rows *r = calloc(1, sizeof(*r));
	assert_non_null(r);
	struct cam_host_options o = {NULL, NULL, on_counter, r};
	struct cam_host *h;
	assert_int_equal(cam_host_open(&o, &h), 0);
	uint64_t before = now(CLOCK_BOOTTIME);
	pid_t pid = spin(0);
	uint64_t started = (before + now(CLOCK_BOOTTIME)) / 2;
	struct cam_host_watch w = {pid, started};
	unsigned long first = delay_of(pid);
	cam_host_watch(h, now(CLOCK_MONOTONIC), &w, 1);
	unsigned long second = delay_of(pid);
	assert_int_equal(cam_host_stats(h).watched, 1);
	usleep(200000);
	unsigned long third = delay_of(pid);
	assert_int_equal(cam_host_read(h, now(CLOCK_MONOTONIC)), 0);
	unsigned long fourth = delay_of(pid);
	assert_non_null(find(r, CAM_COUNTER_RUN_DELAY, (uint32_t)pid));
	assert_in_range(value(r, CAM_COUNTER_RUN_DELAY, (uint32_t)pid), third - second,
			fourth - first);
	end(pid);
	usleep(50000);
	assert_int_equal(spin(pid), pid);
	r->n = 0;
	assert_int_equal(cam_host_read(h, now(CLOCK_MONOTONIC)), 0);
	assert_null(find(r, CAM_COUNTER_RUN_DELAY, (uint32_t)pid));
	assert_int_equal(cam_host_stats(h).watched, 0);
	cam_host_watch(h, now(CLOCK_MONOTONIC), &w, 1);
	assert_int_equal(cam_host_stats(h).watched, 0);
	w.start_ns = 0;
	cam_host_watch(h, now(CLOCK_MONOTONIC), &w, 1);
	assert_int_equal(cam_host_stats(h).watched, 1);
	end(pid);
	cam_host_close(h);
	free(r);
}

static bool modules_changed(struct tree *t, const char *modules, uint64_t *from, uint64_t *to)
{
	put(t, "modules", modules);
	return cam_host_modules_changed(t->h, from, to);
}

#define EXT4 "ext4 970752 1 - Live 0xffffffffc0200000\n"
#define JBD2 "jbd2 167936 1 ext4, Live 0xffffffffc0100000\n"
#define TUN  "tun 61440 0 - Live 0xffffffffc0400000 (OE)\n"
#define VETH "veth 32768 0 - Loading 0xffffffffc0300000 (+)\n"

/* The newest stands first. */
static void modules_that_come(void **state)
{
	(void)state;
	struct tree t = tree_new();
	uint64_t from, to;
	put_stat(&t, 1, 1, 9, 1);
	put(&t, "modules", EXT4 JBD2);
	tree_open(&t);
	assert_false(cam_host_modules_changed(t.h, &from, &to));
	/* Other uses, users and states. */
	assert_false(modules_changed(
		&t, "ext4 970752 7 a,b,[permanent], Unloading 0xffffffffc0200000 (-)\n", &from,
		&to));
	/* Two came in one second; those that were there are not given. */
	assert_true(modules_changed(&t, TUN VETH EXT4 JBD2, &from, &to));
	assert_int_equal(from, 0xffffffffc0300000);
	assert_int_equal(to, 0xffffffffc0400000 + 61440);
	assert_false(modules_changed(&t, TUN VETH EXT4 JBD2, &from, &to));
	/* An older one goes: nothing is in its place yet. Then another is. */
	assert_false(modules_changed(&t, TUN EXT4 JBD2, &from, &to));
	assert_true(modules_changed(&t, "dummy 16384 0 - Live 0xffffffffc0300000\n" TUN EXT4 JBD2,
				    &from, &to));
	assert_int_equal(from, 0xffffffffc0300000);
	assert_int_equal(to, 0xffffffffc0300000 + 16384);
	/* The same again elsewhere; and of another size where it was. */
	assert_true(modules_changed(&t, "dummy 16384 0 - Live 0xffffffffc0500000\n" TUN EXT4 JBD2,
				    &from, &to));
	assert_int_equal(to, 0xffffffffc0500000 + 16384);
	assert_true(modules_changed(&t, "dummy 20480 0 - Live 0xffffffffc0500000\n" TUN EXT4 JBD2,
				    &from, &to));
	assert_int_equal(to, 0xffffffffc0500000 + 20480);
	/* The newest went: who of the others came is not known. */
	assert_true(modules_changed(&t, TUN EXT4 JBD2, &from, &to));
	assert_int_equal(from, 0xffffffffc0100000);
	assert_int_equal(to, 0xffffffffc0400000 + 61440);
	/* All went, and one is there again. */
	assert_false(modules_changed(&t, "", &from, &to));
	assert_true(modules_changed(&t, JBD2, &from, &to));
	assert_int_equal(from, 0xffffffffc0100000);
	tree_free(&t);
}

static void lines_that_are_no_modules(void **state)
{
	(void)state;
	static const char *const odd[] = {
		"tun 61440 0 - Live 0x0000000000000000\n" EXT4, /* without CAP_SYSLOG */
		"tun 61440 0 - Live 0xffffffffc0400000",	/* it goes on */
		"tun 61440 0 - Live 0xffffffffc04000zz\n",
		"tun 61440 0 - Live 0x1ffffffffc0400000\n",
		"tun 61440 0 - Live 0xffffffffffffff00\n",
		"tun 61440 0 - Live ffffffffc0400000\n",
		"tun 61440 0 - Live\n",
		"tun 99999999999999999999 0 - Live 0xffffffffc0400000\n",
		"tun -1 0 - Live 0xffffffffc0400000\n",
		"tun\n",
		"   \n",
		"\n",
		"a_name_of_64_bytes_is_longer_than_any_that_the_kernel_has_itself 61440 0 - Live "
		"0xffffffffc0400000\n",
	};
	struct tree t = tree_new();
	uint64_t from, to;
	put_stat(&t, 1, 1, 9, 1);
	put(&t, "modules", EXT4);
	tree_open(&t);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_false(modules_changed(&t, odd[i], &from, &to));
	char users[1024];
	snprintf(users, sizeof(users), "tun 61440 9 %0900d, Live 0xffffffffc0400000\n", 0);
	assert_false(modules_changed(&t, users, &from, &to));
	/* One behind the first is passed over. */
	assert_true(modules_changed(&t, TUN "veth 1 2\n" EXT4, &from, &to));
	assert_int_equal(from, 0xffffffffc0400000);
	tree_free(&t);
	t = tree_new();
	put_stat(&t, 1, 1, 9, 1);
	tree_open(&t);
	assert_false(modules_changed(&t, EXT4, &from, &to)); /* there was no such file */
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counters_of_many_cpus),
		cmocka_unit_test(a_cpu_that_went_and_came_begins_anew),
		cmocka_unit_test(what_goes_backwards_is_not_given_twice),
		cmocka_unit_test(the_other_files),
		cmocka_unit_test(memory_cgroups_of_version_2),
		cmocka_unit_test(a_broken_tree_gives_what_it_has),
		cmocka_unit_test(the_delay_of_an_invented_thread),
		cmocka_unit_test(this_host_as_python_sees_it),
		cmocka_unit_test(a_number_that_is_used_again),
		cmocka_unit_test(modules_that_come),
		cmocka_unit_test(lines_that_are_no_modules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
