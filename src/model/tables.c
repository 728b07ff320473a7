// SPDX-License-Identifier: Apache-2.0
#include "model/tables.h"

#include "base/vec.h"

#include <stdio.h>

/* Makes room and keeps account of it. */
static int reserve(struct cam_tables *t, void *rows, size_t *cap, size_t need, size_t size,
		   size_t max_rows)
{
	size_t had = *cap;
	int err = cam_vec_reserve(rows, cap, need, size, max_rows);
	t->bytes += (*cap - had) * size;
	return err;
}

static int reserve_index(struct cam_tables *t, struct cam_index *ix)
{
	size_t had = cam_index_bytes(ix);
	int err = cam_index_reserve(ix);
	t->bytes += cam_index_bytes(ix) - had;
	return err;
}

/* Growing doubles, so the check before a row is added is what bounds the peak. */
static int check_budget(const struct cam_tables *t, size_t more_bytes)
{
	return t->bytes > t->max_bytes || more_bytes > t->max_bytes - t->bytes ? -E2BIG : 0;
}

int cam_tables_init(struct cam_tables *t, size_t max_bytes)
{
	*t = (struct cam_tables){.max_bytes = max_bytes};
	struct cam_str_id empty;
	struct cam_module_id nothing;
	uint32_t root;
	int err = cam_string_intern(t, CAM_TEXT(""), &empty);
	if (!err)
		err = cam_module_intern(t, &(struct cam_module){0}, &nothing);
	/* The roots are their own parents, and of no item. */
	if (!err)
		err = cam_tree_intern(t, &t->stacks, 0, CAM_NONE, &root);
	if (!err)
		err = cam_tree_intern(t, &t->places, 0, CAM_NONE, &root);
	if (!err)
		err = cam_tree_intern(t, &t->inlines, 0, CAM_NONE, &root);
	if (err)
		cam_tables_free(t);
	return err;
}

static void tree_free(struct cam_tree *tree)
{
	free(tree->parent);
	free(tree->item);
	cam_index_free(&tree->index);
}

void cam_tables_free(struct cam_tables *t)
{
	free(t->strings.bytes);
	free(t->strings.ends);
	cam_index_free(&t->strings.index);
	tree_free(&t->stacks);
	tree_free(&t->places);
	tree_free(&t->inlines);
	free(t->modules);
	free(t->functions);
	free(t->locations);
	free(t->tasks);
	free(t->etypes);
	free(t->place_stacks);
	cam_index_free(&t->module_index);
	cam_index_free(&t->function_index);
	cam_index_free(&t->location_index);
	cam_index_free(&t->task_index);
	cam_index_free(&t->etype_index);
	*t = (struct cam_tables){.max_bytes = t->max_bytes};
}

static bool same_string(const void *rows, uint32_t id, const void *key)
{
	const struct cam_tables *t = rows;
	return cam_text_equal(cam_string(t, (struct cam_str_id){id}),
			      *(const struct cam_text *)key);
}

int cam_string_intern(struct cam_tables *t, struct cam_text s, struct cam_str_id *out)
{
	struct cam_strings *st = &t->strings;
	uint64_t hash = cam_hash(s.p, s.n);
	uint32_t found = cam_index_find(&st->index, hash, same_string, t, &s);
	if (found != CAM_INDEX_NONE) {
		out->v = found;
		return 0;
	}
	size_t used = st->n ? st->ends[st->n - 1] : 0;
	int err = check_budget(t, s.n);
	if (!err)
		err = reserve(t, &st->bytes, &st->bytes_cap, used + s.n + 1, 1,
			      CAM_MAX_STRING_BYTES);
	if (!err)
		err = reserve(t, &st->ends, &st->cap, st->n + 1, sizeof(*st->ends), CAM_MAX_ROWS);
	if (!err)
		err = reserve_index(t, &st->index);
	if (err)
		return err;
	if (s.n)
		memcpy(st->bytes + used, s.p, s.n);
	st->ends[st->n] = (uint32_t)(used + s.n);
	out->v = (uint32_t)st->n++;
	cam_index_add(&st->index, hash, out->v);
	return 0;
}

static uint64_t module_hash(const struct cam_module *m)
{
	return cam_hash_u64((uint64_t)m->path.v << 32 | m->key.v,
			    (uint64_t)m->build_id.v << 8 | m->kind);
}

static bool same_module(const void *rows, uint32_t id, const void *key)
{
	const struct cam_module *a = &((const struct cam_tables *)rows)->modules[id], *b = key;
	return a->path.v == b->path.v && a->key.v == b->key.v && a->build_id.v == b->build_id.v &&
	       a->kind == b->kind;
}

static uint64_t function_hash(const struct cam_function *f)
{
	return cam_hash_u64((uint64_t)f->name.v << 32 | f->module.v,
			    f->start << 8 | (unsigned)f->kind << 4 | f->source);
}

