// SPDX-License-Identifier: Apache-2.0
/*
 * A journal as a window of door D.
 *
 * Opening walks over all blocks once: it checks and interns everything, counts, and keeps of each
 * block where it is and when. Every question after that walks again over the blocks it needs, with
 * maps of its own: memory is bounded by the tables, not by samples, and calls may nest.
 *
 * Invariants
 *  1. Tables are complete when opening ends (but for [small]): later walks intern only what is there.
 *     So ids and strings stay where they are, also while a walk is under way.
 *  2. A later walk sees exactly the blocks that opening found good: those malformed inside are in no
 *     list, and their definitions were dropped from the maps in both.
 *  3. Epochs stand alone: a walk starts at the first block of an epoch and needs none before it.
 *
 * Example: epochs of blocks (1 2 3) and (4 5), a range that touches only block 2. The walk decodes
 * the definitions of 1, definitions and samples of 2, and ends.
 */
#include "base/units.h"
#include "base/vec.h"
#include "store/counters.h"
#include "store/journal.h"
#include "store/journal_decode.h"
#include "store/journal_scan.h"
#include "store/journal_sums.h"
#include "store/journal_whole.h"

#include <zstd.h>

#define MAX_BLOCKS (1u << 24)
#define MAX_GAPS   4096u
#define ROWS	   1024u

/* Of a block: which rows it has, and what became of it. */
enum {
	HAS_ANCHORS = 1,
	HAS_EVENTS = 2,
	HAS_LEDGER = 4,
	HAS_FACTS = 8,
	HAS_UNTIMED = 16,   /* samples without a time */
	AFTER_GAP = 32,	    /* blocks are missing before it */
	GONE = 64,	    /* bad, since the journal was opened */
	GONE_SAMPLES = 128, /* and its samples were asked for */
	HAS_COUNTERS = 256,
};

struct entry {
	uint64_t at;
	uint64_t epoch;
	uint64_t from_ns, to_ns; /* of its samples' times; from > to: none has one */
	uint32_t samples;
	uint32_t event_strings; /* the local id that events' code 0 means first */
	uint16_t has;
};

struct journal {
	struct cam_window w;
	struct cam_file *file;
	struct cam_tables tables;
	uint32_t *whole; /* place → with what was inlined; NULL: the same (journal_whole.h) */
	ZSTD_DCtx *zstd;
	uint64_t size;
	uint32_t seed;
	struct entry *blocks;
	size_t n_blocks, cap_blocks;
	/* What is missing in the middle, as rows of the ledger. */
	struct cam_ledger_row *gaps;
	size_t n_gaps, cap_gaps;
	uint64_t torn_bytes;
	uint64_t anchor_distance; /* of the anchor that realtime comes from */
	char *host;
};

/* One walk over the blocks. */
struct walk {
	struct cam_journal_scan scan;
	struct cam_journal_decode decode;
	struct cam_journal_view view;
	bool gap; /* the block before could not be read, this time */
};

static struct journal *journal_of(struct cam_window *w)
{
	return (struct journal *)w;
}

static int walk_begin(struct journal *j, struct walk **out)
{
	struct walk *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->scan = (struct cam_journal_scan){
		.file = j->file,
		.size = j->size,
		.seed = j->seed,
		.block = CAM_BUF(CAM_JOURNAL_HEAD + CAM_JOURNAL_MAX_BYTES),
	};
	cam_journal_decode_init(&k->decode, &j->tables, j->zstd);
	*out = k;
	return 0;
}

static void walk_end(struct walk *k)
{
	if (!k)
		return;
	cam_journal_scan_close(&k->scan);
	cam_journal_decode_free(&k->decode);
	free(k);
}

/* A block that was good when the journal was opened, and no longer is: counted once. */
static void note_gone(struct journal *j, struct entry *e, bool samples)
{
	if (!(e->has & GONE))
		j->w.damage.chunks++;
	if (samples && !(e->has & GONE_SAMPLES))
		j->w.damage.samples += e->samples;
	e->has |= (uint16_t)(samples ? GONE | GONE_SAMPLES : GONE);
}

