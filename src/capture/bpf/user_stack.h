// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The user's half of a stack by tables: model/unwind_step.h in the kernel. x86-64.
 *
 * Why a global function for a step: the verifier looks at it once, for itself; a static one it follows
 * again at each call, 127 times in a loop. So it takes nothing and finds its state in the scratch.
 *
 * Why copies: a process lives a while before user space has told what it runs, and many live no longer
 * than that. Of such a sample registers and stack are handed over, and walked later. Each CPU saves up
 * for a copy (a bucket), and copies never fill more than half of a ring.
 */
#pragma once
#include "capture/bpf/shared.h"

#define USER32_CS      0x23 /* a selector of the kernel's ABI */
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

/* As the kernel has it; the one of the headers is named for user space. */
struct pt_regs___kernel {
	unsigned long bp, ip, cs, sp;
} __attribute__((preserve_access_index));

struct cam_step_env {
	struct scratch *s;
};

static __always_inline const struct cam_unwind_block *block_at(__u32 number)
{
	__u32 slab = number / CAM_WIRE_SLAB_BLOCKS, entry = number % CAM_WIRE_SLAB_BLOCKS;
	void *map = bpf_map_lookup_elem(&cam_slabs, &slab);
	return map ? bpf_map_lookup_elem(map, &entry) : NULL;
}

/* Written once a second at most: every CPU reads the same line. */
static __always_inline void note_use(__u32 block, __u32 now_s)
{
	__u32 *used = bpf_map_lookup_elem(&cam_used, &block);
	if (used && *used != now_s)
		*used = now_s;
}

static __always_inline const struct cam_unwind_block *cam_step_block(struct cam_step_env *e,
								     __u32 number)
{
	(void)e;
	return block_at(number);
}

static __always_inline const struct cam_unwind_file *cam_step_file(struct cam_step_env *e,
								   __u32 number)
{
	const struct cam_unwind_file *f = bpf_map_lookup_elem(&cam_files, &number);
	if (f && f->levels && f->root != e->s->last_root) {
		e->s->last_root = f->root;
		note_use(f->root, e->s->now_s);
	}
	return f;
}

static __always_inline const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return (const void *)block_at(e->s->image_block);
}

static __always_inline const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e,
								     __u32 k)
{
	const struct cam_wire_image *image = (const void *)block_at(e->s->image_block);
	if (!image)
		return NULL;
	/* Else the compiler adds to the pointer before it looks: refused. */
	__asm__ volatile("" : "+r"(image));
	if (k == 0)
		return &image->chunk;
	return (const void *)block_at(image->block[k & (CAM_UNWIND_MAX_CHUNKS - 1)]);
}

static __always_inline long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes,
					  __u64 address)
{
	(void)e;
	return bpf_probe_read_user(to, bytes, (const void *)address);
}

static __always_inline int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	__u8 before[8] = {0};
	(void)e;
	return !bpf_probe_read_user(before, 7, (const void *)(address - 7)) &&
	       cam_step_is_call(before);
}

/* Notes the frame and goes to its caller. CAM_STACK_UNKNOWN: there is one. */
__noinline int cam_walk_on(__u32 i)
{
	__u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&cam_scratch, &zero);
	__asm__ volatile("" ::"r"(i)); /* the verifier wants what the compiler would not pass */
	if (!s)
		return CAM_STACK_DEPTH;
	__u32 at = s->head.n_kernel + s->head.n_user;
	if (s->head.n_user >= CAM_WIRE_MAX_USER_FRAMES ||
	    at >= CAM_WIRE_MAX_FRAMES + CAM_WIRE_MAX_USER_FRAMES)
		return CAM_STACK_DEPTH;
	((__u64 *)s->body)[at] = cam_step_address(&s->step);
	s->head.n_user++;
	struct cam_step_env e = {s};
	return cam_step_up(&e, &s->step);
}

static long walk_on(__u32 i, void *end)
{
	*(__u32 *)end = cam_walk_on(i);
	return *(__u32 *)end != CAM_STACK_UNKNOWN;
}

/* One more than frames fit: the last step says that it is too deep. */
static __always_inline __u32 walk(bool has_loop)
{
	__u32 end = CAM_STACK_UNKNOWN;
	if (has_loop) {
		bpf_loop(CAM_WIRE_MAX_USER_FRAMES + 1, walk_on, &end, 0);
		return end;
	}
	for (__u32 i = 0; i <= CAM_WIRE_MAX_USER_FRAMES && end == CAM_STACK_UNKNOWN; i++)
		end = cam_walk_on(i);
	return end;
}

/* In user mode they are the interrupted ones, else those that were saved at the kernel's entry. */
static __always_inline __u32 user_registers(struct bpf_perf_event_data *ctx,
					    struct task_struct *task, bool user,
					    struct cam_step *out)
{
	__u64 ip, sp, bp, cs;
	/* Volatile, and apart: else the compiler makes one pointer of the context and the other. */
	if (user) {
		ip = *(volatile __u64 *)&ctx->regs.rip;
		sp = *(volatile __u64 *)&ctx->regs.rsp;
		bp = *(volatile __u64 *)&ctx->regs.rbp;
		cs = *(volatile __u64 *)&ctx->regs.cs;
		__asm__ volatile("" : "+r"(ip), "+r"(sp), "+r"(bp), "+r"(cs));
	} else {
		struct pt_regs___kernel *r = (void *)bpf_task_pt_regs(task);
		ip = r->ip;
		sp = r->sp;
		bp = r->bp;
		cs = r->cs;
		__asm__ volatile("" : "+r"(ip), "+r"(sp), "+r"(bp), "+r"(cs));
	}
	*out = (struct cam_step){
		.ip = ip, .sp = sp, .bp = bp, .exact = 1, .bp_known = 1, .leaf = 1};
	return cs & 0xffff;
}

static __always_inline bool may_copy(struct scratch *s, __u64 now_ns)
{
	__u64 credit = s->copy_credit_ns + (now_ns - s->copy_ns);
	if (credit > cam_config.copy_burst_ns)
		credit = cam_config.copy_burst_ns;
	s->copy_ns = now_ns;
	s->copy_credit_ns = credit;
	if (credit < cam_config.copy_cost_ns)
		return false;
	s->copy_credit_ns = credit - cam_config.copy_cost_ns;
	return true;
}

/*
 * Registers and stack, after `at` bytes of frames; how many bytes that made. Page by page: what
 * lies beyond the stack's end, or is not in memory, ends it.
 */
static __always_inline __u32 copy_stack(struct scratch *s, __u32 at,
					const struct cam_wire_registers *r)
{
	__u32 copied = 0, n = CAM_WIRE_PAGE_BYTES - (r->sp & (CAM_WIRE_PAGE_BYTES - 1));
	if (at > CAM_WIRE_MAX_PLAIN_BYTES - sizeof(s->head) || r->sp & 7)
		return 0;
	__u8 *to = s->body + at;
	for (int i = 0; i < CAM_WIRE_COPY_PAGES; i++) {
		if (copied > CAM_WIRE_COPY_BYTES - CAM_WIRE_PAGE_BYTES || n > CAM_WIRE_PAGE_BYTES)
			break;
		if (bpf_probe_read_user(to + sizeof(*r) + copied, n, (void *)(r->sp + copied)))
			break;
		copied += n;
		n = CAM_WIRE_PAGE_BYTES;
	}
	if (!copied)
		return 0;
	*(struct cam_wire_registers *)to = *r;
	s->head.copy_bytes = copied;
	return sizeof(*r) + copied;
}
