// SPDX-License-Identifier: Apache-2.0
#include "interop/exporter.h"

#include "base/units.h"
#include "base/vec.h"
#include "interop/frame.h"
#include "model/anchor.h"

#define MAX_ANCHORS (1u << 20)

struct cam_export_frame cam_exporter_frame(const struct cam_exporter *x, uint32_t item)
{
	const struct cam_tables *t = x->t;
	struct cam_export_frame f = {.offset = CAM_OFFSET_NONE,
				     .func = x->places ? CAM_NONE : item};
	if (x->places) {
		const struct cam_location *loc = &t->locations[item];
		f.func = loc->func.v < t->n_functions ? loc->func.v : CAM_NONE;
		f.module_id = loc->module.v;
		f.address = loc->address;
		f.offset = loc->func_offset;
	}
	if (f.func != CAM_NONE) {
		const struct cam_function *fn = &t->functions[f.func];
		f.name = cam_string(t, fn->name);
		f.imported = fn->source == CAM_NAME_IMPORTED;
		f.kind = fn->kind;
		f.start = fn->kind == CAM_FUNC_MARK ? 0 : fn->start;
		f.module_id = f.module_id ? f.module_id : fn->module.v;
		/* A mark's says why. */
		if (!x->places && fn->kind != CAM_FUNC_MARK)
			f.address = fn->start;
	}
	if (f.module_id < t->n_modules) {
		f.module = cam_string(t, t->modules[f.module_id].path);
		f.build_id = cam_string(t, t->modules[f.module_id].build_id);
		f.module_kind = t->modules[f.module_id].kind;
	}
	return f;
}

void cam_exporter_leaf(const struct cam_export_row *r, struct cam_export_frame *f)
{
	if (r->leaf_offset == CAM_OFFSET_NONE)
		return;
	f->offset = r->leaf_offset;
	f->address += f->address ? r->leaf_offset : 0;
}

struct cam_text cam_exporter_label(struct cam_exporter *x, const struct cam_export_frame *f)
{
	struct cam_text module = f->module;
	if (f->func != CAM_NONE)
		return cam_function_label(x->t, (struct cam_func_id){f->func}, x->label,
					  sizeof(x->label));
	const char *slash = module.n ? memrchr(module.p, '/', module.n) : NULL;
	if (slash && slash + 1 < module.p + module.n)
		module = (struct cam_text){slash + 1, (size_t)(module.p + module.n - slash - 1)};
	if (!module.n || module.n > sizeof(x->label) - 2)
		return CAM_TEXT("[unknown]");
	x->label[0] = '[';
	memcpy(x->label + 1, module.p, module.n);
	x->label[module.n + 1] = ']';
	return (struct cam_text){x->label, module.n + 2};
}

bool cam_exporter_wall(const struct cam_exporter *x, uint64_t time_ns, int64_t *realtime_ns)
{
	uint64_t uncertainty;
	return time_ns != CAM_TIME_NONE &&
	       cam_anchor_wall_of(x->anchors, x->n_anchors, time_ns, realtime_ns, &uncertainty);
}