/* 1: the block's rows can be taken from k->view; 0: it has gone bad since; or an error. */
static int walk_to(struct walk *k, const struct entry *e)
{
	struct cam_journal_head head;
	const uint8_t *payload;
	int got = cam_journal_scan_read(&k->scan, e->at, &head, &payload);
	if (got < 0)
		return got;
	int err = got ? cam_journal_decode_block(&k->decode, &head, payload,
						 k->gap || e->has & AFTER_GAP, &k->view)
		      : -EBADMSG;
	k->gap = err == -EBADMSG;
	return k->gap ? 0 : err ? err : 1;
}

/* Opening. */

/* What opening knows between two blocks. */
struct opening {
	struct walk *walk;
	uint64_t samples_due; /* what the next block should say were before it */
	uint64_t last_ns;     /* the latest time so far */
	uint64_t missing;     /* blocks since the last good one */
	bool ended;
	uint64_t end_ns;
	struct cam_sample rows[ROWS];
};

/* What a block adds, once all of it turned out good. */
struct found {
	struct entry entry;
	uint64_t lost_stacks, lost_samples;
	uint64_t last_ns;
	uint64_t cpus;
	uint32_t events;
};

static void see_time(struct found *f, uint64_t t)
{
	if (t != CAM_TIME_NONE && t > f->last_ns)
		f->last_ns = t;
}

static void see_sample(struct found *f, const struct cam_sample *s)
{
	struct entry *e = &f->entry;
	e->samples++;
	if (s->cpu != CAM_CPU_NONE && s->cpu >= f->cpus)
		f->cpus = (uint64_t)s->cpu + 1;
	if (s->time_ns == CAM_TIME_NONE) {
		e->has |= HAS_UNTIMED;
		return;
	}
	if (s->time_ns < e->from_ns)
		e->from_ns = s->time_ns;
	if (s->time_ns > e->to_ns)
		e->to_ns = s->time_ns;
	see_time(f, s->time_ns + 1);
}

static int find_samples(struct opening *o, struct found *f)
{
	struct walk *k = o->walk;
	for (;;) {
		ssize_t n = cam_journal_decode_samples(&k->decode, &k->view, o->rows, ROWS,
						       &f->lost_stacks);
		if (n <= 0)
			return (int)n;
		for (ssize_t i = 0; i < n; i++)
			see_sample(f, &o->rows[i]);
	}
}

/* lived: an anchor shows that the recorder was there; that of a file that was imported may stand
 * anywhere, at the end of the whole recording too. */
static int find_others(struct walk *k, struct found *f, bool lived)
{
	struct cam_journal_view *v = &k->view;
	struct cam_event event;
	struct cam_fact fact;
	struct cam_anchor anchor;
	struct cam_ledger_row row;
	struct cam_counter counter;
	int got;
	f->entry.has |= (uint16_t)((v->left[CAM_JN_ANCHOR] ? HAS_ANCHORS : 0) |
				   (v->left[CAM_JN_EVENT] ? HAS_EVENTS : 0) |
				   (v->left[CAM_JN_LEDGER] ? HAS_LEDGER : 0) |
				   (v->left[CAM_JN_FACT] ? HAS_FACTS : 0) |
				   (v->counters.rows ? HAS_COUNTERS : 0));
	f->entry.event_strings = v->next[CAM_JT_STRING];
	while ((got = cam_journal_decode_event(&k->decode, v, &event)) > 0)
		f->events++;
	if (got == 0)
		while ((got = cam_journal_decode_fact(&k->decode, v, &fact)) > 0)
			;
	if (got == 0)
		while ((got = cam_journal_decode_anchor(v, &anchor)) > 0)
			see_time(f, lived ? anchor.time_ns : CAM_TIME_NONE);
	if (got == 0)
		while ((got = cam_journal_decode_ledger(v, &row)) > 0) {
			see_time(f, row.to_ns);
			f->lost_samples += cam_cause_is_loss(row.cause) ? row.samples : 0;
		}
	if (got == 0)
		while ((got = cam_journal_get_counter(&v->counters, &counter)) > 0)
			see_time(f, counter.time_ns);
	return got;
}

