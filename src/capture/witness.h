// SPDX-License-Identifier: Apache-2.0
/*
 * A plain cpu-clock event without stacks beside a CPU's sampling event, at a low rate: how often it fired says how
 * often the other should have. The control of the BPF source, whose program the kernel may skip, and of
 * cycles, whose rate is only nominal.
 *
 * It is counted without reading it: its ring is mapped read-only, so the kernel overwrites the oldest for ever
 * and never loses one; a record of it is a bare header of 8 bytes, so data_head / 8 is how often it
 * fired. One page of data, no system call.
 */
#pragma once
#include "capture/kernel.h"
#include "capture/rings.h"

#define CAM_WITNESS_HZ 11u

struct cam_witness {
	int fd; /* -1: none stands here */
	const struct perf_event_mmap_page *page;
};

#define CAM_WITNESS_NONE ((struct cam_witness){.fd = -1})

/* What one takes of a budget. */
size_t cam_witness_bytes(void);
/* Of the same kind of code as `beside` is. It does not count yet: cam_witness_start(). On errors it is NONE: what
 * perf_event_open says, -ENOBUFS (locked memory), -ENOMEM (the budget). */
int cam_witness_open(const struct cam_kernel *k, const struct perf_event_attr *beside, uint32_t cpu,
		     struct cam_ring_budget *budget, struct cam_witness *out);
int cam_witness_start(const struct cam_witness *w, const struct cam_kernel *k);
/* 0 of none. */
uint64_t cam_witness_count(const struct cam_witness *w);
void cam_witness_close(struct cam_witness *w, const struct cam_kernel *k,
		       struct cam_ring_budget *budget);
