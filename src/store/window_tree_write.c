// SPDX-License-Identifier: Apache-2.0
/* The writing side of tree chunks; window_tree.c describes the coding. */
#include "store/format.h"
#include "store/window_tree.h"

#include <errno.h>
#include <string.h>

int cam_tree_writer_init(struct cam_tree_writer *w, const struct cam_tree_shape *shape,
			 uint32_t chunk_bytes)
{
	size_t n_nodes = shape->n_nodes, n_functions = shape->n_functions;
	*w = (struct cam_tree_writer){.shape = shape, .chunk_bytes = chunk_bytes};
	for (unsigned i = 0; i < CAM_TREE_STREAMS; i++)
		cam_stream_out_init(&w->streams[i], cam_tree_splits[i]);
	int err = cam_tree_state_init(&w->state, shape->n_functions, shape->n_modules,
				      shape->n_groups);
	w->module_next = calloc((size_t)shape->n_modules + 1, sizeof(uint32_t));
	w->func_number = malloc((n_functions + 1) * sizeof(uint32_t));
	w->node_id = calloc(n_nodes + 1, sizeof(uint32_t));
	w->pair_order = calloc((size_t)shape->pair_start[n_nodes] + 1, sizeof(uint32_t));
	w->stamp = calloc(n_functions + 1, sizeof(uint32_t));
	w->kid_of = calloc(n_functions + 1, sizeof(uint32_t));
	w->stack = calloc(n_nodes + 1, sizeof(uint32_t));
	w->kids = calloc(n_nodes + 1, sizeof(uint32_t));
	w->numbered = calloc(n_functions + 1, sizeof(uint32_t));
	w->group_places = calloc((size_t)shape->n_groups + 1, sizeof(uint32_t));
	w->module_places = calloc((size_t)shape->n_modules + 1, sizeof(uint32_t));
	if (!err && (!w->module_next || !w->func_number || !w->node_id || !w->pair_order ||
		     !w->stamp || !w->kid_of || !w->stack || !w->kids || !w->numbered ||
		     !w->group_places || !w->module_places))
		err = -ENOMEM;
	if (err) {
		cam_tree_writer_free(w);
		return err;
	}
	memset(w->func_number, 0xff, (n_functions + 1) * sizeof(uint32_t));
	return 0;
}

void cam_tree_writer_free(struct cam_tree_writer *w)
{
	for (unsigned i = 0; i < CAM_TREE_STREAMS; i++)
		cam_stream_out_free(&w->streams[i]);
	cam_tree_state_free(&w->state);
	free(w->module_next);
	free(w->group_places);
	free(w->module_places);
	free(w->func_number);
	free(w->node_id);
	free(w->pair_order);
	free(w->stamp);
	free(w->kid_of);
	free(w->stack);
	free(w->kids);
	free(w->numbered);
	*w = (struct cam_tree_writer){0};
}

static void put(struct cam_tree_writer *w, enum cam_tree_stream s, unsigned ctx, uint64_t v)
{
	cam_stream_put(&w->streams[s], ctx, v);
}

/*
 * Where v stands in a list of recent ones, and v moved forward. places is the list turned around,
 * so that nothing is searched: there may be as many groups as samples.
 */
static uint32_t use_recent(uint32_t *list, uint32_t *places, uint32_t v)
{
	uint32_t at = places[v];
	cam_recent_use(list, at);
	for (uint32_t i = at > CAM_TREE_LIST_MAX ? at - CAM_TREE_LIST_MAX : 0; i <= at; i++)
		places[list[i]] = i;
	return at;
}

static void put_pairs(struct cam_tree_writer *w, uint32_t node, uint32_t n_kids)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t first = t->pair_start[node], end = t->pair_start[node + 1];
	unsigned ctx = n_kids < 2 ? n_kids : 2;
	put(w, CAM_TREE_PAIRS, ctx, end - first);
	for (uint32_t p = first; p < end; p++) {
		uint32_t at = use_recent(w->state.recent_groups, w->group_places, t->pair_group[p]);
		put(w, CAM_TREE_GROUP, p > first, at);
		put(w, CAM_TREE_COUNT, ctx, t->pair_count[p] - 1);
		w->pair_order[w->n_pairs_coded++] = p;
	}
}

