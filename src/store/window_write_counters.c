// SPDX-License-Identifier: Apache-2.0
/*
 * Counters: what was read of the host once a second. A chunk holds some *series*, one a kind and
 * subject; it is whole in itself, so a bad one costs its series and nothing else.
 *
 *	varints  rows, ticks, series, exponent of the CPU kinds
 *	ticks    the distinct (time, span) of its rows, ascending: time as difference to the step
 *		 before (time − 2 · last + the one before), span as difference to time − last
 *	series   kind; subject, as difference to the series before; exponent (not of CPU kinds);
 *		 first tick; values − 1
 *	values   distance of its tick to the one before (mostly 1); value / 10^exponent as
 *		 difference to the one before in its series
 *	zeros    up to a byte for 64 rows
 *
 * CPU kinds come first, CPU by CPU, for what a CPU was idle is known from the rest of its time: the
 * value of IDLE is written as difference to (span / 10^exponent, rounded, less the CPU's other
 * values of that tick in this chunk). That takes a third off.
 *
 * Example: CPU 3, a reading of 1.0007 s: user 62, system 5, softirq 1, idle 32 ticks of 10 ms.
 * Exponent 7; the values are the differences to the reading before, but for idle 0: 100 − 68 = 32.
 */
#include "store/counters.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>
#include <string.h>

struct tick {
	uint64_t time_ns, span_ns;
};

/* A chunk in the making. */
struct putting {
	const struct cam_counter *rows;
	size_t n;
	struct tick *ticks;
	size_t n_ticks;
	uint64_t *others; /* per tick: what the CPU did but idle */
	uint32_t series;
	unsigned cpu_exponent;
	struct cam_stream_out streams[CAM_COUNTER_STREAMS];
};

static int compare_rows(const void *a, const void *b)
{
	const struct cam_counter *x = a, *y = b;
	bool cx = cam_counter_of_cpu(x->kind), cy = cam_counter_of_cpu(y->kind);
	if (cx != cy)
		return cx ? -1 : 1;
	uint64_t kx = (uint64_t)x->kind << 32 | x->subject,
		 ky = (uint64_t)y->kind << 32 | y->subject;
	if (cx) {
		kx = (uint64_t)x->subject << 32 | x->kind;
		ky = (uint64_t)y->subject << 32 | y->kind;
	}
	if (kx != ky)
		return kx < ky ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->span_ns != y->span_ns)
		return x->span_ns < y->span_ns ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int compare_ticks(const void *a, const void *b)
{
	const struct tick *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->span_ns < y->span_ns ? -1 : x->span_ns > y->span_ns;
}

static int find_ticks(struct putting *p)
{
	p->ticks = reallocarray(NULL, p->n, sizeof(*p->ticks));
	p->others = calloc(p->n, sizeof(*p->others));
	if (!p->ticks || !p->others)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		p->ticks[i] = (struct tick){p->rows[i].time_ns, p->rows[i].span_ns};
	qsort(p->ticks, p->n, sizeof(*p->ticks), compare_ticks);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->n_ticks || compare_ticks(&p->ticks[p->n_ticks - 1], &p->ticks[i]) != 0)
			p->ticks[p->n_ticks++] = p->ticks[i];
	}
	return 0;
}

static uint64_t tick_of(const struct putting *p, const struct cam_counter *row)
{
	struct tick want = {row->time_ns, row->span_ns};
	const struct tick *t =
		bsearch(&want, p->ticks, p->n_ticks, sizeof(*p->ticks), compare_ticks);
	return (uint64_t)(t - p->ticks);
}

static void put(struct putting *p, enum cam_counter_stream s, unsigned ctx, uint64_t v)
{
	cam_stream_put(&p->streams[s], ctx, v);
}

static void put_difference(struct putting *p, enum cam_counter_stream s, unsigned ctx, uint64_t v)
{
	put(p, s, ctx, cam_zigzag((int64_t)v));
}

static void put_ticks(struct putting *p)
{
	uint64_t last = 0, step = 0;
	for (size_t i = 0; i < p->n_ticks; i++) {
		const struct tick *t = &p->ticks[i];
		uint64_t now = t->time_ns - last;
		put_difference(p, CAM_COUNTER_STREAM_TIME, 0, now - step);
		put_difference(p, CAM_COUNTER_STREAM_SPAN, 0, t->span_ns - now);
		last = t->time_ns;
		step = now;
	}
}

