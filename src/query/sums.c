// SPDX-License-Identifier: Apache-2.0
#include "query/sums.h"

#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024u
#define MAX_SLOTS   (1u << 26)

void cam_sums_free(struct cam_sums *s)
{
	free(s->v);
	*s = (struct cam_sums){0};
}

void cam_sums_clear(struct cam_sums *s)
{
	if (s->v)
		memset(s->v, 0, s->slots * sizeof(*s->v));
	s->n = 0;
}

static bool same(const struct cam_sum *a, const struct cam_sum *b)
{
	return a->stack == b->stack && a->comm == b->comm && a->etype == b->etype &&
	       a->extra == b->extra && a->awake == b->awake;
}

/* The slot of a row: the one that holds it, or the empty one where it belongs. */
static struct cam_sum *slot_of(struct cam_sum *v, size_t slots, const struct cam_sum *sum)
{
	uint64_t hash = cam_hash_u64((uint64_t)sum->stack << 32 | sum->comm,
				     (uint64_t)sum->extra << 32 | sum->etype << 1 | sum->awake);
	size_t i = hash & (slots - 1);
	while (v[i].samples && !same(&v[i], sum))
		i = (i + 1) & (slots - 1);
	return &v[i];
}

static int grow(struct cam_sums *s)
{
	size_t slots = s->slots ? s->slots * 2 : FIRST_SLOTS;
	if (slots > MAX_SLOTS)
		return -E2BIG;
	struct cam_sum *v = calloc(slots, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++) {
		if (s->v[i].samples)
			*slot_of(v, slots, &s->v[i]) = s->v[i];
	}
	free(s->v);
	s->v = v;
	s->slots = slots;
	return 0;
}

/* What does not fit into 64 bits stays at their maximum. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

int cam_sums_add(struct cam_sums *s, struct cam_sum sum)
{
	if (!sum.samples)
		return 0;
	if (s->n + 1 > s->slots / 2) {
		int err = grow(s);
		if (err)
			return err;
	}
	struct cam_sum *slot = slot_of(s->v, s->slots, &sum);
	if (slot->samples) {
		slot->samples = add(slot->samples, sum.samples);
		slot->weight = add(slot->weight, sum.weight);
	} else {
		*slot = sum;
		s->n++;
	}
	return 0;
}

static int by_comm(const void *x, const void *y)
{
	const struct cam_sum *a = x, *b = y;
	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->etype != b->etype)
		return a->etype < b->etype ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->extra != b->extra)
		return a->extra < b->extra ? -1 : 1;
	return (int)a->awake - (int)b->awake;
}

void cam_sums_sort(struct cam_sums *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->slots; i++) {
		if (s->v[i].samples)
			s->v[n++] = s->v[i];
	}
	if (n)
		qsort(s->v, n, sizeof(*s->v), by_comm);
	/* The rows behind are stale copies: an add would find them. */
	s->slots = 0;
}
