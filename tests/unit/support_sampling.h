// SPDX-License-Identifier: Apache-2.0
/* What tests of sampling on this kernel share: children that spin, rounds, and a control event. */
#pragma once
#include "capture/capture.h"

#include <linux/perf_event.h>
#include <sys/types.h>

#define SAMPLING_MS 1000000ull

/* CLOCK_MONOTONIC. */
uint64_t sampling_now_ns(void);

/* A child that spins until it is killed, on one CPU if cpu >= 0. */
pid_t sampling_spawn_spinner(int cpu);
/* Whether this address is in the code that it spins in; nothing else is there. */
bool sampling_in_spin(uint64_t address);
void sampling_end_child(pid_t pid);

typedef void sampling_fn(void *arg, const struct cam_raw *r);

struct cam_capture *sampling_open(struct cam_capture_options o);
/* One round: all of one stream, then of the next; not in order of time. */
void sampling_drain(struct cam_capture *c, sampling_fn *fn, void *arg);
/* Rounds when woken, at least every `every` ms. */
void sampling_run(struct cam_capture *c, uint64_t ms, int every, sampling_fn *fn, void *arg);

/* A clock event beside ours: of one thread on any CPU (-1), or of one CPU (pid -1). */
struct sampling_control {
	int fd;
	struct perf_event_mmap_page *page;
	size_t bytes;
};

struct sampling_control sampling_control_open(pid_t pid, int cpu, uint32_t hz);
/* How many it has given so far. */
uint64_t sampling_control_samples(const struct sampling_control *c);
void sampling_control_close(struct sampling_control *c);
