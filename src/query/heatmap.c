// SPDX-License-Identifier: Apache-2.0
/*
 * From a selection to a heatmap: finds the axis from the windows' headers, then walks them; counting is
 * heat_grid.c's.
 *
 * Where nothing but CPU and second matter, a window's footer has the answer (door D's cells), and
 * no sample column is read: this is what makes an overview of 12 hours cheap. The seconds of
 * footers are those of the window's clock; the axis is shifted by part of a second so that they are its
 * own. (Only where the wall clock was stepped, or after another boot, they are rounded to it.)
 *
 * The same of hours by parts of a second, where a column is several seconds: footers have the samples of all CPUs by 20 ms
 * of the window's clock. Each such slot counts by its middle, so that a row may be off by half of one.
 */
#include "query/heatmap.h"

#include "base/units.h"
#include "query/heat_grid.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_ROWS	50u
#define DEFAULT_COLUMNS 1000u
#define LEAST_AUTO_STEP (100 * CAM_NS_PER_MS)
#define EXACT_WALL_NS	(100 * CAM_NS_PER_MS)
#define SECOND		((int64_t)CAM_NS_PER_SEC)
#define MOST_SUMMED	4096u /* seconds of a window whose ledger is summed first */

struct axis {
	bool any, timed;	/* touched windows; of these some have times */
	bool wall_known, exact; /* all know the wall clock; to a tenth of a second */
	bool one_clock;
	struct cam_boot_id boot_id;
	int64_t clock_from, clock_to, wall_from, wall_to;
	int64_t shift; /* wall − clock, of the first window */
	/* The result. */
	bool wall;
	int64_t from_ns, to_ns;
};

struct build {
	const struct cam_heatmap_options *o;
	const struct cam_selection *s;
	struct axis axis;
	struct cam_heat_grid grid;
	bool by_second;		    /* of a sample, nothing but its second and CPU */
	bool by_slot;		    /* the next is wanted */
	struct cam_heat_grid slots; /* the same columns by 20 ms, of all CPUs */
	struct cam_walk walk;
	uint64_t period_ns;
};

static void see_info(struct axis *a, const struct cam_window_info *info)
{
	a->any = true;
	if (info->clock == CAM_CLOCK_ABSENT || info->end_ns > INT64_MAX ||
	    info->end_ns < info->start_ns)
		return;
	bool first = !a->timed, wall = info->realtime_ns != INT64_MIN;
	int64_t from = (int64_t)info->start_ns, to = (int64_t)info->end_ns;
	int64_t wall_from = wall ? info->realtime_ns : 0;
	/* A header may say anything: what cannot be added is as if it were not known. */
	int64_t wall_to;
	if (__builtin_add_overflow(wall_from, to - from, &wall_to))
		wall = false;
	if (first) {
		*a = (struct axis){.any = true,
				   .timed = true,
				   .wall_known = wall,
				   .exact = true,
				   .one_clock = true,
				   .boot_id = info->boot_id,
				   .clock_from = from,
				   .clock_to = to,
				   .wall_from = wall_from,
				   .wall_to = wall_to,
				   .shift = (int64_t)((uint64_t)wall_from - (uint64_t)from)};
	}
	a->wall_known &= wall;
	a->exact &= wall && info->realtime_uncertainty_ns < EXACT_WALL_NS;
	a->one_clock &= !memcmp(&a->boot_id, &info->boot_id, sizeof(a->boot_id));
	if (first || !wall)
		wall_from = a->wall_from, wall_to = a->wall_to;
	a->clock_from = from < a->clock_from ? from : a->clock_from;
	a->clock_to = to > a->clock_to ? to : a->clock_to;
	a->wall_from = wall_from < a->wall_from ? wall_from : a->wall_from;
	a->wall_to = wall_to > a->wall_to ? wall_to : a->wall_to;
}

