// SPDX-License-Identifier: Apache-2.0
#include "daemon/resymbolise.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES (256u << 20)

/* A function to be named, or an address of it that leaves have; in order of their modules. */
struct want {
	uint32_t func, module;
	uint64_t offset; /* in the file */
	bool is_leaf;
	uint64_t leaf_offset;	    /* as the window has it */
	size_t text_at, text_bytes; /* of its name, once it has one */
};

/* A late leaf while texts may still move: where they are. */
struct text_at {
	size_t at, n;
};

/* Offsets of leaves that have a line already. */
struct lined {
	uint32_t func;
	uint64_t leaf_offset;
};

struct work {
	struct cam_namer *namer;
	const struct cam_tables *t;
	struct cam_resymbolised *out;
	struct want *wants;
	size_t n, cap;
	struct lined *lined;
	size_t n_lined, cap_lined;
	struct text_at *files;	 /* of the late leaves */
	struct text_at *inlined; /* of all of them, one after the other */
	size_t cap_files, cap_inlined;
	/* Of the module that is being asked about. */
	struct want *first;
	uint32_t file;
};

/* By its start alone can it be found in its file. */
static bool is_wanted(const struct cam_tables *t, const struct cam_function *f)
{
	return f->source == CAM_NAME_NONE && f->kind == CAM_FUNC_USER && f->start &&
	       f->module.v < t->n_modules && t->modules[f->module.v].kind == CAM_MODULE_FILE;
}

static int by_module(const void *a, const void *b)
{
	const struct want *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->is_leaf != y->is_leaf)
		return x->is_leaf ? 1 : -1;
	return x->func < y->func ? -1 : x->func > y->func;
}

/* What is inlined in it may come late: its leaves are known by their address. */
static bool is_placed(const struct cam_tables *t, const struct cam_function *f)
{
	return is_wanted(t, f) ||
	       (f->source == CAM_NAME_DYNSYM && f->kind == CAM_FUNC_USER && f->start &&
		f->module.v < t->n_modules && t->modules[f->module.v].kind == CAM_MODULE_FILE);
}

static int gather(struct work *k)
{
	const struct cam_tables *t = k->t;
	k->out->renames = calloc(t->n_functions + 1, sizeof(*k->out->renames));
	k->out->late.names = k->out->renames;
	int err = k->out->renames ? 0 : -ENOMEM;
	for (size_t i = 0; i < t->n_functions && !err; i++) {
		const struct cam_function *f = &t->functions[i];
		if (!is_wanted(t, f))
			continue;
		err = cam_vec_reserve(&k->wants, &k->cap, k->n + 1, sizeof(*k->wants),
				      2 * CAM_MAX_ROWS);
		if (!err)
			k->wants[k->n++] = (struct want){
				.func = (uint32_t)i, .module = f->module.v, .offset = f->start};
	}
	k->out->counts.unnamed = k->n;
	return err;
}

static int compare_leaves(const void *a, const void *b)
{
	const struct want *x = a, *y = b;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->leaf_offset < y->leaf_offset ? -1 : x->leaf_offset > y->leaf_offset;
}

/* Of those from `from` on, one of each is kept. */
static void drop_doubles(struct work *k, size_t from)
{
	size_t kept = from;
	if (k->n == from)
		return;
	qsort(k->wants + from, k->n - from, sizeof(*k->wants), compare_leaves);
	for (size_t i = from; i < k->n; i++) {
		if (kept == from || compare_leaves(&k->wants[kept - 1], &k->wants[i]))
			k->wants[kept++] = k->wants[i];
	}
	k->n = kept;
}

/* Of one more: where it is full, most are doubles. Where they are not, next time is far off: looking sorts all of them. */
static int leaf_room(struct work *k, size_t from)
{
	size_t need = k->n + 1;
	if (k->n == k->cap && k->n - from > 4096) {
		drop_doubles(k, from);
		need = k->n > k->cap / 2 ? k->cap + 1 : k->n + 1;
	}
	return cam_vec_reserve(&k->wants, &k->cap, need, sizeof(*k->wants), 2 * CAM_MAX_ROWS);
}

static int gather_leaves(void *arg, const struct cam_batch *b)
{
	struct work *k = arg;
	const struct cam_tables *t = k->t;
	size_t from = k->out->counts.unnamed;
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		uint32_t func = b->stack[i] ? t->stacks.item[b->stack[i]] : CAM_NONE;
		if (func >= t->n_functions || !is_placed(t, &t->functions[func]))
			continue;
		err = leaf_room(k, from);
		const struct cam_function *f = &t->functions[func];
		uint64_t offset = b->leaf_offset[i];
		if (!err)
			k->wants[k->n++] = (struct want){
				.func = func,
				.module = f->module.v,
				.offset = f->start + (offset == CAM_OFFSET_NONE ? 0 : offset),
				.is_leaf = true,
				.leaf_offset = offset,
			};
	}
	return err;
}

