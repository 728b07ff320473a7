// SPDX-License-Identifier: Apache-2.0
/*
 * Tables of its own, and maps from the old ids to the new ones.
 *
 * Rows are interned in the old order, so two that are equal now get one id. Modules, functions, tasks, event
 * types and locations are mapped at once; strings when they are met; stacks and places as the old window
 * brings them: a parent comes before its children, so each is mapped by its parent's.
 *
 * Worked example: functions 5 "[lib+0x10]" and 6 "[lib+0x30]" both become "work", which starts at 0x10.
 * Old stacks 7 (main, 5) and 8 (main, 6) become one; a leaf at offset 4 of function 6 lies at 0x24 of work.
 */
#include "store/renamed.h"

#include "base/vec.h"
#include "store/store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct map {
	uint32_t *to; /* CAM_NONE: not yet */
	size_t n, cap;
};

struct renamed {
	struct cam_window w;
	struct cam_window *from;
	const struct cam_tables *old;
	struct cam_tables t;
	struct map strings, modules, functions, tasks, etypes, inlines, locations, stacks, places;
	uint64_t *moved; /* per old function: its old start less its new one */
	const struct cam_late *late;
	uint32_t *chains; /* per late leaf: a node of `inlines`; 0: nothing is inlined there */
	bool any_inlined;
};

/* One delivery of samples. */
struct passing {
	struct renamed *r;
	cam_batch_fn *fn;
	void *arg;
	uint32_t *stack, *place, *task, *etype, *detail, *comm;
	uint64_t *leaf;
	size_t caps[7];
};

static int grow_map(struct map *m, size_t n)
{
	int err = cam_vec_reserve(&m->to, &m->cap, n, sizeof(*m->to), CAM_MAX_ROWS);
	for (; !err && m->n < n; m->n++)
		m->to[m->n] = CAM_NONE;
	return err;
}

static int map_string(struct renamed *r, struct cam_str_id *id)
{
	struct cam_str_id new;
	int err = grow_map(&r->strings, r->old->strings.n > id->v ? r->old->strings.n : id->v + 1);
	if (err)
		return err;
	if (r->strings.to[id->v] == CAM_NONE) {
		err = cam_string_intern(&r->t, cam_string(r->old, *id), &new);
		if (err)
			return err;
		r->strings.to[id->v] = new.v;
	}
	id->v = r->strings.to[id->v];
	return 0;
}

static int map_modules(struct renamed *r)
{
	int err = grow_map(&r->modules, r->old->n_modules);
	for (size_t i = 0; i < r->old->n_modules && !err; i++) {
		struct cam_module m = r->old->modules[i];
		struct cam_module_id id;
		err = map_string(r, &m.path);
		if (!err)
			err = map_string(r, &m.key);
		if (!err)
			err = map_string(r, &m.build_id);
		if (!err)
			err = cam_module_intern(&r->t, &m, &id);
		if (!err)
			r->modules.to[i] = id.v;
	}
	return err;
}

/* A name that a better one may still replace keeps where its function is. */
static uint64_t kept_start(const struct cam_rename *n)
{
	return n->source == CAM_NAME_DYNSYM ? n->start : 0;
}

static int map_function(struct renamed *r, size_t i, const struct cam_rename *n)
{
	struct cam_function f = r->old->functions[i];
	struct cam_func_id id;
	int err;
	if (n->name.n) {
		r->moved[i] = f.start - n->start;
		f.source = n->source;
		f.start = kept_start(n);
		err = cam_string_intern(&r->t, n->name, &f.name);
	} else {
		err = map_string(r, &f.name);
	}
	if (f.module.v >= r->modules.n)
		return -EBADMSG;
	f.module.v = r->modules.to[f.module.v];
	if (!err)
		err = cam_function_intern(&r->t, &f, &id);
	if (!err)
		r->functions.to[i] = id.v;
	return err;
}

