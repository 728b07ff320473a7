// SPDX-License-Identifier: Apache-2.0
/* See chrome_in.h. */
#include "base/index.h"
#include "base/vec.h"
#include "interop/chrome_in.h"
#include "interop/json_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NODES (1u << 24)
#define NO_PARENT UINT32_MAX

enum node_kind { NODE_PLAIN, NODE_ROOT, NODE_IDLE };

struct node {
	int64_t id;
	uint32_t location;
	uint32_t parent; /* a row; NO_PARENT */
	uint32_t place;	 /* + 1, once made */
	enum node_kind kind;
};

struct child {
	uint32_t parent; /* a row */
	int64_t id;
};

struct reader {
	struct cam_json_profile p;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct cam_index index; /* of nodes, by id */
	struct child *children;
	size_t n_children, cap_children;
	int64_t *samples, *deltas; /* deltas in nanoseconds */
	size_t n_samples, cap_samples, n_deltas, cap_deltas;
	int64_t start_ns;
	uint32_t *path; /* room for a path of all nodes */
};

static bool same_id(const void *rows, uint32_t row, const void *key)
{
	return ((const struct node *)rows)[row].id == *(const int64_t *)key;
}

static uint32_t find(const struct reader *r, int64_t id)
{
	return cam_index_find(&r->index, cam_hash_u64((uint64_t)id, 1), same_id, r->nodes, &id);
}

struct call {
	char name[4096], url[4096];
	size_t name_n, url_n;
};

/* Of a node itself (old profiles) or of its callFrame. */
static void take_call(struct reader *r, const char *key, struct call *c)
{
	if (r->p.j.token != CAM_JSON_STRING)
		return;
	if (!strcmp(key, "functionName"))
		c->name_n = cam_json_profile_copy(r->p.j.text, c->name, sizeof(c->name));
	else if (!strcmp(key, "url"))
		c->url_n = cam_json_profile_copy(r->p.j.text, c->url, sizeof(c->url));
}

static void read_call_frame(struct reader *r, struct call *c)
{
	char key[32];
	while (cam_json_in_member(&r->p.j, key, sizeof(key))) {
		take_call(r, key, c);
		cam_json_in_skip(&r->p.j);
	}
}

static int add_child(struct reader *r, uint32_t parent, int64_t id)
{
	int err = cam_replay_reserve(&r->p.out, &r->children, &r->cap_children, r->n_children + 1,
				     sizeof(*r->children));
	if (!err)
		r->children[r->n_children++] = (struct child){parent, id};
	return err;
}

static int add_node(struct reader *r, uint32_t row, int64_t id, const struct call *c)
{
	struct cam_text name = {c->name, c->name_n};
	struct cam_replay_frame f = {
		.name = name.n ? name : CAM_TEXT("(anonymous)"),
		.module = {c->url, c->url_n},
		.build_id = CAM_TEXT(""),
		.kind = CAM_FUNC_JIT,
	};
	struct node *n = &r->nodes[row];
	if (find(r, id) != CAM_INDEX_NONE) {
		r->p.bad++;
		return 0;
	}
	n->id = id;
	n->kind = cam_text_equal(name, CAM_TEXT("(root)"))   ? NODE_ROOT
		  : cam_text_equal(name, CAM_TEXT("(idle)")) ? NODE_IDLE
							     : NODE_PLAIN;
	int err = cam_index_reserve(&r->index);
	if (!err)
		err = cam_replay_frame(&r->p.out, &f, &n->location);
	if (!err)
		cam_index_add(&r->index, cam_hash_u64((uint64_t)id, 1), row);
	return err;
}

static int read_children(struct reader *r, uint32_t row)
{
	int64_t id;
	int err = 0;
	while (!err && cam_json_in_element(&r->p.j)) {
		if (cam_json_in_i64(&r->p.j, &id))
			err = add_child(r, row, id);
		else
			r->p.bad++;
		cam_json_in_skip(&r->p.j);
	}
	return err;
}

static int read_node(struct reader *r)
{
	char key[32];
	struct call *c = calloc(1, sizeof(*c));
	int64_t id = -1, parent = -1;
	bool has_parent = false;
	int err = c ? cam_replay_reserve(&r->p.out, &r->nodes, &r->cap_nodes, r->n_nodes + 1,
					 sizeof(*r->nodes))
		    : -ENOMEM;
	if (!err && r->n_nodes == MAX_NODES)
		err = -E2BIG;
	uint32_t row = (uint32_t)r->n_nodes;
	if (!err)
		r->nodes[r->n_nodes++] = (struct node){.parent = NO_PARENT, .id = INT64_MIN};
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		if (!strcmp(key, "id"))
			cam_json_in_i64(&r->p.j, &id);
		else if (!strcmp(key, "parent"))
			has_parent = cam_json_in_i64(&r->p.j, &parent);
		else if (!strcmp(key, "callFrame") && r->p.j.token == CAM_JSON_OBJECT)
			read_call_frame(r, c);
		else if (!strcmp(key, "children") && r->p.j.token == CAM_JSON_ARRAY)
			err = read_children(r, row);
		else
			take_call(r, key, c);
		cam_json_in_skip(&r->p.j);
	}
	if (!err)
		err = add_node(r, row, id, c);
	if (!err && has_parent) {
		/* The parent's row may not be there yet: it is looked up with the children. */
		err = add_child(r, row, parent);
		if (!err)
			r->children[r->n_children - 1].parent |= 1u << 31;
	}
	free(c);
	return err;
}

