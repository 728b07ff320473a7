// SPDX-License-Identifier: Apache-2.0
/*
 * From a selection to a flame graph's tree.
 *
 * What: all samples that the selection takes, from however many windows, merged into one tree:
 * the root, below it one node a comm (or process, cgroup …: grouping.h), below that the stacks, root first. A node carries how much
 * was sampled in it (self) and in it or below (total).
 *
 * Why this way: the same stack is sampled over and over, so the work is done once a distinct
 * stack and not once a sample. Four steps for each window:
 *
 *	sum	samples that pass the row filters (time, CPU, task) are summed by (stack, comm,
 *		event type): sums.c. A window that is taken whole, and counted in samples, has
 *		these sums in its footer: then no sample column is read at all.
 *	judge	each sum is judged once: other event, not matching, idle, or taken. (Both: walk.c.)
 *	place	the sums taken are sorted by comm, and each finds its node in the tree: placing.c.
 *	add	the sum becomes the node's self.
 *
 * At the end totals are added up (a child comes after its parent, so one pass backwards does it),
 * children are put in order, and the nodes are written out depth first.
 *
 * Invariants:
 * 1. Names are what merges: two frames are one when label and kind are equal, in whatever module,
 *    window or address. Ids of windows never leave the window's step.
 * 2. A node's total is its self plus its children's totals; the root's total is the sum of all
 *    samples taken, in the unit of the view.
 * 3. The result depends on what was sampled, not on the order of windows, ids or hashes: the same
 *    samples give the same nodes in the same order.
 * 4. Memory is bounded by distinct stacks and names (max_bytes), never by samples.
 * 5. What is not shown is counted: samples = taken + idle + other events + not matching.
 *
 * Example. Two windows; the first saw nginx in main;read 3 times and in main once, the second
 * nginx in main;read once and cc1 in main 5 times:
 *
 *	depth first    self  total  end
 *	0 all             0     10    5
 *	1  cc1            0      5    3
 *	2   main          5      5    3
 *	3  nginx          0      5    6
 *	4   main          1      5    6
 *	5    read         4      4    6		(end of 0 is 6 as well)
 */
#include "query/flame.h"

#include "base/vec.h"
#include "query/landing.h"
#include "query/merge.h"
#include "query/placing.h"
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_MAX_BYTES (1ull << 30)
#define NULL_ID		  UINT32_MAX

/* The window being added. */
struct window_step {
	struct build *b;
	const struct cam_walk_window *x;
	struct cam_placing placing;
	uint32_t etype; /* of the sum before; NULL_ID: none */
	/* Where the first level is not the comm: sums until all are there and can be sorted by it. */
	struct waiting {
		struct cam_sum sum;
		uint32_t group;
		enum cam_verdict verdict;
	} * waiting;
	size_t n_waiting, cap_waiting;
	/* Of a chart: the nodes of (stack, comm, group) that have been placed. */
	struct known {
		uint32_t stack, comm, group, node;
	} * known;
	size_t n_known, cap_known;
	struct cam_index known_index;
};

struct build {
	const struct cam_flame_options *o;
	struct cam_merge merge;
	struct cam_str_id unit; /* in the merge's strings */
	bool cpu_clock;		/* a sample shown is of that event */
	bool has_unit, unit_is_ns, mixed_units;
	uint32_t windows;
	struct window_step step; /* the window being added */
};

/* The unit of what an event type counts, and whether all that are shown agree on it. */
static int note_unit(struct window_step *s, uint32_t etype)
{
	struct build *b = s->b;
	const struct cam_tables *t = s->x->tables;
	struct cam_text unit = CAM_TEXT("samples");
	if (etype < t->n_etypes && s->x->weighted && t->etypes[etype].has_weight &&
	    !s->x->walk->differential) {
		struct cam_text name = cam_walk_event_name(cam_string(t, t->etypes[etype].name));
		if (name.n)
			unit = name;
	}
	struct cam_str_id id;
	int err = cam_string_intern(&b->merge.t, unit, &id);
	if (err)
		return err;
	b->mixed_units |= b->has_unit && b->unit.v != id.v;
	b->has_unit = true;
	b->unit = id;
	b->unit_is_ns = cam_text_equal(unit, CAM_TEXT("cpu-clock")) ||
			cam_text_equal(unit, CAM_TEXT("task-clock"));
	return 0;
}

static int note_etype(struct window_step *s, uint32_t etype)
{
	const struct cam_tables *t = s->x->tables;
	if (etype < t->n_etypes)
		s->b->cpu_clock |= cam_landing_event(cam_string(t, t->etypes[etype].name));
	return note_unit(s, etype);
}

