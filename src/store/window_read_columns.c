// SPDX-License-Identifier: Apache-2.0
/*
 * Decodes the columns of one span into r->span; window_columns.h describes them.
 *
 * Each column trusts only the directory and, where it says so, the columns decoded before it:
 * everything is bounded by the span's number of samples, at most CAM_SPAN_SAMPLES.
 */
#include "base/units.h"
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

int cam_span_in_new(struct cam_reader *r)
{
	struct cam_span_in *s = calloc(1, sizeof(*s));
	size_t n = CAM_SPAN_SAMPLES;
	if (!s)
		return -ENOMEM;
	r->span = s;
	uint64_t **const wide[] = {&s->time_ns, &s->weight, &s->leaf};
	uint32_t **const narrow[] = {&s->rank,	&s->group, &s->cpu,   &s->task,
				     &s->stack, &s->place, &s->etype, &s->detail,
				     &s->comm,	&s->key,   &s->order};
	bool good = true;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		good &= (*wide[i] = malloc(n * sizeof(uint64_t))) != NULL;
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		good &= (*narrow[i] = malloc(n * sizeof(uint32_t))) != NULL;
	s->runs = malloc(n * sizeof(*s->runs));
	s->cpus = calloc(r->dir.n_cpus + 1, sizeof(*s->cpus));
	s->last_weight = calloc(r->dir.n_etypes + 1, sizeof(*s->last_weight));
	good &= s->runs && s->cpus && s->last_weight;
	int err = cam_task_lists_init(&s->lists, r->dir.n_groups);
	return good ? err : -ENOMEM;
}

void cam_span_in_free(struct cam_span_in *s)
{
	if (!s)
		return;
	void *const arrays[] = {s->time_ns,    s->weight, s->leaf,  s->rank,  s->group,
				s->cpu,	       s->task,	  s->stack, s->place, s->etype,
				s->detail,     s->comm,	  s->runs,  s->cpus,  s->last_weight,
				s->chunk.data, s->key,	  s->order, s->starts};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
	cam_task_lists_free(&s->lists);
	free(s);
}

int cam_span_sort(struct cam_reader *r, size_t n_keys)
{
	struct cam_span_in *s = r->span;
	uint32_t n = s->span->samples;
	int err = cam_vec_reserve(&s->starts, &s->cap_starts, n_keys + 2, sizeof(*s->starts),
				  SIZE_MAX / 8);
	if (err)
		return err;
	memset(s->starts, 0, (n_keys + 2) * sizeof(*s->starts));
	/* Counted two places up: placing moves each start to where it belongs. */
	for (uint32_t i = 0; i < n; i++)
		if (s->key[i] != CAM_NONE)
			s->starts[s->key[i] + 2]++;
	for (size_t k = 2; k < n_keys + 2; k++)
		s->starts[k] += s->starts[k - 1];
	for (uint32_t i = 0; i < n; i++)
		if (s->key[i] != CAM_NONE)
			s->order[s->starts[s->key[i] + 1]++] = i;
	return 0;
}

/* The decoding tables of a column are built when a chunk first needs them. */
static int column_tables(struct cam_reader *r, enum cam_column_table t)
{
	if (r->tables[t])
		return 0;
	r->tables[t] = malloc(cam_column_contexts[t] * sizeof(*r->tables[t]));
	if (!r->tables[t])
		return -ENOMEM;
	for (unsigned c = 0; c < cam_column_contexts[t]; c++)
		cam_rans_table_build(&r->dir.tables[t][c], &r->tables[t][c]);
	return 0;
}

int cam_column_open(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		    enum cam_column_table t, struct cam_stream_in *in)
{
	struct cam_chunk_in *c = &r->span->chunk;
	int err = column_tables(r, t);
	if (!err)
		err = cam_reader_chunk(r, kind, i, c);
	if (err)
		return err;
	/* An empty chunk stands for an empty stream. */
	static const uint8_t empty[3 + CAM_STREAM_SLACK] = {CAM_CODER_STORED};
	struct cam_rd rd = c->n ? cam_rd_make(c->data, c->n) : cam_rd_make(empty, 3);
	err = cam_stream_open_shared(in, &rd, r->tables[t], cam_column_contexts[t],
				     cam_column_splits[t]);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	return err == -EBADMSG ? cam_reader_mark_bad(r, kind, i) : err;
}

