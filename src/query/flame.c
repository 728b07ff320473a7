// SPDX-License-Identifier: Apache-2.0
/*
 * From a selection to a flame graph's tree.
 *
 * What: all samples that the selection takes, from however many windows, merged into one tree:
 * the root, below it one node a comm, below that the stacks, root first. A node carries how much
 * was sampled in it (self) and in it or below (total).
 *
 * Why this way: the same stack is sampled over and over, so the work is done once a distinct
 * stack and not once a sample. Four steps for each window:
 *
 *	sum	samples that pass the row filters (time, CPU, task) are summed by (stack, comm,
 *		event type): sums.c. A window that is taken whole, and counted in samples, has
 *		these sums in its footer: then no sample column is read at all.
 *	judge	each sum is judged once: other event, not matching, idle, or taken.
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

#include "query/landing.h"
#include "query/merge.h"
#include "query/selector.h"
#include "query/sums.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_MAX_BYTES (1ull << 30)
#define NULL_ID		  UINT32_MAX

struct build {
	const struct cam_selection *selection;
	const struct cam_flame_options *options;
	struct cam_merge merge;
	/* What the selection means by an event type, and the unit that follows from it. */
	char *main_etype; /* its name in the first window; NULL: not met yet */
	struct cam_str_id unit, first, last, host; /* in the merge's strings */
	bool cpu_clock;				   /* a sample shown is of that event */
	bool differential, has_unit, unit_is_ns, mixed_units, several_hosts;
	struct cam_boot_id boot_id; /* of the window before */
	struct cam_seen seen;
};