/* The hole before a good block, in the ledger and in the damage. */
static int note_gap(struct journal *j, struct opening *o, uint64_t samples_before, uint64_t to_ns)
{
	uint64_t most = o->missing * CAM_JOURNAL_MAX_BYTES, lost = 0;
	if (samples_before > o->samples_due)
		lost = samples_before - o->samples_due;
	struct cam_ledger_row row = {
		.cause = CAM_CAUSE_DAMAGED,
		.cpu = CAM_CPU_NONE,
		.from_ns = o->last_ns,
		.to_ns = to_ns > o->last_ns && to_ns != UINT64_MAX ? to_ns : o->last_ns,
		/* A sample takes a byte at least: more cannot have been there. */
		.samples = lost < most ? lost : most,
	};
	j->w.damage.chunks += o->missing;
	j->w.damage.samples += row.samples;
	j->w.info.lost += row.samples;
	o->missing = 0;
	if (j->n_gaps == MAX_GAPS) {
		j->gaps[j->n_gaps - 1].to_ns = row.to_ns;
		j->gaps[j->n_gaps - 1].samples += row.samples;
		return 0;
	}
	int err = cam_vec_reserve(&j->gaps, &j->cap_gaps, j->n_gaps + 1, sizeof(row), MAX_GAPS);
	if (!err)
		j->gaps[j->n_gaps++] = row;
	return err;
}

static int keep_block(struct journal *j, struct opening *o, const struct found *f)
{
	uint64_t before = o->walk->view.samples_before;
	int err = o->missing ? note_gap(j, o, before, f->entry.from_ns) : 0;
	if (!err)
		err = cam_vec_reserve(&j->blocks, &j->cap_blocks, j->n_blocks + 1,
				      sizeof(*j->blocks), MAX_BLOCKS);
	if (err)
		return err;
	j->blocks[j->n_blocks++] = f->entry;
	j->w.info.samples += f->entry.samples;
	j->w.info.events += f->events;
	j->w.info.lost += f->lost_samples;
	j->w.damage.stacks += f->lost_stacks;
	if (f->cpus > j->w.info.cpus)
		j->w.info.cpus = (uint32_t)f->cpus;
	if (f->entry.from_ns < j->w.info.start_ns)
		j->w.info.start_ns = f->entry.from_ns;
	if (f->last_ns > o->last_ns)
		o->last_ns = f->last_ns;
	o->samples_due = before + f->entry.samples;
	return 0;
}

static int take_data(struct journal *j, struct opening *o, const struct cam_journal_span *span)
{
	struct walk *k = o->walk;
	struct found f = {.entry = {.at = span->at, .from_ns = UINT64_MAX}};
	if (o->missing)
		f.entry.has = AFTER_GAP;
	int err = cam_journal_decode_block(&k->decode, &span->head, span->payload, o->missing,
					   &k->view);
	f.entry.epoch = k->view.epoch;
	if (!err)
		err = find_samples(o, &f);
	if (!err)
		err = find_others(k, &f, !j->w.info.imported);
	if (err == -EBADMSG) {
		/* The crc is right, the content is not: a bad block like any other. */
		cam_journal_decode_drop(&k->decode);
		o->missing++;
		j->w.damage.bytes += CAM_JOURNAL_HEAD + (uint64_t)span->head.bytes;
		return 0;
	}
	return err ? err : keep_block(j, o, &f);
}

static int take_end(struct journal *j, struct opening *o, const struct cam_journal_span *span)
{
	struct cam_rd r = cam_rd_make(span->payload, span->head.bytes);
	uint64_t end_ns = cam_rd_u64(&r), samples = cam_rd_u64(&r);
	if (r.error || span->head.flags)
		return 0;
	o->ended = true;
	o->end_ns = end_ns;
	return o->missing ? note_gap(j, o, samples, end_ns) : 0;
}