int cam_column_close(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		     struct cam_stream_in *in, int err)
{
	if (!err && !cam_stream_done(in))
		err = -EBADMSG;
	return err == -EBADMSG ? cam_reader_mark_bad(r, kind, i) : err;
}

static int read_second(struct cam_reader *r, struct cam_stream_in *in, uint32_t second,
		       uint32_t *left)
{
	struct cam_span_in *s = r->span;
	uint64_t cpus = cam_stream_get(in, CAM_COUNTS_CPUS), cpu = 0;
	if (cpus > *left)
		return -EBADMSG;
	for (uint64_t i = 0; i < cpus; i++, cpu++) {
		uint64_t gap = cam_stream_get(in, CAM_COUNTS_GAP);
		if (gap >= r->dir.n_cpus || cpu + gap >= r->dir.n_cpus)
			return -EBADMSG;
		cpu += gap;
		struct cam_cpu_in *state = &s->cpus[cpu];
		uint64_t n;
		if (state->stamp == s->stamp)
			n = state->count +
			    (uint64_t)cam_unzigzag(cam_stream_get(in, CAM_COUNTS_NEXT));
		else
			n = 1 + cam_stream_get(in, CAM_COUNTS_FIRST);
		if (n == 0 || n > *left)
			return -EBADMSG;
		*left -= (uint32_t)n;
		state->stamp = s->stamp;
		state->count = (uint32_t)n;
		s->runs[s->n_runs++] = (struct cam_run){second, (uint32_t)cpu, (uint32_t)n};
	}
	return 0;
}

int cam_span_counts(struct cam_reader *r, size_t number)
{
	struct cam_span_in *s = r->span;
	struct cam_stream_in in;
	s->span = &r->dir.spans[number];
	s->number = number;
	s->n_runs = 0;
	s->stamp++;
	uint32_t left = s->span->samples;
	int err = cam_column_open(r, CAM_CHUNK_COUNTS, number, CAM_TABLE_COUNTS, &in);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->span->seconds && !err; i++)
		err = read_second(r, &in, i, &left);
	if (!err && left)
		err = -EBADMSG;
	return cam_column_close(r, CAM_CHUNK_COUNTS, number, &in, err);
}

void cam_span_cpu(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	uint32_t at = 0;
	for (uint32_t i = 0; i < s->n_runs; i++)
		for (uint32_t k = 0; k < s->runs[i].n; k++)
			s->cpu[at++] = r->dir.cpus[s->runs[i].cpu];
}

/* The steps of one run. Times must stay in the run's second and never go back. */
static int read_times(struct cam_reader *r, struct cam_stream_in *in, const struct cam_run *run,
		      uint64_t *out)
{
	struct cam_span_in *s = r->span;
	struct cam_cpu_in *cpu = &s->cpus[run->cpu];
	uint64_t unit = r->dir.info.time_unit_ns, per_second = CAM_NS_PER_SEC / unit;
	uint64_t begin = run->second * per_second, end = begin + per_second, period = r->dir.period;
	uint64_t base = s->span->second * CAM_NS_PER_SEC;
	uint32_t i = 0;
	if (cpu->stamp != s->stamp) {
		cpu->stamp = s->stamp;
		cpu->ctx = 0;
		cpu->last = begin + cam_stream_get_raw(in, cam_second_bits(unit));
		if (cpu->last >= end)
			return -EBADMSG;
		out[i++] = base + cpu->last * unit;
		/* In the last second of 64 bits not all of it is there. */
		if (out[0] < base || out[0] == CAM_TIME_NONE)
			return -EBADMSG;
	}
	uint64_t t = cpu->last;
	unsigned ctx = cpu->ctx;
	for (; i < run->n; i++) {
		uint32_t token = cam_stream_get_token(in, ctx);
		uint64_t step = period;
		if (token == CAM_TOKEN_MARK) {
			uint64_t gap = cam_stream_get(in, CAM_TIME_GAP);
			if (gap > end / period)
				return -EBADMSG;
			step = period * (gap + 2);
			token = cam_stream_get_token(in, ctx);
		}
		int64_t error = cam_unzigzag(cam_stream_value(in, token));
		uint64_t d = step + (uint64_t)error;
		if (d >= end || t + d < begin || t + d >= end)
			return -EBADMSG;
		t += d;
		ctx = cam_time_ctx(error);
		out[i] = base + t * unit;
		if (out[i] < base || out[i] == CAM_TIME_NONE)
			return -EBADMSG;
	}
	cpu->last = t;
	cpu->ctx = ctx;
	return 0;
}

