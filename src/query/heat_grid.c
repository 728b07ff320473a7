// SPDX-License-Identifier: Apache-2.0
/*
 * Samples to cells, long spans by their peaks.
 *
 * What: a cell of a long span stands for many finest ones (20 ms of each of 300 seconds, say). Its
 * sum says how much, but a spike drowns in it; so each finest cell is counted by itself, and the cell keeps
 * the largest.
 *
 * Why this way: finest cells of 12 hours are millions, of a file with two samples 30 years apart more
 * than memory. But samples come by second: so only the few finest columns that are being filled are
 * held, in a ring, by their number modulo its size. Another number in the same place ends the
 * old one: it is added to its column. Memory follows the picture, never the span.
 *
 * Invariants:
 * 1. The sum of all cells' samples plus `outside` is what was added.
 * 2. peak ≤ samples ≤ peak · finest columns in a column; equal where there is one.
 * 3. A peak is exact as long as no sample comes later than CAM_HEAT_RING finest columns after its own
 *    (windows are in order and so are their seconds; a wall clock that was stepped back shows
 *    some seconds twice: their counts add up in samples, not in peak).
 * 4. seen = observed − missing, between 0 and 1. What no window covers is 0: it was not observed.
 *
 * Example, sub-second, 4 rows of 250 ms, columns of 2 s. Samples at 0.1, 0.2, 1.1 and 1.6 s: second 0
 * has {2 0 0 0}, second 1 {1 0 1 0}; column 0 gets samples {3 0 1 0} and peaks {2 0 1 0}.
 */
#include "query/heat_grid.h"

#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 65536u
/* Of causes that are no loss, less than this part of a column is noise of the estimate. */
#define LEAST_SHARE 0.05

static int add_row(struct cam_heat_grid *g, uint32_t cpu)
{
	if ((uint64_t)(g->n_rows + 1) * g->n_columns > CAM_HEAT_MAX_CELLS)
		return -E2BIG;
	int err = cam_vec_reserve(&g->rows, &g->cap_rows, g->n_rows + 1ul, sizeof(*g->rows),
				  CAM_HEAT_MAX_CELLS);
	if (err)
		return err;
	struct cam_heat_row row = {cpu, calloc(g->n_columns, sizeof(*row.cells)), NULL};
	if (!row.cells)
		return -ENOMEM;
	g->rows[g->n_rows++] = row;
	return 0;
}

int cam_heat_grid_init(struct cam_heat_grid *g, enum cam_heat_mode mode, uint32_t n_columns,
		       uint32_t n_rows, uint64_t column_ns, uint64_t fine_ns)
{
	*g = (struct cam_heat_grid){
		.mode = mode,
		.column_ns = column_ns,
		.fine_ns = fine_ns,
		.n_columns = n_columns,
	};
	if (!n_columns || (uint64_t)n_columns * (n_rows ? n_rows : 1) > CAM_HEAT_MAX_CELLS)
		return -E2BIG;
	size_t observed = (size_t)n_columns * (mode == CAM_HEAT_SUBSECOND ? n_rows : 1);
	g->observed = calloc(observed, sizeof(*g->observed));
	g->missing = calloc(n_columns, sizeof(*g->missing));
	g->causes = calloc(n_columns, sizeof(*g->causes));
	int err = g->observed && g->missing && g->causes ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n_rows && !err; i++)
		err = add_row(g, CAM_CPU_NONE);
	if (err)
		cam_heat_grid_free(g);
	return err;
}

void cam_heat_grid_free(struct cam_heat_grid *g)
{
	for (uint32_t i = 0; i < g->n_rows; i++) {
		free(g->rows[i].cells);
		free(g->rows[i].missing);
	}
	for (unsigned i = 0; i < CAM_HEAT_RING; i++) {
		free(g->ring[i].samples);
		free(g->ring[i].painted);
	}
	free(g->rows);
	free(g->row_of);
	free(g->observed);
	free(g->missing);
	free(g->causes);
	*g = (struct cam_heat_grid){0};
}

