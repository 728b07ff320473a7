// SPDX-License-Identifier: Apache-2.0
/*
 * Places: the same stacks with every frame's address. Each node of the tree has one or more
 * places; a sample names one of those of its stack, by use.
 *
 * A chunk of places covers a range of nodes inside one tree chunk. Varints: the next location never
 * used before, then for each node on the path to the first one (root excluded): its first place,
 * its number of places. Streams: places of a node - 1; a place's parent among those of the
 * parent node, where that has several (context: how many); its location, 0: the next one, else the
 * distance back from it.
 *
 * Locations, a chunk, streams: function (difference to the row before), offset in it + 1 (0: not
 * known), address - offset (difference to the function's last one in the chunk, or to the row
 * before), module (0: the function's, else 1 + module).
 */
#include "store/window_columns.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

struct cam_places {
	uint32_t *node_of; /* per place of the tables: node of the shape + 1; 0: unused */
	uint32_t *count;   /* samples */
	uint32_t *order;   /* place of the file → of the tables */
	uint32_t n;
	uint32_t *shape_of;  /* node of the file → of the shape */
	uint32_t *first;     /* per node of the file: its first place */
	uint32_t *location;  /* per location of the tables: its number + 1 */
	uint32_t *locations; /* and back */
	uint32_t n_locations;
	uint32_t *func; /* per location of the file: function of the file */
	uint32_t met,
		next; /* the first places of the file, and the location that is the next one behind them */
};

static int meet_places(struct cam_writer *w, struct cam_places *p)
{
	const struct cam_tree *places = &w->t->places;
	p->node_of[0] = 1;
	p->n = 1;
	for (size_t i = 0; i < w->rows.n; i++) {
		uint32_t place = w->rows.place[i], node = w->shape.at_of[w->rows.stack[i]];
		p->count[place]++;
		for (; !p->node_of[place]; place = places->parent[place]) {
			if (!node)
				return -EBADMSG;
			p->node_of[place] = node + 1;
			p->n++;
			node = w->shape.tree.parent[node];
		}
		if (p->node_of[place] != node + 1)
			return -EBADMSG;
	}
	return p->n <= CAM_WINDOW_ROWS_MAX ? 0 : -E2BIG;
}

struct sort_key {
	uint32_t node, count, place;
};

static int compare_keys(const void *x, const void *y)
{
	const struct sort_key *a = x, *b = y;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* By node of the file, then by use. */
static int number_places(struct cam_writer *w, struct cam_places *p)
{
	struct sort_key *keys = malloc(((size_t)p->n + 1) * sizeof(*keys));
	uint32_t n = 0;
	if (!keys)
		return -ENOMEM;
	for (uint32_t x = 0; x < w->t->places.n; x++)
		if (p->node_of[x])
			keys[n++] = (struct sort_key){w->tree.node_id[p->node_of[x] - 1],
						      p->count[x], x};
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = keys[i].place, node = p->node_of[place] - 1;
		p->order[i] = place;
		w->place_number[place] = i;
		if (!w->node_places[node])
			p->first[keys[i].node] = i;
		w->place_index[place] = w->node_places[node]++;
	}
	p->first[w->dir.n_nodes] = n;
	free(keys);
	return 0;
}

static void number_locations(struct cam_writer *w, struct cam_places *p)
{
	for (uint32_t i = 1; i < p->n; i++) {
		uint32_t place = p->order[i], loc = w->t->places.item[place];
		if (p->location[loc])
			continue;
		uint32_t key = w->shape.tree.func[p->node_of[place] - 1];
		p->locations[p->n_locations] = loc;
		p->func[p->n_locations] = w->func_id[key];
		p->location[loc] = ++p->n_locations;
	}
}

