// SPDX-License-Identifier: Apache-2.0
#include "support_window.h"

#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>

static void must(int err)
{
	if (err) {
		fprintf(stderr, "fake window: %s\n", strerror(-err));
		abort();
	}
}

static struct fake_window *fake_of(struct cam_window *w)
{
	return (struct fake_window *)w;
}

struct cam_str_id fake_str(struct fake_window *f, const char *s)
{
	struct cam_str_id id;
	must(cam_string_intern(&f->t, cam_text_of(s), &id));
	return id;
}

struct cam_etype_id fake_etype(struct fake_window *f, const char *name, uint64_t period_ns,
			       bool has_weight)
{
	struct cam_etype e = {fake_str(f, name), period_ns, has_weight};
	struct cam_etype_id id;
	must(cam_etype_intern(&f->t, &e, &id));
	return id;
}

struct cam_task_id fake_task(struct fake_window *f, int32_t pid, int32_t tid, const char *comm)
{
	struct cam_task k = {.pid = pid, .tid = tid, .uid = 1000, .comm = fake_str(f, comm)};
	struct cam_task_id id;
	must(cam_task_intern(&f->t, &k, &id));
	return id;
}

static struct cam_module_id frame_module(struct fake_window *f, struct cam_text path)
{
	struct cam_module m = {.kind = CAM_MODULE_FILE};
	struct cam_module_id id = {0};
	if (!path.n)
		return id;
	if (cam_text_equal(path, CAM_TEXT("[kernel]")))
		m.kind = CAM_MODULE_KERNEL;
	else if (cam_text_equal(path, CAM_TEXT("[jit]")))
		m.kind = CAM_MODULE_JIT;
	else if (cam_text_equal(path, CAM_TEXT("[vdso]")))
		m.kind = CAM_MODULE_VDSO;
	must(cam_string_intern(&f->t, path, &m.path));
	must(cam_module_intern(&f->t, &m, &id));
	return id;
}

static struct cam_loc_id frame_of(struct fake_window *f, struct cam_text frame, uint64_t offset)
{
	const char *at = memchr(frame.p, '@', frame.n);
	struct cam_text name = {frame.p, at ? (size_t)(at - frame.p) : frame.n};
	struct cam_text path = {at ? at + 1 : "", at ? frame.n - name.n - 1 : 0};
	struct cam_function fn = {.module = frame_module(f, path)};
	enum cam_module_kind kind = f->t.modules[fn.module.v].kind;
	uint64_t address = 0x1000;
	for (size_t i = 0; i < frame.n; i++)
		address = (address * 31 + (uint8_t)frame.p[i]) & 0xffffff;
	fn.kind = kind == CAM_MODULE_KERNEL ? CAM_FUNC_KERNEL
		  : kind == CAM_MODULE_JIT  ? CAM_FUNC_JIT
					    : CAM_FUNC_USER;
	fn.source = name.n ? CAM_NAME_SYMTAB : CAM_NAME_NONE;
	if (!name.n && kind == CAM_MODULE_FILE)
		fn.start = address << 4;
	must(cam_string_intern(&f->t, name, &fn.name));
	struct cam_location l = {
		.address = (address << 4) + offset, .module = fn.module, .func_offset = offset};
	must(cam_function_intern(&f->t, &fn, &l.func));
	struct cam_loc_id id;
	must(cam_location_intern(&f->t, &l, &id));
	return id;
}

struct cam_loc_id fake_frame(struct fake_window *f, const char *frame, uint64_t offset)
{
	return frame_of(f, cam_text_of(frame), offset);
}

struct cam_place_id fake_place(struct fake_window *f, const char *folded)
{
	uint32_t node = 0;
	for (const char *p = folded; *p;) {
		size_t n = strcspn(p, ";");
		struct cam_loc_id loc = frame_of(f, (struct cam_text){p, n}, 0);
		must(cam_tree_intern(&f->t, &f->t.places, node, loc.v, &node));
		p += n + (p[n] == ';');
	}
	return (struct cam_place_id){node};
}