static int walk_all(struct journal *j, struct opening *o)
{
	struct cam_journal_scan *scan = &o->walk->scan;
	struct cam_journal_span span;
	int got = 0, err = 0;
	while (!err && !o->ended && (got = cam_journal_scan_next(scan, &span)) > 0) {
		o->missing += span.missing;
		j->w.damage.bytes += span.skipped;
		/* Bytes where no block is missing: somebody put them there. */
		j->w.damage.chunks += span.skipped && !span.missing;
		err = span.head.type == CAM_JOURNAL_END ? take_end(j, o, &span)
							: take_data(j, o, &span);
	}
	if (!err && got < 0)
		err = got;
	j->torn_bytes = scan->size - scan->good_end;
	/* Malformed blocks with nothing good behind them are damage, though no gap. */
	j->w.damage.chunks += o->missing;
	return err;
}

/* All stacks, so that the tables are complete. */
static int make_stacks(struct cam_tables *t)
{
	int err = 0;
	for (size_t i = 0; i < t->places.n && !err; i++) {
		struct cam_stack_id stack;
		err = cam_place_stack(t, (struct cam_place_id){(uint32_t)i}, &stack);
	}
	return err;
}

/* Where there is no room for it: better without addresses than not at all. */
static int make_whole(struct journal *j)
{
	int err = j->w.info.has_places ? cam_journal_whole(&j->tables, &j->whole) : 0;
	if (err == -E2BIG)
		j->w.info.has_places = false;
	return err == -E2BIG ? 0 : err;
}

static int nearest_anchor(void *arg, const struct cam_anchor *a)
{
	struct journal *j = arg;
	struct cam_window_info *info = &j->w.info;
	int64_t off = (int64_t)(info->start_ns - a->time_ns);
	uint64_t distance = off < 0 ? -(uint64_t)off : (uint64_t)off;
	if (a->realtime_ns == INT64_MIN || a->time_ns == CAM_TIME_NONE ||
	    distance >= j->anchor_distance)
		return 0;
	j->anchor_distance = distance;
	info->realtime_ns = cam_time_add(a->realtime_ns, (__int128)info->start_ns - a->time_ns);
	info->realtime_uncertainty_ns = a->uncertainty_ns;
	return 0;
}

static int journal_anchors(struct cam_window *w, cam_anchor_fn *fn, void *arg);

static int finish_info(struct journal *j, const struct opening *o)
{
	struct cam_window_info *info = &j->w.info;
	bool absent = info->clock == CAM_CLOCK_ABSENT || info->start_ns == CAM_TIME_NONE;
	info->clean_end = o->ended;
	info->file_bytes = j->size;
	info->realtime_ns = INT64_MIN;
	if (absent)
		info->start_ns = 0;
	info->end_ns = o->last_ns;
	if (o->ended && o->end_ns != CAM_TIME_NONE)
		info->end_ns = o->end_ns;
	if (info->end_ns < info->start_ns)
		info->end_ns = info->start_ns;
	j->anchor_distance = UINT64_MAX;
	/* Of a window without times an anchor at 0 is when it was taken, as somebody said. */
	return journal_anchors(&j->w, nearest_anchor, j);
}

static int open_walk(struct journal *j)
{
	struct opening *o = calloc(1, sizeof(*o));
	int err = o ? walk_begin(j, &o->walk) : -ENOMEM;
	if (!err)
		err = cam_journal_scan_open(&o->walk->scan, j->file);
	if (!err) {
		const struct cam_journal_scan *s = &o->walk->scan;
		j->size = s->size;
		j->seed = s->seed;
		err = cam_journal_parse_header(s->block.data + CAM_JOURNAL_HEAD,
					       s->good_end - CAM_JOURNAL_HEAD, &j->w.info,
					       &j->host);
	}
	if (!err)
		err = walk_all(j, o);
	if (!err)
		err = make_stacks(&j->tables);
	if (!err)
		err = make_whole(j);
	if (!err)
		err = finish_info(j, o);
	if (o)
		walk_end(o->walk);
	free(o);
	return err;
}

/* Questions. */

static int journal_tables(struct cam_window *w, const struct cam_tables **out)
{
	*out = &journal_of(w)->tables;
	return 0;
}

/* The columns of a batch, as far as they were asked for. */
struct columns {
	size_t n;
	uint64_t time_ns[ROWS], weight[ROWS], leaf[ROWS];
	uint32_t cpu[ROWS], task[ROWS], stack[ROWS], place[ROWS], etype[ROWS], detail[ROWS],
		comm[ROWS];
	struct cam_sample rows[ROWS];
};