static int map_functions(struct renamed *r)
{
	size_t n = r->old->n_functions;
	r->moved = calloc(n + 1, sizeof(*r->moved));
	int err = r->moved ? grow_map(&r->functions, n) : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = map_function(r, i, &r->late->names[i]);
	return err;
}

/* What is inlined at the leaves, as functions of the leaf's module. */
static int make_chains(struct renamed *r)
{
	r->chains = calloc(r->late->n_leaves + 1, sizeof(*r->chains));
	int err = r->chains ? 0 : -ENOMEM;
	for (size_t i = 0; i < r->late->n_leaves && !err; i++) {
		const struct cam_late_leaf *l = &r->late->leaves[i];
		if (l->func >= r->functions.n)
			return -EBADMSG;
		for (uint32_t k = 0; k < l->n_inlined && !err; k++) {
			struct cam_function f = {
				.module = r->t.functions[r->functions.to[l->func]].module,
				.kind = CAM_FUNC_INLINED,
				.source = CAM_NAME_DWARF,
			};
			struct cam_func_id func;
			err = cam_string_intern(&r->t, l->inlined[k], &f.name);
			if (!err)
				err = cam_function_intern(&r->t, &f, &func);
			if (!err)
				err = cam_tree_intern(&r->t, &r->t.inlines, r->chains[i], func.v,
						      &r->chains[i]);
			r->any_inlined = true;
		}
	}
	return err;
}

static int compare_leaf(const void *key, const void *row)
{
	const struct cam_late_leaf *a = key, *b = row;
	if (a->func != b->func)
		return a->func < b->func ? -1 : 1;
	return a->leaf_offset < b->leaf_offset ? -1 : a->leaf_offset > b->leaf_offset;
}

/* The chain of a sample's leaf. */
static uint32_t chain_at(const struct renamed *r, uint32_t stack, uint64_t leaf_offset)
{
	const struct cam_late_leaf key = {.func = stack ? r->old->stacks.item[stack] : CAM_NONE,
					  .leaf_offset = leaf_offset};
	const struct cam_late_leaf *l =
		bsearch(&key, r->late->leaves, r->late->n_leaves, sizeof(*l), compare_leaf);
	return l ? r->chains[l - r->late->leaves] : 0;
}

/* The same address, as that of a function which is inlined there. */
static int inlined_place(struct renamed *r, uint32_t func, uint32_t *place)
{
	struct cam_location l = r->t.locations[r->t.places.item[*place]];
	struct cam_loc_id loc;
	l = (struct cam_location){.address = l.address,
				  .module = l.module,
				  .func = {func},
				  .func_offset = l.func_offset};
	int err = cam_location_intern(&r->t, &l, &loc);
	return err ? err : cam_tree_intern(&r->t, &r->t.places, *place, loc.v, place);
}

/* Puts a chain below a stack, and below its place where there are places (place is not NULL). */
static int add_chain(struct renamed *r, uint32_t chain, uint32_t *stack, uint32_t *place)
{
	uint32_t funcs[CAM_MAX_STACK_FRAMES];
	size_t n = 0, depth = 0;
	for (; chain; chain = r->t.inlines.parent[chain])
		funcs[n++] = r->t.inlines.item[chain];
	for (uint32_t at = *stack; at; at = r->t.stacks.parent[at])
		depth++;
	if (depth + n > CAM_MAX_STACK_FRAMES)
		return 0;
	int err = 0;
	while (n-- && !err) {
		err = cam_tree_intern(&r->t, &r->t.stacks, *stack, funcs[n], stack);
		if (!err && place && *place)
			err = inlined_place(r, funcs[n], place);
	}
	return err;
}

static int map_tasks(struct renamed *r)
{
	int err = grow_map(&r->tasks, r->old->n_tasks);
	for (size_t i = 0; i < r->old->n_tasks && !err; i++) {
		struct cam_task k = r->old->tasks[i];
		struct cam_task_id id;
		err = map_string(r, &k.comm);
		if (!err)
			err = map_string(r, &k.exe);
		if (!err)
			err = map_string(r, &k.cgroup);
		if (!err)
			err = cam_task_intern(&r->t, &k, &id);
		if (!err)
			r->tasks.to[i] = id.v;
	}
	return err;
}