#define ADD(f, rows, row)                                                             \
	do {                                                                          \
		must(cam_vec_reserve(&(f)->rows, &(f)->cap_##rows, (f)->n_##rows + 1, \
				     sizeof(*(f)->rows), 1u << 28));                  \
		(f)->rows[(f)->n_##rows++] = (row);                                   \
	} while (0)

void fake_add_sample(struct fake_window *f, const struct cam_sample *s)
{
	ADD(f, samples, *s);
}

void fake_sample(struct fake_window *f, uint64_t time_ns, uint32_t cpu, struct cam_task_id task,
		 struct cam_place_id place)
{
	struct cam_sample s = {
		.time_ns = time_ns, .weight = 1, .cpu = cpu, .task = task, .place = place};
	ADD(f, samples, s);
}

void fake_add_event(struct fake_window *f, uint64_t time_ns, enum cam_severity severity,
		    const char *source, const char *text)
{
	struct cam_event e = {.time_ns = time_ns,
			      .severity = severity,
			      .source = fake_str(f, source),
			      .text = fake_str(f, text)};
	ADD(f, events, e);
}

void fake_add_ledger(struct fake_window *f, const struct cam_ledger_row *row)
{
	ADD(f, ledger, *row);
}

void fake_add_anchor(struct fake_window *f, const struct cam_anchor *a)
{
	ADD(f, anchors, *a);
}

void fake_add_fact(struct fake_window *f, const char *key, const char *value)
{
	struct cam_fact fact = {fake_str(f, key), fake_str(f, value)};
	ADD(f, facts, fact);
}

void fake_add_counter(struct fake_window *f, const struct cam_counter *c)
{
	ADD(f, counters, *c);
}

static int compare_counters(const void *x, const void *y)
{
	const struct cam_counter *a = x, *b = y;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->subject != b->subject)
		return a->subject < b->subject ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static int order(const struct cam_sample *a, const struct cam_sample *b)
{
	uint64_t sa = a->time_ns / CAM_NS_PER_SEC, sb = b->time_ns / CAM_NS_PER_SEC;
	if (sa != sb)
		return sa < sb ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Merge sort: samples of the same instant keep the order they came in. */
static void sort(struct cam_sample *s, struct cam_sample *room, size_t n)
{
	if (n < 2)
		return;
	size_t half = n / 2, i = 0, j = half, k = 0;
	sort(s, room, half);
	sort(s + half, room, n - half);
	while (i < half || j < n)
		room[k++] = j == n || (i < half && order(&s[i], &s[j]) <= 0) ? s[i++] : s[j++];
	memcpy(s, room, n * sizeof(*s));
}

static void fill_realtime(struct fake_window *f)
{
	struct cam_window_info *info = &f->w.info;
	uint64_t nearest = UINT64_MAX;
	for (size_t i = 0; i < f->n_anchors; i++) {
		const struct cam_anchor *a = &f->anchors[i];
		int64_t off = (int64_t)(info->start_ns - a->time_ns);
		uint64_t distance = off < 0 ? -(uint64_t)off : (uint64_t)off;
		if (a->realtime_ns == INT64_MIN || distance >= nearest)
			continue;
		nearest = distance;
		info->realtime_ns = a->realtime_ns + off;
		info->realtime_uncertainty_ns = a->uncertainty_ns;
	}
}

struct cam_window *fake_window_ready(struct fake_window *f)
{
	struct cam_window_info *info = &f->w.info;
	struct cam_sample *room = reallocarray(NULL, f->n_samples + 1, sizeof(*room));
	must(room ? 0 : -ENOMEM);
	sort(f->samples, room, f->n_samples);
	free(room);
	if (f->n_counters)
		qsort(f->counters, f->n_counters, sizeof(*f->counters), compare_counters);
	uint64_t first = UINT64_MAX, last = 0;
	info->cpus = 0;
	info->lost = 0;
	for (size_t i = 0; i < f->n_samples; i++) {
		const struct cam_sample *s = &f->samples[i];
		struct cam_stack_id stack;
		must(cam_place_stack(&f->t, s->place, &stack));
		if (s->time_ns < first)
			first = s->time_ns;
		if (s->time_ns != CAM_TIME_NONE && s->time_ns >= last)
			last = s->time_ns + 1;
		if (s->cpu != CAM_CPU_NONE && s->cpu >= info->cpus)
			info->cpus = s->cpu + 1;
	}
	f->own_start |= !info->start_ns;
	f->own_end |= !info->end_ns;
	if (f->own_start && first != UINT64_MAX)
		info->start_ns = first;
	if (f->own_end)
		info->end_ns = last;
	for (size_t i = 0; i < f->n_ledger; i++)
		if (cam_cause_is_loss(f->ledger[i].cause))
			info->lost += f->ledger[i].samples;
	info->samples = f->n_samples;
	info->etypes = (uint32_t)f->t.n_etypes;
	info->events = (uint32_t)f->n_events;
	if (info->realtime_ns == INT64_MIN)
		fill_realtime(f);
	return &f->w;
}

static int fake_tables(struct cam_window *w, const struct cam_tables **out)
{
	*out = &fake_of(w)->t;
	return 0;
}

/* A sample without a time is in no range but the one that ends nowhere. */
static bool in_range(const struct cam_sample *s, struct cam_range r)
{
	if (s->time_ns == CAM_TIME_NONE)
		return r.to_ns == UINT64_MAX;
	return s->time_ns >= r.from_ns && s->time_ns < r.to_ns;
}

struct columns {
	uint64_t *time_ns, *weight, *leaf;
	uint32_t *cpu, *task, *stack, *place, *etype, *detail, *comm;
};

static void fill_row(struct fake_window *f, const struct cam_sample *s, struct columns *c, size_t i)
{
	struct cam_stack_id stack;
	must(cam_place_stack(&f->t, s->place, &stack));
	c->time_ns[i] = s->time_ns;
	c->weight[i] = s->weight;
	c->leaf[i] = cam_place_leaf_offset(&f->t, s->place);
	c->cpu[i] = s->cpu;
	c->task[i] = s->task.v;
	c->stack[i] = stack.v;
	c->place[i] = f->w.info.has_places ? s->place.v : 0;
	c->etype[i] = s->etype.v;
	c->detail[i] = s->detail.v;
	c->comm[i] = f->t.tasks[s->task.v].comm.v;
}

static void *rows(size_t n, size_t size)
{
	void *p = calloc(n, size);
	must(p ? 0 : -ENOMEM);
	return p;
}

static int give(const struct columns *c, size_t n, unsigned columns, cam_batch_fn *fn, void *arg)
{
	struct cam_batch b = {.n = n};
	b.time_ns = columns & CAM_COL_ANY_TIME ? c->time_ns : NULL;
	b.weight = columns & CAM_COL_WEIGHT ? c->weight : NULL;
	b.leaf_offset = columns & CAM_COL_LEAF ? c->leaf : NULL;
	b.cpu = columns & CAM_COL_CPU ? c->cpu : NULL;
	b.task = columns & CAM_COL_TASK ? c->task : NULL;
	b.stack = columns & CAM_COL_STACK ? c->stack : NULL;
	b.place = columns & CAM_COL_PLACE ? c->place : NULL;
	b.etype = columns & CAM_COL_ETYPE ? c->etype : NULL;
	b.detail = columns & CAM_COL_DETAIL ? c->detail : NULL;
	b.comm = columns & CAM_COL_COMM ? c->comm : NULL;
	return n ? fn(arg, &b) : 0;
}

static int fake_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			cam_batch_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	size_t cap = f->batch, n = 0;
	int err = f->fail_samples;
	f->samples_calls++;
	if (err)
		return err;
	struct columns c = {rows(cap, 8), rows(cap, 8), rows(cap, 8), rows(cap, 4), rows(cap, 4),
			    rows(cap, 4), rows(cap, 4), rows(cap, 4), rows(cap, 4), rows(cap, 4)};
	for (size_t i = 0; i < f->n_samples && !err; i++) {
		if (!in_range(&f->samples[i], range))
			continue;
		fill_row(f, &f->samples[i], &c, n++);
		if (n == cap) {
			err = give(&c, n, columns, fn, arg);
			n = 0;
		}
	}
	if (!err)
		err = give(&c, n, columns, fn, arg);
	void *all[] = {c.time_ns, c.weight, c.leaf,  c.cpu,    c.task,
		       c.stack,	  c.place,  c.etype, c.detail, c.comm};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
	return err;
}

static int compare_totals(const void *x, const void *y)
{
	const struct cam_total *a = x, *b = y;
	if (a->stack.v != b->stack.v)
		return a->stack.v < b->stack.v ? -1 : 1;
	if (a->etype.v != b->etype.v)
		return a->etype.v < b->etype.v ? -1 : 1;
	return a->comm.v < b->comm.v ? -1 : a->comm.v > b->comm.v;
}

static int give_totals(struct cam_total *t, size_t n, cam_total_fn *fn, void *arg)
{
	int err = 0;
	qsort(t, n, sizeof(*t), compare_totals);
	for (size_t i = 0; i < n && !err;) {
		struct cam_total sum = t[i++];
		for (; i < n && !compare_totals(&sum, &t[i]); i++)
			sum.samples += t[i].samples;
		err = fn(arg, &sum);
	}
	return err;
}

static struct cam_total *totals_of(struct fake_window *f)
{
	struct cam_total *t = rows(f->n_samples + 1, sizeof(*t));
	for (size_t i = 0; i < f->n_samples; i++) {
		const struct cam_sample *s = &f->samples[i];
		must(cam_place_stack(&f->t, s->place, &t[i].stack));
		t[i].comm = f->t.tasks[s->task.v].comm;
		t[i].etype = s->etype;
		t[i].samples = 1;
	}
	return t;
}

static int fake_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	struct cam_total *t = totals_of(f);
	int err = give_totals(t, f->n_samples, fn, arg);
	free(t);
	return err;
}

