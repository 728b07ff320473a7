// SPDX-License-Identifier: Apache-2.0
/*
 * The tree of stacks, successor coded.
 *
 * What: a preorder walk. At each node: how many children it has (in this chunk), its pairs, then
 * its children. A function is mostly followed by functions that have followed it elsewhere, so
 * each function keeps the list of its successors, by use. Children that are in the list come
 * first, in the list's order, so only the entries skipped between two of them are coded and
 * no sibling is coded twice. The others name a function met in this chunk (by its place in a list
 * ordered by use), one of an earlier chunk (module, number) or a new one (module only: it gets
 * the module's next number).
 *
 * Why: half the bytes of any form given to zstd (docs/window-format.md has the table).
 *
 * A chunk holds nodes [first, first + n) of the walk. Nodes above the first one are not coded
 * again: the chunk's head lists them (id, function), and the walk passes through them, coding
 * their remaining children but no pairs.
 *
 * Head, varints: path length; each path node's id - previous id, module, number in module; number
 * of modules that get new functions here, each: module - previous, its next number. Then the
 * streams in the order of enum cam_tree_stream.
 *
 * Invariants
 * 1. Ids ascend in the order of the walk; parent < child.
 * 2. All state begins empty in every chunk; lists of groups and modules begin 0, 1, 2, …
 * 3. Nothing here is more than O(4096) for one value, whatever the input: lists remember 4,096
 *    entries, an entry moves forward at most 64 (successors) or 4,096 (recent) places.
 *
 * Example: stacks main;parse and main;emit;parse, one sample each, one group, one module. Root:
 * kids 1, pairs 0, other 0 (new), module 1 (place 0). main: kids 2, pairs 0, twice other 0 and
 * module 0 (the parent's). parse: kids 0, pairs 1, group 0, count 0. emit: kids 1, pairs 0,
 * nothing known below emit, other 2 + place of parse in [main, parse, emit] = 3. parse: as above.
 */
#include "store/window_tree.h"

#include "base/vec.h"
#include "store/format.h"

#include <string.h>

const uint8_t cam_tree_splits[CAM_TREE_STREAMS] = {4, 4, 4, 5, 5, 4, 5, 4};
const uint8_t cam_tree_contexts[CAM_TREE_STREAMS] = {9, 3, 2, 3, 8, 2, 2, 1};

int cam_tree_state_init(struct cam_tree_state *s, uint32_t n_functions, uint32_t n_modules,
			uint32_t n_groups)
{
	*s = (struct cam_tree_state){
		.n_functions = n_functions, .n_modules = n_modules, .n_groups = n_groups};
	s->successors = calloc((size_t)n_functions + 1, sizeof(*s->successors));
	s->met = calloc((size_t)n_functions + 1, sizeof(*s->met));
	s->met_at = calloc((size_t)n_functions + 1, sizeof(*s->met_at));
	s->met_uses = calloc((size_t)n_functions + 1, sizeof(*s->met_uses));
	s->recent_groups = calloc((size_t)n_groups + 1, sizeof(*s->recent_groups));
	s->recent_modules = calloc((size_t)n_modules + 1, sizeof(*s->recent_modules));
	if (!s->successors || !s->met || !s->met_at || !s->met_uses || !s->recent_groups ||
	    !s->recent_modules) {
		cam_tree_state_free(s);
		return -ENOMEM;
	}
	memset(s->met_at, 0xff, ((size_t)n_functions + 1) * sizeof(*s->met_at));
	cam_tree_state_reset(s);
	return 0;
}

void cam_tree_state_free(struct cam_tree_state *s)
{
	free(s->successors);
	free(s->entries);
	free(s->touched);
	free(s->met);
	free(s->met_at);
	free(s->met_uses);
	free(s->recent_groups);
	free(s->recent_modules);
	*s = (struct cam_tree_state){0};
}

void cam_tree_state_reset(struct cam_tree_state *s)
{
	for (size_t i = 0; i < s->n_touched; i++)
		s->successors[s->touched[i]] = (struct cam_successors){0};
	for (uint32_t i = 0; i < s->n_met; i++) {
		s->met_at[s->met[i]] = CAM_NONE;
		s->met_uses[s->met[i]] = 0;
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		s->recent_groups[i] = i;
	for (uint32_t i = 0; i < s->n_modules; i++)
		s->recent_modules[i] = i;
	s->n_touched = 0;
	s->n_entries = 0;
	s->n_met = 0;
}

/* Lists live in one array; one that outgrows its place is copied to the end. */
int cam_tree_append(struct cam_tree_state *s, uint32_t of, uint32_t func)
{
	struct cam_successors *list = &s->successors[of];
	if (list->n == CAM_TREE_LIST_MAX)
		return 0;
	if (list->n == list->cap) {
		uint32_t cap = list->cap ? 2 * list->cap : 2;
		int err = cam_vec_reserve(&s->entries, &s->cap_entries, s->n_entries + cap,
					  sizeof(*s->entries), 1u << 28);
		if (!err && !list->cap)
			err = cam_vec_reserve(&s->touched, &s->cap_touched, s->n_touched + 1,
					      sizeof(*s->touched), 1u << 28);
		if (err)
			return err;
		if (!list->cap)
			s->touched[s->n_touched++] = of;
		memcpy(s->entries + s->n_entries, s->entries + list->at,
		       list->n * sizeof(*s->entries));
		list->at = (uint32_t)s->n_entries;
		list->cap = cap;
		s->n_entries += cap;
	}
	s->entries[list->at + list->n++] = (struct cam_successor){func, 1};
	return 0;
}

void cam_tree_use(struct cam_tree_state *s, struct cam_successors *list, uint32_t at)
{
	struct cam_successor *e = s->entries + list->at;
	struct cam_successor used = {e[at].func, e[at].uses + 1};
	for (unsigned steps = 0; at && steps < CAM_TREE_FORWARD_STEPS; steps++, at--) {
		if (e[at - 1].uses >= used.uses)
			break;
		e[at] = e[at - 1];
	}
	e[at] = used;
}

void cam_tree_meet(struct cam_tree_state *s, uint32_t func)
{
	s->met_at[func] = s->n_met;
	s->met[s->n_met++] = func;
}

/* Swapped with the first of those used as often before: the list stays ordered by use. */
void cam_tree_meet_again(struct cam_tree_state *s, uint32_t func)
{
	uint32_t uses = ++s->met_uses[func];
	uint32_t lo = 0, at = s->met_at[func], hi = at;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->met_uses[s->met[mid]] >= uses)
			lo = mid + 1;
		else
			hi = mid;
	}
	uint32_t other = s->met[lo];
	s->met[lo] = func;
	s->met_at[func] = lo;
	s->met[at] = other;
	s->met_at[other] = at;
}

void cam_recent_use(uint32_t *list, uint32_t at)
{
	uint32_t v = list[at];
	if (!at)
		return;
	uint32_t steps = at < CAM_TREE_LIST_MAX ? at : CAM_TREE_LIST_MAX;
	memmove(list + at - steps + 1, list + at - steps, steps * sizeof(*list));
	list[at - steps] = v;
}