static void put_module(struct cam_tree_writer *w, uint32_t module, uint32_t parent_module,
		       unsigned ctx)
{
	if (module == parent_module) {
		put(w, CAM_TREE_MODULE, ctx, 0);
		return;
	}
	uint32_t at = use_recent(w->state.recent_modules, w->module_places, module);
	put(w, CAM_TREE_MODULE, ctx, 1 + at);
}

/* A child's function that is not known below its parent's. */
static void put_other(struct cam_tree_writer *w, uint32_t func, uint32_t parent)
{
	const struct cam_tree_shape *t = w->shape;
	bool root = parent == 0;
	uint32_t module = t->func_module[func];
	uint32_t parent_module = root ? CAM_NONE : t->func_module[t->func[parent]];
	if (w->state.met_at[func] != CAM_NONE) {
		put(w, CAM_TREE_OTHER, root, 2 + (uint64_t)w->state.met_at[func]);
		cam_tree_meet_again(&w->state, func);
		return;
	}
	bool earlier = w->func_number[func] != CAM_NONE;
	put(w, CAM_TREE_OTHER, root, earlier);
	put_module(w, module, parent_module, earlier);
	if (earlier) {
		put(w, CAM_TREE_EARLIER, 0, w->func_number[func]);
	} else {
		w->func_number[func] = w->module_next[module]++;
		w->numbered[w->n_numbered++] = func;
	}
	cam_tree_meet(&w->state, func);
}

/*
 * Codes the n children of `node` that stand in w->kids, and reorders them as coded: those known
 * below its function first.
 */
static int put_kids(struct cam_tree_writer *w, uint32_t node, uint32_t n, uint32_t *ordered)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t of = node ? t->func[node] : t->n_functions;
	struct cam_successors *list = &w->state.successors[of];
	uint32_t at_of[CAM_TREE_LIST_MAX];
	uint32_t found = 0, from = 0, done;
	for (uint32_t i = 0; i < n; i++) {
		w->stamp[t->func[w->kids[i]]] = node + 1;
		w->kid_of[t->func[w->kids[i]]] = w->kids[i];
	}
	for (uint32_t at = 0; at < list->n && found < n; at++) {
		uint32_t func = w->state.entries[list->at + at].func;
		if (w->stamp[func] != node + 1)
			continue;
		put(w, CAM_TREE_RANK, cam_tree_length_ctx(list->n - from), at - from + 1);
		w->stamp[func] = 0;
		ordered[found] = w->kid_of[func];
		at_of[found++] = at;
		from = at + 1;
	}
	if (found < n && from < list->n)
		put(w, CAM_TREE_RANK, cam_tree_length_ctx(list->n - from), 0);
	done = found;
	for (uint32_t i = 0; i < n && done < n; i++) {
		uint32_t func = t->func[w->kids[i]];
		if (w->stamp[func] != node + 1)
			continue;
		w->stamp[func] = 0;
		put_other(w, func, node);
		ordered[done++] = w->kids[i];
	}
	for (uint32_t i = 0; i < found; i++)
		cam_tree_use(&w->state, list, at_of[i]);
	int err = 0;
	for (uint32_t i = found; i < n && !err; i++)
		err = cam_tree_append(&w->state, of, t->func[ordered[i]]);
	return err;
}

/* The children of `node` in [from, to), which lie behind `behind`, into w->kids. */
static uint32_t collect_kids(struct cam_tree_writer *w, uint32_t node, uint32_t behind, uint32_t to)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t n = 0;
	for (uint32_t kid = behind; kid < t->end[node] && kid < to; kid = t->end[kid])
		w->kids[n++] = kid;
	return n;
}

static uint32_t find_path(const struct cam_tree_shape *t, uint32_t from, uint32_t *path)
{
	uint32_t n = 0;
	for (uint32_t x = from; x; x = t->parent[x])
		n++;
	n -= n > 0;
	uint32_t at = n;
	for (uint32_t x = t->parent[from]; x && at; x = t->parent[x])
		path[--at] = x;
	return n;
}

static void put_head(struct cam_tree_writer *w, const uint32_t *path, uint32_t n_path,
		     const uint32_t *next_before, struct cam_buf *out)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t last = 0, n_new = 0;
	cam_buf_put_varint(out, n_path);
	for (uint32_t i = 0; i < n_path; i++) {
		uint32_t func = t->func[path[i]], id = w->node_id[path[i]];
		cam_buf_put_varint(out, id - last);
		cam_buf_put_varint(out, t->func_module[func]);
		cam_buf_put_varint(out, w->func_number[func]);
		last = id;
	}
	for (uint32_t m = 0; m < t->n_modules; m++)
		n_new += w->module_next[m] != next_before[m];
	cam_buf_put_varint(out, n_new);
	last = 0;
	for (uint32_t m = 0; m < t->n_modules; m++) {
		if (w->module_next[m] == next_before[m])
			continue;
		cam_buf_put_varint(out, m - last);
		cam_buf_put_varint(out, next_before[m]);
		last = m;
	}
}