/* What was asked for, on the axis' clock; false: everything was, or it cannot be said there. */
static bool asked_range(const struct axis *a, const struct cam_selection *s, int64_t *from,
			int64_t *to)
{
	if (s->clock == CAM_SELECT_ALWAYS)
		return false;
	*from = s->from_ns;
	*to = s->to_ns;
	bool given_wall = s->clock == CAM_SELECT_WALL;
	if (given_wall == a->wall)
		return true;
	if (!a->wall_known || !a->one_clock)
		return false;
	int64_t shift = given_wall ? -a->shift : a->shift;
	return !__builtin_add_overflow(*from, shift, from) &&
	       !__builtin_add_overflow(*to, shift, to);
}

/* Windows that may have some of it; with `placed` only such as know their wall time. */
static void see_windows(struct build *b, struct cam_source *source, bool placed)
{
	size_t n = source->ops->count(source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info, *next = NULL;
		if (source->ops->info(source, i, &info) ||
		    (placed && info->realtime_ns == INT64_MIN))
			continue;
		if (i + 1 < n && source->ops->info(source, i + 1, &next))
			next = NULL;
		if (cam_selection_may_touch(b->s, info, next))
			see_info(&b->axis, info);
	}
}

static int find_axis(struct build *b, struct cam_source *source)
{
	struct axis *a = &b->axis;
	/* Asked for by wall time, what has none (an import) is no reason to have no clock in common with the rest. */
	see_windows(b, source, b->s->clock == CAM_SELECT_WALL);
	if (!a->any)
		see_windows(b, source, false);
	if (!a->timed)
		return a->any ? -EDOM : -ENODATA;
	a->wall = a->wall_known && (a->exact || !a->one_clock);
	if (!a->wall && !a->one_clock)
		return -EDOM;
	a->from_ns = a->wall ? a->wall_from : a->clock_from;
	a->to_ns = a->wall ? a->wall_to : a->clock_to;
	int64_t from, to;
	if (!asked_range(a, b->s, &from, &to))
		return 0;
	int64_t inner_from = from > a->from_ns ? from : a->from_ns;
	int64_t inner_to = to < a->to_ns ? to : a->to_ns;
	if (inner_from >= inner_to)
		return -ENODATA;
	bool mostly_empty =
		(double)inner_to - (double)inner_from < ((double)to - (double)from) / 10;
	a->from_ns = mostly_empty ? inner_from : from;
	a->to_ns = mostly_empty ? inner_to : to;
	return 0;
}

/* The smallest round step of at least `least`, so that the span has at most so many. */
static uint64_t round_step(uint64_t span_ns, uint64_t columns, uint64_t least_ns)
{
	static const uint32_t ms[] = {100, 200, 500};
	static const uint32_t seconds[] = {1,	2,   5,	  10,	15,   20,   30,	  60,	 120,
					   300, 600, 900, 1200, 1800, 3600, 7200, 14400, 43200};
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		uint64_t step = ms[i] * CAM_NS_PER_MS;
		if (step >= least_ns && span_ns / step < columns)
			return step;
	}
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		uint64_t step = seconds[i] * CAM_NS_PER_SEC;
		if (step >= least_ns && span_ns / step < columns)
			return step;
	}
	uint64_t day = 86400 * CAM_NS_PER_SEC;
	return (span_ns / columns / day + 1) * day;
}

static int64_t floor_to(int64_t v, int64_t step)
{
	int64_t rest = v % step;
	return cam_time_add(v, -(__int128)(rest < 0 ? rest + step : rest));
}