/* The window being added. */
struct window_step {
	struct build *b;
	struct cam_window *w;
	struct cam_selector selector;
	struct cam_sums sums;
	bool weighted; /* count weights, not samples */
	/* From the window's ids to the merged ones; NULL_ID: not yet asked. */
	uint32_t *frame_of, *module_of;
	size_t n_frame_of, n_module_of;
	/* From the window's stacks to the tree's nodes, good for one comm: stamp tells which. */
	struct placed {
		uint32_t node, stamp;
	} * placed;
	size_t n_placed;
	uint32_t stamp, comm_node;
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

static int module_id(struct window_step *s, uint32_t module, uint32_t *out)
{
	const struct cam_tables *t = s->selector.tables;
	*out = 0;
	if (module >= t->n_modules)
		return 0;
	int err = grow_ids(&s->module_of, &s->n_module_of, t->n_modules);
	if (!err && s->module_of[module] == NULL_ID)
		err = cam_merge_module(&s->b->merge, cam_string(t, t->modules[module].path),
				       &s->module_of[module]);
	if (!err)
		*out = s->module_of[module];
	return err;
}

static int frame_id(struct window_step *s, uint32_t function, uint32_t *out)
{
	const struct cam_tables *t = s->selector.tables;
	struct cam_merge *m = &s->b->merge;
	char room[512];
	if (function >= t->n_functions)
		return cam_merge_frame(m, CAM_TEXT("[unknown]"), CAM_FRAME_USER, out);
	int err = grow_ids(&s->frame_of, &s->n_frame_of, t->n_functions);
	if (!err && s->frame_of[function] == NULL_ID)
		err = cam_merge_frame(m,
				      cam_function_label(t, (struct cam_func_id){function}, room,
							 sizeof(room)),
				      kind_of(t->functions[function].kind), &s->frame_of[function]);
	if (!err)
		*out = s->frame_of[function];
	return err;
}

/* From a node to its child for one frame of the window. */
static int place_frame(struct window_step *s, uint32_t function, uint32_t *node)
{
	const struct cam_tables *t = s->selector.tables;
	uint32_t frame, module = 0;
	int err = frame_id(s, function, &frame);
	if (!err)
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
	const struct cam_tree *tree = &s->selector.tables->stacks;
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

static int start_comm(struct window_step *s, uint32_t comm)
{
	struct cam_text name = cam_string(s->selector.tables, (struct cam_str_id){comm});
	uint32_t frame;
	int err = cam_merge_frame(&s->b->merge, name.n ? name : CAM_TEXT("[unknown]"),
				  CAM_FRAME_PROCESS, &frame);
	if (!err)
		err = cam_merge_node(&s->b->merge, 0, frame, &s->comm_node);
	s->stamp++;
	return err;
}

/* "cycles:ppp" counts cycles; "sched:sched_switch" is a name of two parts. */
static struct cam_text without_modifiers(struct cam_text name)
{
	const char *colon = memrchr(name.p, ':', name.n);
	if (!colon)
		return name;
	for (const char *p = colon + 1; p < name.p + name.n; p++) {
		if (!strchr("ukhGHpPSDIWeb", *p))
			return name;
	}
	return (struct cam_text){name.p, (size_t)(colon - name.p)};
}

static bool is_cpu_clock(const struct cam_tables *t, uint32_t etype)
{
	struct cam_text name = cam_string(t, t->etypes[etype].name);
	return cam_text_equal(without_modifiers(name), CAM_TEXT("cpu-clock"));
}

/* The unit of what an event type counts, and whether all that are shown agree on it. */
static int note_unit(struct window_step *s, uint32_t etype)
{
	struct build *b = s->b;
	const struct cam_tables *t = s->selector.tables;
	struct cam_text unit = CAM_TEXT("samples");
	if (etype < t->n_etypes && s->weighted && t->etypes[etype].has_weight && !b->differential) {
		struct cam_text name = without_modifiers(cam_string(t, t->etypes[etype].name));
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

static void count_verdict(struct cam_seen *seen, int verdict, uint64_t samples)
{
	switch ((enum cam_verdict)verdict) {
	case CAM_VERDICT_OTHER_EVENT:
		seen->other_events += samples;
		break;
	case CAM_VERDICT_IDLE:
		seen->idle += samples;
		break;
	case CAM_VERDICT_BEFORE:
	case CAM_VERDICT_YES:
		seen->samples += samples;
		break;
	case CAM_VERDICT_NO:
		break;
	}
}

/* Steps judge, place and add, over all sums of a window. */
static int add_sums(struct window_step *s)
{
	struct build *b = s->b;
	uint32_t comm = NULL_ID, etype = NULL_ID, node;
	int err = 0;
	cam_sums_sort(&s->sums);
	for (size_t i = 0; i < s->sums.n && !err; i++) {
		const struct cam_sum *sum = &s->sums.v[i];
		int verdict = cam_selector_verdict(&s->selector, (struct cam_stack_id){sum->stack},
						   (struct cam_str_id){sum->comm},
						   (struct cam_etype_id){sum->etype}, sum->awake);
		if (verdict < 0)
			return verdict;
		count_verdict(&b->seen, verdict, sum->samples);
		if (verdict != CAM_VERDICT_YES && verdict != CAM_VERDICT_BEFORE)
			continue;
		if (sum->comm != comm)
			err = start_comm(s, comm = sum->comm);
		if (!err && sum->etype != etype)
			err = note_unit(s, etype = sum->etype);
		if (etype < s->selector.tables->n_etypes)
			b->cpu_clock |= is_cpu_clock(s->selector.tables, etype);
		if (!err)
			err = place_stack(s, sum->stack, &node);
		if (err)
			return err;
		uint64_t v = s->weighted ? sum->weight : sum->samples;
		uint64_t *to =
			verdict == CAM_VERDICT_YES ? &b->merge.self[node] : &b->merge.before[node];
		*to = *to + v < v ? UINT64_MAX : *to + v;
	}
	return err;
}

static int on_total(void *arg, const struct cam_total *t)
{
	struct window_step *s = arg;
	return cam_sums_add(&s->sums, (struct cam_sum){.stack = t->stack.v,
						       .comm = t->comm.v,
						       .etype = t->etype.v,
						       .samples = t->samples,
						       .weight = t->samples});
}

static int on_batch(void *arg, const struct cam_batch *batch)
{
	struct window_step *s = arg;
	bool all = !cam_selector_columns(&s->selector);
	for (size_t i = 0; i < batch->n; i++) {
		int row = all ? CAM_ROW_YES : cam_selector_row(&s->selector, batch, i);
		if (row < 0)
			return row;
		if (row == CAM_ROW_NO)
			continue;
		struct cam_sum sum = {.stack = batch->stack[i],
				      .comm = batch->comm[i],
				      .etype = batch->etype ? batch->etype[i] : 0,
				      .awake = row == CAM_ROW_AWAKE,
				      .samples = 1,
				      .weight = batch->weight ? batch->weight[i] : 1};
		int err = cam_sums_add(&s->sums, sum);
		if (err)
			return err;
	}
	return 0;
}

static int sum_samples(struct window_step *s)
{
	unsigned columns = CAM_COL_STACK | CAM_COL_COMM | cam_selector_columns(&s->selector);
	if (s->selector.tables->n_etypes != 1)
		columns |= CAM_COL_ETYPE;
	if (s->weighted)
		columns |= CAM_COL_WEIGHT;
	int err = 0;
	cam_sums_clear(&s->sums);
	for (size_t i = 0; i < s->selector.n_ranges && !err; i++)
		err = s->w->ops->samples(s->w,
					 s->selector.whole ? CAM_RANGE_ALL : s->selector.ranges[i],
					 columns, on_batch, s);
	return err;
}

static int sum_window(struct window_step *s)
{
	if (!s->weighted && cam_selector_by_totals(&s->selector)) {
		int err = s->w->ops->totals(s->w, on_total, s);
		if (err != -EBADMSG)
			return err;
	}
	return sum_samples(s);
}

static int on_ledger(void *arg, const struct cam_ledger_row *row)
{
	struct window_step *s = arg;
	if (cam_cause_is_loss(row->cause))
		s->b->seen.lost += cam_selector_ledger(&s->selector, row);
	return 0;
}

/* Without a readable ledger the header still says how many there are in all. */
static int add_lost(struct window_step *s)
{
	uint64_t before = s->b->seen.lost;
	int err = s->w->ops->ledger(s->w, on_ledger, s);
	if (err != -EBADMSG)
		return err;
	s->b->seen.lost = before + s->w->info.lost;
	return 0;
}

static bool any_weights(const struct cam_tables *t)
{
	for (size_t i = 0; i < t->n_etypes; i++) {
		if (t->etypes[i].has_weight)
			return true;
	}
	return false;
}

static struct cam_etype_id find_etype(const struct cam_tables *t, struct cam_text name)
{
	for (uint32_t i = 0; i < t->n_etypes; i++) {
		if (cam_text_equal(cam_string(t, t->etypes[i].name), name))
			return (struct cam_etype_id){i};
	}
	return (struct cam_etype_id){CAM_NONE};
}

/* The first window with event types says which one is meant, and whether there are two sides. */
static int note_etypes(struct build *b, const struct cam_tables *t)
{
	if (b->main_etype || !t->n_etypes)
		return 0;
	b->differential = !b->selection->etypes.n &&
			  find_etype(t, CAM_TEXT("before")).v != CAM_NONE &&
			  find_etype(t, CAM_TEXT("after")).v != CAM_NONE;
	struct cam_text first = cam_string(t, t->etypes[0].name);
	b->main_etype = b->differential ? strdup("after") : strndup(first.p, first.n);
	return b->main_etype ? 0 : -ENOMEM;
}

/*
 * What is meant in this window: the same name, or else the same event under other modifiers
 * ("cpu-clock" in a recording made without those of "cpu-clock:ppp").
 */
static struct cam_etype_id main_etype_of(const struct build *b, const struct cam_tables *t)
{
	struct cam_text name = cam_text_of(b->main_etype ? b->main_etype : "");
	struct cam_etype_id id = find_etype(t, name);
	for (uint32_t i = 0; i < t->n_etypes && id.v == CAM_NONE; i++) {
		if (cam_text_equal(without_modifiers(cam_string(t, t->etypes[i].name)),
				   without_modifiers(name)))
			id.v = i;
	}
	return id;
}

static int64_t realtime_of(const struct cam_window_info *info, uint64_t time_ns)
{
	if (info->realtime_ns == INT64_MIN)
		return INT64_MIN;
	return (int64_t)((uint64_t)info->realtime_ns + (time_ns - info->start_ns));
}

/* When it was, as far as the selection takes the window. */
static void note_times(struct window_step *s)
{
	struct build *b = s->b;
	struct cam_seen *seen = &b->seen;
	const struct cam_window_info *info = &s->w->info;
	const struct cam_selector *x = &s->selector;
	struct cam_range all = {info->start_ns, info->end_ns};
	const struct cam_range *ranges = x->whole ? &all : x->ranges;
	size_t n = x->whole ? 1 : x->n_ranges;
	if (!seen->observed_ns) {
		seen->from_ns = ranges[0].from_ns;
		seen->realtime_from_ns = realtime_of(info, seen->from_ns);
		seen->one_clock = true;
	} else if (memcmp(&b->boot_id, &info->boot_id, sizeof(b->boot_id)) != 0 ||
		   ranges[0].from_ns < seen->to_ns) {
		seen->one_clock = false;
	}
	b->boot_id = info->boot_id;
	seen->to_ns = ranges[n - 1].to_ns;
	seen->realtime_to_ns = realtime_of(info, seen->to_ns);
	for (size_t i = 0; i < n; i++)
		seen->observed_ns += ranges[i].to_ns - ranges[i].from_ns;
}

/* Host, name and times of the window. */
static int note_window(struct window_step *s)
{
	struct cam_seen *seen = &s->b->seen;
	const struct cam_window_info *info = &s->w->info;
	struct cam_str_id host;
	int err = cam_string_intern(&s->b->merge.t, info->name, &s->b->last);
	if (!err)
		err = cam_string_intern(&s->b->merge.t, info->host, &host);
	if (err)
		return err;
	s->b->several_hosts |= seen->windows && s->b->host.v != host.v;
	s->b->host = host;
	if (!seen->windows++)
		s->b->first = s->b->last;
	if (info->clock != CAM_CLOCK_ABSENT && info->end_ns > info->start_ns)
		note_times(s);
	return 0;
}

static void note_damage(struct cam_seen *seen, const struct cam_damage *d)
{
	seen->damaged += d->samples;
	seen->damaged_stacks += d->stacks;
}

/* All four steps for an open window. */
static int add_window(struct build *b, struct cam_window *w)
{
	struct window_step s = {.b = b, .w = w};
	const struct cam_tables *t;
	int err = w->ops->tables(w, &t);
	if (!err)
		err = note_etypes(b, t);
	if (err)
		return err;
	struct cam_etype_id before = {CAM_NONE};
	if (b->differential)
		before = find_etype(t, CAM_TEXT("before"));
	err = cam_selector_open(&s.selector, b->selection, w, main_etype_of(b, t), before);
	if (err)
		return err;
	b->seen.unplaced += s.selector.unplaced;
	if (s.selector.n_ranges) {
		/* Folded stacks have no samples of their own: their weights are the counts. */
		bool weigh = b->options->weight == CAM_WEIGHT_PERIOD ||
			     w->info.clock == CAM_CLOCK_ABSENT;
		s.weighted = weigh && any_weights(t);
		err = sum_window(&s);
		if (!err)
			err = note_window(&s);
		if (!err)
			err = add_sums(&s);
		if (!err)
			err = add_lost(&s);
		note_damage(&b->seen, &w->damage);
	}
	cam_sums_free(&s.sums);
	free(s.frame_of);
	free(s.module_of);
	free(s.placed);
	cam_selector_close(&s.selector);
	return err;
}

static void note_gap(struct build *b, const struct cam_window_info *earlier,
		     const struct cam_window_info *later)
{
	struct cam_ledger_row gap;
	if (!cam_selection_gap(b->selection, earlier, later, &gap))
		return;
	b->seen.gap_ns += gap.to_ns - gap.from_ns;
	if (cam_cause_is_loss(gap.cause))
		b->seen.dead_ns += gap.to_ns - gap.from_ns;
}

static int add_source(struct build *b, struct cam_source *source)
{
	const struct cam_window_info *before = NULL;
	size_t n = source->ops->count(source);
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		const struct cam_window_info *info;
		struct cam_window *w;
		const struct cam_window_info *next = NULL;
		err = source->ops->info(source, i, &info);
		if (i + 1 < n && source->ops->info(source, i + 1, &next))
			next = NULL;
		if (!err && before)
			note_gap(b, before, info);
		before = err ? NULL : info;
		if (!err && !cam_selection_may_touch(b->selection, info, next))
			continue;
		if (!err)
			err = source->ops->open(source, i, &w);
		if (!err) {
			err = add_window(b, w);
			w->ops->close(w);
		}
		if (err == -ENOENT || err == -EBADMSG || err == -EIO || err == -EPROTONOSUPPORT) {
			b->seen.unreadable++;
			err = 0;
		}
	}
	return err;
}

/* Copies what the view says about itself out of the merge's strings, which move with it. */
static int finish_seen(struct build *b, struct cam_flame *out)
{
	const struct cam_tables *t = &b->merge.t;
	struct cam_text unit = b->mixed_units ? CAM_TEXT("events") : cam_string(t, b->unit);
	struct cam_text from[] = {b->has_unit ? unit : CAM_TEXT("samples"), cam_string(t, b->first),
				  cam_string(t, b->last),
				  b->several_hosts ? CAM_TEXT("") : cam_string(t, b->host)};
	struct cam_text *to[] = {&out->unit, &out->seen.first, &out->seen.last, &out->seen.host};
	size_t bytes = 1;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		bytes += from[i].n;
	char *p = out->strings = malloc(bytes);
	if (!p)
		return -ENOMEM;
	out->seen = b->seen;
	out->differential = b->differential;
	out->unit_is_ns = b->unit_is_ns && !b->mixed_units;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		memcpy(p, from[i].p, from[i].n);
		*to[i] = (struct cam_text){p, from[i].n};
		p += from[i].n;
	}
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
	struct build b = {.selection = s,
			  .options = o,
			  .seen = {.realtime_from_ns = INT64_MIN, .realtime_to_ns = INT64_MIN}};
	*out = (struct cam_flame){0};
	int err = cam_merge_init(&b.merge, o->max_bytes ? o->max_bytes : DEFAULT_MAX_BYTES);
	if (!err)
		err = add_source(&b, source);
	if (!err)
		err = finish_seen(&b, out);
	if (!err)
		err = cam_merge_finish(&b.merge, out);
	if (!err && b.cpu_clock)
		note_landings(out);
	cam_merge_free(&b.merge);
	free(b.main_etype);
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
	*f = (struct cam_flame){0};
}
