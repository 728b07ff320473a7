// SPDX-License-Identifier: Apache-2.0
/*
 * The hash index behind every interning table: finds the id of a row by the hash of its content.
 *
 * It holds (hash tag, id) pairs only; rows live in the caller's arrays and are compared by the
 * caller's `same`, which gcc inlines when it is passed as a constant. Open addressing, at most
 * 3/4 full, ids only grow: nothing is ever removed. cam_hash() is seeded once per process, so
 * that a crafted input cannot aim all its names at one slot. The upper 32 bits of a hash are
 * kept as the tag and choose the slot, so growing needs no look at the rows.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_INDEX_NONE UINT32_MAX

struct cam_index {
	struct cam_index_slot {
		uint32_t tag;
		uint32_t id_plus_1;
	} * slots;
	uint32_t mask; /* number of slots - 1; 0 while empty */
	uint32_t used;
};

typedef bool cam_index_same(const void *rows, uint32_t id, const void *key);

void cam_index_free(struct cam_index *ix);
/* Makes room for one more entry; -ENOMEM leaves the index as it was. */
int cam_index_reserve(struct cam_index *ix);
/* Adds an id that is not in the index; call cam_index_reserve() first. */
void cam_index_add(struct cam_index *ix, uint64_t hash, uint32_t id);
size_t cam_index_bytes(const struct cam_index *ix);

uint64_t cam_hash(const void *bytes, size_t n);

/* So many bits that two contents with one hash are not met, short of being searched for: for caches of
 * what a wrong hit would only misname. `with` is hashed along. */
struct cam_hash_128 {
	uint64_t low, high;
};
struct cam_hash_128 cam_hash_128(const void *bytes, size_t n, uint64_t with);

extern uint64_t cam_hash_seed, cam_hash_secret; /* set before main() */

/* For rows of two or three integers: two rounds of multiply-and-fold. Neither factor is known outside: one that is 0 would
 * give all others the same hash. */
static inline uint64_t cam_hash_u64(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ cam_hash_seed) * (b ^ cam_hash_secret);
	uint64_t h = (uint64_t)m ^ (uint64_t)(m >> 64);
	m = (__uint128_t)(h ^ 0xa0761d6478bd642fu) * 0xe7037ed1a0b428dbu;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint32_t cam_index_find(const struct cam_index *ix, uint64_t hash,
				      cam_index_same *same, const void *rows, const void *key)
{
	if (!ix->slots)
		return CAM_INDEX_NONE;
	uint32_t tag = (uint32_t)(hash >> 32);
	for (uint32_t i = tag & ix->mask;; i = (i + 1) & ix->mask) {
		const struct cam_index_slot *s = &ix->slots[i];
		if (!s->id_plus_1)
			return CAM_INDEX_NONE;
		if (s->tag == tag && same(rows, s->id_plus_1 - 1, key))
			return s->id_plus_1 - 1;
	}
}