static int make_grid(struct build *b)
{
	const struct cam_heatmap_options *o = b->o;
	struct axis *a = &b->axis;
	bool cores = o->mode == CAM_HEAT_CORES;
	uint64_t columns = o->max_columns ? o->max_columns : DEFAULT_COLUMNS;
	uint32_t rows = cores ? 0 : o->rows ? o->rows : DEFAULT_ROWS;
	if (columns > CAM_HEAT_MAX_COLUMNS || columns < 2 ||
	    (!cores && (rows < CAM_HEAT_LEAST_ROWS || rows > CAM_HEAT_MOST_ROWS)) ||
	    (o->step_ns && o->step_ns < CAM_HEAT_LEAST_STEP) ||
	    (!cores && o->step_ns % CAM_NS_PER_SEC))
		return -EINVAL;
	uint64_t span = (uint64_t)a->to_ns - (uint64_t)a->from_ns;
	uint64_t least = cores ? LEAST_AUTO_STEP : CAM_NS_PER_SEC;
	uint64_t step = o->step_ns ? o->step_ns : round_step(span, columns - 1, least);
	if (span / step >= columns)
		return -E2BIG;
	uint64_t fine = step % CAM_NS_PER_SEC ? step : CAM_NS_PER_SEC;
	/* Footers count by the second of the windows' clock: so does the axis. */
	int64_t phase = cores && a->wall && fine == CAM_NS_PER_SEC ? a->shift % SECOND : 0;
	int64_t align = step > INT64_MAX ? INT64_MAX : (int64_t)step;
	a->from_ns = floor_to(a->from_ns - phase, align) + phase;
	uint64_t n = ((uint64_t)a->to_ns - (uint64_t)a->from_ns + step - 1) / step;
	n = n ? n : 1;
	int err = cam_heat_grid_init(&b->grid, o->mode, (uint32_t)n, rows, step, fine);
	/* Of what is filtered the times of all samples would have to be read for it: cores by seconds need none. */
	b->by_slot = cores && o->busiest && fine == CAM_NS_PER_SEC && !o->paint && !b->s->cpus &&
		     cam_selection_is_plain(b->s);
	b->by_second = cores && fine == CAM_NS_PER_SEC && !b->by_slot;
	if (!err && b->by_slot)
		err = cam_heat_grid_init(&b->slots, CAM_HEAT_SUBSECOND, (uint32_t)n, CAM_SLOTS,
					 step, CAM_NS_PER_SEC);
	return err;
}

static int64_t place(const struct build *b, struct cam_walk_window *x, uint64_t time_ns)
{
	int64_t at = b->axis.wall ? cam_walk_wall(x, time_ns) : (int64_t)time_ns, from;
	return __builtin_sub_overflow(at, b->axis.from_ns, &from) ? -1 : from;
}

/* Whether the window has nothing to paint, by its names: then its sums say all that there is. */
static int paints_nothing(const struct build *b, struct cam_window *w)
{
	struct cam_selector paint;
	int err = cam_selector_open(&paint, b->o->paint, w, (struct cam_etype_id){0},
				    (struct cam_etype_id){CAM_NONE});
	if (err)
		return err;
	int may = cam_selector_may_match(&paint, w);
	cam_selector_close(&paint);
	return may < 0 ? may : !may;
}

/* Whether nothing but its fiftieth of a second matters of a sample, and that not to the last of its ms. */
static bool by_slots(const struct build *b)
{
	return b->o->mode == CAM_HEAT_SUBSECOND && b->grid.column_ns > CAM_NS_PER_SEC &&
	       CAM_SLOTS % b->grid.n_rows == 0 && !b->s->cpus && cam_selection_is_plain(b->s);
}

/* Whether nothing but the second and the CPU of a sample matters. */
static bool by_cells(const struct build *b)
{
	return b->o->mode == CAM_HEAT_CORES && b->grid.fine_ns == CAM_NS_PER_SEC &&
	       cam_selection_is_plain(b->s);
}

struct brief {
	struct build *b;
	struct cam_walk *walk;
	const struct cam_window_info *info;
	int64_t shift;		  /* from the window's clock to the axis */
	bool stepped;		  /* the wall clock was, in this window */
	struct cam_heat_grid *to; /* of slots */
	/* ns that a CPU was not observed, summed over CPUs, by cause and second from the window's first. */
	double *missed;
	uint64_t first_second;
	size_t n_seconds;
};

