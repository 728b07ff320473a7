// SPDX-License-Identifier: Apache-2.0
/* Counters; window_write_counters.c has their layout. */
#include "store/counters.h"
#include "store/window_layout.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

struct tick {
	uint64_t time_ns, span_ns;
};

struct getting {
	struct cam_stream_in streams[CAM_COUNTER_STREAMS];
	uint64_t rows, n_ticks, n_series, cpu_exponent;
	struct tick *ticks;
	uint64_t *others;
	uint64_t left; /* rows not yet met */
	struct cam_counter row;
	struct cam_counters *out;
};

static uint64_t get(struct getting *g, enum cam_counter_stream s, unsigned ctx)
{
	return cam_stream_get(&g->streams[s], ctx);
}

static uint64_t get_difference(struct getting *g, enum cam_counter_stream s, unsigned ctx)
{
	return (uint64_t)cam_unzigzag(get(g, s, ctx));
}

static int get_ticks(struct getting *g)
{
	uint64_t last = 0, step = 0;
	g->ticks = calloc(g->n_ticks + 1, sizeof(*g->ticks));
	g->others = calloc(g->n_ticks + 1, sizeof(*g->others));
	if (!g->ticks || !g->others)
		return -ENOMEM;
	for (uint64_t i = 0; i < g->n_ticks; i++) {
		step += get_difference(g, CAM_COUNTER_STREAM_TIME, 0);
		last += step;
		g->ticks[i].time_ns = last;
		g->ticks[i].span_ns = step + get_difference(g, CAM_COUNTER_STREAM_SPAN, 0);
	}
	return 0;
}

static int get_values(struct getting *g, uint64_t kind, uint64_t n, uint64_t unit)
{
	bool idle = kind == CAM_COUNTER_IDLE, cpu = cam_counter_of_cpu(kind);
	uint64_t tick = get(g, CAM_COUNTER_STREAM_FIRST, 0), last = 0;
	int err = 0;
	for (uint64_t i = 0; i < n && !err; i++) {
		if (i)
			tick += get(g, CAM_COUNTER_STREAM_GAP, 0);
		if (tick >= g->n_ticks)
			return -EBADMSG;
		const struct tick *t = &g->ticks[tick];
		if (idle)
			last = cam_counter_left(t->span_ns, unit, g->others[tick]);
		last += get_difference(g, CAM_COUNTER_STREAM_VALUE, cam_counter_ctx(kind));
		if (cpu && !idle)
			g->others[tick] += last;
		if (last > UINT64_MAX / unit)
			return -EBADMSG;
		g->row.time_ns = t->time_ns;
		g->row.span_ns = t->span_ns;
		g->row.value = last * unit;
		/* Kinds that only a newer perfcam knows are left alone. */
		if (kind < CAM_COUNTER_MAX)
			err = cam_counters_add(g->out, &g->row);
	}
	return err;
}

static int get_series(struct getting *g)
{
	int64_t subject = 0;
	int err = 0;
	for (uint64_t i = 0; i < g->n_series && !err; i++) {
		uint64_t kind = get(g, CAM_COUNTER_STREAM_KIND, 0);
		int64_t step = (int64_t)get_difference(g, CAM_COUNTER_STREAM_SUBJECT, 0);
		bool cpu = cam_counter_of_cpu(kind);
		uint64_t e = cpu ? g->cpu_exponent : get(g, CAM_COUNTER_STREAM_EXPONENT, 0);
		uint64_t more = get(g, CAM_COUNTER_STREAM_NUMBER, 0);
		if (step > UINT32_MAX || step < -(int64_t)UINT32_MAX || subject + step < 0 ||
		    subject + step > UINT32_MAX || e > CAM_COUNTER_MAX_EXPONENT || more >= g->left)
			return -EBADMSG;
		if (step)
			memset(g->others, 0, g->n_ticks * sizeof(*g->others));
		subject += step;
		g->left -= more + 1;
		g->row.kind = (enum cam_counter_kind)(kind % CAM_COUNTER_MAX);
		g->row.subject = (uint32_t)subject;
		err = get_values(g, kind, more + 1, cam_counter_unit((unsigned)e));
	}
	return err || !g->left ? err : -EBADMSG;
}

static int check_zeros(const struct getting *g, const struct cam_chunk_in *chunk, struct cam_rd *rd)
{
	/* Not one more than it takes. */
	bool few = cam_rd_left(rd) == 0 || (chunk->n - 1) * CAM_ROWS_PER_BYTE < g->rows;
	while (cam_rd_left(rd)) {
		if (cam_rd_u8(rd))
			return -EBADMSG;
	}
	return few ? 0 : -EBADMSG;
}

static int decode_chunk(const struct cam_chunk_in *chunk, struct cam_counters *out)
{
	struct getting g = {.out = out};
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	g.rows = g.left = cam_rd_varint(&rd);
	g.n_ticks = cam_rd_varint(&rd);
	g.n_series = cam_rd_varint(&rd);
	g.cpu_exponent = cam_rd_varint(&rd);
	/* Before memory is taken for it. */
	if (rd.error || g.rows > chunk->n * CAM_ROWS_PER_BYTE || g.n_ticks > g.rows ||
	    g.n_series > g.rows || g.cpu_exponent > CAM_COUNTER_MAX_EXPONENT)
		return -EBADMSG;
	int err = cam_streams_open(g.streams, &rd, CAM_COUNTER_STREAMS, cam_counter_contexts,
				   cam_counter_splits);
	if (err)
		return err;
	err = get_ticks(&g);
	if (!err)
		err = get_series(&g);
	int bad = cam_streams_close(g.streams, CAM_COUNTER_STREAMS);
	if (!err)
		err = bad ? bad : check_zeros(&g, chunk, &rd);
	free(g.ticks);
	free(g.others);
	return err;
}

/* All that can be read; a chunk that is bad in its middle gives none. */
int cam_read_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	const struct cam_dir_section *s = &r->dir.sections[CAM_CHUNK_COUNTERS];
	struct cam_counters list = {0};
	struct cam_chunk_in chunk = {0};
	int err = 0;
	for (size_t i = 0; i < s->n && !err; i++) {
		size_t had = list.n;
		err = cam_reader_chunk(r, CAM_CHUNK_COUNTERS, i, &chunk);
		if (!err)
			err = decode_chunk(&chunk, &list);
		if (err == -EBADMSG || err == -E2BIG) {
			cam_reader_mark_bad(r, CAM_CHUNK_COUNTERS, i);
			list.n = had;
			err = 0;
		}
	}
	if (!err)
		err = cam_counters_sort(&list);
	if (!err)
		err = cam_counters_give(&list, fn, arg);
	free(chunk.data);
	cam_counters_free(&list);
	return err;
}
