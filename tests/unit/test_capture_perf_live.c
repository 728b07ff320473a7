// SPDX-License-Identifier: Apache-2.0
/*
 * The plain source on this kernel, as root. Each count is compared with what the kernel itself
 * reports or with an event opened beside it, never with a nominal rate: CPUs here are shared.
 */
#include "capture/perf_source.h"
#include "capture/record.h"
#include "capture/ring_size.h"
#include "capture/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull

static uint64_t now_ns(void)
{
	return cam_kernel_host()->now_ns(cam_kernel_host());
}

/* Nothing else is in this section: a leaf inside it was really spinning. */
extern const char __start_spin_text[], __stop_spin_text[];

__attribute__((noinline, section("spin_text"))) static void spin(volatile uint64_t *n)
{
	for (;;)
		++*n;
}

/* A child that spins until it is killed, on one CPU if cpu >= 0. */
static pid_t spawn_spinner(int cpu)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	volatile uint64_t n = 0;
	spin(&n);
	_exit(0);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

typedef void record_fn(void *arg, const struct cam_raw *r);

static void drain(struct cam_capture *c, record_fn *fn, void *arg)
{
	struct cam_stream **streams;
	size_t n;
	uint64_t time_ns;
	assert_int_equal(c->ops->begin_round(c, now_ns(), &streams, &n), 0);
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &time_ns)) {
			struct cam_raw r;
			streams[i]->take(streams[i], &r);
			fn(arg, &r);
		}
	c->ops->end_round(c);
}

/* Drains when woken, at least every `every` ms. */
static void run(struct cam_capture *c, uint64_t ms, int every, record_fn *fn, void *arg)
{
	for (uint64_t end = now_ns() + ms * MS; now_ns() < end;) {
		struct pollfd p = {.fd = c->ops->fd(c), .events = POLLIN};
		poll(&p, 1, every);
		drain(c, fn, arg);
	}
}

static struct cam_capture *open_source(struct cam_capture_options o)
{
	struct cam_capture *c;
	assert_int_equal(cam_capture_open_perf(&o, &c), 0);
	return c;
}

/* A clock event beside ours: of one thread (any CPU), or of one CPU. Its samples are counted. */
struct control {
	int fd;
	struct perf_event_mmap_page *page;
	size_t bytes;
};

static struct control open_control(pid_t pid, int cpu, uint32_t hz)
{
	struct control c = {.bytes = 4096 + (1u << 20)};
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000u / hz,
				       .sample_type = PERF_SAMPLE_TID};
	c.fd = cam_kernel_host()->open(cam_kernel_host(), &attr, pid, cpu);
	assert_true(c.fd >= 0);
	c.page = mmap(NULL, c.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c.fd, 0);
	assert_ptr_not_equal(c.page, MAP_FAILED);
	return c;
}

/* Its records are all of one size: header, pid, tid. */
static uint64_t control_samples(const struct control *c)
{
	return __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE) / 16;
}

static void close_control(struct control *c)
{
	munmap(c->page, c->bytes);
	close(c->fd);
}

struct seen {
	pid_t pid;
	uint64_t from_ns, to_ns;
	uint64_t samples, user, in_spin, kernel_frames;
	uint64_t cpus;
};

static void see(void *arg, const struct cam_raw *r)
{
	struct seen *s = arg;
	if (r->type != CAM_RAW_SAMPLE || r->pid != s->pid)
		return;
	assert_int_equal(r->tid, s->pid);
	assert_true(r->time_ns >= s->from_ns && r->time_ns <= now_ns());
	s->samples++;
	s->cpus |= 1ull << r->cpu;
	s->kernel_frames += r->sample.n_kernel;
	if (!(r->sample.flags & CAM_RAW_USER_MODE))
		return;
	s->user++;
	assert_int_equal(r->sample.n_kernel, 0);
	assert_true(r->sample.n_user > 0);
	s->in_spin += r->sample.user[0] >= (uintptr_t)__start_spin_text &&
		      r->sample.user[0] < (uintptr_t)__stop_spin_text;
}