static int map_etypes(struct renamed *r)
{
	int err = grow_map(&r->etypes, r->old->n_etypes);
	for (size_t i = 0; i < r->old->n_etypes && !err; i++) {
		struct cam_etype e = r->old->etypes[i];
		struct cam_etype_id id;
		err = map_string(r, &e.name);
		if (!err)
			err = cam_etype_intern(&r->t, &e, &id);
		if (!err)
			r->etypes.to[i] = id.v;
	}
	return err;
}

static int map_locations(struct renamed *r)
{
	int err = grow_map(&r->locations, r->old->n_locations);
	for (size_t i = 0; i < r->old->n_locations && !err; i++) {
		struct cam_location l = r->old->locations[i];
		struct cam_loc_id id;
		if (l.module.v >= r->modules.n ||
		    (l.func.v != CAM_NONE && l.func.v >= r->functions.n) ||
		    l.inlined >= r->inlines.n)
			return -EBADMSG;
		l.inlined = r->inlines.to[l.inlined];
		if (l.func.v != CAM_NONE) {
			if (l.func_offset != CAM_OFFSET_NONE)
				l.func_offset += r->moved[l.func.v];
			l.func.v = r->functions.to[l.func.v];
		}
		l.module.v = r->modules.to[l.module.v];
		err = map_string(r, &l.file);
		if (!err)
			err = cam_location_intern(&r->t, &l, &id);
		if (!err)
			r->locations.to[i] = id.v;
	}
	return err;
}

/* The nodes that have come since the last time. */
static int map_tree(struct renamed *r, const struct cam_tree *old, struct cam_tree *new,
		    struct map *m, const struct map *items)
{
	size_t at = m->n;
	int err = grow_map(m, old->n);
	for (; at < old->n && !err; at++) {
		if (!at) {
			m->to[0] = 0; /* the root */
			continue;
		}
		if (old->parent[at] >= at || old->item[at] >= items->n)
			return -EBADMSG;
		err = cam_tree_intern(&r->t, new, m->to[old->parent[at]], items->to[old->item[at]],
				      &m->to[at]);
	}
	return err;
}

static int map_trees(struct renamed *r)
{
	int err = map_tree(r, &r->old->stacks, &r->t.stacks, &r->stacks, &r->functions);
	return err ? err : map_tree(r, &r->old->places, &r->t.places, &r->places, &r->locations);
}

static void note_damage(struct renamed *r)
{
	r->w.damage = r->from->damage;
}

static int renamed_tables(struct cam_window *w, const struct cam_tables **out)
{
	*out = &((struct renamed *)w)->t;
	return 0;
}

static int make_room(void *column, size_t *cap, size_t n, size_t size)
{
	return cam_vec_reserve(column, cap, n, size, SIZE_MAX / 16);
}

static int map_column(const struct map *m, const uint32_t *from, size_t n, uint32_t **to,
		      size_t *cap)
{
	int err = make_room(to, cap, n, sizeof(**to));
	for (size_t i = 0; i < n && !err; i++) {
		if (from[i] >= m->n)
			return -EBADMSG;
		(*to)[i] = m->to[from[i]];
	}
	return err;
}

static int map_texts(struct renamed *r, const uint32_t *from, size_t n, uint32_t **to, size_t *cap)
{
	int err = make_room(to, cap, n, sizeof(**to));
	for (size_t i = 0; i < n && !err; i++) {
		struct cam_str_id id = {from[i]};
		err = map_string(r, &id);
		(*to)[i] = id.v;
	}
	return err;
}

