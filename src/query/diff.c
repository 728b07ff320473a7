// SPDX-License-Identifier: Apache-2.0
/*
 * Two selections, function by function.
 *
 * What: each side is walked twice. First the headers alone: how long it was observed. That time, gaps left out,
 * is cut into 24 stretches (fewer where one would be shorter than 100 ms). Then the samples:
 * each counts in its stretch for the function it was in (self), or for every function on its stack once (total).
 * What the counts then say is diff_stats.c's.
 *
 * Why this way: only sums by (function, stretch) are kept, so memory follows the functions; and of each window the
 * samples are first summed by (stack, comm, stretch), so that a stack is walked once for many.
 *
 * Invariants:
 * 1. A function is a name and a kind, as in flame graphs: sides, windows and hosts need no ids in common.
 * 2. In the self table the rows' samples add up to those of the side.
 * 3. Rows are in order of name and kind: the same samples give the same rows.
 */
#include "query/diff.h"

#include "base/units.h"
#include "base/vec.h"
#include "query/frame_cache.h"
#include "query/frame_shape.h"
#include "query/landing.h"
#include "query/package.h"
#include "query/walk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_STRETCH_NS  (100 * CAM_NS_PER_MS)
#define LEAST_SAMPLES	  10 /* of both sides: fewer can prove nothing, and are not tested */
#define DEFAULT_MAX_BYTES (1ull << 30)
#define SIGNIFICANT	  0.05

/* What a frame had: samples by side and stretch. */
struct counts {
	double v[2][CAM_DIFF_STRETCHES];
	bool sampled; /* itself, not only what it called */
};

struct build {
	const struct cam_diff_options *o;
	struct cam_merge merge; /* names and frames; no nodes */
	struct counts *frames;
	size_t cap_frames;
	uint32_t *stamps; /* per frame: the stack that counted it last */
	size_t cap_stamps;
	uint32_t stamp;
	struct counts all;
	int side;
	/* Of the side being walked. */
	uint64_t observed_ns, before_ns; /* all of it; of the windows before this one */
	uint32_t stretches;
	double clock_ns,
		clock_samples; /* weights of all samples, in focus or not, and how many there are */
	char *event;	       /* of the first sample; NULL: none yet */
	uint64_t period_ns;
	bool cpu_clock; /* that event is */
	struct cam_sums sums;
	struct cam_frame_cache cache;
	/* Where a shape is asked for. */
	struct cam_frames shaped; /* of both sides: symbol and dso */
	struct cam_frame_shape shape;
};

static uint64_t ranges_of(const struct cam_walk_window *x, struct cam_range *all,
			  const struct cam_range **ranges, size_t *n)
{
	uint64_t length = 0;
	*all = (struct cam_range){x->w->info.start_ns, x->w->info.end_ns};
	*ranges = x->selector.whole ? all : x->selector.ranges;
	*n = x->selector.whole ? 1 : x->selector.n_ranges;
	if (x->w->info.clock == CAM_CLOCK_ABSENT)
		*n = 0;
	for (size_t i = 0; i < *n; i++)
		length += (*ranges)[i].to_ns - (*ranges)[i].from_ns;
	return length;
}

static int measure_window(void *self, struct cam_walk_window *x)
{
	struct build *b = self;
	struct cam_range all;
	const struct cam_range *ranges;
	size_t n;
	b->observed_ns += ranges_of(x, &all, &ranges, &n);
	return 0;
}

/* In which stretch a time lies. */
static uint32_t stretch_of(const struct build *b, const struct cam_walk_window *x, uint64_t time_ns)
{
	struct cam_range all;
	const struct cam_range *ranges;
	size_t n;
	uint64_t at = b->before_ns;
	if (b->stretches < 2)
		return 0;
	ranges_of(x, &all, &ranges, &n);
	for (size_t i = 0; i < n; i++) {
		if (time_ns < ranges[i].to_ns || i + 1 == n) {
			at += time_ns > ranges[i].from_ns ? time_ns - ranges[i].from_ns : 0;
			break;
		}
		at += ranges[i].to_ns - ranges[i].from_ns;
	}
	uint64_t stretch = (uint64_t)((unsigned __int128)at * b->stretches / b->observed_ns);
	return (uint32_t)(stretch < b->stretches ? stretch : b->stretches - 1);
}

