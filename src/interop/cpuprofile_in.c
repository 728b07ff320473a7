// SPDX-License-Identifier: Apache-2.0
/* See chrome_in.h. */
#include "base/index.h"
#include "base/vec.h"
#include "interop/chrome_in.h"
#include "interop/json_in.h"
#include "interop/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NODES   (1u << 24)
#define MAX_SAMPLES (1u << 27)
#define NO_PARENT   UINT32_MAX

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
	struct cam_json_in j;
	struct cam_replay out;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct cam_index index; /* of nodes, by id */
	struct child *children;
	size_t n_children, cap_children;
	int64_t *samples, *deltas; /* deltas in nanoseconds */
	size_t n_samples, cap_samples, n_deltas, cap_deltas;
	int64_t start_ns;
	uint64_t bad;
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

static size_t copy(struct cam_text s, char *room, size_t bytes)
{
	size_t n = s.n < bytes ? s.n : bytes;
	memcpy(room, s.p, n);
	return n;
}

/* Of a node itself (old profiles) or of its callFrame. */
static void take_call(struct reader *r, const char *key, struct call *c)
{
	if (r->j.token != CAM_JSON_STRING)
		return;
	if (!strcmp(key, "functionName"))
		c->name_n = copy(r->j.text, c->name, sizeof(c->name));
	else if (!strcmp(key, "url"))
		c->url_n = copy(r->j.text, c->url, sizeof(c->url));
}

static void read_call_frame(struct reader *r, struct call *c)
{
	char key[32];
	while (cam_json_in_member(&r->j, key, sizeof(key))) {
		take_call(r, key, c);
		cam_json_in_skip(&r->j);
	}
}

static int add_child(struct reader *r, uint32_t parent, int64_t id)
{
	int err = cam_vec_reserve(&r->children, &r->cap_children, r->n_children + 1,
				  sizeof(*r->children), MAX_NODES);
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
		r->bad++;
		return 0;
	}
	n->id = id;
	n->kind = cam_text_equal(name, CAM_TEXT("(root)"))   ? NODE_ROOT
		  : cam_text_equal(name, CAM_TEXT("(idle)")) ? NODE_IDLE
							     : NODE_PLAIN;
	int err = cam_index_reserve(&r->index);
	if (!err)
		err = cam_replay_frame(&r->out, &f, &n->location);
	if (!err)
		cam_index_add(&r->index, cam_hash_u64((uint64_t)id, 1), row);
	return err;
}

static int read_children(struct reader *r, uint32_t row)
{
	int64_t id;
	int err = 0;
	while (!err && cam_json_in_element(&r->j)) {
		if (cam_json_in_i64(&r->j, &id))
			err = add_child(r, row, id);
		else
			r->bad++;
		cam_json_in_skip(&r->j);
	}
	return err;
}

