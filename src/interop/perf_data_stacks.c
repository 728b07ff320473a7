// SPDX-License-Identifier: Apache-2.0
/*
 * Two ways to a row: `seen`, a small table by (space, address) that may forget, which is where nearly
 * all addresses end; and `slots`, by what the row is, which do not.
 *
 * Invariants
 *  1. Rows are distinct by (object, offset, kernel); slots are at most half full.
 *  2. rows[n_asked ..) have not been asked about; after name() there are none.
 *  3. An entry of `seen` is right for ever, until all rows are forgotten: spaces are values.
 */
#include "interop/perf_data_stacks.h"

#include "base/vec.h"
#include "interop/frame.h"

#define NAMES_BYTES (64u << 20)
#define MAX_ROWS    (1u << 24)
#define FIRST_SLOTS 1024u

int cam_perf_stacks_init(struct cam_perf_stacks *k, struct cam_perf_spaces *spaces,
			 struct cam_sink *sink, const struct cam_import_options *o)
{
	*k = (struct cam_perf_stacks){.spaces = spaces, .sink = sink, .options = o};
	k->seen = calloc(1u << CAM_PERF_SEEN_BITS, sizeof(*k->seen));
	int err = k->seen ? cam_tables_init(&k->names, NAMES_BYTES) : -ENOMEM;
	if (err)
		cam_perf_stacks_free(k);
	return err;
}

void cam_perf_stacks_free(struct cam_perf_stacks *k)
{
	free(k->rows);
	free(k->seen);
	free(k->sink_ids);
	free(k->offsets);
	free(k->order);
	free(k->inlined);
	free(k->lines);
	free(k->slots);
	free(k->named);
	cam_tables_free(&k->names);
	*k = (struct cam_perf_stacks){0};
}

static void forget_all(struct cam_perf_stacks *k)
{
	k->n = k->n_asked = k->n_inlined = 0;
	if (k->slots)
		memset(k->slots, 0, k->n_slots * sizeof(*k->slots));
	if (k->named)
		memset(k->named, 0, k->cap_named * sizeof(*k->named));
	memset(k->seen, 0, sizeof(*k->seen) << CAM_PERF_SEEN_BITS);
	if (k->lines)
		memset(k->lines, 0, k->cap_lines * sizeof(*k->lines));
	cam_tables_free(&k->names);
	/* It held as much a moment ago; where it cannot now, names are refused one by one. */
	cam_tables_init(&k->names, NAMES_BYTES);
}

bool cam_perf_stacks_trim(struct cam_perf_stacks *k)
{
	bool much = k->n > CAM_PERF_MAX_LOCATIONS || k->names.bytes > NAMES_BYTES / 2;
	if (much)
		forget_all(k);
	return much;
}

/* Objects are few: none of them is shifted out. */
static uint32_t what_of(const struct cam_perf_location *l)
{
	return l->object << 1 | l->kernel;
}

