// SPDX-License-Identifier: Apache-2.0
/*
 * In memory a sample is packed: what nearly all have in common, its kind (event, weight, text), is a number.
 *
 * Invariants
 *  1. Of n samples the first n_packed are in packs[], the others in the file, in the order in which they came: once one is
 *     in the file, so are all that follow.
 *  2. Kinds are few: with more than MAX_KINDS (tracepoints, each with its text) samples go to the file.
 */
#include "store/uncoded.h"

#include "base/vec.h"
#include "model/anchor.h"
#include "store/counters.h"
#include "store/io.h"
#include "store/journal_sums.h"

#define READ_SAMPLES 2048u
#define MAX_NOTES    (1u << 20)

struct notes {
	void *rows;
	size_t n, cap;
};

struct packed {
	uint64_t time_ns;
	uint32_t cpu, task, place, kind;
};

struct kind {
	uint64_t weight;
	uint32_t etype, detail;
};

#define PACK_SAMPLES 16384u
#define MAX_PACKS    (CAM_UNCODED_BYTES / (PACK_SAMPLES * sizeof(struct packed)))
#define MAX_KINDS    256u

struct cam_uncoded {
	struct cam_file *file;
	struct packed *packs[MAX_PACKS]; /* of PACK_SAMPLES each */
	uint64_t n_packed;
	struct kind kinds[MAX_KINDS];
	uint32_t n_kinds, last_kind;
	struct cam_tables tables;
	struct cam_window_info info;
	struct cam_str_id host;
	struct notes anchors, events, ledger, facts;
	struct cam_counters counters;
	uint64_t first_ns;
	uint32_t cpus;
};

struct reader {
	struct cam_window w;
	struct cam_uncoded *raw;
};

