// SPDX-License-Identifier: Apache-2.0
#include "serve/send_tree.h"

#include "query/prune.h"
#include "render/json_table.h"
#include "serve/asked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 300000u /* more than there are pixels for, by far */

/* All that is sent of a tree, as columns; one allocation each. */
struct columns {
	uint32_t *frame, *end, *module, *name_ends, *module_ends;
	double *total, *self, *before_total, *before_self;
	uint8_t *kind, *note, *change, *names, *modules;
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
	free(k->before_total);
	free(k->before_self);
	free(k->change);
	free(k->kind);
	free(k->note);
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
	k->before_total = calloc(f->n_nodes, sizeof(*k->before_total));
	k->before_self = calloc(f->n_nodes, sizeof(*k->before_self));
	k->change = calloc(f->n_frames + 1, 1);
	k->kind = calloc(f->n_frames + 1, 1);
	k->note = calloc(f->n_frames + 1, 1);
	k->name_ends = calloc(f->n_frames + 1, sizeof(*k->name_ends));
	k->module_ends = calloc(f->n_modules + 1, sizeof(*k->module_ends));
	k->names = malloc(k->name_bytes + 1);
	k->modules = malloc(k->module_bytes + 1);
	if (!k->frame || !k->end || !k->module || !k->total || !k->self || !k->before_total ||
	    !k->before_self || !k->change || !k->kind || !k->note || !k->name_ends ||
	    !k->module_ends || !k->names || !k->modules)
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
		k->before_total[i] = (double)n->before_total;
		k->before_self[i] = (double)n->before_self;
	}
	for (size_t i = 0; i < f->n_frames; i++) {
		memcpy(k->names + at, f->text + f->frames[i].name_at, f->frames[i].name_n);
		at += f->frames[i].name_n;
		k->name_ends[i] = (uint32_t)at;
		k->kind[i] = f->frames[i].kind;
		k->note[i] = (uint8_t)f->frames[i].notes;
	}
	at = 0;
	for (size_t i = 0; i < f->n_modules; i++) {
		memcpy(k->modules + at, f->text + f->modules[i].path_at, f->modules[i].path_n);
		at += f->modules[i].path_n;
		k->module_ends[i] = (uint32_t)at;
	}
}

/* Rows are by name and kind. */
static int order(struct cam_text a, unsigned a_kind, struct cam_text b, unsigned b_kind)
{
	int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
	if (!c)
		c = (a.n > b.n) - (a.n < b.n);
	return c ? c : (a_kind > b_kind) - (a_kind < b_kind);
}