static int note_event(struct build *b, const struct cam_tables *t, uint32_t etype)
{
	if (b->event || etype >= t->n_etypes)
		return 0;
	struct cam_text name = cam_string(t, t->etypes[etype].name);
	b->cpu_clock = cam_landing_event(name);
	b->period_ns = t->etypes[etype].period_ns;
	b->event = strndup(name.p, name.n);
	return b->event ? 0 : -ENOMEM;
}

static int on_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct build *b = self;
	const struct cam_batch *batch = rows->batch;
	bool timed = x->w->info.clock != CAM_CLOCK_ABSENT;
	int err = note_event(b, x->tables, cam_walk_etype(batch, rows->index[0]));
	for (size_t k = 0; k < rows->n && !err; k++) {
		uint32_t i = rows->index[k];
		uint64_t weight = cam_walk_weight(batch, i);
		struct cam_sum sum = {
			.stack = batch->stack[i],
			.comm = batch->comm[i],
			.extra = timed ? stretch_of(b, x, batch->time_ns[i]) : 0,
			.samples = timed ? 1 : weight,
			.weight = weight,
		};
		if (sum.samples && rows->verdict[k] == CAM_VERDICT_YES)
			err = cam_sums_add(&b->sums, sum);
	}
	return err;
}

static int room_for(struct build *b, uint32_t frame)
{
	size_t had = b->cap_frames, had_stamps = b->cap_stamps;
	int err = cam_vec_reserve(&b->frames, &b->cap_frames, frame + 1ul, sizeof(*b->frames),
				  CAM_MAX_ROWS);
	if (!err && b->cap_frames > had)
		memset(b->frames + had, 0, (b->cap_frames - had) * sizeof(*b->frames));
	if (!err)
		err = cam_vec_reserve(&b->stamps, &b->cap_stamps, frame + 1ul, sizeof(*b->stamps),
				      CAM_MAX_ROWS);
	if (!err && b->cap_stamps > had_stamps)
		memset(b->stamps + had_stamps, 0,
		       (b->cap_stamps - had_stamps) * sizeof(*b->stamps));
	return err;
}

static int count_frame(struct build *b, uint32_t frame, uint32_t stretch, double n)
{
	int err = room_for(b, frame);
	if (!err && b->stamps[frame] != b->stamp) {
		b->stamps[frame] = b->stamp;
		b->frames[frame].v[b->side][stretch] += n;
	}
	return err;
}

static int count_comm(struct build *b, struct cam_walk_window *x, const struct cam_sum *sum)
{
	struct cam_text comm = cam_string(x->tables, (struct cam_str_id){sum->comm});
	uint32_t frame;
	int err = cam_merge_frame(&b->merge, comm.n ? comm : CAM_TEXT("[unknown]"),
				  CAM_FRAME_PROCESS, &frame);
	return err ? err : count_frame(b, frame, sum->extra, (double)sum->samples);
}

/* What a frame has become, as one of the rows. */
static int count_shape(struct build *b, const struct cam_sum *sum, uint32_t shaped, bool leaf)
{
	struct cam_tables *names = &b->merge.t;
	char room[512];
	uint32_t frame;
	int err = cam_frame_shape_group(&b->shape, names, &b->shaped, shaped, &shaped);
	if (err)
		return err;
	const struct cam_call_frame *f = &b->shaped.v[shaped];
	struct cam_text label = cam_string(names, (struct cam_str_id){f->symbol});
	err = cam_merge_frame(&b->merge, cam_package_tidy(label, room, sizeof(room)),
			      (enum cam_frame_kind)f->kind, &frame);
	if (!err)
		err = count_frame(b, frame, sum->extra, (double)sum->samples);
	if (!err && leaf)
		b->frames[frame].sampled |= b->cpu_clock;
	return err;
}

