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
 *	place	the sums taken are sorted by comm, so that a map from the window's stacks to the
 *		tree's nodes serves one comm after the other: a stack is walked upwards only as
 *		far as this comm has not been before.
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
#include "query/package.h"
#include "query/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_MAX_BYTES (1ull << 30)
#define NULL_ID		  UINT32_MAX
#define SEVERAL_IDS	  (UINT32_MAX - 1) /* of a function that is several frames */

/* The window being added. */
struct window_step {
	struct build *b;
	const struct cam_walk_window *x;
	/* From the window's ids to the merged ones; NULL_ID: not yet asked. */
	uint32_t *frame_of, *module_of;
	size_t n_frame_of, n_module_of;
	/* From the window's stacks to the tree's nodes, good for one comm: stamp tells which. */
	struct placed {
		uint32_t node, stamp;
	} * placed;
	size_t n_placed;
	uint32_t stamp, comm_node;
	uint32_t group, comm, etype; /* of the sum before; NULL_ID: none */
	/* Where the first level is not the comm: its frame by task or CPU, and the sums until all are
	 * there and can be sorted by it. */
	struct cam_grouping grouping;
	uint32_t *group_of;
	size_t n_group_of;
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

static enum cam_frame_kind kind_of(enum cam_func_kind kind)
{
	switch (kind) {
	case CAM_FUNC_KERNEL:
		return CAM_FRAME_KERNEL;
	case CAM_FUNC_JIT:
		return CAM_FRAME_JIT;
	case CAM_FUNC_INLINED:
		return CAM_FRAME_INLINED;
	case CAM_FUNC_MARK:
		return CAM_FRAME_MARK;
	case CAM_FUNC_USER:
	case CAM_FUNC_KIND_MAX:
		break;
	}
	return CAM_FRAME_USER;
}

static int grow_ids(uint32_t **v, size_t *n, size_t want)
{
	if (want <= *n)
		return 0;
	uint32_t *grown = reallocarray(*v, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + *n, 0xff, (want - *n) * sizeof(*grown));
	*v = grown;
	*n = want;
	return 0;
}

/* Its path; where builds are told apart with the first bytes of the build-id, as tools show them. */
static struct cam_text module_label(const struct build *b, const struct cam_tables *t,
				    const struct cam_module *m, char *room, size_t room_bytes)
{
	struct cam_text path = cam_string(t, m->path), id = cam_string(t, m->build_id);
	if (!b->o->builds || !id.n || path.n + 32 > room_bytes)
		return path;
	memcpy(room, path.p, path.n);
	size_t n = path.n + (size_t)snprintf(room + path.n, room_bytes - path.n, " ");
	for (size_t i = 0; i < id.n && i < 8; i++)
		n += (size_t)snprintf(room + n, room_bytes - n, "%02x", (unsigned char)id.p[i]);
	return (struct cam_text){room, n};
}

static int module_id(struct window_step *s, uint32_t module, uint32_t *out)
{
	const struct cam_tables *t = s->x->tables;
	*out = 0;
	if (module >= t->n_modules)
		return 0;
	char room[512];
	int err = grow_ids(&s->module_of, &s->n_module_of, t->n_modules);
	if (!err && s->module_of[module] == NULL_ID)
		err = cam_merge_module(&s->b->merge,
				       module_label(s->b, t, &t->modules[module], room,
						    sizeof(room)),
				       &s->module_of[module]);
	if (!err)
		*out = s->module_of[module];
	return err;
}

/* "a->b->c": how JVM agents name code into which other methods were inlined. */
static const char *find_arrow(struct cam_text label)
{
	const char *arrow = label.n > 2 ? memmem(label.p + 1, label.n - 1, "->", 2) : NULL;
	return arrow && arrow + 2 < label.p + label.n ? arrow : NULL;
}

/* One step down for each of them, those behind an arrow as inlined. */
static int place_several(struct window_step *s, struct cam_text label, uint32_t *node)
{
	enum cam_frame_kind kind = CAM_FRAME_JIT;
	char tidy[512];
	int err = 0;
	while (label.n && !err) {
		const char *arrow = find_arrow(label);
		struct cam_text part = {label.p, arrow ? (size_t)(arrow - label.p) : label.n};
		uint32_t frame;
		label = arrow ? (struct cam_text){arrow + 2, label.n - part.n - 2}
			      : (struct cam_text){label.p, 0};
		err = cam_merge_frame(&s->b->merge, cam_package_tidy(part, tidy, sizeof(tidy)),
				      kind, &frame);
		if (!err)
			err = cam_merge_node(&s->b->merge, *node, frame, node);
		kind = CAM_FRAME_INLINED;
	}
	return err;
}

static int frame_id(struct window_step *s, uint32_t function, uint32_t *out)
{
	const struct cam_tables *t = s->x->tables;
	struct cam_merge *m = &s->b->merge;
	char room[512], tidy[512];
	if (function >= t->n_functions)
		return cam_merge_frame(m, CAM_TEXT("[unknown]"), CAM_FRAME_USER, out);
	int err = grow_ids(&s->frame_of, &s->n_frame_of, t->n_functions);
	if (!err && s->frame_of[function] == NULL_ID) {
		struct cam_text label =
			cam_function_label(t, (struct cam_func_id){function}, room, sizeof(room));
		if (t->functions[function].kind == CAM_FUNC_JIT && find_arrow(label))
			s->frame_of[function] = SEVERAL_IDS;
		else
			err = cam_merge_frame(m, cam_package_tidy(label, tidy, sizeof(tidy)),
					      kind_of(t->functions[function].kind),
					      &s->frame_of[function]);
	}
	if (!err)
		*out = s->frame_of[function];
	return err;
}

/* From a node to its child for one frame of the window. */
static int place_frame(struct window_step *s, uint32_t function, uint32_t *node)
{
	const struct cam_tables *t = s->x->tables;
	uint32_t frame, module = 0;
	char room[512];
	int err = frame_id(s, function, &frame);
	if (!err && frame == SEVERAL_IDS)
		err = place_several(s,
				    cam_function_label(t, (struct cam_func_id){function}, room,
						       sizeof(room)),
				    node);
	else if (!err)
		err = cam_merge_node(&s->b->merge, *node, frame, node);
	if (!err && function < t->n_functions)
		err = module_id(s, t->functions[function].module.v, &module);
	if (!err)
		cam_merge_note_module(&s->b->merge, *node, module);
	return err;
}

static int grow_placed(struct window_step *s, size_t want)
{
	if (want <= s->n_placed)
		return 0;
	struct placed *grown = reallocarray(s->placed, want, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + s->n_placed, 0, (want - s->n_placed) * sizeof(*grown));
	s->placed = grown;
	s->n_placed = want;
	return 0;
}

/* The tree's node for a stack of the window, below the present comm. */
static int place_stack(struct window_step *s, uint32_t stack, uint32_t *out)
{
	const struct cam_tree *tree = &s->x->tables->stacks;
	uint32_t path[CAM_MAX_STACK_FRAMES + 1];
	size_t depth = 0;
	if (stack >= tree->n)
		return -EBADMSG;
	int err = grow_placed(s, tree->n);
	if (err)
		return err;
	for (; stack && s->placed[stack].stamp != s->stamp; stack = tree->parent[stack]) {
		if (depth == sizeof(path) / sizeof(path[0]))
			return -EBADMSG;
		path[depth++] = stack;
	}
	uint32_t node = stack ? s->placed[stack].node : s->comm_node;
	while (depth && !err) {
		stack = path[--depth];
		err = place_frame(s, tree->item[stack], &node);
		s->placed[stack] = (struct placed){node, s->stamp};
	}
	*out = node;
	return err;
}

/* Where the stacks of a group (NULL_ID: there is none) and a comm are put. */
static int start_group(struct window_step *s, uint32_t group, uint32_t comm)
{
	struct cam_text name = cam_string(s->x->tables, (struct cam_str_id){comm});
	struct cam_merge *m = &s->b->merge;
	uint32_t frame, node = 0;
	int err = group == NULL_ID ? 0 : cam_merge_node(m, 0, group, &node);
	if (!err && (group == NULL_ID || cam_grouping_has_comm(s->b->o->by))) {
		err = cam_merge_frame(m, name.n ? name : CAM_TEXT("[unknown]"), CAM_FRAME_PROCESS,
				      &frame);
		if (!err)
			err = cam_merge_node(m, node, frame, &node);
	}
	s->comm_node = node;
	s->group = group;
	s->comm = comm;
	s->stamp++;
	return err;
}

static bool is_cpu_clock(const struct cam_tables *t, uint32_t etype)
{
	struct cam_text name = cam_string(t, t->etypes[etype].name);
	return cam_text_equal(cam_walk_event_name(name), CAM_TEXT("cpu-clock"));
}

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
	if (etype < s->x->tables->n_etypes)
		s->b->cpu_clock |= is_cpu_clock(s->x->tables, etype);
	return note_unit(s, etype);
}

