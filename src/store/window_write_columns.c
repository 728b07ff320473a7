// SPDX-License-Identifier: Apache-2.0
/*
 * Cuts the samples into spans and writes their columns; window_columns.h describes them.
 *
 * Two passes: the first cuts and counts tokens, since the tables of a column are shared by all
 * spans (a table a span would cost S-sized windows 3 % more), the second writes. Both put the
 * same values, by the same code.
 */
#include "base/units.h"
#include "store/window_columns.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

/* A span ends before a column could pass the size of a chunk: one more sample always fits. */
#define SLACK 40u /* for one more sample, lengths and checksum */
#define LEVEL 9

struct cpu {
	uint64_t last; /* time of its last sample in the span, in units */
	uint32_t stamp, counts_stamp, last_count;
	unsigned ctx;
};

struct columns {
	struct cam_writer *w;
	const struct cam_rows *rows;
	struct cam_dir_span span;
	size_t first; /* row of the span */
	struct cam_stream_out counts, rank, time, task, weight;
	struct cam_stream_out *leaf, *place; /* per tree chunk, per chunk of places */
	size_t n_leaf, n_place;
	struct cpu *cpus;
	struct cam_task_lists lists;
	uint64_t *last_weight; /* per event type */
	uint32_t stamp, next_task;
	uint64_t unit, period;
	uint64_t cost_max; /* bits of a column */
	uint64_t (*hist)[CAM_COLUMN_CTX_MAX][256];
	struct cam_rans_freq rank_freq;
	struct cam_buf out;
	uint32_t *detail_stamp, *detail_index; /* by string */
	uint32_t detail_piece;
};

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The middle of where the steps between samples of a CPU are densest (within 2 %). */
static uint64_t densest(const uint64_t *steps, size_t n)
{
	uint64_t best = 1;
	size_t most = 0;
	for (size_t i = 0, j = 0; i < n; i++) {
		while (j < n && steps[j] - steps[i] <= steps[i] / 50 + 2)
			j++;
		if (j - i > most) {
			most = j - i;
			best = steps[i + (j - i) / 2];
		}
	}
	return best ? best : 1;
}

/* The event type of most samples may know its period; else it is measured. */
static int find_period(struct columns *c)
{
	const struct cam_rows *r = c->rows;
	uint64_t *seen = calloc(c->w->t->n_etypes + 1, sizeof(*seen));
	uint64_t *steps = malloc(65536 * sizeof(*steps));
	size_t n = 0, most = 0, stride = r->n / 65536 + 1;
	int err = seen && steps ? 0 : -ENOMEM;
	for (size_t i = 0; i < r->n && !err; i++) {
		size_t e = r->groups[r->group[i]].etype;
		most = ++seen[e] > seen[most] ? e : most;
	}
	if (!err && r->n && c->w->t->etypes[most].period_ns) {
		c->period = (c->w->t->etypes[most].period_ns + c->unit / 2) / c->unit;
	} else if (!err) {
		for (size_t i = stride; i < r->n && n < 65536; i += stride)
			if (r->cpu[i] == r->cpu[i - 1] && r->time_ns[i] >= r->time_ns[i - 1])
				steps[n++] = (r->time_ns[i] - r->time_ns[i - 1]) / c->unit;
		qsort(steps, n, sizeof(*steps), compare_u64);
		c->period = densest(steps, n);
	}
	if (!c->period || c->period > (1u << 31))
		c->period = 1;
	c->w->dir.period = c->period;
	free(seen);
	free(steps);
	return err;
}

static void begin_span(struct columns *c, size_t row)
{
	uint64_t time = c->rows->time_ns[row];
	struct cam_stream_out *const all[] = {&c->counts, &c->rank, &c->time, &c->task, &c->weight};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cam_stream_out_clear(all[i]);
	for (size_t k = 0; k < c->n_leaf; k++)
		cam_stream_out_clear(&c->leaf[k]);
	for (size_t k = 0; k < c->n_place; k++)
		cam_stream_out_clear(&c->place[k]);
	cam_task_lists_reset(&c->lists);
	memset(c->last_weight, 0, c->w->t->n_etypes * sizeof(*c->last_weight));
	c->first = row;
	c->stamp++;
	c->span = (struct cam_dir_span){.second = cam_rows_second(time),
					.first_task = c->next_task,
					.timeless = time == CAM_TIME_NONE};
}

