// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * What runs in the kernel: a sample at each overflow of a CPU's event; who is wanted, and who runs what,
 * kept at each fork, exec and end of a process.
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
#include "capture/bpf/shared.h"

#if defined(__TARGET_ARCH_x86)
#include "capture/bpf/user_stack.h"
#endif

/* The helpers that read stacks are granted to programs under the GPL only. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* How the user's half is walked; a program each. */
enum form { FORM_FRAME_POINTERS, FORM_PLAIN, FORM_LOOP };

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
	long n = bpf_get_stack(ctx, s->body, CAM_WIRE_MAX_FRAMES * sizeof(__u64), 0);
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
	long n = bpf_get_stack(ctx, s->body + at, CAM_WIRE_MAX_FRAMES * sizeof(__u64),
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

static __always_inline void *ring_of(__u32 cpu)
{
	__u32 index = cpu / CAM_WIRE_CPUS_A_RING;
	return bpf_map_lookup_elem(&cam_rings, &index);
}

/* Wakes the reader only when half of the ring is full: it comes by itself several times a second. */
static __always_inline long emit(__u32 cpu, const struct scratch *s, __u64 bytes)
{
	void *ring = ring_of(cpu);
	if (!ring)
		return -1;
	__u64 filled = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + bytes;
	__u64 wake = filled * 2 >= bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
	return bpf_ringbuf_output(ring, (void *)s, bytes,
				  wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#if defined(__TARGET_ARCH_x86)
/* Of a copy: the upper half of a ring is for samples alone. */
static __always_inline bool has_room(__u32 cpu)
{
	void *ring = ring_of(cpu);
	return ring && 2 * (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + CAM_WIRE_MAX_BYTES) <=
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

/* Whose stack is not walked, or how the walk by tables ended; n_user counts what it found. */
static __always_inline __u32 walk_user(struct bpf_perf_event_data *ctx, struct scratch *s,
				       struct task_struct *task, bool has_loop,
				       struct cam_wire_registers *regs)
{
	bool user = s->head.flags & CAM_WIRE_USER_MODE;
	if (!user && (task->flags & PF_KTHREAD || !task->mm))
		return CAM_STACK_NO_USER;
	/* A second thread at least: in Linux 5.15 one of the flags means something else, of who loads modules. */
	if (!user && task->flags & (PF_IO_WORKER | PF_USER_WORKER) && s->head.pid != s->head.tid)
		return CAM_STACK_WORKER;
	__u32 cs = user_registers(ctx, task, user, &s->step);
	*regs = (struct cam_wire_registers){s->step.ip, s->step.sp, s->step.bp};
	if (cs == USER32_CS)
		return CAM_STACK_COMPAT;
	struct cam_wire_process p;
	if (!find_process(s->head.pid, s->head.start_ns, &p))
		return CAM_STACK_PENDING;
	s->head.image = p.image;
	s->image_block = p.block;
	s->now_s = s->head.time_ns / 1000000000;
	s->last_root = 0;
	note_use(s->image_block, s->now_s);
	__u32 end = walk(has_loop);
	if (end == CAM_STACK_DEPTH)
		s->head.flags |= CAM_WIRE_USER_CUT;
	if (s->step.guessed)
		s->head.flags |= CAM_WIRE_GUESSED;
	return end;
}

/* Would something be known in a moment that is not known yet? */
static __always_inline bool wants_copy(const struct scratch *s, __u32 end)
{
	return end == CAM_STACK_PENDING ||
	       (end == CAM_STACK_NO_MAPPING && !(s->head.flags & CAM_WIRE_GUESSED));
}
#endif

/* The user's half, and a copy where that will help; the bytes of body, of which `at` are there. */
static __always_inline __u32 user_half(struct bpf_perf_event_data *ctx, struct scratch *s,
				       struct task_struct *task, enum form form, __u32 at,
				       struct cam_wire_ends *ends)
{
#if defined(__TARGET_ARCH_x86)
	struct cam_wire_registers regs = {0};
	if (form != FORM_FRAME_POINTERS) {
		__u32 end = walk_user(ctx, s, task, form == FORM_LOOP, &regs);
		s->head.end = end;
		if (end == CAM_STACK_NO_USER || end == CAM_STACK_WORKER)
			return at;
		/* Not even the leaf's caller: what frame pointers say is more. */
		if (s->head.n_user <= 1 && (end == CAM_STACK_PENDING || end == CAM_STACK_COMPAT)) {
			s->head.n_user = 0;
			at += user_stack(ctx, s, at);
		} else {
			at = (s->head.n_kernel + s->head.n_user) * sizeof(__u64);
		}
		if (wants_copy(s, end) && cam_state.copies) {
			if (has_room(s->head.cpu) && may_copy(s, s->head.time_ns))
				at += copy_stack(s, at, &regs);
			else
				ends->copies_denied++;
		}
		return at;
	}
#endif
	return at + user_stack(ctx, s, at);
}

static __always_inline void count_end(const struct scratch *s, struct cam_wire_ends *ends)
{
	if (!s->head.tid)
		return;
	ends->ends[s->head.end & 15]++;
	ends->guessed += !!(s->head.flags & CAM_WIRE_GUESSED);
	ends->copied += s->head.copy_bytes > 0;
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, enum form form)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct cam_wire_counts *count = bpf_map_lookup_elem(&cam_counts, &cpu);
	struct cam_wire_ends *ends = bpf_map_lookup_elem(&cam_ends, &cpu);
	if (!count || !ends)
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
	__u64 bytes = sizeof(s->head);
	if (s->head.tid)
		bytes += user_half(ctx, s, task, form, kernel_stack(ctx, s), ends);
	/* One register: Linux 6.1 does not know of the one that is handed over what another was checked for. */
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > CAM_WIRE_MAX_BYTES || emit(cpu, s, bytes)) {
		count->ring_full++;
	} else {
		count->emitted++;
		count_end(s, ends);
	}
	return 0;
}

/* The best that the kernel takes is loaded, and only that. */
SEC("perf_event")
int cam_sample(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, FORM_FRAME_POINTERS);
}

#if defined(__TARGET_ARCH_x86)
SEC("perf_event")
int cam_sample_plain(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, FORM_PLAIN);
}