static int note_line(void *arg, const struct cam_line *l)
{
	struct work *k = arg;
	if (l->func.v >= k->t->n_functions || !is_placed(k->t, &k->t->functions[l->func.v]))
		return 0;
	int err = cam_vec_reserve(&k->lined, &k->cap_lined, k->n_lined + 1, sizeof(*k->lined),
				  CAM_MAX_ROWS);
	if (!err)
		k->lined[k->n_lined++] = (struct lined){l->func.v, l->leaf_offset};
	return err;
}

static int compare_lined(const void *a, const void *b)
{
	const struct lined *x = a, *y = b;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->leaf_offset < y->leaf_offset ? -1 : x->leaf_offset > y->leaf_offset;
}

static bool has_line(const struct work *k, uint32_t func, uint64_t leaf_offset)
{
	const struct lined key = {func, leaf_offset};
	return k->n_lined &&
	       bsearch(&key, k->lined, k->n_lined, sizeof(key), compare_lined) != NULL;
}

/* Imported windows have what their file said, and offsets of unnamed functions are not all known. */
static int gather_all(struct work *k, struct cam_window *w)
{
	int err = gather(k);
	if (err || w->info.imported)
		return err;
	err = w->ops->samples(w, CAM_RANGE_ALL, CAM_COL_STACK | CAM_COL_LEAF, gather_leaves, k);
	if (!err)
		drop_doubles(k, k->out->counts.unnamed);
	if (!err && w->ops->lines)
		err = w->ops->lines(w, note_line, k);
	if (!err && k->n_lined)
		qsort(k->lined, k->n_lined, sizeof(*k->lined), compare_lined);
	return err;
}

static int put_text(struct work *k, struct cam_text text, struct text_at *out)
{
	*out = (struct text_at){k->out->text.len, text.n};
	cam_buf_put(&k->out->text, text.p, text.n);
	return cam_buf_error(&k->out->text);
}

/* What is new about a leaf. That it is of the function so named, only the start can tell: judge_leaves(). */
static int take_leaf(struct work *k, const struct want *w, const struct cam_name *n)
{
	struct cam_resymbolised *out = k->out;
	struct cam_text file = n->n_inlined ? n->inlined[n->n_inlined - 1].file : n->file;
	uint32_t line = n->n_inlined ? n->inlined[n->n_inlined - 1].line : n->line;
	bool is_new = file.n && line && (n->n_inlined || !has_line(k, w->func, w->leaf_offset));
	if (n->source == CAM_NAME_NONE || (!n->n_inlined && !is_new))
		return 0;
	int err = cam_vec_reserve(&out->leaves, &out->cap_leaves, out->n_leaves + 1,
				  sizeof(*out->leaves), CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&k->files, &k->cap_files, out->n_leaves + 1,
				      sizeof(*k->files), CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&k->inlined, &k->cap_inlined, out->n_inlined + n->n_inlined,
				      sizeof(*k->inlined), CAM_MAX_ROWS);
	if (!err)
		err = put_text(k, is_new ? file : CAM_TEXT(""), &k->files[out->n_leaves]);
	for (uint32_t i = 0; i < n->n_inlined && !err; i++)
		err = put_text(k, n->inlined[i].name, &k->inlined[out->n_inlined++]);
	if (!err)
		out->leaves[out->n_leaves++] = (struct cam_late_leaf){
			.func = w->func,
			.leaf_offset = w->leaf_offset,
			.n_inlined = n->n_inlined,
			.line = is_new ? line : 0,
			.start = n->start,
		};
	return err;
}

/* What was inlined at the start of a function is not the function. */
static int take_name(void *arg, size_t i, const struct cam_name *n)
{
	struct work *k = arg;
	struct want *w = &k->first[i];
	struct cam_text path;
	if (w->is_leaf)
		return take_leaf(k, w, n);
	if (n->source == CAM_NAME_NONE)
		return 0;
	w->text_at = k->out->text.len;
	w->text_bytes = n->name.n;
	cam_buf_put(&k->out->text, n->name.p, n->name.n);
	k->out->renames[w->func] = (struct cam_rename){.source = n->source, .start = n->start};
	k->out->counts.named++;
	k->out->counts.by_origin[k->namer->origin(k->namer, k->file, &path)]++;
	return cam_buf_error(&k->out->text);
}

/* A file's first samples come before its build-id is known: the same file's other row has it. */
static struct cam_text build_id_of(const struct cam_tables *t, const struct cam_module *m)
{
	struct cam_text id = cam_string(t, m->build_id);
	bool known = cam_string(t, m->key).n != 0;
	for (size_t i = 0; i < t->n_modules && known && !id.n; i++) {
		const struct cam_module *other = &t->modules[i];
		if (other->kind == m->kind && other->path.v == m->path.v &&
		    other->key.v == m->key.v)
			id = cam_string(t, other->build_id);
	}
	return id;
}