/* The location that is the next one at the first place of a node. Chunks come in order: each place is looked at once. */
static uint32_t next_at(const struct cam_writer *w, struct cam_places *p, uint32_t node)
{
	for (; p->met < p->first[node]; p->met++)
		p->next += p->location[w->t->places.item[p->order[p->met]]] == p->next;
	return p->next;
}

static void put_head(struct cam_writer *w, struct cam_buf *out, uint32_t from, uint32_t next_loc)
{
	const struct cam_places *p = w->places;
	const struct cam_tree_shape *t = &w->shape.tree;
	uint32_t path[CAM_MAX_STACK_FRAMES];
	uint32_t n = 0;
	cam_buf_put_varint(out, next_loc);
	for (uint32_t x = from ? t->parent[p->shape_of[from]] : 0; x; x = t->parent[x])
		path[n++] = w->tree.node_id[x];
	while (n--) {
		cam_buf_put_varint(out, p->first[path[n]]);
		cam_buf_put_varint(out, p->first[path[n] + 1] - p->first[path[n]]);
	}
}

static int put_places(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_places *p = w->places;
	struct cam_stream_out s[CAM_PLACE_STREAMS];
	uint32_t next = next_at(w, p, from);
	int err = 0;
	for (unsigned i = 0; i < CAM_PLACE_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_place_splits[i]);
	put_head(w, out, from, next - 1);
	for (uint32_t node = from; node < to; node++) {
		uint32_t n = p->first[node + 1] - p->first[node];
		cam_stream_put(&s[CAM_PLACE_NUMBER], 0, n - 1);
		for (uint32_t i = p->first[node]; i < p->first[node + 1] && node; i++) {
			uint32_t parent = w->t->places.parent[p->order[i]];
			uint32_t of = w->node_places[p->node_of[parent] - 1];
			uint32_t loc = p->location[w->t->places.item[p->order[i]]];
			if (of > 1)
				cam_stream_put(&s[CAM_PLACE_PARENT], cam_choice_ctx(of),
					       w->place_index[parent]);
			cam_stream_put(&s[CAM_PLACE_LOCATION], 0, next - loc);
			next += loc == next;
		}
	}
	for (unsigned i = 0; i < CAM_PLACE_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&s[i], cam_place_contexts[i], out);
		cam_stream_out_free(&s[i]);
	}
	return err;
}

/* Chunks inside one tree chunk, [from, end) of the nodes. */
static int cut_places(struct cam_writer *w, uint32_t from, uint32_t end)
{
	const struct cam_places *p = w->places;
	struct cam_buf out = CAM_BUF(CAM_CHUNK_BYTES_MAX);
	uint32_t target = w->chunk_bytes / 8;
	int err = 0;
	for (uint32_t to; from < end && !err; from = to) {
		for (;;) {
			to = from + 1;
			while (to < end && p->first[to + 1] - p->first[from] <= target)
				to++;
			cam_buf_clear(&out);
			err = put_places(w, from, to, &out);
			if (err || to - from == 1 ||
			    out.len <= w->chunk_bytes - CAM_CHUNK_HEAD_BYTES)
				break;
			target /= 2;
		}
		for (uint32_t node = from; node < to && !err; node++)
			w->node_place_chunk[p->shape_of[node]] =
				(uint32_t)w->dir.sections[CAM_CHUNK_PLACES].n;
		if (!err)
			err = cam_writer_add_chunk(w, CAM_CHUNK_PLACES, &out, to - from);
		if (!err) {
			struct cam_dir_section *s = &w->dir.sections[CAM_CHUNK_PLACES];
			s->chunks[s->n - 1].places = p->first[to] - p->first[from];
		}
	}
	cam_buf_free(&out);
	return err;
}

