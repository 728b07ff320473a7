// SPDX-License-Identifier: Apache-2.0
/*
 * From the samples of a window to lines, in order of time.
 *
 * A window delivers its samples by second and CPU; perf prints them by time. So the rows of a second
 * are kept, as ids, and sorted when the next second begins. Nearly all of the text is frames, and
 * nearly all frames were printed before: the line of each function (or location) is made once and
 * copied from then on.
 *
 * Invariants
 *  1. rows[] holds samples of one second, at most MAX_ROWS; what has no time is written as it comes.
 *  2. lines[item] is the text of that item's frame without what only a leaf knows; n = 0: not made.
 *     When the texts outgrow LINE_BYTES all are forgotten: they are made again.
 *  3. Rows of equal time keep the window's order: by CPU.
 *
 * Example: rows (1.5 s, CPU 0), (1.9 s, CPU 0), (1.2 s, CPU 1) come in this order and are written as
 * 1.2, 1.5, 1.9 when (2.1 s, CPU 0) comes.
 */
#include "interop/perf_script_out.h"

#include "base/units.h"
#include "base/vec.h"
#include "interop/perf_script_text.h"

#define MAX_ROWS   (1u << 20)
#define LINE_BYTES (32u << 20)
#define TEXT_BYTES (64u << 20) /* of one record: a stack of the deepest with the longest names */

struct row {
	uint64_t time_ns, weight, leaf_offset;
	uint32_t cpu, task, stack, etype, detail;
	uint32_t number; /* invariant 3 */
};

struct line {
	uint32_t at, n;
};

struct cam_perf_script_out {
	struct cam_out *out;
	struct cam_perf_script_out_stats st;
	struct row *rows;
	size_t n_rows, cap_rows;
	struct cam_buf text; /* of one record */
	/* Of the window being written. */
	const struct cam_tables *t;
	struct cam_window *w;
	const struct cam_row_filter *filter;
	bool places, folded;
	unsigned event_width;
	struct line *lines;
	size_t n_lines;
	struct cam_buf texts;
	char label[512]; /* of the function described last */
};

int cam_perf_script_out_new(struct cam_out *out, struct cam_perf_script_out **made)
{
	struct cam_perf_script_out *x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->out = out;
	x->text = CAM_BUF(TEXT_BYTES);
	x->texts = CAM_BUF(LINE_BYTES);
	*made = x;
	return 0;
}

void cam_perf_script_out_free(struct cam_perf_script_out *x)
{
	if (!x)
		return;
	free(x->rows);
	free(x->lines);
	cam_buf_free(&x->text);
	cam_buf_free(&x->texts);
	free(x);
}

struct cam_perf_script_out_stats cam_perf_script_out_stats(const struct cam_perf_script_out *x)
{
	return x->st;
}

static void describe_function(struct cam_perf_script_out *x, uint32_t func,
			      struct cam_perf_put_frame *f)
{
	const struct cam_tables *t = x->t;
	const struct cam_function *fn = &t->functions[func];
	f->name = cam_string(t, fn->name);
	f->blank = !f->name.n && fn->source == CAM_NAME_IMPORTED;
	f->inlined = fn->kind == CAM_FUNC_INLINED;
	if (fn->module.v < t->n_modules)
		f->module = cam_string(t, t->modules[fn->module.v].path);
	/* A mark's says why. */
	f->address = fn->kind == CAM_FUNC_MARK ? 0 : fn->start;
	/* As all views have it; perf has no word for a function that is known and has no name. */
	if (!f->name.n && !f->verbatim && (fn->start || fn->kind == CAM_FUNC_JIT))
		f->name = cam_function_label(t, (struct cam_func_id){func}, x->label,
					     sizeof(x->label));
}

static struct cam_perf_put_frame describe(struct cam_perf_script_out *x, uint32_t item)
{
	const struct cam_tables *t = x->t;
	struct cam_perf_put_frame f = {.offset = CAM_OFFSET_NONE, .verbatim = x->w->info.imported};
	if (!x->places) {
		describe_function(x, item, &f);
		return f;
	}
	const struct cam_location *loc = &t->locations[item];
	if (loc->func.v < t->n_functions)
		describe_function(x, loc->func.v, &f);
	if (loc->module.v && loc->module.v < t->n_modules)
		f.module = cam_string(t, t->modules[loc->module.v].path);
	f.address = loc->address;
	f.offset = loc->func_offset;
	return f;
}

