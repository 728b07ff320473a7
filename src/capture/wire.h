// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Door A: the bytes that the BPF programs (capture/bpf/) and capture share.
 *
 * Sides: sample.bpf.c writes, bpf_ring.c and bpf_load.c read; the configuration goes the other way.
 * Handed over: samples through ring buffers, one buffer for CAM_WIRE_CPUS_A_RING neighbouring CPUs;
 * counters in an array that user space maps, an entry a CPU.
 * Ownership: a record is the kernel's until its length loses the busy bit, the reader's until it
 * moves the consumer's position past it. A CPU's counters are written on that CPU alone, never
 * nested: the kernel does not run a perf_event program inside another BPF program.
 * Thread: any CPU in interrupt or NMI context; the drain thread.
 * Refused: a ring without room for a record: ring_full. The reader refuses a record whose bytes are
 * not what its counts say: counted as malformed, passed over.
 * Counted: fired == emitted + ring_full + filtered, whenever no program is running on that CPU.
 *
 * The same header is compiled for the kernel and for us, by different compilers: each offset is
 * asserted. Not a file format: both sides are of one build.
 */
#pragma once
#include <linux/types.h>

#define CAM_WIRE_CPUS_A_RING 16
#define CAM_WIRE_MAX_FRAMES  127 /* of each half; the default of kernel.perf_event_max_stack */
#define CAM_WIRE_MAX_SCOPE   16384
#define CAM_WIRE_MAGIC	     0x53a1

enum cam_wire_flag {
	CAM_WIRE_USER_MODE = 1 << 0,
	CAM_WIRE_KERNEL_CUT = 1 << 1, /* as deep as the kernel gives: there may be more */
	CAM_WIRE_USER_CUT = 1 << 2,
	CAM_WIRE_GUESSED = 1 << 3, /* user frames beyond the leaf were found by frame pointers */
};

/* Then n_kernel + n_user addresses, leaf first, kernel's first. The idle task (pid 0) has none. */
struct cam_wire_sample {
	__u64 time_ns;	/* CLOCK_MONOTONIC */
	__u64 start_ns; /* of the process (its group leader), boot clock */
	__u32 cpu;
	__u32 pid, tid;
	__u32 uid;
	__u16 magic;
	__u16 flags;
	__u16 n_kernel, n_user;
	char comm[16];
};

/* A cache line a CPU. */
struct cam_wire_counts {
	__u64 fired, emitted, ring_full, filtered;
	__u64 reserved[4];
};

/* Set before loading; the verifier sees constants. */
struct cam_wire_config {
	__u32 stack_bytes; /* the most that the kernel gives of one half; kernel.perf_event_max_stack */
	__u32 kernel_stacks; /* 0: they are not wanted */
};

/* Changed while it runs. */
struct cam_wire_state {
	__u32 scoped;	  /* only processes in the map cam_scope are emitted */
	__u32 scope_full; /* a child did not fit: everything is emitted, ingest filters */
};

#define CAM_WIRE_MAX_BYTES \
	(sizeof(struct cam_wire_sample) + 2 * CAM_WIRE_MAX_FRAMES * sizeof(__u64))

_Static_assert(sizeof(struct cam_wire_sample) == 56, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, start_ns) == 8, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, cpu) == 16, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, pid) == 20, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, tid) == 24, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, uid) == 28, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, magic) == 32, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, flags) == 34, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, n_kernel) == 36, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, n_user) == 38, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, comm) == 40, "");
_Static_assert(sizeof(struct cam_wire_counts) == 64, "");
_Static_assert(__builtin_offsetof(struct cam_wire_counts, filtered) == 24, "");
_Static_assert(sizeof(struct cam_wire_config) == 8, "");
_Static_assert(sizeof(struct cam_wire_state) == 8, "");