int cam_uncoded_new(const struct cam_window_head *head, struct cam_uncoded **out)
{
	struct cam_uncoded *raw = calloc(1, sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	int err = cam_file_temporary(&raw->file);
	if (err) {
		free(raw);
		return err;
	}
	raw->host = head->host;
	raw->first_ns = CAM_TIME_NONE;
	raw->info = (struct cam_window_info){
		.name = CAM_TEXT("(file)"),
		.boot_id = head->boot_id,
		.clock = head->clock,
		.realtime_ns = INT64_MIN,
		.time_unit_ns = head->time_unit_ns,
		.has_places = true,
		.imported = head->imported,
	};
	*out = raw;
	return 0;
}

void cam_uncoded_free(struct cam_uncoded *raw)
{
	if (!raw)
		return;
	raw->file->ops->close(raw->file);
	for (size_t i = 0; i < MAX_PACKS; i++)
		free(raw->packs[i]);
	cam_tables_free(&raw->tables);
	free(raw->anchors.rows);
	free(raw->events.rows);
	free(raw->ledger.rows);
	free(raw->facts.rows);
	cam_counters_free(&raw->counters);
	free(raw);
}

static int add_notes(struct notes *to, const void *rows, size_t n, size_t size)
{
	if (!n)
		return 0;
	int err = cam_vec_reserve(&to->rows, &to->cap, to->n + n, size, MAX_NOTES);
	if (err)
		return err;
	memcpy((char *)to->rows + to->n * size, rows, n * size);
	to->n += n;
	return 0;
}

/* MAX_KINDS: no more fit. */
static uint32_t kind_of(struct cam_uncoded *raw, const struct cam_sample *s)
{
	const struct kind *last = &raw->kinds[raw->last_kind];
	if (raw->n_kinds && last->weight == s->weight && last->etype == s->etype.v &&
	    last->detail == s->detail.v)
		return raw->last_kind;
	uint32_t i = 0;
	while (i < raw->n_kinds &&
	       (raw->kinds[i].weight != s->weight || raw->kinds[i].etype != s->etype.v ||
		raw->kinds[i].detail != s->detail.v))
		i++;
	if (i == MAX_KINDS)
		return i;
	if (i == raw->n_kinds)
		raw->kinds[raw->n_kinds++] = (struct kind){s->weight, s->etype.v, s->detail.v};
	return raw->last_kind = i;
}

/* False: this one and all that follow go to the file. */
static bool pack(struct cam_uncoded *raw, const struct cam_sample *s)
{
	uint64_t number = raw->n_packed / PACK_SAMPLES;
	uint32_t kind = kind_of(raw, s);
	if (number >= MAX_PACKS || kind == MAX_KINDS)
		return false;
	if (!raw->packs[number])
		raw->packs[number] = malloc(PACK_SAMPLES * sizeof(struct packed));
	if (!raw->packs[number])
		return false;
	raw->packs[number][raw->n_packed++ % PACK_SAMPLES] =
		(struct packed){s->time_ns, s->cpu, s->task.v, s->place.v, kind};
	return true;
}

static int keep_samples(struct cam_uncoded *raw, const struct cam_block *b)
{
	size_t n = 0;
	while (raw->info.samples + n == raw->n_packed && n < b->n_samples &&
	       pack(raw, &b->samples[n]))
		n++;
	if (n == b->n_samples)
		return 0;
	uint64_t in_file = raw->info.samples + n - raw->n_packed;
	return raw->file->ops->pwrite(raw->file, b->samples + n,
				      (b->n_samples - n) * sizeof(*b->samples),
				      in_file * sizeof(*b->samples));
}

int cam_uncoded_append(struct cam_uncoded *raw, const struct cam_block *b)
{
	int err = add_notes(&raw->anchors, b->anchors, b->n_anchors, sizeof(*b->anchors));
	if (!err)
		err = add_notes(&raw->events, b->events, b->n_events, sizeof(*b->events));
	if (!err)
		err = add_notes(&raw->ledger, b->ledger, b->n_ledger, sizeof(*b->ledger));
	if (!err)
		err = add_notes(&raw->facts, b->facts, b->n_facts, sizeof(*b->facts));
	for (size_t i = 0; i < b->n_counters && !err; i++)
		err = cam_counters_add(&raw->counters, &b->counters[i]);
	if (!err)
		err = keep_samples(raw, b);
	if (err)
		return err;
	for (size_t i = 0; i < b->n_samples; i++) {
		const struct cam_sample *s = &b->samples[i];
		if (s->time_ns < raw->first_ns)
			raw->first_ns = s->time_ns;
		if (s->cpu != CAM_CPU_NONE && s->cpu >= raw->cpus)
			raw->cpus = s->cpu + 1;
	}
	raw->info.samples += b->n_samples;
	return 0;
}

/* The wall time of the start, by the first anchor that knows one. */
static void place_in_time(struct cam_uncoded *raw)
{
	const struct cam_anchor *anchors = raw->anchors.rows;
	struct cam_window_info *info = &raw->info;
	for (size_t i = 0; i < raw->anchors.n; i++)
		if (cam_anchor_wall_of(&anchors[i], 1, info->start_ns, &info->realtime_ns,
				       &info->realtime_uncertainty_ns))
			return;
}

int cam_uncoded_end(struct cam_uncoded *raw, uint64_t end_ns)
{
	const struct cam_ledger_row *ledger = raw->ledger.rows;
	int err = cam_counters_sort(&raw->counters);
	if (err)
		return err;
	raw->info.clean_end = true;
	raw->info.cpus = raw->cpus;
	raw->info.events = (uint32_t)raw->events.n;
	raw->info.file_bytes = raw->info.samples * sizeof(struct cam_sample);
	for (size_t i = 0; i < raw->ledger.n; i++)
		raw->info.lost += cam_cause_is_loss(ledger[i].cause) ? ledger[i].samples : 0;
	if (raw->info.clock == CAM_CLOCK_ABSENT || raw->first_ns == CAM_TIME_NONE)
		return 0;
	raw->info.start_ns = raw->first_ns;
	raw->info.end_ns = end_ns;
	place_in_time(raw);
	return 0;
}

void cam_uncoded_keep(struct cam_uncoded *raw, struct cam_tables *t)
{
	cam_tables_free(&raw->tables);
	raw->tables = *t;
	*t = (struct cam_tables){.max_bytes = t->max_bytes};
	raw->info.host = cam_string(&raw->tables, raw->host);
}

const struct cam_window_info *cam_uncoded_info(const struct cam_uncoded *raw)
{
	return &raw->info;
}

static struct cam_uncoded *uncoded_of(struct cam_window *w)
{
	return ((struct reader *)w)->raw;
}

static int uncoded_tables(struct cam_window *w, const struct cam_tables **out)
{
	*out = &uncoded_of(w)->tables;
	return 0;
}

static struct cam_sample unpack(const struct cam_uncoded *raw, const struct packed *p)
{
	const struct kind *k = &raw->kinds[p->kind];
	return (struct cam_sample){.time_ns = p->time_ns,
				   .weight = k->weight,
				   .cpu = p->cpu,
				   .task = {p->task},
				   .place = {p->place},
				   .etype = {k->etype},
				   .detail = {k->detail}};
}

/* One piece of the samples, as columns. */
struct piece {
	struct cam_sample samples[READ_SAMPLES];
	uint64_t time[READ_SAMPLES], weight[READ_SAMPLES], leaf[READ_SAMPLES];
	uint32_t cpu[READ_SAMPLES], task[READ_SAMPLES], stack[READ_SAMPLES], place[READ_SAMPLES];
	uint32_t etype[READ_SAMPLES], detail[READ_SAMPLES], comm[READ_SAMPLES];
};

/* Of n samples, `packed` or else in p->samples. */
static int fill(struct cam_uncoded *raw, struct piece *p, const struct packed *packed, size_t n,
		struct cam_range range, unsigned columns, size_t *kept)
{
	struct cam_tables *t = &raw->tables;
	bool all = raw->info.clock == CAM_CLOCK_ABSENT;
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_sample s = packed ? unpack(raw, &packed[i]) : p->samples[i];
		if (!all && (s.time_ns < range.from_ns || s.time_ns >= range.to_ns))
			continue;
		if (columns & CAM_COL_STACK) {
			struct cam_stack_id stack;
			int err = cam_place_stack(t, s.place, &stack);
			if (err)
				return err;
			p->stack[k] = stack.v;
		}
		p->time[k] = s.time_ns;
		p->weight[k] = s.weight;
		if (columns & CAM_COL_LEAF)
			p->leaf[k] = cam_place_leaf_offset(t, s.place);
		p->cpu[k] = s.cpu;
		p->task[k] = s.task.v;
		p->place[k] = s.place.v;
		p->etype[k] = s.etype.v;
		p->detail[k] = s.detail.v;
		if (columns & CAM_COL_COMM)
			p->comm[k] = t->tasks[s.task.v].comm.v;
		k++;
	}
	*kept = k;
	return 0;
}

