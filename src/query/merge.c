// SPDX-License-Identifier: Apache-2.0
/*
 * Growing the tree, and putting it in order.
 *
 * Order: depth first, children by name (by_name() says how exactly). Nodes are interned in whatever order stacks turn up, with
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

/* The character at i of a frame as folded stacks have it: name, mark of its kind, ';'. */
static unsigned char folded_char(const struct cam_tables *t, uint32_t frame, struct cam_text name,
				 size_t i)
{
	static const char *const marks[CAM_FRAME_KIND_MAX] = {[CAM_FRAME_KERNEL] = "_[k]",
							      [CAM_FRAME_JIT] = "_[j]",
							      [CAM_FRAME_INLINED] = "_[i]"};
	const char *mark = marks[t->functions[frame].start];
	if (i < name.n)
		return (unsigned char)name.p[i];
	return mark && i < name.n + 4 ? (unsigned char)mark[i - name.n] : ';';
}

/*
 * As `LC_ALL=C sort` orders lines of folded stacks, which is how flamegraph.pl does: nearly by name. Only
 * where one is the start of another is it something else: "read.cold" comes before "read".
 */
static int by_name(const void *x, const void *y, void *arg)
{
	const struct cam_tables *t = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	struct cam_text a = frame_name(t, i), b = frame_name(t, j);
	size_t n = a.n < b.n ? a.n : b.n, most = (a.n > b.n ? a.n : b.n) + 5;
	int order = n ? memcmp(a.p, b.p, n) : 0;
	for (size_t k = n; !order && k < most; k++)
		order = folded_char(t, i, a, k) - folded_char(t, j, b, k);
	if (!order)
		order = t->functions[i].start < t->functions[j].start ? -1 : 1;
	return i == j ? 0 : order;
}

/* A frame and its first eight characters as folded stacks have them, as a number: most comparisons need no more. */
struct key {
	uint64_t first;
	uint32_t frame;
};

static int by_key(const void *x, const void *y, void *arg)
{
	const struct key *a = x, *b = y;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return by_name(&a->frame, &b->frame, arg);
}

/* ranks[frame] becomes the frame's place among all, by name. */
static int rank_frames(const struct cam_tables *t, uint32_t *ranks)
{
	size_t n = t->n_functions;
	struct key *keys = reallocarray(NULL, n, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct cam_text name = frame_name(t, i);
		keys[i] = (struct key){.frame = i};
		for (size_t k = 0; k < sizeof(keys->first); k++)
			keys[i].first = keys[i].first << 8 | folded_char(t, i, name, k);
	}
	qsort_r(keys, n, sizeof(*keys), by_key, (void *)(uintptr_t)t);
	for (size_t i = 0; i < n; i++)
		ranks[keys[i].frame] = (uint32_t)i;
	free(keys);
	return 0;
}

/* Stable: the n ids of `from` into `to`, by key; at: room for n_keys + 1 counters. */
static void counting_sort(const uint32_t *from, uint32_t *to, size_t n, const uint32_t *keys,
			  uint32_t *at, size_t n_keys)
{
	memset(at, 0, (n_keys + 1) * sizeof(*at));
	for (size_t i = 0; i < n; i++)
		at[keys[from[i]] + 1]++;
	for (size_t k = 0; k < n_keys; k++)
		at[k + 1] += at[k];
	for (size_t i = 0; i < n; i++)
		to[at[keys[from[i]]]++] = from[i];
}

/* Room for laying out: arrays of as many numbers as there are nodes, frames, or the more of both. */
struct room {
	uint32_t *ranks;    /* frames */
	uint32_t *counters; /* both */
	uint32_t *keys, *ids, *families, *sizes, *positions, *next;
};