static int see_anchor(void *arg, const struct cam_anchor *a)
{
	struct brief *x = arg;
	int64_t at = a->realtime_ns == INT64_MIN
			     ? 0
			     : (int64_t)((uint64_t)a->realtime_ns - a->time_ns) -
				       x->b->axis.from_ns - x->shift;
	x->stepped |= at > (int64_t)CAM_NS_PER_MS || at < -(int64_t)CAM_NS_PER_MS;
	return 0;
}

/* What of a second was due and is not stored. */
static int miss_cell(struct brief *x, const struct cam_cell *c, int64_t at)
{
	struct cam_seen *seen = &x->walk->seen;
	uint64_t due = c->busy, missing = 0;
	unsigned worst = CAM_CAUSE_IDLE;
	for (uint32_t left = c->causes; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		uint64_t n = c->by_cause[i];
		due += n;
		seen->by_cause[i] += n;
		seen->lost += cam_cause_is_loss((enum cam_cause)i) ? n : 0;
		if (i == CAM_CAUSE_IDLE || i == CAM_CAUSE_FILTERED)
			continue;
		missing += n;
		worst = worst == CAM_CAUSE_IDLE || c->by_cause[worst] < n ? i : worst;
	}
	return missing ? cam_heat_grid_miss(&x->b->grid, at, at + SECOND, c->cpu,
					    1e9 * (double)missing / (double)due, 1,
					    (enum cam_cause)worst)
		       : 0;
}

/* A second of a CPU, by its middle: the right one of the axis whatever part of a second they are apart. */
static int on_cell(void *arg, const struct cam_cell *c)
{
	struct brief *x = arg;
	int64_t at = (int64_t)(c->second * CAM_NS_PER_SEC + (uint64_t)x->shift);
	if (x->b->s->cpus && c->cpu != CAM_CPU_NONE && !cam_selection_takes_cpu(x->b->s, c->cpu))
		return 0;
	x->walk->seen.samples += c->busy;
	int err = c->causes ? miss_cell(x, c, at) : 0;
	if (!err && c->busy)
		err = cam_heat_grid_add(&x->b->grid, at + SECOND / 2, c->cpu,
					c->busy > UINT32_MAX ? UINT32_MAX : (uint32_t)c->busy, 0);
	return err;
}

/* A row of the ledger, as far as it lies in the window. */
static int miss_row(struct build *b, const struct cam_ledger_row *row,
		    const struct cam_window_info *info, int64_t shift, double missing_ns,
		    uint32_t cpus)
{
	uint64_t from = row->from_ns < info->start_ns ? info->start_ns : row->from_ns;
	uint64_t to = row->to_ns > info->end_ns ? info->end_ns : row->to_ns;
	int64_t at = (int64_t)(from + (uint64_t)shift);
	return from < to ? cam_heat_grid_miss(&b->grid, at, cam_time_add(at, to - from), row->cpu,
					      missing_ns, cpus, row->cause)
			 : 0;
}

static int on_slots(void *arg, const struct cam_slots *s)
{
	struct brief *x = arg;
	/* The middle of each; a file may say that it is of any time. */
	uint64_t at = s->second * CAM_NS_PER_SEC + (uint64_t)x->shift + CAM_SLOT_NS / 2;
	int err = 0;
	for (unsigned i = 0; i < CAM_SLOTS && !err; i++, at += CAM_SLOT_NS) {
		if (x->to == &x->b->grid)
			x->walk->seen.samples += s->samples[i];
		if (s->samples[i])
			err = cam_heat_grid_add(x->to, (int64_t)at, 0, s->samples[i], 0);
	}
	return err;
}