static void put_time(struct columns *c, size_t i)
{
	uint64_t t = (c->rows->time_ns[i] - c->span.second * CAM_NS_PER_SEC) / c->unit;
	struct cpu *cpu = &c->cpus[c->rows->cpu[i]];
	if (c->span.timeless)
		return;
	if (cpu->stamp != c->stamp) {
		uint64_t in_second = c->rows->time_ns[i] % CAM_NS_PER_SEC / c->unit;
		cam_stream_put_raw(&c->time, in_second, cam_second_bits(c->unit));
		cpu->stamp = c->stamp;
		cpu->ctx = 0;
		cpu->last = t;
		return;
	}
	uint64_t d = t - cpu->last, g = (d + c->period / 2) / c->period;
	if (g > 1) {
		cam_stream_put_token(&c->time, cpu->ctx, CAM_TOKEN_MARK);
		cam_stream_put(&c->time, CAM_TIME_GAP, g - 2);
	}
	int64_t error = (int64_t)d - (int64_t)((g ? g : 1) * c->period);
	cam_stream_put(&c->time, cpu->ctx, cam_zigzag(error));
	cpu->ctx = cam_time_ctx(error);
	cpu->last = t;
}

static int put_task(struct columns *c, size_t i)
{
	uint32_t task = c->rows->task[i], group = c->rows->group[i];
	struct cam_task_list *list = &c->lists.lists[group];
	bool fresh = task == c->next_task;
	c->next_task += fresh;
	if (c->rows->groups[group].sole_task != CAM_NONE)
		return 0;
	unsigned ctx = list->n == 1 ? CAM_TASK_ONE : CAM_TASK_AGAIN;
	uint32_t at = 0;
	while (!fresh && at < list->n && c->lists.entries[list->at + at] != task)
		at++;
	if (!fresh && at < list->n) {
		cam_stream_put(&c->task, ctx, 2 + (uint64_t)at);
		cam_recent_use(c->lists.entries + list->at, at);
		return 0;
	}
	cam_stream_put(&c->task, ctx, !fresh);
	if (!fresh)
		cam_stream_put(&c->task, CAM_TASK_BACK, c->next_task - 1 - task);
	return cam_task_lists_push(&c->lists, group, task);
}

static int put_row(struct columns *c, size_t i)
{
	struct cam_writer *w = c->w;
	uint32_t pair = w->shape.row_pair[i], tree = w->pair_tree[pair];
	uint32_t etype = c->rows->groups[c->rows->group[i]].etype;
	put_time(c, i);
	int err = put_task(c, i);
	if (w->dir.etypes[etype].varies) {
		uint64_t weight = c->rows->weight[i];
		cam_stream_put(&c->weight, 0,
			       cam_zigzag((int64_t)(weight - c->last_weight[etype])));
		c->last_weight[etype] = weight;
	}
	if (w->row_leaf && c->rows->stack[i]) {
		const struct cam_leaf *leaf = &w->leaves[w->row_leaf[i]];
		uint32_t n = w->leaf_sizes[leaf->func];
		if (n > 1)
			cam_stream_put(&c->leaf[tree], cam_choice_ctx(n), leaf->rank);
	}
	if (w->place_index) {
		uint32_t node = w->shape.at_of[c->rows->stack[i]], n = w->node_places[node];
		if (n > 1)
			cam_stream_put(&c->place[w->node_place_chunk[node]], cam_choice_ctx(n),
				       w->place_index[c->rows->place[i]]);
	}
	c->span.samples++;
	c->span.seconds = (uint32_t)(cam_rows_second(c->rows->time_ns[i]) - c->span.second) + 1;
	return err;
}

