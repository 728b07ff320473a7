// SPDX-License-Identifier: Apache-2.0
/* A window as text, for comparing windows by what they say. */
#include "support_window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct dump {
	const struct cam_tables *t;
	struct cam_window *w;
	struct cam_buf *out;
	/* The text of strings, functions and modules, made once each: most of the time of tests that
	 * compare windows is spent in here. */
	struct cam_buf *strings, *funcs, *modules;
	size_t n_strings, n_funcs, n_modules;
};

static void put_text(struct cam_buf *out, const char *s)
{
	cam_buf_put(out, s, strlen(s));
}

/* As %u or %x would, which sanitizers make slow. */
static void put_number(struct cam_buf *out, const char *before, uint64_t v, unsigned base)
{
	char digits[24];
	size_t at = sizeof(digits);
	do
		digits[--at] = "0123456789abcdef"[v % base];
	while (v /= base);
	put_text(out, before);
	cam_buf_put(out, digits + at, sizeof(digits) - at);
}

static void put_signed(struct cam_buf *out, const char *before, int64_t v)
{
	put_text(out, before);
	put_number(out, v < 0 ? "-" : "", v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

/* Room for one more cached text. */
static struct cam_buf *cached(struct cam_buf **texts, size_t *n, uint32_t id)
{
	if (id >= *n) {
		size_t room = 2 * ((size_t)id + 1);
		*texts = reallocarray(*texts, room, sizeof(**texts));
		for (; *n < room; (*n)++)
			(*texts)[*n] = CAM_BUF(SIZE_MAX / 2);
	}
	return &(*texts)[id];
}

static void put_quoted(struct cam_buf *out, struct cam_text s)
{
	static const char hex[] = "0123456789abcdef";
	cam_buf_put_u8(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < 32 || c > 126 || c == '"' || c == '\\') {
			cam_buf_put_u8(out, '\\');
			cam_buf_put_u8(out, (uint8_t)hex[c >> 4]);
			c = (unsigned char)hex[c & 15];
		}
		cam_buf_put_u8(out, c);
	}
	cam_buf_put_u8(out, '"');
}

static void put_string(struct dump *d, const char *before, struct cam_str_id id)
{
	struct cam_buf *text = cached(&d->strings, &d->n_strings, id.v);
	if (!text->len)
		put_quoted(text, cam_string(d->t, id));
	put_text(d->out, before);
	cam_buf_put(d->out, text->data, text->len);
}

static void free_cache(struct dump *d)
{
	for (size_t i = 0; i < d->n_strings; i++)
		cam_buf_free(&d->strings[i]);
	for (size_t i = 0; i < d->n_funcs; i++)
		cam_buf_free(&d->funcs[i]);
	for (size_t i = 0; i < d->n_modules; i++)
		cam_buf_free(&d->modules[i]);
	free(d->strings);
	free(d->funcs);
	free(d->modules);
}

static void put_module(struct dump *d, struct cam_module_id id)
{
	const struct cam_module *m = &d->t->modules[id.v];
	struct cam_buf *text = cached(&d->modules, &d->n_modules, id.v), *out = d->out;
	if (!text->len) {
		d->out = text;
		cam_buf_printf(text, "<%d", m->kind);
		put_string(d, " ", m->path);
		put_string(d, " ", m->key);
		put_string(d, " ", m->build_id);
		cam_buf_put_u8(text, '>');
		d->out = out;
	}
	cam_buf_put(out, text->data, text->len);
}

static void put_function(struct dump *d, uint32_t id)
{
	const struct cam_function *f = &d->t->functions[id];
	struct cam_buf *text = cached(&d->funcs, &d->n_funcs, id), *out = d->out;
	if (!text->len) {
		d->out = text;
		put_string(d, " [", f->name);
		cam_buf_printf(text, " %d %d %" PRIx64 " ", f->kind, f->source, f->start);
		put_module(d, f->module);
		cam_buf_put_u8(text, ']');
		d->out = out;
	}
	cam_buf_put(out, text->data, text->len);
}

static void put_stack(struct dump *d, uint32_t node)
{
	for (; node; node = d->t->stacks.parent[node])
		put_function(d, d->t->stacks.item[node]);
}

/* A location's function is not repeated: the stack has it. */
static void put_place(struct dump *d, uint32_t node)
{
	for (; node; node = d->t->places.parent[node]) {
		const struct cam_location *l = &d->t->locations[d->t->places.item[node]];
		put_number(d->out, " ", l->address, 16);
		put_number(d->out, "+", l->func_offset, 16);
		put_module(d, l->module);
	}
}

static int put_batch(void *arg, const struct cam_batch *b)
{
	struct dump *d = arg;
	for (size_t i = 0; i < b->n; i++) {
		const struct cam_task *k = &d->t->tasks[b->task[i]];
		const struct cam_etype *e = &d->t->etypes[b->etype[i]];
		put_number(d->out, "sample ", b->time_ns[i], 10);
		put_number(d->out, " cpu ", b->cpu[i], 10);
		put_number(d->out, " weight ", b->weight[i], 10);
		put_number(d->out, " leaf ", b->leaf_offset[i], 16);
		put_signed(d->out, " pid ", k->pid);
		put_signed(d->out, " tid ", k->tid);
		put_number(d->out, " uid ", k->uid, 10);
		put_number(d->out, " start ", k->start_ns, 10);
		put_string(d, " comm ", k->comm);
		put_string(d, " = ", (struct cam_str_id){b->comm[i]});
		put_string(d, " exe ", k->exe);
		put_string(d, " cgroup ", k->cgroup);
		put_string(d, " event ", e->name);
		put_number(d->out, " ", e->period_ns, 10);
		put_number(d->out, " ", e->has_weight, 10);
		put_string(d, " detail ", (struct cam_str_id){b->detail[i]});
		put_stack(d, b->stack[i]);
		put_place(d, b->place[i]);
		cam_buf_put_u8(d->out, '\n');
	}
	return 0;
}

void window_dump_samples(struct cam_window *w, struct cam_range range, struct cam_buf *out)
{
	struct dump d = {.w = w, .out = out};
	int err = w->ops->tables(w, &d.t);
	if (!err)
		err = w->ops->samples(w, range, 0x3ff, put_batch, &d);
	if (err)
		cam_buf_printf(out, "samples: error %d\n", err);
	free_cache(&d);
}

/* Rows that may come in any order: collected as lines, then sorted. */
struct lines {
	char **rows;
	size_t n;
};

static void add_line(struct lines *l, struct cam_buf *line)
{
	cam_buf_put_u8(line, 0);
	l->rows = reallocarray(l->rows, l->n + 1, sizeof(char *));
	l->rows[l->n++] = strdup((const char *)line->data);
	cam_buf_free(line);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_lines(struct cam_buf *out, struct lines *l)
{
	if (l->n)
		qsort(l->rows, l->n, sizeof(char *), compare_lines);
	for (size_t i = 0; i < l->n; i++) {
		cam_buf_printf(out, "%s\n", l->rows[i]);
		free(l->rows[i]);
	}
	free(l->rows);
	*l = (struct lines){0};
}

struct collect {
	struct dump d;
	struct lines lines;
	const char *what;
};

static int put_total(void *arg, const struct cam_total *t)
{
	struct collect *c = arg;
	struct cam_buf line = CAM_BUF(SIZE_MAX / 2);
	c->d.out = &line;
	cam_buf_printf(&line, "%s %" PRIu64, c->what, t->samples);
	put_string(&c->d, " ", t->comm);
	put_string(&c->d, " ", c->d.t->etypes[t->etype.v].name);
	put_stack(&c->d, t->stack.v);
	add_line(&c->lines, &line);
	return 0;
}

static int put_cell(void *arg, const struct cam_cell *cell)
{
	struct dump *d = arg;
	cam_buf_printf(d->out, "cell %" PRIu64 " cpu %u busy %" PRIu64, cell->second, cell->cpu,
		       cell->busy);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		cam_buf_printf(d->out, " %" PRIu64, cell->by_cause[i]);
		if ((cell->causes >> i & 1) != (cell->by_cause[i] > 0))
			abort();
	}
	cam_buf_printf(d->out, "\n");
	return 0;
}

static int put_process_cell(void *arg, const struct cam_process_cell *c)
{
	struct dump *d = arg;
	cam_buf_printf(d->out, "process %" PRIu64 " pid %d samples %" PRIu64 "\n", c->second,
		       c->pid, c->samples);
	return 0;
}

static int put_event(void *arg, const struct cam_event *e)
{
	struct dump *d = arg;
	cam_buf_printf(d->out, "event %" PRIu64 " +- %" PRIu64 " severity %d", e->time_ns,
		       e->uncertainty_ns, e->severity);
	put_string(d, " ", e->source);
	put_string(d, " ", e->text);
	cam_buf_printf(d->out, "\n");
	return 0;
}

static int put_ledger(void *arg, const struct cam_ledger_row *l)
{
	struct dump *d = arg;
	cam_buf_printf(d->out, "ledger %d cpu %u %" PRIu64 " to %" PRIu64 " samples %" PRIu64 "\n",
		       l->cause, l->cpu, l->from_ns, l->to_ns, l->samples);
	return 0;
}

static int put_anchor(void *arg, const struct cam_anchor *a)
{
	struct dump *d = arg;
	cam_buf_printf(d->out,
		       "anchor %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64
		       "\n",
		       a->time_ns, a->raw_ns, a->boottime_ns, a->sched_ns, a->realtime_ns,
		       a->uncertainty_ns);
	return 0;
}

static int put_fact(void *arg, const struct cam_fact *f)
{
	struct dump *d = arg;
	put_string(d, "fact ", f->key);
	put_string(d, " ", f->value);
	cam_buf_printf(d->out, "\n");
	return 0;
}

static int put_counter(void *arg, const struct cam_counter *c)
{
	struct dump *d = arg;
	cam_buf_printf(d->out, "counter %d of %u at %" PRIu64 " over %" PRIu64 " is %" PRIu64 "\n",
		       c->kind, c->subject, c->time_ns, c->span_ns, c->value);
	return 0;
}

static void put_info(struct dump *d)
{
	const struct cam_window_info *i = &d->w->info;
	cam_buf_printf(d->out, "window %.*s boot ", (int)i->host.n, i->host.p);
	for (size_t k = 0; k < sizeof(i->boot_id.bytes); k++)
		cam_buf_printf(d->out, "%02x", i->boot_id.bytes[k]);
	cam_buf_printf(d->out, " clock %d %" PRIu64 " to %" PRIu64 " realtime %" PRId64, i->clock,
		       i->start_ns, i->end_ns, i->realtime_ns);
	cam_buf_printf(d->out, " +- %" PRIu64 " unit %" PRIu64 " samples %" PRIu64,
		       i->realtime_uncertainty_ns, i->time_unit_ns, i->samples);
	cam_buf_printf(d->out, " lost %" PRIu64 " events %u cpus %u flags %d%d%d\n", i->lost,
		       i->events, i->cpus, i->clean_end, i->has_places, i->imported);
}

void window_dump(struct cam_window *w, unsigned options, struct cam_buf *out)
{
	struct collect c = {.d = {.w = w, .out = out}};
	int err = w->ops->tables(w, &c.d.t);
	put_info(&c.d);
	for (size_t i = 0; i < c.d.t->n_etypes && !err; i++) {
		put_string(&c.d, "etype ", c.d.t->etypes[i].name);
		cam_buf_printf(out, "\n");
	}
	window_dump_samples(w, CAM_RANGE_ALL, out);
	c.what = "total";
	err |= w->ops->totals(w, put_total, &c);
	put_lines(out, &c.lines);
	c.what = "small";
	if (!(options & WINDOW_DUMP_NO_SMALL))
		err |= w->ops->small_totals(w, put_total, &c);
	put_lines(out, &c.lines);
	c.d.out = out;
	err |= w->ops->cells(w, put_cell, &c.d);
	err |= w->ops->process_cells(w, put_process_cell, &c.d);
	err |= w->ops->events(w, put_event, &c.d);
	err |= w->ops->ledger(w, put_ledger, &c.d);
	err |= w->ops->anchors(w, put_anchor, &c.d);
	err |= w->ops->facts(w, put_fact, &c.d);
	err |= w->ops->counters(w, put_counter, &c.d);
	if (err)
		cam_buf_printf(out, "error\n");
	free_cache(&c.d);
}

struct tally {
	struct cam_total *v;
	size_t n, cap;
};

static int tally_total(void *arg, const struct cam_total *t)
{
	struct tally *to = arg;
	if (to->n == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 64;
		to->v = reallocarray(to->v, to->cap, sizeof(*to->v));
	}
	if (!to->v)
		return -ENOMEM;
	to->v[to->n++] = *t;
	return 0;
}

static int tally_samples(void *arg, const struct cam_batch *b)
{
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++)
		err = tally_total(arg, &(struct cam_total){.stack = {b->stack[i]},
							   .comm = {b->comm[i]},
							   .etype = {b->etype[i]},
							   .samples = 1});
	return err;
}