static void spinning_child(void **state)
{
	(void)state;
	struct seen s = {.from_ns = now_ns()};
	s.pid = spawn_spinner(-1);
	struct control control = open_control(s.pid, -1, 499);
	struct cam_capture *c = open_source((struct cam_capture_options){.hz = 499});
	uint64_t before = control_samples(&control);
	run(c, 800, 50, see, &s);
	uint64_t beside = control_samples(&control) - before;
	c->ops->close(c);
	end_child(s.pid);
	close_control(&control);
	print_message("# %lu samples, %lu in user mode; the event beside: %lu\n", s.samples, s.user,
		      beside);
	assert_true(s.samples > 20);
	assert_true(s.samples > beside * 7 / 10 && s.samples < beside * 13 / 10);
	/* Signals and page faults aside it does nothing else; before spin() it was our child. */
	assert_true(s.user > s.samples / 2);
	assert_true(s.in_spin >= s.user - 2);
}

/* What `cat /proc/self/maps` prints is what the kernel said about it while it ran. */
#define MAX_MAPS 32
struct process {
	pid_t pid;
	size_t n;
	struct cam_mapping maps[MAX_MAPS];
	char paths[MAX_MAPS][256];
	bool forked, exited, exec;
};

static void see_process(void *arg, const struct cam_raw *r)
{
	struct process *p = arg;
	if (r->type == CAM_RAW_SAMPLE || r->pid != p->pid)
		return;
	if (r->type == CAM_RAW_FORK) {
		assert_int_equal(r->fork.parent_pid, getpid());
		p->forked = true;
	} else if (r->type == CAM_RAW_EXIT) {
		assert_true(p->exec);
		p->exited = true;
	} else if (r->type == CAM_RAW_COMM && r->comm.exec) {
		assert_true(p->forked);
		assert_true(cam_text_equal(r->comm.comm, CAM_TEXT("cat")));
		p->exec = true;
	} else if (r->type == CAM_RAW_MMAP) {
		assert_true(p->n < MAX_MAPS && r->mmap.path.n < sizeof(p->paths[0]));
		memcpy(p->paths[p->n], r->mmap.path.p, r->mmap.path.n);
		p->maps[p->n++] = r->mmap;
	}
}

static bool has_mapping(const struct process *p, const char *line)
{
	unsigned long start, end, offset, inode;
	unsigned major, minor;
	char perms[8], path[256] = "";
	int n = sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %255[^\n]", &start, &end, perms, &offset,
		       &major, &minor, &inode, path);
	assert_true(n >= 7);
	for (size_t i = 0; i < p->n; i++) {
		const struct cam_mapping *m = &p->maps[i];
		if (m->start == start && m->end == end && m->inode == inode && m->major == major &&
		    m->minor == minor && (m->file_offset == offset || !inode) &&
		    !strcmp(p->paths[i], path))
			return true;
	}
	return false;
}

static void processes(void **state)
{
	(void)state;
	struct process *p = calloc(1, sizeof(*p));
	int out[2];
	char line[1024];
	size_t executable = 0;
	assert_non_null(p);
	assert_int_equal(pipe(out), 0);
	struct cam_capture *c = open_source((struct cam_capture_options){.hz = 97});
	p->pid = fork();
	if (!p->pid) {
		dup2(out[1], 1);
		execl("/bin/cat", "cat", "/proc/self/maps", (char *)NULL);
		_exit(1);
	}
	close(out[1]);
	FILE *maps = fdopen(out[0], "r");
	assert_non_null(maps);
	int status;
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	drain(c, see_process, p);
	assert_true(p->forked && p->exec && p->exited);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, " r-xp ") || strstr(line, "[vsyscall]"))
			continue;
		if (!has_mapping(p, line))
			fail_msg("no record of %s", line);
		executable++;
	}
	assert_true(executable >= 3); /* cat, libc, ld.so and the vdso, or a static one less */
	fclose(maps);
	c->ops->close(c);
	free(p);
}

struct symbols {
	uint64_t from_ns, added;
};

