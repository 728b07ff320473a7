// SPDX-License-Identifier: Apache-2.0
#include "daemon/resymbolise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_BYTES (256u << 20)

/* A function to be named; in order of their modules. */
struct want {
	uint32_t func, module;
	uint64_t start;
	size_t text_at, text_bytes; /* of its name, once it has one */
};

struct work {
	struct cam_namer *namer;
	const struct cam_tables *t;
	struct cam_resymbolised *out;
	struct want *wants;
	size_t n;
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
	return x->func < y->func ? -1 : 1;
}

static int gather(struct work *k)
{
	const struct cam_tables *t = k->t;
	k->wants = calloc(t->n_functions + 1, sizeof(*k->wants));
	k->out->renames = calloc(t->n_functions + 1, sizeof(*k->out->renames));
	if (!k->wants || !k->out->renames)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_functions; i++) {
		const struct cam_function *f = &t->functions[i];
		if (is_wanted(t, f))
			k->wants[k->n++] = (struct want){(uint32_t)i, f->module.v, f->start};
	}
	qsort(k->wants, k->n, sizeof(*k->wants), by_module);
	k->out->counts.unnamed = k->n;
	return 0;
}

/* What was inlined at the start of a function is not the function. */
static int take_name(void *arg, size_t i, const struct cam_name *n)
{
	struct work *k = arg;
	struct want *w = &k->first[i];
	struct cam_text path;
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
	k->out->counts.modules++;
	int err = k->namer->module(k->namer, &module, &k->file);
	if (err == -ENOENT) {
		k->out->counts.modules_missing++;
		return 0;
	}
	uint64_t *offsets = err ? NULL : calloc(n, sizeof(*offsets));
	if (!offsets)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < n; i++)
		offsets[i] = k->first[i].start;
	err = k->namer->names(k->namer, k->file, offsets, n, false, take_name, k);
	free(offsets);
	return err;
}

static int ask(struct work *k)
{
	int err = 0;
	for (size_t i = 0, n; i < k->n && !err; i += n) {
		for (n = 1; i + n < k->n && k->wants[i + n].module == k->wants[i].module; n++)
			;
		k->first = &k->wants[i];
		err = ask_module(k, n);
	}
	/* The buffer does not move any more. */
	for (size_t i = 0; i < k->n; i++) {
		const struct want *w = &k->wants[i];
		k->out->renames[w->func].name = (struct cam_text){
			(const char *)k->out->text.data + w->text_at, w->text_bytes};
	}
	return err;
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
		err = gather(&k);
	if (!err)
		err = ask(&k);
	if (!err && k.n)
		err = count_frames(&k, w);
	free(k.wants);
	return err;
}

void cam_resymbolised_free(struct cam_resymbolised *r)
{
	free(r->renames);
	cam_buf_free(&r->text);
	*r = (struct cam_resymbolised){0};
}