/* Where the run of rows with the second (and CPU) of row i ends. */
static size_t run_end(const struct cam_rows *r, size_t i, size_t end, bool same_cpu)
{
	size_t j = i + 1;
	while (j < end && cam_rows_second(r->time_ns[j]) == cam_rows_second(r->time_ns[i]) &&
	       (!same_cpu || r->cpu[j] == r->cpu[i]))
		j++;
	return j;
}

static void put_counts(struct columns *c)
{
	const struct cam_rows *r = c->rows;
	size_t i = c->first, end = c->first + c->span.samples;
	for (uint32_t s = 0; s < c->span.seconds; s++) {
		uint64_t second = c->span.second + s, cpus = 0;
		uint32_t next_cpu = 0;
		bool any = i < end && cam_rows_second(r->time_ns[i]) == second;
		size_t stop = any ? run_end(r, i, end, false) : i;
		for (size_t j = i; j < stop; j = run_end(r, j, stop, true))
			cpus++;
		cam_stream_put(&c->counts, CAM_COUNTS_CPUS, cpus);
		for (size_t j; i < stop; i = j) {
			struct cpu *cpu = &c->cpus[r->cpu[i]];
			j = run_end(r, i, stop, true);
			uint32_t n = (uint32_t)(j - i);
			bool met = cpu->counts_stamp == c->stamp;
			cam_stream_put(&c->counts, CAM_COUNTS_GAP, r->cpu[i] - next_cpu);
			cam_stream_put(&c->counts, met ? CAM_COUNTS_NEXT : CAM_COUNTS_FIRST,
				       met ? cam_zigzag((int64_t)n - cpu->last_count) : n - 1);
			cpu->counts_stamp = c->stamp;
			cpu->last_count = n;
			next_cpu = r->cpu[i] + 1;
		}
	}
}

/* The first pass: where does the span that begins at `row` end? */
static int cut_span(struct columns *c, size_t row)
{
	const struct cam_rows *r = c->rows;
	size_t second_end = 0;
	int err = 0;
	begin_span(c, row);
	for (size_t i = row; i < r->n && !err; i++) {
		uint64_t second = cam_rows_second(r->time_ns[i]);
		if (i >= second_end) {
			second_end = run_end(r, i, r->n, false);
			/* A second is cut only where it does not fit into a span alone. */
			if (i > row && second_end - row > CAM_SPAN_SAMPLES)
				break;
		}
		if (c->span.samples == CAM_SPAN_SAMPLES ||
		    second - c->span.second >= CAM_SPAN_SECONDS ||
		    (r->time_ns[i] == CAM_TIME_NONE) != c->span.timeless ||
		    c->time.cost_bits > c->cost_max || c->task.cost_bits > c->cost_max ||
		    c->weight.cost_bits > c->cost_max)
			break;
		err = put_row(c, i);
	}
	if (err)
		return err;
	put_counts(c);
	const struct {
		const struct cam_stream_out *streams;
		size_t n;
		unsigned table;
	} all[] = {
		{&c->counts, 1, CAM_TABLE_COUNTS},    {&c->time, 1, CAM_TABLE_TIME},
		{&c->task, 1, CAM_TABLE_TASK},	      {&c->weight, 1, CAM_TABLE_WEIGHT},
		{c->leaf, c->n_leaf, CAM_TABLE_LEAF}, {c->place, c->n_place, CAM_TABLE_PLACE},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t k = 0; k < all[i].n && !err; k++)
			err = cam_stream_count(&all[i].streams[k], c->hist[all[i].table]);
	if (err)
		return err;
	return cam_dir_add_span(&c->w->dir, &c->span);
}

static int add_column(struct columns *c, enum cam_chunk_kind kind, struct cam_stream_out *s,
		      const struct cam_rans_freq *freqs)
{
	int err = 0;
	cam_buf_clear(&c->out);
	if (s->n || s->cost_bits)
		err = cam_stream_write_shared(s, freqs, &c->out);
	return err ? err : cam_writer_add_chunk(c->w, kind, &c->out, 0);
}

