// SPDX-License-Identifier: Apache-2.0
/*
 * Loads places and locations, and decodes their column; window_write_place.c has the layout.
 *
 * Depth is bounded by the tree's: a place's parent is always a place of its node's parent, also
 * where the chunk only names it.
 */
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

static int load_location_rows(struct cam_reader *r, struct cam_rd *rd,
			      const struct cam_dir_chunk *c)
{
	struct cam_stream_in s[CAM_LOCATION_STREAMS];
	int err = cam_streams_open(s, rd, CAM_LOCATION_STREAMS, cam_location_contexts,
				   cam_location_splits);
	if (err)
		return err;
	uint64_t *last_of = calloc((size_t)r->dir.n_functions + 1, sizeof(*last_of));
	uint64_t last_base = 0;
	int64_t func = 0;
	if (!last_of)
		err = -ENOMEM;
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_location *l = &r->t.locations[c->first + i];
		func += cam_unzigzag(cam_stream_get(&s[CAM_LOCATION_FUNC], 0) & UINT32_MAX);
		if (func < 0 || func >= r->dir.n_functions) {
			err = -EBADMSG;
			break;
		}
		l->func.v = (uint32_t)func;
		l->func_offset = cam_stream_get(&s[CAM_LOCATION_OFFSET], 0) - 1;
		uint64_t base = last_of[func] ? last_of[func] : last_base;
		base += (uint64_t)cam_unzigzag(
			cam_stream_get(&s[CAM_LOCATION_BASE], last_of[func] != 0));
		l->address = base + (l->func_offset == CAM_OFFSET_NONE ? 0 : l->func_offset);
		uint64_t module = cam_stream_get(&s[CAM_LOCATION_MODULE], 0);
		if (module > r->dir.n_modules)
			err = -EBADMSG;
		l->module.v = module ? (uint32_t)module - 1 : r->t.functions[func].module.v;
		last_of[func] = last_base = base;
	}
	int end = cam_streams_close(s, CAM_LOCATION_STREAMS);
	free(last_of);
	return err ? err : end;
}

static int damage_locations(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	for (uint32_t i = 0; i < c->rows; i++)
		r->t.locations[c->first + i] = r->t.locations[r->dir.n_locations];
	return 0;
}

/* One more than the file has: [damaged]. */
int cam_load_locations(struct cam_reader *r)
{
	struct cam_tables *t = &r->t;
	size_t n = r->dir.n_locations;
	if (!r->dir.n_places)
		return 0;
	int err = cam_reader_load(r, CAM_PART_NAMES);
	if (!err)
		err = cam_vec_reserve(&t->locations, &t->cap_locations, n + 1,
				      sizeof(*t->locations), SIZE_MAX / sizeof(*t->locations));
	if (err)
		return err;
	/* The places' rows too, one more for [damaged]. */
	err = cam_reader_reserve_tree(&t->places, (size_t)r->dir.n_places + 1);
	if (err)
		return err;
	memset(t->locations, 0, n * sizeof(*t->locations));
	t->locations[n] = (struct cam_location){.func = {cam_reader_damaged_func(r)},
						.func_offset = CAM_OFFSET_NONE};
	t->n_locations = n + 1;
	return cam_reader_each_chunk(r, CAM_CHUNK_LOCATIONS, load_location_rows, damage_locations);
}

/* The chunk of places being read. */
struct chunk {
	struct cam_reader *r;
	const struct cam_dir_chunk *d;
	struct cam_stream_in s[CAM_PLACE_STREAMS];
	uint32_t path[CAM_MAX_STACK_FRAMES]; /* to its first node, the deepest first */
	uint32_t path_first[CAM_MAX_STACK_FRAMES], path_places[CAM_MAX_STACK_FRAMES];
	uint32_t n_path;
	uint64_t next_location, next_place;
};