SEC("perf_event")
int cam_sample_loop(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, FORM_LOOP);
}
#endif

/* The child runs what its parent ran. One that does not fit is not known until user space says. */
static __always_inline void follow_image(__u32 from, __u64 from_start, __u32 to, __u64 to_start)
{
	struct cam_wire_process p;
	if (!find_process(from, from_start, &p))
		return;
	p.pid = to;
	p.start_ns = to_start;
	p.as_of_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&cam_processes, &to, &p, BPF_ANY);
}

/* While who is in scope is being found out nobody knows of the parent yet: too many are emitted then, and ingest filters. */
static __always_inline void follow_scope(__u32 from, __u64 from_start, __u32 to, __u64 to_start)
{
	const __u64 *wanted = bpf_map_lookup_elem(&cam_scope, &from);
	if (!cam_state.gathering && (!wanted || (*wanted && *wanted != from_start)))
		return;
	if (bpf_map_update_elem(&cam_scope, &to, &to_start, BPF_ANY))
		cam_state.scope_full = 1;
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
	follow_scope(from, from_start, to, to_start);
	follow_image(from, from_start, to, to_start);
	return 0;
}

/* Arguments: task, … It is another program from here on: what was said of it is void. */
SEC("raw_tp/sched_process_exec")
int cam_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct cam_wire_exec exec = {.exec_ns = bpf_ktime_get_ns(),
				     .start_ns = BPF_CORE_READ(task, start_boottime)};
	if (bpf_map_update_elem(&cam_execs, &pid, &exec, BPF_ANY))
		cam_state.execs_lost_ns = exec.exec_ns;
	bpf_map_delete_elem(&cam_processes, &pid);
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
	__u64 start_ns = BPF_CORE_READ(task, start_boottime);
	if (pid != tgid)
		return 0;
	const __u64 *wanted = bpf_map_lookup_elem(&cam_scope, &tgid);
	if (wanted && (*wanted == 0 || *wanted == start_ns))
		bpf_map_delete_elem(&cam_scope, &tgid);
	const struct cam_wire_exec *x = bpf_map_lookup_elem(&cam_execs, &tgid);
	if (x && x->start_ns == start_ns)
		bpf_map_delete_elem(&cam_execs, &tgid);
	const struct cam_wire_process *p = bpf_map_lookup_elem(&cam_processes, &tgid);
	if (p && same_start(p->start_ns, start_ns))
		bpf_map_delete_elem(&cam_processes, &tgid);
	return 0;
}
