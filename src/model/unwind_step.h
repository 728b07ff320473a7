// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * One step of unwinding: from a frame to its caller, by the packed tables of unwind_table.h. x86-64.
 * Compiled for BPF (capture/bpf/) and as ordinary C (the symboliser, tests): one code, two oracles.
 *
 * Who includes it says what the world is, before or after: struct cam_step_env, and the five functions
 * declared below. All are static: nothing is called through a pointer, which the kernel forbids.
 *
 * Why the searches have no branches: the kernel's verifier follows every way through a program, and
 * a search that branches has 2^27 of them. Here the answer of a comparison is added as a number;
 * the empty asm keeps the compiler from making a branch of it again.
 *
 * Invariants:
 * 1. A step by table, or by frame pointer, raises sp; only a signal frame may lower it. Who bounds the
 *    number of steps bounds the work: one step reads at most 4 blocks, 2 chunks, 5 times memory.
 * 2. Whatever blocks, chunks and memory hold, no index leaves its array.
 * 3. A return address is looked up one byte before itself: a call may be the last instruction of a
 *    function. The leaf, the first frame under a system call and the one that a signal interrupted are
 *    not return addresses: they are looked up as they are.
 * 4. cam_step_address() is how a frame is told: 1 taken off all but the first gives what was looked up.
 *
 * Guessing: where a mapping has no file, or the file no rule, [rbp] and [rbp + 8] may be the caller's
 * rbp and the return address. That is believed only if rbp is aligned and not below sp, and the
 * return address lies in an executable mapping, after a call instruction as far as that can be seen.
 * It is complete only where that is certain, by the marks that the ABI and the kernel leave:
 *  - both words are 0, and frame pointers have led here: a register that is used for something else
 *    points to two such words as easily (musl's own functions have neither rules nor frame pointers);
 *  - the caller's rbp is 0 and the return address stands between a nop and a call: where Go's goroutines
 *    begin, in goexit (stripped Go programs have no rules). That one is the last frame;
 *  - rbp is 0, this is not the leaf, and sp stands where the kernel put argc: aligned to 16, argc
 *    is 1 to 2^17, argv[0] points above argv, and argv[argc] is 0, or in a copy, which may end before that, argv[1] and
 *    [2] point to what follows argv[0] and each other. (ld.so's _start has no rules.)
 * By table a return address of 0 is an end too. Otherwise rbp 0 is no end, but NO_CFI.
 *
 * Example: ip 0x7f10_0000_2345 is a return address, mapped with bias 0x7f10_0000_0000: offset 0x2344.
 * The root's child that begins at 0x1000 is a leaf; its row 0x1340 -> rule 7 is the last at or
 * below 0x1344. Rule 7 is {RSP, AT_CFA, -16, 48}: CFA = sp + 48, the caller's rbp is at CFA - 16, the
 * return address at CFA - 8; CFA is the caller's sp.
 */
#pragma once
#include "model/unwind_table.h"

#if defined(__BPF__) || defined(__bpf__)
#define CAM_STEP_INLINE inline __attribute__((always_inline))
#define CAM_STEP_UNROLL _Pragma("unroll")
#else
#define CAM_STEP_INLINE inline __attribute__((unused))
#define CAM_STEP_UNROLL
#endif

/*
 * A frame on the way up, and the mapping that was found last. To begin: the registers, bp_known, exact
 * and leaf 1, the rest 0.
 */
struct cam_step {
	__u64 ip, sp, bp;
	__u64 start, end, bias; /* of the mapping that was found last; end 0: none */
	__u32 file, map_flags;
	__u8 exact;    /* ip is where the frame stands, not where it will return to */
	__u8 bp_known; /* bp is the frame's */
	__u8 guessed;  /* a step was made by frame pointer */
	__u8 leaf;     /* no step was made yet */
	__u8 last;     /* it has no caller */
	__u8 reserved[3];
};

struct cam_step_env;
/* NULL: there is none. */
static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number);
static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number);
static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e);
static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k);
/* User memory; 0: all of it was read. */
static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address);
/* Is there a call instruction before it? 1 also where that cannot be seen. */
static int cam_step_after_call(struct cam_step_env *e, __u64 address);

/* Of the frame, as model/raw.h has it. Without a branch. */
static CAM_STEP_INLINE __u64 cam_step_address(const struct cam_step *s)
{
	return s->ip + (s->exact & (s->leaf ^ 1u));
}

/* 1: a <= b, 0: not; both below 2^63. */
static CAM_STEP_INLINE __u64 cam_step_le(__u64 a, __u64 b)
{
	__u64 c = (a - b - 1) >> 63;
	__asm__ volatile("" : "+r"(c));
	return c;
}