/* The same of what the shape leaves of a stack. Above a focus there is nothing, not even the comm. */
static int count_shaped(struct build *b, struct cam_walk_window *x, const struct cam_sum *sum)
{
	const struct cam_tables *t = x->tables;
	struct cam_tables *names = &b->merge.t;
	bool counted = false, focused = b->o->shape->focus.n;
	uint32_t from, frame;
	int err = cam_frame_shape_find_start(&b->shape, names, &b->shaped, t, sum->stack, &from);
	if (err || (focused && !from))
		return err;
	b->stamp++;
	b->all.v[b->side][sum->extra] += (double)sum->samples;
	for (uint32_t node = sum->stack; node && !err && !(b->o->self && counted);
	     node = node == from ? 0 : t->stacks.parent[node]) {
		err = cam_frames_of(&b->shaped, names, t, t->stacks.item[node], &frame);
		int hidden =
			err ? err
			    : cam_frame_shape_hides(&b->shape, names, &b->shaped, t, node, frame);
		if (hidden > 0)
			continue;
		err = hidden ? hidden : count_shape(b, sum, frame, !counted);
		counted = true;
	}
	if (err || (b->o->self && counted))
		return err;
	if (!focused)
		return count_comm(b, x, sum);
	if (!counted)
		err = cam_frame_shape_hidden(names, &b->shaped, &frame);
	return err || counted ? err : count_shape(b, sum, frame, true);
}

/* One (stack, comm, stretch): the leaf, or every frame of it once. */
static int count_sum(struct build *b, struct cam_walk_window *x, const struct cam_sum *sum)
{
	const struct cam_tree *tree = &x->tables->stacks;
	uint32_t stack = sum->stack, frame;
	double n = (double)sum->samples;
	int err = 0;
	if (stack >= tree->n)
		return -EBADMSG;
	if (b->shape.shape)
		return count_shaped(b, x, sum);
	b->stamp++;
	b->all.v[b->side][sum->extra] += n;
	bool counted = false;
	for (size_t depth = 0; stack && !err && !(b->o->self && counted); depth++) {
		if (depth > CAM_MAX_STACK_FRAMES)
			return -EBADMSG;
		err = cam_frame_cache_find(&b->cache, &b->merge, x->tables, tree->item[stack],
					   &frame);
		if (!err)
			err = count_frame(b, frame, sum->extra, n);
		if (!err && !counted)
			b->frames[frame].sampled |= b->cpu_clock;
		counted = true;
		stack = tree->parent[stack];
	}
	return err || (b->o->self && counted) ? err : count_comm(b, x, sum);
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	struct build *b = self;
	struct cam_range all;
	const struct cam_range *ranges;
	size_t n;
	err = err ? err : cam_sums_sort(&b->sums);
	if (!err && b->shape.shape)
		err = cam_frames_begin(&b->shaped, x->tables);
	for (size_t i = 0; i < b->sums.n && !err; i++) {
		err = count_sum(b, x, &b->sums.v[i]);
		b->clock_ns += (double)b->sums.v[i].weight;
		b->clock_samples += (double)b->sums.v[i].samples;
	}
	b->before_ns += ranges_of(x, &all, &ranges, &n);
	cam_sums_free(&b->sums);
	b->sums = (struct cam_sums){0};
	cam_frame_cache_free(&b->cache);
	cam_frames_end(&b->shaped);
	return err;
}

static bool is_clock(struct cam_text event)
{
	return cam_text_equal(event, CAM_TEXT("cpu-clock")) ||
	       cam_text_equal(event, CAM_TEXT("task-clock"));
}

/* What a sample stands for: by the period that was set, or of a clock by what the samples say. */
static void find_rate(const struct build *b, struct cam_diff_side *side)
{
	struct cam_text event = cam_walk_event_name(cam_text_of(side->event));
	double ns = (double)b->period_ns;
	if (!(ns > 0) && is_clock(event) && b->clock_samples > 0 && b->clock_ns > b->clock_samples)
		ns = b->clock_ns / b->clock_samples;
	side->hz = ns > 0 ? 1e9 / ns : 0;
	side->per_sample = ns / 1e9;
}

static double sum_of(const double *v)
{
	double sum = 0;
	for (unsigned i = 0; i < CAM_DIFF_STRETCHES; i++)
		sum += v[i];
	return sum;
}

