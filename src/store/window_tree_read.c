// SPDX-License-Identifier: Apache-2.0
/* The reading side of tree chunks; window_tree.c describes the coding. */
#include "store/format.h"
#include "store/window_tree.h"

#include <errno.h>
#include <string.h>

struct pending {
	uint32_t parent, func, depth;
};

struct walk {
	struct cam_tree_state *s;
	const uint32_t *module_start;
	struct cam_tree_chunk *out;
	struct cam_stream_in in[CAM_TREE_STREAMS];
	uint32_t *func_module; /* module of each function met, by function */
	uint32_t *module_next;
	struct pending *stack;
	uint32_t depth;	 /* of the stack */
	uint32_t placed; /* nodes that have an id or stand on the stack */
	uint32_t visited, n_pairs;
};

static uint64_t get(struct walk *w, enum cam_tree_stream s, unsigned ctx)
{
	return cam_stream_get(&w->in[s], ctx);
}

static int read_function(struct walk *w, struct cam_rd *r, uint32_t *func)
{
	uint64_t module = cam_rd_varint(r), number = cam_rd_varint(r);
	if (cam_rd_error(r) || module >= w->s->n_modules ||
	    number >= w->module_start[module + 1] - w->module_start[module])
		return -EBADMSG;
	*func = w->module_start[module] + (uint32_t)number;
	w->func_module[*func] = (uint32_t)module;
	return 0;
}

static int read_head(struct walk *w, struct cam_rd *r)
{
	struct cam_tree_chunk *c = w->out;
	uint64_t n = cam_rd_varint(r), id = 0;
	if (n >= CAM_MAX_STACK_FRAMES || (c->first_node == 0 && n))
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t delta = cam_rd_varint(r);
		int err = read_function(w, r, &c->path_func[i]);
		if (err || delta == 0 || delta >= c->first_node || id + delta >= c->first_node)
			return -EBADMSG;
		id += delta;
		c->path_node[i] = (uint32_t)id;
		if (w->s->met_at[c->path_func[i]] == CAM_NONE)
			cam_tree_meet(w->s, c->path_func[i]);
	}
	c->n_path = (uint32_t)n;
	uint64_t n_new = cam_rd_varint(r), module = 0;
	if (cam_rd_error(r) || n_new > w->s->n_modules)
		return -EBADMSG;
	for (uint64_t i = 0; i < n_new; i++) {
		uint64_t delta = cam_rd_varint(r), next = cam_rd_varint(r);
		if (cam_rd_error(r) || (i && !delta) || delta >= w->s->n_modules ||
		    module + delta >= w->s->n_modules || next > w->s->n_functions)
			return -EBADMSG;
		module += delta;
		w->module_next[module] = (uint32_t)next;
	}
	return 0;
}

static int read_pairs(struct walk *w, uint32_t node, uint64_t n_kids)
{
	struct cam_tree_chunk *c = w->out;
	unsigned ctx = n_kids < 2 ? (unsigned)n_kids : 2;
	uint64_t n = get(w, CAM_TREE_PAIRS, ctx);
	if (n > c->n_pairs - w->n_pairs)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = get(w, CAM_TREE_GROUP, i > 0), count;
		if (at >= w->s->n_groups)
			return -EBADMSG;
		c->pair_group[w->n_pairs] = w->s->recent_groups[at];
		cam_recent_use(w->s->recent_groups, (uint32_t)at);
		count = get(w, CAM_TREE_COUNT, ctx);
		if (count >= UINT32_MAX)
			return -EBADMSG;
		c->pair_count[w->n_pairs] = (uint32_t)count + 1;
		c->pair_node[w->n_pairs++] = node;
	}
	return 0;
}

static int read_other(struct walk *w, uint32_t parent_func, bool root, uint32_t *func)
{
	uint64_t v = get(w, CAM_TREE_OTHER, root);
	if (v >= 2) {
		if (v - 2 >= w->s->n_met)
			return -EBADMSG;
		*func = w->s->met[v - 2];
		cam_tree_meet_again(w->s, *func);
		return 0;
	}
	uint64_t at = get(w, CAM_TREE_MODULE, v != 0);
	uint32_t module;
	if (at > w->s->n_modules || (at == 0 && root))
		return -EBADMSG;
	if (at == 0) {
		module = w->func_module[parent_func];
	} else {
		module = w->s->recent_modules[at - 1];
		cam_recent_use(w->s->recent_modules, (uint32_t)at - 1);
	}
	uint64_t number = v ? get(w, CAM_TREE_EARLIER, 0) : w->module_next[module]++;
	if (number >= w->module_start[module + 1] - w->module_start[module])
		return -EBADMSG;
	*func = w->module_start[module] + (uint32_t)number;
	if (w->s->met_at[*func] != CAM_NONE)
		return -EBADMSG;
	w->func_module[*func] = module;
	cam_tree_meet(w->s, *func);
	return 0;
}

