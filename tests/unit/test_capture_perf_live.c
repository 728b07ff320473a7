// SPDX-License-Identifier: Apache-2.0
/*
 * The plain source on this kernel, as root. Each count is compared with what the kernel itself
 * reports or with an event opened beside it, never with a nominal rate: CPUs here are shared.
 */
#include "capture/cpus.h"
#include "capture/perf_source.h"
#include "capture/ring_size.h"
#include "support_sampling.h"

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
	assert_true(r->time_ns >= s->from_ns && r->time_ns <= sampling_now_ns());
	s->samples++;
	s->cpus |= 1ull << r->cpu;
	s->kernel_frames += r->sample.n_kernel;
	if (!(r->sample.flags & CAM_RAW_USER_MODE))
		return;
	s->user++;
	assert_int_equal(r->sample.n_kernel, 0);
	assert_true(r->sample.n_user > 0);
	s->in_spin += sampling_in_spin(r->sample.user[0]);
}

static void spinning_child(void **state)
{
	(void)state;
	struct seen s = {.from_ns = sampling_now_ns()};
	s.pid = sampling_spawn_spinner(-1);
	struct sampling_control control = sampling_control_open(s.pid, -1, 499);
	struct cam_capture *c = sampling_open((struct cam_capture_options){.hz = 499});
	uint64_t before = sampling_control_samples(&control);
	sampling_run(c, 800, 50, see, &s);
	uint64_t beside = sampling_control_samples(&control) - before;
	c->ops->close(c);
	sampling_end_child(s.pid);
	sampling_control_close(&control);
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
	uint64_t forked_ns, exec_ns, exited_ns, lost;
};

/* A fork is in the ring of the parent's CPU, the rest in those of the child's: one ring comes after
 * the other here, so what came before what is told by the records' times alone. */
static void see_process(void *arg, const struct cam_raw *r)
{
	struct process *p = arg;
	if (r->type == CAM_RAW_LOST && r->lost.side_band)
		p->lost += r->lost.records;
	if (r->type == CAM_RAW_SAMPLE || r->pid != p->pid)
		return;
	if (r->type == CAM_RAW_FORK) {
		assert_int_equal(r->fork.parent_pid, getpid());
		p->forked_ns = r->time_ns;
	} else if (r->type == CAM_RAW_EXIT) {
		p->exited_ns = r->time_ns;
	} else if (r->type == CAM_RAW_COMM && r->comm.exec) {
		assert_true(cam_text_equal(r->comm.comm, CAM_TEXT("cat")));
		p->exec_ns = r->time_ns;
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
	struct cam_capture *c = sampling_open((struct cam_capture_options){.hz = 97});
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
	pid_t ended;
	/* Others fork too, and the rings hold only so much. */
	while ((ended = waitpid(p->pid, &status, WNOHANG)) == 0) {
		sampling_drain(c, see_process, p);
		usleep(1000);
	}
	assert_int_equal(ended, p->pid);
	assert_int_equal(status, 0);
	sampling_drain(c, see_process, p);
	assert_int_equal(p->lost, 0);
	assert_true(p->forked_ns && p->forked_ns < p->exec_ns && p->exec_ns < p->exited_ns);
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
	assert_true(r->time_ns >= s->from_ns && r->time_ns <= sampling_now_ns());
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
	struct symbols s = {.from_ns = sampling_now_ns()};
	struct cam_capture *c[3];
	for (int i = 0; i < 3; i++)
		c[i] = sampling_open((struct cam_capture_options){.hz = 97});
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	assert_true(fd >= 0);
	for (int i = 0; i < 3; i++) {
		s.added = 0;
		sampling_drain(c[i], see_symbol, &s);
		assert_true(s.added > 0);
		c[i]->ops->close(c[i]);
	}
	close(fd);
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
	pid_t pid = sampling_spawn_spinner((int)p.cpu);
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
		sampling_drain(c, see_cpu, &p);
		p.samples = 0;
		sampling_run(c, 250, 50, see_cpu, &p);
		assert_int_equal(p.samples > 5, step != 1);
		assert_int_equal(p.came, step == 2 ? 2 : 1);
		assert_int_equal(p.went, step > 0);
	}
	c->ops->close(c);
	sampling_end_child(pid);
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
	pid_t pid = sampling_spawn_spinner((int)p.cpu);
	struct sampling_control control = sampling_control_open(-1, (int)p.cpu, 400);
	struct cam_capture *c = sampling_open((struct cam_capture_options){.hz = 200});
	for (int i = 0; i < 2; i++) {
		sampling_drain(c, see_cpu, &p);
		p.samples = 0;
		uint64_t before = sampling_control_samples(&control);
		sampling_run(c, 500, 50, see_cpu, &p);
		ratio[i] =
			(double)p.samples / (double)(sampling_control_samples(&control) - before);
		if (i == 0)
			assert_int_equal(c->ops->set_rate(c, 800), 0);
	}
	assert_int_equal(c->info.hz, 800);
	print_message("# of the event beside: %.2f at 200 Hz, %.2f at 800 Hz\n", ratio[0],
		      ratio[1]);
	assert_true(ratio[1] / ratio[0] > 3 && ratio[1] / ratio[0] < 5);
	c->ops->close(c);
	sampling_end_child(pid);
	sampling_control_close(&control);
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
	pid_t pid = sampling_spawn_spinner(-1);
	struct cam_capture *c =
		sampling_open((struct cam_capture_options){.hz = 97, .tids = &pid, .n_tids = 1});
	struct pollfd p = {.fd = c->ops->fd(c), .events = POLLIN};
	sampling_end_child(pid);
	assert_int_equal(poll(&p, 1, 1000), 1);
	sampling_drain(c, see_nothing, NULL);
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
	struct seen s = {.from_ns = sampling_now_ns()};
	int32_t self = getpid();
	o.tids = &self;
	o.n_tids = 1;
	if (cam_capture_open_perf(&o, &c))
		return false;
	s.pid = sampling_spawn_spinner(-1); /* of the children of a thread that is sampled */
	sampling_run(c, 300, 50, see, &s);
	bool good = s.samples > 5 && s.in_spin > s.samples / 2 && !s.kernel_frames;
	print_message("# no privileges: %lu samples, rings of %zu + %zu bytes%s\n", s.samples,
		      c->info.sample_ring_bytes, c->info.side_ring_bytes,
		      c->info.rings_shrunk ? ", shrunk" : "");
	c->ops->close(c);
	sampling_end_child(s.pid);
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
	sampling_run(c, 300, 50, see_kernel, &s);
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
	sampling_end_child(s.pid);
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
		cmocka_unit_test(spinning_child),
		cmocka_unit_test(processes),
		cmocka_unit_test(kernel_symbols),
		cmocka_unit_test(online_list),
		cmocka_unit_test(rate),
		cmocka_unit_test(ended_thread),
		cmocka_unit_test(without_privileges),
		cmocka_unit_test(with_perfmon_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