static bool in_range(const struct cam_sample *s, struct cam_range r)
{
	/* Without a time it is in no range but the one that ends nowhere. */
	if (s->time_ns == CAM_TIME_NONE)
		return r.to_ns == UINT64_MAX;
	return s->time_ns >= r.from_ns && s->time_ns < r.to_ns;
}

static int fill(struct journal *j, struct columns *c, size_t n, struct cam_range range,
		unsigned columns)
{
	struct cam_tables *t = &j->tables;
	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cam_sample *s = &c->rows[i];
		struct cam_stack_id stack = {0};
		if (!in_range(s, range))
			continue;
		int err = columns & CAM_COL_STACK ? cam_place_stack(t, s->place, &stack) : 0;
		if (err)
			return err;
		c->time_ns[c->n] = s->time_ns;
		c->weight[c->n] = s->weight;
		c->leaf[c->n] = columns & CAM_COL_LEAF ? cam_place_leaf_offset(t, s->place) : 0;
		c->cpu[c->n] = s->cpu;
		c->task[c->n] = s->task.v;
		c->stack[c->n] = stack.v;
		c->place[c->n] = !j->w.info.has_places ? 0
				 : j->whole	       ? j->whole[s->place.v]
						       : s->place.v;
		c->etype[c->n] = s->etype.v;
		c->detail[c->n] = s->detail.v;
		c->comm[c->n] = t->tasks[s->task.v].comm.v;
		c->n++;
	}
	return 0;
}

static int give(const struct columns *c, unsigned columns, cam_batch_fn *fn, void *arg)
{
	struct cam_batch b = {
		.n = c->n,
		.time_ns = columns & CAM_COL_ANY_TIME ? c->time_ns : NULL,
		.weight = columns & CAM_COL_WEIGHT ? c->weight : NULL,
		.leaf_offset = columns & CAM_COL_LEAF ? c->leaf : NULL,
		.cpu = columns & CAM_COL_CPU ? c->cpu : NULL,
		.task = columns & CAM_COL_TASK ? c->task : NULL,
		.stack = columns & CAM_COL_STACK ? c->stack : NULL,
		.place = columns & CAM_COL_PLACE ? c->place : NULL,
		.etype = columns & CAM_COL_ETYPE ? c->etype : NULL,
		.detail = columns & CAM_COL_DETAIL ? c->detail : NULL,
		.comm = columns & CAM_COL_COMM ? c->comm : NULL,
	};
	return c->n ? fn(arg, &b) : 0;
}

/* What a walk is for: rows of a kind (HAS_…), or 0: samples in a range. */
struct need {
	uint16_t has;
	struct cam_range range;
};

static bool is_needed(const struct entry *e, const struct need *need)
{
	const struct cam_range *r = &need->range;
	if (need->has)
		return e->has & need->has;
	if (e->has & HAS_UNTIMED && r->to_ns == UINT64_MAX)
		return true;
	return e->from_ns <= e->to_ns && e->from_ns < r->to_ns && e->to_ns >= r->from_ns;
}

/* From block i to the end of its epoch: behind the last block that is needed. */
static size_t needed_to(const struct journal *j, size_t i, const struct need *need, size_t *end)
{
	uint64_t epoch = j->blocks[i].epoch;
	size_t needed = i;
	for (; i < j->n_blocks && j->blocks[i].epoch == epoch; i++) {
		if (is_needed(&j->blocks[i], need))
			needed = i + 1;
	}
	*end = i;
	return needed;
}

typedef int visit_fn(struct journal *j, struct walk *k, const struct entry *e, void *arg);

/* Visits the blocks that are needed, with what their epochs defined up to them in the maps. */
static int walk_epochs(struct journal *j, const struct need *need, visit_fn *visit, void *arg)
{
	struct walk *k = NULL;
	int err = walk_begin(j, &k);
	for (size_t i = 0, end; i < j->n_blocks && !err; i = end) {
		size_t to = needed_to(j, i, need, &end);
		for (; i < to && !err; i++) {
			int got = walk_to(k, &j->blocks[i]);
			if (got < 0)
				err = got;
			else if (got == 0)
				note_gone(j, &j->blocks[i], need->has == 0);
			else if (is_needed(&j->blocks[i], need))
				err = visit(j, k, &j->blocks[i], arg);
		}
	}
	walk_end(k);
	return err;
}

