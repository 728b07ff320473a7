// SPDX-License-Identifier: Apache-2.0
/* The writing side of the directory; window_dir.c has the layout. */
#include "store/window_dir.h"

static void put_facts(const struct cam_dir *d, struct cam_buf *out)
{
	const struct cam_window_info *info = &d->info;
	cam_buf_put_varint(out, d->compat);
	cam_buf_put_varint(out, d->ro_compat);
	cam_buf_put_varint(out, d->incompat);
	cam_buf_put(out, info->boot_id.bytes, sizeof(info->boot_id.bytes));
	cam_buf_put_varint(out, info->clock);
	cam_buf_put_varint(out, info->clean_end | info->has_places << 1 | info->imported << 2);
	cam_buf_put_varint(out, info->time_unit_ns);
	cam_buf_put_varint(out, info->start_ns);
	cam_buf_put_varint(out, info->end_ns - info->start_ns);
	cam_buf_put_varint(out, info->sequence);
	cam_buf_put_u64(out, (uint64_t)info->realtime_ns);
	cam_buf_put_varint(out, info->realtime_uncertainty_ns);
	cam_buf_put_varint(out, info->lost);
	cam_buf_put_varint(out, info->events);
	cam_buf_put_varint(out, info->cpus);
	cam_buf_put_string(out, info->host.p, info->host.n);
	cam_buf_put_varint(out, info->samples);
	cam_buf_put_varint(out, d->period);
	cam_buf_put_varint(out, d->text_bytes);
	cam_buf_put_varint(out, d->small_divisor);
}

static void put_small_tables(const struct cam_dir *d, struct cam_buf *out)
{
	const uint32_t counts[] = {d->n_strings, d->n_modules,	 d->n_functions,
				   d->n_tasks,	 d->n_processes, d->n_nodes,
				   d->n_pairs,	 d->n_locations, d->n_places};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		cam_buf_put_varint(out, counts[i]);
	cam_buf_put_varint(out, d->n_cpus);
	for (size_t i = 0; i < d->n_cpus; i++)
		cam_buf_put_varint(out, i ? d->cpus[i] - d->cpus[i - 1] - 1 : d->cpus[0]);
	cam_buf_put_varint(out, d->n_etypes);
	for (size_t i = 0; i < d->n_etypes; i++) {
		const struct cam_dir_etype *e = &d->etypes[i];
		cam_buf_put_varint(out, e->name);
		cam_buf_put_varint(out, e->period_ns);
		cam_buf_put_varint(out, e->has_weight | e->varies << 1 | e->flat << 2);
		cam_buf_put_varint(out, e->weight);
	}
	cam_buf_put_varint(out, d->n_groups);
	for (size_t i = 0; i < d->n_groups; i++) {
		const struct cam_dir_group *g = &d->groups[i];
		cam_buf_put_varint(out, g->etype);
		cam_buf_put_varint(out, g->comm);
		cam_buf_put_varint(out, g->sole_task == CAM_NONE ? 0 : g->sole_task + 1ull);
	}
	for (size_t i = 0; i < d->n_modules; i++)
		cam_buf_put_varint(out, d->module_start[i + 1] - d->module_start[i]);
}

/* The classes are kept group by group, counts ascending. */
static int put_classes(const struct cam_dir *d, struct cam_buf *out)
{
	struct cam_stream_out number, count, pairs;
	cam_stream_out_init(&number, 5);
	cam_stream_out_init(&count, 5);
	cam_stream_out_init(&pairs, 5);
	size_t i = 0;
	for (uint32_t g = 0; g < d->n_groups; g++) {
		size_t first = i;
		uint32_t last = 0;
		for (; i < d->n_classes && d->classes[i].group == g; i++) {
			cam_stream_put(&count, i > first, d->classes[i].count - last - 1);
			last = d->classes[i].count;
			for (size_t k = 0; k < d->n_trees; k++)
				cam_stream_put(&pairs, k > 0, d->class_pairs[i * d->n_trees + k]);
		}
		cam_stream_put(&number, 0, i - first);
	}
	cam_buf_put_varint(out, d->n_trees);
	int err = cam_stream_write(&number, 1, out);
	if (!err)
		err = cam_stream_write(&count, 2, out);
	if (!err)
		err = cam_stream_write(&pairs, 2, out);
	cam_stream_out_free(&number);
	cam_stream_out_free(&count);
	cam_stream_out_free(&pairs);
	return err;
}

static int put_leaf_sizes(const struct cam_dir *d, struct cam_buf *out)
{
	struct cam_stream_out sizes;
	cam_buf_put_varint(out, d->leaf_sizes != NULL);
	if (!d->leaf_sizes)
		return 0;
	cam_stream_out_init(&sizes, 4);
	for (uint32_t f = 0; f < d->n_functions; f++)
		cam_stream_put(&sizes, 0, d->leaf_sizes[f]);
	int err = cam_stream_write(&sizes, 1, out);
	cam_stream_out_free(&sizes);
	return err;
}

static void put_sections(const struct cam_dir *d, struct cam_buf *out)
{
	unsigned n = 0;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		n += d->sections[k].n > 0;
	cam_buf_put_varint(out, n);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_section *s = &d->sections[k];
		if (!s->n)
			continue;
		cam_buf_put_varint(out, k);
		cam_buf_put_varint(out, s->n);
		for (size_t i = 0; i < s->n; i++) {
			cam_buf_put_varint(out, s->chunks[i].bytes);
			if (k < CAM_CHUNK_FIRST_COLUMN || k == CAM_CHUNK_DETAIL)
				cam_buf_put_varint(out, s->chunks[i].rows);
			if (k == CAM_CHUNK_PLACES)
				cam_buf_put_varint(out, s->chunks[i].places);
		}
	}
}

static void put_spans(const struct cam_dir *d, struct cam_buf *out)
{
	uint64_t second = 0;
	uint32_t task = 0;
	cam_buf_put_varint(out, d->n_spans);
	for (size_t i = 0; i < d->n_spans; i++) {
		const struct cam_dir_span *s = &d->spans[i];
		/* A second that is cut begins again where the span before it ended: -1 + 1. */
		cam_buf_put_varint(out, (s->second + 1 - second) << 1 | s->timeless);
		cam_buf_put_varint(out, s->seconds);
		cam_buf_put_varint(out, s->samples);
		cam_buf_put_varint(out, s->first_task - task);
		cam_buf_put_varint(out, s->details);
		second = s->second + s->seconds;
		task = s->first_task;
	}
}

int cam_dir_write(const struct cam_dir *d, struct cam_buf *out)
{
	put_facts(d, out);
	put_small_tables(d, out);
	int err = put_classes(d, out);
	if (!err)
		err = put_leaf_sizes(d, out);
	for (unsigned t = 0; t < CAM_COLUMN_TABLES; t++)
		for (unsigned c = 0; c < cam_column_contexts[t]; c++)
			cam_rans_put_freq(out, &d->tables[t][c]);
	put_sections(d, out);
	put_spans(d, out);
	return err ? err : cam_buf_error(out);
}
