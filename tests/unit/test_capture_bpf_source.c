// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF source on this kernel, against what /proc says and what the children are known to do.
 * Needs root and two CPUs. Rates are never compared with nominal ones: this host is shared.
 */
#include "support_bpf.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull

static bool in_text(uint64_t address, struct bpf_text t)
{
	return address >= t.start && address < t.end;
}

static size_t count_samples(const struct log *l, pid_t pid)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->at[i].raw.type == CAM_RAW_SAMPLE && l->at[i].raw.pid == pid;
	return n;
}

/* Rounds until there are n samples of pid: how long that takes is the host's affair. */
static void drain_until(struct cam_capture *c, struct log *l, pid_t pid, size_t n)
{
	for (uint64_t end = clock_ns() + 20000 * MS; count_samples(l, pid) < n;) {
		assert_true(clock_ns() < end);
		drain_for(c, l, 50 * MS);
	}
}

/* Field 22 of /proc/PID/stat: ticks of 10 ms since the boot. */
static uint64_t proc_start_ticks(pid_t pid)
{
	char path[64], line[1024] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	char *p = strrchr(line, ')');
	assert_non_null(p);
	for (int field = 2; field < 22; field++)
		p = strchr(p + 1, ' ');
	return strtoull(p, NULL, 10);
}

/* A child has written its answer. */
static void await(const volatile pid_t *answer)
{
	for (int i = 0; i < 20000 && !*answer; i++)
		usleep(1000);
	assert_true(*answer);
}

static void *named_thread(void *arg)
{
	prctl(PR_SET_NAME, "cam-thread");
	*(volatile pid_t *)arg = gettid();
	for (;;)
		spin_b(10);
	return NULL;
}

static void two_threads(void *arg)
{
	pthread_t t;
	prctl(PR_SET_NAME, "cam-spinner");
	usleep(30000); /* so that the thread starts in another tick than the process */
	if (setresuid(12345, 12346, 12346) || pthread_create(&t, NULL, named_thread, arg))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* another uid has forgotten it */
	for (;;)
		spin_a(10);
}

static void a_sample_says_who_ran_and_where(void **state)
{
	(void)state;
	struct log l = {0};
	pid_t *tid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = child_on(1, two_threads, tid);
	await(tid);
	uint64_t start_ticks = proc_start_ticks(pid), before = clock_ns();
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 499}, NULL);
	assert_string_equal(c->info.source, "bpf");
	assert_int_equal(c->info.hz, 499);
	assert_true(c->info.cpus >= 2);
	drain_until(c, &l, pid, 150);
	uint64_t after = clock_ns();
	size_t n = 0, of_thread = 0, leaves = 0;
	for (size_t i = 0; i < l.n; i++) {
		const struct cam_raw *r = &l.at[i].raw;
		if (r->type == CAM_RAW_SAMPLE && r->pid == 0)
			assert_int_equal(r->sample.n_kernel + r->sample.n_user, 0);
		if (r->type != CAM_RAW_SAMPLE || r->pid != pid)
			continue;
		bool thread = r->tid != pid;
		n++;
		of_thread += thread;
		assert_int_equal(r->cpu, 1);
		assert_in_range(r->time_ns, before, after);
		assert_int_equal(r->tid, thread ? *tid : pid);
		assert_int_equal(r->sample.uid, 12345);
		assert_int_equal(r->sample.start_ns / (10 * MS), start_ticks);
		assert_string_equal(r->sample.comm, thread ? "cam-thread" : "cam-spinner");
		assert_true(r->sample.flags & CAM_RAW_HAS_COMM);
		assert_int_equal(r->sample.weight, 1);
		if (!(r->sample.flags & CAM_RAW_USER_MODE))
			continue; /* it was just being switched */
		assert_int_equal(r->sample.n_kernel, 0);
		leaves += in_text(l.at[i].frames[0], thread ? spin_b_text : spin_a_text);
	}
	assert_in_range(of_thread, n / 5, n - n / 5);
	assert_in_range(leaves, n * 9 / 10, n);
	c->ops->close(c);
	end_child(pid);
	munmap(tid, 4096);
	log_free(&l);
}

