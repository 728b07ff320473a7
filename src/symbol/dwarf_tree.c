// SPDX-License-Identifier: Apache-2.0
/*
 * Ranges as elf.c has symbols: sorted by start, each with a way up.
 *
 * Invariants
 *  1. `ranges` are sorted by start; those of one start are in the order of entries, so that what is inside comes
 *     later.
 *  2. ranges[i].up is the nearest earlier one that does not end before range i does. So the innermost one that
 *     holds an address is found from the last that starts at or before it by following `up`; after MAX_CLIMB steps a
 *     crafted unit is given up.
 *  3. parent of a node is an earlier node.
 *
 * Example: f [0x100, 0x180) with g inlined at [0x140, 0x180), and h inlined in g at [0x150, 0x158). 0x170: the last
 * start before it is h, which has ended; its up is g, whose parent is f: f, and g inlined in it.
 */
#include "symbol/dwarf_tree.h"

#include "base/vec.h"
#include "symbol/sort.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_CLIMB 256u

struct range {
	uint64_t start;
	uint32_t bytes, up, node, unused;
};

struct cam_dwarf_tree {
	struct range *ranges;
	struct cam_dwarf_node *nodes;
	size_t n_ranges, cap_ranges, n_nodes, cap_nodes;
};

struct walk {
	struct cam_dwarf_source *s;
	const struct cam_dwarf_unit *u;
	const struct cam_dwarf_abbrevs *abbrevs;
	struct cam_dwarf_tree *t;
	uint32_t depth;
	uint32_t inside[CAM_DWARF_MAX_DEPTH]; /* by depth: the function that entries there are in */
};

static int add_range(void *arg, uint64_t low, uint64_t high)
{
	struct walk *w = arg;
	struct cam_dwarf_tree *t = w->t;
	if (high - low > UINT32_MAX)
		return 0;
	int error = cam_vec_reserve(&t->ranges, &t->cap_ranges, t->n_ranges + 1, sizeof(*t->ranges),
				    CAM_DWARF_MAX_RANGES);
	if (error)
		return error;
	uint32_t node = (uint32_t)t->n_nodes - 1;
	if (!t->nodes[node].low)
		t->nodes[node].low = low;
	t->ranges[t->n_ranges++] =
		(struct range){low, (uint32_t)(high - low), CAM_DWARF_NO_NODE, node, 0};
	return 0;
}

static uint32_t number(struct cam_dwarf_value v)
{
	return v.kind == CAM_DWARF_NUMBER && v.v <= UINT32_MAX ? (uint32_t)v.v : 0;
}

/* A function with code becomes a node; *inside is what its children are in. */
static int take_function(struct walk *w, const struct cam_dwarf_entry *e, uint64_t at,
			 uint32_t *inside)
{
	struct cam_dwarf_tree *t = w->t;
	uint32_t parent = e->tag == CAM_DWARF_TAG_INLINED ? *inside : CAM_DWARF_NO_NODE;
	/* Inlined in nothing that has code. */
	if (e->tag == CAM_DWARF_TAG_INLINED && parent == CAM_DWARF_NO_NODE)
		return 0;
	if (e->ranges.kind == CAM_DWARF_NOTHING && e->low.kind == CAM_DWARF_NOTHING) {
		*inside = parent;
		return 0;
	}
	int error = cam_vec_reserve(&t->nodes, &t->cap_nodes, t->n_nodes + 1, sizeof(*t->nodes),
				    CAM_DWARF_MAX_RANGES);
	if (error)
		return error;
	*inside = (uint32_t)t->n_nodes;
	t->nodes[t->n_nodes++] = (struct cam_dwarf_node){(uint32_t)at, parent, number(e->call_file),
							 number(e->call_line), 0};
	return cam_dwarf_unit_ranges(w->s, w->u, e, add_range, w);
}

static int walk_entries(struct walk *w, const uint8_t *bytes, size_t n, uint64_t from)
{
	struct cam_rd r = cam_rd_make(bytes, n);
	struct cam_dwarf_entry e = {0};
	int error = 0;
	while (!error && cam_rd_left(&r)) {
		const uint8_t *before = r.p;
		uint32_t attributes = cam_dwarf_entry_read(&r, bytes, &w->u->shape, w->abbrevs, &e);
		if (cam_rd_error(&r))
			return cam_rd_error(&r);
		if (!cam_dwarf_pay(w->s, (uint64_t)(r.p - before) + attributes))
			return -EBUSY;
		if (!e.tag) {
			/* Behind the last of the first entry's children there may be zeros. */
			w->depth -= w->depth != 0;
			continue;
		}
		uint32_t inside = w->inside[w->depth];
		if (e.tag == CAM_DWARF_TAG_SUBPROGRAM || e.tag == CAM_DWARF_TAG_INLINED)
			error = take_function(w, &e, from + (uint64_t)(before - bytes), &inside);
		if (e.has_children) {
			if (++w->depth == CAM_DWARF_MAX_DEPTH)
				return -EBADMSG;
			w->inside[w->depth] = inside;
		}
	}
	return error;
}