static bool same_function(const void *rows, uint32_t id, const void *key)
{
	const struct cam_function *a = &((const struct cam_tables *)rows)->functions[id];
	const struct cam_function *b = key;
	return a->name.v == b->name.v && a->module.v == b->module.v && a->kind == b->kind &&
	       a->source == b->source && a->start == b->start;
}

static uint64_t location_hash(const struct cam_location *l)
{
	/* What is put together could be chosen so that it is the same for many: not with factors that nobody knows. */
	uint64_t name = l->late ? 1 : l->func.v * cam_hash_seed + l->func_offset;
	return cam_hash_u64(l->address + l->module.v * cam_hash_secret, name);
}

static bool same_location(const void *rows, uint32_t id, const void *key)
{
	const struct cam_location *a = &((const struct cam_tables *)rows)->locations[id];
	const struct cam_location *b = key;
	return a->address == b->address && a->module.v == b->module.v && a->late == b->late &&
	       (a->late || (a->func.v == b->func.v && a->func_offset == b->func_offset));
}

static uint64_t task_hash(const struct cam_task *k)
{
	uint64_t strings = cam_hash_u64((uint64_t)k->comm.v << 32 | k->exe.v, k->cgroup.v);
	return cam_hash_u64((uint64_t)(uint32_t)k->pid << 32 | (uint32_t)k->tid,
			    strings ^ k->start_ns ^ k->uid * cam_hash_seed);
}

static bool same_task(const void *rows, uint32_t id, const void *key)
{
	const struct cam_task *a = &((const struct cam_tables *)rows)->tasks[id], *b = key;
	return a->pid == b->pid && a->tid == b->tid && a->uid == b->uid && a->comm.v == b->comm.v &&
	       a->exe.v == b->exe.v && a->cgroup.v == b->cgroup.v && a->start_ns == b->start_ns;
}

static uint64_t etype_hash(const struct cam_etype *e)
{
	return cam_hash_u64((uint64_t)e->name.v << 2 | (e->flat ? 2u : 0u) | e->has_weight,
			    e->period_ns);
}

static bool same_etype(const void *rows, uint32_t id, const void *key)
{
	const struct cam_etype *a = &((const struct cam_tables *)rows)->etypes[id], *b = key;
	return a->name.v == b->name.v && a->period_ns == b->period_ns &&
	       a->has_weight == b->has_weight && a->flat == b->flat;
}

/* The five plain tables differ only in their row: this is interning for all of them. */
#define DEFINE_INTERN(fn, row_type, id_type, rows, n_rows, cap_rows, index, hash_fn, same_fn)     \
	int fn(struct cam_tables *t, const row_type *row, id_type *out)                           \
	{                                                                                         \
		uint64_t hash = hash_fn(row);                                                     \
		out->v = cam_index_find(&t->index, hash, same_fn, t, row);                        \
		if (out->v != CAM_INDEX_NONE)                                                     \
			return 0;                                                                 \
		int err = check_budget(t, 0);                                                     \
		if (!err)                                                                         \
			err = reserve(t, &t->rows, &t->cap_rows, t->n_rows + 1, sizeof(*t->rows), \
				      CAM_MAX_ROWS);                                              \
		if (!err)                                                                         \
			err = reserve_index(t, &t->index);                                        \
		if (err)                                                                          \
			return err;                                                               \
		t->rows[t->n_rows] = *row;                                                        \
		out->v = (uint32_t)t->n_rows++;                                                   \
		cam_index_add(&t->index, hash, out->v);                                           \
		return 0;                                                                         \
	}

DEFINE_INTERN(cam_module_intern, struct cam_module, struct cam_module_id, modules, n_modules,
	      cap_modules, module_index, module_hash, same_module)
DEFINE_INTERN(cam_function_intern, struct cam_function, struct cam_func_id, functions, n_functions,
	      cap_functions, function_index, function_hash, same_function)
DEFINE_INTERN(cam_location_intern, struct cam_location, struct cam_loc_id, locations, n_locations,
	      cap_locations, location_index, location_hash, same_location)
DEFINE_INTERN(cam_task_intern, struct cam_task, struct cam_task_id, tasks, n_tasks, cap_tasks,
	      task_index, task_hash, same_task)
DEFINE_INTERN(cam_etype_intern, struct cam_etype, struct cam_etype_id, etypes, n_etypes, cap_etypes,
	      etype_index, etype_hash, same_etype)

void cam_location_name(struct cam_tables *t, struct cam_loc_id loc, struct cam_func_id func,
		       uint64_t func_offset)
{
	struct cam_location *l = &t->locations[loc.v];
	if (l->func.v != CAM_NONE)
		return;
	l->func = func;
	l->func_offset = func_offset;
}

