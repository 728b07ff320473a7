// SPDX-License-Identifier: Apache-2.0
/*
 * Cells: what each CPU did in each second, from the counts of the spans and the ledger; no other
 * column is read.
 *
 * A row of the ledger counts in the seconds it covers, evenly (exactly: floor of the part before
 * each second's end minus the same before its start); one that covers more than 4,096 seconds
 * counts in its first, and so does each behind 2^22 seconds of rows.
 *
 * Their sums by second need even less: see cam_read_seconds().
 */
#include "base/units.h"
#include "base/vec.h"
#include "store/window_reader.h"

#include <errno.h>
#include <string.h>

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
	uint64_t steps; /* see spread() */
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
	if (p->n == p->cap) {
		int err = cam_vec_reserve(&p->rows, &p->cap, p->n + 1, sizeof(*p->rows),
					  SIZE_MAX / 64);
		if (err)
			return err;
	}
	p->rows[p->n++] = *part;
	return 0;
}

static bool is_sorted(const struct part *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (is_before(&rows[i], &rows[i - 1]))
			return false;
	return true;
}

/* Those of a second side by side, and in the order in which they came. false: they lie too far apart, or there is no memory. */
static bool sort_by_second(struct parts *p)
{
	uint64_t first = UINT64_MAX, last = 0;
	for (size_t i = 0; i < p->n; i++) {
		first = p->rows[i].second < first ? p->rows[i].second : first;
		last = p->rows[i].second > last ? p->rows[i].second : last;
	}
	if (last - first >= MAX_SPREAD_SECONDS)
		return false;
	size_t seconds = last - first + 1;
	size_t *at = calloc(seconds + 1, sizeof(*at));
	struct part *rows = malloc(p->n * sizeof(*rows));
	if (!at || !rows) {
		free(at);
		free(rows);
		return false;
	}
	for (size_t i = 0; i < p->n; i++)
		at[p->rows[i].second - first + 1]++;
	for (size_t k = 0; k < seconds; k++)
		at[k + 1] += at[k];
	for (size_t i = 0; i < p->n; i++)
		rows[at[p->rows[i].second - first]++] = p->rows[i];
	free(at);
	free(p->rows);
	p->rows = rows;
	p->cap = p->n;
	return true;
}

/*
 * By second and CPU. A recorder settles one second of all its CPUs, or one CPU's seconds, at a time: mostly their seconds are all that is
 * out of order, and counting puts them right in a tenth of the time that comparing takes.
 */