static uint64_t end_of(const struct range *r)
{
	return r->start + r->bytes;
}

/* Each step over a range moves past what that one is already above of: linear altogether. */
static void find_ups(struct cam_dwarf_tree *t)
{
	for (uint32_t i = 1; i < t->n_ranges; i++) {
		uint32_t up = i - 1;
		while (up != CAM_DWARF_NO_NODE && end_of(&t->ranges[up]) < end_of(&t->ranges[i]))
			up = t->ranges[up].up;
		t->ranges[i].up = up;
	}
}

static void trim(void *rows, size_t *cap, size_t n, size_t size)
{
	void **where = rows;
	void *exact = n < *cap ? realloc(*where, (n ? n : 1) * size) : NULL;
	if (exact) {
		*where = exact;
		*cap = n;
	}
}

static int read_entries(struct walk *w, uint64_t bytes)
{
	struct cam_section *info = &w->s->sections[CAM_ELF_DEBUG_INFO];
	const uint8_t *here = cam_section_borrow(info, w->s->b, w->u->entries, bytes);
	uint8_t *copy = here ? NULL : malloc(bytes);
	int error = here || copy ? 0 : -ENOMEM;
	if (!error && !here)
		error = cam_section_read(info, w->s->b, w->u->entries, copy, bytes);
	if (!error)
		error = walk_entries(w, here ? here : copy, bytes, w->u->entries - w->u->shape.at);
	free(copy);
	return error;
}

int cam_dwarf_tree_read(struct cam_dwarf_source *s, const struct cam_dwarf_unit *u,
			const struct cam_dwarf_abbrevs *abbrevs, struct cam_dwarf_tree **out)
{
	struct walk w = {.s = s, .u = u, .abbrevs = abbrevs};
	uint64_t bytes = u->end - u->entries;
	if (bytes > CAM_DWARF_MAX_UNIT_BYTES)
		return -E2BIG;
	w.t = calloc(1, sizeof(*w.t));
	if (!w.t)
		return -ENOMEM;
	w.inside[0] = CAM_DWARF_NO_NODE;
	int error = bytes ? read_entries(&w, bytes) : 0;
	if (!error)
		error = cam_sort_by_key(w.t->ranges, w.t->n_ranges, sizeof(*w.t->ranges));
	if (error) {
		cam_dwarf_tree_free(w.t);
		return error;
	}
	find_ups(w.t);
	trim(&w.t->ranges, &w.t->cap_ranges, w.t->n_ranges, sizeof(*w.t->ranges));
	trim(&w.t->nodes, &w.t->cap_nodes, w.t->n_nodes, sizeof(*w.t->nodes));
	*out = w.t;
	return 0;
}

void cam_dwarf_tree_free(struct cam_dwarf_tree *t)
{
	if (!t)
		return;
	free(t->ranges);
	free(t->nodes);
	free(t);
}

size_t cam_dwarf_tree_memory(const struct cam_dwarf_tree *t)
{
	return sizeof(*t) + t->cap_ranges * sizeof(*t->ranges) + t->cap_nodes * sizeof(*t->nodes);
}

uint32_t cam_dwarf_tree_find(const struct cam_dwarf_tree *t, uint64_t address)
{
	size_t low = 0, high = t->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t i = low ? (uint32_t)low - 1 : CAM_DWARF_NO_NODE;
	for (unsigned climb = 0;
	     i != CAM_DWARF_NO_NODE && address - t->ranges[i].start >= t->ranges[i].bytes; climb++)
		i = climb < MAX_CLIMB ? t->ranges[i].up : CAM_DWARF_NO_NODE;
	return i == CAM_DWARF_NO_NODE ? i : t->ranges[i].node;
}

const struct cam_dwarf_node *cam_dwarf_tree_node(const struct cam_dwarf_tree *t, uint32_t node)
{
	return &t->nodes[node];
}