static int read_head(struct chunk *c, struct cam_rd *rd)
{
	struct cam_reader *r = c->r;
	const struct cam_dir_section *section = &r->dir.sections[CAM_CHUNK_PLACES];
	c->next_location = cam_rd_varint(rd);
	for (uint32_t x = c->d->first ? r->t.stacks.parent[c->d->first] : 0; x;
	     x = r->t.stacks.parent[x]) {
		if (c->n_path == CAM_MAX_STACK_FRAMES)
			return -EBADMSG;
		c->path[c->n_path++] = x;
	}
	for (uint32_t i = c->n_path; i-- > 0;) {
		uint64_t first = cam_rd_varint(rd), n = cam_rd_varint(rd);
		uint32_t node = c->path[i];
		const struct cam_dir_chunk *of = &section->chunks[r->place_chunk_of[node]];
		/* As its own chunk has it; where that is lost, at least inside it. */
		bool good =
			r->node_places[node]
				? first == r->node_first_place[node] && n == r->node_places[node]
				: n && first >= of->first_place &&
					  first < of->first_place + of->places &&
					  n <= of->first_place + of->places - first;
		if (cam_rd_error(rd) || !good || first >= c->d->first_place)
			return -EBADMSG;
		c->path_first[i] = (uint32_t)first;
		c->path_places[i] = (uint32_t)n;
	}
	return cam_rd_error(rd) ? -EBADMSG : 0;
}

/* The places of the node above. */
static int parent_places(struct chunk *c, uint32_t node, uint32_t *first, uint32_t *n)
{
	struct cam_reader *r = c->r;
	uint32_t parent = r->t.stacks.parent[node];
	*first = 0;
	*n = 1;
	if (parent == 0)
		return 0;
	if (parent >= c->d->first) {
		*first = r->node_first_place[parent];
		*n = r->node_places[parent];
		return *n ? 0 : -EBADMSG;
	}
	for (uint32_t i = 0; i < c->n_path; i++) {
		if (c->path[i] != parent)
			continue;
		*first = c->path_first[i];
		*n = c->path_places[i];
		return 0;
	}
	return -EBADMSG;
}

static int read_node(struct chunk *c, uint32_t node)
{
	struct cam_reader *r = c->r;
	uint64_t end = (uint64_t)c->d->first_place + c->d->places;
	uint64_t more = cam_stream_get(&c->s[CAM_PLACE_NUMBER], 0);
	uint32_t first, n;
	if (more >= end - c->next_place || (node == 0 && more) ||
	    parent_places(c, node, &first, &n))
		return -EBADMSG;
	r->node_first_place[node] = (uint32_t)c->next_place;
	r->node_places[node] = (uint32_t)more + 1;
	for (uint64_t i = 0; i <= more; i++, c->next_place++) {
		if (node == 0)
			continue;
		uint64_t at =
			n > 1 ? cam_stream_get(&c->s[CAM_PLACE_PARENT], cam_choice_ctx(n)) : 0;
		uint64_t back = cam_stream_get(&c->s[CAM_PLACE_LOCATION], 0);
		uint64_t location = c->next_location - back;
		if (at >= n || back > c->next_location || location >= r->dir.n_locations)
			return -EBADMSG;
		r->t.places.parent[c->next_place] = first + (uint32_t)at;
		r->t.places.item[c->next_place] = (uint32_t)location;
		c->next_location += back == 0;
	}
	return 0;
}

static int read_chunk(struct cam_reader *r, const struct cam_chunk_in *bytes,
		      const struct cam_dir_chunk *d)
{
	struct cam_rd rd = cam_rd_make(bytes->data, bytes->n);
	struct chunk *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct chunk){.r = r, .d = d, .next_place = d->first_place};
	int err = read_head(c, &rd);
	if (!err)
		err = cam_streams_open(c->s, &rd, CAM_PLACE_STREAMS, cam_place_contexts,
				       cam_place_splits);
	if (!err) {
		for (uint32_t i = 0; i < d->rows && !err; i++)
			err = read_node(c, d->first + i);
		int end = cam_streams_close(c->s, CAM_PLACE_STREAMS);
		err = err ? err : end;
	}
	if (!err && (c->next_place != (uint64_t)d->first_place + d->places || cam_rd_left(&rd)))
		err = -EBADMSG;
	free(c);
	return err;
}

/* The place [damaged], behind those of the file. */
static void make_damaged_place(struct cam_reader *r)
{
	r->damaged_place = r->dir.n_places;
	r->t.places.parent[r->damaged_place] = 0;
	r->t.places.item[r->damaged_place] = r->dir.n_locations;
}

/* Places of a chunk that is lost: their rows stay, below the root. */
static void lose_chunk(struct cam_reader *r, size_t k)
{
	const struct cam_dir_chunk *d = &r->dir.sections[CAM_CHUNK_PLACES].chunks[k];
	make_damaged_place(r);
	r->place_lost[k] = 1;
	for (uint32_t i = 0; i < d->rows; i++)
		r->node_places[d->first + i] = 0;
	for (uint32_t i = 0; i < d->places; i++) {
		uint32_t place = d->first_place + i;
		r->t.places.parent[place] = 0;
		r->t.places.item[place] = place ? r->dir.n_locations : CAM_NONE;
	}
}