/* The same for rows that refer to nothing: no definition is needed, so no other block is. */
static int walk_plain(struct journal *j, uint16_t has, visit_fn *visit, void *arg)
{
	struct walk *k = NULL;
	int err = walk_begin(j, &k);
	for (size_t i = 0; i < j->n_blocks && !err; i++) {
		struct cam_journal_head head;
		const uint8_t *payload;
		if (!(j->blocks[i].has & has))
			continue;
		int got = cam_journal_scan_read(&k->scan, j->blocks[i].at, &head, &payload);
		err = got < 0	 ? got
		      : got == 0 ? -EBADMSG
				 : cam_journal_decode_view(&k->decode, &head, payload, &k->view);
		if (!err) {
			err = visit(j, k, &j->blocks[i], arg);
		} else if (err == -EBADMSG) {
			note_gone(j, &j->blocks[i], false);
			err = 0;
		}
	}
	walk_end(k);
	return err;
}

struct ask_samples {
	struct cam_range range;
	unsigned columns;
	cam_batch_fn *fn;
	void *arg;
	struct columns c;
};

static int give_samples(struct journal *j, struct walk *k, const struct entry *e, void *arg)
{
	struct ask_samples *a = arg;
	uint64_t lost = 0; /* counted when the journal was opened */
	(void)e;
	for (;;) {
		ssize_t n =
			cam_journal_decode_samples(&k->decode, &k->view, a->c.rows, ROWS, &lost);
		if (n <= 0)
			return (int)n;
		int err = fill(j, &a->c, (size_t)n, a->range, a->columns);
		if (!err)
			err = give(&a->c, a->columns, a->fn, a->arg);
		if (err)
			return err;
	}
}

static int journal_samples(struct cam_window *w, struct cam_range range, unsigned columns,
			   cam_batch_fn *fn, void *arg)
{
	struct ask_samples *a = malloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->range = range;
	a->columns = columns;
	a->fn = fn;
	a->arg = arg;
	int err = walk_epochs(journal_of(w), &(struct need){.range = range}, give_samples, a);
	free(a);
	return err;
}

/* Of the functions, the one that is set is asked for. */
struct ask_rows {
	cam_event_fn *event;
	cam_fact_fn *fact;
	cam_anchor_fn *anchor;
	cam_ledger_fn *ledger;
	cam_counter_fn *counter;
	void *arg;
};

static int give_events(struct walk *k, const struct ask_rows *a)
{
	struct cam_event event;
	int got, err = 0;
	while (!err && (got = cam_journal_decode_event(&k->decode, &k->view, &event)) != 0)
		err = got < 0 ? got : a->event ? a->event(a->arg, &event) : 0;
	return err;
}

static int give_rows(struct journal *j, struct walk *k, const struct entry *e, void *arg)
{
	const struct ask_rows *a = arg;
	struct cam_fact fact;
	struct cam_anchor anchor;
	struct cam_ledger_row row;
	struct cam_counter counter;
	int got, err = 0;
	(void)j;
	k->view.next[CAM_JT_STRING] = e->event_strings;
	/* Facts name their strings after the events, so these come first in any case. */
	if (a->event || a->fact)
		err = give_events(k, a);
	while (a->fact && !err && (got = cam_journal_decode_fact(&k->decode, &k->view, &fact)) != 0)
		err = got < 0 ? got : a->fact(a->arg, &fact);
	while (a->anchor && !err && (got = cam_journal_decode_anchor(&k->view, &anchor)) != 0)
		err = got < 0 ? got : a->anchor(a->arg, &anchor);
	while (a->ledger && !err && (got = cam_journal_decode_ledger(&k->view, &row)) != 0)
		err = got < 0 ? got : a->ledger(a->arg, &row);
	while (a->counter && !err &&
	       (got = cam_journal_get_counter(&k->view.counters, &counter)) != 0)
		err = got < 0 ? got : a->counter(a->arg, &counter);
	return err;
}