/* The children of a node onto the stack, the first on top. */
static int read_kids(struct walk *w, uint32_t node, uint32_t func, uint32_t depth, uint32_t n)
{
	bool root = func == w->s->n_functions;
	struct cam_successors *list = &w->s->successors[func];
	struct pending *top = w->stack + w->depth;
	uint32_t at_of[CAM_TREE_LIST_MAX];
	uint32_t found = 0, from = 0, done;
	while (found < n && from < list->n) {
		uint64_t v = get(w, CAM_TREE_RANK, cam_tree_length_ctx(list->n - from));
		if (v == 0)
			break;
		if (v > list->n - from)
			return -EBADMSG;
		uint32_t at = from + (uint32_t)v - 1;
		top[found] = (struct pending){node, w->s->entries[list->at + at].func, depth};
		at_of[found++] = at;
		from = at + 1;
	}
	for (done = found; done < n; done++) {
		top[done] = (struct pending){node, 0, depth};
		int err = read_other(w, func, root, &top[done].func);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < found; i++)
		cam_tree_use(w->s, list, at_of[i]);
	for (uint32_t i = found; i < n; i++) {
		int err = cam_tree_append(w->s, func, top[i].func);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		struct pending swap = top[i];
		top[i] = top[n - 1 - i];
		top[n - 1 - i] = swap;
	}
	w->depth += n;
	return 0;
}

static int read_node(struct walk *w, uint32_t node, uint32_t func, uint32_t depth, bool on_path)
{
	bool root = func == w->s->n_functions;
	uint64_t n = get(w, CAM_TREE_KIDS,
			 root ? CAM_TREE_ROOT_CTX : cam_tree_length_ctx(w->s->successors[func].n));
	if (n > w->out->n_nodes - w->placed || (n && depth >= CAM_MAX_STACK_FRAMES))
		return -EBADMSG;
	w->placed += (uint32_t)n;
	if (!on_path) {
		int err = read_pairs(w, node, n);
		if (err)
			return err;
	}
	return n ? read_kids(w, node, func, depth + 1, (uint32_t)n) : 0;
}

static int read_walk(struct walk *w)
{
	struct cam_tree_chunk *c = w->out;
	uint32_t root = w->s->n_functions;
	int err = 0;
	if (c->first_node == 0) {
		c->parent[0] = 0;
		c->func[0] = CAM_NONE;
		w->placed = w->visited = 1;
		err = read_node(w, 0, root, 0, false);
	} else {
		for (uint32_t i = 0; i <= c->n_path && !err; i++)
			err = read_node(w, i ? c->path_node[i - 1] : 0,
					i ? c->path_func[i - 1] : root, i, true);
	}
	while (w->depth && !err) {
		struct pending p = w->stack[--w->depth];
		uint32_t i = w->visited++;
		c->parent[i] = p.parent;
		c->func[i] = p.func;
		err = read_node(w, c->first_node + i, p.func, p.depth, false);
	}
	if (!err && (w->visited != c->n_nodes || w->n_pairs != c->n_pairs))
		err = -EBADMSG;
	for (unsigned i = 0; i < CAM_TREE_STREAMS && !err; i++)
		err = cam_stream_done(&w->in[i]) ? 0 : -EBADMSG;
	return err;
}

int cam_tree_read_chunk(struct cam_tree_state *s, const uint32_t *module_start,
			const uint8_t *bytes, size_t n, struct cam_tree_chunk *out)
{
	struct walk w = {.s = s, .module_start = module_start, .out = out};
	struct cam_rd r = cam_rd_make(bytes, n);
	if (out->n_nodes == 0)
		return -EBADMSG;
	cam_tree_state_reset(s);
	w.func_module = malloc(((size_t)s->n_functions + 1) * sizeof(uint32_t));
	w.module_next = calloc((size_t)s->n_modules + 1, sizeof(uint32_t));
	w.stack = malloc(((size_t)out->n_nodes + 1) * sizeof(*w.stack));
	int err = w.func_module && w.module_next && w.stack ? read_head(&w, &r) : -ENOMEM;
	for (unsigned i = 0; i < CAM_TREE_STREAMS && !err; i++)
		err = cam_stream_open(&w.in[i], &r, cam_tree_contexts[i], cam_tree_splits[i]);
	if (!err && cam_rd_left(&r))
		err = -EBADMSG;
	if (!err)
		err = read_walk(&w);
	for (unsigned i = 0; i < CAM_TREE_STREAMS; i++)
		cam_stream_in_free(&w.in[i]);
	free(w.func_module);
	free(w.module_next);
	free(w.stack);
	return err;
}