/* Invariant 2. */
static int put_line(struct cam_perf_script_out *x, uint32_t item)
{
	if (item >= x->n_lines)
		return -EBADMSG;
	struct line *line = &x->lines[item];
	if (!line->n) {
		struct cam_perf_put_frame f = describe(x, item);
		size_t at = x->texts.len;
		cam_perf_put_frame(&x->texts, &f);
		if (cam_buf_error(&x->texts) == -E2BIG) {
			cam_buf_clear(&x->texts);
			memset(x->lines, 0, x->n_lines * sizeof(*x->lines));
			cam_perf_put_frame(&x->text, &f);
			return cam_buf_error(&x->text);
		}
		if (cam_buf_error(&x->texts))
			return cam_buf_error(&x->texts);
		*line = (struct line){(uint32_t)at, (uint32_t)(x->texts.len - at)};
	}
	cam_buf_put(&x->text, x->texts.data + line->at, line->n);
	return cam_buf_error(&x->text);
}

static int put_frames(struct cam_perf_script_out *x, const struct row *r)
{
	const struct cam_tree *tree = x->places ? &x->t->places : &x->t->stacks;
	bool leaf = !x->places && r->leaf_offset != CAM_OFFSET_NONE;
	int err = 0;
	for (uint32_t node = r->stack; node && !err; node = tree->parent[node]) {
		uint32_t item = tree->item[node];
		if (!leaf || item >= x->n_lines) {
			err = put_line(x, item);
			continue;
		}
		leaf = false;
		struct cam_perf_put_frame f = describe(x, item);
		f.offset = r->leaf_offset;
		f.address += f.address ? r->leaf_offset : 0;
		cam_perf_put_frame(&x->text, &f);
		err = cam_buf_error(&x->text);
	}
	return err;
}

/* A clock's period is what perf prints for it; of other events without one it prints none. */
static bool has_clock_period(const struct cam_perf_script_out *x, const struct cam_etype *e)
{
	struct cam_text name = cam_string(x->t, e->name);
	return !x->w->info.imported && e->period_ns &&
	       (cam_text_starts(name, CAM_TEXT("cpu-clock")) ||
		cam_text_starts(name, CAM_TEXT("task-clock")));
}

static int write_header(struct cam_perf_script_out *x)
{
	cam_buf_clear(&x->text);
	int err = cam_perf_put_header(&x->text, x->w, x->t);
	if (err)
		return err;
	cam_out_bytes(x->out, x->text.data, x->text.len);
	return x->out->error;
}

static int put_sample(struct cam_perf_script_out *x, const struct row *r)
{
	const struct cam_tables *t = x->t;
	const struct cam_etype *e = &t->etypes[r->etype];
	const struct cam_task *k = &t->tasks[r->task];
	struct cam_perf_put_head h = {
		.comm = cam_string(t, k->comm),
		.event = cam_string(t, e->name),
		.detail = cam_string(t, (struct cam_str_id){r->detail}),
		.pid = k->pid,
		.tid = k->tid,
		.cpu = r->cpu,
		.time_ns = r->time_ns,
		.nanoseconds = x->w->info.time_unit_ns && x->w->info.time_unit_ns < CAM_NS_PER_US,
		.verbatim = x->w->info.imported,
		.has_period = e->has_weight || has_clock_period(x, e),
		.period = e->has_weight ? r->weight : e->period_ns,
		.event_width = x->event_width,
	};
	int err = x->st.samples ? 0 : write_header(x);
	cam_buf_clear(&x->text);
	cam_perf_put_head(&x->text, &h);
	if (!err)
		err = put_frames(x, r);
	cam_buf_put_u8(&x->text, '\n');
	if (err)
		return err;
	cam_out_bytes(x->out, x->text.data, x->text.len);
	x->st.samples++;
	return cam_buf_error(&x->text) ? cam_buf_error(&x->text) : x->out->error;
}