static struct cam_batch batch_of(const struct piece *p, size_t n, unsigned columns)
{
	return (struct cam_batch){
		.n = n,
		.time_ns = columns & CAM_COL_ANY_TIME ? p->time : NULL,
		.weight = columns & CAM_COL_WEIGHT ? p->weight : NULL,
		.leaf_offset = columns & CAM_COL_LEAF ? p->leaf : NULL,
		.cpu = columns & CAM_COL_CPU ? p->cpu : NULL,
		.task = columns & CAM_COL_TASK ? p->task : NULL,
		.stack = columns & CAM_COL_STACK ? p->stack : NULL,
		.place = columns & CAM_COL_PLACE ? p->place : NULL,
		.etype = columns & CAM_COL_ETYPE ? p->etype : NULL,
		.detail = columns & CAM_COL_DETAIL ? p->detail : NULL,
		.comm = columns & CAM_COL_COMM ? p->comm : NULL,
	};
}

/* n samples of the file. */
static int load(struct cam_uncoded *raw, uint64_t at, size_t n, struct cam_sample *to)
{
	size_t bytes = n * sizeof(*to);
	ssize_t got =
		raw->file->ops->pread(raw->file, to, bytes, (at - raw->n_packed) * sizeof(*to));
	return got < 0 ? (int)got : (size_t)got < bytes ? -EIO : 0;
}