/* The ledger alone: sums by second would take the counts of every CPU as well. */
static int on_slots_ledger(void *arg, const struct cam_ledger_row *row)
{
	struct brief *x = arg;
	struct cam_seen *seen = &x->walk->seen;
	uint32_t cpus = x->info->cpus ? x->info->cpus : 1;
	seen->by_cause[row->cause] += row->samples;
	seen->lost += cam_cause_is_loss(row->cause) ? row->samples : 0;
	if (row->cause == CAM_CAUSE_IDLE || row->cause == CAM_CAUSE_FILTERED)
		return 0;
	double missing = (double)x->b->period_ns * (double)row->samples;
	/* A large host has a row of each CPU and second, and a cell in every row of the map: all CPUs at once. */
	uint64_t i = row->from_ns / CAM_NS_PER_SEC - x->first_second;
	if (row->cpu != CAM_CPU_NONE && i < x->n_seconds && row->from_ns % CAM_NS_PER_SEC == 0 &&
	    row->to_ns - row->from_ns == CAM_NS_PER_SEC) {
		x->missed[row->cause * x->n_seconds + i] += missing;
		return 0;
	}
	return miss_row(x->b, row, x->info, x->shift,
			row->cpu == CAM_CPU_NONE ? missing / cpus : missing, cpus);
}

static int miss_sums(struct brief *x)
{
	uint32_t cpus = x->info->cpus ? x->info->cpus : 1;
	int err = 0;
	for (size_t k = 0; k < CAM_CAUSE_MAX * x->n_seconds && !err; k++) {
		struct cam_ledger_row row = {.cause = (enum cam_cause)(k / x->n_seconds),
					     .cpu = CAM_CPU_NONE};
		row.from_ns = (x->first_second + k % x->n_seconds) * CAM_NS_PER_SEC;
		row.to_ns = row.from_ns + CAM_NS_PER_SEC;
		if (x->missed[k] > 0)
			err = miss_row(x->b, &row, x->info, x->shift, x->missed[k] / cpus, cpus);
	}
	return err;
}

static int take_ledger(struct brief *x, struct cam_window *w)
{
	uint64_t seconds = (w->info.end_ns - w->info.start_ns) / CAM_NS_PER_SEC + 2;
	x->first_second = w->info.start_ns / CAM_NS_PER_SEC;
	x->n_seconds = seconds < MOST_SUMMED ? (size_t)seconds : 0;
	x->missed = calloc(CAM_CAUSE_MAX * x->n_seconds + 1, sizeof(*x->missed));
	if (!x->missed)
		return -ENOMEM;
	int err = w->ops->ledger(w, on_slots_ledger, x);
	if (!err)
		err = miss_sums(x);
	free(x->missed);
	return err;
}

/* 1: done; 0: only its samples have it. */
static int take_slots(struct brief *x, struct cam_window *w)
{
	x->to = &x->b->grid;
	int err = w->ops->slots && x->b->period_ns ? w->ops->slots(w, on_slots, x) : -ENODATA;
	if (err)
		return err == -ENODATA ? 0 : err;
	err = take_ledger(x, w);
	return err ? err : 1;
}

/* Beside the cells of CPUs, what all of them had by 20 ms; of a window that does not know, nobody does. */
static int take_busiest(struct brief *x, struct cam_window *w, int64_t start)
{
	int err = w->ops->slots && w->info.has_slots ? w->ops->slots(w, on_slots, x) : -ENODATA;
	if (err == -ENODATA || err == -EBADMSG) {
		cam_heat_grid_gap(x->to, start,
				  cam_time_add(start, w->info.end_ns - w->info.start_ns),
				  CAM_CAUSE_DAMAGED);
		return 0;
	}
	return err;
}

/* Of the first window; what a second of a busy CPU has does not change between two of them, or seldom. */
static int note_period(struct build *b, struct cam_window *w)
{
	const struct cam_tables *t;
	int err = b->period_ns ? 0 : cam_window_words(w, &t);
	if (!err && !b->period_ns && t->n_etypes)
		b->period_ns = t->etypes[0].period_ns;
	return err == -ENOMEM ? err : 0; /* else another window may say it */
}