/* By the leaf's function: the last of its stack. */
static int map_leaves(struct passing *p, const struct cam_batch *b)
{
	const struct renamed *r = p->r;
	int err = make_room(&p->leaf, &p->caps[6], b->n, sizeof(*p->leaf));
	for (size_t i = 0; i < b->n && !err; i++) {
		uint64_t offset = b->leaf_offset[i];
		uint32_t func = b->stack[i] ? r->old->stacks.item[b->stack[i]] : CAM_NONE;
		uint64_t moved = func < r->functions.n ? r->moved[func] : 0;
		/* Live, only an address that is its function's start has none. */
		if (offset == CAM_OFFSET_NONE && moved && !r->w.info.imported)
			offset = 0;
		p->leaf[i] = offset == CAM_OFFSET_NONE ? offset : offset + moved;
	}
	return err;
}

/* Stacks, and places with them, get what was inlined at their leaves. */
static int add_chains(struct passing *p, const struct cam_batch *b)
{
	struct renamed *r = p->r;
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		uint32_t chain = chain_at(r, b->stack[i], b->leaf_offset[i]);
		if (chain)
			err = add_chain(r, chain, &p->stack[i], b->place ? &p->place[i] : NULL);
	}
	return err;
}

static int pass_batch(void *arg, const struct cam_batch *b)
{
	struct passing *p = arg;
	struct renamed *r = p->r;
	struct cam_batch out = *b;
	int err = map_trees(r);
	if (!err && b->stack) {
		err = map_column(&r->stacks, b->stack, b->n, &p->stack, &p->caps[0]);
		out.stack = p->stack;
	}
	if (!err && b->place) {
		err = map_column(&r->places, b->place, b->n, &p->place, &p->caps[1]);
		out.place = p->place;
	}
	if (!err && b->task) {
		err = map_column(&r->tasks, b->task, b->n, &p->task, &p->caps[2]);
		out.task = p->task;
	}
	if (!err && b->etype) {
		err = map_column(&r->etypes, b->etype, b->n, &p->etype, &p->caps[3]);
		out.etype = p->etype;
	}
	if (!err && b->detail) {
		err = map_texts(r, b->detail, b->n, &p->detail, &p->caps[4]);
		out.detail = p->detail;
	}
	if (!err && b->comm) {
		err = map_texts(r, b->comm, b->n, &p->comm, &p->caps[5]);
		out.comm = p->comm;
	}
	if (!err && r->any_inlined && b->stack)
		err = add_chains(p, b);
	if (!err && b->leaf_offset && b->stack) {
		err = map_leaves(p, b);
		out.leaf_offset = p->leaf;
	}
	return err ? err : p->fn(p->arg, &out);
}

static int renamed_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			   cam_batch_fn *fn, void *arg)
{
	struct passing p = {.r = (struct renamed *)w, .fn = fn, .arg = arg};
	/* A leaf's offset depends on its function, and what is inlined on both. */
	if (columns & CAM_COL_LEAF)
		columns |= CAM_COL_STACK;
	if (p.r->any_inlined && columns & (CAM_COL_STACK | CAM_COL_PLACE))
		columns |= CAM_COL_STACK | CAM_COL_LEAF;
	int err = p.r->from->ops->samples(p.r->from, range, columns, pass_batch, &p);
	void *const arrays[] = {p.stack, p.place, p.task, p.etype, p.detail, p.comm, p.leaf};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	note_damage(p.r);
	return err;
}

struct telling {
	struct renamed *r;
	union {
		cam_total_fn *total;
		cam_event_fn *event;
		cam_fact_fn *fact;
	};
	void *arg;
};

static int tell_total(void *arg, const struct cam_total *t)
{
	struct telling *k = arg;
	struct renamed *r = k->r;
	struct cam_total out = *t;
	int err = map_trees(r);
	if (!err)
		err = map_string(r, &out.comm);
	if (err)
		return err;
	if (t->stack.v >= r->stacks.n || t->etype.v >= r->etypes.n)
		return -EBADMSG;
	out.stack.v = r->stacks.to[t->stack.v];
	out.etype.v = r->etypes.to[t->etype.v];
	return k->total(k->arg, &out);
}