int cam_span_time(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	struct cam_stream_in in;
	uint32_t at = 0;
	if (s->span->timeless) {
		for (uint32_t i = 0; i < s->span->samples; i++)
			s->time_ns[i] = CAM_TIME_NONE;
		return 0;
	}
	int err = cam_column_open(r, CAM_CHUNK_TIME, s->number, CAM_TABLE_TIME, &in);
	if (err)
		return err;
	s->stamp++;
	for (uint32_t i = 0; i < s->n_runs && !err; i++) {
		err = read_times(r, &in, &s->runs[i], s->time_ns + at);
		at += s->runs[i].n;
	}
	return cam_column_close(r, CAM_CHUNK_TIME, s->number, &in, err);
}

/* Token by token, for streams that were stored plainly. */
static int read_stored_ranks(struct cam_reader *r, struct cam_stream_in *in)
{
	struct cam_span_in *s = r->span;
	for (uint32_t i = 0; i < s->span->samples; i++) {
		uint64_t rank = cam_stream_get(in, 0);
		if (rank >= r->dir.n_pairs)
			return -EBADMSG;
		s->rank[i] = (uint32_t)rank;
	}
	return 0;
}

static inline uint32_t next_rank(const struct cam_rank_slot *slots, uint32_t *state,
				 struct cam_stream_in *in)
{
	const struct cam_rank_slot *slot = &slots[*state & (CAM_RANS_SCALE - 1)];
	uint32_t x = slot->freq * (*state >> CAM_RANS_BITS) + slot->bias;
	uint64_t word;
	memcpy(&word, in->raw + (in->bit >> 3), 8);
	uint32_t rank = slot->base +
			((uint32_t)(le64toh(word) >> (in->bit & 7)) & ((1u << slot->bits) - 1));
	in->bit += slot->bits;
	if (x < CAM_RANS_START) {
		x = x << 16 | in->rans.p[0] | (uint32_t)in->rans.p[1] << 8;
		in->rans.p += 2;
	}
	*state = x;
	return rank;
}

/*
 * The hot loop of every view: four states in turn, checked once every four samples. Those take at
 * most 8 bytes of words and 4 * 22 bits; near the ends the last ones go one by one.
 */
static int read_ranks(struct cam_reader *r, struct cam_stream_in *in)
{
	struct cam_span_in *s = r->span;
	const struct cam_rank_slot *slots = r->rank_slots;
	uint32_t n = s->span->samples, i = 0, most = 0;
	uint32_t *out = s->rank, *x = in->rans.state;
	for (; i + 4 <= n && in->rans.end - in->rans.p >= 8 && in->bits - in->bit >= 4 * 32;
	     i += 4) {
		for (unsigned k = 0; k < 4; k++) {
			out[i + k] = next_rank(slots, &x[k], in);
			most = out[i + k] > most ? out[i + k] : most;
		}
	}
	for (; i < n; i++) {
		uint32_t *state = &x[i & (CAM_RANS_STATES - 1)];
		const struct cam_rank_slot *slot = &slots[*state & (CAM_RANS_SCALE - 1)];
		uint32_t next = slot->freq * (*state >> CAM_RANS_BITS) + slot->bias;
		if (slot->bits > in->bits - in->bit ||
		    (next < CAM_RANS_START && in->rans.end - in->rans.p < 2))
			return -EBADMSG;
		out[i] = next_rank(slots, state, in);
		most = out[i] > most ? out[i] : most;
	}
	return most < r->dir.n_pairs ? 0 : -EBADMSG;
}

