// SPDX-License-Identifier: Apache-2.0
/*
 * Seconds in which an entity may have samples, ascending: in all others it has none. So work is by cell, not by second:
 * only sums that hold one of them need be looked at.
 */
#pragma once
#include "query/why_history.h"

struct cam_why_marks {
	uint32_t *v;
	size_t n, cap;
};

/* Adds the seconds of cells, which are nearly in order. -ENOMEM. */
int cam_why_mark_cells(struct cam_why_marks *m, const struct cam_why_cell *c, size_t n);
/* In order, each once: to be called when all are added. */
void cam_why_settle_marks(struct cam_why_marks *m);

/*
 * The sums over `length` seconds that hold a second of the marks, one after the other: t is where they begin. Starts
 * with *next = 0 and *i = 0; false: no more.
 */
static inline bool cam_why_next_sum(const struct cam_why_marks *m, unsigned length, uint32_t from,
				    uint32_t to, size_t *i, uint32_t *next, uint32_t *t)
{
	for (; *i < m->n; ++*i) {
		uint32_t at = m->v[*i];
		uint32_t first = at + 1 > length ? at + 1 - length : 0;
		first = first > *next ? first : *next;
		first = first > from ? first : from;
		if (first > at || first + length > to)
			continue;
		*t = first;
		*next = first + 1;
		return true;
	}
	return false;
}
