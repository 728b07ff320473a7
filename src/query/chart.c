// SPDX-License-Identifier: Apache-2.0
/*
 * From samples in order of time to a tree.
 *
 * What: samples are sorted, and taken one by one. The frames that a sample shares with the one
 * before it, from the root on, go on; the others end, and those of the new one begin. So a node is a
 * stretch of time in which a function was on every stack that was seen.
 *
 * Why this way: nodes come out depth first, which is the order of door E, and what has ended never
 * changes. A node that turns out too short to be seen is at the end of the array when it ends: it is
 * cut off there and then, and its time goes to a [small] in its place. So memory is the samples, plus
 * what can be drawn.
 *
 * Invariant: open[0 … depth] are the nodes that go on; nodes[open[depth]] is the last one that began.
 */
#include "query/chart.h"

#include "base/vec.h"

#define MAX_SAMPLES (1u << 24)
#define MAX_NODES   (1u << 24)
#define NO_NODE	    UINT32_MAX

struct drawing {
	const struct cam_chart *c;
	const struct cam_flame *f;
	uint32_t small; /* the frame for what is too short */
	double least;
	struct cam_flame_node *nodes;
	uint64_t *starts; /* by node */
	size_t n, cap, cap_starts;
	uint64_t now; /* all that was taken so far */
	uint32_t *open,
		*path;	 /* nodes of the tree on the way to the last sample, and to the new one */
	uint32_t *at;	 /* the nodes that open[] became */
	uint32_t *rest;	 /* by depth: the [small] that ends where the next node begins */
	uint32_t *group; /* by node of the tree: the one of the first level above it */
	uint32_t depth_open;
};

int cam_chart_add(struct cam_chart *c, struct cam_chart_row row)
{
	size_t most = c->max_rows && c->max_rows < MAX_SAMPLES ? c->max_rows : MAX_SAMPLES;
	int err = cam_vec_reserve(&c->rows, &c->cap, c->n + 1, sizeof(row), most);
	if (err)
		return err;
	row.place = (uint32_t)c->n;
	c->rows[c->n++] = row;
	return 0;
}

void cam_chart_move(struct cam_chart *c, const uint32_t *to)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->rows[i].node != CAM_CHART_GONE)
			c->rows[i].node = to[c->rows[i].node];
	}
}

void cam_chart_free(struct cam_chart *c)
{
	free(c->rows);
	*c = (struct cam_chart){0};
}

static int by_time(const void *a, const void *b)
{
	const struct cam_chart_row *x = a, *y = b;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Nodes of the tree are numbered in order of names. */
static int by_group(const void *a, const void *b, void *arg)
{
	const uint32_t *group = arg;
	const struct cam_chart_row *x = a, *y = b;
	uint32_t i = group[x->node], j = group[y->node];
	return i != j ? (i < j ? -1 : 1) : by_time(a, b);
}

/* The last node ends. Its total is complete, but for its part of its parent's. */
static void close_last(struct drawing *d)
{
	uint32_t i = d->at[d->depth_open], depth = d->depth_open--;
	struct cam_flame_node *n = &d->nodes[i], *up = &d->nodes[n->parent];
	n->end = (uint32_t)d->n;
	up->total += n->total;
	up->before_total += n->before_total;
	if ((double)n->total >= d->least || n->before_total > n->total) {
		d->rest[depth] = NO_NODE;
		return;
	}
	struct cam_flame_node *into = d->rest[depth] != NO_NODE ? &d->nodes[d->rest[depth]] : n;
	uint64_t total = n->total, before = n->before_total;
	if (into == n) {
		n->self = n->total = n->before_self = n->before_total = 0;
		n->frame = d->small;
		n->module = 0;
		n->end = i + 1;
		d->rest[depth] = i;
	}
	into->self += total;
	into->total += total;
	into->before_self += before;
	into->before_total += before;
	d->n = (size_t)(into - d->nodes) + 1;
}

static int reserve(struct drawing *d)
{
	int err = cam_vec_reserve(&d->nodes, &d->cap, d->n + 1, sizeof(*d->nodes), MAX_NODES);
	return err ? err
		   : cam_vec_reserve(&d->starts, &d->cap_starts, d->n + 1, sizeof(*d->starts),
				     MAX_NODES);
}

static int begin(struct drawing *d, uint32_t tree_node)
{
	uint32_t depth = d->depth_open + 1;
	int err = reserve(d);
	if (err)
		return err;
	/* A [small] stays open for the next short one only while nothing came between. */
	if (d->rest[depth] != NO_NODE && d->rest[depth] + 1ul != d->n)
		d->rest[depth] = NO_NODE;
	d->nodes[d->n] = (struct cam_flame_node){.frame = d->f->nodes[tree_node].frame,
						 .parent = d->at[depth - 1],
						 .depth = depth,
						 .module = d->f->nodes[tree_node].module};
	d->starts[d->n] = d->now;
	d->open[depth] = tree_node;
	d->at[depth] = (uint32_t)d->n++;
	if (depth < d->f->depth)
		d->rest[depth + 1] = NO_NODE;
	d->depth_open = depth;
	return 0;
}

static int take(struct drawing *d, const struct cam_chart_row *row)
{
	uint32_t depth = d->f->nodes[row->node].depth, same = 0;
	for (uint32_t i = row->node, k = depth; k; i = d->f->nodes[i].parent, k--)
		d->path[k] = i;
	while (same < depth && same < d->depth_open && d->open[same + 1] == d->path[same + 1])
		same++;
	while (d->depth_open > same)
		close_last(d);
	for (uint32_t k = same + 1; k <= depth; k++) {
		int err = begin(d, d->path[k]);
		if (err)
			return err;
	}
	struct cam_flame_node *n = &d->nodes[d->at[depth]];
	*(row->before ? &n->before_self : &n->self) += row->value;
	*(row->before ? &n->before_total : &n->total) += row->value;
	d->now += row->before ? 0 : row->value;
	return 0;
}

/* In order, without those that are gone. */
static void sort_rows(struct cam_chart *c, const struct drawing *d)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (c->rows[i].node < d->f->n_nodes)
			c->rows[n++] = c->rows[i];
	}
	c->n = n;
	if (!n)
		return;
	if (!c->by_group) {
		qsort(c->rows, c->n, sizeof(*c->rows), by_time);
		return;
	}
	for (uint32_t i = 1; i < d->f->n_nodes; i++) {
		const struct cam_flame_node *node = &d->f->nodes[i];
		d->group[i] = node->depth == 1 ? i : d->group[node->parent];
	}
	qsort_r(c->rows, c->n, sizeof(*c->rows), by_group, d->group);
}

