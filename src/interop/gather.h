// SPDX-License-Identifier: Apache-2.0
/*
 * Several windows into one set of tables, for formats that hold everything before they write: each window
 * numbers its own names, functions and stacks, a file needs one numbering.
 *
 * The gathered tables are those of the model, used so: functions have name (as shown), module and kind;
 * locations a function, and with `addresses` address and offset; `places` is the tree of stacks, root
 * first, its items locations. With `join_inlined` a frame and what was inlined there are one: `stacks` is
 * then a tree whose nodes are such groups (the frame itself below the root, then inwards, items are
 * locations), and the items of `places` are those nodes.
 *
 * Memory follows what is distinct, and is bounded: -E2BIG, and what was gathered stays.
 */
#pragma once
#include "interop/exporter.h"
#include "model/tables.h"

struct cam_gather {
	struct cam_tables t;
	bool addresses, join_inlined;
	/* Of the window being gathered: its id → id here + 1; 0: not yet. */
	uint32_t *nodes, *locations, *tasks, *etypes;
	size_t n_nodes, n_locations;
	size_t max_bytes; /* of the above, too */
};

int cam_gather_init(struct cam_gather *g, size_t max_bytes);
void cam_gather_free(struct cam_gather *g);

/* Forgets the ids of the window before. To be called in the exporter's window(). */
int cam_gather_window(struct cam_gather *g, struct cam_exporter *x);
/* The stack of a row, as a node of g->t.places. */
int cam_gather_stack(struct cam_gather *g, struct cam_exporter *x, const struct cam_export_row *r,
		     uint32_t *out);
int cam_gather_task(struct cam_gather *g, struct cam_exporter *x, uint32_t task, uint32_t *out);
int cam_gather_etype(struct cam_gather *g, struct cam_exporter *x, uint32_t etype, uint32_t *out);
