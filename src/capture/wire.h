// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Door A: the bytes that the BPF programs (capture/bpf/) and capture share.
 *
 * Sides: sample.bpf.c writes, bpf_ring.c and bpf_load.c read; the configuration goes the other way, and so
 * do unwind tables and the mappings of processes (bpf_unwinder.c).
 * Handed over: samples through ring buffers, one buffer for CAM_WIRE_CPUS_A_RING neighbouring CPUs;
 * counters in arrays that user space maps, an entry a CPU.
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
#include "model/unwind_table.h"

#include <linux/types.h>

#define CAM_WIRE_CPUS_A_RING	 16
#define CAM_WIRE_MAX_FRAMES	 127 /* of the kernel's half; kernel.perf_event_max_stack's default */
#define CAM_WIRE_MAX_USER_FRAMES 512
#define CAM_WIRE_MAX_SCOPE	 16384
#define CAM_WIRE_MAX_PROCESSES	 16384
#define CAM_WIRE_MAX_FILES	 8192 /* ingest's numbers are below */
#define CAM_WIRE_PAGE_BYTES	 4096
#define CAM_WIRE_COPY_PAGES	 4
#define CAM_WIRE_COPY_BYTES	 (CAM_WIRE_COPY_PAGES * CAM_WIRE_PAGE_BYTES)
#define CAM_WIRE_MAGIC		 0x53a2

enum cam_wire_flag {
	CAM_WIRE_USER_MODE = 1 << 0,
	CAM_WIRE_KERNEL_CUT = 1 << 1, /* as deep as the kernel gives: there may be more */
	CAM_WIRE_USER_CUT = 1 << 2,
	CAM_WIRE_GUESSED = 1 << 3, /* user frames beyond the leaf were found by frame pointers */
};

/*
 * Then n_kernel + n_user addresses, as model/raw.h has them, leaf first, kernel's first; then, if
 * copy_bytes is not 0, the registers and that much of the stack from sp upwards. The idle task (pid 0) has
 * none of it.
 */
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
	__u32 image;	  /* that the user's half was unwound with; 0: none */
	__u16 end;	  /* enum cam_stack_end, of the user's half */
	__u16 copy_bytes; /* a multiple of 8, at most CAM_WIRE_COPY_BYTES */
};

struct cam_wire_registers {
	__u64 ip, sp, bp;
};

/* A cache line a CPU. */
struct cam_wire_counts {
	__u64 fired, emitted, ring_full, filtered;
	__u64 reserved[4];
};

/* A CPU. Of the emitted samples, but those of the idle task. */
struct cam_wire_ends {
	__u64 ends[16]; /* by enum cam_stack_end */
	__u64 guessed, copied;
	__u64 copies_denied; /* the bucket was empty, or the ring half full */
	__u64 reserved[5];
};

/* Set before loading; the verifier sees constants. */
struct cam_wire_config {
	__u32 stack_bytes; /* the most that the kernel gives of one half; kernel.perf_event_max_stack */
	__u32 kernel_stacks; /* 0: they are not wanted */
	__u32 copy_cost_ns;  /* a copy each that long, a CPU */
	__u32 copy_burst_ns; /* and that much saved up */
};

/* Changed while it runs. */
struct cam_wire_state {
	__u32 scoped;	  /* only processes in the map cam_scope are emitted */
	__u32 scope_full; /* a child did not fit: everything is emitted, ingest filters */
	__u64 execs_lost_ns; /* an exec then was not noted: what was said of processes before is void */
	__u32 copies;	     /* somebody tells what processes run, and reads copies until then */
	__u32 gathering;     /* who is in scope is being found out: whoever is forked may be */
};

/* By pid: what it runs. */
struct cam_wire_process {
	__u64 start_ns; /* 0: whatever has that pid */
	__u64 as_of_ns; /* monotonic: it ran this then; an exec since makes it void */
	__u32 image;
	__u32 block; /* where that image is */
	__u32 pid;
	__u32 reserved;
};

/* By pid: its last exec while perfcam ran. */
struct cam_wire_exec {
	__u64 exec_ns;	/* monotonic */
	__u64 start_ns; /* of the process, boot clock */
};

/*
 * An image as it is kept: in a block, its first chunk beside it, the others in blocks of their own. Blocks
 * are in slabs: block b is entry b % 256 of slab b / 256. Block 0 is nobody's.
 */
struct cam_wire_image {
	struct cam_unwind_image image;
	__u32 block[CAM_UNWIND_MAX_CHUNKS]; /* of chunk k; [0] is not used */
	struct cam_unwind_chunk chunk;
	__u8 rest[CAM_UNWIND_BLOCK_BYTES - sizeof(struct cam_unwind_image) -
		  CAM_UNWIND_MAX_CHUNKS * sizeof(__u32) - sizeof(struct cam_unwind_chunk)];
};

#define CAM_WIRE_SLAB_BLOCKS 256u
#define CAM_WIRE_MAX_SLABS   64u
#define CAM_WIRE_MAX_BLOCKS  (CAM_WIRE_SLAB_BLOCKS * CAM_WIRE_MAX_SLABS)

/* The longest record with and without a copy. */
#define CAM_WIRE_MAX_PLAIN_BYTES          \
	(sizeof(struct cam_wire_sample) + \
	 (CAM_WIRE_MAX_FRAMES + CAM_WIRE_MAX_USER_FRAMES) * sizeof(__u64))
#define CAM_WIRE_MAX_BYTES \
	(CAM_WIRE_MAX_PLAIN_BYTES + sizeof(struct cam_wire_registers) + CAM_WIRE_COPY_BYTES)

_Static_assert(sizeof(struct cam_wire_sample) == 64, "");
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
_Static_assert(__builtin_offsetof(struct cam_wire_sample, image) == 56, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, end) == 60, "");
_Static_assert(__builtin_offsetof(struct cam_wire_sample, copy_bytes) == 62, "");
_Static_assert(CAM_WIRE_COPY_BYTES <= 0xffff, "copy_bytes has 16 bits");
_Static_assert(sizeof(struct cam_wire_registers) == 24, "");
_Static_assert(sizeof(struct cam_wire_counts) == 64, "");
_Static_assert(__builtin_offsetof(struct cam_wire_counts, filtered) == 24, "");
_Static_assert(sizeof(struct cam_wire_ends) == 192, "");
_Static_assert(__builtin_offsetof(struct cam_wire_ends, guessed) == 128, "");
_Static_assert(CAM_STACK_ENDS <= 16, "");
_Static_assert(sizeof(struct cam_wire_config) == 16, "");
_Static_assert(sizeof(struct cam_wire_state) == 24, "");
_Static_assert(sizeof(struct cam_wire_process) == 32, "");
_Static_assert(__builtin_offsetof(struct cam_wire_process, image) == 16, "");
_Static_assert(sizeof(struct cam_wire_exec) == 16, "");
_Static_assert(sizeof(struct cam_wire_image) == CAM_UNWIND_BLOCK_BYTES, "");
_Static_assert(__builtin_offsetof(struct cam_wire_image, block) == 136, "");
_Static_assert(__builtin_offsetof(struct cam_wire_image, chunk) == 200, "");