static int journal_events(struct cam_window *w, cam_event_fn *fn, void *arg)
{
	struct ask_rows a = {.event = fn, .arg = arg};
	return walk_epochs(journal_of(w), &(struct need){.has = HAS_EVENTS}, give_rows, &a);
}

static int journal_facts(struct cam_window *w, cam_fact_fn *fn, void *arg)
{
	struct ask_rows a = {.fact = fn, .arg = arg};
	return walk_epochs(journal_of(w), &(struct need){.has = HAS_FACTS}, give_rows, &a);
}

static int journal_anchors(struct cam_window *w, cam_anchor_fn *fn, void *arg)
{
	struct ask_rows a = {.anchor = fn, .arg = arg};
	return walk_plain(journal_of(w), HAS_ANCHORS, give_rows, &a);
}

static int journal_ledger(struct cam_window *w, cam_ledger_fn *fn, void *arg)
{
	struct journal *j = journal_of(w);
	struct ask_rows a = {.ledger = fn, .arg = arg};
	int err = walk_plain(j, HAS_LEDGER, give_rows, &a);
	for (size_t i = 0; i < j->n_gaps && !err; i++)
		err = fn(arg, &j->gaps[i]);
	return err;
}

static int journal_counters(struct cam_window *w, cam_counter_fn *fn, void *arg)
{
	struct cam_counters list = {0};
	struct ask_rows a = {.counter = cam_counters_add, .arg = &list};
	int err = walk_plain(journal_of(w), HAS_COUNTERS, give_rows, &a);
	if (!err)
		err = cam_counters_sort(&list);
	if (!err)
		err = cam_counters_give(&list, fn, arg);
	cam_counters_free(&list);
	return err;
}

static int journal_lines(struct cam_window *w, cam_line_fn *fn, void *arg)
{
	return cam_tables_lines(&journal_of(w)->tables, fn, arg);
}

static int journal_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	return cam_journal_sums_totals(w, fn, arg);
}

static int journal_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg)
{
	return cam_journal_sums_small(w, &journal_of(w)->tables, fn, arg);
}

static int journal_cells(struct cam_window *w, cam_cell_fn *fn, void *arg)
{
	return cam_journal_sums_cells(w, fn, arg);
}

static int journal_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg)
{
	return cam_journal_sums_process_cells(w, fn, arg);
}

static void journal_close(struct cam_window *w)
{
	struct journal *j = journal_of(w);
	j->file->ops->close(j->file);
	cam_tables_free(&j->tables);
	ZSTD_freeDCtx(j->zstd);
	free(j->blocks);
	free(j->gaps);
	free(j->whole);
	free(j->host);
	free(j);
}

static const struct cam_window_ops journal_ops = {
	.tables = journal_tables,
	.samples = journal_samples,
	.totals = journal_totals,
	.small_totals = journal_small_totals,
	.cells = journal_cells,
	.process_cells = journal_process_cells,
	.events = journal_events,
	.ledger = journal_ledger,
	.anchors = journal_anchors,
	.facts = journal_facts,
	.counters = journal_counters,
	.lines = journal_lines,
	.close = journal_close,
};

int cam_journal_open(struct cam_file *file, size_t max_table_bytes, struct cam_window **out)
{
	struct journal *j = calloc(1, sizeof(*j));
	if (!j) {
		file->ops->close(file);
		return -ENOMEM;
	}
	j->w.ops = &journal_ops;
	j->w.info.name = j->w.info.host = CAM_TEXT("");
	j->file = file;
	j->zstd = ZSTD_createDCtx();
	int err = j->zstd ? cam_tables_init(&j->tables, max_table_bytes) : -ENOMEM;
	if (!err)
		err = open_walk(j);
	if (err) {
		journal_close(&j->w);
		return err;
	}
	*out = &j->w;
	return 0;
}

uint64_t cam_journal_torn_bytes(const struct cam_window *w)
{
	return ((const struct journal *)w)->torn_bytes;
}
