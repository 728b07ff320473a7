// SPDX-License-Identifier: Apache-2.0
/*
 * Counters in a data block: an extension behind its columns (docs/journal-format.md, 2.4).
 *
 * Rows are sorted by kind, time, span and subject, and come in runs that share the first three: a
 * reading of one kind, of all CPUs. So a row is mostly two bytes: its CPU is the next one, its value
 * a number of clock ticks.
 *
 *	run: kind, rows, zigzag time against the run before (0), zigzag span against the run before
 *	     (0), e; then of each row: zigzag subject − (that of the row before + 1, at first 0),
 *	     value / 10^e
 *
 * Example: user time of CPUs 0 to 2, 990, 1000 and 0 ms, read at 7 s: 0 3 (7e9) (1e9) 7, 0 99, 0
 * 100, 0 0.
 */
#include "store/journal_counter.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_EXPONENT 9u

static int compare(const void *a, const void *b)
{
	const struct cam_counter *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->span_ns != y->span_ns)
		return x->span_ns < y->span_ns ? -1 : 1;
	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static bool same_run(const struct cam_counter *a, const struct cam_counter *b)
{
	return a->kind == b->kind && a->time_ns == b->time_ns && a->span_ns == b->span_ns;
}

/* The largest power of ten that divides all values. */
static uint64_t unit_of(const struct cam_counter *rows, size_t n, unsigned *exponent)
{
	uint64_t unit = 1000000000;
	*exponent = MAX_EXPONENT;
	for (size_t i = 0; i < n; i++) {
		while (rows[i].value % unit) {
			unit /= 10;
			--*exponent;
		}
	}
	return unit;
}

static void put_run(struct cam_buf *out, const struct cam_counter *rows, size_t n,
		    struct cam_counter *before)
{
	unsigned exponent;
	uint64_t unit = unit_of(rows, n, &exponent);
	cam_buf_put_varint(out, rows->kind);
	cam_buf_put_varint(out, n);
	cam_buf_put_zigzag(out, (int64_t)(rows->time_ns - before->time_ns));
	cam_buf_put_zigzag(out, (int64_t)(rows->span_ns - before->span_ns));
	cam_buf_put_varint(out, exponent);
	uint32_t next = 0;
	for (size_t i = 0; i < n; i++) {
		cam_buf_put_zigzag(out, (int64_t)rows[i].subject - next);
		cam_buf_put_varint(out, rows[i].value / unit);
		next = rows[i].subject + 1;
	}
	*before = *rows;
}

int cam_journal_put_counters(const struct cam_counter *rows, size_t n, struct cam_buf *out)
{
	struct cam_counter before = {0};
	struct cam_counter *sorted = reallocarray(NULL, n ? n : 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = rows[i];
		if ((unsigned)rows[i].kind >= CAM_COUNTER_MAX) {
			free(sorted);
			return -EINVAL;
		}
	}
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && same_run(&sorted[i], &sorted[end]); end++)
			;
		put_run(out, &sorted[i], end - i, &before);
	}
	free(sorted);
	return cam_buf_error(out);
}

static int begin_run(struct cam_journal_counters *c)
{
	struct cam_rd *r = &c->bytes;
	c->kind = cam_rd_varint(r);
	c->run = cam_rd_varint(r);
	c->time_ns += (uint64_t)cam_rd_zigzag(r);
	c->span_ns += (uint64_t)cam_rd_zigzag(r);
	uint64_t exponent = cam_rd_varint(r);
	if (r->error || !c->run || c->run > c->rows || exponent > MAX_EXPONENT)
		return -EBADMSG;
	c->unit = 1;
	for (; exponent; exponent--)
		c->unit *= 10;
	c->subject = 0;
	return 0;
}

int cam_journal_get_counter(struct cam_journal_counters *c, struct cam_counter *out)
{
	while (c->rows) {
		int err = c->run ? 0 : begin_run(c);
		if (err)
			return err;
		int64_t skip = cam_rd_zigzag(&c->bytes);
		uint64_t value = cam_rd_varint(&c->bytes);
		int64_t subject = (int64_t)(c->subject + (uint64_t)skip);
		if (c->bytes.error || subject < 0 || subject > UINT32_MAX ||
		    value > UINT64_MAX / c->unit)
			return -EBADMSG;
		c->subject = (uint64_t)subject + 1;
		c->run--;
		c->rows--;
		*out = (struct cam_counter){
			.time_ns = c->time_ns,
			.span_ns = c->span_ns,
			.subject = (uint32_t)subject,
			.value = value * c->unit,
		};
		/* Kinds that only a newer perfcam knows are left alone. */
		if (c->kind < CAM_COUNTER_MAX) {
			out->kind = (enum cam_counter_kind)c->kind;
			return 1;
		}
	}
	return cam_rd_left(&c->bytes) ? -EBADMSG : 0;
}