static int new_row_of_cpu(struct cam_heat_grid *g, uint32_t cpu, uint32_t *row)
{
	uint32_t *at = &g->none;
	if (cpu != CAM_CPU_NONE) {
		if (cpu >= MAX_CPUS)
			return -E2BIG;
		if (cpu >= g->n_row_of) {
			uint32_t *v = reallocarray(g->row_of, cpu + 64ul, sizeof(*v));
			if (!v)
				return -ENOMEM;
			memset(v + g->n_row_of, 0, (cpu + 64ul - g->n_row_of) * sizeof(*v));
			g->row_of = v;
			g->n_row_of = cpu + 64ul;
		}
		at = &g->row_of[cpu];
	}
	if (!*at) {
		int err = add_row(g, cpu);
		if (err)
			return err;
		*at = g->n_rows;
	}
	*row = *at - 1;
	return 0;
}

/* The row of a CPU, which is made where it is new. */
static inline int row_of_cpu(struct cam_heat_grid *g, uint32_t cpu, uint32_t *row)
{
	if (cpu >= g->n_row_of || !g->row_of[cpu])
		return new_row_of_cpu(g, cpu, row);
	*row = g->row_of[cpu] - 1;
	return 0;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
	return a + b < a ? UINT32_MAX : a + b;
}

/* A finest column is done: it counts in its column. */
static void flush(struct cam_heat_grid *g, struct cam_heat_slot *s)
{
	uint64_t column = s->fine * g->fine_ns / g->column_ns;
	for (uint32_t row = 0; row < g->n_rows && row < s->cap_samples; row++) {
		struct cam_heat_cell *c = &g->rows[row].cells[column];
		uint32_t n = s->samples[row], painted = s->painted[row];
		if (!n)
			continue;
		c->samples = plus(c->samples, n);
		c->painted = plus(c->painted, painted);
		c->peak = n > c->peak ? n : c->peak;
		c->painted_peak = painted > c->painted_peak ? painted : c->painted_peak;
		s->samples[row] = s->painted[row] = 0;
	}
	s->used = false;
}

static int grow(uint32_t **v, size_t *cap, size_t need)
{
	size_t had = *cap;
	int err = cam_vec_reserve(v, cap, need, sizeof(**v), CAM_HEAT_MAX_CELLS);
	if (!err && *cap > had)
		memset(*v + had, 0, (*cap - had) * sizeof(**v));
	return err;
}

static int slot_of(struct cam_heat_grid *g, uint64_t fine, uint32_t row, struct cam_heat_slot **out)
{
	struct cam_heat_slot *s = *out = &g->ring[fine % CAM_HEAT_RING];
	if (s->used && s->fine != fine)
		flush(g, s);
	s->fine = fine;
	s->used = true;
	if (row < s->cap_samples && row < s->cap_painted)
		return 0;
	int err = grow(&s->samples, &s->cap_samples, row + 1ul);
	return err ? err : grow(&s->painted, &s->cap_painted, row + 1ul);
}

/* at / length, without dividing where the last answer holds. */
static uint64_t place_of(struct cam_heat_place *last, uint64_t at, uint64_t length)
{
	if (at - last->from_ns >= length) {
		last->number = at / length;
		last->from_ns = last->number * length;
	}
	return last->number;
}

int cam_heat_grid_add(struct cam_heat_grid *g, int64_t at_ns, uint32_t cpu, uint32_t n,
		      uint32_t painted)
{
	if (at_ns < 0 || place_of(&g->column, (uint64_t)at_ns, g->column_ns) >= g->n_columns) {
		g->outside += n;
		return 0;
	}
	uint64_t fine = place_of(&g->fine, (uint64_t)at_ns, g->fine_ns);
	uint32_t row = 0;
	int err = 0;
	if (g->mode == CAM_HEAT_SUBSECOND)
		row = (uint32_t)((uint64_t)at_ns % CAM_NS_PER_SEC * g->n_rows / CAM_NS_PER_SEC);
	else
		err = row_of_cpu(g, cpu, &row);
	struct cam_heat_slot *s = NULL;
	if (!err)
		err = slot_of(g, fine, row, &s);
	if (err)
		return err;
	s->samples[row] = plus(s->samples[row], n);
	s->painted[row] = plus(s->painted[row], painted);
	return 0;
}

/* Cuts [from, to) to the axis; false: nothing is left. */
static bool cut(const struct cam_heat_grid *g, int64_t *from_ns, int64_t *to_ns)
{
	int64_t end = (int64_t)(g->column_ns * g->n_columns);
	*from_ns = *from_ns < 0 ? 0 : *from_ns;
	*to_ns = *to_ns > end ? end : *to_ns;
	return *from_ns < *to_ns;
}