uint64_t cam_exporter_period(const struct cam_exporter *x, const struct cam_export_row *r)
{
	const struct cam_etype *e = &x->t->etypes[r->etype];
	return e->has_weight || !e->period_ns ? r->weight : e->period_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct cam_export_row *p = a, *q = b;
	if (p->time_ns != q->time_ns)
		return p->time_ns < q->time_ns ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

static int flush(struct cam_exporter *x)
{
	int err = 0;
	if (x->n_rows && x->rows[0].time_ns != CAM_TIME_NONE)
		qsort(x->rows, x->n_rows, sizeof(*x->rows), by_time);
	for (size_t i = 0; i < x->n_rows && !err; i++) {
		int took = x->ops->row(x, &x->rows[i]);
		x->st.samples += took > 0;
		x->st.dropped += took == 0;
		err = took < 0 ? took : 0;
	}
	x->n_rows = 0;
	return err;
}

static int add_row(struct cam_exporter *x, struct cam_export_row r)
{
	const struct cam_tables *t = x->t;
	if (r.task >= t->n_tasks || r.etype >= t->n_etypes || r.stack >= x->tree->n)
		return -EBADMSG;
	bool next =
		x->n_rows && (x->rows[0].time_ns / CAM_NS_PER_SEC != r.time_ns / CAM_NS_PER_SEC ||
			      r.time_ns == CAM_TIME_NONE);
	int err = next || x->n_rows == CAM_EXPORT_ROWS ? flush(x) : 0;
	if (!err)
		err = cam_vec_reserve(&x->rows, &x->cap_rows, x->n_rows + 1, sizeof(*x->rows),
				      CAM_EXPORT_ROWS);
	if (err)
		return err;
	r.number = (uint32_t)x->n_rows;
	x->rows[x->n_rows++] = r;
	return 0;
}

static int on_batch(void *arg, const struct cam_batch *b)
{
	struct cam_exporter *x = arg;
	for (size_t i = 0; i < b->n; i++) {
		int take = x->filter->take ? x->filter->take(x->filter->self, b, i) : 1;
		if (take < 0)
			return take;
		if (!take)
			continue;
		int err = add_row(x, (struct cam_export_row){
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
	struct cam_exporter *x = arg;
	struct cam_text value = cam_string(x->t, fact->value);
	if (!cam_text_equal(cam_string(x->t, fact->key), CAM_TEXT("format")))
		return 0;
	/* Sums; and samples of perf that were printed without their times are still samples. */
	x->folded = cam_text_equal(value, CAM_TEXT("folded")) ||
		    cam_text_equal(value, CAM_TEXT("pprof")) ||
		    (cam_text_equal(value, CAM_TEXT("speedscope")) &&
		     x->w->info.clock == CAM_CLOCK_ABSENT);
	return 0;
}

static int on_anchor(void *arg, const struct cam_anchor *a)
{
	struct cam_exporter *x = arg;
	int err = cam_vec_reserve(&x->anchors, &x->cap_anchors, x->n_anchors + 1,
				  sizeof(*x->anchors), MAX_ANCHORS);
	if (!err)
		x->anchors[x->n_anchors++] = *a;
	return err;
}

/* The mark of stacks that were followed into garbage, where the window has such. */
static uint32_t broken_item(const struct cam_exporter *x)
{
	const struct cam_tables *t = x->t;
	uint32_t func = 0;
	while (func < t->n_functions && (t->functions[func].kind != CAM_FUNC_MARK ||
					 !cam_text_equal(cam_string(t, t->functions[func].name),
							 CAM_TEXT(CAM_FRAME_BROKEN))))
		func++;
	if (func == t->n_functions || !x->places)
		return func < t->n_functions ? func : CAM_NONE;
	for (uint32_t i = 0; i < t->n_locations; i++) {
		if (t->locations[i].func.v == func)
			return i;
	}
	return CAM_NONE;
}

bool cam_exporter_is_broken(const struct cam_exporter *x, uint32_t stack)
{
	if (x->broken == CAM_NONE || !stack)
		return false;
	while (x->tree->parent[stack])
		stack = x->tree->parent[stack];
	return x->tree->item[stack] == x->broken;
}

static int prepare(struct cam_exporter *x, struct cam_window *w)
{
	x->w = w;
	x->folded = false;
	x->n_anchors = 0;
	int err = w->ops->tables(w, &x->t);
	if (!err && w->info.imported)
		err = w->ops->facts(w, find_format, x);
	if (!err)
		err = w->ops->anchors(w, on_anchor, x);
	if (err)
		return err;
	x->places = w->info.has_places;
	x->tree = x->places ? &x->t->places : &x->t->stacks;
	x->broken = broken_item(x);
	return 0;
}

static int write_samples(struct cam_exporter *x)
{
	const struct cam_row_filter *f = x->filter;
	unsigned columns = CAM_COL_TIME | CAM_COL_CPU | CAM_COL_TASK | CAM_COL_ETYPE |
			   CAM_COL_WEIGHT | CAM_COL_DETAIL |
			   (x->places ? CAM_COL_PLACE : CAM_COL_STACK | CAM_COL_LEAF) | f->columns;
	int err = x->ops->window ? x->ops->window(x) : 0;
	for (size_t i = 0; i < f->n_ranges && !err; i++)
		err = x->w->ops->samples(x->w, f->ranges[i], columns, on_batch, x);
	/* What was delivered before an error is good. */
	int late = flush(x);
	return err ? err : late;
}

int cam_exporter_add(struct cam_exporter *x, struct cam_window *w,
		     const struct cam_row_filter *filter)
{
	x->filter = filter;
	int err = prepare(x, w);
	if (err)
		return err;
	if (x->folded && !x->ops->takes_counts) {
		x->st.folded++;
		return 0;
	}
	x->st.windows++;
	err = write_samples(x);
	x->st.damage.chunks += w->damage.chunks;
	x->st.damage.bytes += w->damage.bytes;
	x->st.damage.samples += w->damage.samples;
	x->st.damage.stacks += w->damage.stacks;
	x->w = NULL;
	x->t = NULL;
	return err ? err : x->out->error;
}

int cam_exporter_finish(struct cam_exporter *x)
{
	int err = x->ops->finish ? x->ops->finish(x) : 0;
	return err ? err : x->out->error;
}

void cam_exporter_free(struct cam_exporter *x)
{
	if (!x)
		return;
	if (x->ops->free)
		x->ops->free(x);
	free(x->anchors);
	free(x->rows);
	free(x);
}