/* The largest exponent with which all these values can be written. */
static unsigned exponent_of(const struct cam_counter *rows, size_t n, bool cpu_only)
{
	unsigned e = CAM_COUNTER_MAX_EXPONENT;
	for (size_t i = 0; i < n; i++) {
		if (cpu_only && !cam_counter_of_cpu(rows[i].kind))
			continue;
		while (rows[i].value % cam_counter_unit(e))
			e--;
	}
	return e;
}

static void put_values(struct putting *p, const struct cam_counter *rows, size_t n, uint64_t unit)
{
	bool cpu = cam_counter_of_cpu(rows->kind), idle = rows->kind == CAM_COUNTER_IDLE;
	uint64_t tick = tick_of(p, rows), last = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t now = tick_of(p, &rows[i]), v = rows[i].value / unit;
		if (i)
			put(p, CAM_COUNTER_STREAM_GAP, 0, now - tick);
		tick = now;
		if (idle)
			last = cam_counter_left(rows[i].span_ns, unit, p->others[now]);
		put_difference(p, CAM_COUNTER_STREAM_VALUE, cam_counter_ctx(rows->kind), v - last);
		last = v;
		if (cpu && !idle)
			p->others[now] += v;
	}
}

static void put_series(struct putting *p, const struct cam_counter *rows, size_t n,
		       const struct cam_counter *before)
{
	bool cpu = cam_counter_of_cpu(rows->kind);
	unsigned e = cpu ? p->cpu_exponent : exponent_of(rows, n, false);
	if (before && before->subject != rows->subject)
		memset(p->others, 0, p->n_ticks * sizeof(*p->others));
	put(p, CAM_COUNTER_STREAM_KIND, 0, rows->kind);
	put_difference(p, CAM_COUNTER_STREAM_SUBJECT, 0,
		       (uint64_t)rows->subject - (before ? before->subject : 0));
	if (!cpu)
		put(p, CAM_COUNTER_STREAM_EXPONENT, 0, e);
	put(p, CAM_COUNTER_STREAM_FIRST, 0, tick_of(p, rows));
	put(p, CAM_COUNTER_STREAM_NUMBER, 0, n - 1);
	put_values(p, rows, n, cam_counter_unit(e));
	p->series++;
}

static void put_all_series(struct putting *p)
{
	const struct cam_counter *before = NULL;
	for (size_t i = 0, end; i < p->n; i = end) {
		const struct cam_counter *first = &p->rows[i];
		for (end = i + 1; end < p->n; end++) {
			if (p->rows[end].kind != first->kind ||
			    p->rows[end].subject != first->subject)
				break;
		}
		put_series(p, first, end - i, before);
		before = first;
	}
}

static int put_chunk(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct putting p = {.rows = w->counters->rows + from, .n = to - from};
	for (unsigned i = 0; i < CAM_COUNTER_STREAMS; i++)
		cam_stream_out_init(&p.streams[i], cam_counter_splits[i]);
	int err = find_ticks(&p);
	if (!err) {
		p.cpu_exponent = exponent_of(p.rows, p.n, true);
		put_ticks(&p);
		put_all_series(&p);
		cam_buf_put_varint(out, p.n);
		cam_buf_put_varint(out, p.n_ticks);
		cam_buf_put_varint(out, p.series);
		cam_buf_put_varint(out, p.cpu_exponent);
	}
	for (unsigned i = 0; i < CAM_COUNTER_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&p.streams[i], cam_counter_contexts[i], out);
		cam_stream_out_free(&p.streams[i]);
	}
	while (!err && !out->error && out->len * CAM_ROWS_PER_BYTE < p.n)
		cam_buf_put_u8(out, 0);
	free(p.ticks);
	free(p.others);
	return err ? err : out->error;
}

int cam_write_counters(struct cam_writer *w)
{
	struct cam_counters list = {0};
	if (!w->in->ops->counters)
		return 0;
	int err = w->in->ops->counters(w->in, cam_counters_add, &list);
	for (size_t i = 0; i < list.n && !err; i++)
		err = (unsigned)list.rows[i].kind < CAM_COUNTER_MAX ? 0 : -EBADMSG;
	if (!err && list.n)
		qsort(list.rows, list.n, sizeof(*list.rows), compare_rows);
	w->counters = &list;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_COUNTERS, (uint32_t)list.n, put_chunk);
	w->counters = NULL;
	cam_counters_free(&list);
	return err;
}