static void ask_kernel_for_ever(void *arg)
{
	static char room[1 << 20];
	FILE *f = fopen("/dev/zero", "r");
	(void)arg;
	while (fread(room, 1, sizeof(room), f))
		;
}

static void both_halves_of_a_stack_are_taken(void **state)
{
	(void)state;
	struct log l = {0};
	pid_t pid = child_on(1, ask_kernel_for_ever, NULL);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 499}, NULL);
	drain_until(c, &l, pid, 60);
	c->ops->close(c);
	c = open_bpf(&(struct cam_capture_options){.hz = 499, .user_only = true}, NULL);
	assert_false(c->info.kernel_stacks);
	size_t mark = l.n, n = 0, both = 0, without = 0;
	drain_until(c, &l, pid, count_samples(&l, pid) + 30);
	for (size_t i = 0; i < l.n; i++) {
		const struct cam_raw *r = &l.at[i].raw;
		if (r->type != CAM_RAW_SAMPLE || r->pid != pid)
			continue;
		if (i >= mark) {
			assert_int_equal(r->sample.n_kernel, 0);
			without += !(r->sample.flags & CAM_RAW_USER_MODE) && r->sample.n_user;
			continue;
		}
		n++;
		assert_int_equal(r->sample.n_kernel == 0, !!(r->sample.flags & CAM_RAW_USER_MODE));
		both += r->sample.n_kernel > 2 && r->sample.n_user > 0;
	}
	assert_true(both > n / 2);
	assert_true(without > 10);
	c->ops->close(c);
	end_child(pid);
	log_free(&l);
}

#if defined(__x86_64__)
/* A chain of frame pointers made by hand: the stack is known to the last address. */
struct frame {
	struct frame *next;
	uint64_t address;
};

static void spin_on_chain(void *arg)
{
	__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n1:\tpause\n\tjmp 1b"
			 :
			 : "r"(arg)
			 : "memory");
}

static void a_stack_is_the_chain_of_frame_pointers(void **state)
{
	(void)state;
	static struct frame chain[300];
	static const uint32_t depths[] = {26, 300};
	for (size_t d = 0; d < 2; d++) {
		struct log l = {0};
		for (uint32_t i = 0; i < depths[d]; i++)
			chain[i] = (struct frame){i + 1 < depths[d] ? &chain[i + 1] : NULL,
						  0x400000 + 16 * i};
		pid_t pid = child_on(1, spin_on_chain, chain);
		struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 499}, NULL);
		drain_until(c, &l, pid, 30);
		c->ops->close(c);
		end_child(pid);
		/* The leaf, then the chain; at most 127 in all, and then it says that it was cut. */
		uint32_t wanted = depths[d] < 126 ? depths[d] + 1 : 127;
		size_t n = 0;
		for (size_t i = 0; i < l.n; i++) {
			const struct cam_raw_sample *s = &l.at[i].raw.sample;
			if (l.at[i].raw.type != CAM_RAW_SAMPLE || l.at[i].raw.pid != pid ||
			    !(s->flags & CAM_RAW_USER_MODE) || s->n_user < 20)
				continue;
			n++;
			assert_int_equal(s->n_user, wanted);
			assert_true(s->flags & CAM_RAW_GUESSED);
			assert_int_equal(!!(s->flags & CAM_RAW_TRUNCATED), depths[d] > 126);
			for (uint32_t j = 1; j < wanted; j++)
				assert_int_equal(l.at[i].frames[j], 0x400000 + 16 * (j - 1));
		}
		assert_true(n > 10);
		log_free(&l);
	}
}
#endif

/* What one CPU's counts said last; every COUNTS is checked. */
static struct cam_raw_counts last_counts(const struct log *l, uint32_t cpu, uint64_t *lost)
{
	struct cam_raw_counts last = {0};
	*lost = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct cam_raw *r = &l->at[i].raw;
		if (r->cpu != cpu)
			continue;
		if (r->type == CAM_RAW_LOST && !r->lost.side_band) {
			assert_true(r->lost.from_ns < r->time_ns);
			*lost += r->lost.records;
		}
		if (r->type != CAM_RAW_COUNTS)
			continue;
		assert_int_equal(r->counts.fired,
				 r->counts.emitted + r->counts.lost + r->counts.filtered);
		assert_int_equal(r->counts.lost, *lost);
		assert_true(r->counts.fired >= last.fired);
		assert_true(r->counts.enabled_ns >= last.enabled_ns);
		last = r->counts;
	}
	return last;
}