static void see_symbol(void *arg, const struct cam_raw *r)
{
	struct symbols *s = arg;
	if (r->type != CAM_RAW_KSYMBOL)
		return;
	assert_true(r->time_ns >= s->from_ns && r->time_ns <= now_ns());
	assert_true(r->ksymbol.address > UINT64_MAX / 2);
	assert_true(r->ksymbol.bytes > 0);
	s->added += !r->ksymbol.removed && cam_text_starts(r->ksymbol.name, CAM_TEXT("bpf_prog_"));
}

/* A BPF program is loaded while several look: the kernel's records for the later ones are odd. */
static void kernel_symbols(void **state)
{
	(void)state;
	struct bpf_insn exit_0[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
				    {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			       .insn_cnt = 2,
			       .insns = (uintptr_t)exit_0,
			       .license = (uintptr_t) "GPL"};
	struct symbols s = {.from_ns = now_ns()};
	struct cam_capture *c[3];
	for (int i = 0; i < 3; i++)
		c[i] = open_source((struct cam_capture_options){.hz = 97});
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	assert_true(fd >= 0);
	for (int i = 0; i < 3; i++) {
		s.added = 0;
		drain(c[i], see_symbol, &s);
		assert_true(s.added > 0);
		c[i]->ops->close(c[i]);
	}
	close(fd);
}

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
	end_child(f->pid);
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
	assert_int_equal(cam_rings_cpus(rings, &online, now_ns(), &changed), 0);
	return rings;
}

static void drain_rings(struct cam_rings *rings, uint64_t *samples, uint64_t *lost)
{
	size_t n = cam_rings_n_streams(rings);
	struct cam_stream **streams = calloc(n, sizeof(*streams));
	uint64_t time_ns;
	assert_non_null(streams);
	cam_rings_streams(rings, streams);
	cam_rings_begin(rings, now_ns());
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
	pid_t pid = spawn_spinner(cpu);
	struct control control = open_control(-1, cpu, 1999);
	struct cam_capture *c =
		open_source((struct cam_capture_options){.hz = 1999, .ring_bytes = 4096});
	uint64_t before = control_samples(&control);
	usleep(1000000);
	drain(c, account, &a);
	uint64_t beside = control_samples(&control) - before;
	print_message("# ring of one page: %lu emitted, %lu lost; the event beside: %lu\n",
		      a.last.emitted, a.last.lost, beside);
	assert_int_equal(a.counts, 1);
	assert_true(a.lost > a.samples);
	assert_true(a.last.fired > beside * 7 / 10 && a.last.fired < beside * 13 / 10);
	c->ops->close(c);
	end_child(pid);
	close_control(&control);
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
	for (uint64_t end = now_ns() + ms * MS; now_ns() < end; made++) {
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
	struct cam_capture *c = open_source((struct cam_capture_options){.hz = 97});
	for (int i = 0; i < STORMS; i++) {
		assert_int_equal(pipe(out[i]), 0);
		s.pids[i] = spawn_storm(2000, out[i][1]);
	}
	run(c, 2100, 500, see_storm, &s);
	for (int i = 0; i < STORMS; i++) {
		assert_int_equal(read(out[i][0], &made[i], sizeof(made[i])), sizeof(made[i]));
		assert_int_equal(waitpid(s.pids[i], &status, 0), s.pids[i]);
		assert_int_equal(status, 0);
		all += made[i];
		close(out[i][0]);
		close(out[i][1]);
	}
	drain(c, see_storm, &s);
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

struct per_cpu {
	uint32_t cpu;
	uint64_t samples;
	int went, came;
};

static void see_cpu(void *arg, const struct cam_raw *r)
{
	struct per_cpu *p = arg;
	if (r->cpu != p->cpu)
		return;
	p->samples += r->type == CAM_RAW_SAMPLE;
	if (r->type == CAM_RAW_CPU)
		++*(r->cpu_state.online ? &p->came : &p->went);
}

/* A CPU leaves the list and returns to it (only the list: CPUs of this host stay where they are). */
static void online_list(void **state)
{
	(void)state;
	char root[] = "/tmp/perfcam-test-XXXXXX", path[128];
	static const char *const parts[] = {"/devices", "/devices/system", "/devices/system/cpu"};
	struct cam_cpus online;
	assert_non_null(mkdtemp(root));
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", root, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", root);
	assert_int_equal(cam_cpus_read("/sys", "online", &online), 0);
	struct per_cpu p = {.cpu = (uint32_t)sched_getcpu()};
	pid_t pid = spawn_spinner((int)p.cpu);
	struct cam_perf_host host = {cam_kernel_host(), "/proc", root};
	struct cam_capture_options o = {.hz = 499};
	struct cam_capture *c = NULL;
	for (int step = 0; step < 3; step++) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		for (uint32_t cpu = 0, n = 0; cpu < CAM_CPUS_MAX; cpu++)
			if (cam_cpus_has(&online, cpu) && (step != 1 || cpu != p.cpu))
				fprintf(f, "%s%u", n++ ? "," : "", cpu);
		/* With one CPU alone there is none left to list. */
		if (step == 1 && cam_cpus_count(&online) == 1)
			fprintf(f, "%u", CAM_CPUS_MAX - 1);
		fclose(f);
		if (!c)
			assert_int_equal(cam_perf_source_open(&o, &host, &c), 0);
		else
			assert_int_equal(c->ops->rescan(c), 0);
		drain(c, see_cpu, &p);
		p.samples = 0;
		run(c, 250, 50, see_cpu, &p);
		assert_int_equal(p.samples > 5, step != 1);
		assert_int_equal(p.came, step == 2 ? 2 : 1);
		assert_int_equal(p.went, step > 0);
	}
	c->ops->close(c);
	end_child(pid);
	unlink(path);
	for (int i = 3; i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, parts[i]);
		rmdir(path);
	}
	assert_int_equal(rmdir(root), 0);
}

