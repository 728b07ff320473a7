// SPDX-License-Identifier: Apache-2.0
/*
 * Tables. Of each window come items (group, stack, measure), sorted by group. Of one group the measure is
 * added up by frame in arrays, a stack's frames each once (stamps tell), then put into rows: so the work
 * for a frame of a stack is a few array accesses, and a hash is made once for each (group, frame).
 *
 * Invariants:
 * 1. The sum of self over all rows is `all`.
 * 2. total >= self; without keys of frames they are equal.
 * 3. The same samples give the same rows in the same order, whatever ids the windows use.
 *
 * Example, keys comm and symbol: nginx in main;read 3 times and in main once: (nginx, read) self 3, total 3;
 * (nginx, main) self 1, total 4.
 */
#include "query/table.h"

#include "base/vec.h"
#include "query/frame_shape.h"
#include "query/landing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TABLE_ROWS (1u << 22)
#define NO_FRAME       UINT32_MAX

struct row {
	uint32_t group, frame; /* frame: NO_FRAME where no key is of frames */
	struct cam_measure self, total;
	uint64_t kernel_weight;
};

/* Sums of one group while its items pass. */
struct tally {
	struct cam_measure self, total;
	uint64_t kernel_weight;
	uint32_t stamp; /* the stack that counted last */
	bool touched;
};

struct build {
	struct cam_frames frames;
	struct row *rows;
	size_t n_rows, cap_rows;
	struct cam_index row_index;
	struct tally *tallies; /* per frame */
	size_t n_tallies;
	uint32_t *touched;
	size_t n_touched, cap_touched;
	uint32_t stamp;
	uint64_t all_kernel_weight;
	bool by_symbol, by_dso; /* keys */
	struct cam_frame_shape shape;
};

static int tally_of(struct build *b, uint32_t frame, struct tally **out)
{
	if (frame >= b->n_tallies) {
		size_t want = b->n_tallies ? b->n_tallies * 2 : 1024;
		while (want <= frame)
			want *= 2;
		struct tally *v = reallocarray(b->tallies, want, sizeof(*v));
		if (!v)
			return -ENOMEM;
		memset(v + b->n_tallies, 0, (want - b->n_tallies) * sizeof(*v));
		b->tallies = v;
		b->n_tallies = want;
	}
	*out = &b->tallies[frame];
	if ((*out)->touched)
		return 0;
	int err = cam_vec_reserve(&b->touched, &b->cap_touched, b->n_touched + 1,
				  sizeof(*b->touched), CAM_MAX_ROWS);
	if (!err) {
		b->touched[b->n_touched++] = frame;
		(*out)->touched = true;
	}
	return err;
}

static void add(struct cam_measure *to, const struct cam_measure *m)
{
	to->samples += m->samples;
	to->weight += m->weight;
	to->cpu_ns += m->cpu_ns;
}

/* Whether the innermost code of a stack is the kernel's. Marks and what is inlined have no mode. */
static bool in_kernel(const struct cam_tables *t, uint32_t stack)
{
	for (; stack; stack = t->stacks.parent[stack]) {
		uint32_t f = t->stacks.item[stack];
		enum cam_func_kind kind = f < t->n_functions ? t->functions[f].kind : CAM_FUNC_USER;
		if (kind != CAM_FUNC_INLINED && kind != CAM_FUNC_MARK)
			return kind == CAM_FUNC_KERNEL;
	}
	return false;
}

/* The frame of a row: as the shape has it, and without what is no key. */
static int row_frame(struct build *b, struct cam_groups *g, uint32_t frame, uint32_t *out)
{
	int err = cam_frame_shape_group(&b->shape, g->names, &b->frames, frame, out);
	if (err)
		return err;
	struct cam_call_frame f = b->frames.v[*out];
	if (!b->by_symbol)
		f.symbol = f.kind = 0;
	if (!b->by_dso)
		f.dso = 0;
	return cam_frames_intern(&b->frames, &f, out);
}

