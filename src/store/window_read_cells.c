// SPDX-License-Identifier: Apache-2.0
/*
 * Cells: what each CPU did in each second, from the counts of the spans and the ledger; no other
 * column is read.
 *
 * A row of the ledger counts in the seconds it covers, evenly (exactly: floor of the part before
 * each second's end minus the same before its start); one that covers more than 4,096 seconds
 * counts in its first.
 */
#include "base/units.h"
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>

#define MAX_SPREAD_SECONDS 4096u
#define MAX_PARTS	   (1u << 22) /* beyond: rows are no longer spread */

/* A contribution to a cell. */
struct part {
	uint64_t second, n;
	uint32_t cpu;
	uint32_t what; /* 0: busy, 1 + cause */
};

struct parts {
	struct part *rows;
	size_t n, cap;
};

static int add(struct parts *p, const struct part *part)
{
	int err = cam_vec_reserve(&p->rows, &p->cap, p->n + 1, sizeof(*p->rows), SIZE_MAX / 64);
	if (!err)
		p->rows[p->n++] = *part;
	return err;
}

static uint64_t part_before(const struct cam_ledger_row *l, uint64_t second)
{
	uint64_t t = second * CAM_NS_PER_SEC;
	if (t <= l->from_ns)
		return 0;
	if (t >= l->to_ns || second > UINT64_MAX / CAM_NS_PER_SEC)
		return l->samples;
	return (uint64_t)((unsigned __int128)l->samples * (t - l->from_ns) /
			  (l->to_ns - l->from_ns));
}

static int add_ledger(void *arg, const struct cam_ledger_row *l)
{
	struct parts *p = arg;
	uint64_t first = l->from_ns / CAM_NS_PER_SEC;
	uint64_t last = l->to_ns > l->from_ns ? (l->to_ns - 1) / CAM_NS_PER_SEC : first;
	if (last - first >= MAX_SPREAD_SECONDS || p->n > MAX_PARTS)
		last = first;
	for (uint64_t s = first; s <= last; s++) {
		uint64_t n = first == last ? l->samples : part_before(l, s + 1) - part_before(l, s);
		struct part part = {s, n, l->cpu, 1 + (uint32_t)l->cause};
		int err = n ? add(p, &part) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int add_span(struct cam_reader *r, size_t i, struct parts *p)
{
	int err = cam_span_counts(r, i);
	if (err == -EBADMSG) {
		struct cam_ledger_row row;
		cam_reader_lose_span(r, i);
		cam_reader_lost_row(r, i, &row);
		return add_ledger(p, &row);
	}
	const struct cam_span_in *s = r->span;
	for (uint32_t k = 0; k < s->n_runs && !err; k++) {
		struct part part = {s->span->second + s->runs[k].second, s->runs[k].n,
				    r->dir.cpus[s->runs[k].cpu], 0};
		err = add(p, &part);
	}
	return err;
}

static int compare_parts(const void *x, const void *y)
{
	const struct part *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

int cam_read_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	struct parts p = {0};
	int err = r->span ? 0 : cam_span_in_new(r);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = add_span(r, i, &p);
	if (!err)
		err = cam_read_ledger_stored(w, add_ledger, &p);
	if (p.n)
		qsort(p.rows, p.n, sizeof(*p.rows), compare_parts);
	for (size_t i = 0; i < p.n && !err;) {
		const struct part *first = &p.rows[i];
		struct cam_cell cell = {.second = first->second, .cpu = first->cpu};
		for (; i < p.n && !compare_parts(first, &p.rows[i]); i++) {
			if (p.rows[i].what)
				cell.by_cause[p.rows[i].what - 1] += p.rows[i].n;
			else
				cell.busy += p.rows[i].n;
		}
		err = fn(arg, &cell);
	}
	free(p.rows);
	return err;
}