/*
 * The 7 bytes before an address: do they end in a call? e8 with 4 bytes, or ff /2 with what its second
 * byte says follows. Without branches, as above.
 */
static CAM_STEP_INLINE int cam_step_is_call(const __u8 before[7])
{
	/* The second byte of ff /2 by its upper 2 and lower 3 bits: which of the lengths it has. */
	__u32 m2 = before[6], m3 = before[5], m4 = before[4], m6 = before[2], m7 = before[1];
	__u32 two = (m2 & 0xf8) == 0xd0 || ((m2 & 0xf8) == 0x10 && (m2 & 7) != 4 && (m2 & 7) != 5);
	__u32 three =
		((m3 & 0xf8) == 0x50 && (m3 & 7) != 4) || (m3 == 0x14 && (before[6] & 7) != 5);
	__u32 four = m4 == 0x54;
	__u32 six = m6 == 0x15 || ((m6 & 0xf8) == 0x90 && (m6 & 7) != 4);
	__u32 seven = m7 == 0x94 || (m7 == 0x14 && (before[2] & 7) == 5);
	return (before[2] == 0xe8) | ((before[5] == 0xff) & two) | ((before[4] == 0xff) & three) |
	       ((before[3] == 0xff) & four) | ((before[1] == 0xff) & six) |
	       ((before[0] == 0xff) & seven);
}

/* The last child that begins at or before the offset; 0 also if none does. */
static CAM_STEP_INLINE __u32 cam_step_child(const struct cam_unwind_block *b, __u64 offset)
{
	__u64 at = 0;
	CAM_STEP_UNROLL
	for (__u32 k = CAM_UNWIND_CHILDREN / 2; k; k >>= 1)
		at += k * cam_step_le(b->inner.first[(at + k) & (CAM_UNWIND_CHILDREN - 1)], offset);
	return at & (CAM_UNWIND_CHILDREN - 1);
}

static CAM_STEP_INLINE __u32 cam_step_row(const struct cam_unwind_block *b, __u64 delta)
{
	__u64 at = 0;
	CAM_STEP_UNROLL
	for (__u32 k = CAM_UNWIND_LEAF_ROWS / 2; k; k >>= 1)
		at += k *
		      cam_step_le(b->row[(at + k) & (CAM_UNWIND_LEAF_ROWS - 1)] & 0xffff, delta);
	return at & (CAM_UNWIND_LEAF_ROWS - 1);
}

/* Starts are even and may be ~0: half of them is compared. */
static CAM_STEP_INLINE __u32 cam_step_chunk_at(const struct cam_unwind_image *i, __u64 pc)
{
	__u64 at = 0;
	CAM_STEP_UNROLL
	for (__u32 k = CAM_UNWIND_MAX_CHUNKS / 2; k; k >>= 1)
		at += k *
		      cam_step_le(i->first[(at + k) & (CAM_UNWIND_MAX_CHUNKS - 1)] >> 1, pc >> 1);
	return at & (CAM_UNWIND_MAX_CHUNKS - 1);
}

static CAM_STEP_INLINE __u32 cam_step_map_at(const struct cam_unwind_chunk *c, __u64 pc)
{
	__u64 at = 0;
	CAM_STEP_UNROLL
	for (__u32 k = CAM_UNWIND_CHUNK_MAPS / 2; k; k >>= 1)
		at += k *
		      cam_step_le(c->start[(at + k) & (CAM_UNWIND_CHUNK_MAPS - 1)] >> 1, pc >> 1);
	return at & (CAM_UNWIND_CHUNK_MAPS - 1);
}

/* Into s: the mapping of pc. 0: there is none. */
static CAM_STEP_INLINE int cam_step_map(struct cam_step_env *e, struct cam_step *s, __u64 pc)
{
	if (pc >= s->start && pc < s->end)
		return 1;
	const struct cam_unwind_image *image = cam_step_image(e);
	if (!image)
		return 0;
	const struct cam_unwind_chunk *c = cam_step_chunk(e, cam_step_chunk_at(image, pc));
	if (!c)
		return 0;
	__u32 i = cam_step_map_at(c, pc);
	if (pc < c->start[i] || pc >= c->map[i].end)
		return 0;
	s->start = c->start[i];
	s->end = c->map[i].end;
	s->bias = c->map[i].bias;
	s->file = c->map[i].file;
	s->map_flags = c->map[i].flags;
	return 1;
}