static int walk_side(struct build *b, const struct cam_diff_input *in, struct cam_diff_side *side)
{
	const struct cam_walk_view measure = {.self = b, .open = measure_window};
	const struct cam_walk_view count = {
		.self = b,
		.rows = on_rows,
		.close = close_window,
		.progress = b->o->progress,
		.columns = CAM_COL_TIME,
		.weights = true,
	};
	struct cam_walk walk = {0};
	b->observed_ns = b->before_ns = b->period_ns = 0;
	b->clock_ns = b->clock_samples = 0;
	b->cpu_clock = false;
	int err = cam_walk(in->source, in->selection, &measure, &walk);
	cam_walk_free(&walk);
	if (err)
		return err;
	uint64_t stretches = b->observed_ns / LEAST_STRETCH_NS;
	b->stretches = stretches > CAM_DIFF_STRETCHES ? CAM_DIFF_STRETCHES : (uint32_t)stretches;
	err = cam_walk(in->source, in->selection, &count, &walk);
	if (!err)
		err = cam_walk_keep_seen(&walk, &side->seen, &side->strings);
	if (!err) {
		side->event = b->event ? b->event : strdup("");
		b->event = NULL;
		err = side->event ? 0 : -ENOMEM;
	}
	if (!err) {
		find_rate(b, side);
		side->stretches = b->stretches;
		side->samples = (uint64_t)sum_of(b->all.v[b->side]);
	}
	cam_walk_free(&walk);
	/* What is in focus may be new, or gone: then a side has none of it. */
	return err ? err : b->clock_samples > 0 ? 0 : -ENODATA;
}

static struct cam_diff_series series_of(const struct build *b, const struct cam_diff *d,
					const struct counts *c, int side)
{
	const struct cam_diff_side *s = &d->sides[side];
	struct cam_diff_series out = {.n = s->stretches};
	memcpy(out.v, c->v[side], sizeof(out.v));
	memcpy(out.all, b->all.v[side], sizeof(out.all));
	out.due = s->hz * (double)s->seen.observed_ns / 1e9 * (s->seen.cpus ? s->seen.cpus : 1);
	return out;
}

static void compare(const struct build *b, const struct cam_diff *d, const struct counts *c,
		    struct cam_diff_row *row)
{
	struct cam_diff_series x = series_of(b, d, c, 0), y = series_of(b, d, c, 1);
	double unit = d->in_seconds ? d->sides[1].per_sample : 1;
	double before = sum_of(c->v[0]), after = sum_of(c->v[1]);
	double all_before = sum_of(b->all.v[0]), all_after = sum_of(b->all.v[1]);
	struct cam_diff_result share = cam_diff_compare_share(&x, &y);
	struct cam_diff_result amount = cam_diff_compare_amount(&x, &y, d->factor);
	if (d->scale == CAM_DIFF_BY_TOTAL) {
		/* The factor itself is an estimate, which the share takes into account. */
		amount = (struct cam_diff_result){share.low * all_after, share.high * all_after,
						  share.p};
	}
	row->samples_before = (uint64_t)before;
	row->samples_after = (uint64_t)after;
	row->amount = (struct cam_diff_change){before * d->factor * unit, after * unit,
					       amount.low * unit, amount.high * unit};
	row->share = (struct cam_diff_change){all_before > 0 ? before / all_before : 0,
					      all_after > 0 ? after / all_after : 0, share.low,
					      share.high};
	row->p = row->q = amount.p;
}

static void find_factor(struct build *b, struct cam_diff *d)
{
	const struct cam_diff_side *a = &d->sides[0], *c = &d->sides[1];
	struct cam_text first = cam_walk_event_name(cam_text_of(a->event));
	struct cam_text second = cam_walk_event_name(cam_text_of(c->event));
	d->in_seconds = a->per_sample > 0 && c->per_sample > 0;
	d->other_event = !cam_text_equal(first, second);
	d->other_rate = a->hz > 0 && c->hz > 0 && fabs(a->hz / c->hz - 1) > 0.1;
	d->factor = d->in_seconds ? a->per_sample / c->per_sample : 1;
	if (d->scale == CAM_DIFF_BY_TIME && a->seen.observed_ns && c->seen.observed_ns)
		d->factor *= (double)c->seen.observed_ns / (double)a->seen.observed_ns;
	if (d->scale == CAM_DIFF_BY_TOTAL && a->samples && c->samples)
		d->factor = sum_of(b->all.v[1]) / sum_of(b->all.v[0]);
}

