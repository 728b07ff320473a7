// SPDX-License-Identifier: Apache-2.0
#include "support_view.h"

#include "base/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NS CAM_NS_PER_SEC

struct looking {
	const struct cam_tables *t;
	struct cam_buf *out, *ends;
	unsigned lines;
};

static void put_bytes(struct looking *l, struct cam_str_id id)
{
	struct cam_text s = cam_string(l->t, id);
	cam_buf_put_string(l->out, s.p, s.n);
}

static void put_func(struct looking *l, uint32_t func)
{
	const struct cam_function *f = &l->t->functions[func];
	const struct cam_module *m = &l->t->modules[f->module.v];
	put_bytes(l, f->name);
	cam_buf_put_varint(l->out, (uint64_t)f->kind << 8 | f->source);
	cam_buf_put_varint(l->out, f->start);
	put_bytes(l, m->path);
	put_bytes(l, m->key);
	put_bytes(l, m->build_id);
	cam_buf_put_varint(l->out, m->kind);
}

static void put_stack(struct looking *l, uint32_t node)
{
	for (; node; node = l->t->stacks.parent[node])
		put_func(l, l->t->stacks.item[node]);
	cam_buf_put_u8(l->out, '\n');
}

static void put_place(struct looking *l, uint32_t node)
{
	for (; node; node = l->t->places.parent[node]) {
		const struct cam_location *loc = &l->t->locations[l->t->places.item[node]];
		cam_buf_put_varint(l->out, loc->address);
		cam_buf_put_varint(l->out, loc->func_offset);
		put_func(l, loc->func.v);
	}
	cam_buf_put_u8(l->out, '\n');
}

static void put_task(struct looking *l, uint32_t task)
{
	const struct cam_task *k = &l->t->tasks[task];
	cam_buf_put_zigzag(l->out, k->pid);
	cam_buf_put_zigzag(l->out, k->tid);
	cam_buf_put_varint(l->out, k->uid);
	cam_buf_put_varint(l->out, k->start_ns);
	put_bytes(l, k->comm);
	put_bytes(l, k->exe);
	put_bytes(l, k->cgroup);
}

static int look_at_batch(void *arg, const struct cam_batch *b)
{
	struct looking *l = arg;
	for (size_t i = 0; i < b->n; i++, l->lines++) {
		if (b->time_ns) {
			cam_buf_put_varint(l->out, b->time_ns[i]);
			cam_buf_put_varint(l->out, b->cpu[i]);
		}
		if (b->stack)
			put_stack(l, b->stack[i]);
		if (b->task)
			put_task(l, b->task[i]);
		if (b->weight)
			cam_buf_put_varint(l->out, b->weight[i]);
		if (b->leaf_offset)
			cam_buf_put_varint(l->out, b->leaf_offset[i]);
		if (b->place)
			put_place(l, b->place[i]);
		if (b->detail)
			put_bytes(l, (struct cam_str_id){b->detail[i]});
		if (b->comm) {
			put_bytes(l, (struct cam_str_id){b->comm[i]});
			put_bytes(l, l->t->etypes[b->etype[i]].name);
		}
		uint32_t end = (uint32_t)l->out->len;
		cam_buf_put(l->ends, &end, sizeof(end));
	}
	return 0;
}

static int look_at_total(void *arg, const struct cam_total *t)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, t->samples);
	put_bytes(l, t->comm);
	put_bytes(l, l->t->etypes[t->etype.v].name);
	put_stack(l, t->stack.v);
	l->lines += (unsigned)t->samples;
	return 0;
}

static int look_at_cell(void *arg, const struct cam_cell *c)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, c->second);
	cam_buf_put_varint(l->out, c->cpu);
	cam_buf_put_varint(l->out, c->busy);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++)
		cam_buf_put_varint(l->out, c->by_cause[i]);
	l->lines++;
	return 0;
}

static int look_at_process(void *arg, const struct cam_process_cell *c)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, c->second);
	cam_buf_put_zigzag(l->out, c->pid);
	cam_buf_put_varint(l->out, c->samples);
	l->lines += (unsigned)c->samples;
	return 0;
}

static int look_at_event(void *arg, const struct cam_event *e)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, e->time_ns);
	cam_buf_put_varint(l->out, e->uncertainty_ns << 3 | e->severity);
	put_bytes(l, e->source);
	put_bytes(l, e->text);
	l->lines++;
	return 0;
}

static int look_at_ledger(void *arg, const struct cam_ledger_row *r)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, r->cause);
	cam_buf_put_varint(l->out, r->cpu);
	cam_buf_put_varint(l->out, r->from_ns);
	cam_buf_put_varint(l->out, r->to_ns);
	cam_buf_put_varint(l->out, r->samples);
	l->lines++;
	return 0;
}

static int look_at_anchor(void *arg, const struct cam_anchor *a)
{
	struct looking *l = arg;
	cam_buf_put(l->out, a, sizeof(*a));
	l->lines++;
	return 0;
}

static int look_at_fact(void *arg, const struct cam_fact *f)
{
	struct looking *l = arg;
	put_bytes(l, f->key);
	put_bytes(l, f->value);
	l->lines++;
	return 0;
}

static int look_at_counter(void *arg, const struct cam_counter *c)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, c->kind);
	cam_buf_put_varint(l->out, c->subject);
	cam_buf_put_varint(l->out, c->time_ns);
	cam_buf_put_varint(l->out, c->span_ns);
	cam_buf_put_varint(l->out, c->value);
	l->lines++;
	return 0;
}

