// SPDX-License-Identifier: Apache-2.0
/*
 * Reports: the call tree of a selection, its entries heaviest first, and the chains of those that are
 * heavy enough to be shown. Which samples make an entry and its chains is perf's rule (report.h); how they
 * are found without perf's cost is in chains.c.
 */
#include "query/report.h"

#include "query/chains.h"
#include "query/landing.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t least_of(uint64_t whole, uint32_t thousandths)
{
	return (uint64_t)(((__uint128_t)whole * thousandths) / 100000);
}

static void set_value(const struct cam_tables *names, uint32_t text, uint32_t kind,
		      struct cam_value *v)
{
	*v = (struct cam_value){.text = cam_string(names, (struct cam_str_id){text}),
				.kind = (enum cam_frame_kind)kind};
}

struct listed {
	struct cam_report_entry e;
	uint32_t entry;
	int64_t rank; /* of those that weigh the same: larger first */
};

static void fill_values(const struct cam_call_tree *t, const struct cam_groups *g,
			const struct cam_report *out, const struct cam_call_entry *e,
			struct cam_value *v)
{
	const struct cam_call_frame *f = &t->frames.v[e->frame];
	for (size_t k = 0; k < out->n_keys; k++) {
		const struct cam_group_value *gv = &cam_groups_values(g, e->group)[k];
		if (out->keys[k] == CAM_KEY_SYMBOL)
			set_value(out->names, f->symbol, f->kind, &v[k]);
		else if (out->keys[k] == CAM_KEY_DSO)
			set_value(out->names, f->dso, 0, &v[k]);
		else
			set_value(out->names, gv->text, 0, &v[k]);
		v[k].number = cam_key_is_of_frames(out->keys[k]) ? 0 : gv->number;
	}
}

static int compare_texts(struct cam_text a, struct cam_text b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;
	return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int heavier(const void *x, const void *y, void *arg)
{
	const struct cam_report *r = arg;
	const struct cam_report_entry *a = &((const struct listed *)x)->e,
				      *b = &((const struct listed *)y)->e;
	int64_t of_a = ((const struct listed *)x)->rank, of_b = ((const struct listed *)y)->rank;
	if (r->children && a->total.weight != b->total.weight)
		return a->total.weight > b->total.weight ? -1 : 1;
	if (r->children && of_a != of_b)
		return of_a > of_b ? -1 : 1;
	if (a->self.weight != b->self.weight)
		return a->self.weight > b->self.weight ? -1 : 1;
	for (size_t k = 0; k < r->n_keys; k++) {
		int order = compare_texts(a->values[k].text, b->values[k].text);
		if (!order && a->values[k].number != b->values[k].number)
			order = a->values[k].number < b->values[k].number ? -1 : 1;
		if (!order)
			order = (int)a->values[k].kind - (int)b->values[k].kind;
		if (order)
			return order;
	}
	return 0;
}

/* Entries that are heavy enough, in order. */
static int list_entries(const struct cam_call_tree *t, const struct cam_groups *g,
			const struct cam_report_options *o, struct cam_report *out,
			struct listed **list)
{
	uint64_t least = least_of(g->all.weight, o->least_entry);
	*list = calloc(t->n_entries + 1, sizeof(**list));
	out->values = calloc(t->n_entries * out->n_keys + 1, sizeof(*out->values));
	if (!*list || !out->values)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_entries; i++) {
		const struct cam_call_entry *e = &t->entries[i];
		uint64_t weight = o->children ? e->total.weight : e->self.weight;
		if (!weight)
			continue;
		out->n_all++;
		if (weight < least)
			continue;
		struct cam_value *v = &out->values[out->n_entries * out->n_keys];
		fill_values(t, g, out, e, v);
		(*list)[out->n_entries++] = (struct listed){
			.e = {.values = v, .self = e->self, .total = e->total},
			.entry = i,
			.rank = o->chains == CAM_CHAINS_CALLEE ? -(int64_t)e->longest_up
							       : (int64_t)e->longest_down,
		};
	}
	if (out->n_entries)
		qsort_r(*list, out->n_entries, sizeof(**list), heavier, out);
	return 0;
}

static int put_entries(const struct cam_call_tree *t, const struct cam_report_options *o,
		       const struct listed *list, struct cam_chains *c, struct cam_report *out)
{
	int err = 0;
	out->entries = calloc(out->n_entries + 1, sizeof(*out->entries));
	if (!out->entries)
		return -ENOMEM;
	for (size_t i = 0; i < out->n_entries && !err; i++) {
		const struct cam_call_entry *e = &t->entries[list[i].entry];
		uint64_t weight = o->children ? e->total.weight : e->self.weight;
		out->entries[i] = list[i].e;
		out->entries[i].nodes_at = (uint32_t)c->n_nodes;
		if (o->chains != CAM_CHAINS_NONE && weight >= c->least)
			err = cam_chains_add(c, list[i].entry);
		out->entries[i].n_nodes = (uint32_t)c->n_nodes - out->entries[i].nodes_at;
	}
	return err;
}

