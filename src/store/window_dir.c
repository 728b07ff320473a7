// SPDX-License-Identifier: Apache-2.0
/*
 * The directory: what both sides derive from it. Its layout, all numbers varints unless said:
 *
 *	compat, ro_compat, incompat
 *	boot id (16 bytes), clock, flags, time unit, start, end - start, sequence, realtime (u64), its
 *	uncertainty, lost, events, CPUs, host (string)
 *	samples, period, text bytes, divisor of the small tree
 *	strings, modules, functions, tasks, processes, nodes, pairs, locations, places
 *	CPUs with samples: number, then id - (previous + 1)
 *	event types: number, then name, period, flags (1 has weight, 2 varies), weight
 *	groups: number, then event type, comm, sole task + 1
 *	per module: functions
 *	tree chunks: number; classes: a stream set (below)
 *	leaf sizes: 0, or 1 and a stream of one value a function
 *	tables of the columns: for each context its frequencies
 *	sections: number, then kind, chunks, and per chunk bytes, (tables, details) rows, (places) places
 *	spans: number, then timeless | (second + 1 - end of the previous) << 1, seconds, samples, first
 *	task - previous, detail chunks
 *	anything that follows belongs to a compatible feature and is ignored
 *
 * Classes, group by group: number of classes (stream 0), then for each, counts ascending: count -
 * (previous + 1) (stream 1, context: not the first), pairs in each tree chunk (stream 2, context
 * by chunk 0 or later).
 *
 * Why classes and not the counts in the tree: ranks, groups and the model of the rank column must
 * not depend on any one tree chunk. With a chunk lost, its ranks are still known to be its own,
 * and their groups and counts too: only which stack they were is gone.
 */
#include "store/window_dir.h"

#include "base/crc32c.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/*                                               counts time task weight leaf place */
const uint8_t cam_column_splits[CAM_COLUMN_TABLES] = {5, 7, 6, 5, 6, 6};
const uint8_t cam_column_contexts[CAM_COLUMN_TABLES] = {4, 5, 3, 1, 16, 16};

void cam_dir_free(struct cam_dir *d)
{
	free(d->host);
	free(d->cpus);
	free(d->etypes);
	free(d->groups);
	free(d->module_start);
	free(d->classes);
	free(d->class_pairs);
	free(d->leaf_sizes);
	free(d->tables);
	free(d->spans);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		free(d->sections[k].chunks);
	*d = (struct cam_dir){0};
}

int cam_dir_add_chunk(struct cam_dir *d, enum cam_chunk_kind kind, uint32_t bytes, uint32_t rows)
{
	struct cam_dir_section *s = &d->sections[kind];
	int err = cam_vec_reserve(&s->chunks, &s->cap, s->n + 1, sizeof(*s->chunks), 1u << 26);
	if (err)
		return err;
	s->chunks[s->n++] = (struct cam_dir_chunk){.bytes = bytes, .rows = rows};
	return 0;
}

int cam_dir_add_span(struct cam_dir *d, const struct cam_dir_span *span)
{
	int err = cam_vec_reserve(&d->spans, &d->cap_spans, d->n_spans + 1, sizeof(*d->spans),
				  1u << 26);
	if (err)
		return err;
	d->spans[d->n_spans++] = *span;
	return 0;
}

int cam_dir_add_class(struct cam_dir *d, uint32_t group, uint32_t count)
{
	size_t numbers = (d->n_classes + 1) * d->n_trees;
	int err = cam_vec_reserve(&d->classes, &d->cap_classes, d->n_classes + 1,
				  sizeof(*d->classes), CAM_WINDOW_ROWS_MAX);
	if (!err)
		err = cam_vec_reserve(&d->class_pairs, &d->cap_class_pairs, numbers,
				      sizeof(*d->class_pairs), CAM_WINDOW_ROWS_MAX);
	if (err)
		return err;
	memset(d->class_pairs + numbers - d->n_trees, 0, d->n_trees * sizeof(*d->class_pairs));
	d->classes[d->n_classes++] = (struct cam_dir_class){.group = group, .count = count};
	return 0;
}