static int draw(struct drawing *d)
{
	int err = reserve(d);
	if (err)
		return err;
	d->starts[0] = 0;
	d->nodes[0] = (struct cam_flame_node){.frame = d->f->nodes[0].frame};
	d->n = 1;
	for (uint32_t k = 0; k <= d->f->depth; k++)
		d->rest[k] = NO_NODE;
	for (size_t i = 0; i < d->c->n && !err; i++)
		err = take(d, &d->c->rows[i]);
	while (d->depth_open && !err)
		close_last(d);
	d->nodes[0].end = (uint32_t)d->n;
	return err;
}

/* One more frame at the end, which nodes may have. */
static int add_small(struct cam_flame *f, uint32_t *id)
{
	static const char name[] = "[small]";
	char *text = realloc(f->text, f->text_bytes + sizeof(name));
	if (!text)
		return -ENOMEM;
	f->text = text;
	struct cam_flame_frame *frames =
		reallocarray(f->frames, f->n_frames + 1, sizeof(*f->frames));
	if (!frames)
		return -ENOMEM;
	f->frames = frames;
	memcpy(text + f->text_bytes, name, sizeof(name));
	frames[f->n_frames] = (struct cam_flame_frame){.name_at = (uint32_t)f->text_bytes,
						       .name_n = sizeof(name) - 1,
						       .kind = CAM_FRAME_MARK};
	f->text_bytes += sizeof(name);
	*id = (uint32_t)f->n_frames++;
	return 0;
}

static void hand_over(struct drawing *d, struct cam_flame *f)
{
	free(f->nodes);
	f->nodes = d->nodes;
	f->n_nodes = d->n;
	f->depth = 0;
	for (size_t i = 0; i < d->n; i++)
		f->depth = d->nodes[i].depth > f->depth ? d->nodes[i].depth : f->depth;
	free(f->starts);
	f->starts = d->starts;
	d->nodes = NULL;
	d->starts = NULL;
}

int cam_chart_draw(struct cam_chart *c, struct cam_flame *f)
{
	size_t levels = f->depth + 2ul;
	struct drawing d = {.c = c, .f = f, .least = c->min_share * (double)f->nodes[0].total};
	d.open = calloc(levels, sizeof(uint32_t));
	d.path = calloc(levels, sizeof(uint32_t));
	d.at = calloc(levels, sizeof(uint32_t));
	d.rest = calloc(levels, sizeof(uint32_t));
	d.group = calloc(f->n_nodes, sizeof(uint32_t));
	int err = d.open && d.path && d.at && d.rest && d.group ? 0 : -ENOMEM;
	if (!err)
		err = add_small(f, &d.small);
	if (!err) {
		sort_rows(c, &d);
		err = draw(&d);
	}
	if (!err)
		hand_over(&d, f);
	free(d.open);
	free(d.path);
	free(d.at);
	free(d.rest);
	free(d.group);
	free(d.nodes);
	free(d.starts);
	return err;
}
