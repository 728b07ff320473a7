// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_data_chains.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096u
#define MAX_ROWS    (1u << 26)

void cam_perf_chains_free(struct cam_perf_chains *c)
{
	free(c->rows);
	free(c->slots);
	*c = (struct cam_perf_chains){0};
}

void cam_perf_chains_forget(struct cam_perf_chains *c)
{
	c->n = 0;
	if (c->slots)
		memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
}

int cam_perf_chains_add(struct cam_perf_chains *c, uint32_t *out)
{
	int err = cam_vec_reserve(&c->rows, &c->cap, c->n + 1, sizeof(*c->rows), MAX_ROWS);
	if (err)
		return -ENOMEM;
	c->rows[c->n] = (struct cam_perf_chain){0};
	*out = (uint32_t)c->n++;
	return 0;
}

/* The slot that has it, or the empty one where it belongs. */
static struct cam_perf_chain_slot *slot_of(struct cam_perf_chain_slot *slots, size_t n,
					   uint32_t low, uint64_t high)
{
	size_t i = low & (n - 1);
	while (slots[i].row_plus_1 && (slots[i].high != high || slots[i].low != low))
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow(struct cam_perf_chains *c)
{
	size_t n = c->n_slots ? c->n_slots * 2 : FIRST_SLOTS;
	struct cam_perf_chain_slot *grown = calloc(n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_slots; i++) {
		const struct cam_perf_chain_slot *s = &c->slots[i];
		if (s->row_plus_1)
			*slot_of(grown, n, s->low, s->high) = *s;
	}
	free(c->slots);
	c->slots = grown;
	c->n_slots = n;
	return 0;
}

int cam_perf_chains_find(struct cam_perf_chains *c, struct cam_hash_128 h, uint64_t spaces,
			 bool *known, uint32_t *out)
{
	/* Rows without a slot are counted as if they had one: a table that is too large at worst. */
	int err = c->n + 1 > c->n_slots / 4 * 3 ? grow(c) : 0;
	if (err)
		return err;
	uint64_t high = h.high ^ spaces * 0x9e3779b97f4a7c15u;
	struct cam_perf_chain_slot *slot = slot_of(c->slots, c->n_slots, (uint32_t)h.low, high);
	*known = slot->row_plus_1;
	*out = slot->row_plus_1 - 1;
	if (*known)
		return 0;
	err = cam_perf_chains_add(c, out);
	if (!err)
		*slot = (struct cam_perf_chain_slot){high, (uint32_t)h.low, *out + 1};
	return err;
}