static int read_node(struct reader *r)
{
	char key[32];
	struct call *c = calloc(1, sizeof(*c));
	int64_t id = -1, parent = -1;
	bool has_parent = false;
	int err = c ? cam_vec_reserve(&r->nodes, &r->cap_nodes, r->n_nodes + 1, sizeof(*r->nodes),
				      MAX_NODES)
		    : -ENOMEM;
	uint32_t row = (uint32_t)r->n_nodes;
	if (!err)
		r->nodes[r->n_nodes++] = (struct node){.parent = NO_PARENT, .id = INT64_MIN};
	while (!err && cam_json_in_member(&r->j, key, sizeof(key))) {
		if (!strcmp(key, "id"))
			cam_json_in_i64(&r->j, &id);
		else if (!strcmp(key, "parent"))
			has_parent = cam_json_in_i64(&r->j, &parent);
		else if (!strcmp(key, "callFrame") && r->j.token == CAM_JSON_OBJECT)
			read_call_frame(r, c);
		else if (!strcmp(key, "children") && r->j.token == CAM_JSON_ARRAY)
			err = read_children(r, row);
		else
			take_call(r, key, c);
		cam_json_in_skip(&r->j);
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
	while (!err && cam_json_in_element(&r->j)) {
		int64_t v = 0;
		r->bad += !cam_json_in_scaled(&r->j, scale, &v);
		cam_json_in_skip(&r->j);
		err = cam_vec_reserve(rows, cap, *n + 1, sizeof(**rows), MAX_SAMPLES);
		if (!err)
			(*rows)[(*n)++] = v;
	}
	return err;
}

static int read_file(struct reader *r)
{
	char key[32];
	int err = 0;
	if (cam_json_in_next(&r->j) != CAM_JSON_OBJECT)
		return 0;
	while (!err && cam_json_in_member(&r->j, key, sizeof(key))) {
		bool array = r->j.token == CAM_JSON_ARRAY;
		if (array && !strcmp(key, "nodes")) {
			while (!err && cam_json_in_element(&r->j)) {
				if (r->j.token == CAM_JSON_OBJECT)
					err = read_node(r);
				else
					cam_json_in_skip(&r->j);
			}
		} else if (array && !strcmp(key, "samples")) {
			err = read_numbers(r, &r->samples, &r->n_samples, &r->cap_samples, 1);
		} else if (array && !strcmp(key, "timeDeltas")) {
			err = read_numbers(r, &r->deltas, &r->n_deltas, &r->cap_deltas, 1000);
		} else {
			if (!strcmp(key, "startTime"))
				cam_json_in_scaled(&r->j, 1000, &r->start_ns);
			cam_json_in_skip(&r->j);
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
			r->bad++;
		else
			r->nodes[points_up ? row : other].parent = points_up ? other : row;
	}
}

/* A file may make a ring of its nodes: what goes deeper than stacks may is cut there. */
static int place(struct reader *r, uint32_t row, uint32_t *out)
{
	uint32_t path[CAM_MAX_STACK_FRAMES];
	size_t n = 0;
	int err = 0;
	while (row != NO_PARENT && !r->nodes[row].place && n < CAM_MAX_STACK_FRAMES) {
		path[n++] = row;
		row = r->nodes[row].parent;
	}
	uint32_t here = row != NO_PARENT && r->nodes[row].place ? r->nodes[row].place - 1 : 0;
	while (n && !err) {
		struct node *node = &r->nodes[path[--n]];
		if (node->kind != NODE_ROOT)
			err = cam_tree_intern(&r->out.t, &r->out.t.places, here, node->location,
					      &here);
		if (!err)
			node->place = here + 1;
	}
	*out = here;
	return err;
}

static int convert(struct reader *r)
{
	struct cam_replay_sample s = {.cpu = CAM_CPU_NONE};
	int64_t at = r->start_ns, delta, last = 0;
	int err = cam_replay_task(&r->out, CAM_PID_NONE, CAM_PID_NONE, CAM_TEXT("javascript"),
				  &s.task);
	if (!err)
		err = cam_replay_etype(&r->out, CAM_TEXT("wall-clock"), 0, true, &s.etype);
	join(r);
	size_t n = r->n_samples < r->n_deltas ? r->n_samples : r->n_deltas;
	r->bad += r->n_samples != r->n_deltas;
	for (size_t i = 0; i < n && !err; i++) {
		uint32_t row = find(r, r->samples[i]);
		if (__builtin_add_overflow(at, r->deltas[i], &at) || at < 0)
			at = 0;
		delta = i + 1 < n ? r->deltas[i + 1] : last;
		last = delta;
		s.time_ns = (uint64_t)at;
		s.weight = delta > 0 ? (uint64_t)delta : 0;
		if (row == CAM_INDEX_NONE) {
			r->bad++;
		} else if (r->nodes[row].kind == NODE_IDLE) {
			cam_replay_idle(&r->out, s.time_ns);
		} else {
			err = place(r, row, &s.stack);
			if (!err)
				err = cam_replay_add(&r->out, &s);
		}
	}
	return err;
}

int cam_cpuprofile_read(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st)
{
	*st = (struct cam_import_stats){.clock = CAM_CLOCK_FOREIGN};
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	cam_json_in_init(&r->j, in);
	int err = cam_replay_init(&r->out, CAM_REPLAY_BYTES);
	r->out.began_ns = o ? o->began_ns : 0;
	if (!err)
		err = read_file(r);
	bool full = err == -E2BIG;
	if (!err || full)
		err = convert(r);
	full |= err == -E2BIG;
	bool whole = r->j.token != CAM_JSON_BAD && !r->j.depth && !r->bad && !full;
	if (!err || full)
		err = cam_replay_finish(&r->out, "cpuprofile", in, whole, sink, st);
	st->long_lines += r->j.cut_texts;
	cam_json_in_free(&r->j);
	cam_replay_free(&r->out);
	cam_index_free(&r->index);
	free(r->nodes);
	free(r->children);
	free(r->samples);
	free(r->deltas);
	free(r);
	return err;
}