void cam_location_source(struct cam_tables *t, struct cam_loc_id loc, struct cam_str_id file,
			 uint32_t line)
{
	struct cam_location *l = &t->locations[loc.v];
	if (!l->line && line) {
		l->file = file;
		l->line = line;
	}
}

int cam_tables_lines(const struct cam_tables *t, cam_line_fn *fn, void *arg)
{
	int err = 0;
	for (size_t i = 0; i < t->n_locations && !err; i++) {
		const struct cam_location *l = &t->locations[i];
		if (!l->line || l->func.v == CAM_NONE || l->func_offset == CAM_OFFSET_NONE)
			continue;
		const struct cam_line row = {
			.func = {l->inlined ? t->inlines.item[l->inlined] : l->func.v},
			.leaf_offset = l->func_offset,
			.file = cam_string(t, l->file),
			.line = l->line,
		};
		err = fn(arg, &row);
	}
	return err;
}

void cam_location_inline(struct cam_tables *t, struct cam_loc_id loc, uint32_t node)
{
	if (!t->locations[loc.v].inlined && node < t->inlines.n)
		t->locations[loc.v].inlined = node;
}

struct node {
	uint32_t parent, item;
};

static bool same_node(const void *rows, uint32_t id, const void *key)
{
	const struct cam_tree *tree = rows;
	const struct node *want = key;
	return tree->parent[id] == want->parent && tree->item[id] == want->item;
}

int cam_tree_intern(struct cam_tables *t, struct cam_tree *tree, uint32_t parent, uint32_t item,
		    uint32_t *out)
{
	struct node want = {parent, item};
	uint64_t hash = cam_hash_u64(parent, item);
	*out = cam_index_find(&tree->index, hash, same_node, tree, &want);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = check_budget(t, 0);
	if (!err)
		err = reserve(t, &tree->parent, &tree->parent_cap, tree->n + 1, sizeof(uint32_t),
			      CAM_MAX_ROWS);
	if (!err)
		err = reserve(t, &tree->item, &tree->item_cap, tree->n + 1, sizeof(uint32_t),
			      CAM_MAX_ROWS);
	if (!err)
		err = reserve_index(t, &tree->index);
	if (err)
		return err;
	tree->parent[tree->n] = parent;
	tree->item[tree->n] = item;
	*out = (uint32_t)tree->n++;
	cam_index_add(&tree->index, hash, *out);
	return 0;
}

int cam_place_intern(struct cam_tables *t, const struct cam_loc_id *leaf_first, size_t n,
		     struct cam_place_id *out)
{
	if (n > CAM_MAX_STACK_FRAMES)
		return -E2BIG;
	uint32_t node = 0;
	for (size_t i = n; i-- > 0;) {
		int err = cam_tree_intern(t, &t->places, node, leaf_first[i].v, &node);
		if (err)
			return err;
	}
	out->v = node;
	return 0;
}

/* The function that stands for a location: its own, or the unnamed one of its module. */
static int location_function(struct cam_tables *t, uint32_t loc, struct cam_func_id *out)
{
	const struct cam_location *l = &t->locations[loc];
	if (l->func.v != CAM_NONE) {
		*out = l->func;
		return 0;
	}
	enum cam_module_kind kind = t->modules[l->module.v].kind;
	struct cam_module_id module = l->module;
	/* Code made at run time has a module a process and turn, to tell addresses apart. */
	struct cam_module plain = {.path = t->modules[module.v].path, .kind = kind};
	int err = kind == CAM_MODULE_JIT ? cam_module_intern(t, &plain, &module) : 0;
	if (err)
		return err;
	struct cam_function unnamed = {
		.module = module,
		.kind = kind == CAM_MODULE_KERNEL ? CAM_FUNC_KERNEL
			: kind == CAM_MODULE_JIT  ? CAM_FUNC_JIT
						  : CAM_FUNC_USER,
		.start = kind == CAM_MODULE_FILE ? l->address
			 : kind == CAM_MODULE_JIT && l->func_offset != CAM_OFFSET_NONE
				 ? l->address - l->func_offset
				 : 0,
	};
	return cam_function_intern(t, &unnamed, out);
}

static size_t depth_of(const struct cam_tree *tree, uint32_t node)
{
	size_t n = 0;
	for (; node; node = tree->parent[node])
		n++;
	return n;
}