static int look_at_line(void *arg, const struct cam_line *line)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, line->func.v);
	cam_buf_put_varint(l->out, line->leaf_offset);
	cam_buf_put_string(l->out, line->file.p, line->file.n);
	cam_buf_put_varint(l->out, line->line);
	l->lines++;
	return 0;
}

static int look_at_name_cell(void *arg, const struct cam_name_cell *c)
{
	struct looking *l = arg;
	put_bytes(l, c->name);
	put_bytes(l, c->cgroup);
	cam_buf_put_varint(l->out, c->is_program);
	cam_buf_put_varint(l->out, c->second);
	cam_buf_put_varint(l->out, c->samples);
	cam_buf_put_varint(l->out, c->most);
	l->lines++;
	return 0;
}

static int look_at_names(struct cam_window *w, struct looking *l)
{
	int err = w->ops->name_cells(w, look_at_name_cell, l);
	return err == -ENODATA ? 0 : err;
}

static int look_at_slot(void *arg, const struct cam_slots *s)
{
	struct looking *l = arg;
	cam_buf_put_varint(l->out, s->second);
	cam_buf_put(l->out, s->samples, sizeof(s->samples));
	l->lines++;
	return 0;
}

static int look_at_slots(struct cam_window *w, struct looking *l)
{
	int err = w->ops->slots(w, look_at_slot, l);
	return err == -ENODATA ? 0 : err;
}

static const unsigned aspect_columns[SPAN_ASPECTS] = {
	CAM_COL_TIME | CAM_COL_CPU,
	CAM_COL_STACK,
	CAM_COL_TASK,
	CAM_COL_WEIGHT,
	CAM_COL_LEAF,
	CAM_COL_PLACE,
	CAM_COL_DETAIL,
	CAM_COL_ETYPE | CAM_COL_COMM,
};

static int look_at_aspect(struct cam_window *w, enum aspect a, struct looking *l)
{
	switch (a) {
	case TOTALS:
		return w->ops->totals(w, look_at_total, l);
	case SMALL_TOTALS:
		return w->ops->small_totals(w, look_at_total, l);
	case CELLS:
		return w->ops->cells(w, look_at_cell, l);
	case PROCESSES:
		return w->ops->process_cells(w, look_at_process, l);
	case EVENTS:
		return w->ops->events(w, look_at_event, l);
	case LEDGER:
		return w->ops->ledger(w, look_at_ledger, l);
	case ANCHORS:
		return w->ops->anchors(w, look_at_anchor, l);
	case COUNTERS:
		return w->ops->counters(w, look_at_counter, l);
	case LINES:
		return w->ops->lines(w, look_at_line, l);
	case NAMED:
		return look_at_names(w, l);
	case SLOTTED:
		return look_at_slots(w, l);
	default:
		return w->ops->facts(w, look_at_fact, l);
	}
}

void look(struct cam_window *w, const struct cam_dir *spans, struct view *v)
{
	const struct cam_tables *t;
	assert_int_equal(w->ops->tables(w, &t), 0);
	v->n_spans = (unsigned)spans->n_spans;
	for (unsigned a = 0; a < ASPECTS; a++) {
		for (unsigned s = 0; s < (a < SPAN_ASPECTS ? v->n_spans : 1); s++) {
			struct looking l = {.t = t, .out = &v->text[a][s], .ends = &v->ends[a][s]};
			int err;
			l.out->max_bytes = l.ends->max_bytes = SIZE_MAX / 2;
			cam_buf_clear(l.out);
			cam_buf_clear(l.ends);
			if (a < SPAN_ASPECTS) {
				uint64_t second = spans->spans[s].second;
				struct cam_range range = {second * NS,
							  (second + spans->spans[s].seconds) * NS};
				err = w->ops->samples(w, range, aspect_columns[a], look_at_batch,
						      &l);
			} else {
				err = look_at_aspect(w, (enum aspect)a, &l);
			}
			assert_int_equal(err, 0);
			v->lines[a][s] = l.lines;
		}
	}
}

void view_free(struct view *v)
{
	for (unsigned a = 0; a < ASPECTS; a++)
		for (unsigned s = 0; s < MAX_SPANS; s++) {
			cam_buf_free(&v->text[a][s]);
			cam_buf_free(&v->ends[a][s]);
		}
}

unsigned count_damaged(const struct view *good, const struct view *now, unsigned a, unsigned s)
{
	const uint32_t *x = (const uint32_t *)good->ends[a][s].data;
	const uint32_t *y = (const uint32_t *)now->ends[a][s].data;
	unsigned differ = 0;
	assert_int_equal(good->lines[a][s], now->lines[a][s]);
	for (unsigned i = 0; i < good->lines[a][s]; i++) {
		uint32_t from_x = i ? x[i - 1] : 0, from_y = i ? y[i - 1] : 0;
		const uint8_t *was = good->text[a][s].data + from_x;
		const uint8_t *is = now->text[a][s].data + from_y;
		size_t n = x[i] - from_x, m = y[i] - from_y;
		if (n == m && memcmp(was, is, n) == 0)
			continue;
		assert_non_null(memmem(is, m, "[damaged]", 9));
		differ++;
	}
	return differ;
}