/* Whether all of a window is meant, by its header. */
static bool is_whole(const struct cam_selection *s, const struct cam_window_info *info)
{
	if (s->clock == CAM_SELECT_ALWAYS)
		return true;
	if (s->clock != CAM_SELECT_WALL || info->realtime_ns == INT64_MIN)
		return false;
	__int128 end = (__int128)info->realtime_ns + (info->end_ns - info->start_ns);
	return info->realtime_ns >= s->from_ns && end <= s->to_ns;
}

/* A window of our own recorder, which keeps no idle samples, from its footer. */
static int take_briefly(void *self, struct cam_walk *walk, struct cam_window *w)
{
	struct build *b = self;
	const struct cam_window_info *info = &w->info;
	bool slots = by_slots(b) && info->has_slots;
	if ((!slots && !by_cells(b)) || info->imported || info->etypes != 1 ||
	    !is_whole(b->s, info) || info->clock == CAM_CLOCK_ABSENT)
		return 0;
	int plain = b->o->paint ? paints_nothing(b, w) : 1;
	if (plain <= 0)
		return plain;
	struct brief x = {.b = b, .walk = walk, .info = info};
	uint64_t from = (uint64_t)b->axis.from_ns;
	if (b->axis.wall) {
		x.shift = (int64_t)((uint64_t)info->realtime_ns - info->start_ns - from);
		int err = w->ops->anchors(w, see_anchor, &x);
		if (err || x.stepped)
			return err;
	} else {
		x.shift = (int64_t)(0 - from);
	}
	int err = note_period(b, w), done = 1;
	if (!err && slots)
		done = take_slots(&x, w);
	else if (!err)
		err = w->ops->cells(w, on_cell, &x);
	int64_t start = (int64_t)(info->start_ns + (uint64_t)x.shift);
	x.to = &b->slots;
	if (!err && b->by_slot)
		err = take_busiest(&x, w, start);
	if (!err && done > 0)
		cam_heat_grid_observe(&b->grid, start,
				      cam_time_add(start, info->end_ns - info->start_ns));
	return err ? err : done;
}

static void observe(struct build *b, struct cam_walk_window *x)
{
	const struct cam_window_info *info = &x->w->info;
	struct cam_range all = {info->start_ns, info->end_ns};
	const struct cam_range *ranges = x->selector.whole ? &all : x->selector.ranges;
	size_t n = x->selector.whole ? 1 : x->selector.n_ranges;
	for (size_t i = 0; i < n; i++) {
		/* One offset of the wall clock after the other. */
		for (uint64_t at = ranges[i].from_ns; at < ranges[i].to_ns;) {
			int64_t from = place(b, x, at);
			uint64_t end = b->axis.wall && x->wall_to_ns < ranges[i].to_ns
					       ? x->wall_to_ns
					       : ranges[i].to_ns;
			cam_heat_grid_observe(&b->grid, from, cam_time_add(from, end - at));
			at = end;
		}
	}
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct build *b = self;
	if (x->w->info.clock == CAM_CLOCK_ABSENT) {
		x->samples_done = true;
		x->walk->seen.unplaced++;
		return 0;
	}
	observe(b, x);
	if (!b->period_ns && x->tables->n_etypes)
		b->period_ns = x->tables->etypes[0].period_ns;
	if (b->o->paint) {
		struct cam_selector *paint = calloc(1, sizeof(*paint));
		if (!paint)
			return -ENOMEM;
		int err = cam_selector_open(paint, b->o->paint, x->w, x->selector.main_etype,
					    x->selector.before_etype);
		if (err) {
			free(paint);
			return err;
		}
		x->own = paint;
	}
	return 0;
}