static int fake_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	struct cam_total *t = totals_of(f);
	size_t n_nodes = f->t.stacks.n;
	uint64_t *below = rows(n_nodes, sizeof(*below));
	struct cam_function small = {
		.name = fake_str(f, "[small]"), .kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN};
	struct cam_func_id id;
	must(cam_function_intern(&f->t, &small, &id));
	for (size_t i = 0; i < f->n_samples; i++) {
		for (uint32_t x = t[i].stack.v; x; x = f->t.stacks.parent[x])
			below[x]++;
		below[0]++;
	}
	/* The topmost ancestor that is too small becomes [small]. */
	for (size_t i = 0; i < f->n_samples; i++) {
		uint32_t cut = CAM_NONE;
		for (uint32_t x = t[i].stack.v; x; x = f->t.stacks.parent[x])
			if (below[x] * 10000 < f->n_samples)
				cut = f->t.stacks.parent[x];
		if (cut != CAM_NONE)
			must(cam_tree_intern(&f->t, &f->t.stacks, cut, id.v, &t[i].stack.v));
	}
	int err = give_totals(t, f->n_samples, fn, arg);
	free(below);
	free(t);
	return err;
}

static int compare_cells(const void *x, const void *y)
{
	const struct cam_cell *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* The part of a row's samples that falls into the seconds before `second`. */
static uint64_t spread_before(const struct cam_ledger_row *r, uint64_t second)
{
	uint64_t t = second * CAM_NS_PER_SEC;
	if (t <= r->from_ns)
		return 0;
	if (t >= r->to_ns)
		return r->samples;
	return (uint64_t)((unsigned __int128)r->samples * (t - r->from_ns) /
			  (r->to_ns - r->from_ns));
}

static size_t spread(const struct cam_ledger_row *r, struct cam_cell *cells)
{
	uint64_t first = r->from_ns / CAM_NS_PER_SEC;
	uint64_t last = r->to_ns > r->from_ns ? (r->to_ns - 1) / CAM_NS_PER_SEC : first;
	size_t n = 0;
	if (last - first >= FAKE_MAX_SPREAD_SECONDS)
		last = first;
	for (uint64_t s = first; s <= last; s++) {
		uint64_t part =
			first == last ? r->samples : spread_before(r, s + 1) - spread_before(r, s);
		if (!part)
			continue;
		cells[n] = (struct cam_cell){.second = s, .cpu = r->cpu, .causes = 1u << r->cause};
		cells[n++].by_cause[r->cause] = part;
	}
	return n;
}

static int fake_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	size_t n = 0;
	struct cam_cell *c =
		rows(f->n_samples + f->n_ledger * FAKE_MAX_SPREAD_SECONDS + 1, sizeof(*c));
	int err = 0;
	for (size_t i = 0; i < f->n_samples; i++)
		c[n++] = (struct cam_cell){.second = f->samples[i].time_ns / CAM_NS_PER_SEC,
					   .cpu = f->samples[i].cpu,
					   .busy = 1};
	for (size_t i = 0; i < f->n_ledger; i++)
		n += spread(&f->ledger[i], c + n);
	qsort(c, n, sizeof(*c), compare_cells);
	for (size_t i = 0; i < n && !err;) {
		struct cam_cell sum = c[i++];
		for (; i < n && !compare_cells(&sum, &c[i]); i++) {
			sum.busy += c[i].busy;
			sum.causes |= c[i].causes;
			for (size_t k = 0; k < CAM_CAUSE_MAX; k++)
				sum.by_cause[k] += c[i].by_cause[k];
		}
		err = fn(arg, &sum);
	}
	free(c);
	return err;
}

