// SPDX-License-Identifier: Apache-2.0
#include "support_sampling.h"
#include "capture/kernel.h"

#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

uint64_t sampling_now_ns(void)
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

bool sampling_in_spin(uint64_t address)
{
	return address >= (uintptr_t)__start_spin_text && address < (uintptr_t)__stop_spin_text;
}

pid_t sampling_spawn_spinner(int cpu)
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

void sampling_end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void sampling_drain(struct cam_capture *c, sampling_fn *fn, void *arg)
{
	struct cam_stream **streams;
	size_t n;
	uint64_t time_ns;
	assert_int_equal(c->ops->begin_round(c, sampling_now_ns(), &streams, &n), 0);
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &time_ns)) {
			struct cam_raw r;
			streams[i]->take(streams[i], &r);
			fn(arg, &r);
		}
	c->ops->end_round(c);
}

void sampling_run(struct cam_capture *c, uint64_t ms, int every, sampling_fn *fn, void *arg)
{
	for (uint64_t end = sampling_now_ns() + ms * SAMPLING_MS; sampling_now_ns() < end;) {
		struct pollfd p = {.fd = c->ops->fd(c), .events = POLLIN};
		poll(&p, 1, every);
		sampling_drain(c, fn, arg);
	}
}

struct cam_capture *sampling_open(struct cam_capture_options o)
{
	struct cam_capture *c;
	assert_int_equal(cam_capture_open_perf(&o, &c), 0);
	return c;
}

struct sampling_control sampling_control_open(pid_t pid, int cpu, uint32_t hz)
{
	struct sampling_control c = {.bytes = 4096 + (1u << 20)};
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
uint64_t sampling_control_samples(const struct sampling_control *c)
{
	return __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE) / 16;
}

void sampling_control_close(struct sampling_control *c)
{
	munmap(c->page, c->bytes);
	close(c->fd);
}