static int compare_classes(const void *x, const void *y)
{
	const struct cam_dir_class *a = *(struct cam_dir_class *const *)x;
	const struct cam_dir_class *b = *(struct cam_dir_class *const *)y;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

int cam_dir_derive_ranks(struct cam_dir *d)
{
	struct cam_dir_class **order = malloc((d->n_classes + 1) * sizeof(struct cam_dir_class *));
	uint64_t rank = 0, samples = 0;
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_classes; i++)
		order[i] = &d->classes[i];
	qsort(order, d->n_classes, sizeof(struct cam_dir_class *), compare_classes);
	for (size_t i = 0; i < d->n_classes; i++) {
		struct cam_dir_class *c = order[i];
		uint64_t pairs = 0;
		for (size_t k = 0; k < d->n_trees; k++)
			pairs += d->class_pairs[(size_t)(c - d->classes) * d->n_trees + k];
		c->first_rank = (uint32_t)rank;
		c->pairs = (uint32_t)pairs;
		rank += pairs;
		samples += pairs * c->count;
		if (rank > d->n_pairs || samples > d->info.samples)
			break;
	}
	free(order);
	return rank == d->n_pairs && samples == d->info.samples ? 0 : -EBADMSG;
}

int cam_dir_place_chunks(struct cam_dir *d, uint64_t at)
{
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		struct cam_dir_section *s = &d->sections[k];
		uint64_t row = 0, places = 0;
		for (size_t i = 0; i < s->n; i++) {
			s->chunks[i].offset = at;
			s->chunks[i].first = (uint32_t)row;
			at += s->chunks[i].bytes;
			row += s->chunks[i].rows;
			s->chunks[i].first_place = (uint32_t)places;
			places += s->chunks[i].places;
			if (row > CAM_WINDOW_ROWS_MAX || places > CAM_WINDOW_ROWS_MAX)
				return -EBADMSG;
		}
	}
	return 0;
}

/*
 * Ranks of one token are neighbours, so are ranks of one class: both are walked at once. The
 * classes are looked up by rank, whatever the order they are kept in.
 */
void cam_dir_rank_model(const struct cam_dir *d, struct cam_rans_freq *out)
{
	uint64_t hist[256] = {0};
	for (size_t i = 0; i < d->n_classes; i++) {
		const struct cam_dir_class *c = &d->classes[i];
		uint64_t rank = c->first_rank, end = rank + c->pairs;
		while (rank < end) {
			uint32_t token = cam_token_of(rank, CAM_RANK_SPLIT);
			uint64_t next = cam_token_base(token, CAM_RANK_SPLIT) +
					((uint64_t)1 << cam_token_bits(token, CAM_RANK_SPLIT));
			uint64_t stop = next < end ? next : end;
			hist[token] += (stop - rank) * c->count;
			rank = stop;
		}
	}
	cam_rans_scale(hist, out);
}

uint32_t cam_chunk_crc(enum cam_chunk_kind kind, uint32_t number, const void *content, size_t n)
{
	uint8_t head[8];
	for (unsigned i = 0; i < 4; i++) {
		head[i] = (uint8_t)(kind >> (8 * i));
		head[4 + i] = (uint8_t)(number >> (8 * i));
	}
	return cam_crc32c(cam_crc32c(0, head, sizeof(head)), content, n);
}

uint64_t cam_dir_least_bytes(const struct cam_dir *d)
{
	/* What no section of its own counts. */
	const uint64_t rows[] = {d->n_pairs, d->n_places, d->n_groups, d->n_classes * d->n_trees};
	uint64_t samples = d->info.samples / CAM_SAMPLES_PER_BYTE;
	uint64_t least = d->text_bytes / CAM_TEXT_PER_BYTE, leaves = 0;
	least = samples > least ? samples : least;
	for (uint32_t f = 0; d->leaf_sizes && f < d->n_functions; f++)
		leaves += d->leaf_sizes[f];
	least = leaves / CAM_ROWS_PER_BYTE > least ? leaves / CAM_ROWS_PER_BYTE : least;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i] / CAM_ROWS_PER_BYTE > least)
			least = rows[i] / CAM_ROWS_PER_BYTE;
	for (unsigned k = 0; k < CAM_CHUNK_FIRST_COLUMN; k++) {
		uint64_t sum = 0;
		for (size_t i = 0; i < d->sections[k].n; i++)
			sum += d->sections[k].chunks[i].rows;
		least = sum / CAM_ROWS_PER_BYTE > least ? sum / CAM_ROWS_PER_BYTE : least;
	}
	return least;
}

uint64_t cam_dir_padding(const struct cam_dir *d, uint64_t first_end, uint64_t second_start)
{
	uint64_t pad = 0, least = cam_dir_least_bytes(d);
	if (second_start / CAM_PAGE_BYTES <= (first_end - 1) / CAM_PAGE_BYTES)
		pad = CAM_PAGE_BYTES - second_start % CAM_PAGE_BYTES;
	return second_start + pad < least ? least - second_start : pad;
}