static int fake_slots(struct cam_window *w, cam_slots_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	int err = f->w.info.has_slots ? 0 : -ENODATA;
	for (size_t i = 0; i < f->n_samples && !err;) {
		struct cam_slots row = {.second = f->samples[i].time_ns / CAM_NS_PER_SEC};
		for (; i < f->n_samples && f->samples[i].time_ns / CAM_NS_PER_SEC == row.second;
		     i++)
			row.samples[f->samples[i].time_ns % CAM_NS_PER_SEC / CAM_SLOT_NS]++;
		err = fn(arg, &row);
	}
	return err;
}
static int compare_process_cells(const void *x, const void *y)
{
	const struct cam_process_cell *a = x, *b = y;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int fake_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	struct fake_window *f = fake_of(w);
	struct cam_process_cell *c = rows(f->n_samples + 1, sizeof(*c));
	int err = 0;
	for (size_t i = 0; i < f->n_samples; i++) {
		const struct cam_task *k = &f->t.tasks[f->samples[i].task.v];
		c[i] = (struct cam_process_cell){.second = f->samples[i].time_ns / CAM_NS_PER_SEC,
						 .pid = k->pid == CAM_PID_NONE ? k->tid : k->pid,
						 .samples = 1};
	}
	qsort(c, f->n_samples, sizeof(*c), compare_process_cells);
	for (size_t i = 0; i < f->n_samples && !err;) {
		struct cam_process_cell sum = c[i++];
		for (; i < f->n_samples && !compare_process_cells(&sum, &c[i]); i++)
			sum.samples++;
		err = fn(arg, &sum);
	}
	free(c);
	return err;
}