/* The rule for an offset into a file that has a table. 0: it has none there. */
static CAM_STEP_INLINE int cam_step_find(struct cam_step_env *e, const struct cam_unwind_file *f,
					 __u64 offset, struct cam_unwind_rule *out)
{
	if (offset >= CAM_UNWIND_PAD)
		return 0;
	const struct cam_unwind_block *b = cam_step_block(e, f->root);
	if (!b)
		return 0;
	__u32 i = cam_step_child(b, offset);
	if (b->inner.first[i] > offset)
		return 0; /* before the first row */
	if (f->levels == 2) {
		b = cam_step_block(e, b->inner.child[i]);
		if (!b)
			return 0;
		i = cam_step_child(b, offset);
		if (b->inner.first[i] > offset)
			return 0;
	}
	__u64 delta = offset - b->inner.first[i];
	if (delta > 0xfffe)
		delta = 0xfffe;
	b = cam_step_block(e, b->inner.child[i]);
	if (!b)
		return 0;
	__u32 rule = b->row[cam_step_row(b, delta)] >> 16;
	if (rule >= f->n_rules || rule >= CAM_UNWIND_MAX_RULES)
		return 0;
	b = cam_step_block(e, f->rules[(rule / CAM_UNWIND_BLOCK_RULES) & 7]);
	if (!b)
		return 0;
	*out = b->rule[rule & (CAM_UNWIND_BLOCK_RULES - 1)];
	return 1;
}

/* Where a copy of a stack ends before the list does: the kernel puts the strings of argv side by side, each of at most 128 KiB. */
static CAM_STEP_INLINE int cam_step_lists_strings(struct cam_step_env *e, __u64 argc, __u64 argv0,
						  __u64 rest_at)
{
#if defined(__BPF__) || defined(__bpf__)
	/* It reads the stack itself, all of it. */
	(void)e, (void)argc, (void)argv0, (void)rest_at;
	return 0;
#else
	__u64 next[2];
	return argc > 2 && !cam_step_read(e, next, sizeof(next), rest_at) &&
	       next[0] - argv0 - 1 < 1 << 17 && next[1] - next[0] - 1 < 1 << 17;
#endif
}

/* The outermost frame of a program: see the head. */
static CAM_STEP_INLINE int cam_step_at_entry(struct cam_step_env *e, const struct cam_step *s)
{
	__u64 argc_argv0[2], last = 1, last_at;
	if (s->leaf || !s->bp_known || s->bp || s->sp & 15)
		return 0;
	if (cam_step_read(e, argc_argv0, sizeof(argc_argv0), s->sp))
		return 0;
	last_at = s->sp + 8 + argc_argv0[0] * 8;
	if (argc_argv0[0] - 1 >= 1 << 17 || argc_argv0[1] <= last_at)
		return 0;
	if (cam_step_read(e, &last, sizeof(last), last_at))
		return cam_step_lists_strings(e, argc_argv0[0], argc_argv0[1], s->sp + 16);
	return last == 0;
}

/* Go's goexit, as a new goroutine's stack has it for its caller: after its first byte. */
static CAM_STEP_INLINE int cam_step_at_goexit(struct cam_step_env *e, __u64 address)
{
	__u8 code[2] = {0}; /* nop, call */
	return !cam_step_read(e, code, sizeof(code), address - 1) && code[0] == 0x90 &&
	       code[1] == 0xe8;
}

/* CAM_STACK_UNKNOWN: goes on. */
static CAM_STEP_INLINE enum cam_stack_end cam_step_guess(struct cam_step_env *e, struct cam_step *s)
{
	__u64 saved[2]; /* rbp, return address */
	if (cam_step_at_entry(e, s))
		return CAM_STACK_COMPLETE;
	if (!s->bp_known || s->bp < s->sp || s->bp & 7)
		return CAM_STACK_NO_CFI;
	if (cam_step_read(e, saved, sizeof(saved), s->bp))
		return CAM_STACK_NO_CFI;
	if (!saved[0] && !saved[1])
		return s->guessed ? CAM_STACK_COMPLETE : CAM_STACK_NO_CFI;
	if (!cam_step_map(e, s, saved[1] - 1))
		return CAM_STACK_BAD_RETURN;
	s->last = !saved[0] && cam_step_at_goexit(e, saved[1]);
	if (!s->last && !cam_step_after_call(e, saved[1]))
		return CAM_STACK_BAD_RETURN;
	s->sp = s->bp + sizeof(saved);
	s->bp = saved[0];
	s->ip = saved[1];
	s->exact = s->leaf = 0;
	s->guessed = 1;
	return CAM_STACK_UNKNOWN;
}