/* Samples of one CPU in one second of the window's clock: they come together. */
struct run {
	uint64_t second;
	uint32_t cpu, n, painted;
};

/* By its middle, as a second of a footer. */
static int end_run(struct build *b, struct cam_walk_window *x, struct run *run)
{
	uint64_t at = run->second * CAM_NS_PER_SEC + CAM_NS_PER_SEC / 2;
	return run->n ? cam_heat_grid_add(&b->grid, place(b, x, at), run->cpu, run->n, run->painted)
		      : 0;
}

static int count_run(struct build *b, struct cam_walk_window *x, struct run *run, uint64_t time_ns,
		     uint32_t cpu, int painted)
{
	int err = 0;
	if (cpu != run->cpu || time_ns - run->second * CAM_NS_PER_SEC >= CAM_NS_PER_SEC) {
		err = end_run(b, x, run);
		*run = (struct run){.second = time_ns / CAM_NS_PER_SEC, .cpu = cpu};
	}
	run->n++;
	run->painted += (uint32_t)painted;
	return err;
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct build *b = self;
	const struct cam_batch *batch = rows->batch;
	bool cores = b->o->mode == CAM_HEAT_CORES;
	struct run run = {0};
	int err = 0;
	for (size_t k = 0; k < rows->n && !err; k++) {
		uint32_t i = rows->index[k];
		int painted = 0;
		if (x->own) {
			painted = cam_selector_verdict(
				x->own, (struct cam_stack_id){batch->stack[i]},
				(struct cam_str_id){batch->comm[i]},
				(struct cam_etype_id){cam_walk_etype(batch, i)}, true);
			if (painted < 0)
				return painted;
			painted = painted == CAM_VERDICT_YES;
		}
		if (b->by_second) {
			err = count_run(b, x, &run, batch->time_ns[i], batch->cpu[i], painted);
			continue;
		}
		int64_t at = place(b, x, batch->time_ns[i]);
		err = cam_heat_grid_add(&b->grid, at, cores ? batch->cpu[i] : 0, 1,
					(uint32_t)painted);
		if (!err && b->by_slot)
			err = cam_heat_grid_add(&b->slots, at, 0, 1, 0);
	}
	return err ? err : end_run(b, x, &run);
}

/* Time between two samples of a busy CPU: as it was set, or as the window turned out. */
static double period_of(const struct cam_walk_window *x)
{
	const struct cam_window_info *info = &x->w->info;
	if (x->tables->n_etypes && x->tables->etypes[0].period_ns)
		return (double)x->tables->etypes[0].period_ns;
	double cpus = info->cpus ? info->cpus : 1, due = (double)(info->samples + info->lost);
	return due > 0 ? (double)(info->end_ns - info->start_ns) * cpus / due : 0;
}

static int on_ledger(void *self, struct cam_walk_window *x, const struct cam_ledger_row *row,
		     uint64_t samples)
{
	struct build *b = self;
	(void)samples;
	if (row->cause == CAM_CAUSE_IDLE || row->cause == CAM_CAUSE_FILTERED ||
	    x->w->info.clock == CAM_CLOCK_ABSENT)
		return 0;
	const struct cam_window_info *info = &x->w->info;
	uint64_t from = row->from_ns < info->start_ns ? info->start_ns : row->from_ns;
	if (from >= info->end_ns)
		return 0;
	double missing = period_of(x) * (double)row->samples;
	uint32_t cpus = info->cpus ? info->cpus : 1;
	return miss_row(b, row, info, (int64_t)((uint64_t)place(b, x, from) - from),
			row->cpu == CAM_CPU_NONE ? missing / cpus : missing, cpus);
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	(void)self;
	if (x->own) {
		cam_selector_close(x->own);
		free(x->own);
	}
	return err;
}