/* Adds a stack to one of its frames. */
static int tally(struct build *b, uint32_t frame, const struct cam_group_item *item, bool leaf,
		 bool kernel)
{
	struct tally *y;
	int err = tally_of(b, frame, &y);
	if (err)
		return err;
	if (leaf) {
		add(&y->self, &item->m);
		y->kernel_weight += kernel ? item->m.weight : 0;
	}
	if (y->stamp != b->stamp)
		add(&y->total, &item->m);
	y->stamp = b->stamp;
	return 0;
}

/* The same with a shape: frames left out, and self where the innermost that is left is. */
static int add_shaped(struct build *b, struct cam_groups *g, const struct cam_tables *t,
		      const struct cam_group_item *item, bool kernel)
{
	uint32_t frame, from;
	bool leaf = true;
	int err =
		cam_frame_shape_find_start(&b->shape, g->names, &b->frames, t, item->stack, &from);
	if (!err && !from && b->shape.shape->focus.n) {
		g->all.samples -= item->m.samples;
		g->all.weight -= item->m.weight;
		g->all.cpu_ns -= item->m.cpu_ns;
		b->all_kernel_weight -= kernel ? item->m.weight : 0;
		return 0;
	}
	b->stamp++;
	for (uint32_t node = item->stack; node && !err; node = t->stacks.parent[node]) {
		err = cam_frames_of(&b->frames, g->names, t, t->stacks.item[node], &frame);
		int hidden = err ? err
				 : cam_frame_shape_hides(&b->shape, g->names, &b->frames, t, node,
							 frame);
		if (hidden < 0)
			return hidden;
		if (!hidden) {
			err = row_frame(b, g, frame, &frame);
			if (!err)
				err = tally(b, frame, item, leaf, kernel);
			leaf = false;
		}
		if (node == from)
			break;
	}
	if (err || !leaf)
		return err;
	err = item->stack ? cam_frame_shape_hidden(g->names, &b->frames, &frame)
			  : cam_frames_of(&b->frames, g->names, t, CAM_NONE, &frame);
	if (!err)
		err = row_frame(b, g, frame, &frame);
	return err ? err : tally(b, frame, item, true, kernel);
}

static int add_frames(struct build *b, struct cam_groups *g, const struct cam_tables *t,
		      const struct cam_group_item *item, bool kernel)
{
	uint32_t frame;
	bool leaf = true;
	int err = 0;
	b->stamp++;
	for (uint32_t node = item->stack; (node || leaf) && !err; node = t->stacks.parent[node]) {
		/* The empty stack has no frame: one that is not known. */
		err = cam_frames_of(&b->frames, g->names, t, node ? t->stacks.item[node] : CAM_NONE,
				    &frame);
		if (!err)
			err = tally(b, frame, item, leaf, kernel);
		leaf = false;
		if (!node)
			break;
	}
	return err;
}

static bool same_row(const void *rows, uint32_t id, const void *key)
{
	const struct row *a = (const struct row *)rows + id, *b = key;
	return a->group == b->group && a->frame == b->frame;
}

static int row_of(struct build *b, uint32_t group, uint32_t frame, struct row **out)
{
	struct row key = {.group = group, .frame = frame};
	uint64_t hash = cam_hash_u64((uint64_t)group << 32 | frame, 1);
	uint32_t at = cam_index_find(&b->row_index, hash, same_row, b->rows, &key);
	if (at == CAM_INDEX_NONE) {
		int err = cam_vec_reserve(&b->rows, &b->cap_rows, b->n_rows + 1, sizeof(*b->rows),
					  MAX_TABLE_ROWS);
		if (!err)
			err = cam_index_reserve(&b->row_index);
		if (err)
			return err;
		at = (uint32_t)b->n_rows++;
		b->rows[at] = key;
		cam_index_add(&b->row_index, hash, at);
	}
	*out = &b->rows[at];
	return 0;
}

/* The sums of a group into its rows. */
static int flush(struct build *b, uint32_t group)
{
	int err = 0;
	for (size_t i = 0; i < b->n_touched && !err; i++) {
		struct tally *y = &b->tallies[b->touched[i]];
		struct row *r;
		err = row_of(b, group, b->touched[i], &r);
		if (!err) {
			add(&r->self, &y->self);
			add(&r->total, &y->total);
			r->kernel_weight += y->kernel_weight;
		}
		*y = (struct tally){.stamp = y->stamp};
	}
	b->n_touched = 0;
	return err;
}

