// SPDX-License-Identifier: Apache-2.0
/*
 * What the plain source loses, and that it says so, on this kernel, as root. Each count is compared
 * with what the kernel itself counts, or with an event opened beside it.
 */
#include "capture/kernel.h"
#include "capture/record.h"
#include "capture/rings.h"
#include "support_sampling.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A child that touches 300 fresh pages each time it is told to, and says when it has. */
struct faulter {
	pid_t pid;
	int go[2], done[2];
};

static void touch_pages(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * 4096] = 1;
	munmap(p, n * 4096);
}

static void spawn_faulter(struct faulter *f)
{
	char byte;
	assert_int_equal(pipe(f->go), 0);
	assert_int_equal(pipe(f->done), 0);
	f->pid = fork();
	if (f->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(f->go[0], &byte, 1) == 1) {
		/* Every other time in a child of its own, which inherits the events. */
		pid_t child = byte % 2 ? fork() : 0;
		if (!child)
			touch_pages(300);
		if (byte % 2 && !child)
			_exit(0);
		if ((child && waitpid(child, NULL, 0) != child) || write(f->done[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void end_faulter(struct faulter *f)
{
	sampling_end_child(f->pid);
	for (int i = 0; i < 2; i++) {
		close(f->go[i]);
		close(f->done[i]);
	}
}

static struct cam_rings *open_fault_rings(const int32_t *tid, struct cam_ring_budget *budget)
{
	struct cam_rings_options o = {.kernel = cam_kernel_host(),
				      .tids = tid,
				      .n_tids = 1,
				      .ring_bytes = 4096,
				      .hz = 1,
				      .epoll_fd = -1,
				      .budget = budget,
				      .attr = {.size = sizeof(o.attr),
					       .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_PAGE_FAULTS,
					       .sample_period = 1,
					       .sample_type = CAM_RECORD_SAMPLE_TYPE,
					       .sample_max_stack = 127,
					       .sample_id_all = 1,
					       .inherit = 1,
					       .disabled = 1,
					       .use_clockid = 1,
					       .clockid = CLOCK_MONOTONIC,
					       .read_format = CAM_KERNEL_READ_FORMAT}};
	struct cam_rings *rings;
	struct cam_cpus online;
	bool changed;
	assert_int_equal(cam_rings_new(&o, &rings), 0);
	assert_int_equal(cam_cpus_read("/sys", "online", &online), 0);
	assert_int_equal(cam_rings_cpus(rings, &online, sampling_now_ns(), &changed), 0);
	return rings;
}

static void drain_rings(struct cam_rings *rings, uint64_t *samples, uint64_t *lost)
{
	size_t n = cam_rings_n_streams(rings);
	struct cam_stream **streams = calloc(n, sizeof(*streams));
	uint64_t time_ns;
	assert_non_null(streams);
	cam_rings_streams(rings, streams);
	cam_rings_begin(rings, sampling_now_ns());
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &time_ns)) {
			struct cam_raw r;
			streams[i]->take(streams[i], &r);
			*samples += r.type == CAM_RAW_SAMPLE;
			*lost += r.type == CAM_RAW_LOST ? r.lost.records : 0;
		}
	cam_rings_end(rings);
	free(streams);
}

/*
 * Page faults are events that the kernel counts one by one. With a ring of one page most of their
 * records are lost: given + lost must be what a second event, that only counts, has counted.
 * Error 0.
 */
static void identity(void **state)
{
	(void)state;
	const struct cam_kernel *k = cam_kernel_host();
	struct perf_event_attr counting = {.size = sizeof(counting),
					   .type = PERF_TYPE_SOFTWARE,
					   .config = PERF_COUNT_SW_PAGE_FAULTS,
					   .inherit = 1,
					   .read_format = CAM_KERNEL_READ_FORMAT};
	struct cam_ring_budget budget = {.max_bytes = 64u << 20};
	struct faulter f;
	struct cam_kernel_count count;
	uint64_t samples = 0, lost = 0;
	char byte = 0;
	spawn_faulter(&f);
	usleep(20000); /* it waits in read() */
	struct cam_rings *rings = open_fault_rings(&f.pid, &budget);
	int fd = k->open(k, &counting, f.pid, -1);
	assert_true(fd >= 0);
	for (int round = 0; round < 40; round++) {
		byte = (char)round;
		assert_int_equal(write(f.go[1], &byte, 1), 1);
		if (round % 3) { /* read while it writes, too */
			usleep(100);
			drain_rings(rings, &samples, &lost);
		}
		assert_int_equal(read(f.done[0], &byte, 1), 1);
		drain_rings(rings, &samples, &lost);
	}
	usleep(20000);
	/* A last round, and one to tell what happened while the last one read. */
	drain_rings(rings, &samples, &lost);
	drain_rings(rings, &samples, &lost);
	assert_int_equal(k->count(k, fd, &count), 0);
	print_message("# %lu faults: %lu given, %lu lost\n", count.value, samples, lost);
	assert_true(samples > 100 && lost > 1000);
	assert_int_equal(samples + lost, count.value);
	assert_int_equal(cam_rings_stats(rings).malformed, 0);
	close(fd);
	cam_rings_free(rings);
	end_faulter(&f);
}

struct accounts {
	uint32_t cpu;
	uint64_t samples, lost, counts;
	struct cam_raw_counts last;
};

static void account(void *arg, const struct cam_raw *r)
{
	struct accounts *a = arg;
	if (r->cpu != a->cpu)
		return;
	a->samples += r->type == CAM_RAW_SAMPLE;
	if (r->type == CAM_RAW_LOST && !r->lost.side_band)
		a->lost += r->lost.records;
	if (r->type == CAM_RAW_COUNTS) {
		assert_int_equal(r->counts.fired, r->counts.emitted + r->counts.lost);
		assert_int_equal(r->counts.lost, a->lost);
		assert_int_equal(r->counts.emitted, a->samples);
		a->last = r->counts;
		a->counts++;
	}
}

/* The sampling event itself, with a ring of one page that nobody reads for a second. */
static void overflow(void **state)
{
	(void)state;
	int cpu = sched_getcpu();
	struct accounts a = {.cpu = (uint32_t)cpu};
	pid_t pid = sampling_spawn_spinner(cpu);
	struct sampling_control control = sampling_control_open(-1, cpu, 1999);
	struct cam_capture *c =
		sampling_open((struct cam_capture_options){.hz = 1999, .ring_bytes = 4096});
	uint64_t before = sampling_control_samples(&control);
	usleep(1000000);
	sampling_drain(c, account, &a);
	uint64_t beside = sampling_control_samples(&control) - before;
	print_message("# ring of one page: %lu emitted, %lu lost; the event beside: %lu\n",
		      a.last.emitted, a.last.lost, beside);
	assert_int_equal(a.counts, 1);
	assert_true(a.lost > a.samples);
	assert_true(a.last.fired > beside * 7 / 10 && a.last.fired < beside * 13 / 10);
	c->ops->close(c);
	sampling_end_child(pid);
	sampling_control_close(&control);
}

#define STORMS 2
struct storm {
	pid_t pids[STORMS];
	uint64_t forks[STORMS], exits[STORMS], lost;
};

static void see_storm(void *arg, const struct cam_raw *r)
{
	struct storm *s = arg;
	for (int i = 0; i < STORMS; i++) {
		s->forks[i] += r->type == CAM_RAW_FORK && r->fork.parent_pid == s->pids[i];
		s->exits[i] += r->type == CAM_RAW_EXIT && r->fork.parent_pid == s->pids[i];
	}
	if (r->type == CAM_RAW_LOST && r->lost.side_band)
		s->lost += r->lost.records;
}

/* vforks as fast as it goes; says how many. */
static pid_t spawn_storm(uint64_t ms, int out)
{
	uint64_t made = 0;
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t end = sampling_now_ns() + ms * SAMPLING_MS; sampling_now_ns() < end; made++) {
		pid_t child = vfork();
		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			_exit(1);
	}
	_exit(write(out, &made, sizeof(made)) != sizeof(made));
}

/* All the vforks that two loops can make in two seconds; we look only when woken. */
static void fork_storm(void **state)
{
	(void)state;
	int out[STORMS][2], status;
	uint64_t made[STORMS], all = 0;
	struct storm s = {0};
	struct cam_capture *c = sampling_open((struct cam_capture_options){.hz = 97});
	for (int i = 0; i < STORMS; i++) {
		assert_int_equal(pipe(out[i]), 0);
		s.pids[i] = spawn_storm(2000, out[i][1]);
	}
	sampling_run(c, 2100, 500, see_storm, &s);
	for (int i = 0; i < STORMS; i++) {
		assert_int_equal(read(out[i][0], &made[i], sizeof(made[i])), sizeof(made[i]));
		assert_int_equal(waitpid(s.pids[i], &status, 0), s.pids[i]);
		assert_int_equal(status, 0);
		all += made[i];
		close(out[i][0]);
		close(out[i][1]);
	}
	sampling_drain(c, see_storm, &s);
	print_message("# %lu vforks a second: %lu + %lu forks seen, %lu records lost\n", all / 2,
		      s.forks[0], s.forks[1], s.lost);
	assert_true(all > 1000);
	assert_int_equal(s.lost, 0);
	for (int i = 0; i < STORMS; i++) {
		assert_int_equal(s.forks[i], made[i]);
		assert_int_equal(s.exits[i], made[i]);
	}
	c->ops->close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity),
		cmocka_unit_test(overflow),
		cmocka_unit_test(fork_storm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