static uint64_t samples_of_cpu(const struct log *l, uint32_t cpu)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->at[i].raw.type == CAM_RAW_SAMPLE && l->at[i].raw.cpu == cpu;
	return n;
}

/* A tiny ring that nobody reads: what was fired, read and lost adds up, with an error of 0. */
static void a_full_ring_loses_and_every_loss_is_counted(void **state)
{
	(void)state;
	struct fake_host host;
	struct log l = {0};
	uint64_t lost;
	pid_t pids[] = {spinner_on(0), spinner_on(1)};
	fake_host_make(&host, "0-1");
	struct cam_capture *c =
		open_bpf(&(struct cam_capture_options){.hz = 997, .ring_bytes = 4096}, &host.host);
	for (int i = 0; i < 3; i++) {
		usleep(150000);
		drain(c, &l);
	}
	usleep(150000);
	/* CPU 1 goes: its last counts, and what is left in the ring. */
	fake_host_online(&host, "0");
	assert_int_equal(c->ops->rescan(c), 0);
	drain(c, &l);
	struct cam_raw_counts n = last_counts(&l, 1, &lost);
	assert_true(n.lost > 50);
	assert_true(n.emitted > 5);
	assert_int_equal(n.filtered, 0);
	assert_int_equal(n.emitted, samples_of_cpu(&l, 1));
	assert_int_equal(n.hz, 997);
	c->ops->close(c);
	fake_host_remove(&host);
	end_child(pids[0]);
	end_child(pids[1]);
	log_free(&l);
}

/* Where the ring is large nothing is lost, though it is read only now and then. */
static void a_large_ring_loses_nothing(void **state)
{
	(void)state;
	struct fake_host host;
	struct log l = {0};
	uint64_t lost;
	pid_t pids[] = {spinner_on(0), spinner_on(1)};
	fake_host_make(&host, "0-1");
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 997}, &host.host);
	usleep(400000);
	fake_host_online(&host, "0");
	assert_int_equal(c->ops->rescan(c), 0);
	drain(c, &l);
	struct cam_raw_counts n = last_counts(&l, 1, &lost);
	assert_int_equal(n.lost, 0);
	assert_true(n.fired > 100);
	assert_int_equal(n.fired, samples_of_cpu(&l, 1));
	c->ops->close(c);
	fake_host_remove(&host);
	end_child(pids[0]);
	end_child(pids[1]);
	log_free(&l);
}

static void a_cpu_that_comes_back_is_sampled_again(void **state)
{
	(void)state;
	struct fake_host host;
	struct log l = {0};
	uint64_t lost, last_ns = 0;
	pid_t pid = spinner_on(1);
	fake_host_make(&host, "0-1");
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 499}, &host.host);
	assert_int_equal(c->info.cpus, 2);
	size_t bytes = c->info.ring_bytes;
	drain_for(c, &l, 200 * MS);
	assert_true(samples_of_cpu(&l, 1) > 10);

	uint32_t generation = c->generation;
	assert_false(c->ops->cpus_changed(c));
	fake_host_online(&host, "0");
	assert_true(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), 0);
	assert_false(c->ops->cpus_changed(c));
	assert_int_equal(c->generation, generation + 1);
	assert_int_equal(c->info.cpus, 1);
	drain_for(c, &l, 200 * MS);
	uint64_t first_life = last_counts(&l, 1, &lost).fired;
	assert_int_equal(first_life, samples_of_cpu(&l, 1));
	for (size_t i = 0; i < l.n; i++)
		if (l.at[i].raw.type == CAM_RAW_CPU && l.at[i].raw.cpu == 1 &&
		    !l.at[i].raw.cpu_state.online)
			last_ns = l.at[i].raw.time_ns;
	assert_true(last_ns > 0);
	assert_int_equal(c->ops->rescan(c), 0); /* what it had to say was taken: it is forgotten */
	assert_true(c->info.ring_bytes < bytes);
	generation = c->generation;
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->generation, generation); /* nothing changed */

	log_clear(&l);
	fake_host_online(&host, "0-1");
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->info.cpus, 2);
	assert_int_equal(c->info.ring_bytes, bytes);
	drain_for(c, &l, 1100 * MS);
	bool came = false;
	for (size_t i = 0; i < l.n; i++)
		came |= l.at[i].raw.type == CAM_RAW_CPU && l.at[i].raw.cpu == 1 &&
			l.at[i].raw.cpu_state.online && l.at[i].raw.time_ns > last_ns;
	assert_true(came);
	struct cam_raw_counts n = last_counts(&l, 1, &lost);
	assert_true(n.fired > 100);
	/* The counts began anew: they are of this life, up to the round that told them. */
	assert_true(n.fired <= samples_of_cpu(&l, 1));
	c->ops->close(c);
	fake_host_remove(&host);
	end_child(pid);
	log_free(&l);
}