typedef void overlap_fn(struct cam_heat_grid *g, uint64_t column, uint32_t row, double ns,
			void *arg);

/* Part of one second: row by row. */
static void overlap_rows(struct cam_heat_grid *g, uint64_t from, uint64_t to, overlap_fn *fn,
			 void *arg)
{
	uint64_t second = from / CAM_NS_PER_SEC * CAM_NS_PER_SEC;
	for (uint32_t row = 0; row < g->n_rows; row++) {
		uint64_t a = second + CAM_NS_PER_SEC * row / g->n_rows;
		uint64_t b = second + CAM_NS_PER_SEC * (row + 1) / g->n_rows;
		a = a < from ? from : a;
		b = b > to ? to : b;
		if (a < b)
			fn(g, second / g->column_ns, row, (double)(b - a), arg);
	}
}

/* Column by column: of whole seconds each row has its part. */
static void overlap_columns(struct cam_heat_grid *g, uint64_t from, uint64_t to, overlap_fn *fn,
			    void *arg)
{
	uint32_t rows = g->mode == CAM_HEAT_SUBSECOND ? g->n_rows : 1;
	while (from < to) {
		uint64_t column = place_of(&g->column, from, g->column_ns),
			 end = (column + 1) * g->column_ns;
		end = end > to ? to : end;
		for (uint32_t row = 0; row < rows; row++)
			fn(g, column, row, (double)(end - from) / rows, arg);
		from = end;
	}
}

/*
 * Calls for each cell that [from, to) overlaps, with how much; row is 0 in the mode cores. The work
 * follows the cells, not the seconds.
 */
static void each_overlap(struct cam_heat_grid *g, uint64_t from, uint64_t to, overlap_fn *fn,
			 void *arg)
{
	if (g->mode == CAM_HEAT_SUBSECOND) {
		uint64_t next = (from / CAM_NS_PER_SEC + 1) * CAM_NS_PER_SEC;
		if (from % CAM_NS_PER_SEC || to < next) {
			overlap_rows(g, from, to < next ? to : next, fn, arg);
			from = to < next ? to : next;
		}
		uint64_t last = to / CAM_NS_PER_SEC * CAM_NS_PER_SEC;
		if (from < to && last < to) {
			overlap_rows(g, last, to, fn, arg);
			to = last;
		}
	}
	overlap_columns(g, from, to, fn, arg);
}

static double cell_ns(const struct cam_heat_grid *g)
{
	uint32_t rows = g->mode == CAM_HEAT_SUBSECOND ? g->n_rows : 1;
	return (double)g->column_ns / rows;
}

static void add_observed(struct cam_heat_grid *g, uint64_t column, uint32_t row, double ns,
			 void *arg)
{
	(void)arg;
	g->observed[(size_t)row * g->n_columns + column] += (float)(ns / cell_ns(g));
}

void cam_heat_grid_observe(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns)
{
	if (cut(g, &from_ns, &to_ns))
		each_overlap(g, (uint64_t)from_ns, (uint64_t)to_ns, add_observed, NULL);
}

struct miss {
	double per_ns; /* of each nanosecond so much was missed */
	uint32_t row;  /* UINT32_MAX: of all */
	enum cam_cause cause;
};

static void add_missing(struct cam_heat_grid *g, uint64_t column, uint32_t row, double ns,
			void *arg)
{
	const struct miss *m = arg;
	double share = m->per_ns * ns / cell_ns(g);
	if (g->mode == CAM_HEAT_SUBSECOND)
		g->rows[row].missing[column] += (float)share;
	else if (m->row == UINT32_MAX)
		g->missing[column] += (float)share;
	else
		g->rows[m->row].missing[column] += (float)share;
	if (cam_cause_is_loss(m->cause) || share >= LEAST_SHARE)
		g->causes[column] |= 1u << m->cause;
}

static int need_missing(struct cam_heat_grid *g, uint32_t row)
{
	if (!g->rows[row].missing)
		g->rows[row].missing = calloc(g->n_columns, sizeof(float));
	return g->rows[row].missing ? 0 : -ENOMEM;
}