/* Four times the rate gives four times the samples, by an event whose rate stays. */
static void rate(void **state)
{
	(void)state;
	double ratio[2];
	struct per_cpu p = {.cpu = (uint32_t)sched_getcpu()};
	pid_t pid = spawn_spinner((int)p.cpu);
	struct control control = open_control(-1, (int)p.cpu, 400);
	struct cam_capture *c = open_source((struct cam_capture_options){.hz = 200});
	for (int i = 0; i < 2; i++) {
		drain(c, see_cpu, &p);
		p.samples = 0;
		uint64_t before = control_samples(&control);
		run(c, 500, 50, see_cpu, &p);
		ratio[i] = (double)p.samples / (double)(control_samples(&control) - before);
		if (i == 0)
			assert_int_equal(c->ops->set_rate(c, 800), 0);
	}
	assert_int_equal(c->info.hz, 800);
	print_message("# of the event beside: %.2f at 200 Hz, %.2f at 800 Hz\n", ratio[0],
		      ratio[1]);
	assert_true(ratio[1] / ratio[0] > 3 && ratio[1] / ratio[0] < 5);
	c->ops->close(c);
	end_child(pid);
	close_control(&control);
}

static void see_nothing(void *arg, const struct cam_raw *r)
{
	(void)arg;
	(void)r;
}

/* perf says of an ended thread's event for ever that it is ready: that must not wake us for ever. */
static void ended_thread(void **state)
{
	(void)state;
	pid_t pid = spawn_spinner(-1);
	struct cam_capture *c =
		open_source((struct cam_capture_options){.hz = 97, .tids = &pid, .n_tids = 1});
	struct pollfd p = {.fd = c->ops->fd(c), .events = POLLIN};
	end_child(pid);
	assert_int_equal(poll(&p, 1, 1000), 1);
	drain(c, see_nothing, NULL);
	assert_int_equal(poll(&p, 1, 50), 0);
	assert_int_equal(c->ops->rescan(c), 0);
	c->ops->close(c);
}

static int paranoid(void)
{
	int v = 2;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	if (f) {
		assert_int_equal(fscanf(f, "%d", &v), 1);
		fclose(f);
	}
	return v;
}

/* A user that nobody else is, so that what others lock is not ours; may lock 64 KiB beyond. */
static bool become_nobody(void)
{
	struct rlimit small = {65536, 65536};
	return !setrlimit(RLIMIT_MEMLOCK, &small) && !prctl(PR_SET_KEEPCAPS, 1) &&
	       !setresgid(54321, 54321, 54321) && !setresuid(54321, 54321, 54321);
}