static int add_plain(struct build *b, const struct cam_group_item *item, bool kernel)
{
	struct row *r;
	int err = row_of(b, item->group, NO_FRAME, &r);
	if (err)
		return err;
	add(&r->self, &item->m);
	add(&r->total, &item->m);
	r->kernel_weight += kernel ? item->m.weight : 0;
	return 0;
}

static int add_window(void *self, struct cam_groups *g, struct cam_walk_window *x,
		      struct cam_group_item *items, size_t n)
{
	struct build *b = self;
	const struct cam_tables *t = x->tables;
	bool frames = b->by_symbol || b->by_dso, shaped = b->shape.shape;
	int err = cam_frames_begin(&b->frames, t);
	for (size_t i = 0; i < n && !err; i++) {
		bool kernel = in_kernel(t, items[i].stack);
		if (items[i].stack >= t->stacks.n) {
			err = -EBADMSG;
			break;
		}
		b->all_kernel_weight += kernel ? items[i].m.weight : 0;
		err = frames && shaped ? add_shaped(b, g, t, &items[i], kernel)
		      : frames	       ? add_frames(b, g, t, &items[i], kernel)
				       : add_plain(b, &items[i], kernel);
		if (!err && frames && (i + 1 == n || items[i + 1].group != items[i].group))
			err = flush(b, items[i].group);
	}
	cam_frames_end(&b->frames);
	return err;
}

static void free_build(struct build *b)
{
	cam_frames_free(&b->frames);
	cam_frame_shape_free(&b->shape);
	free(b->rows);
	cam_index_free(&b->row_index);
	free(b->tallies);
	free(b->touched);
}

static struct cam_value value_of(const struct cam_tables *names, const struct cam_group_value *v)
{
	return (struct cam_value){
		.text = cam_string(names, (struct cam_str_id){v->text}),
		.number = v->number,
		.kind = (enum cam_frame_kind)v->kind,
	};
}

/* Values of all rows, in the table's own memory. */
static int fill(const struct build *b, const struct cam_groups *g, struct cam_table *out)
{
	size_t n = out->n_keys;
	out->rows = calloc(b->n_rows + 1, sizeof(*out->rows));
	out->values = calloc(b->n_rows * n + 1, sizeof(*out->values));
	if (!out->rows || !out->values)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_rows; i++) {
		const struct row *r = &b->rows[i];
		static const struct cam_call_frame none;
		const struct cam_call_frame *f =
			r->frame == NO_FRAME ? &none : &b->frames.v[r->frame];
		const struct cam_group_value symbol = {.text = f->symbol, .kind = f->kind};
		const struct cam_group_value dso = {.text = f->dso};
		struct cam_value *v = &out->values[i * n];
		for (size_t k = 0; k < n; k++)
			v[k] = value_of(out->names, out->keys[k] == CAM_KEY_SYMBOL ? &symbol
						    : out->keys[k] == CAM_KEY_DSO
							    ? &dso
							    : &cam_groups_values(g, r->group)[k]);
		out->rows[i] = (struct cam_table_row){
			.values = v,
			.self = r->self,
			.total = r->total,
			.kernel_weight = r->kernel_weight,
		};
		for (size_t k = 0; k < n && g->cpu_clock && r->self.samples; k++) {
			if (out->keys[k] == CAM_KEY_SYMBOL)
				out->rows[i].notes = cam_landing_notes(v[k].kind, v[k].text);
		}
	}
	out->n_all = b->n_rows;
	return 0;
}

struct sorting {
	enum cam_table_order order;
	size_t n_keys;
};

static int compare_values(const struct cam_value *a, const struct cam_value *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i].number != b[i].number)
			return a[i].number < b[i].number ? -1 : 1;
		size_t least = a[i].text.n < b[i].text.n ? a[i].text.n : b[i].text.n;
		int order = least ? memcmp(a[i].text.p, b[i].text.p, least) : 0;
		if (!order && a[i].text.n != b[i].text.n)
			order = a[i].text.n < b[i].text.n ? -1 : 1;
		if (!order)
			order = (int)a[i].kind - (int)b[i].kind;
		if (order)
			return order;
	}
	return 0;
}