static void sort(struct parts *p)
{
	if (is_sorted(p->rows, p->n))
		return;
	if (!sort_by_second(p)) {
		qsort(p->rows, p->n, sizeof(*p->rows), compare_parts);
		return;
	}
	for (size_t i = 0, end; i < p->n; i = end) {
		/* Counted, all of them are filled. NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		for (end = i + 1; end < p->n && p->rows[end].second == p->rows[i].second;)
			end++;
		if (!is_sorted(p->rows + i, end - i))
			qsort(p->rows + i, end - i, sizeof(*p->rows), compare_parts);
	}
}

static uint64_t part_before(const struct cam_ledger_row *l, uint64_t second)
{
	uint64_t t = second * CAM_NS_PER_SEC;
	if (t <= l->from_ns)
		return 0;
	if (t >= l->to_ns || second > UINT64_MAX / CAM_NS_PER_SEC)
		return l->samples;
	uint64_t before = t - l->from_ns, length = l->to_ns - l->from_ns;
	/* Nearly always; the long division takes ten times as long. */
	if ((l->samples | before) <= UINT32_MAX)
		return l->samples * before / length;
	return (uint64_t)((unsigned __int128)l->samples * before / length);
}

typedef int part_fn(void *arg, const struct part *part);

/* A row of the ledger, second by second. *steps: of all rows; a file that is nothing but long rows does not take for ever. */
static inline int spread(const struct cam_ledger_row *l, uint64_t *steps, part_fn *fn, void *arg)
{
	uint64_t first = l->from_ns / CAM_NS_PER_SEC;
	uint64_t last = l->to_ns > l->from_ns ? (l->to_ns - 1) / CAM_NS_PER_SEC : first;
	if (!l->samples)
		return 0;
	if (last - first >= MAX_SPREAD_SECONDS || *steps > MAX_PARTS)
		last = first;
	*steps += last - first;
	uint64_t done = 0;
	for (uint64_t s = first; s <= last; s++) {
		uint64_t until = s == last ? l->samples : part_before(l, s + 1);
		struct part part = {s, until - done, l->cpu, (uint32_t)l->cause};
		int err = until > done ? fn(arg, &part) : 0;
		if (err)
			return err;
		done = until;
	}
	return 0;
}

static int add_part(void *arg, const struct part *part)
{
	return add(arg, part);
}

static int add_ledger(void *arg, const struct cam_ledger_row *l)
{
	struct parts *p = arg;
	return spread(l, &p->steps, add_part, p);
}

typedef int rows_fn(void *arg, struct cam_rd *rows, uint32_t n);

/* The rows of a chunk of the ledger to whoever decodes them; -EBADMSG: the chunk is bad, though rows may have been taken. */
static int open_rows(struct cam_reader *r, size_t i, struct cam_chunk_in *chunk, rows_fn *fn,
		     void *arg)
{
	struct cam_block_in block = {0};
	int err = cam_reader_chunk(r, CAM_CHUNK_LEDGER, i, chunk);
	if (err)
		return err;
	struct cam_rd rd = cam_rd_make(chunk->data, chunk->n);
	err = cam_block_read(&block, &rd, CAM_TEXT_RAW_MAX);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	rd = cam_block_rd(&block);
	if (!err)
		err = fn(arg, &rd, r->dir.sections[CAM_CHUNK_LEDGER].chunks[i].rows);
	if (!err && cam_rd_left(&rd))
		err = -EBADMSG;
	cam_block_free(&block);
	return err;
}

/* Most are a second, whose five bytes need not be put together: what follows can then be decoded ahead. */
static inline uint64_t get_length(struct cam_rd *rd)
{
	static const uint8_t second[] = {0x80, 0xa8, 0xd6, 0xb9, 0x07};
	_Static_assert(CAM_NS_PER_SEC == 1000000000, "as its varint says");
	if (cam_rd_left(rd) < sizeof(second) || memcmp(rd->p, second, sizeof(second)) != 0)
		return (uint64_t)cam_unzigzag(cam_rd_varint(rd));
	rd->p += sizeof(second);
	return CAM_NS_PER_SEC;
}

/*
 * One row. *second: that of the row before, which most lie in as well; whether all of this one does is answered, and it is then
 * its. -EBADMSG.
 */
static inline int get_row(struct cam_rd *rd, struct cam_ledger_row *row, uint64_t *second,
			  bool *in_one)
{
	uint64_t cause = cam_rd_varint(rd), cpu = cam_rd_varint(rd);
	row->from_ns += (uint64_t)cam_unzigzag(cam_rd_varint(rd));
	uint64_t length = get_length(rd);
	row->samples = cam_rd_varint(rd);
	row->cause = cam_cause_stored(cause);
	row->cpu = (uint32_t)cpu - 1;
	row->to_ns = row->from_ns + length;
	if (cam_rd_error(rd) || cpu > UINT32_MAX)
		return -EBADMSG;
	uint64_t into = row->from_ns - *second * CAM_NS_PER_SEC;
	if (into >= CAM_NS_PER_SEC) {
		*second = row->from_ns / CAM_NS_PER_SEC;
		into = row->from_ns - *second * CAM_NS_PER_SEC;
	}
	*in_one = length <= CAM_NS_PER_SEC - into;
	return 0;
}

static int add_rows(void *arg, struct cam_rd *in, uint32_t n)
{
	struct parts *p = arg;
	struct cam_rd rd = *in; /* in registers */
	struct cam_ledger_row row = {0};
	uint64_t second = 0;
	bool in_one = false;
	int err = 0;
	for (uint32_t i = 0; i < n && !err; i++) {
		err = get_row(&rd, &row, &second, &in_one);
		if (!err && !in_one)
			err = spread(&row, &p->steps, add_part, p);
		else if (!err && row.samples)
			err = add(p, &(struct part){second, row.samples, row.cpu,
						    (uint32_t)row.cause});
	}
	*in = rd;
	return err;
}

/* The ledger as it was written, without rows in between. */
static int add_stored(struct cam_reader *r, struct parts *p)
{
	struct cam_chunk_in chunk = {0};
	int err = 0;
	for (size_t i = 0; i < r->dir.sections[CAM_CHUNK_LEDGER].n && !err; i++) {
		struct parts had = *p;
		err = open_rows(r, i, &chunk, add_rows, p);
		if (err == -EBADMSG) {
			/* A chunk that is bad in its middle gives none of its rows. */
			cam_reader_mark_bad(r, CAM_CHUNK_LEDGER, i);
			p->n = had.n;
			p->steps = had.steps;
			err = 0;
		}
	}
	free(chunk.data);
	return err;
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
	cam_reader_ahead(r, CAM_CHUNK_COUNTS);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = add_span(r, i, &busy, &causes);
	if (!err)
		err = add_stored(r, &causes);
	/* Samples are in this order already, unless the file is not of our making. */
	sort(&busy);
	sort(&causes);
	if (!err)
		err = give_cells(&busy, &causes, fn, arg);
	free(busy.rows);
	free(causes.rows);
	return err;
}

/* Sums of seconds: those near the window's start in a table, one that lies elsewhere handed out at once. */
struct seconds {
	uint64_t first;
	size_t n;
	struct cam_cell *cells; /* n; none has a CPU */
	/* What they were before the chunk that is summed: of those in `touched` alone, which bounds the copying by its rows. */
	struct cam_cell *was;
	bool *is_touched;
	uint32_t *touched;
	size_t n_touched;
	uint64_t steps; /* see spread() */
	cam_cell_fn *fn;
	void *arg;
};

static int add_to_second(void *arg, const struct part *part)
{
	struct seconds *x = arg;
	uint64_t at = part->second - x->first;
	if (at < x->n) {
		x->cells[at].by_cause[part->cause] += part->n;
		x->cells[at].causes |= 1u << part->cause;
		return 0;
	}
	struct cam_cell far = {.second = part->second, .cpu = CAM_CPU_NONE};
	far.by_cause[part->cause] = part->n;
	far.causes = 1u << part->cause;
	return x->fn(x->arg, &far);
}

struct rows {
	struct cam_ledger_row *v;
	size_t n, cap;
};

static int keep_row(struct rows *rows, const struct cam_ledger_row *row)
{
	int err = cam_vec_reserve(&rows->v, &rows->cap, rows->n + 1, sizeof(*row), SIZE_MAX / 64);
	if (!err)
		rows->v[rows->n++] = *row;
	return err;
}

static void touch(struct seconds *x, uint64_t at)
{
	if (at >= x->n || x->is_touched[at])
		return;
	x->is_touched[at] = true;
	x->was[at] = x->cells[at];
	x->touched[x->n_touched++] = (uint32_t)at;
}

/* Done with a chunk: what it gave stays, or goes. */
static void settle(struct seconds *x, bool good)
{
	while (x->n_touched) {
		uint32_t at = x->touched[--x->n_touched];
		x->is_touched[at] = false;
		if (!good)
			x->cells[at] = x->was[at];
	}
}

struct summing {
	struct seconds *x;
	struct rows others; /* not in one second near the window's start */
};

/*
 * Rows of a ledger's chunk, most of which lie in one second near the window's start: a large host has ten thousand of them in a
 * window, so these are summed as they are decoded. The others wait until the chunk has turned out to be good.
 */
static int sum_rows(void *arg, struct cam_rd *in, uint32_t n)
{
	struct summing *to = arg;
	struct seconds *x = to->x;
	struct cam_rd rd = *in; /* in registers */
	struct cam_ledger_row row = {0};
	uint64_t second = x->first, last = second;
	bool in_one = false;
	int err = 0;
	touch(x, 0);
	for (uint32_t i = 0; i < n && !err; i++) {
		err = get_row(&rd, &row, &second, &in_one);
		if (err)
			return err;
		uint64_t at = second - x->first;
		if (second != last)
			touch(x, at);
		last = second;
		if (at < x->n && in_one) {
			x->cells[at].by_cause[row.cause] += row.samples;
			x->cells[at].causes |= row.samples ? 1u << row.cause : 0;
			continue;
		}
		err = keep_row(&to->others, &row);
	}
	*in = rd;
	return err;
}

/* A chunk that is bad in its middle gives none of its rows. */
static int sum_chunk(struct cam_reader *r, size_t i, struct cam_chunk_in *chunk, struct seconds *x)
{
	struct summing to = {.x = x};
	int err = open_rows(r, i, chunk, sum_rows, &to);
	settle(x, !err);
	for (size_t k = 0; k < to.others.n && !err; k++)
		err = spread(&to.others.v[k], &x->steps, add_to_second, x);
	free(to.others.v);
	return err;
}

static int sum_ledger(struct cam_reader *r, struct seconds *x)
{
	struct cam_chunk_in chunk = {0};
	x->was = malloc(x->n * sizeof(*x->was));
	x->is_touched = calloc(x->n, sizeof(*x->is_touched));
	x->touched = malloc(x->n * sizeof(*x->touched));
	int err = x->was && x->is_touched && x->touched ? 0 : -ENOMEM;
	for (size_t i = 0; i < r->dir.sections[CAM_CHUNK_LEDGER].n && !err; i++) {
		if (!r->dir.sections[CAM_CHUNK_LEDGER].chunks[i].rows)
			continue;
		err = sum_chunk(r, i, &chunk, x);
		if (err == -EBADMSG) {
			cam_reader_mark_bad(r, CAM_CHUNK_LEDGER, i);
			err = 0;
		}
	}
	free(x->was);
	free(x->is_touched);
	free(x->touched);
	free(chunk.data);
	return err;
}

static int add_busy(struct seconds *x, uint64_t second, uint64_t n)
{
	if (second - x->first < x->n) {
		x->cells[second - x->first].busy += n;
		return 0;
	}
	struct cam_cell far = {.second = second, .cpu = CAM_CPU_NONE, .busy = n};
	return x->fn(x->arg, &far);
}

/* Of a span of one second the directory has the sum, whatever became of its columns: as on every host of many CPUs. */
static int sum_span(struct cam_reader *r, size_t i, struct seconds *x)
{
	const struct cam_dir_span *span = &r->dir.spans[i];
	struct parts busy = {0}, lost = {0};
	if (span->seconds == 1 && !r->span_lost[i])
		return add_busy(x, span->second, span->samples);
	int err = add_span(r, i, &busy, &lost);
	for (size_t k = 0; k < busy.n && !err; k++)
		err = add_busy(x, busy.rows[k].second, busy.rows[k].n);
	for (size_t k = 0; k < lost.n && !err; k++)
		err = add_to_second(x, &lost.rows[k]);
	free(busy.rows);
	free(lost.rows);
	return err;
}

int cam_read_seconds(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct cam_reader *r = cam_reader_of(w);
	struct seconds x = {.first = w->info.start_ns / CAM_NS_PER_SEC, .fn = fn, .arg = arg};
	uint64_t last = w->info.end_ns / CAM_NS_PER_SEC;
	x.n = last >= x.first && last - x.first < MAX_SPREAD_SECONDS ? last - x.first + 1
								     : MAX_SPREAD_SECONDS;
	x.cells = calloc(x.n, sizeof(*x.cells));
	int err = x.cells ? 0 : -ENOMEM;
	if (!err && !r->span)
		err = cam_span_in_new(r);
	for (size_t i = 0; i < r->dir.n_spans && !err; i++)
		err = sum_span(r, i, &x);
	if (!err)
		err = sum_ledger(r, &x);
	for (size_t i = 0; i < x.n && !err; i++) {
		struct cam_cell *cell = &x.cells[i];
		cell->second = x.first + i;
		cell->cpu = CAM_CPU_NONE;
		if (cell->busy || cell->causes)
			err = fn(arg, cell);
	}
	free(x.cells);
	return err;
}
