// SPDX-License-Identifier: Apache-2.0
/*
 * The call chains of a recording, each once.
 *
 * Half to nine tenths of a recording's samples have a chain that another sample of the same image had. What
 * its addresses are (rows of perf_data_stacks.h) and which stack of the sink that makes is remembered here, by a hash
 * of 96 bits of the chain's bytes, its process and the spaces they are looked up in: a file in which two chains have one hash
 * has been made so, and shows one of its own stacks as the other.
 *
 * Samples that wait for the names of their batch have the number of their chain, so numbers are good until
 * cam_perf_chains_forget(), which the reader calls between two batches when there are many. Frames lie in the reader's pool.
 */
#pragma once
#include "base/index.h"
#include "model/ids.h"

#define CAM_PERF_MANY_CHAINS (1u << 20)

struct cam_perf_chain {
	uint32_t first; /* of its frames, in the reader's pool */
	struct cam_place_id place;
	uint32_t generation; /* of the sink, for which `place` is good */
	uint16_t n_frames;
	bool truncated, broken, placed; /* broken: followed into garbage */
};

struct cam_perf_chains {
	struct cam_perf_chain *rows;
	size_t n, cap;
	struct cam_perf_chain_slot {
		uint64_t high;
		uint32_t low, row_plus_1;
	} * slots;
	size_t n_slots; /* a power of two, or 0 */
};

void cam_perf_chains_free(struct cam_perf_chains *c);
/* All of them, and their numbers. */
void cam_perf_chains_forget(struct cam_perf_chains *c);
/* One more, which nobody finds. -ENOMEM. */
int cam_perf_chains_add(struct cam_perf_chains *c, uint32_t *out);
/* The number of a chain in its spaces. *known: it had one before; else the caller fills its row. -ENOMEM. */
int cam_perf_chains_find(struct cam_perf_chains *c, struct cam_hash_128 h, uint64_t spaces,
			 bool *known, uint32_t *out);

/* What a chain is known by: low says where its slot is, before anybody knows the spaces of its addresses. */
static inline struct cam_hash_128 cam_perf_chain_hash(const void *chain, size_t n, int32_t pid)
{
	return cam_hash_128(chain, n, (uint32_t)pid);
}

static inline void cam_perf_chains_prefetch(const struct cam_perf_chains *c, uint64_t low)
{
	if (c->n_slots)
		__builtin_prefetch(&c->slots[(uint32_t)low & (c->n_slots - 1)]);
}
