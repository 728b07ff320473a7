// SPDX-License-Identifier: Apache-2.0
/*
 * How often each (stack, comm, event type) of a window was sampled: one hash table whose rows are
 * the slots, since this is the only work done once a sample. Ids are the window's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cam_sum {
	uint32_t stack, comm, etype;
	uint32_t extra;	  /* one more id to sum by; 0 where there is none */
	bool awake;	  /* certainly not the idle task */
	uint64_t samples; /* 0: an empty slot */
	uint64_t weight;
};

/* Zeroed is empty. */
struct cam_sums {
	struct cam_sum *v;
	size_t n;     /* rows in use */
	size_t slots; /* a power of two, or 0: rows are v[0 … n) */
	size_t cap;   /* of v, where rows were appended */
};

void cam_sums_free(struct cam_sums *s);
/* Forgets the rows, keeps the memory. */
void cam_sums_clear(struct cam_sums *s);
/* -ENOMEM; -E2BIG past 2^25 rows. */
int cam_sums_add(struct cam_sums *s, struct cam_sum sum);
/* The same for several: their slots come from memory side by side, not one after the other. */
int cam_sums_add_all(struct cam_sums *s, const struct cam_sum *sums, size_t n);
/* The same without a search, where few or none are there already: these are added up when all are sorted. All rows are added, or all are appended. */
int cam_sums_append(struct cam_sums *s, struct cam_sum sum);
/* By comm, event type, stack, extra: v[0 … n) are then the rows, and nothing may be added any more. -ENOMEM. */
int cam_sums_sort(struct cam_sums *s);