static uint64_t measure_of(const struct cam_table_row *r, enum cam_table_order order)
{
	switch (order) {
	case CAM_ORDER_SELF:
		return r->self.weight;
	case CAM_ORDER_TOTAL:
		return r->total.weight;
	case CAM_ORDER_KERNEL:
		return r->kernel_weight;
	case CAM_ORDER_USER:
		return r->self.weight - r->kernel_weight;
	case CAM_ORDER_SAMPLES:
		return r->self.samples;
	case CAM_ORDER_KEYS:
		break;
	}
	return 0;
}

static int heavier(const void *x, const void *y, void *arg)
{
	const struct cam_table_row *a = x, *b = y;
	const struct sorting *s = arg;
	uint64_t of_a = measure_of(a, s->order), of_b = measure_of(b, s->order);
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	if (s->order != CAM_ORDER_KEYS && a->total.weight != b->total.weight)
		return a->total.weight > b->total.weight ? -1 : 1;
	return compare_values(a->values, b->values, s->n_keys);
}

static int finish(const struct cam_table_options *o, struct build *b, struct cam_groups *g,
		  struct cam_table *out)
{
	out->names = g->names;
	g->names = NULL;
	out->all = g->all;
	out->all_kernel_weight = b->all_kernel_weight;
	out->by_frames = b->by_symbol || b->by_dso;
	out->cpu_known = !g->cpu_unknown && g->all.samples;
	out->unit_is_ns = g->unit_is_ns && !g->mixed_units;
	int err = fill(b, g, out);
	if (err)
		return err;
	struct sorting s = {o->order, out->n_keys};
	if (out->n_all)
		qsort_r(out->rows, out->n_all, sizeof(*out->rows), heavier, &s);
	out->n_rows = o->limit && o->limit < out->n_all ? o->limit : out->n_all;
	for (size_t i = 0; i < out->n_rows; i++)
		out->notes |= out->rows[i].notes;
	return 0;
}

int cam_table_build(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_table_options *o, struct cam_table *out)
{
	struct build b = {0};
	struct cam_groups g;
	struct cam_groups_options how = {
		.n_keys = o->n_keys,
		.weight = o->weight,
		.quantum_ns = o->quantum_ns,
		.parent = o->parent,
		.outermost_parent = true,
		.progress = o->progress,
		.window = add_window,
		.self = &b,
	};
	*out = (struct cam_table){.n_keys = o->n_keys};
	for (size_t i = 0; i < o->n_keys; i++) {
		out->keys[i] = how.keys[i] = o->keys[i];
		b.by_symbol |= o->keys[i] == CAM_KEY_SYMBOL;
		b.by_dso |= o->keys[i] == CAM_KEY_DSO;
	}
	/* What a shape asks of frames is their names and files, whatever the keys are. */
	cam_frame_shape_init(&b.shape, o->shape && cam_reshape_is_any(o->shape) ? o->shape : NULL);
	b.frames.by_symbol = b.by_symbol || b.shape.shape;
	b.frames.by_dso = b.by_dso || b.shape.shape;
	int err = cam_groups_run(&g, source, s, &how);
	if (!err)
		err = cam_walk_keep_seen(&g.walk, &out->seen, &out->strings);
	struct cam_text unit = err ? CAM_TEXT("") : cam_groups_unit(&g);
	if (!err)
		err = finish(o, &b, &g, out);
	/* A literal, or in the names, which the table has now. */
	out->unit = unit;
	cam_groups_free(&g);
	free_build(&b);
	if (err)
		cam_table_free(out);
	return err;
}

void cam_table_free(struct cam_table *t)
{
	free(t->rows);
	free(t->values);
	if (t->names)
		cam_tables_free(t->names);
	free(t->names);
	free(t->strings);
	*t = (struct cam_table){0};
}

