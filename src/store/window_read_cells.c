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
	uint32_t cause;
};

struct parts {
	struct part *rows;
	size_t n, cap;
	bool sorted;
};

static int compare_parts(const void *x, const void *y)
{
	const struct part *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static bool is_before(const struct part *a, const struct part *b)
{
	return a->second < b->second || (a->second == b->second && a->cpu < b->cpu);
}

static bool is_same(const struct part *a, const struct part *b)
{
	return a->second == b->second && a->cpu == b->cpu;
}

static int add(struct parts *p, const struct part *part)
{
	int err = cam_vec_reserve(&p->rows, &p->cap, p->n + 1, sizeof(*p->rows), SIZE_MAX / 64);
	if (err)
		return err;
	p->sorted = !p->n || (p->sorted && !is_before(part, &p->rows[p->n - 1]));
	p->rows[p->n++] = *part;
	return 0;
}

static void sort(struct parts *p)
{
	if (!p->sorted && p->n)
		qsort(p->rows, p->n, sizeof(*p->rows), compare_parts);
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
		struct part part = {s, n, l->cpu, (uint32_t)l->cause};
		int err = n ? add(p, &part) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int add_span(struct cam_reader *r, size_t i, struct parts *busy, struct parts *causes)
{
	int err = cam_span_counts(r, i);
	if (err == -EBADMSG) {
		struct cam_ledger_row row;
		cam_reader_lose_span(r, i);
		cam_reader_lost_row(r, i, &row);
		return add_ledger(causes, &row);
	}
	const struct cam_span_in *s = r->span;
	if (!err)
		err = cam_vec_reserve(&busy->rows, &busy->cap, busy->n + s->n_runs,
				      sizeof(*busy->rows), SIZE_MAX / 64);
	for (uint32_t k = 0; k < s->n_runs && !err; k++) {
		struct part *part = &busy->rows[busy->n++];
		*part = (struct part){s->span->second + s->runs[k].second, s->runs[k].n,
				      r->dir.cpus[s->runs[k].cpu], 0};
		busy->sorted = busy->n == 1 || (busy->sorted && !is_before(part, part - 1));
	}
	return err;
}

/* Both are sorted: the cells of either, each once. */
static int give_cells(const struct parts *busy, const struct parts *causes, cam_cell_fn *fn,
		      void *arg)
{
	struct cam_cell cell = {0};
	int err = 0;
	for (size_t i = 0, k = 0; (i < busy->n || k < causes->n) && !err;) {
		bool later = i == busy->n ||
			     (k < causes->n && is_before(&causes->rows[k], &busy->rows[i]));
		const struct part *first = later ? &causes->rows[k] : &busy->rows[i];
		size_t with_causes = k;
		cell.second = first->second;
		cell.cpu = first->cpu;
		cell.busy = 0;
		cell.causes = 0;
		for (; i < busy->n && is_same(first, &busy->rows[i]); i++)
			cell.busy += busy->rows[i].n;
		for (; k < causes->n && is_same(first, &causes->rows[k]); k++) {
			cell.by_cause[causes->rows[k].cause] += causes->rows[k].n;
			cell.causes |= 1u << causes->rows[k].cause;
		}
		err = fn(arg, &cell);
		/* Most have none: they are taken back one by one, not all cleared. */
		for (; with_causes < k; with_causes++)
			cell.by_cause[causes->rows[with_causes].cause] = 0;
	}
	return err;
}

int cam_read_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	struct parts busy = {0}, causes = {0};
	int err = r->span ? 0 : cam_span_in_new(r);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = add_span(r, i, &busy, &causes);
	if (!err)
		err = cam_read_ledger_stored(w, add_ledger, &causes);
	/* Samples are in this order already, unless the file is not of our making. */
	sort(&busy);
	sort(&causes);
	if (!err)
		err = give_cells(&busy, &causes, fn, arg);
	free(busy.rows);
	free(causes.rows);
	return err;
}
