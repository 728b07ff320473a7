// SPDX-License-Identifier: Apache-2.0
/* Children with a known profile, and what a live source said about them. */
#pragma once
#include "capture/bpf_source.h"

#include <sys/types.h>

/* Two functions that a spinning child spends its time in; their text lies in [start, end). */
struct bpf_text {
	uintptr_t start, end;
};
extern const struct bpf_text spin_a_text, spin_b_text;

/* Burns about `units` times 20 us in the one or the other. */
void spin_a(unsigned units);
void spin_b(unsigned units);

/* Runs fn(arg) on that CPU until it is killed, here or by its parent's death; its pid. */
pid_t child_on(uint32_t cpu, void (*fn)(void *arg), void *arg);
/* The usual one: spin_a for ever. */
pid_t spinner_on(uint32_t cpu);
void end_child(pid_t pid);

uint64_t clock_ns(void);

/* All that came out of a capture, in the order of its streams. Frames are the first ones only. */
#define SEEN_FRAMES 128u
struct seen {
	struct cam_raw raw;
	uint64_t frames[SEEN_FRAMES]; /* user's, or kernel's of a sample without user's */
};
struct log {
	struct seen *at;
	size_t n, cap;
};

/* One round: takes everything. */
void drain(struct cam_capture *c, struct log *l);
/* Rounds of 50 ms for that long. */
void drain_for(struct cam_capture *c, struct log *l, uint64_t ns);
void log_clear(struct log *l);
void log_free(struct log *l);

/* The capture, open; fails the test where it is not. */
struct cam_capture *open_bpf(const struct cam_capture_options *o, const struct cam_perf_host *host);

/* A directory that stands for /sys with these CPUs; `sys` gets its path. */
struct fake_host {
	struct cam_perf_host host;
	char sys[64];
};
void fake_host_make(struct fake_host *h, const char *online);
void fake_host_online(struct fake_host *h, const char *online);
void fake_host_remove(struct fake_host *h);
