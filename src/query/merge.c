// SPDX-License-Identifier: Apache-2.0
/*
 * Growing the tree, and putting it in order.
 *
 * Order: depth first, children by name. Nodes are interned in whatever order stacks turn up, with
 * one property: a parent has a smaller id than its children. With that no recursion is needed, and
 * everything but the sorting of frames by name is linear in the number of nodes:
 *
 *	totals and sizes	one pass backwards adds each node to its parent
 *	families		a counting sort by the rank of the frame's name, then a stable one
 *				by parent, puts each node's children side by side, by name
 *	positions		a parent's position is known before its children's (smaller id, so
 *				its family comes earlier): each child takes the next free place
 *				behind its parent and moves that place on by its own size
 *
 * Example: nodes 0 root, 1 b, 2 a (below b), 3 a (below root); sizes 4, 2, 1, 1. Families: of 0
 * (3 a, 1 b), of 1 (2 a). Positions: 3 → 1, 1 → 2, 2 → 3.
 */
#include "query/merge.h"

#include "base/cleanup.h"
#include "base/vec.h"

#define UNSET_MODULE (UINT32_MAX - 1)

int cam_merge_init(struct cam_merge *m, size_t max_bytes)
{
	*m = (struct cam_merge){0};
	uint32_t root;
	int err = cam_tables_init(&m->t, max_bytes);
	if (!err)
		err = cam_merge_frame(m, CAM_TEXT("all"), CAM_FRAME_ROOT, &m->root_frame);
	if (!err)
		err = cam_merge_node(m, 0, CAM_NONE, &root);
	if (err)
		cam_merge_free(m);
	return err;
}

void cam_merge_free(struct cam_merge *m)
{
	cam_tables_free(&m->t);
	free(m->self);
	free(m->before);
	free(m->module);
	*m = (struct cam_merge){0};
}

int cam_merge_frame(struct cam_merge *m, struct cam_text label, enum cam_frame_kind kind,
		    uint32_t *frame)
{
	/* The merged table of functions has no use for a start: it holds the kind of frame. */
	struct cam_function f = {.start = kind};
	struct cam_func_id id;
	int err = cam_string_intern(&m->t, label, &f.name);
	if (!err)
		err = cam_function_intern(&m->t, &f, &id);
	if (!err)
		*frame = id.v;
	return err;
}

int cam_merge_module(struct cam_merge *m, struct cam_text path, uint32_t *module)
{
	struct cam_module row = {0};
	struct cam_module_id id;
	int err = cam_string_intern(&m->t, path, &row.path);
	if (!err)
		err = cam_module_intern(&m->t, &row, &id);
	if (!err)
		*module = id.v;
	return err;
}

int cam_merge_node(struct cam_merge *m, uint32_t parent, uint32_t frame, uint32_t *node)
{
	const struct cam_tree *tree = &m->t.stacks;
	/* Room first, so that a node never lacks its numbers. */
	int err = cam_vec_reserve(&m->self, &m->cap_self, tree->n + 1, sizeof(*m->self),
				  CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&m->before, &m->cap_before, tree->n + 1, sizeof(*m->before),
				      CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&m->module, &m->cap_module, tree->n + 1, sizeof(*m->module),
				      CAM_MAX_ROWS);
	size_t had = tree->n;
	if (!err)
		err = cam_tree_intern(&m->t, &m->t.stacks, parent, frame, node);
	/* The root was made with the tables, before there was room for its numbers. */
	if (!err && (tree->n > had || frame == CAM_NONE)) {
		m->self[*node] = m->before[*node] = 0;
		m->module[*node] = UNSET_MODULE;
	}
	return err;
}

void cam_merge_note_module(struct cam_merge *m, uint32_t node, uint32_t module)
{
	uint32_t *had = &m->module[node];
	*had = *had == UNSET_MODULE || *had == module ? module : CAM_MODULE_SEVERAL;
}

static struct cam_text frame_name(const struct cam_tables *t, uint32_t frame)
{
	return cam_string(t, t->functions[frame].name);
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct cam_tables *t = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	struct cam_text a = frame_name(t, i), b = frame_name(t, j);
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;
	if (!order)
		order = a.n < b.n ? -1 : a.n > b.n;
	if (!order)
		order = t->functions[i].start < t->functions[j].start ? -1 : 1;
	return i == j ? 0 : order;
}

/* ranks[frame] is the frame's place among all, by name. */
static int rank_frames(const struct cam_tables *t, uint32_t **ranks)
{
	size_t n = t->n_functions;
	CAM_AUTOFREE uint32_t *order = reallocarray(NULL, n, sizeof(*order));
	*ranks = reallocarray(NULL, n, sizeof(**ranks));
	if (!order || !*ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_name, (void *)(uintptr_t)t);
	for (size_t i = 0; i < n; i++)
		(*ranks)[order[i]] = (uint32_t)i;
	return 0;
}

