// SPDX-License-Identifier: Apache-2.0
/*
 * Call chains that were seen before.
 *
 * Half to nine tenths of a recording's samples have a chain that another sample of the same image had. What
 * its addresses are (rows of perf_data_stacks.h) and which stack of the sink that makes is remembered here, by a hash
 * of 128 bits of the chain's bytes, its process and the spaces they are looked up in: a file in which two chains have one hash
 * has been made so, and shows one of its own stacks as the other.
 *
 * It forgets: a chain's slot is taken by the next one that falls there. Frames lie in the reader's pool, and are good for
 * its epoch.
 */
#pragma once
#include "base/index.h"
#include "model/ids.h"

#define CAM_PERF_CHAIN_BITS 16u

struct cam_perf_chain {
	struct cam_hash_128 hash;
	uint32_t epoch; /* 0: none */
	uint32_t first, n_frames;
	struct cam_place_id place;
	uint32_t generation; /* of the sink, for which `place` is good */
	bool truncated, placed;
};

/* What a chain is known by: low says where its slot is, before anybody knows the spaces of its addresses. */
static inline struct cam_hash_128 cam_perf_chain_hash(const void *chain, size_t n, int32_t pid)
{
	return cam_hash_128(chain, n, (uint32_t)pid);
}

static inline void cam_perf_chain_prefetch(const struct cam_perf_chain *slots, uint64_t low)
{
	__builtin_prefetch(&slots[low >> (64 - CAM_PERF_CHAIN_BITS)]);
}

/* The slot of a chain in its spaces; *known: it is there, with frames of this epoch. Else it is the chain's now, and
 * the caller fills it. */
static inline struct cam_perf_chain *cam_perf_chain_slot(struct cam_perf_chain *slots,
							 struct cam_hash_128 h, uint64_t spaces,
							 uint32_t epoch, bool *known)
{
	struct cam_perf_chain *c = &slots[h.low >> (64 - CAM_PERF_CHAIN_BITS)];
	h.high ^= spaces * 0x9e3779b97f4a7c15u;
	*known = c->epoch == epoch && c->hash.low == h.low && c->hash.high == h.high;
	if (!*known)
		*c = (struct cam_perf_chain){.hash = h, .epoch = epoch};
	return c;
}

/* The slot of a sample, if no other chain has taken it since. */
static inline struct cam_perf_chain *cam_perf_chain_of(struct cam_perf_chain *slots,
						       struct cam_hash_128 h, uint32_t epoch)
{
	struct cam_perf_chain *c = &slots[h.low >> (64 - CAM_PERF_CHAIN_BITS)];
	return c->hash.low == h.low && c->hash.high == h.high && c->epoch == epoch ? c : NULL;
}
