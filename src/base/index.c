// SPDX-License-Identifier: Apache-2.0
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_SLOTS 64u
#define MAX_SLOTS   (1u << 30)

uint64_t cam_hash_seed = 0x9e3779b97f4a7c15u, cam_hash_secret = 0xd6e8feb86659fd93u;

__attribute__((constructor)) static void seed_hash(void)
{
	uint64_t seeds[2];
	/* Without entropy they are constants: slower under attack, never wrong. */
	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) != (ssize_t)sizeof(seeds))
		return;
	cam_hash_seed = seeds[0];
	cam_hash_secret = seeds[1];
}

uint64_t cam_hash(const void *bytes, size_t n)
{
	return XXH3_64bits_withSeed(bytes, n, cam_hash_seed);
}

struct cam_hash_128 cam_hash_128(const void *bytes, size_t n, uint64_t with)
{
	/* Not as a part of the seed, which is only added to short contents: others would have the same hash. */
	XXH128_hash_t h = XXH3_128bits_withSeed(bytes, n, cam_hash_seed);
	return (struct cam_hash_128){h.low64 ^ cam_hash_u64(with, 1),
				     h.high64 ^ cam_hash_u64(with, 2)};
}

void cam_index_free(struct cam_index *ix)
{
	free(ix->slots);
	*ix = (struct cam_index){0};
}

size_t cam_index_bytes(const struct cam_index *ix)
{
	return ix->slots ? ((size_t)ix->mask + 1) * sizeof(*ix->slots) : 0;
}

static void insert(struct cam_index *ix, struct cam_index_slot slot)
{
	uint32_t i = slot.tag & ix->mask;
	while (ix->slots[i].id_plus_1)
		i = (i + 1) & ix->mask;
	ix->slots[i] = slot;
}

int cam_index_reserve(struct cam_index *ix)
{
	uint32_t have = ix->slots ? ix->mask + 1 : 0;
	if (have && ix->used + 1 <= have - have / 4)
		return 0;
	uint32_t want = have ? have * 2 : FIRST_SLOTS;
	if (want > MAX_SLOTS)
		return -E2BIG;
	struct cam_index grown = {.mask = want - 1, .used = ix->used};
	grown.slots = calloc(want, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < have; i++) {
		if (ix->slots[i].id_plus_1)
			insert(&grown, ix->slots[i]);
	}
	free(ix->slots);
	*ix = grown;
	return 0;
}

void cam_index_add(struct cam_index *ix, uint64_t hash, uint32_t id)
{
	insert(ix, (struct cam_index_slot){(uint32_t)(hash >> 32), id + 1});
	ix->used++;
}