int cam_heat_grid_miss(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns, uint32_t cpu,
		       double missing_ns, uint32_t cpus, enum cam_cause cause)
{
	double length = (double)to_ns - (double)from_ns;
	struct miss m = {.row = UINT32_MAX, .cause = cause};
	int err = 0;
	if (length <= 0 || missing_ns <= 0 || !cut(g, &from_ns, &to_ns))
		return 0;
	m.per_ns = missing_ns / length;
	if (g->mode == CAM_HEAT_SUBSECOND) {
		if (cpu != CAM_CPU_NONE)
			m.per_ns /= cpus ? cpus : 1;
		for (uint32_t row = 0; row < g->n_rows && !err; row++)
			err = need_missing(g, row);
	} else if (cpu != CAM_CPU_NONE) {
		err = row_of_cpu(g, cpu, &m.row);
		if (!err)
			err = need_missing(g, m.row);
	}
	if (err)
		return err;
	/* Seconds of a CPU come by the million, and lie in one column. */
	uint64_t column = place_of(&g->column, (uint64_t)from_ns, g->column_ns);
	if (g->mode == CAM_HEAT_CORES && (uint64_t)to_ns <= (column + 1) * g->column_ns)
		add_missing(g, column, 0, (double)(to_ns - from_ns), &m);
	else
		each_overlap(g, (uint64_t)from_ns, (uint64_t)to_ns, add_missing, &m);
	return 0;
}

void cam_heat_grid_gap(struct cam_heat_grid *g, int64_t from_ns, int64_t to_ns,
		       enum cam_cause cause)
{
	if (!cut(g, &from_ns, &to_ns))
		return;
	for (uint64_t c = (uint64_t)from_ns / g->column_ns; c * g->column_ns < (uint64_t)to_ns; c++)
		g->causes[c] |= 1u << cause;
}

static int by_cpu(const void *x, const void *y)
{
	const struct cam_heat_row *a = x, *b = y;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static uint8_t seen_of(const struct cam_heat_grid *g, uint32_t row, uint32_t column)
{
	size_t at = g->mode == CAM_HEAT_SUBSECOND ? (size_t)row * g->n_columns + column : column;
	float observed = g->observed[at] > 1 ? 1 : g->observed[at];
	float share = observed - g->missing[column];
	if (g->rows[row].missing)
		share -= g->rows[row].missing[column];
	/* Rounding must make no hole of what has none. */
	return share <= 0 ? 0 : share > 0.998 ? CAM_HEAT_ALL_SEEN : (uint8_t)(share * 255);
}

static void hand_over_row(struct cam_heat_grid *g, uint32_t row, struct cam_heatmap *out)
{
	struct cam_heat_cell *to = out->cells + (size_t)row * g->n_columns;
	memcpy(to, g->rows[row].cells, g->n_columns * sizeof(*to));
	for (uint32_t column = 0; column < g->n_columns; column++) {
		struct cam_heat_cell *c = &to[column];
		c->seen = seen_of(g, row, column);
		out->painted += c->painted;
		out->max_samples = c->samples > out->max_samples ? c->samples : out->max_samples;
		out->max_peak = c->peak > out->max_peak ? c->peak : out->max_peak;
	}
	out->cpus[row] = g->rows[row].cpu;
}

int cam_heat_grid_finish(struct cam_heat_grid *g, struct cam_heatmap *out)
{
	for (unsigned i = 0; i < CAM_HEAT_RING; i++) {
		if (g->ring[i].used)
			flush(g, &g->ring[i]);
	}
	int err = g->n_rows ? 0 : add_row(g, CAM_CPU_NONE);
	if (!err) {
		out->cells = calloc((size_t)g->n_rows * g->n_columns, sizeof(*out->cells));
		out->cpus = calloc(g->n_rows, sizeof(*out->cpus));
		err = out->cells && out->cpus ? 0 : -ENOMEM;
	}
	if (!err) {
		if (g->mode == CAM_HEAT_CORES)
			qsort(g->rows, g->n_rows, sizeof(*g->rows), by_cpu);
		for (uint32_t row = 0; row < g->n_rows; row++)
			hand_over_row(g, row, out);
		out->mode = g->mode;
		out->n_columns = g->n_columns;
		out->n_rows = g->n_rows;
		out->column_ns = g->column_ns;
		out->fine_ns = g->fine_ns;
		out->outside = g->outside;
		out->causes = g->causes;
		g->causes = NULL;
	}
	cam_heat_grid_free(g);
	return err;
}
