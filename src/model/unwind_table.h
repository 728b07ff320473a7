// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Unwind tables: for every offset of a file's code, how to get from a frame to its caller. x86-64.
 *
 * Sides: the symboliser makes rows and rules from .eh_frame (untrusted: it parses strangers' files);
 * ingest passes them on; whoever unwinds packs them into blocks (unwind_pack.h) and reads those
 * with the step (unwind_step.h), which is compiled for BPF and for C: one layout for both.
 * What a table can do to others: nothing. Rules and rows are a file's own, indices are checked when
 * packed, and a wrong rule gives wrong frames of processes that map that file only.
 *
 * Offsets are offsets into the file, as names have them: load addresses and their bias were dealt
 * with by whoever read the program headers. A file's code beyond 4 GiB has no rows.
 *
 * The same header is compiled for the kernel and for us: plain kernel types, no pointers.
 */
#pragma once
#include <linux/types.h>

/* How the caller's stack pointer (the CFA) is found. */
enum cam_unwind_cfa {
	CAM_CFA_NONE,	     /* nothing is known from here on: try the frame pointer, as a guess */
	CAM_CFA_RSP,	     /* rsp + cfa_offset */
	CAM_CFA_RBP,	     /* rbp + cfa_offset */
	CAM_CFA_PLT,	     /* rsp + 8, and 8 more from byte cfa_offset of each 16 on */
	CAM_CFA_DEREF_RBP,   /* *(rbp + cfa_offset): realigned stacks */
	CAM_CFA_SIGNAL,	     /* the registers that the kernel saved lie at rsp + 40 */
	CAM_CFA_END,	     /* this is the outermost frame */
	CAM_CFA_UNSUPPORTED, /* has a rule that we cannot follow */
	CAM_CFA_KINDS,
};

/* Where the caller's rbp is. */
enum cam_unwind_rbp {
	CAM_RBP_SAME,
	CAM_RBP_AT_CFA, /* at CFA + rbp_offset */
	CAM_RBP_AT_RBP, /* at rbp + rbp_offset */
	CAM_RBP_GONE,
	CAM_RBP_KINDS,
};

/* The return address is always at CFA - 8, but for SIGNAL and END. */
struct cam_unwind_rule {
	__u8 cfa;
	__u8 rbp;
	__s16 rbp_offset;
	__s32 cfa_offset;
};

/* From this offset up to that of the next row. */
struct cam_unwind_row {
	__u32 offset;
	__u32 rule; /* index into the file's rules */
};

#define CAM_UNWIND_MAX_RULES 4096u	/* a file; what is beyond is UNSUPPORTED */
#define CAM_UNWIND_MAX_ROWS  (1u << 22) /* a file; libLLVM has 0.95 million */

/*
 * Blocks: what a table is kept in; 4 KiB, numbered by whoever keeps them.
 * A leaf has 1024 rows: low half offset - the leaf's first offset, high half the rule. An inner block
 * has up to 512 children, by their first offsets. Entries that are not used repeat no offset: they are
 * CAM_UNWIND_PAD (leaf: low half 0xffff and above every offset of it; inner: ~0).
 * Entry 0 of an inner block is where coverage begins: offsets below it have no row.
 */
#define CAM_UNWIND_BLOCK_BYTES 4096u
#define CAM_UNWIND_LEAF_ROWS   1024u
#define CAM_UNWIND_CHILDREN    512u
#define CAM_UNWIND_BLOCK_RULES 512u
#define CAM_UNWIND_PAD	       0xffffffffu

struct cam_unwind_block {
	union {
		__u32 row[CAM_UNWIND_LEAF_ROWS];
		struct {
			__u32 first[CAM_UNWIND_CHILDREN];
			__u32 child[CAM_UNWIND_CHILDREN]; /* block numbers */
		} inner;
		struct cam_unwind_rule rule[CAM_UNWIND_BLOCK_RULES];
	};
};

/* A packed table: where its blocks are. */
struct cam_unwind_file {
	__u32 root;   /* an inner block */
	__u32 levels; /* 1: root's children are leaves; 2: inner blocks; 0: there is no table */
	__u32 n_rules;
	__u32 generation; /* of the packer: another table has another one */
	__u32 rules[CAM_UNWIND_MAX_RULES / CAM_UNWIND_BLOCK_RULES];
};

/*
 * What a process runs: an image, of up to 16 chunks of 64 mappings, shared by processes that have
 * the same. Only executable mappings are in it.
 */
#define CAM_UNWIND_CHUNK_MAPS 64u
#define CAM_UNWIND_MAX_CHUNKS 16u
#define CAM_UNWIND_MAX_MAPS   (CAM_UNWIND_CHUNK_MAPS * CAM_UNWIND_MAX_CHUNKS)

enum cam_unwind_map_flag {
	CAM_UNWIND_NO_FILE = 1 << 0, /* anonymous: code made at run time */
};

struct cam_unwind_map {
	__u64 end;
	__u64 bias; /* address - bias is the offset into the file */
	__u32 file; /* number; its table may not be there (yet) */
	__u32 flags;
};

struct cam_unwind_chunk {
	__u64 start[CAM_UNWIND_CHUNK_MAPS]; /* ascending; unused: ~0 */
	struct cam_unwind_map map[CAM_UNWIND_CHUNK_MAPS];
};

struct cam_unwind_image {
	__u32 n_chunks;
	__u32 reserved;
	__u64 first[CAM_UNWIND_MAX_CHUNKS]; /* first start of each chunk; unused: ~0 */
};

/* How a user stack ended: why it is not complete, or that it is. Kept in windows: add at the end. */
enum cam_stack_end {
	CAM_STACK_UNKNOWN,    /* walked by frame pointers: nobody can tell */
	CAM_STACK_COMPLETE,   /* the thread's outermost frame was reached */
	CAM_STACK_NO_USER,    /* a kernel thread, or one that is ending: there is no user stack */
	CAM_STACK_PENDING,    /* the process, or the table of a file, was not there yet */
	CAM_STACK_NO_MAPPING, /* a frame lies in no executable mapping */
	CAM_STACK_NO_CFI, /* the file says nothing about this code, nor do frame pointers lead on */
	CAM_STACK_UNSUPPORTED, /* a rule that we do not follow */
	CAM_STACK_DEPTH,       /* deeper than the bound */
	CAM_STACK_BAD_RETURN,  /* a guessed return address was none */
	CAM_STACK_BAD_CFA,     /* the stack pointer did not rise */
	CAM_STACK_UNREADABLE,  /* the stack's memory could not be read, or was not copied so far */
	CAM_STACK_STALE,       /* the mappings had changed since */
	CAM_STACK_COMPAT,      /* a 32-bit program */
	CAM_STACK_SUSPECT,     /* not known for sure which process it was */
	CAM_STACK_WORKER, /* a thread of the kernel's in a user's process (io_uring): no user stack */
	CAM_STACK_ENDS,
};

/* The detail of a sample: steps of its stack were made by frame pointers, where there was nothing better. */
#define CAM_DETAIL_GUESSED "guessed"

_Static_assert(sizeof(struct cam_unwind_rule) == 8, "");
_Static_assert(sizeof(struct cam_unwind_row) == 8, "");
_Static_assert(sizeof(struct cam_unwind_block) == CAM_UNWIND_BLOCK_BYTES, "");
_Static_assert(sizeof(struct cam_unwind_file) == 48, "");
_Static_assert(sizeof(struct cam_unwind_map) == 24, "");
_Static_assert(sizeof(struct cam_unwind_chunk) == 2048, "");
_Static_assert(sizeof(struct cam_unwind_image) == 136, "");
