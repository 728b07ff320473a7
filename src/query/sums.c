// SPDX-License-Identifier: Apache-2.0
#include "query/sums.h"

#include "base/index.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024u
#define MAX_SLOTS   (1u << 26)
#define DIGIT	    9u

void cam_sums_free(struct cam_sums *s)
{
	free(s->v);
	*s = (struct cam_sums){0};
}

void cam_sums_clear(struct cam_sums *s)
{
	if (s->v && s->slots)
		memset(s->v, 0, s->slots * sizeof(*s->v));
	s->n = 0;
}

static bool same(const struct cam_sum *a, const struct cam_sum *b)
{
	return a->stack == b->stack && a->comm == b->comm && a->etype == b->etype &&
	       a->extra == b->extra && a->awake == b->awake;
}

static uint64_t hash_of(const struct cam_sum *sum)
{
	return cam_hash_u64((uint64_t)sum->stack << 32 | sum->comm,
			    (uint64_t)sum->extra << 32 | sum->etype << 1 | sum->awake);
}

/* The slot of a row: the one that holds it, or the empty one where it belongs. */
static struct cam_sum *slot_of(struct cam_sum *v, size_t slots, const struct cam_sum *sum)
{
	size_t i = hash_of(sum) & (slots - 1);
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
	s->cap = 0;
	return 0;
}

int cam_sums_append(struct cam_sums *s, struct cam_sum sum)
{
	if (!sum.samples)
		return 0;
	int err = cam_vec_reserve(&s->v, &s->cap, s->n + 1, sizeof(*s->v), MAX_SLOTS / 2);
	if (!err)
		s->v[s->n++] = sum;
	return err;
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

int cam_sums_add_all(struct cam_sums *s, const struct cam_sum *sums, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && s->slots; i++)
		__builtin_prefetch(&s->v[hash_of(&sums[i]) & (s->slots - 1)]);
	for (size_t i = 0; i < n && !err; i++)
		err = cam_sums_add(s, sums[i]);
	return err;
}

/* What they are sorted by, the least of it first. */
static const size_t keys[] = {offsetof(struct cam_sum, extra), offsetof(struct cam_sum, stack),
			      offsetof(struct cam_sum, etype), offsetof(struct cam_sum, comm)};

static uint32_t key_of(const struct cam_sum *sum, size_t key)
{
	uint32_t v;
	memcpy(&v, (const char *)sum + keys[key], sizeof(v));
	return v;
}

/*
 * A stable pass by DIGIT bits of a key. Ids are dense, so most keys need one pass or two, and one that all
 * share none: several times quicker than comparing rows.
 */
static void sort_by_digit(const struct cam_sum *from, struct cam_sum *to, size_t n, size_t key,
			  unsigned shift)
{
	uint32_t at[1u << DIGIT] = {0}, sum = 0;
	for (size_t i = 0; i < n; i++)
		at[key_of(&from[i], key) >> shift & ((1u << DIGIT) - 1)]++;
	for (size_t i = 0; i < 1u << DIGIT; i++) {
		uint32_t number = at[i];
		at[i] = sum;
		sum += number;
	}
	for (size_t i = 0; i < n; i++)
		to[at[key_of(&from[i], key) >> shift & ((1u << DIGIT) - 1)]++] = from[i];
}

static void swap(struct cam_sum **a, struct cam_sum **b)
{
	struct cam_sum *x = *a;
	*a = *b;
	*b = x;
}

/* Those that are awake behind those that are not. */
static void sort_by_awake(const struct cam_sum *from, struct cam_sum *to, size_t n)
{
	for (unsigned awake = 0; awake < 2; awake++)
		for (size_t i = 0; i < n; i++)
			if (from[i].awake == (bool)awake)
				*to++ = from[i];
}

/* Rows and room for as many change places with each pass. */
static void sort_rows(struct cam_sum **v, struct cam_sum **room, size_t n)
{
	sort_by_awake(*v, *room, n);
	swap(v, room);
	for (size_t key = 0; key < sizeof(keys) / sizeof(keys[0]); key++) {
		uint32_t some = 0, all = UINT32_MAX;
		for (size_t i = 0; i < n; i++) {
			some |= key_of(&(*v)[i], key);
			all &= key_of(&(*v)[i], key);
		}
		for (unsigned shift = 0; shift < 32; shift += DIGIT) {
			if (!((some ^ all) >> shift & ((1u << DIGIT) - 1)))
				continue;
			sort_by_digit(*v, *room, n, key, shift);
			swap(v, room);
		}
	}
}

/* Rows that are the same, which are neighbours now, become one. How many are left. */
static size_t join_same(struct cam_sum *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && same(&v[kept - 1], &v[i])) {
			v[kept - 1].samples = add(v[kept - 1].samples, v[i].samples);
			v[kept - 1].weight = add(v[kept - 1].weight, v[i].weight);
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

int cam_sums_sort(struct cam_sums *s)
{
	size_t n = s->slots ? 0 : s->n;
	for (size_t i = 0; i < s->slots; i++) {
		if (s->v[i].samples)
			s->v[n++] = s->v[i];
	}
	struct cam_sum *room = malloc((n + 1) * sizeof(*room));
	if (!room)
		return -ENOMEM;
	if (n)
		sort_rows(&s->v, &room, n);
	free(room);
	s->n = join_same(s->v, n);
	/* The rows behind are stale copies: an add would find them. */
	s->slots = s->cap = 0;
	return 0;
}