static unsigned notes_of(const struct cam_call_tree *t, const struct cam_tables *names,
			 uint32_t frame)
{
	const struct cam_call_frame *f = &t->frames.v[frame];
	return cam_landing_notes(f->kind, cam_string(names, (struct cam_str_id){f->symbol}));
}

/* What the report names and time lands on: frames that were sampled themselves, in entries or chains. */
static int find_notes(const struct cam_call_tree *t, const struct listed *list,
		      const struct cam_chains *c, struct cam_report *out)
{
	bool *sampled = calloc(t->frames.n + 1, sizeof(*sampled));
	if (!sampled)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t item = cam_call_item(t, i);
		if (!(item & CAM_CALL_GROUP) && item < t->frames.n && t->self[i].samples)
			sampled[item] = true;
	}
	for (size_t i = 0; i < out->n_entries && t->by_symbol; i++) {
		const struct cam_call_entry *e = &t->entries[list[i].entry];
		if (e->self.samples)
			out->notes |= notes_of(t, out->names, e->frame);
	}
	for (size_t i = 0; i < c->n_frames; i++) {
		if (sampled[c->frames[i]])
			out->notes |= notes_of(t, out->names, c->frames[i]);
	}
	free(sampled);
	return 0;
}

static int build_chains(const struct cam_call_tree *t, const struct cam_report_options *o,
			const struct listed *list, bool cpu_clock, struct cam_report *out)
{
	struct cam_chains c = {.tree = t,
			       .names = out->names,
			       .options = o,
			       .least = least_of(out->all.weight, o->least_node)};
	if (!c.least)
		c.least = 1;
	int err = cam_chains_init(&c);
	if (!err)
		err = put_entries(t, o, list, &c, out);
	out->frames = err ? NULL : calloc(c.n_frames + 1, sizeof(*out->frames));
	if (!err && !out->frames)
		err = -ENOMEM;
	for (size_t i = 0; i < c.n_frames && !err; i++)
		out->frames[i] = cam_string(out->names,
					    (struct cam_str_id){t->frames.v[c.frames[i]].symbol});
	if (!err && cpu_clock)
		err = find_notes(t, list, &c, out);
	if (!err) {
		out->nodes = c.nodes;
		out->n_nodes = c.n_nodes;
		c.nodes = NULL;
	}
	cam_chains_free(&c);
	return err;
}

static int finish(const struct cam_report_options *o, struct cam_groups *g, struct cam_call_tree *t,
		  struct cam_report *out)
{
	struct cam_report_options plain = *o;
	struct listed *list = NULL;
	struct cam_str_id event;
	if (o->if_chained && !t->chained) {
		plain.children = out->children = false;
		plain.chains = CAM_CHAINS_NONE;
		o = &plain;
	}
	int err = cam_call_tree_finish(t);
	if (!err)
		err = cam_walk_keep_seen(&g->walk, &out->seen, &out->strings);
	if (!err)
		err = cam_string_intern(g->names,
					cam_text_of(g->walk.main_etype ? g->walk.main_etype : ""),
					&event);
	if (err)
		return err;
	out->unit = cam_groups_unit(g);
	out->unit_is_ns = g->unit_is_ns && !g->mixed_units;
	out->all = g->all;
	out->event = cam_string(g->names, event);
	out->names = g->names;
	g->names = NULL;
	err = list_entries(t, g, o, out, &list);
	if (!err)
		err = build_chains(t, o, list, g->cpu_clock, out);
	free(list);
	return err;
}

int cam_report_build(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_report_options *o, struct cam_report *out)
{
	struct cam_call_tree t;
	struct cam_groups g = {0};
	struct cam_groups_options how = {
		.n_keys = o->n_keys,
		.weight = o->weight,
		.parent = o->parent,
		.outermost_parent = o->children,
		.progress = o->progress,
		.window = cam_call_tree_add_window,
		.self = &t,
	};
	bool by_symbol = false, by_dso = false;
	*out = (struct cam_report){.n_keys = o->n_keys, .children = o->children};
	for (size_t i = 0; i < o->n_keys; i++) {
		out->keys[i] = how.keys[i] = o->keys[i];
		by_symbol |= o->keys[i] == CAM_KEY_SYMBOL;
		by_dso |= o->keys[i] == CAM_KEY_DSO;
	}
	int err = cam_call_tree_init(&t, by_symbol, by_dso, o->shape);
	if (!err)
		err = cam_groups_run(&g, source, s, &how);
	if (!err)
		err = finish(o, &g, &t, out);
	cam_groups_free(&g);
	cam_call_tree_free(&t);
	if (err)
		cam_report_free(out);
	return err;
}

void cam_report_free(struct cam_report *r)
{
	free(r->entries);
	free(r->nodes);
	free(r->frames);
	free(r->values);
	if (r->names)
		cam_tables_free(r->names);
	free(r->names);
	free(r->strings);
	*r = (struct cam_report){0};
}