static int by_name(const void *x, const void *y, void *arg)
{
	const struct cam_diff_row *a = x, *b = y;
	struct cam_text s = cam_diff_name(arg, a), t = cam_diff_name(arg, b);
	size_t n = s.n < t.n ? s.n : t.n;
	int order = n ? memcmp(s.p, t.p, n) : 0;
	if (!order)
		order = s.n < t.n ? -1 : s.n > t.n;
	return order ? order : a->kind - b->kind;
}

static int make_rows(struct build *b, struct cam_diff *d)
{
	const struct cam_tables *t = &b->merge.t;
	size_t n = t->n_functions < b->cap_frames ? t->n_functions : b->cap_frames, bytes = 1;
	for (size_t i = 0; i < n; i++)
		bytes += cam_string(t, t->functions[i].name).n;
	d->rows = calloc(n + 1, sizeof(*d->rows));
	d->text = malloc(bytes);
	if (!d->rows || !d->text || bytes > UINT32_MAX)
		return -ENOMEM;
	uint32_t at = 0;
	for (size_t i = 0; i < n; i++) {
		if (!(sum_of(b->frames[i].v[0]) > 0) && !(sum_of(b->frames[i].v[1]) > 0))
			continue;
		struct cam_text name = cam_string(t, t->functions[i].name);
		struct cam_diff_row *row = &d->rows[d->n_rows++];
		row->kind = (uint8_t)t->functions[i].start;
		row->name_at = at;
		row->name_n = (uint32_t)name.n;
		memcpy(d->text + at, name.p, name.n);
		at += (uint32_t)name.n;
		if (b->frames[i].sampled)
			row->notes = (uint8_t)cam_landing_notes(row->kind, name);
		compare(b, d, &b->frames[i], row);
	}
	compare(b, d, &b->all, &d->all);
	qsort_r(d->rows, d->n_rows, sizeof(*d->rows), by_name, d);
	return 0;
}

/* Which rows are more than chance, given that so many were looked at. */
static int control(struct cam_diff *d)
{
	double *p = calloc(d->n_rows + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct cam_diff_row *r = &d->rows[i];
		if (r->samples_before + r->samples_after >= LEAST_SAMPLES && !isnan(r->amount.low))
			p[d->n_tested++] = r->p;
	}
	int err = cam_diff_control(p, d->n_tested);
	for (size_t i = 0, k = 0; i < d->n_rows && !err; i++) {
		struct cam_diff_row *r = &d->rows[i];
		bool tested = r->samples_before + r->samples_after >= LEAST_SAMPLES &&
			      !isnan(r->amount.low);
		r->q = tested ? p[k++] : 1;
		r->significant = r->q < SIGNIFICANT;
		d->n_significant += r->significant;
	}
	d->all.significant = d->all.p < SIGNIFICANT;
	free(p);
	return err;
}

int cam_diff_build(const struct cam_diff_input *before, const struct cam_diff_input *after,
		   const struct cam_diff_options *o, struct cam_diff *out)
{
	struct build b = {.o = o, .shaped = {.by_symbol = true, .by_dso = true}};
	cam_frame_shape_init(&b.shape, o->shape && cam_reshape_is_any(o->shape) ? o->shape : NULL);
	*out = (struct cam_diff){.scale = o->scale, .self = o->self};
	int err = cam_merge_init(&b.merge, o->max_bytes ? o->max_bytes : DEFAULT_MAX_BYTES);
	if (!err)
		err = walk_side(&b, before, &out->sides[0]);
	b.side = 1;
	if (!err)
		err = walk_side(&b, after, &out->sides[1]);
	if (!err && !out->sides[0].samples && !out->sides[1].samples)
		err = -ENODATA;
	if (!err) {
		find_factor(&b, out);
		err = make_rows(&b, out);
	}
	if (!err)
		err = control(out);
	free(b.event);
	cam_sums_free(&b.sums);
	cam_frame_cache_free(&b.cache);
	cam_merge_free(&b.merge);
	cam_frames_free(&b.shaped);
	cam_frame_shape_free(&b.shape);
	free(b.frames);
	free(b.stamps);
	if (err)
		cam_diff_free(out);
	return err;
}

void cam_diff_free(struct cam_diff *d)
{
	for (int i = 0; i < 2; i++) {
		free(d->sides[i].strings);
		free(d->sides[i].event);
	}
	free(d->rows);
	free(d->text);
	*d = (struct cam_diff){0};
}
