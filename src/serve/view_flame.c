// SPDX-License-Identifier: Apache-2.0
/* The flame tree of a selection as columns: flat arrays that the page draws from as they are. */
#include "query/flame.h"
#include "query/prune.h"
#include "serve/asked.h"
#include "serve/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES      300000u /* more than there are pixels for, by far */
#define MAX_TREE_BYTES (512u << 20)

/* All that is sent of a tree, as columns; one allocation each. */
struct columns {
	uint32_t *frame, *end, *module, *name_ends, *module_ends;
	double *total, *self;
	uint8_t *kind, *names, *modules;
	size_t name_bytes, module_bytes;
};

static void free_columns(struct columns *k)
{
	free(k->frame);
	free(k->end);
	free(k->module);
	free(k->name_ends);
	free(k->module_ends);
	free(k->total);
	free(k->self);
	free(k->kind);
	free(k->names);
	free(k->modules);
}

static int make_columns(const struct cam_flame *f, struct columns *k)
{
	*k = (struct columns){0};
	for (size_t i = 0; i < f->n_frames; i++)
		k->name_bytes += f->frames[i].name_n;
	for (size_t i = 0; i < f->n_modules; i++)
		k->module_bytes += f->modules[i].path_n;
	k->frame = calloc(f->n_nodes, sizeof(*k->frame));
	k->end = calloc(f->n_nodes, sizeof(*k->end));
	k->module = calloc(f->n_nodes, sizeof(*k->module));
	k->total = calloc(f->n_nodes, sizeof(*k->total));
	k->self = calloc(f->n_nodes, sizeof(*k->self));
	k->kind = calloc(f->n_frames + 1, 1);
	k->name_ends = calloc(f->n_frames + 1, sizeof(*k->name_ends));
	k->module_ends = calloc(f->n_modules + 1, sizeof(*k->module_ends));
	k->names = malloc(k->name_bytes + 1);
	k->modules = malloc(k->module_bytes + 1);
	if (!k->frame || !k->end || !k->module || !k->total || !k->self || !k->kind ||
	    !k->name_ends || !k->module_ends || !k->names || !k->modules)
		return -ENOMEM;
	return 0;
}

static void fill_columns(const struct cam_flame *f, struct columns *k)
{
	size_t at = 0;
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct cam_flame_node *n = &f->nodes[i];
		k->frame[i] = n->frame;
		k->end[i] = n->end;
		k->module[i] = n->module == CAM_MODULE_SEVERAL ? 0 : n->module;
		k->total[i] = (double)n->total;
		k->self[i] = (double)n->self;
	}
	for (size_t i = 0; i < f->n_frames; i++) {
		memcpy(k->names + at, f->text + f->frames[i].name_at, f->frames[i].name_n);
		at += f->frames[i].name_n;
		k->name_ends[i] = (uint32_t)at;
		k->kind[i] = f->frames[i].kind;
	}
	at = 0;
	for (size_t i = 0; i < f->n_modules; i++) {
		memcpy(k->modules + at, f->text + f->modules[i].path_at, f->modules[i].path_n);
		at += f->modules[i].path_n;
		k->module_ends[i] = (uint32_t)at;
	}
}

static void send_flame(const struct cam_flame *f, uint64_t pruned, struct cam_answer *a)
{
	struct columns k;
	struct cam_columns c;
	if (make_columns(f, &k)) {
		free_columns(&k);
		cam_asked_failed(a, -ENOMEM);
		return;
	}
	fill_columns(f, &k);
	cam_columns_begin(&c);
	cam_json_text(&c.json, "unit", f->unit);
	cam_json_bool(&c.json, "unit_is_ns", f->unit_is_ns);
	cam_json_u64(&c.json, "pruned_below", pruned);
	cam_asked_seen(&c.json, &f->seen);
	cam_columns_add(&c, "frame", CAM_COLUMN_U32, k.frame, f->n_nodes);
	cam_columns_add(&c, "end", CAM_COLUMN_U32, k.end, f->n_nodes);
	cam_columns_add(&c, "module", CAM_COLUMN_U32, k.module, f->n_nodes);
	cam_columns_add(&c, "total", CAM_COLUMN_F64, k.total, f->n_nodes);
	cam_columns_add(&c, "self", CAM_COLUMN_F64, k.self, f->n_nodes);
	cam_columns_add(&c, "kind", CAM_COLUMN_U8, k.kind, f->n_frames);
	cam_columns_add(&c, "names", CAM_COLUMN_U8, k.names, k.name_bytes);
	cam_columns_add(&c, "name_ends", CAM_COLUMN_U32, k.name_ends, f->n_frames);
	cam_columns_add(&c, "modules", CAM_COLUMN_U8, k.modules, k.module_bytes);
	cam_columns_add(&c, "module_ends", CAM_COLUMN_U32, k.module_ends, f->n_modules);
	cam_asked_finish(&c, a);
	free_columns(&k);
}

void cam_answer_flame(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a)
{
	static const char *const own[] = {NULL};
	struct cam_source *source;
	struct cam_selection s;
	struct cam_asked_deadline deadline;
	struct cam_flame f;
	if (cam_asked_windows(doors, a, &source))
		return;
	if (!cam_asked_selection(doors, source, q, own, a, &s)) {
		doors->release(doors->self, source);
		return;
	}
	cam_asked_deadline_begin(&deadline);
	const struct cam_flame_options o = {.max_bytes = MAX_TREE_BYTES,
					    .progress = &deadline.progress};
	int err = cam_flame_build(source, &s, &o, &f);
	cam_selection_free(&s);
	doors->release(doors->self, source);
	if (err) {
		cam_asked_failed(a, err);
		return;
	}
	uint64_t pruned = cam_flame_prune(&f, MAX_NODES);
	send_flame(&f, pruned, a);
	cam_flame_free(&f);
}
