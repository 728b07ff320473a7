// SPDX-License-Identifier: Apache-2.0
/*
 * For fuzzers of what becomes a window: a file in memory, and every question of door D with every id
 * of the answers checked against the tables. Closes the window.
 */
#pragma once
#include "model/cursor.h"
#include "store/io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_file {
	struct cam_file file;
	uint8_t *bytes;
	size_t n;
};

static ssize_t fuzz_pread(struct cam_file *f, void *to, size_t n, uint64_t at)
{
	const struct fuzz_file *ff = (const struct fuzz_file *)f;
	if (at >= ff->n)
		return 0;
	if (n > ff->n - at)
		n = ff->n - at;
	memcpy(to, ff->bytes + at, n);
	return (ssize_t)n;
}

static int64_t fuzz_size(struct cam_file *f)
{
	return (int64_t)((const struct fuzz_file *)f)->n;
}

static void fuzz_close(struct cam_file *f)
{
	free(((struct fuzz_file *)f)->bytes);
	free(f);
}

/* The content is a copy without the first byte, which is the fuzzer's own. */
static struct fuzz_file *fuzz_file_new(const uint8_t *data, size_t size)
{
	static const struct cam_io_ops ops = {
		.pread = fuzz_pread, .size = fuzz_size, .close = fuzz_close};
	struct fuzz_file *f = calloc(1, sizeof(*f));
	f->file.ops = &ops;
	f->n = size ? size - 1 : 0;
	f->bytes = malloc(f->n + 1);
	if (f->n)
		memcpy(f->bytes, data + 1, f->n);
	return f;
}

static void fuzz_check(bool good)
{
	if (!good)
		abort();
}

struct fuzz_seen {
	const struct cam_tables *t;
	uint64_t samples, total, small, busy, processes, named, slotted;
};

static int fuzz_batch(void *arg, const struct cam_batch *b)
{
	struct fuzz_seen *s = arg;
	const struct cam_tables *t = s->t;
	s->samples += b->n;
	for (size_t i = 0; i < b->n; i++) {
		fuzz_check(b->task[i] < t->n_tasks && b->stack[i] < t->stacks.n &&
			   b->place[i] < t->places.n && b->etype[i] < t->n_etypes &&
			   b->detail[i] < t->strings.n && b->comm[i] < t->strings.n);
		size_t depth = 0;
		for (uint32_t k = b->stack[i]; k; k = t->stacks.parent[k], depth++)
			fuzz_check(t->stacks.parent[k] < k && t->stacks.item[k] < t->n_functions);
		fuzz_check(depth <= CAM_MAX_STACK_FRAMES);
	}
	return 0;
}

static int fuzz_total(void *arg, const struct cam_total *row)
{
	struct fuzz_seen *s = arg;
	fuzz_check(row->stack.v < s->t->stacks.n && row->comm.v < s->t->strings.n);
	s->total += row->samples;
	return 0;
}

static int fuzz_small(void *arg, const struct cam_total *row)
{
	struct fuzz_seen *s = arg;
	fuzz_check(row->stack.v < s->t->stacks.n && row->comm.v < s->t->strings.n);
	s->small += row->samples;
	return 0;
}

static int fuzz_cell(void *arg, const struct cam_cell *c)
{
	((struct fuzz_seen *)arg)->busy += c->busy;
	return 0;
}

static int fuzz_process(void *arg, const struct cam_process_cell *c)
{
	((struct fuzz_seen *)arg)->processes += c->samples;
	return 0;
}

static int fuzz_event(void *arg, const struct cam_event *e)
{
	const struct cam_tables *t = ((struct fuzz_seen *)arg)->t;
	fuzz_check(e->source.v < t->strings.n && e->text.v < t->strings.n &&
		   e->severity < CAM_SEVERITY_MAX);
	return 0;
}

static int fuzz_ledger(void *arg, const struct cam_ledger_row *r)
{
	(void)arg;
	fuzz_check(r->cause < CAM_CAUSE_MAX);
	return 0;
}

static int fuzz_anchor(void *arg, const struct cam_anchor *a)
{
	(void)arg;
	(void)a;
	return 0;
}

static int fuzz_fact(void *arg, const struct cam_fact *f)
{
	const struct cam_tables *t = ((struct fuzz_seen *)arg)->t;
	fuzz_check(f->key.v < t->strings.n && f->value.v < t->strings.n);
	return 0;
}

static int fuzz_counter(void *arg, const struct cam_counter *c)
{
	(void)arg;
	fuzz_check(c->kind < CAM_COUNTER_MAX);
	return 0;
}

static int fuzz_name_cell(void *arg, const struct cam_name_cell *c)
{
	struct fuzz_seen *s = arg;
	fuzz_check(c->name.v < s->t->strings.n && c->cgroup.v < s->t->strings.n);
	fuzz_check(c->most && c->most <= c->samples && c->second <= UINT64_MAX / 1000000000u);
	s->named += c->samples;
	return 0;
}

static int fuzz_slots(void *arg, const struct cam_slots *row)
{
	struct fuzz_seen *s = arg;
	fuzz_check(row->second <= UINT64_MAX / 1000000000u);
	for (unsigned i = 0; i < CAM_SLOTS; i++)
		s->slotted += row->samples[i];
	return 0;
}

static inline void fuzz_window(struct cam_window *w)
{
	struct fuzz_seen s = {0};
	const struct cam_range part = {w->info.start_ns, w->info.start_ns + 1000000000u};
	fuzz_check(w->ops->tables(w, &s.t) == 0);
	size_t rows = s.t->strings.n + s.t->places.n + s.t->stacks.n;
	if (w->ops->samples(w, CAM_RANGE_ALL, (1u << 10) - 1, fuzz_batch, &s) == 0) {
		/* What was counted on opening is what there is, and asking defines nothing new. */
		fuzz_check(s.samples == w->info.samples);
		fuzz_check(rows == s.t->strings.n + s.t->places.n + s.t->stacks.n);
		if (w->ops->totals(w, fuzz_total, &s) == 0)
			fuzz_check(s.total == s.samples);
		if (w->ops->cells(w, fuzz_cell, &s) == 0)
			fuzz_check(s.busy == s.samples);
		if (w->ops->process_cells(w, fuzz_process, &s) == 0)
			fuzz_check(s.processes == s.samples);
		if (w->ops->name_cells && w->ops->name_cells(w, fuzz_name_cell, &s) == 0)
			fuzz_check(s.named == w->info.samples);
		if (w->ops->slots && w->ops->slots(w, fuzz_slots, &s) == 0)
			fuzz_check(s.slotted == w->info.samples);
		if (w->ops->small_totals(w, fuzz_small, &s) == 0)
			fuzz_check(s.small == s.samples);
	}
	w->ops->samples(w, part, (1u << 10) - 1, fuzz_batch, &s);
	w->ops->events(w, fuzz_event, &s);
	w->ops->ledger(w, fuzz_ledger, &s);
	w->ops->anchors(w, fuzz_anchor, &s);
	w->ops->facts(w, fuzz_fact, &s);
	w->ops->counters(w, fuzz_counter, &s);
	w->ops->close(w);
}
