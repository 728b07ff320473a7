// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of 4 KiB in the kernel, where the program finds unwind tables and images (wire.h).
 *
 * Sides: bpf_unwinder.c (and a test) calls; the kernel keeps.
 * Ownership: what is allocated is a chain of the caller's, linked through this. A chain that
 * a program may have seen is cooled; one that was never shown is freed at once.
 * Thread: ingest's. Refusals: -ENOSPC (no block is left now), what bpf(2) says.
 *
 * Memory is had in slabs of 1 MiB, four when more is needed, and kept: to put slabs in place, one or many, waits
 * until no CPU runs a program: 12 ms, at a load average of 40 mostly 22 and up to 207. Blocks are written through a small buffer, 16 in a call.
 * Nothing of the kernel's memory is mapped here.
 *
 * Cooling: what is given back may still be read by a program that runs now. It stays as it is
 * until cam_bpf_blocks_turn() was called twice after, which the caller does at least 2 s apart:
 * longer than any run.
 */
#pragma once
#include "capture/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_BPF_STAGED 16u

/* A stack of blocks, linked by number; 0 is no block. */
struct cam_bpf_chain {
	uint32_t head, n;
};

struct cam_bpf_blocks {
	int slabs_fd; /* the outer map; borrowed */
	uint32_t n_slabs, max_slabs;
	int slab_fd[CAM_WIRE_MAX_SLABS];
	struct cam_bpf_chain free, warm, cool; /* cool is free at the next turn */
	uint32_t n_staged;
	uint32_t staged_number[CAM_BPF_STAGED];
	struct cam_unwind_block staged[CAM_BPF_STAGED];
	uint32_t next[CAM_WIRE_MAX_BLOCKS]; /* in its chain */
};

/* What one slab takes of the kernel's memory. */
#define CAM_BPF_SLAB_BYTES ((size_t)CAM_WIRE_SLAB_BLOCKS * CAM_UNWIND_BLOCK_BYTES)

/* *b is all 0, and mostly stays untouched: pages that are never written take no memory. */
void cam_bpf_blocks_init(struct cam_bpf_blocks *b, int slabs_fd, uint32_t max_slabs);
void cam_bpf_blocks_close(struct cam_bpf_blocks *b);

/* One more block at the head of the chain. */
int cam_bpf_blocks_take(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain);
/* Goes to the kernel with the next full buffer, or at cam_bpf_blocks_write(). */
int cam_bpf_blocks_put(struct cam_bpf_blocks *b, uint32_t number, const void *block);
int cam_bpf_blocks_write(struct cam_bpf_blocks *b);
/* The chain becomes empty. */
void cam_bpf_blocks_free(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain);
void cam_bpf_blocks_cool(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain);
void cam_bpf_blocks_turn(struct cam_bpf_blocks *b);

/* How many could be taken now. */
uint32_t cam_bpf_blocks_left(const struct cam_bpf_blocks *b);
/* How many are given back but not free yet. */
uint32_t cam_bpf_blocks_cooling(const struct cam_bpf_blocks *b);
