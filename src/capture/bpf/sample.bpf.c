// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * What runs in the kernel: a sample at each overflow of a CPU's event; the scope kept at each fork.
 *
 * Why copies of stacks and not stack ids: the kernel's stack map lost 22 to 31 % of the stacks to
 * colliding ids at the same cost. Why output of a scratch buffer and not a reservation in the ring:
 * a reservation has a fixed size, the largest, and most stacks are a tenth of that.
 *
 * Why the scope follows forks here: user space hears of a fork up to a round later, and a process that
 * lives 5 ms would be gone before it was added; asking for the chain of parents at each sample
 * instead would lose what was reparented and take in children that were there before.
 *
 * Invariants:
 * 1. Each run counts itself once in `fired` and once in exactly one of the other three.
 * 2. A record is exactly its head and the frames it announces.
 * 3. Nothing here waits, and no run depends on another's: a sample may interrupt anything.
 * 4. A scope that does not fit is no scope: too much is emitted, never too little.
 *
 * Kernel structs are declared with the members we read; their places are found at load time.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include "capture/wire.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The helpers that read stacks are granted to programs under the GPL only. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct task_struct {
	struct task_struct *group_leader;
	__u64 start_boottime;
	int pid, tgid;
} __attribute__((preserve_access_index));

struct scratch {
	struct cam_wire_sample head;
	__u64 frames[2 * CAM_WIRE_MAX_FRAMES];
};

/* Sizes of 1 are replaced before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cam_wire_counts);
} cam_counts SEC(".maps");

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

const volatile struct cam_wire_config cam_config = {CAM_WIRE_MAX_FRAMES * sizeof(__u64), 1};
struct cam_wire_state cam_state;

static __always_inline bool user_mode(struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	/* Volatile: the verifier refuses the narrow load that the compiler would make of it. */
	return (*(volatile __u64 *)&ctx->regs.cs & 3) == 3;
#elif defined(__TARGET_ARCH_arm64)
	return (*(volatile __u64 *)&ctx->regs.pstate & 0xf) == 0;
#else
#error "how does this architecture say that it was in user mode?"
#endif
}

static __always_inline bool in_scope(__u32 pid, __u64 start_ns)
{
	if (!cam_state.scoped || cam_state.scope_full)
		return true;
	const __u64 *wanted = bpf_map_lookup_elem(&cam_scope, &pid);
	return wanted && (*wanted == 0 || *wanted == start_ns);
}

/* The bytes of the kernel's half of the stack, at the start of frames. */
static __always_inline __u32 kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	if (!cam_config.kernel_stacks)
		return 0;
	long n = bpf_get_stack(ctx, s->frames, CAM_WIRE_MAX_FRAMES * sizeof(__u64), 0);
	if (n <= 0)
		return 0;
	s->head.n_kernel = n / sizeof(__u64);
	if (n >= cam_config.stack_bytes)
		s->head.flags |= CAM_WIRE_KERNEL_CUT;
	return n;
}

/*
 * The bytes of the user's half, after `at` bytes of kernel frames. By frame pointers: all but the
 * leaf is a guess in a program compiled without them.
 */
static __always_inline __u32 user_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
					__u32 at)
{
	at &= 1023;
	if (at > CAM_WIRE_MAX_FRAMES * sizeof(__u64))
		return 0;
	long n = bpf_get_stack(ctx, (char *)s->frames + at, CAM_WIRE_MAX_FRAMES * sizeof(__u64),
			       BPF_F_USER_STACK);
	if (n <= 0)
		return 0;
	s->head.n_user = n / sizeof(__u64);
	if (n > (long)sizeof(__u64))
		s->head.flags |= CAM_WIRE_GUESSED;
	if (n >= cam_config.stack_bytes)
		s->head.flags |= CAM_WIRE_USER_CUT;
	return n;
}

/* Wakes the reader only when half of the ring is full: it comes by itself several times a second. */
static __always_inline long emit(__u32 cpu, const struct scratch *s, __u32 bytes)
{
	__u32 index = cpu / CAM_WIRE_CPUS_A_RING;
	void *ring = bpf_map_lookup_elem(&cam_rings, &index);
	if (!ring)
		return -1;
	__u64 filled = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + bytes;
	__u64 wake = filled * 2 >= bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
	return bpf_ringbuf_output(ring, (void *)s, bytes,
				  wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

SEC("perf_event")
int cam_sample(struct bpf_perf_event_data *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct cam_wire_counts *count = bpf_map_lookup_elem(&cam_counts, &cpu);
	if (!count)
		return 0; /* there is an entry for every CPU that may ever come */
	count->fired++;

	__u64 ids = bpf_get_current_pid_tgid();
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 start_ns = task->group_leader->start_boottime;
	if (!in_scope(ids >> 32, start_ns)) {
		count->filtered++;
		return 0;
	}
	struct scratch *s = bpf_map_lookup_elem(&cam_scratch, &zero);
	if (!s) {
		count->ring_full++;
		return 0;
	}
	s->head = (struct cam_wire_sample){
		.time_ns = now_ns,
		.start_ns = start_ns,
		.cpu = cpu,
		.pid = ids >> 32,
		.tid = ids,
		.uid = bpf_get_current_uid_gid(),
		.magic = CAM_WIRE_MAGIC,
		.flags = user_mode(ctx) ? CAM_WIRE_USER_MODE : 0,
	};
	bpf_get_current_comm(s->head.comm, sizeof(s->head.comm));
	__u32 bytes = 0;
	if (s->head.tid) {
		bytes = kernel_stack(ctx, s);
		bytes += user_stack(ctx, s, bytes);
	}
	if (bytes > sizeof(s->frames) || emit(cpu, s, sizeof(s->head) + bytes))
		count->ring_full++;
	else
		count->emitted++;
	return 0;
}

/* Arguments: parent, child. The child has not run yet. */
SEC("raw_tp/sched_process_fork")
int cam_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	__u64 from_start = BPF_CORE_READ(parent, group_leader, start_boottime);
	__u64 to_start = BPF_CORE_READ(child, start_boottime);
	if (from == to)
		return 0; /* a thread */
	const __u64 *wanted = bpf_map_lookup_elem(&cam_scope, &from);
	if (!wanted || (*wanted && *wanted != from_start))
		return 0;
	if (bpf_map_update_elem(&cam_scope, &to, &to_start, BPF_ANY))
		cam_state.scope_full = 1;
	return 0;
}

/*
 * The pid may be another's by now: only the same start is the same process. One that was added without
 * its start cannot be told from that other; it goes.
 */
SEC("raw_tp/sched_process_free")
int cam_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, pid), tgid = BPF_CORE_READ(task, tgid);
	const __u64 *wanted = pid == tgid ? bpf_map_lookup_elem(&cam_scope, &tgid) : NULL;
	if (wanted && (*wanted == 0 || *wanted == BPF_CORE_READ(task, start_boottime)))
		bpf_map_delete_elem(&cam_scope, &tgid);
	return 0;
}