static void add_value(struct build *b, uint32_t node, uint64_t v, enum cam_verdict verdict)
{
	uint64_t *to = verdict == CAM_VERDICT_YES ? &b->merge.self[node] : &b->merge.before[node];
	*to = *to + v < v ? UINT64_MAX : *to + v;
}

/* Steps place and add, of one sum of a window. They come sorted by group and comm. */
static int place_sum(struct window_step *s, uint32_t group, const struct cam_sum *sum,
		     enum cam_verdict verdict)
{
	uint32_t node;
	int err = cam_placing_stack(&s->placing, group, sum->comm, sum->stack, &node);
	if (!err && sum->etype != s->etype)
		err = note_etype(s, s->etype = sum->etype);
	if (!err)
		add_value(s->b, node, s->x->weighted ? sum->weight : sum->samples, verdict);
	return err;
}

static int add_sum(void *self, struct cam_walk_window *x, const struct cam_sum *sum,
		   enum cam_verdict verdict)
{
	struct window_step *s = &((struct build *)self)->step;
	(void)x;
	if (s->b->o->by == CAM_BY_COMM)
		return place_sum(s, CAM_NO_GROUP, sum, verdict);
	int err = cam_vec_reserve(&s->waiting, &s->cap_waiting, s->n_waiting + 1,
				  sizeof(*s->waiting), 1u << 25);
	struct waiting w = {.sum = *sum, .verdict = verdict};
	if (!err)
		err = cam_placing_group(&s->placing, sum->extra, &w.group);
	if (!err)
		s->waiting[s->n_waiting++] = w;
	return err;
}

static int by_group(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->sum.comm != y->sum.comm)
		return x->sum.comm < y->sum.comm ? -1 : 1;
	if (x->sum.etype != y->sum.etype)
		return x->sum.etype < y->sum.etype ? -1 : 1;
	return (x->sum.stack > y->sum.stack) - (x->sum.stack < y->sum.stack);
}

static int place_waiting(struct window_step *s)
{
	int err = 0;
	if (s->n_waiting)
		qsort(s->waiting, s->n_waiting, sizeof(*s->waiting), by_group);
	for (size_t i = 0; i < s->n_waiting && !err; i++)
		err = place_sum(s, s->waiting[i].group, &s->waiting[i].sum, s->waiting[i].verdict);
	return err;
}

static bool same_known(const void *rows, uint32_t id, const void *key)
{
	const struct known *a = (const struct known *)rows + id, *b = key;
	return a->stack == b->stack && a->comm == b->comm && a->group == b->group;
}

/* As place_sum(), for samples in any order: the nodes found are kept. */
static int place_row(struct window_step *s, struct known k, uint32_t *node)
{
	uint64_t hash = cam_hash_u64((uint64_t)k.stack << 32 | k.comm, k.group);
	uint32_t at = cam_index_find(&s->known_index, hash, same_known, s->known, &k);
	if (at != CAM_INDEX_NONE) {
		*node = s->known[at].node;
		return 0;
	}
	int err = cam_index_reserve(&s->known_index);
	if (!err)
		err = cam_vec_reserve(&s->known, &s->cap_known, s->n_known + 1, sizeof(k),
				      CAM_MAX_ROWS);
	if (!err)
		err = cam_placing_stack(&s->placing, k.group, k.comm, k.stack, &k.node);
	if (err)
		return err;
	cam_index_add(&s->known_index, hash, (uint32_t)s->n_known);
	s->known[s->n_known++] = k;
	*node = k.node;
	return 0;
}