/* Texts of rows [from, *to), as many as a chunk may take; the ones met before, by number. */
static int add_detail_piece(struct columns *c, size_t from, size_t end, size_t *to)
{
	struct cam_stream_out which;
	struct cam_buf lines = CAM_BUF(CAM_TEXT_RAW_MAX);
	uint32_t next = 0;
	size_t i = from;
	cam_stream_out_init(&which, CAM_DETAIL_SPLIT);
	c->detail_piece++;
	for (; i < end && lines.len < c->cost_max / 16 && which.cost_bits < c->cost_max / 4; i++) {
		uint32_t id = c->rows->detail[i];
		struct cam_text text = cam_string(c->w->t, (struct cam_str_id){id});
		if (!id) {
			cam_stream_put(&which, 0, 0);
		} else if (c->detail_stamp[id] == c->detail_piece) {
			cam_stream_put(&which, 0, 1 + next - c->detail_index[id]);
		} else {
			cam_stream_put(&which, 0, 1);
			cam_line_put(&lines, text);
			c->detail_stamp[id] = c->detail_piece;
			c->detail_index[id] = next++;
			c->w->text_bytes += text.n;
		}
	}
	*to = i;
	cam_buf_clear(&c->out);
	cam_buf_put_varint(&c->out, next);
	int err = lines.error ? lines.error : cam_stream_write(&which, 1, &c->out);
	if (!err)
		err = cam_block_write(&c->out, lines.data, lines.len, LEVEL);
	cam_buf_free(&lines);
	cam_stream_out_free(&which);
	return err ? err
		   : cam_writer_add_chunk(c->w, CAM_CHUNK_DETAIL, &c->out, (uint32_t)(i - from));
}

static int add_details(struct columns *c, struct cam_dir_span *span)
{
	size_t end = c->first + span->samples;
	for (size_t from = c->first, to; from < end; from = to) {
		int err = add_detail_piece(c, from, end, &to);
		if (err)
			return err;
		span->details++;
	}
	return 0;
}

static int write_span(struct columns *c, struct cam_dir_span *span, bool weights)
{
	struct cam_writer *w = c->w;
	struct cam_rans_freq(*t)[CAM_COLUMN_CTX_MAX] = w->dir.tables;
	int err = 0;
	for (uint32_t i = 0; i < span->samples && !err; i++) {
		err = put_row(c, c->first + i);
		cam_stream_put(&c->rank, 0, w->pair_rank[w->shape.row_pair[c->first + i]]);
	}
	put_counts(c);
	if (!err)
		err = add_column(c, CAM_CHUNK_COUNTS, &c->counts, t[CAM_TABLE_COUNTS]);
	if (!err)
		err = add_column(c, CAM_CHUNK_RANK, &c->rank, &c->rank_freq);
	if (!err)
		err = add_column(c, CAM_CHUNK_TIME, &c->time, t[CAM_TABLE_TIME]);
	if (!err)
		err = add_column(c, CAM_CHUNK_TASK, &c->task, t[CAM_TABLE_TASK]);
	if (!err && weights)
		err = add_column(c, CAM_CHUNK_WEIGHT, &c->weight, t[CAM_TABLE_WEIGHT]);
	for (size_t k = 0; k < c->n_leaf && !err; k++)
		err = add_column(c, CAM_CHUNK_LEAF, &c->leaf[k], t[CAM_TABLE_LEAF]);
	for (size_t k = 0; k < c->n_place && !err; k++)
		err = add_column(c, CAM_CHUNK_PLACE, &c->place[k], t[CAM_TABLE_PLACE]);
	if (!err && c->rows->detail)
		err = add_details(c, span);
	return err;
}

