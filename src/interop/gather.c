// SPDX-License-Identifier: Apache-2.0
#include "interop/gather.h"

#include <errno.h>
#include <stdlib.h>

int cam_gather_init(struct cam_gather *g, size_t max_bytes)
{
	g->max_bytes = max_bytes;
	return cam_tables_init(&g->t, max_bytes);
}

static void forget(struct cam_gather *g)
{
	free(g->nodes);
	free(g->locations);
	free(g->tasks);
	free(g->etypes);
	g->nodes = g->locations = g->tasks = g->etypes = NULL;
	g->n_nodes = g->n_locations = 0;
}

void cam_gather_free(struct cam_gather *g)
{
	forget(g);
	cam_tables_free(&g->t);
}

int cam_gather_window(struct cam_gather *g, struct cam_exporter *x)
{
	forget(g);
	g->tasks = calloc(x->t->n_tasks + 1, sizeof(*g->tasks));
	g->etypes = calloc(x->t->n_etypes + 1, sizeof(*g->etypes));
	return g->tasks && g->etypes ? 0 : -ENOMEM;
}

/* Trees and locations may grow while samples are delivered. */
static int grow(uint32_t **map, size_t *n, size_t need)
{
	if (need <= *n)
		return 0;
	uint32_t *grown = reallocarray(*map, need, sizeof(**map));
	if (!grown)
		return -ENOMEM;
	memset(grown + *n, 0, (need - *n) * sizeof(*grown));
	*map = grown;
	*n = need;
	return 0;
}

static int copy_string(struct cam_gather *g, struct cam_exporter *x, struct cam_str_id from,
		       struct cam_str_id *to)
{
	return cam_string_intern(&g->t, cam_string(x->t, from), to);
}

static int copy_module(struct cam_gather *g, const struct cam_export_frame *f,
		       struct cam_module_id *out)
{
	struct cam_module m = {.kind = f->module_kind};
	int err = cam_string_intern(&g->t, f->module, &m.path);
	if (!err)
		err = cam_string_intern(&g->t, f->build_id, &m.build_id);
	return err ? err : cam_module_intern(&g->t, &m, out);
}

static int add_location(struct cam_gather *g, struct cam_exporter *x,
			const struct cam_export_frame *f, uint32_t *out)
{
	struct cam_function func = {.kind = f->kind, .source = CAM_NAME_IMPORTED};
	struct cam_location loc = {.func_offset = CAM_OFFSET_NONE};
	struct cam_loc_id id = {0};
	int err = copy_module(g, f, &func.module);
	if (!err)
		err = cam_string_intern(&g->t, cam_exporter_label(x, f), &func.name);
	if (!err)
		err = cam_function_intern(&g->t, &func, &loc.func);
	loc.module = func.module;
	if (g->addresses) {
		loc.address = f->address;
		loc.func_offset = f->offset;
	}
	if (!err)
		err = cam_location_intern(&g->t, &loc, &id);
	*out = id.v;
	return err;
}

static int location_of(struct cam_gather *g, struct cam_exporter *x, uint32_t item, uint32_t *out)
{
	size_t n = x->places ? x->t->n_locations : x->t->n_functions;
	if (item >= n)
		return -EBADMSG;
	int err = grow(&g->locations, &g->n_locations, n);
	if (err)
		return err;
	if (!g->locations[item]) {
		struct cam_export_frame f = cam_exporter_frame(x, item);
		uint32_t made;
		err = add_location(g, x, &f, &made);
		if (err)
			return err;
		g->locations[item] = made + 1;
	}
	*out = g->locations[item] - 1;
	return 0;
}

/* The node for one more frame below `above`. */
static int step(struct cam_gather *g, uint32_t above, uint32_t location, uint32_t *out)
{
	struct cam_tables *t = &g->t;
	const struct cam_location *loc = &t->locations[location];
	bool inlined = t->functions[loc->func.v].kind == CAM_FUNC_INLINED;
	if (!g->join_inlined)
		return cam_tree_intern(t, &t->places, above, location, out);
	uint32_t group = 0;
	/* What was inlined joins the frame it was inlined into. */
	if (inlined && above) {
		group = t->places.item[above];
		above = t->places.parent[above];
	}
	int err = cam_tree_intern(t, &t->stacks, group, location, &group);
	return err ? err : cam_tree_intern(t, &t->places, above, group, out);
}

static int node_of(struct cam_gather *g, struct cam_exporter *x, uint32_t node, uint32_t *out)
{
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	int err = grow(&g->nodes, &g->n_nodes, x->tree->n);
	if (err)
		return err;
	for (; node && !g->nodes[node]; node = x->tree->parent[node]) {
		if (n == CAM_MAX_STACK_FRAMES)
			return -EBADMSG;
		path[n++] = node;
	}
	uint32_t here = node ? g->nodes[node] - 1 : 0, location;
	while (n && !err) {
		node = path[--n];
		err = location_of(g, x, x->tree->item[node], &location);
		if (!err)
			err = step(g, here, location, &here);
		if (!err)
			g->nodes[node] = here + 1;
	}
	*out = here;
	return err;
}

int cam_gather_stack(struct cam_gather *g, struct cam_exporter *x, const struct cam_export_row *r,
		     uint32_t *out)
{
	if (!r->stack || r->leaf_offset == CAM_OFFSET_NONE || !g->addresses)
		return node_of(g, x, r->stack, out);
	/* The innermost frame is this row's own. */
	uint32_t above, location;
	uint32_t item = x->tree->item[r->stack];
	if (item >= x->t->n_functions)
		return -EBADMSG;
	struct cam_export_frame f = cam_exporter_frame(x, item);
	cam_exporter_leaf(r, &f);
	int err = node_of(g, x, x->tree->parent[r->stack], &above);
	if (!err)
		err = add_location(g, x, &f, &location);
	return err ? err : step(g, above, location, out);
}

int cam_gather_task(struct cam_gather *g, struct cam_exporter *x, uint32_t task, uint32_t *out)
{
	if (!g->tasks[task]) {
		struct cam_task k = x->t->tasks[task];
		struct cam_task_id id;
		int err = copy_string(g, x, k.comm, &k.comm);
		if (!err)
			err = copy_string(g, x, k.exe, &k.exe);
		if (!err)
			err = copy_string(g, x, k.cgroup, &k.cgroup);
		if (!err)
			err = cam_task_intern(&g->t, &k, &id);
		if (err)
			return err;
		g->tasks[task] = id.v + 1;
	}
	*out = g->tasks[task] - 1;
	return 0;
}

int cam_gather_etype(struct cam_gather *g, struct cam_exporter *x, uint32_t etype, uint32_t *out)
{
	if (!g->etypes[etype]) {
		struct cam_etype e = x->t->etypes[etype];
		struct cam_etype_id id;
		int err = copy_string(g, x, e.name, &e.name);
		if (!err)
			err = cam_etype_intern(&g->t, &e, &id);
		if (err)
			return err;
		g->etypes[etype] = id.v + 1;
	}
	*out = g->etypes[etype] - 1;
	return 0;
}