static bool make_room(struct room *r, size_t nodes, size_t frames)
{
	size_t both = nodes > frames ? nodes : frames;
	*r = (struct room){
		.ranks = calloc(frames, sizeof(uint32_t)),
		.counters = calloc(both + 1, sizeof(uint32_t)),
		.keys = calloc(both, sizeof(uint32_t)),
		.ids = calloc(nodes, sizeof(uint32_t)),
		.families = calloc(nodes, sizeof(uint32_t)),
		.sizes = calloc(nodes, sizeof(uint32_t)),
		.positions = calloc(nodes, sizeof(uint32_t)),
		.next = calloc(nodes, sizeof(uint32_t)),
	};
	return r->ranks && r->counters && r->keys && r->ids && r->families && r->sizes &&
	       r->positions && r->next;
}

static void free_room(struct room *r)
{
	free(r->ranks);
	free(r->counters);
	free(r->keys);
	free(r->ids);
	free(r->families);
	free(r->sizes);
	free(r->positions);
	free(r->next);
}

/* All nodes but the root, family by family in order of the parents' ids, each by name. */
static int sort_families(const struct cam_tables *t, struct room *r)
{
	const struct cam_tree *tree = &t->stacks;
	size_t n = tree->n - 1;
	int err = rank_frames(t, r->ranks);
	if (err)
		return err;
	for (size_t i = 1; i <= n; i++) {
		r->keys[i] = r->ranks[tree->item[i]];
		r->families[i - 1] = (uint32_t)i;
	}
	counting_sort(r->families, r->ids, n, r->keys, r->counters, t->n_functions);
	counting_sort(r->ids, r->families, n, tree->parent, r->counters, tree->n);
	return 0;
}

static void find_positions(const struct cam_tree *tree, struct room *r)
{
	size_t n = tree->n;
	for (size_t i = 0; i < n; i++)
		r->sizes[i] = 1;
	for (size_t i = n; i-- > 1;)
		r->sizes[tree->parent[i]] += r->sizes[i];
	r->next[0] = 1;
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t id = r->families[i], parent = tree->parent[id];
		r->positions[id] = r->next[parent];
		r->next[id] = r->positions[id] + 1;
		r->next[parent] += r->sizes[id];
	}
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Writes the nodes to their positions, and adds up the totals. */
static void lay_out(const struct cam_merge *m, const struct room *r, struct cam_flame *out)
{
	const struct cam_tree *tree = &m->t.stacks;
	for (size_t i = 0; i < tree->n; i++) {
		uint32_t at = r->positions[i], parent = r->positions[tree->parent[i]];
		struct cam_flame_node *node = &out->nodes[at];
		*node = (struct cam_flame_node){
			.frame = i ? tree->item[i] : m->root_frame,
			.parent = parent,
			.end = at + r->sizes[i],
			.depth = i ? out->nodes[parent].depth + 1 : 0,
			.module = m->module[i] == UNSET_MODULE ? 0 : m->module[i],
			.self = m->self[i],
			.before_self = m->before[i],
		};
		if (node->depth > out->depth)
			out->depth = node->depth;
	}
	out->n_nodes = tree->n;
	for (size_t i = out->n_nodes; i-- > 0;) {
		struct cam_flame_node *node = &out->nodes[i], *parent = &out->nodes[node->parent];
		node->total = add(node->total, node->self);
		node->before_total = add(node->before_total, node->before_self);
		if (i) {
			parent->total = add(parent->total, node->total);
			parent->before_total = add(parent->before_total, node->before_total);
		}
	}
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

int cam_merge_finish(struct cam_merge *m, struct cam_flame *out, uint32_t **positions)
{
	struct room room;
	int err = -ENOMEM;
	/* The largest tables are no longer needed, and the nodes need the room. */
	cam_index_free(&m->t.stacks.index);
	out->nodes = calloc(m->t.stacks.n, sizeof(*out->nodes));
	if (make_room(&room, m->t.stacks.n, m->t.n_functions) && out->nodes)
		err = sort_families(&m->t, &room);
	if (!err) {
		find_positions(&m->t.stacks, &room);
		lay_out(m, &room, out);
		err = hand_over_names(m, out);
	}
	if (positions) {
		*positions = err ? NULL : room.positions;
		room.positions = err ? room.positions : NULL;
	}
	free_room(&room);
	cam_merge_free(m);
	return err;
}