static int init_columns(struct columns *c, struct cam_writer *w)
{
	const uint8_t *split = cam_column_splits;
	size_t n_strings = w->rows.detail ? w->t->strings.n : 0;
	*c = (struct columns){.w = w,
			      .rows = &w->rows,
			      .unit = w->rows.unit_ns,
			      .out = CAM_BUF(CAM_CHUNK_BYTES_MAX)};
	cam_stream_out_init(&c->counts, split[CAM_TABLE_COUNTS]);
	cam_stream_out_init(&c->rank, CAM_RANK_SPLIT);
	cam_stream_out_init(&c->time, split[CAM_TABLE_TIME]);
	cam_stream_out_init(&c->task, split[CAM_TABLE_TASK]);
	cam_stream_out_init(&c->weight, split[CAM_TABLE_WEIGHT]);
	c->n_leaf = w->row_leaf ? w->dir.n_trees : 0;
	c->n_place = w->dir.sections[CAM_CHUNK_PLACES].n;
	c->leaf = calloc(c->n_leaf + 1, sizeof(*c->leaf));
	c->place = calloc(c->n_place + 1, sizeof(*c->place));
	c->cpus = calloc(w->rows.n_cpus + 1, sizeof(*c->cpus));
	c->last_weight = calloc(w->t->n_etypes + 1, sizeof(*c->last_weight));
	c->hist = calloc(CAM_COLUMN_TABLES, sizeof(*c->hist));
	c->detail_stamp = calloc(n_strings + 1, sizeof(uint32_t));
	c->detail_index = calloc(n_strings + 1, sizeof(uint32_t));
	w->dir.tables = calloc(CAM_COLUMN_TABLES, sizeof(*w->dir.tables));
	if (!c->leaf || !c->place || !c->cpus || !c->last_weight || !c->hist || !w->dir.tables ||
	    !c->detail_stamp || !c->detail_index)
		return -ENOMEM;
	for (size_t k = 0; k < c->n_leaf; k++)
		cam_stream_out_init(&c->leaf[k], split[CAM_TABLE_LEAF]);
	for (size_t k = 0; k < c->n_place; k++)
		cam_stream_out_init(&c->place[k], split[CAM_TABLE_PLACE]);
	c->cost_max = (w->chunk_bytes - SLACK) * 8ull;
	int err = cam_task_lists_init(&c->lists, w->rows.n_groups);
	return err ? err : find_period(c);
}

static void free_columns(struct columns *c)
{
	struct cam_stream_out *const all[] = {&c->counts, &c->rank, &c->time, &c->task, &c->weight};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cam_stream_out_free(all[i]);
	for (size_t k = 0; c->leaf && k < c->n_leaf; k++)
		cam_stream_out_free(&c->leaf[k]);
	for (size_t k = 0; c->place && k < c->n_place; k++)
		cam_stream_out_free(&c->place[k]);
	cam_task_lists_free(&c->lists);
	cam_buf_free(&c->out);
	free(c->leaf);
	free(c->place);
	free(c->cpus);
	free(c->last_weight);
	free(c->hist);
	free(c->detail_stamp);
	free(c->detail_index);
}

int cam_write_columns(struct cam_writer *w)
{
	struct columns c;
	bool weights = false;
	int err = init_columns(&c, w);
	for (size_t row = 0; row < w->rows.n && !err; row += c.span.samples)
		err = cut_span(&c, row);
	for (unsigned t = 0; t < CAM_COLUMN_TABLES && !err; t++)
		for (unsigned x = 0; x < cam_column_contexts[t]; x++)
			cam_rans_scale(c.hist[t][x], &w->dir.tables[t][x]);
	for (size_t i = 0; i < w->dir.n_etypes; i++)
		weights |= w->dir.etypes[i].varies;
	cam_dir_rank_model(&w->dir, &c.rank_freq);
	size_t row = 0;
	for (size_t s = 0; s < w->dir.n_spans && !err; s++) {
		c.next_task = w->dir.spans[s].first_task;
		begin_span(&c, row);
		err = write_span(&c, &w->dir.spans[s], weights);
		row += w->dir.spans[s].samples;
	}
	free_columns(&c);
	return err;
}