/* One node: its counts, pairs and children; pushes the children, the first on top. */
static int put_node(struct cam_tree_writer *w, uint32_t node, bool on_path, uint32_t behind,
		    uint32_t to, uint32_t *depth)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t n = collect_kids(w, node, behind, to);
	uint32_t of = node ? t->func[node] : t->n_functions;
	put(w, CAM_TREE_KIDS,
	    node ? cam_tree_length_ctx(w->state.successors[of].n) : CAM_TREE_ROOT_CTX, n);
	if (!on_path)
		put_pairs(w, node, n);
	uint32_t *top = w->stack + *depth;
	int err = put_kids(w, node, n, top);
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t swap = top[i];
		top[i] = top[n - 1 - i];
		top[n - 1 - i] = swap;
	}
	*depth += n;
	return err;
}

static int put_walk(struct cam_tree_writer *w, uint32_t from, uint32_t to, const uint32_t *path,
		    uint32_t n_path)
{
	const struct cam_tree_shape *t = w->shape;
	uint32_t depth = 0, id = from;
	int err = 0;
	if (from == 0) {
		w->node_id[0] = id++;
		err = put_node(w, 0, false, 1, to, &depth);
	} else {
		/* Down the path: of each node on it only the children behind the path's next. */
		for (uint32_t i = 0; i <= n_path && !err; i++) {
			uint32_t node = i ? path[i - 1] : 0;
			uint32_t behind = i < n_path ? t->end[path[i]] : from;
			err = put_node(w, node, true, behind, to, &depth);
		}
	}
	while (depth && !err) {
		uint32_t node = w->stack[--depth];
		w->node_id[node] = id++;
		err = put_node(w, node, false, node + 1, to, &depth);
	}
	return err;
}

static void undo(struct cam_tree_writer *w, uint32_t pairs_before)
{
	for (uint32_t i = 0; i < w->n_numbered; i++)
		w->func_number[w->numbered[i]] = CAM_NONE;
	w->n_pairs_coded = pairs_before;
}

int cam_tree_write_chunk(struct cam_tree_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	const struct cam_tree_shape *t = w->shape;
	size_t n_modules = (size_t)t->n_modules + 1, start = out->len;
	uint32_t pairs_before = w->n_pairs_coded;
	uint32_t path[CAM_MAX_STACK_FRAMES];
	uint32_t n_path = find_path(t, from, path);
	uint32_t *next_before = malloc(n_modules * sizeof(uint32_t));
	if (!next_before)
		return -ENOMEM;
	memcpy(next_before, w->module_next, n_modules * sizeof(uint32_t));
	cam_tree_state_reset(&w->state);
	for (uint32_t i = 0; i < t->n_groups; i++)
		w->group_places[w->state.recent_groups[i]] = i;
	for (uint32_t i = 0; i < t->n_modules; i++)
		w->module_places[w->state.recent_modules[i]] = i;
	for (unsigned i = 0; i < CAM_TREE_STREAMS; i++)
		cam_stream_out_clear(&w->streams[i]);
	w->n_numbered = 0;
	for (uint32_t i = 0; i < n_path; i++)
		if (w->state.met_at[t->func[path[i]]] == CAM_NONE)
			cam_tree_meet(&w->state, t->func[path[i]]);
	int err = put_walk(w, from, to, path, n_path);
	if (!err)
		put_head(w, path, n_path, next_before, out);
	for (unsigned i = 0; i < CAM_TREE_STREAMS && !err; i++)
		err = cam_stream_write(&w->streams[i], cam_tree_contexts[i], out);
	if (!err && out->len - start > w->chunk_bytes - CAM_CHUNK_HEAD_BYTES && to - from > 1) {
		err = -E2BIG;
		out->len = start;
		undo(w, pairs_before);
		memcpy(w->module_next, next_before, n_modules * sizeof(uint32_t));
	}
	free(next_before);
	return err;
}