static int tell_samples(void *arg, const struct cam_batch *b)
{
	struct telling *k = arg;
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		const struct cam_total one = {{b->stack[i]}, {b->comm[i]}, {b->etype[i]}, 1};
		err = k->total(k->arg, &one);
	}
	return err;
}

/* Sums by stack do not tell offsets: where these make other stacks, the samples have to. */
static int totals_of_samples(struct telling *k)
{
	return renamed_samples(&k->r->w, CAM_RANGE_ALL,
			       CAM_COL_STACK | CAM_COL_COMM | CAM_COL_ETYPE, tell_samples, k);
}

static int renamed_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct telling k = {.r = (struct renamed *)w, .total = fn, .arg = arg};
	if (k.r->any_inlined)
		return totals_of_samples(&k);
	int err = k.r->from->ops->totals(k.r->from, tell_total, &k);
	note_damage(k.r);
	return err;
}

static int renamed_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct telling k = {.r = (struct renamed *)w, .total = fn, .arg = arg};
	if (k.r->any_inlined)
		return totals_of_samples(&k);
	int err = k.r->from->ops->small_totals(k.r->from, tell_total, &k);
	note_damage(k.r);
	return err;
}

static int renamed_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct renamed *r = (struct renamed *)w;
	int err = r->from->ops->cells(r->from, fn, arg);
	note_damage(r);
	return err;
}

static int renamed_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	struct renamed *r = (struct renamed *)w;
	int err = r->from->ops->process_cells(r->from, fn, arg);
	note_damage(r);
	return err;
}

static int tell_event(void *arg, const struct cam_event *e)
{
	struct telling *k = arg;
	struct cam_event out = *e;
	int err = map_string(k->r, &out.source);
	if (!err)
		err = map_string(k->r, &out.text);
	return err ? err : k->event(k->arg, &out);
}

static int renamed_events(struct cam_window *w, cam_event_fn *fn, void *arg)
{
	struct telling k = {.r = (struct renamed *)w, .event = fn, .arg = arg};
	int err = k.r->from->ops->events(k.r->from, tell_event, &k);
	note_damage(k.r);
	return err;
}

static int renamed_ledger(struct cam_window *w, cam_ledger_fn *fn, void *arg)
{
	struct renamed *r = (struct renamed *)w;
	int err = r->from->ops->ledger(r->from, fn, arg);
	note_damage(r);
	return err;
}

static int renamed_anchors(struct cam_window *w, cam_anchor_fn *fn, void *arg)
{
	struct renamed *r = (struct renamed *)w;
	int err = r->from->ops->anchors(r->from, fn, arg);
	note_damage(r);
	return err;
}

static int tell_fact(void *arg, const struct cam_fact *f)
{
	struct telling *k = arg;
	struct cam_fact out = *f;
	int err = map_string(k->r, &out.key);
	if (!err)
		err = map_string(k->r, &out.value);
	return err ? err : k->fact(k->arg, &out);
}

static int renamed_facts(struct cam_window *w, cam_fact_fn *fn, void *arg)
{
	struct telling k = {.r = (struct renamed *)w, .fact = fn, .arg = arg};
	int err = k.r->from->ops->facts(k.r->from, tell_fact, &k);
	note_damage(k.r);
	return err;
}

static int renamed_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	struct renamed *r = (struct renamed *)w;
	int err = r->from->ops->counters ? r->from->ops->counters(r->from, fn, arg) : 0;
	note_damage(r);
	return err;
}

/* Lines are gathered first, their paths among our own strings: the old window's last for the call only. */
struct gathered {
	struct renamed *r;
	struct cam_line *rows;
	struct cam_str_id *files;
	size_t n, cap_rows, cap_files;
};