/*
 * A kernel under which no event fires, the first time: that of CPU 1 was taken away (its time stands
 * still), CPU 0 only idles (its time goes on).
 */
struct killing_kernel {
	struct cam_kernel kernel;
	int fds[2], enables[2];
};

static int open_and_remember(const struct cam_kernel *k, struct perf_event_attr *attr, int32_t tid,
			     int cpu)
{
	struct killing_kernel *own = (struct killing_kernel *)k;
	int fd = cam_kernel_host()->open(k, attr, tid, cpu);
	if (attr->config == PERF_COUNT_SW_CPU_CLOCK && attr->sample_period > 1000)
		own->fds[cpu & 1] = fd;
	return fd;
}

static int control_but_once(const struct cam_kernel *k, int fd, unsigned long request, uint64_t arg)
{
	struct killing_kernel *own = (struct killing_kernel *)k;
	for (int cpu = 0; request == PERF_EVENT_IOC_ENABLE && cpu < 2; cpu++)
		if (fd == own->fds[cpu] && own->enables[cpu]++ == 0)
			return 0;
	return cam_kernel_host()->control(k, fd, request, arg);
}

static int count_as_told(const struct cam_kernel *k, int fd, struct cam_kernel_count *out)
{
	const struct killing_kernel *own = (const struct killing_kernel *)k;
	int err = cam_kernel_host()->count(k, fd, out);
	if (fd == own->fds[0])
		out->enabled_ns = clock_ns();
	return err;
}

static void an_event_that_the_kernel_took_away_is_opened_again(void **state)
{
	(void)state;
	struct killing_kernel own = {*cam_kernel_host(), {-1, -1}, {0, 0}};
	const struct cam_perf_host host = {&own.kernel, "/proc", "/sys"};
	struct log l = {0};
	uint32_t cpus[] = {0, 1};
	pid_t pid = spinner_on(1);
	own.kernel.open = open_and_remember;
	own.kernel.control = control_but_once;
	own.kernel.count = count_as_told;
	struct cam_capture *c = open_bpf(
		&(struct cam_capture_options){
			.hz = 499, .event = CAM_EVENT_CPU_CLOCK, .cpus = cpus, .n_cpus = 2},
		&host);
	drain_for(c, &l, 1050 * MS);
	assert_int_equal(own.enables[0], 1);
	assert_int_equal(own.enables[1], 1);
	assert_int_equal(samples_of_cpu(&l, 0) + samples_of_cpu(&l, 1), 0);
	uint32_t generation = c->generation;
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->generation, generation + 1);
	assert_int_equal(own.enables[0], 1);
	assert_int_equal(own.enables[1], 2);
	drain_until(c, &l, pid, 5);
	assert_int_equal(samples_of_cpu(&l, 0), 0);
	c->ops->close(c);
	end_child(pid);
	log_free(&l);
}