static int uncoded_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			   cam_batch_fn *fn, void *arg)
{
	struct cam_uncoded *raw = uncoded_of(w);
	struct piece *p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	int err = 0;
	size_t n;
	for (uint64_t at = 0; at < raw->info.samples && !err; at += n) {
		uint64_t end = at < raw->n_packed ? raw->n_packed : raw->info.samples;
		const struct packed *packed = NULL;
		size_t kept = 0;
		n = end - at < READ_SAMPLES ? (size_t)(end - at) : READ_SAMPLES;
		if (at < raw->n_packed)
			packed = raw->packs[at / PACK_SAMPLES] + at % PACK_SAMPLES;
		else
			err = load(raw, at, n, p->samples);
		if (!err)
			err = fill(raw, p, packed, n, range, columns, &kept);
		struct cam_batch b = batch_of(p, kept, columns);
		if (!err && kept)
			err = fn(arg, &b);
	}
	free(p);
	return err;
}

static int uncoded_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	return cam_journal_sums_totals(w, fn, arg);
}

static int uncoded_small(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	return cam_journal_sums_small(w, &uncoded_of(w)->tables, fn, arg);
}

static int uncoded_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	return cam_journal_sums_cells(w, fn, arg);
}

static int uncoded_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	return cam_journal_sums_process_cells(w, fn, arg);
}

#define DEFINE_NOTES(fn_name, fn_type, row_type, member)                 \
	static int fn_name(struct cam_window *w, fn_type *fn, void *arg) \
	{                                                                \
		const struct notes *notes = &uncoded_of(w)->member;      \
		const row_type *rows = notes->rows;                      \
		int err = 0;                                             \
		for (size_t i = 0; i < notes->n && !err; i++)            \
			err = fn(arg, &rows[i]);                         \
		return err;                                              \
	}
DEFINE_NOTES(uncoded_events, cam_event_fn, struct cam_event, events)
DEFINE_NOTES(uncoded_ledger, cam_ledger_fn, struct cam_ledger_row, ledger)
DEFINE_NOTES(uncoded_anchors, cam_anchor_fn, struct cam_anchor, anchors)
DEFINE_NOTES(uncoded_facts, cam_fact_fn, struct cam_fact, facts)

static int uncoded_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	return cam_counters_give(&uncoded_of(w)->counters, fn, arg);
}

static int uncoded_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	const struct cam_tables *t;
	int err = uncoded_tables(w, &t);
	return err ? err : cam_tables_lines(t, fn, arg);
}

static void uncoded_close(struct cam_window *w)
{
	free(w);
}

static const struct cam_window_ops uncoded_ops = {
	.tables = uncoded_tables,
	.samples = uncoded_samples,
	.totals = uncoded_totals,
	.small_totals = uncoded_small,
	.cells = uncoded_cells,
	.process_cells = uncoded_process_cells,
	.events = uncoded_events,
	.ledger = uncoded_ledger,
	.anchors = uncoded_anchors,
	.facts = uncoded_facts,
	.counters = uncoded_counters,
	.lines = uncoded_lines,
	.close = uncoded_close,
};

int cam_uncoded_open(struct cam_uncoded *raw, struct cam_window **out)
{
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->w.ops = &uncoded_ops;
	r->w.info = raw->info;
	r->raw = raw;
	*out = &r->w;
	return 0;
}