int cam_span_rank(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	struct cam_stream_in in;
	int err = cam_reader_load(r, CAM_PART_RANKS);
	if (!err)
		err = cam_reader_chunk(r, CAM_CHUNK_RANK, s->number, &s->chunk);
	if (err)
		return err;
	struct cam_rd rd = cam_rd_make(s->chunk.data, s->chunk.n);
	err = cam_stream_open_shared(&in, &rd, NULL, 1, CAM_RANK_SPLIT);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	if (!err)
		err = in.stored ? read_stored_ranks(r, &in) : read_ranks(r, &in);
	if (!err && !cam_stream_done(&in))
		err = -EBADMSG;
	if (err)
		return err == -EBADMSG ? cam_reader_mark_bad(r, CAM_CHUNK_RANK, s->number) : err;
	for (uint32_t i = 0; i < s->span->samples; i++)
		s->group[i] = r->rank_group[s->rank[i]];
	return 0;
}

void cam_span_stack(struct cam_reader *r)
{
	for (uint32_t i = 0; i < r->span->span->samples; i++)
		r->span->stack[i] = r->rank_node[r->span->rank[i]];
}

static int read_task(struct cam_reader *r, struct cam_stream_in *in, uint32_t group,
		     uint32_t *next_task, uint32_t *out)
{
	struct cam_span_in *s = r->span;
	uint32_t sole = r->dir.groups[group].sole_task;
	if (sole != CAM_NONE) {
		*next_task += sole == *next_task;
		*out = sole;
		return 0;
	}
	struct cam_task_list *list = &s->lists.lists[group];
	uint64_t v = cam_stream_get(in, list->n == 1 ? CAM_TASK_ONE : CAM_TASK_AGAIN);
	if (v >= 2) {
		if (v - 2 >= list->n)
			return -EBADMSG;
		*out = s->lists.entries[list->at + v - 2];
		cam_recent_use(s->lists.entries + list->at, (uint32_t)v - 2);
		return 0;
	}
	uint64_t back = v ? cam_stream_get(in, CAM_TASK_BACK) + 1 : 0;
	if (back > *next_task || *next_task - back >= r->dir.n_tasks)
		return -EBADMSG;
	*out = *next_task - (uint32_t)back;
	*next_task += v == 0;
	return cam_task_lists_push(&s->lists, group, *out);
}

int cam_span_task(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	struct cam_stream_in in;
	uint32_t next_task = s->span->first_task;
	int err = cam_column_open(r, CAM_CHUNK_TASK, s->number, CAM_TABLE_TASK, &in);
	if (err)
		return err;
	cam_task_lists_reset(&s->lists);
	for (uint32_t i = 0; i < s->span->samples && !err; i++)
		err = read_task(r, &in, s->group[i], &next_task, &s->task[i]);
	return cam_column_close(r, CAM_CHUNK_TASK, s->number, &in, err);
}

int cam_span_weight(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	struct cam_stream_in in = {0};
	const struct cam_dir *d = &r->dir;
	int err = 0;
	memset(s->last_weight, 0, d->n_etypes * sizeof(*s->last_weight));
	bool varies = d->sections[CAM_CHUNK_WEIGHT].n > 0;
	if (varies)
		err = cam_column_open(r, CAM_CHUNK_WEIGHT, s->number, CAM_TABLE_WEIGHT, &in);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->span->samples; i++) {
		uint32_t e = d->groups[s->group[i]].etype;
		s->weight[i] = d->etypes[e].weight;
		if (varies && d->etypes[e].varies) {
			s->last_weight[e] += (uint64_t)cam_unzigzag(cam_stream_get(&in, 0));
			s->weight[i] = s->last_weight[e];
		}
	}
	return varies ? cam_column_close(r, CAM_CHUNK_WEIGHT, s->number, &in, 0) : 0;
}