/* A CPU that went and came back within a round: its event stands still, and is missed in the next round. */
static void a_busy_cpu_that_blinked_is_missed_at_once(void **state)
{
	(void)state;
	struct killing_kernel own = {*cam_kernel_host(), {-1, -1}, {0, 0}};
	const struct cam_perf_host host = {&own.kernel, "/proc", "/sys"};
	struct log l = {0};
	pid_t pid = spinner_on(1);
	own.kernel.open = open_and_remember;
	struct cam_capture *c = open_bpf(
		&(struct cam_capture_options){.hz = 499, .event = CAM_EVENT_CPU_CLOCK}, &host);
	for (int i = 0; i < 3; i++) {
		usleep(150000);
		drain(c, &l);
		assert_false(c->ops->cpus_changed(c));
	}
	assert_true(samples_of_cpu(&l, 1) > 10);
	assert_int_equal(
		cam_kernel_host()->control(&own.kernel, own.fds[1], PERF_EVENT_IOC_DISABLE, 0), 0);
	usleep(150000);
	drain(c, &l);
	assert_true(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), 0);
	assert_false(c->ops->cpus_changed(c));
	drain(c, &l);
	size_t before = samples_of_cpu(&l, 1);
	usleep(150000);
	drain(c, &l);
	assert_true(samples_of_cpu(&l, 1) > before);
	c->ops->close(c);
	end_child(pid);
	log_free(&l);
}

static void only_the_cpus_asked_for_are_sampled(void **state)
{
	(void)state;
	struct log l = {0};
	pid_t pids[] = {spinner_on(0), spinner_on(1)};
	uint32_t one = 1;
	struct cam_capture *c =
		open_bpf(&(struct cam_capture_options){.hz = 499, .cpus = &one, .n_cpus = 1}, NULL);
	drain_for(c, &l, 200 * MS);
	assert_int_equal(samples_of_cpu(&l, 0), 0);
	assert_true(samples_of_cpu(&l, 1) > 10);
	c->ops->close(c);
	end_child(pids[0]);
	end_child(pids[1]);
	log_free(&l);
}

/* Spins; has a child from before, and forks another when it gets SIGUSR1. */
struct family {
	pid_t before, later;
};
static volatile sig_atomic_t fork_now;

static void on_signal(int sig)
{
	fork_now = sig;
}

static pid_t spinning_child(void)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		spin_b(10);
}

static void head_of_family(void *arg)
{
	volatile struct family *f = arg;
	signal(SIGUSR1, on_signal);
	f->before = spinning_child();
	for (;;) {
		spin_a(10);
		if (fork_now && !f->later)
			f->later = spinning_child();
	}
}

static uint64_t filtered_of(const struct log *l, uint32_t cpu)
{
	uint64_t lost;
	return last_counts(l, cpu, &lost).filtered;
}

static void a_scope_is_one_process_and_what_it_forks(void **state)
{
	(void)state;
	struct log l = {0};
	struct family *f =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t other = spinner_on(0), head = child_on(1, head_of_family, f);
	await(&f->before);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 997}, NULL);
	drain_until(c, &l, other, 1);
	drain_until(c, &l, head, 1);
	drain_until(c, &l, f->before, 1);

	assert_int_equal(c->ops->filter_pids(c, &head, 1), 0);
	drain(c, &l);
	log_clear(&l);
	kill(head, SIGUSR1);
	drain_for(c, &l, 1100 * MS); /* counts are told once a second */
	drain_until(c, &l, head, 20);
	assert_true(f->later > 0);
	drain_until(c, &l, f->later, 20);
	assert_int_equal(count_samples(&l, head) + count_samples(&l, f->later),
			 samples_of_cpu(&l, 0) + samples_of_cpu(&l, 1));
	assert_true(filtered_of(&l, 0) > 100);
	assert_true(filtered_of(&l, 1) > 20); /* the child from before */

	/* Another set replaces it; none ends it. */
	assert_int_equal(c->ops->filter_pids(c, &other, 1), 0);
	drain(c, &l);
	log_clear(&l);
	drain_until(c, &l, other, 20);
	assert_int_equal(count_samples(&l, other), samples_of_cpu(&l, 0) + samples_of_cpu(&l, 1));
	log_clear(&l);
	assert_int_equal(c->ops->filter_pids(c, NULL, 0), 0);
	drain_until(c, &l, other, 1);
	drain_until(c, &l, head, 1);
	c->ops->close(c);
	end_child(other);
	end_child(head);
	munmap(f, 4096);
	log_free(&l);
}

