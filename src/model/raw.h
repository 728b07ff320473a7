// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel said, record by record, before anyone made sense of it: the live half of door B.
 *
 * Sides: capture makes them (or a replay, or a test), ingest/live takes them.
 * Handed over: one struct cam_raw at a time, in order of time as far as the rounds can promise
 * (ingest/order.h).
 * Ownership: pointers inside are borrowed, until the next record is taken from the same stream; to
 * keep or queue a record, pack it: the packed form is self-contained, of one machine and one
 * build (no file format), and unpacking borrows from it.
 * Thread: none of its own.
 *
 * Times are CLOCK_MONOTONIC nanoseconds as the kernel saw them. Stacks are leaf first, without
 * the kernel's context markers, user frames apart from kernel frames. Pids are those of the
 * recorder's own pid namespace.
 *
 * The first frame of each half is where the CPU stood, the others are return addresses: the call is before
 * them. A user frame that a signal interrupted called nobody: it is told as one more than where it stood, so
 * that who takes 1 off all but the first has that. (By frame pointers no such frame is found: they lead from
 * the handler to the caller of what it interrupted.)
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"
#include "model/unwind_table.h"

enum cam_raw_type {
	CAM_RAW_SAMPLE,
	CAM_RAW_MMAP,
	CAM_RAW_COMM,
	CAM_RAW_FORK,
	CAM_RAW_EXIT,
	CAM_RAW_LOST,
	CAM_RAW_THROTTLE,
	CAM_RAW_UNTHROTTLE,
	CAM_RAW_KSYMBOL,
	CAM_RAW_COUNTS,
	CAM_RAW_CPU,
	CAM_RAW_TYPES,
};

/* Which sample frames could not be had. */
enum cam_raw_sample_flag {
	CAM_RAW_TRUNCATED = 1 << 0, /* the stack is deeper than the source could hold */
	CAM_RAW_GUESSED = 1 << 1,   /* frames beyond the leaf were guessed by frame pointers */
	CAM_RAW_USER_MODE = 1 << 2, /* the CPU was in user mode */
	CAM_RAW_HAS_COMM = 1 << 3,  /* comm, uid and start_ns are the kernel's own (BPF) */
};

#define CAM_COMM_BYTES 16

/* What is needed to unwind a stack later: registers, and memory from sp upwards. */
struct cam_raw_copy {
	uint64_t ip, sp, bp;
	const uint8_t *stack;
	uint32_t stack_bytes; /* 0: there is no copy */
};

/* pid 0 is the idle task: counted, its stack is not kept. */
struct cam_raw_sample {
	const uint64_t *kernel;
	const uint64_t *user; /* with a copy: the leaf alone, or what frame pointers gave */
	uint32_t n_kernel, n_user;
	uint32_t flags;
	enum cam_stack_end end; /* of the user half */
	uint32_t image; /* which it was unwound with (unwinder.h); 0: none, or by frame pointers */
	struct cam_raw_copy copy;
	uint32_t uid;		   /* with CAM_RAW_HAS_COMM */
	uint64_t start_ns;	   /* …of the process, boot clock */
	char comm[CAM_COMM_BYTES]; /* …of the thread, NUL-terminated */
	uint64_t weight;	   /* 1, or the period */
};

/* A mapping with PROT_EXEC. From MMAP2, or a line of /proc/PID/maps (generation 0: not known). */
struct cam_mapping {
	uint64_t start, end; /* half-open */
	uint64_t file_offset;
	uint64_t inode;
	uint64_t generation;
	uint32_t major, minor;
	struct cam_text path; /* as the process sees it: a path, "[vdso]", "//anon", … */
};

struct cam_raw_comm {
	struct cam_text comm;
	bool exec; /* the program was replaced, not only renamed */
};

/* pid, tid: the child; for an exit, who ended. */
struct cam_raw_fork {
	int32_t parent_pid, parent_tid;
};

struct cam_raw_lost {
	uint64_t records;
	uint64_t from_ns; /* the drain round before; time_ns is the round that noticed */
	bool side_band; /* mappings, forks, … were lost: what lived then is suspect; else samples */
	bool queue;	/* it was perfcam's own queue that was full, not the kernel's ring */
};

struct cam_raw_ksymbol {
	uint64_t address;
	uint32_t bytes;
	bool removed;
	struct cam_text name;
};

/*
 * What one CPU's sampling event did, cumulative since it was opened; about one a second.
 * fired = emitted + lost + filtered, exactly; a source that cannot count `fired` makes it that sum.
 */
struct cam_raw_counts {
	uint64_t fired, emitted, lost, filtered;
	uint64_t enabled_ns; /* time enabled */
	uint64_t control;    /* samples of the plain control event beside BPF; 0 without one */
	uint32_t control_hz; /* …and its rate; 0: none */
	uint32_t hz;	     /* what the kernel made of the rate asked for; 0: as asked */
};

/* cpu came (sampled from time_ns on) or went. */
struct cam_raw_cpu {
	bool online;
};

struct cam_raw {
	enum cam_raw_type type;
	uint32_t cpu;
	uint64_t time_ns;
	int32_t pid, tid;
	union {
		struct cam_raw_sample sample;
		struct cam_mapping mmap;
		struct cam_raw_comm comm;
		struct cam_raw_fork fork; /* and exit */
		struct cam_raw_lost lost;
		struct cam_raw_ksymbol ksymbol;
		struct cam_raw_counts counts;
		struct cam_raw_cpu cpu_state;
	};
};

/* The most a packed record can take: two full stacks and a copy. */
#define CAM_RAW_MAX_FRAMES 1024u
#define CAM_RAW_MAX_TEXT   4096u
#define CAM_RAW_MAX_STACK  32768u /* of a copy */
#define CAM_RAW_MAX_BYTES \
	(sizeof(struct cam_raw) + 2 * CAM_RAW_MAX_FRAMES * sizeof(uint64_t) + CAM_RAW_MAX_STACK)

/* A multiple of 8. Frames, text and copies beyond the bounds are cut (a cut stack gets CAM_RAW_TRUNCATED). */
size_t cam_raw_packed_bytes(const struct cam_raw *r);
/* Writes cam_raw_packed_bytes(r) bytes; `to` is aligned to 8. */
void cam_raw_pack(const struct cam_raw *r, void *to);
/* `from` is aligned to 8, stays the caller's, and must outlive *out. -EINVAL: not what pack wrote. */
int cam_raw_unpack(const void *from, size_t bytes, struct cam_raw *out);
