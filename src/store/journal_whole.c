// SPDX-License-Identifier: Apache-2.0
/*
 * Parents have smaller numbers than their children, so one walk in order is enough. The rule for stacks that get too deep is
 * that of cam_place_stack(): such a place is as it was, and what hangs below it goes on from there.
 *
 * Example: place 1 is main, place 2 at an address of work below it, where step is inlined. 1 → 1; 2 → a new place 3: step's
 * location, below 2.
 */
#include "store/journal_whole.h"

#include <errno.h>
#include <stdlib.h>

struct whole {
	struct cam_tables *t;
	uint32_t *place;
	uint16_t *depth; /* of the whole place; and as it was: */
	uint16_t *plain;
};

static int inlined_location(struct cam_tables *t, uint32_t loc, uint32_t func,
			    struct cam_loc_id *out)
{
	const struct cam_location *at = &t->locations[loc];
	const struct cam_location l = {
		.address = at->address,
		.module = at->module,
		.func = {func},
		.func_offset = at->func_offset,
	};
	return cam_location_intern(t, &l, out);
}

static int add_place(struct whole *w, uint32_t i)
{
	struct cam_tables *t = w->t;
	uint32_t parent = t->places.parent[i], loc = t->places.item[i];
	uint32_t chain[CAM_MAX_STACK_FRAMES];
	size_t n = 0, depth = w->depth[parent] + 1u;
	w->plain[i] = (uint16_t)(w->plain[parent] + 1);
	for (uint32_t at = t->locations[loc].inlined; at && n < CAM_MAX_STACK_FRAMES;
	     at = t->inlines.parent[at])
		chain[n++] = t->inlines.item[at];
	if (depth + n > CAM_MAX_STACK_FRAMES) {
		w->place[i] = i;
		w->depth[i] = w->plain[i];
		return 0;
	}
	w->depth[i] = (uint16_t)(depth + n);
	int err = cam_tree_intern(t, &t->places, w->place[parent], loc, &w->place[i]);
	while (n && !err) {
		struct cam_loc_id own;
		err = inlined_location(t, loc, chain[--n], &own);
		if (!err)
			err = cam_tree_intern(t, &t->places, w->place[i], own.v, &w->place[i]);
	}
	return err;
}

int cam_journal_whole(struct cam_tables *t, uint32_t **out)
{
	size_t n = t->places.n;
	*out = NULL;
	if (t->inlines.n <= 1)
		return 0;
	struct whole w = {
		.t = t,
		.place = calloc(n, sizeof(uint32_t)),
		.depth = calloc(n, sizeof(uint16_t)),
		.plain = calloc(n, sizeof(uint16_t)),
	};
	int err = w.place && w.depth && w.plain ? 0 : -ENOMEM;
	for (uint32_t i = 1; i < n && !err; i++)
		err = add_place(&w, i);
	free(w.depth);
	free(w.plain);
	if (err)
		free(w.place);
	else
		*out = w.place;
	return err;
}