static void the_rate_can_be_changed(void **state)
{
	(void)state;
	struct log l = {0};
	pid_t pid = spinner_on(1);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 97}, NULL);
	drain_for(c, &l, 300 * MS);
	size_t slow = samples_of_cpu(&l, 1);
	assert_int_equal(c->ops->set_rate(c, 0), -EINVAL);
	assert_int_equal(c->ops->set_rate(c, 997), 0);
	assert_int_equal(c->info.hz, 997);
	drain(c, &l);
	log_clear(&l);
	drain_for(c, &l, 300 * MS);
	assert_true(samples_of_cpu(&l, 1) > 4 * slow);
	c->ops->close(c);
	end_child(pid);
	log_free(&l);
}

/* It sleeps until half of a ring is full: not earlier, and then at once. */
static void the_reader_is_woken_at_half_a_ring(void **state)
{
	(void)state;
	struct log l = {0};
	pid_t pids[] = {spinner_on(0), spinner_on(1)};
	struct cam_capture *c =
		open_bpf(&(struct cam_capture_options){.hz = 997, .ring_bytes = 32768}, NULL);
	struct pollfd p = {.fd = c->ops->fd(c), .events = POLLIN};
	size_t bytes = 0, side = 0, wakes = 0;
	drain(c, &l);
	/* The side band wakes too, each 128 KiB of records. */
	for (; bytes < 5 * 16384; wakes++) {
		log_clear(&l);
		usleep(20000); /* then the ring is not empty, but far from half full */
		assert_int_equal(poll(&p, 1, 10000), 1);
		drain(c, &l);
		for (size_t j = 0; j < l.n; j++) {
			const struct cam_raw *r = &l.at[j].raw;
			if (r->type == CAM_RAW_SAMPLE)
				bytes += 64 + 8 * (r->sample.n_kernel + r->sample.n_user);
			else
				side++;
		}
	}
	assert_true(wakes <= 5 + side / 500 + 4);
	c->ops->close(c);
	end_child(pids[0]);
	end_child(pids[1]);
	log_free(&l);
}

static void run_true(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", NULL);
}

static void the_side_band_tells_of_processes(void **state)
{
	(void)state;
	struct log l = {0};
	size_t seen[CAM_RAW_TYPES] = {0};
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 97}, NULL);
	pid_t pid = child_on(1, run_true, NULL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	drain(c, &l);
	for (size_t i = 0; i < l.n; i++)
		if (l.at[i].raw.pid == pid)
			seen[l.at[i].raw.type]++;
	assert_int_equal(seen[CAM_RAW_FORK], 1);
	assert_int_equal(seen[CAM_RAW_EXIT], 1);
	assert_int_equal(seen[CAM_RAW_COMM], 1);
	assert_true(seen[CAM_RAW_MMAP] >= 2);
	c->ops->close(c);
	log_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_says_who_ran_and_where),
		cmocka_unit_test(both_halves_of_a_stack_are_taken),
#if defined(__x86_64__)
		cmocka_unit_test(a_stack_is_the_chain_of_frame_pointers),
#endif
		cmocka_unit_test(a_full_ring_loses_and_every_loss_is_counted),
		cmocka_unit_test(a_large_ring_loses_nothing),
		cmocka_unit_test(a_cpu_that_comes_back_is_sampled_again),
		cmocka_unit_test(an_event_that_the_kernel_took_away_is_opened_again),
		cmocka_unit_test(a_busy_cpu_that_blinked_is_missed_at_once),
		cmocka_unit_test(only_the_cpus_asked_for_are_sampled),
		cmocka_unit_test(a_scope_is_one_process_and_what_it_forks),
		cmocka_unit_test(the_rate_can_be_changed),
		cmocka_unit_test(the_reader_is_woken_at_half_a_ring),
		cmocka_unit_test(the_side_band_tells_of_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