static int ask_module(struct work *k, size_t n)
{
	const struct cam_module *m = &k->t->modules[k->first->module];
	const struct cam_namer_module module = {
		.kind = m->kind,
		.path = cam_string(k->t, m->path),
		.build_id = build_id_of(k->t, m),
		.key = cam_string(k->t, m->key),
	};
	bool unnamed = !k->first->is_leaf; /* these come first */
	k->out->counts.modules += unnamed;
	int err = k->namer->module(k->namer, &module, &k->file);
	if (err == -ENOENT) {
		k->out->counts.modules_missing += unnamed;
		return 0;
	}
	uint64_t *offsets = err ? NULL : calloc(n, sizeof(*offsets));
	if (!offsets)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < n; i++)
		offsets[i] = k->first[i].offset;
	err = k->namer->names(k->namer, k->file, offsets, n, false, take_name, k);
	free(offsets);
	return err;
}

static int compare_late(const void *a, const void *b)
{
	const struct cam_late_leaf *x = a, *y = b;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return x->leaf_offset < y->leaf_offset ? -1 : x->leaf_offset > y->leaf_offset;
}

/* Leaves without the function that their stack has are dropped; the others get their texts, which do not move any more. */
static int judge_leaves(struct work *k)
{
	struct cam_resymbolised *out = k->out;
	const char *text = (const char *)out->text.data;
	size_t kept = 0, at = 0;
	out->inlined = calloc(out->n_inlined + 1, sizeof(*out->inlined));
	if (!out->inlined)
		return -ENOMEM;
	for (size_t i = 0; i < out->n_inlined; i++)
		out->inlined[i] = (struct cam_text){text + k->inlined[i].at, k->inlined[i].n};
	for (size_t i = 0; i < out->n_leaves; i++) {
		struct cam_late_leaf *l = &out->leaves[i];
		const struct cam_rename *name = &out->renames[l->func];
		l->inlined = &out->inlined[at];
		l->file = (struct cam_text){text + k->files[i].at, k->files[i].n};
		at += l->n_inlined;
		if (l->start != (name->name.n ? name->start : k->t->functions[l->func].start))
			continue;
		out->counts.inlined += l->n_inlined > 0;
		out->counts.lines += l->line > 0;
		out->leaves[kept++] = *l;
	}
	if (kept)
		qsort(out->leaves, kept, sizeof(*out->leaves), compare_late);
	out->n_leaves = kept;
	out->late.leaves = out->leaves;
	out->late.n_leaves = kept;
	return 0;
}

static int ask(struct work *k)
{
	int err = 0;
	if (k->n)
		qsort(k->wants, k->n, sizeof(*k->wants), by_module);
	for (size_t i = 0, n; i < k->n && !err; i += n) {
		for (n = 1; i + n < k->n && k->wants[i + n].module == k->wants[i].module; n++)
			;
		k->first = &k->wants[i];
		err = ask_module(k, n);
	}
	/* The buffer does not move any more. */
	for (size_t i = 0; i < k->n; i++) {
		const struct want *w = &k->wants[i];
		if (!w->is_leaf)
			k->out->renames[w->func].name = (struct cam_text){
				(const char *)k->out->text.data + w->text_at, w->text_bytes};
	}
	return err ? err : judge_leaves(k);
}

/* How many frames of a stack are unnamed, and how many of them will have a name. */
struct depth {
	uint32_t unnamed, named;
};

struct counting {
	const struct work *k;
	struct depth *depths;
	size_t n;
};

static int count_total(void *arg, const struct cam_total *total)
{
	struct counting *c = arg;
	const struct cam_tables *t = c->k->t;
	struct cam_resymbolise_counts *counts = &c->k->out->counts;
	if (t->stacks.n > c->n) {
		struct depth *more = reallocarray(c->depths, t->stacks.n, sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->depths = more;
	}
	for (; c->n < t->stacks.n; c->n++) {
		struct depth *d = &c->depths[c->n];
		uint32_t func = t->stacks.item[c->n];
		*d = c->n ? c->depths[t->stacks.parent[c->n]] : (struct depth){0};
		if (c->n && func < t->n_functions && is_wanted(t, &t->functions[func])) {
			d->unnamed++;
			d->named += c->k->out->renames[func].name.n != 0;
		}
	}
	if (total->stack.v >= c->n)
		return -EBADMSG;
	counts->frames += total->samples * c->depths[total->stack.v].unnamed;
	counts->frames_named += total->samples * c->depths[total->stack.v].named;
	return 0;
}

static int count_frames(const struct work *k, struct cam_window *w)
{
	struct counting c = {.k = k};
	int err = w->ops->totals(w, count_total, &c);
	free(c.depths);
	return err;
}

int cam_resymbolise(struct cam_namer *n, struct cam_window *w, struct cam_resymbolised *out)
{
	struct work k = {.namer = n, .out = out};
	*out = (struct cam_resymbolised){.text = CAM_BUF(MAX_TEXT_BYTES)};
	int err = w->ops->tables(w, &k.t);
	if (!err)
		err = gather_all(&k, w);
	if (!err)
		err = ask(&k);
	if (!err && out->counts.unnamed)
		err = count_frames(&k, w);
	free(k.wants);
	free(k.lined);
	free(k.files);
	free(k.inlined);
	return err;
}

void cam_resymbolised_free(struct cam_resymbolised *r)
{
	free(r->renames);
	free(r->leaves);
	free(r->inlined);
	cam_buf_free(&r->text);
	*r = (struct cam_resymbolised){0};
}
