// SPDX-License-Identifier: Apache-2.0
#include "support_sink.h"

#include "base/buf.h"
#include "base/vec.h"

#include <stdlib.h>

#define KEPT_BYTES (1u << 20)

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Memory that lives as long as the sink and never moves. */
static void *keep(struct record_sink *r, size_t n)
{
	n = (n + 7) & ~(size_t)7;
	struct cam_buf *b = r->n_kept ? &r->kept[r->n_kept - 1] : NULL;
	if (!b || b->cap - b->len < n) {
		if (cam_vec_reserve(&r->kept, &r->cap_kept, r->n_kept + 1, sizeof(*b), 1u << 20))
			abort();
		b = &r->kept[r->n_kept++];
		*b = CAM_BUF(n > KEPT_BYTES ? n : KEPT_BYTES);
		must(cam_buf_reserve(b, b->max_bytes));
	}
	void *p = b->data + b->len;
	b->len += n;
	return p;
}

static struct cam_text keep_text(struct record_sink *r, struct cam_text s)
{
	char *p = keep(r, s.n + 1);
	memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct cam_text){p, s.n};
}

static int record_begin(struct cam_sink *s, uint64_t time_ns)
{
	struct record_sink *r = s->self;
	(void)time_ns;
	r->begins++;
	if (r->begins == r->refuse_begin)
		return r->refusal;
	if (r->new_window_every && r->begins % r->new_window_every == 0) {
		cam_tables_free(&r->window);
		if (cam_tables_init(&r->window, SIZE_MAX))
			abort();
		s->generation++;
	}
	r->begun = true;
	return 0;
}

#define DEFINE(noun, row_type, id_type)                                          \
	static int record_##noun(struct cam_sink *s, row_type row, id_type *out) \
	{                                                                        \
		struct record_sink *r = s->self;                                 \
		r->breaches += !r->begun;                                        \
		return cam_##noun##_intern(&r->window, row, out);                \
	}
DEFINE(string, struct cam_text, struct cam_str_id)
DEFINE(module, const struct cam_module *, struct cam_module_id)
DEFINE(function, const struct cam_function *, struct cam_func_id)
DEFINE(task, const struct cam_task *, struct cam_task_id)
DEFINE(etype, const struct cam_etype *, struct cam_etype_id)

static int record_location(struct cam_sink *s, const struct cam_location *row,
			   struct cam_loc_id *out)
{
	struct record_sink *r = s->self;
	r->breaches += !r->begun;
	if (++r->locations == r->refuse_location)
		return r->refusal;
	return cam_location_intern(&r->window, row, out);
}

static struct sink_frame resolve(struct record_sink *r, struct cam_loc_id id)
{
	const struct cam_tables *t = &r->window;
	if (id.v >= t->n_locations) {
		r->breaches++;
		return (struct sink_frame){0};
	}
	const struct cam_location *l = &t->locations[id.v];
	const struct cam_function *f = &t->functions[l->func.v];
	const struct cam_module *m = &t->modules[f->module.v];
	r->breaches += l->module.v != f->module.v;
	return (struct sink_frame){
		.address = l->address,
		.offset = l->func_offset,
		.name = keep_text(r, cam_string(t, f->name)),
		.module = keep_text(r, cam_string(t, m->path)),
		.kind = f->kind,
		.source = f->source,
		.module_kind = m->kind,
	};
}

static int record_sample(struct cam_sink *s, const struct cam_sink_sample *in)
{
	struct record_sink *r = s->self;
	const struct cam_tables *t = &r->window;
	r->breaches += !r->begun || in->n_frames > CAM_MAX_STACK_FRAMES ||
		       in->task.v >= t->n_tasks || in->etype.v >= t->n_etypes ||
		       in->detail.v >= t->strings.n;
	r->begun = false;
	if (r->count_only) {
		r->n_samples++;
		return 0;
	}
	if (cam_vec_reserve(&r->samples, &r->cap_samples, r->n_samples + 1, sizeof(*r->samples),
			    1u << 24))
		abort();
	struct sink_frame *frames = keep(r, in->n_frames * sizeof(*frames) + 1);
	for (size_t i = 0; i < in->n_frames; i++)
		frames[i] = resolve(r, in->frames[i]);
	const struct cam_task *task = &t->tasks[in->task.v];
	const struct cam_etype *etype = &t->etypes[in->etype.v];
	r->samples[r->n_samples++] = (struct sink_sample){
		.time_ns = in->time_ns,
		.weight = in->weight,
		.period_ns = etype->period_ns,
		.cpu = in->cpu,
		.pid = task->pid,
		.tid = task->tid,
		.has_weight = etype->has_weight,
		.comm = keep_text(r, cam_string(t, task->comm)),
		.event = keep_text(r, cam_string(t, etype->name)),
		.detail = keep_text(r, cam_string(t, in->detail)),
		.frames = frames,
		.n_frames = in->n_frames,
	};
	return 0;
}

static int record_lost(struct cam_sink *s, const struct cam_ledger_row *row)
{
	struct record_sink *r = s->self;
	if (cam_vec_reserve(&r->ledger, &r->cap_ledger, r->n_ledger + 1, sizeof(*row), 1u << 20))
		abort();
	r->ledger[r->n_ledger++] = *row;
	return 0;
}

static int record_anchor(struct cam_sink *s, const struct cam_anchor *a)
{
	struct record_sink *r = s->self;
	if (cam_vec_reserve(&r->anchors, &r->cap_anchors, r->n_anchors + 1, sizeof(*a), 1u << 20))
		abort();
	r->anchors[r->n_anchors++] = *a;
	return 0;
}

static int record_fact(struct cam_sink *s, struct cam_text key, struct cam_text value)
{
	struct record_sink *r = s->self;
	if (cam_vec_reserve(&r->facts, &r->cap_facts, r->n_facts + 2, sizeof(key), 1u << 20))
		abort();
	r->facts[r->n_facts++] = keep_text(r, key);
	r->facts[r->n_facts++] = keep_text(r, value);
	return 0;
}

struct record_sink *record_sink_new(void)
{
	struct record_sink *r = must(calloc(1, sizeof(*r)));
	if (cam_tables_init(&r->window, SIZE_MAX))
		abort();
	r->refusal = -E2BIG;
	r->sink = (struct cam_sink){
		.self = r,
		.begin = record_begin,
		.string = record_string,
		.module = record_module,
		.function = record_function,
		.location = record_location,
		.task = record_task,
		.etype = record_etype,
		.sample = record_sample,
		.lost = record_lost,
		.anchor = record_anchor,
		.fact = record_fact,
	};
	return r;
}

void record_sink_free(struct record_sink *r)
{
	cam_tables_free(&r->window);
	for (size_t i = 0; i < r->n_kept; i++)
		cam_buf_free(&r->kept[i]);
	free(r->kept);
	free(r->samples);
	free(r->ledger);
	free(r->anchors);
	free(r->facts);
	free(r);
}