static int put_locations(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	const struct cam_places *p = w->places;
	struct cam_stream_out s[CAM_LOCATION_STREAMS];
	uint64_t *last_of = calloc((size_t)w->dir.n_functions + 1, sizeof(*last_of));
	uint64_t last_base = 0;
	int64_t last_func = 0;
	int err = last_of ? 0 : -ENOMEM;
	for (unsigned i = 0; i < CAM_LOCATION_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_location_splits[i]);
	for (uint32_t i = from; i < to && !err; i++) {
		const struct cam_location *l = &w->t->locations[p->locations[i]];
		uint32_t func = p->func[i];
		uint32_t own = w->t->functions[w->functions[func]].module.v;
		bool known = l->func_offset != CAM_OFFSET_NONE;
		uint64_t base = l->address - (known ? l->func_offset : 0);
		uint64_t last = last_of[func] ? last_of[func] : last_base;
		cam_stream_put(&s[CAM_LOCATION_FUNC], 0, cam_zigzag(func - last_func));
		cam_stream_put(&s[CAM_LOCATION_OFFSET], 0, l->func_offset + 1);
		cam_stream_put(&s[CAM_LOCATION_BASE], last_of[func] != 0,
			       cam_zigzag((int64_t)(base - last)));
		cam_stream_put(&s[CAM_LOCATION_MODULE], 0,
			       l->module.v == own ? 0 : 1 + w->shape.module_of[l->module.v]);
		last_func = func;
		last_of[func] = last_base = base;
	}
	for (unsigned i = 0; i < CAM_LOCATION_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&s[i], cam_location_contexts[i], out);
		cam_stream_out_free(&s[i]);
	}
	free(last_of);
	return err;
}

static int write_places(struct cam_writer *w, struct cam_places *p)
{
	const struct cam_dir_section *trees = &w->dir.sections[CAM_CHUNK_TREE];
	uint32_t from = 0;
	int err = meet_places(w, p);
	if (!err)
		err = number_places(w, p);
	if (err)
		return err;
	for (uint32_t x = 0; x < w->dir.n_nodes; x++)
		p->shape_of[w->tree.node_id[x]] = x;
	number_locations(w, p);
	w->dir.n_places = p->n;
	w->dir.n_locations = p->n_locations;
	for (size_t k = 0; k < trees->n && !err; k++) {
		err = cut_places(w, from, from + trees->chunks[k].rows);
		from += trees->chunks[k].rows;
	}
	return err ? err : cam_writer_cut(w, CAM_CHUNK_LOCATIONS, p->n_locations, put_locations);
}

int cam_write_places(struct cam_writer *w)
{
	size_t n_places = w->t->places.n + 1, n_nodes = (size_t)w->dir.n_nodes + 1;
	size_t n_locations = w->t->n_locations + 1;
	if (!w->rows.place)
		return 0;
	struct cam_places p = {
		.node_of = calloc(n_places, sizeof(uint32_t)),
		.count = calloc(n_places, sizeof(uint32_t)),
		.order = calloc(n_places, sizeof(uint32_t)),
		.shape_of = calloc(n_nodes, sizeof(uint32_t)),
		.first = calloc(n_nodes, sizeof(uint32_t)),
		.location = calloc(n_locations, sizeof(uint32_t)),
		.locations = calloc(n_locations, sizeof(uint32_t)),
		.func = calloc(n_locations, sizeof(uint32_t)),
		.met = 1,
		.next = 1,
	};
	w->places = &p;
	w->place_number = calloc(n_places, sizeof(uint32_t));
	w->place_index = calloc(n_places, sizeof(uint32_t));
	w->node_places = calloc(n_nodes, sizeof(uint32_t));
	w->node_place_chunk = calloc(n_nodes, sizeof(uint32_t));
	int err = -ENOMEM;
	if (p.node_of && p.count && p.order && p.shape_of && p.first && p.location && p.locations &&
	    p.func && w->place_number && w->place_index && w->node_places && w->node_place_chunk)
		err = write_places(w, &p);
	void *const arrays[] = {p.node_of, p.count,    p.order,	    p.shape_of,
				p.first,   p.location, p.locations, p.func};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	w->places = NULL;
	return err;
}