static int on_gap(void *self, const struct cam_window_info *earlier,
		  const struct cam_window_info *later, const struct cam_ledger_row *gap)
{
	struct build *b = self;
	(void)earlier;
	int64_t shift = 0;
	if (b->axis.wall) {
		if (later->realtime_ns == INT64_MIN)
			return 0;
		shift = (int64_t)((uint64_t)later->realtime_ns - later->start_ns);
	}
	int64_t from = (int64_t)(gap->from_ns + (uint64_t)shift - (uint64_t)b->axis.from_ns);
	int64_t length = (int64_t)(gap->to_ns - gap->from_ns);
	cam_heat_grid_gap(&b->grid, from, from + length, gap->cause);
	return 0;
}

static int walk_windows(struct build *b, struct cam_source *source)
{
	const struct cam_walk_view view = {
		.self = b,
		.brief = take_briefly,
		.open = open_window,
		.rows = on_rows,
		.ledger = on_ledger,
		.close = close_window,
		.gap = on_gap,
		.progress = b->o->progress,
		.columns = (b->by_second ? CAM_COL_SECOND : CAM_COL_TIME) |
			   (b->o->mode == CAM_HEAT_CORES ? CAM_COL_CPU : 0u),
		.no_stacks = !b->o->paint,
		.no_tasks = true,
		.no_names = !b->o->paint,
		.wall = b->axis.wall,
	};
	return cam_walk(source, b->s, &view, &b->walk);
}

static void finish_axis(const struct axis *a, struct cam_heatmap *out)
{
	out->from_ns = a->from_ns;
	out->wall = a->wall;
	out->realtime_from_ns = INT64_MIN;
	if (a->wall)
		out->realtime_from_ns = a->from_ns;
	else if (a->wall_known)
		out->realtime_from_ns = (int64_t)((uint64_t)a->from_ns + (uint64_t)a->shift);
}

/* Of each column the fullest of its slots; where a window had none, its cause says so. */
static int keep_busiest(struct build *b, struct cam_heatmap *out)
{
	struct cam_heatmap by_slot = {0};
	if (!b->by_slot)
		return 0;
	int err = cam_heat_grid_finish(&b->slots, &by_slot);
	out->busiest = calloc(out->n_columns, sizeof(*out->busiest));
	if (!err && !out->busiest)
		err = -ENOMEM;
	for (uint32_t c = 0; c < out->n_columns && !err; c++) {
		for (uint32_t r = 0; r < by_slot.n_rows; r++) {
			uint32_t n = cam_heatmap_cell(&by_slot, c, r)->peak;
			out->busiest[c] = n > out->busiest[c] ? n : out->busiest[c];
		}
		if (by_slot.causes[c])
			out->busiest[c] = CAM_HEAT_UNKNOWN;
	}
	cam_heatmap_free(&by_slot);
	return err;
}

int cam_heatmap_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_heatmap_options *o, struct cam_heatmap *out)
{
	struct build b = {.o = o, .s = s};
	*out = (struct cam_heatmap){0};
	int err = find_axis(&b, source);
	if (!err)
		err = make_grid(&b);
	if (err) {
		cam_heat_grid_free(&b.grid);
		return err;
	}
	err = walk_windows(&b, source);
	if (!err)
		err = cam_walk_keep_seen(&b.walk, &out->seen, &out->strings);
	if (!err)
		err = cam_heat_grid_finish(&b.grid, out);
	else
		cam_heat_grid_free(&b.grid);
	if (!err)
		err = keep_busiest(&b, out);
	cam_heat_grid_free(&b.slots);
	if (!err) {
		finish_axis(&b.axis, out);
		out->has_paint = o->paint != NULL;
		out->period_ns = b.period_ns;
	} else {
		cam_heatmap_free(out);
	}
	cam_walk_free(&b.walk);
	return err;
}

void cam_heatmap_free(struct cam_heatmap *h)
{
	free(h->cells);
	free(h->cpus);
	free(h->busiest);
	free(h->causes);
	free(h->strings);
	*h = (struct cam_heatmap){0};
}