/* The frame of the first level for a task or CPU; NULL_ID where that is the comm. */
static int group_id(struct window_step *s, uint32_t extra, uint32_t *out)
{
	const struct cam_tables *t = s->x->tables;
	enum cam_flame_by by = s->b->o->by;
	char room[512];
	*out = NULL_ID;
	if (by == CAM_BY_COMM)
		return 0;
	/* CPUs have small numbers, but "not known", which is taken as one beyond the others. */
	size_t at = extra < CAM_MAX_ROWS ? extra
		    : by == CAM_BY_CPU	 ? CAM_SELECT_MAX_CPU + 1u
					 : t->n_tasks;
	int err = grow_ids(&s->group_of, &s->n_group_of, at + 1);
	if (!err && s->group_of[at] == NULL_ID) {
		struct cam_text label;
		err = cam_grouping_label(&s->grouping, by, t, extra, room, sizeof(room), &label);
		if (!err)
			err = cam_merge_frame(&s->b->merge, label, CAM_FRAME_PROCESS,
					      &s->group_of[at]);
	}
	if (!err)
		*out = s->group_of[at];
	return err;
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
	int err = 0;
	if (sum->comm != s->comm || group != s->group)
		err = start_group(s, group, sum->comm);
	if (!err && sum->etype != s->etype)
		err = note_etype(s, s->etype = sum->etype);
	if (!err)
		err = place_stack(s, sum->stack, &node);
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
		return place_sum(s, NULL_ID, sum, verdict);
	int err = cam_vec_reserve(&s->waiting, &s->cap_waiting, s->n_waiting + 1,
				  sizeof(*s->waiting), 1u << 25);
	struct waiting w = {.sum = *sum, .verdict = verdict};
	if (!err)
		err = group_id(s, sum->extra, &w.group);
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
	if (!err && (k.comm != s->comm || k.group != s->group))
		err = start_group(s, k.group, k.comm);
	if (!err)
		err = place_stack(s, k.stack, &k.node);
	if (err)
		return err;
	cam_index_add(&s->known_index, hash, (uint32_t)s->n_known);
	s->known[s->n_known++] = k;
	*node = k.node;
	return 0;
}

static uint32_t extra_of(enum cam_walk_extra extra, const struct cam_batch *b, size_t i)
{
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
			.before = rows->verdict[k] == CAM_VERDICT_BEFORE,
		};
		err = group_id(s, extra_of(extra, batch, i), &key.group);
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
	b->step = (struct window_step){
		.b = b, .x = x, .group = NULL_ID, .comm = NULL_ID, .etype = NULL_ID};
	return 0;
}

static int close_window(void *self, struct cam_walk_window *x, int err)
{
	(void)x;
	struct build *b = self;
	struct window_step *s = &b->step;
	/* What was delivered before an error stays delivered. */
	int place_err = place_waiting(s);
	free(s->frame_of);
	free(s->module_of);
	free(s->placed);
	free(s->group_of);
	free(s->waiting);
	free(s->known);
	cam_index_free(&s->known_index);
	cam_grouping_free(&s->grouping);
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
		if (frame->kind == CAM_FRAME_KERNEL && cam_landing_is(name))
			frame->notes = CAM_VIEW_INTERRUPTS_OFF;
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
						       : 0),
		.extra = extra,
		.close = close_window,
		.progress = o->progress,
		.weights = o->weight == CAM_WEIGHT_PERIOD,
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