static bool set_capabilities(const char *text)
{
	cap_t caps = cap_from_text(text);
	bool good = caps && cap_set_proc(caps) == 0;
	cap_free(caps);
	return good;
}

/* In a child: whether all is as it should be without any privilege. */
static bool unprivileged(void)
{
	struct cam_capture *c;
	struct cam_capture_options o = {.hz = 499, .user_only = true};
	if (!become_nobody() || !set_capabilities("="))
		return false;
	if (paranoid() > 0 && cam_capture_open_perf(&o, &c) != -EACCES)
		return false;
	struct seen s = {.from_ns = now_ns()};
	int32_t self = getpid();
	o.tids = &self;
	o.n_tids = 1;
	if (cam_capture_open_perf(&o, &c))
		return false;
	s.pid = spawn_spinner(-1); /* of the children of a thread that is sampled */
	run(c, 300, 50, see, &s);
	bool good = s.samples > 5 && s.in_spin > s.samples / 2 && !s.kernel_frames;
	print_message("# no privileges: %lu samples, rings of %zu + %zu bytes%s\n", s.samples,
		      c->info.sample_ring_bytes, c->info.side_ring_bytes,
		      c->info.rings_shrunk ? ", shrunk" : "");
	c->ops->close(c);
	end_child(s.pid);
	return good;
}

struct kernel_seen {
	pid_t pid;
	uint64_t samples, with_kernel;
};

static void see_kernel(void *arg, const struct cam_raw *r)
{
	struct kernel_seen *s = arg;
	if (r->type != CAM_RAW_SAMPLE || r->pid != s->pid)
		return;
	s->samples++;
	s->with_kernel += r->sample.n_kernel > 1 && r->sample.kernel[0] > UINT64_MAX / 2;
}

/* CAP_PERFMON alone: everything but locked memory. */
static bool perfmon_only(void)
{
	struct cam_capture *c;
	struct cam_capture_options o = {.hz = 499};
	if (!become_nobody() || !set_capabilities("cap_perfmon=ep") ||
	    cam_capture_open_perf(&o, &c))
		return false;
	struct kernel_seen s = {.pid = fork()};
	if (!s.pid) {
		static char zeros[1 << 20];
		int fd = open("/dev/zero", O_RDONLY);
		while (read(fd, zeros, sizeof(zeros)) > 0)
			;
		_exit(1);
	}
	run(c, 300, 50, see_kernel, &s);
	struct cam_ring_size wanted;
	uint32_t cpus = c->info.cpus;
	if (cam_ring_size_choose(24u << 20, 4096, cpus, cpus, &wanted))
		return false;
	print_message("# CAP_PERFMON: %lu samples, %lu with kernel stacks, %zu bytes of rings%s\n",
		      s.samples, s.with_kernel, c->info.ring_bytes,
		      c->info.rings_shrunk ? ", shrunk" : "");
	/* The kernel gives each user perf_event_mlock_kb a CPU, and the limit above. */
	bool good = s.with_kernel > 5 && s.with_kernel > s.samples / 2 &&
		    c->info.rings_shrunk == (c->info.side_ring_bytes < wanted.side_bytes ||
					     c->info.sample_ring_bytes < wanted.sample_bytes);
	c->ops->close(c);
	end_child(s.pid);
	return good;
}

static void in_child(bool (*good)(void))
{
	int status;
	pid_t pid = fork();
	if (!pid)
		_exit(good() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_privileges(void **state)
{
	(void)state;
	in_child(unprivileged);
}

static void with_perfmon_only(void **state)
{
	(void)state;
	in_child(perfmon_only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spinning_child),    cmocka_unit_test(processes),
		cmocka_unit_test(kernel_symbols),    cmocka_unit_test(identity),
		cmocka_unit_test(overflow),	     cmocka_unit_test(fork_storm),
		cmocka_unit_test(online_list),	     cmocka_unit_test(rate),
		cmocka_unit_test(ended_thread),	     cmocka_unit_test(without_privileges),
		cmocka_unit_test(with_perfmon_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