static int by_time(const void *a, const void *b)
{
	const struct row *p = a, *q = b;
	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

static int flush(struct cam_perf_script_out *x)
{
	int err = 0;
	if (x->n_rows && x->rows[0].time_ns != CAM_TIME_NONE)
		qsort(x->rows, x->n_rows, sizeof(*x->rows), by_time);
	for (size_t i = 0; i < x->n_rows && !err; i++)
		err = put_sample(x, &x->rows[i]);
	x->n_rows = 0;
	return err;
}

static int add_row(struct cam_perf_script_out *x, struct row r)
{
	const struct cam_tables *t = x->t;
	size_t n_stacks = x->places ? t->places.n : t->stacks.n;
	if (r.task >= t->n_tasks || r.etype >= t->n_etypes || r.stack >= n_stacks)
		return -EBADMSG;
	bool next =
		x->n_rows && (x->rows[0].time_ns / CAM_NS_PER_SEC != r.time_ns / CAM_NS_PER_SEC ||
			      r.time_ns == CAM_TIME_NONE);
	int err = next || x->n_rows == MAX_ROWS ? flush(x) : 0;
	if (!err)
		err = cam_vec_reserve(&x->rows, &x->cap_rows, x->n_rows + 1, sizeof(*x->rows),
				      MAX_ROWS);
	if (err)
		return err;
	r.number = (uint32_t)x->n_rows;
	x->rows[x->n_rows++] = r;
	return 0;
}

static int on_batch(void *arg, const struct cam_batch *b)
{
	struct cam_perf_script_out *x = arg;
	for (size_t i = 0; i < b->n; i++) {
		int take = x->filter->take ? x->filter->take(x->filter->self, b, i) : 1;
		if (take < 0)
			return take;
		if (!take)
			continue;
		int err = add_row(x, (struct row){
					     .time_ns = b->time_ns[i],
					     .weight = b->weight[i],
					     .leaf_offset = x->places ? CAM_OFFSET_NONE
								      : b->leaf_offset[i],
					     .cpu = b->cpu[i],
					     .task = b->task[i],
					     .stack = x->places ? b->place[i] : b->stack[i],
					     .etype = b->etype[i],
					     .detail = b->detail[i],
				     });
		if (err)
			return err;
	}
	return 0;
}

static int find_format(void *arg, const struct cam_fact *fact)
{
	struct cam_perf_script_out *x = arg;
	x->folded |= cam_text_equal(cam_string(x->t, fact->key), CAM_TEXT("format")) &&
		     cam_text_equal(cam_string(x->t, fact->value), CAM_TEXT("folded"));
	return 0;
}

static int prepare(struct cam_perf_script_out *x, struct cam_window *w)
{
	int err = w->ops->tables(w, &x->t);
	x->folded = false;
	if (!err && w->info.imported)
		err = w->ops->facts(w, find_format, x);
	if (err)
		return err;
	x->w = w;
	x->places = w->info.has_places;
	x->n_lines = x->places ? x->t->n_locations : x->t->n_functions;
	x->lines = calloc(x->n_lines + 1, sizeof(*x->lines));
	cam_buf_clear(&x->texts);
	x->event_width = 0;
	for (size_t i = 0; i < x->t->n_etypes; i++) {
		size_t n = cam_string(x->t, x->t->etypes[i].name).n;
		if (n > x->event_width && n < 256)
			x->event_width = (unsigned)n;
	}
	return x->lines ? 0 : -ENOMEM;
}

static int write_samples(struct cam_perf_script_out *x, struct cam_window *w)
{
	const struct cam_row_filter *f = x->filter;
	unsigned columns = CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_ETYPE |
			   CAM_COL_WEIGHT | CAM_COL_DETAIL |
			   (x->places ? CAM_COL_PLACE : CAM_COL_STACK | CAM_COL_LEAF) | f->columns;
	int err = 0;
	for (size_t i = 0; i < f->n_ranges && !err; i++)
		err = w->ops->samples(w, f->ranges[i], columns, on_batch, x);
	/* What was delivered before an error is good. */
	int late = flush(x);
	return err ? err : late;
}

int cam_perf_script_out_add(struct cam_perf_script_out *x, struct cam_window *w,
			    const struct cam_row_filter *filter)
{
	x->filter = filter;
	int err = prepare(x, w);
	if (!err && x->folded) {
		x->st.folded++;
	} else if (!err) {
		x->st.windows++;
		err = write_samples(x, w);
		x->st.damage.chunks += w->damage.chunks;
		x->st.damage.bytes += w->damage.bytes;
		x->st.damage.samples += w->damage.samples;
		x->st.damage.stacks += w->damage.stacks;
	}
	free(x->lines);
	x->lines = NULL;
	return err;
}