/* Below *stack, what was inlined at a location, unless *depth gets too deep for that. */
static int add_inlined(struct cam_tables *t, uint32_t inlined, size_t *depth, uint32_t *stack)
{
	uint32_t chain[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	*depth += depth_of(&t->inlines, inlined);
	if (*depth > CAM_MAX_STACK_FRAMES)
		return 0;
	for (; inlined; inlined = t->inlines.parent[inlined])
		chain[n++] = t->inlines.item[inlined];
	int err = 0;
	while (n && !err)
		err = cam_tree_intern(t, &t->stacks, *stack, chain[--n], stack);
	return err;
}

/* Without what was inlined, whatever the stacks of the places above it are. */
static int plain_stack(struct cam_tables *t, uint32_t place, uint32_t *stack)
{
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	for (; place; place = t->places.parent[place]) {
		if (n == CAM_MAX_STACK_FRAMES)
			return -E2BIG;
		path[n++] = place;
	}
	int err = 0;
	for (*stack = 0; n && !err;) {
		struct cam_func_id func;
		err = location_function(t, t->places.item[path[--n]], &func);
		if (!err)
			err = cam_tree_intern(t, &t->stacks, *stack, func.v, stack);
	}
	return err;
}

/* The stack of one more place below the one whose stack this is. */
static int extend_stack(struct cam_tables *t, uint32_t place, size_t *depth, uint32_t *stack)
{
	struct cam_func_id func;
	uint32_t loc = t->places.item[place];
	int err = location_function(t, loc, &func);
	if (err)
		return err;
	if (t->inlines.n <= 1) /* the root: nothing is inlined anywhere */
		return cam_tree_intern(t, &t->stacks, *stack, func.v, stack);
	if (++*depth <= CAM_MAX_STACK_FRAMES) {
		err = cam_tree_intern(t, &t->stacks, *stack, func.v, stack);
		if (!err)
			err = add_inlined(t, t->locations[loc].inlined, depth, stack);
	}
	if (!err && *depth > CAM_MAX_STACK_FRAMES) {
		err = plain_stack(t, place, stack);
		*depth = depth_of(&t->stacks, *stack);
	}
	return err;
}

int cam_place_stack(struct cam_tables *t, struct cam_place_id place, struct cam_stack_id *out)
{
	size_t had = t->cap_place_stacks;
	int err = reserve(t, &t->place_stacks, &t->cap_place_stacks, t->places.n, sizeof(uint32_t),
			  CAM_MAX_ROWS);
	if (err)
		return err;
	if (t->cap_place_stacks > had)
		memset(t->place_stacks + had, 0, (t->cap_place_stacks - had) * sizeof(uint32_t));
	t->place_stacks[0] = 1;
	/* Up to the nearest ancestor whose stack is known, then down again. */
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t depth = 0;
	uint32_t node = place.v;
	for (; !t->place_stacks[node]; node = t->places.parent[node]) {
		if (depth == CAM_MAX_STACK_FRAMES)
			return -E2BIG;
		path[depth++] = node;
	}
	uint32_t stack = t->place_stacks[node] - 1;
	size_t deep = t->inlines.n > 1 ? depth_of(&t->stacks, stack) : 0;
	while (depth) {
		node = path[--depth];
		err = extend_stack(t, node, &deep, &stack);
		if (err)
			return err;
		t->place_stacks[node] = stack + 1;
	}
	out->v = stack;
	return 0;
}

void cam_tables_forget_stacks(struct cam_tables *t)
{
	if (t->place_stacks)
		memset(t->place_stacks, 0, t->cap_place_stacks * sizeof(uint32_t));
}

uint64_t cam_place_leaf_offset(const struct cam_tables *t, struct cam_place_id place)
{
	if (place.v == 0)
		return CAM_OFFSET_NONE;
	const struct cam_location *leaf = &t->locations[t->places.item[place.v]];
	/* In a mapping it means nothing later, and would only make leaves more distinct. */
	return leaf->func.v == CAM_NONE ? CAM_OFFSET_NONE : leaf->func_offset;
}

struct cam_text cam_function_label(const struct cam_tables *t, struct cam_func_id f, char *room,
				   size_t room_bytes)
{
	if (f.v >= t->n_functions)
		return CAM_TEXT("[unknown]");
	const struct cam_function *fn = &t->functions[f.v];
	struct cam_text name = cam_string(t, fn->name);
	if (name.n)
		return name;
	struct cam_text path = cam_string(t, t->modules[fn->module.v].path);
	if (!path.n || cam_text_equal(path, CAM_TEXT("[]")))
		return CAM_TEXT("[unknown]");
	if (path.p[0] == '[' || cam_text_equal(path, CAM_TEXT("//anon")))
		return path.p[0] == '[' ? path : CAM_TEXT("[jit]");
	/* A name that ends in a slash has no last part: it is shown whole. */
	const char *slash = memrchr(path.p, '/', path.n);
	if (slash && slash + 1 < path.p + path.n)
		path = (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
	char at[24] = "";
	snprintf(at, fn->start ? sizeof(at) : 1, "+%#lx", (unsigned long)fn->start);
	int n = snprintf(room, room_bytes, "[%.*s%s]", (int)path.n, path.p, at);
	return (struct cam_text){room, n < (int)room_bytes ? (size_t)n : room_bytes - 1};
}
