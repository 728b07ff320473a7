// SPDX-License-Identifier: Apache-2.0
/* Loads leaf offsets and decodes their column; window_write_leaf.c has the layout. */
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

struct leaf {
	uint64_t offset, count;
};

static int by_use(const void *x, const void *y)
{
	const struct leaf *a = x, *b = y;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int load_function(struct cam_reader *r, struct cam_stream_in *s, uint32_t f,
			 struct leaf *room)
{
	uint32_t n = r->dir.leaf_sizes[f];
	uint64_t next = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t step = cam_stream_get(&s[0], i > 0);
		/* Ascending, and the last one may be the largest of all. */
		if (i && (next == 0 || step > UINT64_MAX - next))
			return -EBADMSG;
		room[i] = (struct leaf){next + step, cam_stream_get(&s[1], 0)};
		next = room[i].offset + 1;
	}
	if (n > 1)
		qsort(room, n, sizeof(*room), by_use);
	/* Offset + 1 in the file: 0 becomes CAM_OFFSET_NONE. */
	for (uint32_t i = 0; i < n; i++)
		r->leaf_offsets[r->leaf_start[f] + i] = room[i].offset - 1;
	return 0;
}

static int load_leaf_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c)
{
	struct cam_stream_in s[CAM_LEAF_STREAMS];
	uint32_t most = 0;
	for (uint32_t i = 0; i < c->rows; i++)
		if (r->dir.leaf_sizes[c->first + i] > most)
			most = r->dir.leaf_sizes[c->first + i];
	int err = cam_streams_open(s, rd, CAM_LEAF_STREAMS, cam_leaf_contexts, cam_leaf_splits);
	if (err)
		return err;
	struct leaf *room = malloc(((size_t)most + 1) * sizeof(*room));
	if (!room)
		err = -ENOMEM;
	for (uint32_t i = 0; i < c->rows && !err; i++)
		err = load_function(r, s, c->first + i, room);
	int end = cam_streams_close(s, CAM_LEAF_STREAMS);
	free(room);
	return err ? err : end;
}

static int damage_leaves(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	uint32_t from = r->leaf_start[c->first], to = r->leaf_start[c->first + c->rows];
	for (uint32_t i = from; i < to; i++)
		r->leaf_offsets[i] = CAM_OFFSET_NONE;
	return 0;
}

int cam_load_leaves(struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	int err = cam_reader_load(r, CAM_PART_CLASSES);
	if (err || !d->leaf_sizes)
		return err;
	size_t n = (size_t)d->n_functions + 1, sum = 0;
	if (!r->leaf_start)
		r->leaf_start = calloc(n, sizeof(uint32_t));
	if (!r->leaf_start)
		return -ENOMEM;
	for (uint32_t f = 0; f < d->n_functions; f++) {
		sum += d->leaf_sizes[f];
		r->leaf_start[f + 1] = (uint32_t)sum;
	}
	if (!r->leaf_offsets)
		r->leaf_offsets = calloc(sum + 1, sizeof(uint64_t));
	return r->leaf_offsets
		       ? cam_reader_each_chunk(r, CAM_CHUNK_LEAVES, load_leaf_rows, damage_leaves)
		       : -ENOMEM;
}

static int read_leaves(struct cam_reader *r, struct cam_stream_in *in, const uint32_t *order,
		       uint32_t n_order)
{
	struct cam_span_in *s = r->span;
	for (uint32_t k = 0; k < n_order; k++) {
		uint32_t i = order[k], func = r->t.stacks.item[s->stack[i]];
		uint32_t n = r->dir.leaf_sizes[func];
		uint64_t at = n > 1 ? cam_stream_get(in, cam_choice_ctx(n)) : 0;
		if (at >= n)
			return -EBADMSG;
		s->leaf[i] = r->leaf_offsets[r->leaf_start[func] + at];
	}
	return 0;
}

int cam_span_leaf(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	for (uint32_t i = 0; i < s->span->samples; i++) {
		uint32_t k = r->rank_tree[s->rank[i]];
		s->leaf[i] = CAM_OFFSET_NONE;
		/* The leaf functions of a lost tree chunk are not known: nothing to decode. */
		s->key[i] = s->stack[i] && !r->bad[CAM_CHUNK_TREE][k] ? k : CAM_NONE;
	}
	if (!r->dir.leaf_sizes)
		return 0;
	int err = cam_span_sort(r, r->dir.n_trees);
	for (uint32_t k = 0; k < r->dir.n_trees && !err; k++) {
		struct cam_stream_in in;
		const uint32_t *order = s->order + s->starts[k];
		uint32_t n = s->starts[k + 1] - s->starts[k];
		size_t number = s->number * r->dir.n_trees + k;
		if (r->bad[CAM_CHUNK_TREE][k])
			continue;
		err = cam_column_open(r, CAM_CHUNK_LEAF, number, CAM_TABLE_LEAF, &in);
		if (!err)
			err = cam_column_close(r, CAM_CHUNK_LEAF, number, &in,
					       read_leaves(r, &in, order, n));
		if (err != -EBADMSG)
			continue;
		err = 0;
		for (uint32_t i = 0; i < n; i++)
			s->leaf[order[i]] = CAM_OFFSET_NONE;
	}
	return err;
}
