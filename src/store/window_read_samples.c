// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of a range, a batch a span. Of each span only the chunks that the columns asked for
 * need are read; times also where the range cuts through a second.
 */
#include "base/units.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

#define NEED_RANK                                                                       \
	(CAM_COL_STACK | CAM_COL_TASK | CAM_COL_ETYPE | CAM_COL_COMM | CAM_COL_WEIGHT | \
	 CAM_COL_LEAF | CAM_COL_PLACE)

/* How a range meets a span. */
enum meeting {
	APART,
	PARTS,	 /* samples must be chosen by their time */
	SECONDS, /* whole seconds of it */
	ALL,
};

static enum meeting meet(const struct cam_dir_span *s, struct cam_range range)
{
	if (s->timeless)
		return range.to_ns == UINT64_MAX && range.from_ns < range.to_ns ? ALL : APART;
	uint64_t from = s->second * CAM_NS_PER_SEC, end = s->second + s->seconds;
	/* The last second of 64 bits is shorter than others. */
	uint64_t to = end > UINT64_MAX / CAM_NS_PER_SEC ? UINT64_MAX : end * CAM_NS_PER_SEC;
	if (range.from_ns >= to || range.to_ns <= from || range.from_ns >= range.to_ns)
		return APART;
	bool from_cuts = range.from_ns > from, to_cuts = range.to_ns < to;
	if (!from_cuts && !to_cuts)
		return ALL;
	if ((from_cuts && range.from_ns % CAM_NS_PER_SEC) ||
	    (to_cuts && range.to_ns % CAM_NS_PER_SEC))
		return PARTS;
	return SECONDS;
}

/* The beginning of each one's second in place of its time. */
static void fill_seconds(struct cam_reader *r)
{
	struct cam_span_in *s = r->span;
	uint32_t at = 0;
	for (uint32_t i = 0; i < s->n_runs; i++) {
		uint64_t t = (s->span->second + s->runs[i].second) * CAM_NS_PER_SEC;
		for (uint32_t k = 0; k < s->runs[i].n; k++)
			s->time_ns[at++] = s->span->timeless ? CAM_TIME_NONE : t;
	}
}

static int decode_span(struct cam_reader *r, unsigned columns, bool times)
{
	int err = 0;
	if (columns & CAM_COL_CPU)
		cam_span_cpu(r);
	if (times || (columns & CAM_COL_TIME))
		err = cam_span_time(r);
	else if (columns & CAM_COL_SECOND)
		fill_seconds(r);
	if (!err && (columns & NEED_RANK))
		err = cam_span_rank(r);
	if (!err && (columns & (CAM_COL_STACK | CAM_COL_LEAF | CAM_COL_PLACE)))
		cam_span_stack(r);
	if (!err && (columns & CAM_COL_TASK))
		err = cam_span_task(r);
	if (!err && (columns & CAM_COL_WEIGHT))
		err = cam_span_weight(r);
	if (!err && (columns & CAM_COL_LEAF))
		err = cam_span_leaf(r);
	if (!err && (columns & CAM_COL_PLACE))
		err = cam_span_place(r);
	if (!err && (columns & CAM_COL_DETAIL))
		err = cam_span_detail(r);
	if (err || !(columns & (CAM_COL_ETYPE | CAM_COL_COMM)))
		return err;
	struct cam_span_in *s = r->span;
	for (uint32_t i = 0; i < s->span->samples; i++) {
		const struct cam_dir_group *g = &r->dir.groups[s->group[i]];
		s->etype[i] = g->etype;
		s->comm[i] = columns & CAM_COL_COMM ? r->strings[g->comm] : 0;
	}
	return 0;
}

/* Numbers of the samples inside the range into `keep`. */
static uint32_t choose(const struct cam_span_in *s, struct cam_range range, bool times,
		       uint32_t *keep)
{
	uint32_t n = 0, at = 0;
	for (uint32_t i = 0; i < s->n_runs; i++) {
		uint64_t second = (s->span->second + s->runs[i].second) * CAM_NS_PER_SEC;
		for (uint32_t k = 0; k < s->runs[i].n; k++, at++) {
			uint64_t t = times ? s->time_ns[at] : second;
			if (t >= range.from_ns && t < range.to_ns)
				keep[n++] = at;
		}
	}
	return n;
}

static void keep_u64(uint64_t *column, const uint32_t *keep, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		column[i] = column[keep[i]];
}

static void keep_u32(uint32_t *column, const uint32_t *keep, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		column[i] = column[keep[i]];
}

