// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* What the programs share: the kernel's structs with the members that are read, and the maps. */
#pragma once
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include "capture/wire.h"
#include "model/unwind_step.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Their places are found at load time. */
struct mm_struct;
struct task_struct {
	struct task_struct *group_leader;
	struct mm_struct *mm;
	__u64 start_boottime;
	unsigned int flags;
	int pid, tgid;
} __attribute__((preserve_access_index));

/* One sample in the making; then what is not emitted. */
struct scratch {
	struct cam_wire_sample head;
	__u8 body[CAM_WIRE_MAX_BYTES - sizeof(struct cam_wire_sample)];
	struct cam_step step;
	__u32 image_block;
	__u32 now_s;	 /* for `used` */
	__u32 last_root; /* of the table that was noted there last; 0: none */
	__u32 reserved;
	__u64 copy_ns, copy_credit_ns;
};

/* Sizes of 1 are replaced before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cam_wire_counts);
} cam_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cam_wire_ends);
} cam_ends SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} cam_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} cam_scratch SEC(".maps");

/* Process → its start (0: whatever has that pid now). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAM_WIRE_MAX_SCOPE);
	__type(key, __u32);
	__type(value, __u64);
} cam_scope SEC(".maps");

/* The hashes have all their memory from the start: kernels before 6.1 refuse others to a perf event. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAM_WIRE_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, struct cam_wire_process);
} cam_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAM_WIRE_MAX_PROCESSES);
	__type(key, __u32);
	__type(value, struct cam_wire_exec);
} cam_execs SEC(".maps");

struct slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAM_WIRE_SLAB_BLOCKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct cam_unwind_block));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CAM_WIRE_MAX_SLABS);
	__type(key, __u32);
	__array(values, struct slab);
} cam_slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAM_WIRE_MAX_FILES);
	__type(key, __u32);
	__type(value, struct cam_unwind_file);
} cam_files SEC(".maps");

/* By block, of a table's root or an image: when it was used last, in seconds of the monotonic clock. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CAM_WIRE_MAX_BLOCKS);
	__type(key, __u32);
	__type(value, __u32);
} cam_used SEC(".maps");

const volatile struct cam_wire_config cam_config = {CAM_WIRE_MAX_FRAMES * sizeof(__u64), 1, 0, 0};
struct cam_wire_state cam_state;

/* Starts read from /proc are rounded down to 10 ms. */
static __always_inline bool same_start(__u64 said_ns, __u64 start_ns)
{
	return said_ns == 0 || start_ns - said_ns < 10000000;
}

/*
 * What is said of a process, if it still holds: it is that process, and there was no exec since. The
 * kernel gives the memory of a deleted entry to the next one at once: who is told apart by its pid,
 * before and after.
 */
static __always_inline bool find_process(__u32 pid, __u64 start_ns, struct cam_wire_process *out)
{
	const volatile struct cam_wire_process *p = bpf_map_lookup_elem(&cam_processes, &pid);
	if (!p || p->pid != pid)
		return false;
	*out = (struct cam_wire_process){
		.start_ns = p->start_ns,
		.as_of_ns = p->as_of_ns,
		.image = p->image,
		.block = p->block,
		.pid = pid,
	};
	if (p->pid != pid || !same_start(out->start_ns, start_ns))
		return false;
	const struct cam_wire_exec *x = bpf_map_lookup_elem(&cam_execs, &pid);
	return out->as_of_ns >= cam_state.execs_lost_ns && (!x || out->as_of_ns >= x->exec_ns);
}