static bool parse_order(struct cam_text word, enum cam_table_order *order)
{
	static const struct {
		const char *name;
		enum cam_table_order order;
	} names[] = {
		{"overhead", CAM_ORDER_SELF},	    {"self", CAM_ORDER_SELF},
		{"period", CAM_ORDER_SELF},	    {"overhead_children", CAM_ORDER_TOTAL},
		{"children", CAM_ORDER_TOTAL},	    {"total", CAM_ORDER_TOTAL},
		{"overhead_sys", CAM_ORDER_KERNEL}, {"overhead_us", CAM_ORDER_USER},
		{"sample", CAM_ORDER_SAMPLES},	    {"samples", CAM_ORDER_SAMPLES},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (cam_text_equal(word, cam_text_of(names[i].name))) {
			*order = names[i].order;
			return true;
		}
	}
	return false;
}

static int wrong_key(struct cam_text word, const char *what, char *why, size_t why_bytes)
{
	snprintf(
		why, why_bytes,
		"'%.*s' %s; there are comm process pid tid user exe cgroup container pod cpu socket "
		"event time symbol dso parent srcline srcfile, overhead overhead_children overhead_sys overhead_us period sample",
		(int)(word.n < 32 ? word.n : 32), word.p, what);
	return -EINVAL;
}

/* Keys of perf's that are about what no window keeps. */
static const char *missing_key(struct cam_text word)
{
	static const struct {
		const char *why, *names;
	} kinds[] = {
		{"memory events have it, and windows do not keep it",
		 " weight local_weight mem symbol_daddr dso_daddr locked tlb snoop dcacheline symbol_iaddr phys_daddr "
		 "data_page_size blocked ins_lat local_ins_lat p_stage_cyc local_p_stage_cyc "
		 "retire_lat local_retire_lat "},
		{"branch stacks have it, and they are not read",
		 " symbol_from symbol_to dso_from dso_to srcline_from srcline_to addr_from addr_to mispredict abort in_tx "
		 "cycles ipc_lbr ipc_null branch_stack_counters callchain_branch_predicted "},
		{"windows keep names and offsets of functions, not sizes",
		 " symbol_size dso_size code_page_size "},
		{"guests are not told apart", " overhead_guest_sys overhead_guest_us "},
		{"the texts of tracepoints are what script prints", " trace trace_fields "},
		{"only some events have it, and windows do not keep it",
		 " transaction type typeoff symoff typecln simd addr latency parallelism "},
	};
	char padded[40];
	snprintf(padded, sizeof(padded), " %.*s ", (int)(word.n < 32 ? word.n : 32), word.p);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (word.n && strstr(kinds[i].names, padded))
			return kinds[i].why;
	}
	return NULL;
}

int cam_table_sort_parse(struct cam_text list, struct cam_table_options *o, char *why,
			 size_t why_bytes)
{
	bool ordered = false;
	o->n_keys = 0;
	o->order = CAM_ORDER_SELF;
	while (true) {
		const char *comma = memchr(list.p, ',', list.n);
		struct cam_text word = {list.p, comma ? (size_t)(comma - list.p) : list.n};
		enum cam_key key;
		enum cam_table_order order;
		if (parse_order(word, &order)) {
			o->order = ordered ? o->order : order;
			ordered = true;
		} else if (missing_key(word)) {
			snprintf(why, why_bytes, "%.*s: %s; use perf report -s %.*s", (int)word.n,
				 word.p, missing_key(word), (int)word.n, word.p);
			return -EINVAL;
		} else if (!cam_key_parse(word, &key)) {
			return wrong_key(word, "is no key to sort by", why, why_bytes);
		} else {
			for (size_t i = 0; i < o->n_keys; i++) {
				if (o->keys[i] == key)
					return wrong_key(word, "is given twice", why, why_bytes);
			}
			if (o->n_keys == CAM_KEYS_MAX)
				return wrong_key(word, "is one key too many", why, why_bytes);
			o->keys[o->n_keys++] = key;
		}
		if (!comma)
			break;
		list = (struct cam_text){comma + 1, list.n - (size_t)(comma + 1 - list.p)};
	}
	/* Pieces of time one after the other, unless something else was asked for. */
	if (!ordered && o->n_keys && o->keys[0] == CAM_KEY_TIME)
		o->order = CAM_ORDER_KEYS;
	return 0;
}