static int give(struct cam_span_in *s, uint32_t n, const uint32_t *keep, unsigned columns,
		cam_batch_fn *fn, void *arg)
{
	struct cam_batch b = {.n = n};
	const struct {
		unsigned column;
		uint64_t *rows;
		const uint64_t **out;
	} wide[] = {{CAM_COL_ANY_TIME, s->time_ns, &b.time_ns},
		    {CAM_COL_WEIGHT, s->weight, &b.weight},
		    {CAM_COL_LEAF, s->leaf, &b.leaf_offset}};
	const struct {
		unsigned column;
		uint32_t *rows;
		const uint32_t **out;
	} narrow[] = {{CAM_COL_CPU, s->cpu, &b.cpu},	   {CAM_COL_TASK, s->task, &b.task},
		      {CAM_COL_STACK, s->stack, &b.stack}, {CAM_COL_PLACE, s->place, &b.place},
		      {CAM_COL_ETYPE, s->etype, &b.etype}, {CAM_COL_DETAIL, s->detail, &b.detail},
		      {CAM_COL_COMM, s->comm, &b.comm}};
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		if (!(columns & wide[i].column))
			continue;
		if (keep)
			keep_u64(wide[i].rows, keep, n);
		*wide[i].out = wide[i].rows;
	}
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		if (!(columns & narrow[i].column))
			continue;
		if (keep)
			keep_u32(narrow[i].rows, keep, n);
		*narrow[i].out = narrow[i].rows;
	}
	return n ? fn(arg, &b) : 0;
}

static int read_span(struct cam_reader *r, size_t i, struct cam_range range, unsigned columns,
		     cam_batch_fn *fn, void *arg)
{
	enum meeting m = meet(&r->dir.spans[i], range);
	if (m == APART)
		return 0;
	int err = cam_span_counts(r, i);
	if (!err)
		err = decode_span(r, columns, m == PARTS);
	if (err == -EBADMSG) {
		cam_reader_lose_span(r, i);
		return 0;
	}
	if (err || m == ALL)
		return err ? err : give(r->span, r->span->span->samples, NULL, columns, fn, arg);
	/* Ranks have done their work: their room serves for the choice. */
	uint32_t *keep = r->span->rank;
	uint32_t n = choose(r->span, range, m == PARTS, keep);
	return give(r->span, n, keep, columns, fn, arg);
}

static unsigned parts_for(unsigned columns)
{
	unsigned parts = 0;
	if (columns & (CAM_COL_STACK | CAM_COL_LEAF | CAM_COL_PLACE))
		parts |= CAM_PART_TREE;
	if (columns & CAM_COL_COMM)
		parts |= CAM_PART_STRINGS;
	if (columns & CAM_COL_LEAF)
		parts |= CAM_PART_LEAVES;
	if (columns & CAM_COL_PLACE)
		parts |= CAM_PART_PLACES;
	return parts;
}

int cam_read_samples(struct cam_window *w, struct cam_range range, unsigned columns,
		     cam_batch_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, parts_for(columns));
	if (!err && !r->span)
		err = cam_span_in_new(r);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = read_span(r, i, range, columns, fn, arg);
	return err;
}

/* How often each pair of a stack and a group was sampled in the part of a span that lies in the range. */
static int count_span(struct cam_reader *r, size_t i, struct cam_range range, uint32_t *counts)
{
	enum meeting m = meet(&r->dir.spans[i], range);
	if (m == APART)
		return 0;
	struct cam_span_in *s = r->span;
	int err = cam_span_counts(r, i);
	if (!err && m == PARTS)
		err = cam_span_time(r);
	if (!err)
		err = cam_span_rank(r);
	if (err == -EBADMSG) {
		cam_reader_lose_span(r, i);
		return 0;
	}
	if (err)
		return err;
	uint32_t n = m == ALL ? s->span->samples : choose(s, range, m == PARTS, s->order);
	for (uint32_t k = 0; k < n; k++)
		counts[s->rank[m == ALL ? k : s->order[k]]]++;
	return 0;
}

/* A sample is stored as the rank of its pair: sums by stack and comm need no more than counting these. */
int cam_read_totals_in(struct cam_window *w, struct cam_range range, cam_total_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	int err = cam_reader_load(r, CAM_PART_TREE | CAM_PART_STRINGS);
	if (!err && !r->span)
		err = cam_span_in_new(r);
	uint32_t *counts = err ? NULL : calloc((size_t)r->dir.n_pairs + 1, sizeof(*counts));
	if (!err && !counts)
		err = -ENOMEM;
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = count_span(r, i, range, counts);
	for (uint32_t rank = 0; rank < r->dir.n_pairs && !err; rank++) {
		if (!counts[rank])
			continue;
		const struct cam_dir_group *g = &r->dir.groups[r->rank_group[rank]];
		struct cam_total total = {.stack = {r->rank_node[rank]},
					  .comm = {r->strings[g->comm]},
					  .etype = {g->etype},
					  .samples = counts[rank]};
		err = fn(arg, &total);
	}
	free(counts);
	return err;
}