/* Stable: ids of `from` into `to` by keys[id] < n_keys; NULL `from` is the ids 1 … n. */
static int counting_sort(const uint32_t *from, uint32_t *to, size_t n, const uint32_t *keys,
			 const uint32_t *key_of, size_t n_keys)
{
	CAM_AUTOFREE uint32_t *at = calloc(n_keys + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t id = from ? from[i] : (uint32_t)i + 1;
		at[(key_of ? key_of[keys[id]] : keys[id]) + 1]++;
	}
	for (size_t k = 0; k < n_keys; k++)
		at[k + 1] += at[k];
	for (size_t i = 0; i < n; i++) {
		uint32_t id = from ? from[i] : (uint32_t)i + 1;
		to[at[key_of ? key_of[keys[id]] : keys[id]]++] = id;
	}
	return 0;
}

/* All nodes but the root, family by family in order of the parents' ids, each by name. */
static int sort_families(const struct cam_tables *t, uint32_t *families)
{
	const struct cam_tree *tree = &t->stacks;
	size_t n = tree->n - 1;
	uint32_t *ranks_made = NULL;
	int err = rank_frames(t, &ranks_made);
	CAM_AUTOFREE uint32_t *ranks = ranks_made;
	CAM_AUTOFREE uint32_t *by_rank = reallocarray(NULL, n + 1, sizeof(*by_rank));
	if (!err && !by_rank)
		err = -ENOMEM;
	if (!err)
		err = counting_sort(NULL, by_rank, n, tree->item, ranks, t->n_functions);
	if (!err)
		err = counting_sort(by_rank, families, n, tree->parent, NULL, tree->n);
	return err;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* The position of every node, and the finished nodes at their positions. */
static int lay_out(struct cam_merge *m, const uint32_t *families, struct cam_flame *out)
{
	const struct cam_tree *tree = &m->t.stacks;
	size_t n = tree->n;
	CAM_AUTOFREE uint32_t *size = reallocarray(NULL, n, sizeof(*size));
	CAM_AUTOFREE uint32_t *position = calloc(n, sizeof(*position));
	CAM_AUTOFREE uint32_t *next = reallocarray(NULL, n, sizeof(*next));
	out->nodes = calloc(n, sizeof(*out->nodes));
	if (!size || !position || !next || !out->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		size[i] = 1;
	for (size_t i = n; i-- > 1;)
		size[tree->parent[i]] += size[i];
	next[0] = 1;
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t id = families[i], parent = tree->parent[id];
		position[id] = next[parent];
		next[id] = position[id] + 1;
		next[parent] += size[id];
	}
	for (size_t i = 0; i < n; i++) {
		struct cam_flame_node *node = &out->nodes[position[i]];
		uint32_t parent = position[tree->parent[i]];
		*node = (struct cam_flame_node){
			.frame = i ? tree->item[i] : m->root_frame,
			.parent = parent,
			.end = position[i] + size[i],
			.depth = i ? out->nodes[parent].depth + 1 : 0,
			.module = m->module[i] == UNSET_MODULE ? 0 : m->module[i],
			.self = m->self[i],
			.before_self = m->before[i],
		};
		if (node->depth > out->depth)
			out->depth = node->depth;
	}
	for (size_t i = n; i-- > 0;) {
		struct cam_flame_node *node = &out->nodes[i], *parent = &out->nodes[node->parent];
		node->total = add(node->total, node->self);
		node->before_total = add(node->before_total, node->before_self);
		if (i) {
			parent->total = add(parent->total, node->total);
			parent->before_total = add(parent->before_total, node->before_total);
		}
	}
	out->n_nodes = n;
	return 0;
}

static void where(const struct cam_tables *t, struct cam_str_id id, uint32_t *at, uint32_t *n)
{
	struct cam_text s = cam_string(t, id);
	*at = (uint32_t)(s.p - t->strings.bytes);
	*n = (uint32_t)s.n;
}

static int hand_over_names(struct cam_merge *m, struct cam_flame *out)
{
	struct cam_tables *t = &m->t;
	out->frames = calloc(t->n_functions, sizeof(*out->frames));
	out->modules = calloc(t->n_modules, sizeof(*out->modules));
	if (!out->frames || !out->modules)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_functions; i++) {
		where(t, t->functions[i].name, &out->frames[i].name_at, &out->frames[i].name_n);
		out->frames[i].kind = (uint8_t)t->functions[i].start;
	}
	for (size_t i = 0; i < t->n_modules; i++)
		where(t, t->modules[i].path, &out->modules[i].path_at, &out->modules[i].path_n);
	out->n_frames = t->n_functions;
	out->n_modules = t->n_modules;
	out->text = t->strings.bytes;
	out->text_bytes = t->strings.n ? t->strings.ends[t->strings.n - 1] : 0;
	t->strings.bytes = NULL;
	return 0;
}

int cam_merge_finish(struct cam_merge *m, struct cam_flame *out)
{
	CAM_AUTOFREE uint32_t *families = reallocarray(NULL, m->t.stacks.n, sizeof(*families));
	/* The largest tables are no longer needed, and the nodes need the room. */
	cam_index_free(&m->t.stacks.index);
	int err = families ? sort_families(&m->t, families) : -ENOMEM;
	if (!err)
		err = lay_out(m, families, out);
	if (!err)
		err = hand_over_names(m, out);
	cam_merge_free(m);
	return err;
}