#define DEFINE_EACH(name, fn_type, rows)                              \
	static int name(struct cam_window *w, fn_type *fn, void *arg) \
	{                                                             \
		struct fake_window *f = fake_of(w);                   \
		int err = 0;                                          \
		for (size_t i = 0; i < f->n_##rows && !err; i++)      \
			err = fn(arg, &f->rows[i]);                   \
		return err;                                           \
	}

DEFINE_EACH(fake_events, cam_event_fn, events)
DEFINE_EACH(fake_ledger, cam_ledger_fn, ledger)
DEFINE_EACH(fake_anchors, cam_anchor_fn, anchors)
DEFINE_EACH(fake_facts, cam_fact_fn, facts)
DEFINE_EACH(fake_counters, cam_counter_fn, counters)

void fake_window_free(struct fake_window *f)
{
	if (!f)
		return;
	cam_tables_free(&f->t);
	free(f->samples);
	free(f->events);
	free(f->ledger);
	free(f->anchors);
	free(f->facts);
	free(f->counters);
	free(f);
}

static int fake_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	return cam_tables_lines(&fake_of(w)->t, fn, arg);
}

static void fake_close(struct cam_window *w)
{
	if (!fake_of(w)->keep_on_close)
		fake_window_free(fake_of(w));
}

static const struct cam_window_ops fake_ops = {
	.tables = fake_tables,
	.samples = fake_samples,
	.totals = fake_totals,
	.small_totals = fake_small_totals,
	.cells = fake_cells,
	.process_cells = fake_process_cells,
	.slots = fake_slots,
	.events = fake_events,
	.ledger = fake_ledger,
	.anchors = fake_anchors,
	.facts = fake_facts,
	.counters = fake_counters,
	.lines = fake_lines,
	.close = fake_close,
};