static int by_stack(const void *x, const void *y)
{
	const struct cam_total *a = x, *b = y;
	if (a->stack.v != b->stack.v)
		return a->stack.v < b->stack.v ? -1 : 1;
	if (a->comm.v != b->comm.v)
		return a->comm.v < b->comm.v ? -1 : 1;
	return a->etype.v < b->etype.v ? -1 : a->etype.v > b->etype.v;
}

/* Sorted, each once. */
static void tidy(struct tally *t)
{
	size_t kept = 0;
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_stack);
	for (size_t i = 0; i < t->n; i++) {
		if (kept && !by_stack(&t->v[kept - 1], &t->v[i]))
			t->v[kept - 1].samples += t->v[i].samples;
		else
			t->v[kept++] = t->v[i];
	}
	t->n = kept;
}

bool window_totals_agree(struct cam_window *w, struct cam_range range)
{
	struct tally totals = {0}, samples = {0};
	bool good = !w->ops->totals_in(w, range, tally_total, &totals) &&
		    !w->ops->samples(w, range, CAM_COL_STACK | CAM_COL_COMM | CAM_COL_ETYPE,
				     tally_samples, &samples);
	tidy(&totals);
	tidy(&samples);
	good &= totals.n == samples.n;
	for (size_t i = 0; i < totals.n && good; i++)
		good = !by_stack(&totals.v[i], &samples.v[i]) &&
		       totals.v[i].samples == samples.v[i].samples;
	free(totals.v);
	free(samples.v);
	return good;
}