static int make_rows(struct cam_reader *r)
{
	size_t n_nodes = (size_t)r->dir.n_nodes + 1;
	if (!r->node_places)
		r->node_places = calloc(n_nodes, sizeof(uint32_t));
	if (!r->node_first_place)
		r->node_first_place = calloc(n_nodes, sizeof(uint32_t));
	if (!r->place_chunk_of)
		r->place_chunk_of = calloc(n_nodes, sizeof(uint32_t));
	if (!r->place_lost)
		r->place_lost = calloc(r->dir.sections[CAM_CHUNK_PLACES].n + 1, 1);
	if (!r->node_places || !r->node_first_place || !r->place_chunk_of || !r->place_lost)
		return -ENOMEM;
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_PLACES];
	for (uint32_t k = 0; k < s->n; k++)
		for (uint32_t i = 0; i < s->chunks[k].rows; i++)
			r->place_chunk_of[s->chunks[k].first + i] = k;
	return 0;
}

static bool tree_lost(const struct cam_reader *r, uint32_t node)
{
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_TREE];
	for (size_t k = 0; k < s->n; k++)
		if (node - s->chunks[k].first < s->chunks[k].rows)
			return r->bad[CAM_CHUNK_TREE][k];
	return true;
}

int cam_load_places(struct cam_reader *r)
{
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_PLACES];
	struct cam_chunk_in bytes = {0};
	if (!r->dir.n_places)
		return 0;
	int err = cam_reader_load(r, CAM_PART_TREE | CAM_PART_LOCATIONS);
	if (!err)
		err = make_rows(r);
	for (size_t k = 0; k < s->n && !err; k++) {
		err = cam_reader_chunk(r, CAM_CHUNK_PLACES, k, &bytes);
		/* Without the tree its places cannot be placed, but that is the tree's damage. */
		if (!err && s->chunks[k].rows && tree_lost(r, s->chunks[k].first)) {
			lose_chunk(r, k);
			continue;
		}
		if (!err)
			err = read_chunk(r, &bytes, &s->chunks[k]);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_PLACES, k);
			lose_chunk(r, k);
			err = 0;
		}
	}
	free(bytes.data);
	return err;
}

static int read_places(struct cam_reader *r, struct cam_stream_in *in, const uint32_t *order,
		       uint32_t n_order)
{
	struct cam_span_in *s = r->span;
	for (uint32_t k = 0; k < n_order; k++) {
		uint32_t i = order[k], n = r->node_places[s->stack[i]];
		uint64_t at = n > 1 ? cam_stream_get(in, cam_choice_ctx(n)) : 0;
		if (at >= n)
			return -EBADMSG;
		s->place[i] = r->node_first_place[s->stack[i]] + (uint32_t)at;
	}
	return 0;
}

int cam_span_place(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	size_t n_chunks = r->dir.sections[CAM_CHUNK_PLACES].n;
	memset(s->place, 0, s->span->samples * sizeof(*s->place));
	if (!r->dir.n_places)
		return 0;
	for (uint32_t i = 0; i < s->span->samples; i++) {
		uint32_t node = s->stack[i];
		bool lost = node >= r->dir.n_nodes || !r->node_places[node];
		s->key[i] = lost ? CAM_NONE : r->place_chunk_of[node];
		if (lost)
			s->place[i] = r->damaged_place;
	}
	int err = cam_span_sort(r, n_chunks);
	for (uint32_t k = 0; k < n_chunks && !err; k++) {
		struct cam_stream_in in;
		const uint32_t *order = s->order + s->starts[k];
		uint32_t n = s->starts[k + 1] - s->starts[k];
		size_t number = s->number * n_chunks + k;
		/* How many places its stacks have is not known: nothing to decode. */
		if (r->place_lost[k])
			continue;
		err = cam_column_open(r, CAM_CHUNK_PLACE, number, CAM_TABLE_PLACE, &in);
		if (!err)
			err = cam_column_close(r, CAM_CHUNK_PLACE, number, &in,
					       read_places(r, &in, order, n));
		if (err != -EBADMSG)
			continue;
		err = 0;
		make_damaged_place(r);
		for (uint32_t i = 0; i < n; i++)
			s->place[order[i]] = r->damaged_place;
	}
	return err;
}
