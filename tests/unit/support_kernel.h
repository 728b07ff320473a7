// SPDX-License-Identifier: Apache-2.0
/* A kernel whose perf events do what a test wants: CPUs that go, limits, old versions. */
#pragma once
#include "capture/cpus.h"
#include "capture/kernel.h"
#include "support_perf.h"

#define FAKE_EVENTS 64

struct fake_event {
	bool open, enabled;
	bool dead, unreadable; /* its CPU went away; read(2) fails */
	int fd;		       /* an eventfd: epoll takes it */
	int32_t tid;
	int cpu;
	struct perf_event_attr attr;
	struct cam_kernel_count count;
	int reads;
	uint64_t moved_ns; /* by readings since time was last passed */
	uint64_t period;   /* what PERF_EVENT_IOC_PERIOD last said */
	int program;	   /* what PERF_EVENT_IOC_SET_BPF last said */
	struct fake_event *output;
	struct perf_builder ring;
	void *base;
	size_t bytes;
};

struct fake_kernel {
	struct cam_kernel kernel; /* first */
	struct cam_cpus online;
	uint64_t now_ns;
	size_t max_locked_bytes, locked_bytes; /* 0: no limit */
	bool no_lost, no_ksymbol, no_kernel;   /* what it does not know or allow */
	bool cycles, cycles_stand_still;       /* a PMU; it counts nothing */
	int32_t dead_tid;
	struct fake_event events[FAKE_EVENTS];
	int n_open, n_mapped;
};

void fake_kernel_init(struct fake_kernel *f, const char *online);
/* All was closed and unmapped. */
void fake_kernel_check(const struct fake_kernel *f);
/* Time goes on, and with it what enabled events count. */
void fake_kernel_pass(struct fake_kernel *f, uint64_t ns);
/* Its events die and never come back, whatever is put online later. */
void fake_kernel_offline(struct fake_kernel *f, uint32_t cpu);
/* The open event of this CPU with a mapping; the side band's (a dummy), or the other. */
struct fake_event *fake_kernel_event(struct fake_kernel *f, uint32_t cpu, bool side);
/* One sample with one user frame, or one FORK; what does not fit is lost and counted. */
void fake_event_sample(struct fake_event *e, uint64_t time_ns);
void fake_event_fork(struct fake_event *e, uint64_t time_ns, uint32_t child);