static const struct cam_diff_row *find_row(const struct cam_diff *d, struct cam_text name,
					   unsigned kind)
{
	size_t low = 0, high = d->n_rows;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cam_diff_row *r = &d->rows[middle];
		int c = order(cam_diff_name(d, r), r->kind, name, kind);
		if (!c)
			return r;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void fill_changes(const struct cam_flame *f, const struct cam_diff *d, struct columns *k)
{
	for (size_t i = 0; i < f->n_frames; i++) {
		const struct cam_flame_frame *frame = &f->frames[i];
		const struct cam_diff_row *r = find_row(
			d, (struct cam_text){f->text + frame->name_at, frame->name_n}, frame->kind);
		if (r && r->significant)
			k->change[i] =
				cam_diff_growth(&r->amount) > 0 ? CAM_CHANGE_MORE : CAM_CHANGE_LESS;
	}
}

static void put_facts(struct cam_json *j, const struct cam_flame *f, const struct cam_diff *d)
{
	cam_json_text(j, "unit", f->unit);
	cam_json_bool(j, "unit_is_ns", f->unit_is_ns);
	cam_asked_seen(j, &f->seen);
	cam_json_notes(j, f->notes);
	if (!d)
		return;
	cam_json_open(j, "diff", '{');
	cam_json_u64(j, "tested", d->n_tested);
	cam_json_u64(j, "significant", d->n_significant);
	cam_json_u64(j, "before_samples", d->sides[0].samples);
	cam_json_u64(j, "before_observed_ns", d->sides[0].seen.observed_ns);
	cam_json_u64(j, "observed_ns", d->sides[1].seen.observed_ns);
	cam_json_bool(j, "other_event", d->other_event);
	cam_json_bool(j, "other_rate", d->other_rate);
	cam_json_close(j, '}');
}

static void add_tree(struct cam_columns *c, const struct cam_flame *f, const struct columns *k)
{
	cam_columns_add(c, "frame", CAM_COLUMN_U32, k->frame, f->n_nodes);
	cam_columns_add(c, "end", CAM_COLUMN_U32, k->end, f->n_nodes);
	cam_columns_add(c, "module", CAM_COLUMN_U32, k->module, f->n_nodes);
	cam_columns_add(c, "total", CAM_COLUMN_F64, k->total, f->n_nodes);
	cam_columns_add(c, "self", CAM_COLUMN_F64, k->self, f->n_nodes);
	cam_columns_add(c, "kind", CAM_COLUMN_U8, k->kind, f->n_frames);
	cam_columns_add(c, "note", CAM_COLUMN_U8, k->note, f->n_frames);
	cam_columns_add(c, "names", CAM_COLUMN_U8, k->names, k->name_bytes);
	cam_columns_add(c, "name_ends", CAM_COLUMN_U32, k->name_ends, f->n_frames);
	cam_columns_add(c, "modules", CAM_COLUMN_U8, k->modules, k->module_bytes);
	cam_columns_add(c, "module_ends", CAM_COLUMN_U32, k->module_ends, f->n_modules);
}

void cam_send_tree(struct cam_flame *f, const struct cam_diff *d, struct cam_answer *a)
{
	struct columns k;
	struct cam_columns c;
	uint64_t pruned = cam_flame_prune(f, MAX_NODES);
	if (make_columns(f, &k)) {
		free_columns(&k);
		cam_asked_failed(a, -ENOMEM);
		return;
	}
	fill_columns(f, &k);
	cam_columns_begin(&c);
	put_facts(&c.json, f, d);
	cam_json_u64(&c.json, "pruned_below", pruned);
	add_tree(&c, f, &k);
	if (d) {
		fill_changes(f, d, &k);
		cam_columns_add(&c, "before_total", CAM_COLUMN_F64, k.before_total, f->n_nodes);
		cam_columns_add(&c, "before_self", CAM_COLUMN_F64, k.before_self, f->n_nodes);
		cam_columns_add(&c, "change", CAM_COLUMN_U8, k.change, f->n_frames);
	}
	cam_asked_finish(&c, a);
	free_columns(&k);
}

/* On the wall clock where there is one; else on the window's, of which there is then one. */
static int by_time(const void *a, const void *b)
{
	const struct cam_chart_row *x = a, *y = b;
	int c = (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
	if (!c)
		c = (x->window > y->window) - (x->window < y->window);
	if (!c)
		c = (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
	return c ? c : (x->place > y->place) - (x->place < y->place);
}

struct rows {
	double *time;
	uint32_t *cpu, *node;
	size_t n;
};

static int make_rows(struct cam_chart *chart, int64_t from_ns, struct rows *r)
{
	*r = (struct rows){.time = calloc(chart->n + 1, sizeof(*r->time)),
			   .cpu = calloc(chart->n + 1, sizeof(*r->cpu)),
			   .node = calloc(chart->n + 1, sizeof(*r->node))};
	if (!r->time || !r->cpu || !r->node)
		return -ENOMEM;
	if (chart->n)
		qsort(chart->rows, chart->n, sizeof(*chart->rows), by_time);
	for (size_t i = 0; i < chart->n; i++) {
		const struct cam_chart_row *row = &chart->rows[i];
		if (row->node == CAM_CHART_GONE)
			continue;
		r->time[r->n] = row->wall_ns != INT64_MIN && from_ns != INT64_MIN
					? (double)(row->wall_ns - from_ns)
					: (double)(row->time_ns - chart->rows[0].time_ns);
		r->cpu[r->n] = row->cpu;
		r->node[r->n++] = row->node;
	}
	return 0;
}

void cam_send_chart(struct cam_flame *f, struct cam_chart *chart, struct cam_answer *a)
{
	struct columns k;
	struct cam_columns c;
	struct rows r = {0};
	int err = f->n_nodes > MAX_NODES ? -E2BIG : make_columns(f, &k);
	if (err == -E2BIG) {
		cam_asked_failed(a, err);
		return;
	}
	if (!err)
		err = make_rows(chart, f->seen.realtime_from_ns, &r);
	if (!err) {
		fill_columns(f, &k);
		cam_columns_begin(&c);
		put_facts(&c.json, f, NULL);
		cam_answer_seconds(&c.json, "from", f->seen.realtime_from_ns);
		cam_answer_seconds(&c.json, "to", f->seen.realtime_to_ns);
		add_tree(&c, f, &k);
		cam_columns_add(&c, "time", CAM_COLUMN_F64, r.time, r.n);
		cam_columns_add(&c, "cpu", CAM_COLUMN_U32, r.cpu, r.n);
		cam_columns_add(&c, "node", CAM_COLUMN_U32, r.node, r.n);
		cam_asked_finish(&c, a);
	} else {
		cam_asked_failed(a, err);
	}
	free(r.time);
	free(r.cpu);
	free(r.node);
	free_columns(&k);
}
