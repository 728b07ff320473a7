// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants:
 * 1. Each block but number 0 of a slab that is there is in exactly one chain.
 * 2. A block is written only while it is in a caller's chain and nobody was shown its number.
 * 3. From cool() until two turns later no block is taken again.
 */
#include "capture/bpf_blocks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SLABS_AT_ONCE 4u

void cam_bpf_blocks_init(struct cam_bpf_blocks *b, int slabs_fd, uint32_t max_slabs)
{
	b->slabs_fd = slabs_fd;
	b->max_slabs = max_slabs < CAM_WIRE_MAX_SLABS ? max_slabs : CAM_WIRE_MAX_SLABS;
}

void cam_bpf_blocks_close(struct cam_bpf_blocks *b)
{
	while (b->n_slabs)
		close(b->slab_fd[--b->n_slabs]);
}

static void push(struct cam_bpf_blocks *b, struct cam_bpf_chain *c, uint32_t number)
{
	b->next[number] = c->head;
	c->head = number;
	c->n++;
}

static uint32_t pop(struct cam_bpf_blocks *b, struct cam_bpf_chain *c)
{
	uint32_t number = c->head;
	c->head = b->next[number];
	c->n--;
	return number;
}

static void move_all(struct cam_bpf_blocks *b, struct cam_bpf_chain *from, struct cam_bpf_chain *to)
{
	while (from->n)
		push(b, to, pop(b, from));
}

/* Puts the first of n slabs that were made where the program finds them; how many got there, or why none. */
static int place_slabs(struct cam_bpf_blocks *b, const int *fds, uint32_t n)
{
	uint32_t indices[SLABS_AT_ONCE], count = n;
	for (uint32_t i = 0; i < n; i++)
		indices[i] = b->n_slabs + i;
	if (!bpf_map_update_batch(b->slabs_fd, indices, fds, &count, NULL))
		return (int)n;
	/* Older kernels have no such call for maps of maps. */
	return bpf_map_update_elem(b->slabs_fd, indices, fds, BPF_ANY) ? -errno : 1;
}

static int add_slabs(struct cam_bpf_blocks *b)
{
	int fds[SLABS_AT_ONCE], placed;
	uint32_t n = 0, left = b->max_slabs - b->n_slabs,
		 wanted = left < SLABS_AT_ONCE ? left : SLABS_AT_ONCE;
	if (!wanted)
		return -ENOSPC;
	while (n < wanted &&
	       (fds[n] = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cam_slab", sizeof(uint32_t),
					CAM_UNWIND_BLOCK_BYTES, CAM_WIRE_SLAB_BLOCKS, NULL)) >= 0)
		n++;
	placed = n ? place_slabs(b, fds, n) : -errno;
	for (uint32_t i = placed < 0 ? 0 : (uint32_t)placed; i < n; i++)
		close(fds[i]);
	if (placed < 0)
		return placed;
	/* The lowest is taken first: neighbours are written in one call. */
	for (uint32_t i = (uint32_t)placed * CAM_WIRE_SLAB_BLOCKS; i-- > 0;)
		if (b->n_slabs || i)
			push(b, &b->free, b->n_slabs * CAM_WIRE_SLAB_BLOCKS + i);
	memcpy(b->slab_fd + b->n_slabs, fds, (size_t)placed * sizeof(*fds));
	b->n_slabs += (uint32_t)placed;
	return 0;
}

int cam_bpf_blocks_take(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain)
{
	int err = b->free.n ? 0 : add_slabs(b);
	if (!err)
		push(b, chain, pop(b, &b->free));
	return err;
}

/* Blocks of one slab, in one call. */
static int write_run(struct cam_bpf_blocks *b, uint32_t at, uint32_t n)
{
	uint32_t keys[CAM_BPF_STAGED], count = n,
				       slab = b->staged_number[at] / CAM_WIRE_SLAB_BLOCKS;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = b->staged_number[at + i] % CAM_WIRE_SLAB_BLOCKS;
	return bpf_map_update_batch(b->slab_fd[slab], keys, &b->staged[at], &count, NULL) ? -errno
											  : 0;
}

int cam_bpf_blocks_write(struct cam_bpf_blocks *b)
{
	int err = 0;
	for (uint32_t at = 0, n; at < b->n_staged && !err; at += n) {
		uint32_t slab = b->staged_number[at] / CAM_WIRE_SLAB_BLOCKS;
		for (n = 1; at + n < b->n_staged; n++)
			if (b->staged_number[at + n] / CAM_WIRE_SLAB_BLOCKS != slab)
				break;
		err = write_run(b, at, n);
	}
	b->n_staged = 0;
	return err;
}

int cam_bpf_blocks_put(struct cam_bpf_blocks *b, uint32_t number, const void *block)
{
	int err = b->n_staged == CAM_BPF_STAGED ? cam_bpf_blocks_write(b) : 0;
	if (err)
		return err;
	b->staged_number[b->n_staged] = number;
	memcpy(&b->staged[b->n_staged++], block, sizeof(*b->staged));
	return 0;
}

/* Also out of the buffer: they may be somebody else's when it is written. */
void cam_bpf_blocks_free(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain)
{
	if (chain->n)
		cam_bpf_blocks_write(b);
	move_all(b, chain, &b->free);
}

void cam_bpf_blocks_cool(struct cam_bpf_blocks *b, struct cam_bpf_chain *chain)
{
	move_all(b, chain, &b->warm);
}

void cam_bpf_blocks_turn(struct cam_bpf_blocks *b)
{
	move_all(b, &b->cool, &b->free);
	move_all(b, &b->warm, &b->cool);
}

uint32_t cam_bpf_blocks_left(const struct cam_bpf_blocks *b)
{
	uint32_t n = b->free.n + (b->max_slabs - b->n_slabs) * CAM_WIRE_SLAB_BLOCKS;
	return n && !b->n_slabs ? n - 1 : n;
}

uint32_t cam_bpf_blocks_cooling(const struct cam_bpf_blocks *b)
{
	return b->warm.n + b->cool.n;
}