/* The slot that has it, or the empty one where it belongs. */
static struct cam_perf_row_slot *slot_of(struct cam_perf_row_slot *slots, size_t n, uint64_t offset,
					 uint32_t what)
{
	size_t i = cam_hash_u64(offset, what) & (n - 1);
	while (slots[i].row_plus_1 && (slots[i].offset != offset || slots[i].what != what))
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow_slots(struct cam_perf_stacks *k)
{
	size_t n = k->n_slots ? k->n_slots * 2 : FIRST_SLOTS;
	struct cam_perf_row_slot *grown = calloc(n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < k->n_slots; i++) {
		const struct cam_perf_row_slot *s = &k->slots[i];
		if (s->row_plus_1)
			*slot_of(grown, n, s->offset, s->what) = *s;
	}
	free(k->slots);
	k->slots = grown;
	k->n_slots = n;
	return 0;
}

static int intern(struct cam_perf_stacks *k, const struct cam_perf_location *l, uint32_t *out)
{
	uint32_t what = what_of(l);
	int err = k->n + 1 > k->n_slots / 2 ? grow_slots(k) : 0;
	if (err)
		return err;
	struct cam_perf_row_slot *slot = slot_of(k->slots, k->n_slots, l->offset, what);
	*out = slot->row_plus_1 - 1;
	if (slot->row_plus_1)
		return 0;
	err = cam_vec_reserve(&k->rows, &k->cap, k->n + 1, sizeof(*k->rows), MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&k->sink_ids, &k->cap_sink_ids, k->n + 1,
				      sizeof(*k->sink_ids), MAX_ROWS);
	if (err)
		return -ENOMEM;
	k->sink_ids[k->n] = 0;
	k->rows[k->n] = *l;
	*out = (uint32_t)k->n++;
	*slot = (struct cam_perf_row_slot){l->offset, what, *out + 1};
	return 0;
}

void cam_perf_stacks_look_up(struct cam_perf_stacks *k, const struct cam_perf_space *space,
			     bool kernel, uint64_t address, struct cam_perf_missed *out)
{
	const struct cam_perf_map *map = cam_perf_space_find(space, address);
	struct cam_perf_location l = {
		.offset = address,
		.func_offset = CAM_OFFSET_NONE,
		.object = CAM_NONE,
		.kernel = kernel,
		.source = CAM_NAME_NONE,
	};
	if (map) {
		const struct cam_perf_object *o = &k->spaces->objects[map->object];
		l.object = map->object;
		l.offset = address - map->start + map->offset;
		if (o->name.v) {
			l.source = CAM_NAME_KALLSYMS;
			l.name = o->name;
			l.func_offset = address - map->start;
		}
	} else if (k->options->drop_addresses) {
		/* All alike, but for the half of memory they are in. */
		l.offset = address >> 63 << 63;
	}
	*out = (struct cam_perf_missed){l, address, cam_perf_stacks_number(space, kernel)};
	if (k->n_slots)
		__builtin_prefetch(
			&k->slots[cam_hash_u64(l.offset, what_of(&l)) & (k->n_slots - 1)]);
}

int cam_perf_stacks_find_slow(struct cam_perf_stacks *k, const struct cam_perf_missed *m,
			      uint32_t *out)
{
	int err = intern(k, &m->location, out);
	if (!err)
		*cam_perf_stacks_seen(k, m->number, m->address) =
			(struct cam_perf_seen){m->address, m->number, *out + 1};
	return err;
}

struct question {
	struct cam_perf_stacks *k;
	const uint32_t *rows;
};

/* What was inlined, and the line of the code. What finds no room is not known. */
static int take_inlined(struct cam_perf_stacks *k, uint32_t row, const struct cam_name *name)
{
	uint32_t outer = 0;
	size_t had = k->cap_lines;
	int err = cam_vec_reserve(&k->lines, &k->cap_lines, k->n, sizeof(*k->lines), MAX_ROWS);
	if (k->cap_lines > had)
		memset(k->lines + had, 0, (k->cap_lines - had) * sizeof(*k->lines));
	k->n_inlined = k->n_inlined ? k->n_inlined : 1;
	for (uint32_t i = 0; i < name->n_inlined && !err; i++) {
		struct cam_perf_inlined in = {.outer = outer};
		err = cam_string_intern(&k->names, name->inlined[i].name, &in.name);
		if (!err)
			err = cam_vec_reserve(&k->inlined, &k->cap_inlined, k->n_inlined + 1,
					      sizeof(*k->inlined), MAX_ROWS);
		if (err)
			break;
		outer = (uint32_t)k->n_inlined;
		k->inlined[k->n_inlined++] = in;
	}
	if (err)
		return err == -E2BIG ? 0 : err;
	const struct cam_inlined *inner =
		name->n_inlined ? &name->inlined[name->n_inlined - 1] : NULL;
	struct cam_text file = inner ? inner->file : name->file;
	struct cam_perf_line *l = &k->lines[row];
	err = cam_string_intern(&k->names, file, &l->file);
	l->line = err ? 0 : inner ? inner->line : name->line;
	l->inlined = outer;
	return err == -E2BIG ? 0 : err;
}

static int take_name(void *arg, size_t i, const struct cam_name *name)
{
	struct question *q = arg;
	struct cam_perf_stacks *k = q->k;
	struct cam_perf_location *l = &k->rows[q->rows[i]];
	if (name->source == CAM_NAME_NONE || !name->name.n)
		return 0;
	/* A module's address says nothing when the kernel has been started again since. */
	const struct cam_perf_object *o = &k->spaces->objects[l->object];
	if (o->kind == CAM_MODULE_KERNEL && !o->landmark.v &&
	    !cam_text_equal(name->module, cam_string(&k->spaces->texts, o->path)))
		return 0;
	int err = cam_string_intern(&k->names, name->name, &l->name);
	if (err)
		return err == -E2BIG ? 0 : err;
	l->source = name->source;
	l->func_offset = name->start <= l->offset ? l->offset - name->start : CAM_OFFSET_NONE;
	return k->options->inlines ? take_inlined(k, q->rows[i], name) : 0;
}

/* The kernel that was recorded, by what its mapping says; NULL: that is not known. */
static const struct cam_perf_object *kernel_of(const struct cam_perf_spaces *s)
{
	for (size_t i = 0; i < s->n_objects; i++) {
		const struct cam_perf_object *o = &s->objects[i];
		if (o->kind == CAM_MODULE_KERNEL && o->landmark.v && o->landmark_address)
			return o;
	}
	return NULL;
}

static int ask_module(struct cam_perf_stacks *k, struct cam_perf_object *o)
{
	struct cam_namer *namer = k->options->namer;
	const struct cam_tables *t = &k->spaces->texts;
	struct cam_namer_module m = {
		.kind = o->kind,
		.path = cam_string(t, o->path),
		.build_id = {(const char *)o->build_id, o->build_id_n},
		.landmark = cam_string(t, o->landmark),
		.landmark_address = o->landmark_address,
	};
	struct cam_import_clue clue = {o->major,     o->minor, o->inode, cam_text_of(k->release),
				       CAM_TEXT(""), 0};
	const struct cam_perf_object *kernel =
		o->kind == CAM_MODULE_VDSO ? kernel_of(k->spaces) : NULL;
	if (kernel) {
		clue.landmark = cam_string(t, kernel->landmark);
		clue.landmark_address = kernel->landmark_address;
	}
	if (!m.build_id.n && k->options->identify)
		k->options->identify(k->options->identify_arg, &clue, &m);
	uint32_t file;
	int err = namer->module(namer, &m, &file);
	if (!err)
		o->file = file + 1;
	else if (err == -ENOENT || err == -E2BIG)
		o->file = CAM_NONE;
	return err == -ENOENT || err == -E2BIG ? 0 : err;
}

int cam_perf_stacks_file(struct cam_perf_stacks *k, uint32_t object, uint32_t *file)
{
	struct cam_perf_object *o = &k->spaces->objects[object];
	int err = o->file ? 0 : ask_module(k, o);
	*file = err || o->file == CAM_NONE ? CAM_NONE : o->file - 1;
	return err;
}

static int ask(struct cam_perf_stacks *k, const uint32_t *rows, size_t n)
{
	struct cam_namer *namer = k->options->namer;
	struct question q = {k, rows};
	uint32_t file, object = k->rows[rows[0]].object;
	int err = cam_perf_stacks_file(k, object, &file);
	if (err || file == CAM_NONE)
		return err;
	for (size_t i = 0; i < n; i++)
		k->offsets[i] = k->rows[rows[i]].offset;
	return namer->names(namer, file, k->offsets, n, !k->options->inlines, take_name, &q);
}

/* By offset, so that neighbours are of one function: its name is read once, not once an address. */
struct by_object {
	uint64_t offset;
	uint32_t object, row;
};

static int by_object(const void *a, const void *b)
{
	const struct by_object *p = a, *q = b;
	if (p->object != q->object)
		return p->object < q->object ? -1 : 1;
	return p->offset < q->offset ? -1 : p->offset > q->offset;
}

/* The new rows that can have a name, by object: into order[]; how many. */
static int sort_new(struct cam_perf_stacks *k, size_t *n)
{
	size_t fresh = k->n - k->n_asked;
	struct by_object *sorted = malloc((fresh + 1) * sizeof(*sorted));
	int err = sorted ? cam_vec_reserve(&k->order, &k->cap_order, fresh, sizeof(*k->order),
					   MAX_ROWS)
			 : -ENOMEM;
	if (!err)
		err = cam_vec_reserve(&k->offsets, &k->cap_offsets, fresh, sizeof(*k->offsets),
				      MAX_ROWS);
	*n = 0;
	for (size_t i = k->n_asked; i < k->n && !err; i++) {
		const struct cam_perf_location *l = &k->rows[i];
		if (l->object != CAM_NONE && !l->name.v)
			sorted[(*n)++] = (struct by_object){l->offset, l->object, (uint32_t)i};
	}
	if (!err)
		qsort(sorted, *n, sizeof(*sorted), by_object);
	for (size_t i = 0; i < *n && !err; i++)
		k->order[i] = sorted[i].row;
	free(sorted);
	return err;
}

int cam_perf_stacks_name(struct cam_perf_stacks *k)
{
	size_t n = 0;
	if (!k->options->namer || k->n_asked == k->n) {
		k->n_asked = k->n;
		return 0;
	}
	int err = sort_new(k, &n);
	for (size_t from = 0, to; from < n && !err; from = to) {
		uint32_t object = k->rows[k->order[from]].object;
		for (to = from; to < n && k->rows[k->order[to]].object == object; to++)
			;
		err = ask(k, k->order + from, to - from);
	}
	k->n_asked = k->n;
	return err;
}

static int define_module(struct cam_perf_stacks *k, const struct cam_perf_object *o,
			 struct cam_module_id *out)
{
	struct cam_module m = {.kind = o ? o->kind : CAM_MODULE_UNKNOWN};
	struct cam_text path = o ? cam_string(&k->spaces->texts, o->path) : CAM_TEXT("[unknown]");
	out->v = 0;
	if (!path.n)
		return 0;
	int err = k->sink->string(k->sink, path, &m.path);
	if (!err && o && o->build_id_n)
		err = k->sink->string(k->sink,
				      (struct cam_text){(const char *)o->build_id, o->build_id_n},
				      &m.build_id);
	return err ? err : k->sink->module(k->sink, &m, out);
}

struct cam_text cam_perf_stacks_text(const struct cam_perf_stacks *k, uint32_t row)
{
	const struct cam_perf_location *l = &k->rows[row];
	bool own = l->object != CAM_NONE && k->spaces->objects[l->object].name.v;
	return cam_string(own ? &k->spaces->texts : &k->names, l->name);
}

/* Of the innermost function: that is where the code is. */
static int define_line(struct cam_perf_stacks *k, uint32_t row, struct cam_location *loc)
{
	if (!k->options->inlines || k->options->drop_addresses || !k->rows[row].name.v ||
	    row >= k->cap_lines || !k->lines[row].line)
		return 0;
	loc->line = k->lines[row].line;
	return k->sink->string(k->sink, cam_string(&k->names, k->lines[row].file), &loc->file);
}

int cam_perf_stacks_define_inlined(struct cam_perf_stacks *k, uint32_t row, struct cam_loc_id *out,
				   size_t room, size_t *n)
{
	const struct cam_perf_location *l = &k->rows[row];
	int err = 0;
	*n = 0;
	for (uint32_t at = row < k->cap_lines ? k->lines[row].inlined : 0; at && *n < room && !err;
	     at = k->inlined[at].outer) {
		struct cam_location loc = {
			.address = k->options->drop_addresses ? 0 : l->offset,
			.func_offset =
				k->options->drop_addresses ? CAM_OFFSET_NONE : l->func_offset,
		};
		struct cam_function func = {.kind = CAM_FUNC_INLINED, .source = l->source};
		err = define_module(k, &k->spaces->objects[l->object], &loc.module);
		func.module = loc.module;
		if (!err)
			err = k->sink->string(k->sink, cam_string(&k->names, k->inlined[at].name),
					      &func.name);
		if (!err)
			err = k->sink->function(k->sink, &func, &loc.func);
		if (!err && !*n)
			err = define_line(k, row, &loc);
		if (!err)
			err = k->sink->location(k->sink, &loc, &out[*n]);
		*n += !err;
	}
	return err;
}

static void forget_sink(struct cam_perf_stacks *k)
{
	memset(k->sink_ids, 0, k->n * sizeof(*k->sink_ids));
	if (k->named)
		memset(k->named, 0, k->cap_named * sizeof(*k->named));
	k->generation = k->sink->generation;
}

static int define_function_slow(struct cam_perf_stacks *k, uint32_t row, struct cam_location *loc)
{
	const struct cam_perf_location *l = &k->rows[row];
	const struct cam_perf_object *o =
		l->object == CAM_NONE ? NULL : &k->spaces->objects[l->object];
	struct cam_function func = {.source = l->name.v ? l->source : CAM_NAME_NONE};
	/* Of an address that is the process's own nothing else says where in its file that lies. */
	if (l->name.v && loc->address && loc->address != l->offset && l->func_offset <= l->offset)
		func.start = l->offset - l->func_offset;
	int err = define_module(k, o, &loc->module);
	func.module = loc->module;
	func.kind = l->kernel ? CAM_FUNC_KERNEL
			      : cam_frame_func_kind(o ? o->kind : CAM_MODULE_UNKNOWN, l->offset);
	if (!err && l->name.v)
		err = k->sink->string(k->sink, cam_perf_stacks_text(k, row), &func.name);
	return err ? err : k->sink->function(k->sink, &func, &loc->func);
}

/*
 * Of a function many addresses are met: its name, module and itself are looked for once. Only where the object
 * alone says what kind it is (of an unknown one its half of memory does), and its name is one of k->names.
 */
static int define_function(struct cam_perf_stacks *k, uint32_t row, struct cam_location *loc,
			   struct cam_perf_named **memo)
{
	const struct cam_perf_location *l = &k->rows[row];
	*memo = NULL;
	if (l->object == CAM_NONE || !l->name.v || k->spaces->objects[l->object].name.v ||
	    k->spaces->objects[l->object].kind == CAM_MODULE_UNKNOWN)
		return define_function_slow(k, row, loc);
	size_t had = k->cap_named;
	int err = cam_vec_reserve(&k->named, &k->cap_named, (size_t)l->name.v + 1,
				  sizeof(*k->named), MAX_ROWS);
	if (err)
		return define_function_slow(k, row, loc);
	if (k->cap_named > had)
		memset(k->named + had, 0, (k->cap_named - had) * sizeof(*k->named));
	struct cam_perf_named *n = *memo = &k->named[l->name.v];
	if (n->known && n->object == l->object && n->source == l->source &&
	    n->kernel == l->kernel) {
		loc->func.v = n->func;
		loc->module.v = n->module;
		return 0;
	}
	err = define_function_slow(k, row, loc);
	if (!err)
		*n = (struct cam_perf_named){.object = l->object,
					     .func = loc->func.v,
					     .module = loc->module.v,
					     .source = (uint8_t)l->source,
					     .kernel = l->kernel,
					     .known = true};
	return err;
}

int cam_perf_stacks_define_at(struct cam_perf_stacks *k, uint32_t row, uint64_t address,
			      struct cam_loc_id *out)
{
	if (k->generation != k->sink->generation)
		forget_sink(k);
	bool drop = k->options->drop_addresses, alike = drop && !k->options->inlines;
	struct cam_location loc = {
		.address = drop ? 0 : address,
		.func_offset = drop ? CAM_OFFSET_NONE : k->rows[row].func_offset,
	};
	struct cam_perf_named *memo;
	int err = define_function(k, row, &loc, &memo);
	if (!err && (row >= k->cap_lines || !k->lines[row].inlined))
		err = define_line(k, row, &loc);
	out->v = !err && alike && memo && memo->location ? memo->location - 1 : CAM_NONE;
	if (!err && out->v == CAM_NONE)
		err = k->sink->location(k->sink, &loc, out);
	if (!err && alike && memo)
		memo->location = out->v + 1;
	return err;
}

int cam_perf_stacks_define_slow(struct cam_perf_stacks *k, uint32_t row, struct cam_loc_id *out)
{
	int err = cam_perf_stacks_define_at(k, row, k->rows[row].offset, out);
	if (!err)
		k->sink_ids[row] = out->v + 1;
	return err;
}