static int read_numbers(struct reader *r, int64_t **rows, size_t *n, size_t *cap, uint32_t scale)
{
	int err = 0;
	while (!err && cam_json_in_element(&r->p.j)) {
		int64_t v = 0;
		r->p.bad += !cam_json_in_scaled(&r->p.j, scale, &v);
		cam_json_in_skip(&r->p.j);
		err = cam_replay_reserve(&r->p.out, rows, cap, *n + 1, sizeof(**rows));
		if (!err)
			(*rows)[(*n)++] = v;
	}
	return err;
}

static int read_file(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	char key[32];
	int err = 0;
	if (cam_json_in_next(&r->p.j) != CAM_JSON_OBJECT)
		return 0;
	while (!err && cam_json_in_member(&r->p.j, key, sizeof(key))) {
		bool array = r->p.j.token == CAM_JSON_ARRAY;
		if (array && !strcmp(key, "nodes")) {
			while (!err && cam_json_in_element(&r->p.j)) {
				if (r->p.j.token == CAM_JSON_OBJECT)
					err = read_node(r);
				else
					cam_json_in_skip(&r->p.j);
			}
		} else if (array && !strcmp(key, "samples")) {
			err = read_numbers(r, &r->samples, &r->n_samples, &r->cap_samples, 1);
		} else if (array && !strcmp(key, "timeDeltas")) {
			err = read_numbers(r, &r->deltas, &r->n_deltas, &r->cap_deltas, 1000);
		} else {
			if (!strcmp(key, "startTime"))
				cam_json_in_scaled(&r->p.j, 1000, &r->start_ns);
			cam_json_in_skip(&r->p.j);
		}
	}
	return err;
}

static void join(struct reader *r)
{
	for (size_t i = 0; i < r->n_children; i++) {
		uint32_t row = r->children[i].parent & ~(1u << 31);
		uint32_t other = find(r, r->children[i].id);
		bool points_up = r->children[i].parent >> 31;
		if (other == CAM_INDEX_NONE)
			r->p.bad++;
		else
			r->nodes[points_up ? row : other].parent = points_up ? other : row;
	}
}

/* Up to what has a place already, then down. A file may make a ring of its nodes: that ends where it began. */
static int place(struct reader *r, uint32_t row, uint32_t *out)
{
	size_t n = 0;
	int err = 0;
	while (row != NO_PARENT && !r->nodes[row].place && n < r->n_nodes) {
		r->path[n++] = row;
		row = r->nodes[row].parent;
	}
	r->p.bad += n == r->n_nodes && row != NO_PARENT;
	uint32_t here = row != NO_PARENT && r->nodes[row].place ? r->nodes[row].place - 1 : 0;
	while (n && !err) {
		struct node *node = &r->nodes[r->path[--n]];
		if (node->kind != NODE_ROOT)
			err = cam_tree_intern(&r->p.out.t, &r->p.out.t.places, here, node->location,
					      &here);
		if (!err)
			node->place = here + 1;
	}
	*out = here;
	return err;
}

static int convert(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	struct cam_replay_sample s = {.cpu = CAM_CPU_NONE};
	int64_t at = r->start_ns, delta, last = 0;
	int err = cam_replay_task(&r->p.out, CAM_PID_NONE, CAM_PID_NONE, CAM_TEXT("javascript"),
				  &s.task);
	if (!err)
		err = cam_replay_etype(&r->p.out, CAM_TEXT("wall-clock"), 0, true, &s.etype);
	join(r);
	r->path = calloc(r->n_nodes + 1, sizeof(*r->path));
	if (!r->path)
		return -ENOMEM;
	size_t n = r->n_samples < r->n_deltas ? r->n_samples : r->n_deltas;
	r->p.bad += r->n_samples != r->n_deltas;
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t row = find(r, r->samples[i]);
		if (__builtin_add_overflow(at, r->deltas[i], &at) || at < 0)
			at = 0;
		delta = i + 1 < n ? r->deltas[i + 1] : last;
		last = delta;
		s.time_ns = (uint64_t)at;
		s.weight = delta > 0 ? (uint64_t)delta : 0;
		if (row == CAM_INDEX_NONE) {
			r->p.bad++;
		} else if (r->nodes[row].kind == NODE_IDLE) {
			cam_replay_idle(&r->p.out, s.time_ns);
		} else {
			err = place(r, row, &s.stack);
			if (!err)
				err = cam_replay_add(&r->p.out, &s);
		}
	}
	return err;
}

static void free_rows(struct cam_json_profile *p)
{
	struct reader *r = (struct reader *)p;
	cam_index_free(&r->index);
	free(r->nodes);
	free(r->children);
	free(r->samples);
	free(r->deltas);
	free(r->path);
}

int cam_cpuprofile_read(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st)
{
	static const struct cam_json_profile_ops ops = {"cpuprofile", sizeof(struct reader),
							read_file, convert, free_rows};
	return cam_json_profile_read(&ops, in, sink, o, st);
}