/* struct sigcontext of the kernel's ABI: rbp is its 11th register, rsp the 16th, rip the 17th. */
static CAM_STEP_INLINE enum cam_stack_end cam_step_signal(struct cam_step_env *e,
							  struct cam_step *s)
{
	__u64 bp, sp_ip[2];
	if (cam_step_read(e, &bp, sizeof(bp), s->sp + 40 + 10 * 8))
		return CAM_STACK_UNREADABLE;
	if (cam_step_read(e, sp_ip, sizeof(sp_ip), s->sp + 40 + 15 * 8))
		return CAM_STACK_UNREADABLE;
	s->ip = sp_ip[1];
	s->sp = sp_ip[0];
	s->bp = bp;
	s->bp_known = s->exact = 1;
	s->leaf = 0;
	return CAM_STACK_UNKNOWN;
}

/*
 * The caller's rbp; *below is the word under the return address, where most have saved it. One that
 * cannot be read is as good as gone: most callers do not need it.
 */
static CAM_STEP_INLINE void cam_step_bp(struct cam_step_env *e, struct cam_step *s,
					const struct cam_unwind_rule *r, __u64 cfa,
					const __u64 *below)
{
	__u64 at = (r->rbp == CAM_RBP_AT_RBP ? s->bp : cfa) + (__u64)(__s64)r->rbp_offset, bp = 0;
	if (r->rbp == CAM_RBP_SAME)
		return;
	if (r->rbp == CAM_RBP_AT_CFA && r->rbp_offset == -16 && below) {
		s->bp_known = 1;
		s->bp = *below;
		return;
	}
	s->bp_known = r->rbp != CAM_RBP_GONE && (r->rbp != CAM_RBP_AT_RBP || s->bp_known) &&
		      !cam_step_read(e, &bp, sizeof(bp), at);
	s->bp = bp;
}

static CAM_STEP_INLINE enum cam_stack_end cam_step_rule(struct cam_step_env *e, struct cam_step *s,
							const struct cam_unwind_rule *r, __u64 pc)
{
	/* The word below the return address, and that: one read is cheaper than two. */
	__u64 cfa, two[2], offset = (__u64)(__s64)r->cfa_offset;
	if (r->cfa == CAM_CFA_RSP) {
		cfa = s->sp + offset;
	} else if (r->cfa == CAM_CFA_PLT) {
		cfa = s->sp + 8 + 8 * ((pc & 15) >= offset);
	} else if (r->cfa == CAM_CFA_RBP || r->cfa == CAM_CFA_DEREF_RBP) {
		if (!s->bp_known)
			return CAM_STACK_UNSUPPORTED;
		cfa = s->bp + offset;
		if (r->cfa == CAM_CFA_DEREF_RBP && cam_step_read(e, &cfa, sizeof(cfa), cfa))
			return CAM_STACK_UNREADABLE;
	} else if (r->cfa == CAM_CFA_SIGNAL) {
		return cam_step_signal(e, s);
	} else {
		return r->cfa == CAM_CFA_END ? CAM_STACK_COMPLETE : CAM_STACK_UNSUPPORTED;
	}
	if (cfa <= s->sp)
		return CAM_STACK_BAD_CFA;
	int both = !cam_step_read(e, two, sizeof(two), cfa - 16);
	if (!both && cam_step_read(e, &two[1], sizeof(two[1]), cfa - 8))
		return CAM_STACK_UNREADABLE;
	if (!two[1])
		return CAM_STACK_COMPLETE;
	cam_step_bp(e, s, r, cfa, both ? &two[0] : 0);
	s->ip = two[1];
	s->sp = cfa;
	s->exact = s->leaf = 0;
	return CAM_STACK_UNKNOWN;
}

/* CAM_STACK_UNKNOWN: s is the caller's frame now. Anything else: it has ended, s->ip was the last. */
static CAM_STEP_INLINE enum cam_stack_end cam_step_up(struct cam_step_env *e, struct cam_step *s)
{
	struct cam_unwind_rule rule = {0};
	__u64 pc = s->ip - !s->exact;
	if (s->last)
		return CAM_STACK_COMPLETE;
	if (!cam_step_map(e, s, pc))
		return CAM_STACK_NO_MAPPING;
	if (s->map_flags & CAM_UNWIND_NO_FILE)
		return cam_step_guess(e, s);
	const struct cam_unwind_file *f = cam_step_file(e, s->file);
	if (!f || !f->levels)
		return CAM_STACK_PENDING;
	if (!cam_step_find(e, f, pc - s->bias, &rule) || rule.cfa == CAM_CFA_NONE)
		return cam_step_guess(e, s);
	return cam_step_rule(e, s, &rule, pc);
}