static uint32_t extra_of(enum cam_walk_extra extra, const struct cam_batch *b, size_t i)
{
	/* Columns that were asked for are there. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	return extra == CAM_WALK_BY_TASK ? b->task[i] : extra == CAM_WALK_BY_CPU ? b->cpu[i] : 0;
}

/* The same for a chart: each sample by itself. */
static int add_rows(void *self, struct cam_walk_window *x, const struct cam_walk_rows *rows)
{
	struct build *b = self;
	struct window_step *s = &b->step;
	const struct cam_batch *batch = rows->batch;
	enum cam_walk_extra extra = cam_grouping_extra(b->o->by);
	int err = 0;
	for (size_t k = 0; k < rows->n && !err; k++) {
		size_t i = rows->index[k];
		uint32_t etype = cam_walk_etype(batch, i);
		struct known key = {.stack = batch->stack[i], .comm = batch->comm[i]};
		struct cam_chart_row row = {
			.time_ns = batch->time_ns[i],
			.value = x->weighted ? cam_walk_weight(batch, i) : 1,
			.window = b->windows,
			.cpu = batch->cpu ? batch->cpu[i] : CAM_CPU_NONE,
			.wall_ns = cam_walk_wall(x, batch->time_ns[i]),
			.before = rows->verdict[k] == CAM_VERDICT_BEFORE,
		};
		err = cam_placing_group(&s->placing, extra_of(extra, batch, i), &key.group);
		if (!err && etype != s->etype)
			err = note_etype(s, s->etype = etype);
		if (!err)
			err = place_row(s, key, &row.node);
		if (!err)
			err = cam_chart_add(b->o->chart, row);
		if (!err)
			add_value(b, row.node, row.value, (enum cam_verdict)rows->verdict[k]);
	}
	return err;
}

static int open_window(void *self, struct cam_walk_window *x)
{
	struct build *b = self;
	b->step = (struct window_step){.b = b, .x = x, .etype = NULL_ID};
	cam_placing_open(&b->step.placing, &b->merge, x->tables, b->o->by, b->o->builds);
	return 0;
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	(void)x;
	struct build *b = self;
	struct window_step *s = &b->step;
	/* What was delivered before an error stays delivered. */
	int place_err = place_waiting(s);
	cam_placing_close(&s->placing);
	free(s->waiting);
	free(s->known);
	cam_index_free(&s->known_index);
	b->windows++;
	return err ? err : place_err;
}

static int finish_unit(struct build *b, struct cam_flame *out)
{
	struct cam_text unit = b->mixed_units ? CAM_TEXT("events")
			       : b->has_unit  ? cam_string(&b->merge.t, b->unit)
					      : CAM_TEXT("samples");
	char *copy = malloc(unit.n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, unit.p, unit.n);
	out->unit_text = copy;
	out->unit = (struct cam_text){copy, unit.n};
	out->unit_is_ns = b->unit_is_ns && !b->mixed_units;
	return 0;
}

const char *cam_view_note_words(unsigned i)
{
	static const char *const words[CAM_VIEW_NOTES] = {
		"cpu-clock cannot see time with interrupts off: it lands on the function that "
		"switches them on again",
	};
	return words[i];
}

/* Which frames time lands on that was spent elsewhere, and whether the view shows any. */
static void note_landings(struct cam_flame *f)
{
	for (size_t i = 0; i < f->n_frames; i++) {
		struct cam_flame_frame *frame = &f->frames[i];
		struct cam_text name = {f->text + frame->name_at, frame->name_n};
		frame->notes = (uint8_t)cam_landing_notes(frame->kind, name);
	}
	for (size_t i = 0; i < f->n_nodes; i++) {
		if (f->nodes[i].self)
			f->notes |= f->frames[f->nodes[i].frame].notes;
	}
}

int cam_flame_build(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_flame_options *o, struct cam_flame *out)
{
	struct build b = {.o = o};
	uint32_t *positions = NULL;
	enum cam_walk_extra extra = cam_grouping_extra(o->by);
	const struct cam_walk_view view = {
		.self = &b,
		.open = open_window,
		.sum = o->chart ? NULL : add_sum,
		.rows = o->chart ? add_rows : NULL,
		.columns = CAM_COL_TIME | CAM_COL_STACK | CAM_COL_COMM |
			   (extra == CAM_WALK_BY_TASK  ? CAM_COL_TASK
			    : extra == CAM_WALK_BY_CPU ? CAM_COL_CPU
						       : 0) |
			   (o->chart ? CAM_COL_CPU : 0),
		.wall = o->chart != NULL,
		.extra = extra,
		.close = close_window,
		.progress = o->progress,
		.weights = o->weight == CAM_WEIGHT_PERIOD,
		.no_tasks = extra != CAM_WALK_BY_TASK,
	};
	struct cam_walk walk = {0};
	*out = (struct cam_flame){0};
	int err = cam_merge_init(&b.merge, o->max_bytes ? o->max_bytes : DEFAULT_MAX_BYTES);
	if (!err)
		err = cam_walk(source, s, &view, &walk);
	if (!err)
		err = cam_walk_keep_seen(&walk, &out->seen, &out->strings);
	if (!err)
		err = finish_unit(&b, out);
	if (!err)
		err = cam_merge_finish(&b.merge, out, o->chart ? &positions : NULL);
	if (!err && o->chart)
		cam_chart_move(o->chart, positions);
	free(positions);
	if (!err && b.cpu_clock)
		note_landings(out);
	out->differential = walk.differential;
	cam_merge_free(&b.merge);
	cam_walk_free(&walk);
	if (err)
		cam_flame_free(out);
	return err;
}

void cam_flame_free(struct cam_flame *f)
{
	free(f->nodes);
	free(f->frames);
	free(f->modules);
	free(f->text);
	free(f->strings);
	free(f->unit_text);
	free(f->starts);
	*f = (struct cam_flame){0};
}