struct fake_window *fake_window_new(void)
{
	struct fake_window *f = rows(1, sizeof(*f));
	f->w.ops = &fake_ops;
	f->batch = 1000;
	f->w.info = (struct cam_window_info){
		.name = CAM_TEXT("fake.pcw"),
		.host = CAM_TEXT("testhost"),
		.clock = CAM_CLOCK_MONOTONIC,
		.realtime_ns = INT64_MIN,
		.time_unit_ns = 10000,
		.sealed = true,
		.clean_end = true,
	};
	must(cam_tables_init(&f->t, SIZE_MAX));
	fake_etype(f, "cpu-clock", CAM_NS_PER_SEC / 97, false);
	return f;
}

struct fake_source {
	struct cam_source s;
	struct fake_window **windows;
	size_t n;
};

static size_t source_count(struct cam_source *s)
{
	return ((struct fake_source *)s)->n;
}

static int source_info(struct cam_source *s, size_t i, const struct cam_window_info **out)
{
	struct fake_source *fs = (struct fake_source *)s;
	if (i >= fs->n)
		return -ENOENT;
	*out = &fs->windows[i]->w.info;
	return 0;
}

static int source_open(struct cam_source *s, size_t i, struct cam_window **out)
{
	struct fake_source *fs = (struct fake_source *)s;
	if (i >= fs->n)
		return -ENOENT;
	*out = &fs->windows[i]->w;
	return 0;
}

static void source_close(struct cam_source *s)
{
	struct fake_source *fs = (struct fake_source *)s;
	for (size_t i = 0; i < fs->n; i++)
		fake_window_free(fs->windows[i]);
	free(fs->windows);
	free(fs);
}

struct cam_source *fake_source_new(struct fake_window **windows, size_t n)
{
	static const struct cam_source_ops ops = {source_count, source_info, source_open,
						  source_close};
	struct fake_source *fs = rows(1, sizeof(*fs));
	fs->s.ops = &ops;
	fs->windows = rows(n + 1, sizeof(struct fake_window *));
	fs->n = n;
	for (size_t i = 0; i < n; i++) {
		fs->windows[i] = windows[i];
		windows[i]->keep_on_close = true;
		fake_window_ready(windows[i]);
	}
	return &fs->s;
}

static ssize_t memory_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	struct memory_file *m = (struct memory_file *)f;
	if (at >= m->n)
		return 0;
	if (n > m->n - at)
		n = m->n - at;
	memcpy(bytes, m->bytes + at, n);
	m->preads++;
	m->bytes_read += n;
	if (m->on_read)
		m->on_read(m->arg, at, n);
	return (ssize_t)n;
}

static int64_t memory_size(struct cam_file *f)
{
	return (int64_t)((struct memory_file *)f)->n;
}

static void memory_close(struct cam_file *f)
{
	(void)f;
}

void memory_file_init(struct memory_file *m, const void *bytes, size_t n)
{
	static const struct cam_io_ops ops = {
		.pread = memory_pread, .size = memory_size, .close = memory_close};
	*m = (struct memory_file){.file = {&ops}, .bytes = bytes, .n = n};
}