static int gather_line(void *arg, const struct cam_line *l)
{
	struct gathered *g = arg;
	struct cam_line row = *l;
	if (l->func.v >= g->r->functions.n)
		return -EBADMSG;
	int err = cam_vec_reserve(&g->rows, &g->cap_rows, g->n + 1, sizeof(*g->rows), CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&g->files, &g->cap_files, g->n + 1, sizeof(*g->files),
				      CAM_MAX_ROWS);
	if (!err)
		err = cam_string_intern(&g->r->t, l->file, &g->files[g->n]);
	if (err)
		return err;
	row.func.v = g->r->functions.to[l->func.v];
	row.leaf_offset += l->leaf_offset == CAM_OFFSET_NONE ? 0 : g->r->moved[l->func.v];
	g->rows[g->n++] = row;
	return 0;
}

static int tell_late_line(const struct renamed *r, size_t i, cam_line_fn *fn, void *arg)
{
	const struct cam_late_leaf *l = &r->late->leaves[i];
	/* As map_leaves() has it. */
	uint64_t offset = l->leaf_offset == CAM_OFFSET_NONE ? 0 : l->leaf_offset;
	const struct cam_line row = {
		.func = {r->chains[i] ? r->t.inlines.item[r->chains[i]] : r->functions.to[l->func]},
		.leaf_offset = offset + r->moved[l->func],
		.file = l->file,
		.line = l->line,
	};
	return l->line && l->file.n ? fn(arg, &row) : 0;
}

static int renamed_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	struct gathered g = {.r = (struct renamed *)w};
	struct cam_window *from = g.r->from;
	int err = from->ops->lines ? from->ops->lines(from, gather_line, &g) : 0;
	for (size_t i = 0; i < g.n && !err; i++) {
		g.rows[i].file = cam_string(&g.r->t, g.files[i]);
		err = fn(arg, &g.rows[i]);
	}
	for (size_t i = 0; i < g.r->late->n_leaves && !err; i++)
		err = tell_late_line(g.r, i, fn, arg);
	free(g.rows);
	free(g.files);
	note_damage(g.r);
	return err;
}

static void renamed_close(struct cam_window *w)
{
	struct renamed *r = (struct renamed *)w;
	struct map *const maps[] = {&r->strings,   &r->modules, &r->functions,
				    &r->tasks,	   &r->etypes,	&r->inlines,
				    &r->locations, &r->stacks,	&r->places};
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		free(maps[i]->to);
	free(r->moved);
	free(r->chains);
	cam_tables_free(&r->t);
	free(r);
}

static const struct cam_window_ops renamed_ops = {
	.tables = renamed_tables,
	.samples = renamed_samples,
	.totals = renamed_totals,
	.small_totals = renamed_small_totals,
	.cells = renamed_cells,
	.process_cells = renamed_process_cells,
	.events = renamed_events,
	.ledger = renamed_ledger,
	.anchors = renamed_anchors,
	.facts = renamed_facts,
	.counters = renamed_counters,
	.lines = renamed_lines,
	.close = renamed_close,
};

int cam_renamed_open(struct cam_window *from, const struct cam_late *late, struct cam_window **out)
{
	struct renamed *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->w = (struct cam_window){.ops = &renamed_ops, .info = from->info, .damage = from->damage};
	r->from = from;
	r->late = late;
	int err = cam_tables_init(&r->t, CAM_STORE_TABLE_BYTES);
	if (err) {
		free(r);
		return err;
	}
	err = from->ops->tables(from, &r->old);
	if (!err)
		err = map_modules(r);
	if (!err)
		err = map_functions(r);
	if (!err)
		err = map_tasks(r);
	if (!err)
		err = map_etypes(r);
	if (!err)
		err = map_tree(r, &r->old->inlines, &r->t.inlines, &r->inlines, &r->functions);
	if (!err)
		err = map_locations(r);
	if (!err)
		err = make_chains(r);
	if (err) {
		renamed_close(&r->w);
		return err;
	}
	*out = &r->w;
	return 0;
}
