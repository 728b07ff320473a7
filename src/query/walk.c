// SPDX-License-Identifier: Apache-2.0
/*
 * Walking the windows of a selection.
 *
 * Two steps for a sample, so that the costly one is made once for each distinct (stack, comm, event
 * type): does its row pass (time, CPU, task), and what is the verdict on what it holds. Where only sums are
 * wanted, rows are summed first and judged afterwards. Where rows are wanted each is judged, from
 * caches: most often the comm alone says it.
 *
 * Invariants:
 * 1. What is not delivered is counted: rows that pass = delivered + idle + other events + not matching.
 * 2. Whatever the callbacks, seen says the same of the same selection.
 * 3. Nothing is delivered of a window before its open(), nor after its close().
 *
 * Example: --last 60s over windows of 120 s touches the last one or two; each gives one range of its
 * clock, its chunks that touch the range are read, and a gap between the two is counted.
 */
#include "query/walk.h"

#include <errno.h>
#include <stdlib.h>

#define SUMS_AT_ONCE 16u
/* Of the ledger: then who waits is asked. A row may cost a view a millisecond, and a file may have millions. */
#define ROWS_A_TELL 64u

static struct cam_etype_id find_etype(const struct cam_tables *t, struct cam_text name)
{
	for (uint32_t i = 0; i < t->n_etypes; i++) {
		if (cam_text_equal(cam_string(t, t->etypes[i].name), name))
			return (struct cam_etype_id){i};
	}
	return (struct cam_etype_id){CAM_NONE};
}

struct cam_text cam_walk_event_name(struct cam_text name)
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

/* The first window with event types says which one is meant, and whether there are two sides. */
static int note_etypes(struct cam_walk *walk, const struct cam_tables *t)
{
	if (walk->main_etype || !t->n_etypes)
		return 0;
	walk->differential = !walk->selection->etypes.n &&
			     find_etype(t, CAM_TEXT("before")).v != CAM_NONE &&
			     find_etype(t, CAM_TEXT("after")).v != CAM_NONE;
	struct cam_text first = cam_string(t, t->etypes[0].name);
	walk->main_etype = walk->differential ? strdup("after") : strndup(first.p, first.n);
	return walk->main_etype ? 0 : -ENOMEM;
}

/*
 * What is meant in this window: the same name, or else the same event under other modifiers
 * ("cpu-clock" in a recording made without those of "cpu-clock:ppp").
 */
static struct cam_etype_id main_etype_of(const struct cam_walk *walk, const struct cam_tables *t)
{
	struct cam_text name = cam_text_of(walk->main_etype ? walk->main_etype : "");
	struct cam_etype_id id = find_etype(t, name);
	for (uint32_t i = 0; i < t->n_etypes && id.v == CAM_NONE; i++) {
		if (cam_text_equal(cam_walk_event_name(cam_string(t, t->etypes[i].name)),
				   cam_walk_event_name(name)))
			id.v = i;
	}
	return id;
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
	case CAM_VERDICT_BY_STACK:
		break;
	}
}

static bool is_taken(int verdict)
{
	return verdict == CAM_VERDICT_YES || verdict == CAM_VERDICT_BEFORE;
}

/* A window being walked, and what the walk needs beside it. */
struct step {
	struct cam_walk_window x; /* first */
	struct cam_sums sums;
	bool every_row; /* no row is refused by CPU or task */
	uint8_t *comms; /* verdict_of_comm() + 1 by comm and awake; 0: not yet asked */
	size_t n_comms;
	uint32_t ledger_rows; /* so far */
};

static int on_total(void *arg, const struct cam_total *t)
{
	struct step *s = arg;
	return cam_sums_append(&s->sums, (struct cam_sum){.stack = t->stack.v,
							  .comm = t->comm.v,
							  .etype = t->etype.v,
							  .samples = t->samples,
							  .weight = t->samples});
}

static int tell_progress(struct cam_walk *walk, uint64_t more)
{
	const struct cam_progress *p = walk->view->progress;
	walk->done += more;
	return p ? p->tell(p->arg, walk->done, walk->all) : 0;
}

static uint32_t extra_of(enum cam_walk_extra extra, const struct cam_batch *b, size_t i)
{
	return extra == CAM_WALK_BY_TASK ? b->task[i] : extra == CAM_WALK_BY_CPU ? b->cpu[i] : 0;
}

static int sum_batch(void *arg, const struct cam_batch *b)
{
	struct step *s = arg;
	enum cam_walk_extra extra = s->x.walk->view->extra;
	struct cam_sum some[SUMS_AT_ONCE];
	size_t n = 0;
	int err = 0;
	for (size_t i = 0; i < b->n && !err; i++) {
		int row = s->every_row ? CAM_ROW_YES : cam_selector_row(&s->x.selector, b, i);
		if (row < 0)
			return row;
		if (row == CAM_ROW_NO)
			continue;
		some[n++] = (struct cam_sum){.stack = b->stack[i],
					     .comm = b->comm[i],
					     .etype = cam_walk_etype(b, i),
					     .extra = extra_of(extra, b, i),
					     .awake = row == CAM_ROW_AWAKE,
					     .samples = 1,
					     .weight = cam_walk_weight(b, i)};
		if (n == SUMS_AT_ONCE) {
			err = cam_sums_add_all(&s->sums, some, n);
			n = 0;
		}
	}
	if (!err)
		err = cam_sums_add_all(&s->sums, some, n);
	return err ? err : tell_progress(s->x.walk, b->n);
}

static int grow_room(struct cam_walk *walk, size_t n)
{
	if (n <= walk->room)
		return 0;
	uint32_t *index = reallocarray(walk->index, n, sizeof(*index));
	if (!index)
		return -ENOMEM;
	walk->index = index;
	uint8_t *verdict = reallocarray(walk->verdict, n, sizeof(*verdict));
	if (!verdict)
		return -ENOMEM;
	walk->verdict = verdict;
	walk->room = n;
	return 0;
}

/*
 * The verdict on a comm, where the stack does not matter: from a cache, since this is asked once a row.
 * Of windows with one event type: then the comm says it all.
 */
static int verdict_of_comm(struct step *s, uint32_t comm, bool awake)
{
	size_t at = (size_t)comm * 2 + awake;
	if (at < s->n_comms && s->comms[at])
		return s->comms[at] - 1;
	int verdict = cam_selector_verdict_of_comm(&s->x.selector, (struct cam_str_id){comm},
						   (struct cam_etype_id){0}, awake);
	if (verdict >= 0 && at < s->n_comms)
		s->comms[at] = (uint8_t)(verdict + 1);
	return verdict;
}

static int verdict_of_row(struct step *s, const struct cam_batch *b, size_t i, bool awake)
{
	if (s->x.tables->n_etypes == 1) {
		int verdict = verdict_of_comm(s, b->comm[i], awake);
		if (verdict != CAM_VERDICT_BY_STACK)
			return verdict;
	}
	/* Stacks that were not asked for are missing only to a file that contradicts itself. */
	return cam_selector_verdict(&s->x.selector,
				    (struct cam_stack_id){b->stack ? b->stack[i] : 0},
				    (struct cam_str_id){b->comm[i]},
				    (struct cam_etype_id){cam_walk_etype(b, i)}, awake);
}

static int pick_rows(void *arg, const struct cam_batch *b)
{
	struct step *s = arg;
	struct cam_walk *walk = s->x.walk;
	uint64_t counts[CAM_VERDICT_YES + 1] = {0};
	int err = grow_room(walk, b->n);
	if (err)
		return err;
	struct cam_walk_rows rows = {b, walk->index, walk->verdict, 0};
	for (size_t i = 0; i < b->n; i++) {
		int row = s->every_row ? CAM_ROW_YES : cam_selector_row(&s->x.selector, b, i);
		if (row < 0)
			return row;
		if (row == CAM_ROW_NO)
			continue;
		int verdict = verdict_of_row(s, b, i, row == CAM_ROW_AWAKE);
		if (verdict < 0)
			return verdict;
		counts[verdict]++;
		walk->index[rows.n] = (uint32_t)i;
		walk->verdict[rows.n] = (uint8_t)verdict;
		rows.n += is_taken(verdict);
	}
	for (int i = 0; i <= CAM_VERDICT_YES; i++)
		count_verdict(&walk->seen, i, counts[i]);
	if (rows.n)
		err = walk->view->rows(walk->view->self, &s->x, &rows);
	return err ? err : tell_progress(walk, b->n);
}

static int read_samples(struct step *s, unsigned columns, cam_batch_fn *fn)
{
	struct cam_window *w = s->x.w;
	const struct cam_selector *x = &s->x.selector;
	columns |= CAM_COL_COMM | cam_selector_columns(x);
	if (s->x.tables->n_etypes != 1)
		columns |= CAM_COL_ETYPE;
	/* Of one event type the comm alone says it: see verdict_of_row(). */
	if (!s->x.walk->view->no_stacks || columns & CAM_COL_ETYPE || x->by_stack)
		columns |= CAM_COL_STACK;
	if (s->x.weighted)
		columns |= CAM_COL_WEIGHT;
	int err = columns & CAM_COL_STACK ? cam_window_names(w, &s->x.tables) : 0;
	for (size_t i = 0; i < x->n_ranges && !err; i++) {
		err = w->ops->samples(w, x->whole ? CAM_RANGE_ALL : x->ranges[i], columns, fn, s);
		/* One that holds nothing tells nobody, and a file may make as many as it has anchors. */
		if (!err && i)
			err = tell_progress(s->x.walk, 0);
	}
	return err;
}

/* Of the ranges, where the window has sums of them: nothing but its time may matter of a sample. -ENODATA: samples have to say it. */
static int sum_ranges(struct step *s)
{
	const struct cam_selector *x = &s->x.selector;
	const struct cam_window_ops *ops = s->x.w->ops;
	int err = ops->totals_in && s->every_row && !x->whole ? 0 : -ENODATA;
	for (size_t i = 0; i < x->n_ranges && !err; i++) {
		err = ops->totals_in(s->x.w, x->ranges[i], on_total, s);
		if (!err)
			err = tell_progress(s->x.walk, 0);
	}
	uint64_t samples = 0;
	for (size_t i = 0; i < s->sums.n && !err; i++)
		samples += s->sums.v[i].samples;
	return err ? err : tell_progress(s->x.walk, samples);
}

/* Totals where they say it all, else sums of the samples. */
static int make_sums(struct step *s)
{
	enum cam_walk_extra extra = s->x.walk->view->extra;
	bool plain = !s->x.weighted && extra == CAM_WALK_NO_EXTRA;
	if (plain && cam_selector_by_totals(&s->x.selector)) {
		int err = s->x.w->ops->totals(s->x.w, on_total, s);
		if (err != -EBADMSG)
			return err ? err : tell_progress(s->x.walk, s->x.w->info.samples);
	} else if (plain) {
		int err = sum_ranges(s);
		if (err != -ENODATA)
			return err;
	}
	cam_sums_clear(&s->sums);
	return read_samples(s,
			    extra == CAM_WALK_BY_TASK  ? CAM_COL_TASK
			    : extra == CAM_WALK_BY_CPU ? CAM_COL_CPU
						       : 0,
			    sum_batch);
}

static int deliver_sums(struct step *s)
{
	struct cam_walk *walk = s->x.walk;
	int err = make_sums(s);
	if (!err)
		err = cam_sums_sort(&s->sums);
	if (err)
		return err;
	for (size_t i = 0; i < s->sums.n && !err; i++) {
		const struct cam_sum *sum = &s->sums.v[i];
		int verdict =
			cam_selector_verdict(&s->x.selector, (struct cam_stack_id){sum->stack},
					     (struct cam_str_id){sum->comm},
					     (struct cam_etype_id){sum->etype}, sum->awake);
		if (verdict < 0)
			return verdict;
		count_verdict(&walk->seen, verdict, sum->samples);
		if (is_taken(verdict))
			err = walk->view->sum(walk->view->self, &s->x, sum,
					      (enum cam_verdict)verdict);
	}
	return err;
}

/*
 * Whether the window holds anything that the filters match, by its names and its footer: where it does not, its
 * samples need not be read. Only where nothing else would be counted of them.
 */
static int may_match(struct step *s)
{
	const struct cam_selection *selection = s->x.walk->selection;
	if ((!selection->match.n && !selection->comms.n) || s->x.tables->n_etypes != 1)
		return 1;
	/* Names are few, and read in any case; the tree of stacks is not. */
	int may = cam_selector_may_match(&s->x.selector, s->x.w);
	if (may <= 0 || !selection->match.n || !s->x.selector.whole)
		return may;
	int err = s->x.w->ops->totals(s->x.w, on_total, s);
	if (err)
		return err == -EBADMSG ? 1 : err;
	int found = 0;
	for (size_t i = 0; i < s->sums.n && !found; i++) {
		const struct cam_sum *sum = &s->sums.v[i];
		int verdict =
			cam_selector_verdict(&s->x.selector, (struct cam_stack_id){sum->stack},
					     (struct cam_str_id){sum->comm},
					     (struct cam_etype_id){sum->etype}, false);
		if (verdict < 0)
			return verdict;
		found = verdict != CAM_VERDICT_NO;
	}
	cam_sums_clear(&s->sums);
	return found;
}

static int deliver(struct step *s)
{
	const struct cam_walk_view *view = s->x.walk->view;
	if (view->sum)
		return deliver_sums(s);
	if (!view->rows)
		return 0;
	int match = may_match(s);
	if (match <= 0)
		return match ? match : tell_progress(s->x.walk, s->x.w->info.samples);
	s->n_comms = s->x.tables->strings.n * 2;
	s->comms = calloc(s->n_comms + 1, 1);
	return s->comms ? read_samples(s, view->columns, pick_rows) : -ENOMEM;
}

static int on_ledger(void *arg, const struct cam_ledger_row *row)
{
	struct step *s = arg;
	struct cam_walk *walk = s->x.walk;
	int err = ++s->ledger_rows % ROWS_A_TELL ? 0 : tell_progress(walk, 0);
	if (err)
		return err;
	uint64_t samples = cam_selector_ledger(&s->x.selector, row);
	walk->seen.by_cause[row->cause] += samples;
	if (cam_cause_is_loss(row->cause))
		walk->seen.lost += samples;
	if (!samples || !walk->view->ledger)
		return 0;
	return walk->view->ledger(walk->view->self, &s->x, row, samples);
}

/* Without a readable ledger the header still says how many there are in all. */
static int read_ledger(struct step *s)
{
	uint64_t before = s->x.walk->seen.lost;
	int err = s->x.w->ops->ledger(s->x.w, on_ledger, s);
	if (err != -EBADMSG)
		return err;
	s->x.walk->seen.lost = before + s->x.w->info.lost;
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

void cam_walk_find_wall(struct cam_walk_window *x, uint64_t time_ns)
{
	const struct cam_window_info *info = &x->w->info;
	const struct cam_anchor header = {.time_ns = info->start_ns,
					  .realtime_ns = info->realtime_ns};
	const struct cam_anchor *a = x->selector.n_anchors ? x->selector.anchors : &header;
	size_t n = x->selector.n_anchors ? x->selector.n_anchors : 1, low = 0, high = n;
	/* How many are not after it; the last of them holds, before all of them the first. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (a[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	size_t good = low ? low - 1 : 0;
	__int128 shift = (__int128)a[good].realtime_ns - a[good].time_ns;
	bool known = a[good].realtime_ns != INT64_MIN && shift > INT64_MIN && shift <= INT64_MAX;
	x->wall_from_ns = good ? a[good].time_ns : 0;
	x->wall_to_ns = good + 1 < n ? a[good + 1].time_ns : UINT64_MAX;
	x->wall_shift_ns = known ? (int64_t)shift : INT64_MIN;
}

/* When it was, as far as the selection takes the window. */
static void note_times(struct step *s)
{
	struct cam_walk *walk = s->x.walk;
	struct cam_seen *seen = &walk->seen;
	const struct cam_window_info *info = &s->x.w->info;
	const struct cam_selector *x = &s->x.selector;
	struct cam_range all = {info->start_ns, info->end_ns};
	const struct cam_range *ranges = x->whole ? &all : x->ranges;
	size_t n = x->whole ? 1 : x->n_ranges;
	if (!seen->observed_ns) {
		seen->from_ns = ranges[0].from_ns;
		seen->realtime_from_ns = cam_walk_wall(&s->x, seen->from_ns);
		seen->one_clock = true;
	} else if (memcmp(&walk->boot_id, &info->boot_id, sizeof(walk->boot_id)) != 0 ||
		   ranges[0].from_ns < seen->to_ns) {
		seen->one_clock = false;
	}
	walk->boot_id = info->boot_id;
	seen->to_ns = ranges[n - 1].to_ns;
	seen->realtime_to_ns = cam_walk_wall(&s->x, seen->to_ns);
	for (size_t i = 0; i < n; i++)
		seen->observed_ns += ranges[i].to_ns - ranges[i].from_ns;
}

/* One more text that seen points to. */
static int keep_text(char **where, struct cam_text *shown, struct cam_text text)
{
	char *copy = malloc(text.n + 1);
	if (!copy)
		return -ENOMEM;
	if (text.n)
		memcpy(copy, text.p, text.n);
	free(*where);
	*where = copy;
	*shown = (struct cam_text){copy, text.n};
	return 0;
}

/* Host, name and times of the window. */
static int note_window(struct step *s)
{
	struct cam_walk *walk = s->x.walk;
	struct cam_seen *seen = &walk->seen;
	const struct cam_window_info *info = &s->x.w->info;
	int err = keep_text(&walk->last, &seen->last, info->name);
	if (!err && !seen->windows)
		err = keep_text(&walk->first, &seen->first, info->name);
	if (!err && !seen->windows)
		err = keep_text(&walk->host, &seen->host, info->host);
	if (err)
		return err;
	if (seen->windows && !cam_text_equal(seen->host, info->host))
		walk->several_hosts = true;
	seen->windows++;
	if (info->cpus > seen->cpus)
		seen->cpus = info->cpus;
	if (info->clock != CAM_CLOCK_ABSENT && info->end_ns > info->start_ns)
		note_times(s);
	return 0;
}

static int walk_touched(struct step *s)
{
	struct cam_walk *walk = s->x.walk;
	const struct cam_walk_view *view = walk->view;
	int err = view->wall ? cam_selector_need_anchors(&s->x.selector, s->x.w) : 0;
	if (err)
		return err;
	/* Folded stacks have no samples of their own: their weights are the counts. */
	bool weigh = view->weights || s->x.w->info.clock == CAM_CLOCK_ABSENT;
	s->x.weighted = weigh && any_weights(s->x.tables);
	s->every_row = !cam_selector_columns(&s->x.selector);
	err = view->open ? view->open(view->self, &s->x) : 0;
	if (!err && !s->x.samples_done)
		err = deliver(s);
	if (!err)
		err = note_window(s);
	if (!err && !view->no_losses)
		err = read_ledger(s);
	walk->seen.damaged += s->x.w->damage.samples;
	walk->seen.damaged_stacks += s->x.w->damage.stacks;
	walk->seen.damaged_parts += s->x.w->damage.chunks;
	return view->close ? view->close(view->self, &s->x, err) : err;
}

/* 1: the view took it by its footer alone; else as brief() answers. */
static int walk_briefly(struct step *s)
{
	struct cam_walk *walk = s->x.walk;
	int done = walk->view->brief ? walk->view->brief(walk->view->self, walk, s->x.w) : 0;
	if (done <= 0)
		return done;
	s->x.selector.whole = true;
	walk->seen.damaged += s->x.w->damage.samples;
	walk->seen.damaged_parts += s->x.w->damage.chunks;
	int err = note_window(s);
	return err ? err : 1;
}

static int walk_window(struct cam_walk *walk, struct cam_window *w, size_t index)
{
	struct step s = {.x = {.walk = walk, .w = w, .index = index}};
	bool unplaced;
	int err = walk_briefly(&s);
	if (err)
		return err < 0 ? err : 0;
	/* Headers alone say of too many windows that they may be touched: a boot's last one, say. */
	int touched = cam_selector_touches(walk->selection, w, &unplaced);
	if (touched <= 0) {
		walk->seen.unplaced += !touched && unplaced;
		return touched;
	}
	err = walk->view->no_names   ? cam_window_words(w, &s.x.tables)
	      : walk->view->no_tasks ? cam_window_names(w, &s.x.tables)
				     : w->ops->tables(w, &s.x.tables);
	if (!err)
		err = note_etypes(walk, s.x.tables);
	if (err)
		return err;
	struct cam_etype_id before = {CAM_NONE};
	if (walk->differential)
		before = find_etype(s.x.tables, CAM_TEXT("before"));
	err = cam_selector_open(&s.x.selector, walk->selection, w, main_etype_of(walk, s.x.tables),
				before);
	if (err)
		return err;
	err = walk_touched(&s);
	cam_sums_free(&s.sums);
	free(s.comms);
	cam_selector_close(&s.x.selector);
	return err;
}

static int note_gap(struct cam_walk *walk, const struct cam_window_info *earlier,
		    const struct cam_window_info *later)
{
	struct cam_ledger_row gap;
	if (!cam_selection_gap(walk->selection, earlier, later, &gap))
		return 0;
	walk->seen.gap_ns += gap.to_ns - gap.from_ns;
	if (cam_cause_is_loss(gap.cause))
		walk->seen.dead_ns += gap.to_ns - gap.from_ns;
	return walk->view->gap ? walk->view->gap(walk->view->self, earlier, later, &gap) : 0;
}

/* The headers of a window and of the next one; -ENOENT … as the source says. */
static int infos_of(struct cam_source *source, size_t i, size_t n,
		    const struct cam_window_info **info, const struct cam_window_info **next)
{
	*next = NULL;
	if (i + 1 < n && source->ops->info(source, i + 1, next))
		*next = NULL;
	return source->ops->info(source, i, info);
}

static void count_all(struct cam_walk *walk, struct cam_source *source, size_t n)
{
	const struct cam_window_info *info, *next;
	for (size_t i = 0; i < n; i++) {
		if (!infos_of(source, i, n, &info, &next) &&
		    cam_selection_may_touch(walk->selection, info, next))
			walk->all += info->samples;
	}
}

static bool only_this_window(int err)
{
	return err == -ENOENT || err == -EBADMSG || err == -EIO || err == -EPROTONOSUPPORT;
}

static int walk_source(struct cam_walk *walk, struct cam_source *source)
{
	const struct cam_window_info *before = NULL;
	size_t n = source->ops->count(source);
	int err = 0;
	if (walk->view->progress)
		count_all(walk, source, n);
	for (size_t i = 0; i < n && !err; i++) {
		const struct cam_window_info *info, *next;
		struct cam_window *w;
		err = infos_of(source, i, n, &info, &next);
		if (!err && before)
			err = note_gap(walk, before, info);
		before = err ? NULL : info;
		if (!err && !cam_selection_may_touch(walk->selection, info, next))
			continue;
		if (!err && info->sealed && walk->view->skip &&
		    walk->view->skip(walk->view->self, info))
			continue;
		if (!err)
			err = source->ops->open(source, i, &w);
		if (!err) {
			err = walk_window(walk, w, i);
			w->ops->close(w);
		}
		if (only_this_window(err)) {
			walk->seen.unreadable++;
			err = 0;
		}
	}
	if (walk->several_hosts)
		walk->seen.host = CAM_TEXT("");
	return err;
}

int cam_walk(struct cam_source *source, const struct cam_selection *s,
	     const struct cam_walk_view *view, struct cam_walk *walk)
{
	*walk = (struct cam_walk){
		.selection = s,
		.view = view,
		.seen = {.first = CAM_TEXT(""),
			 .last = CAM_TEXT(""),
			 .host = CAM_TEXT(""),
			 .realtime_from_ns = INT64_MIN,
			 .realtime_to_ns = INT64_MIN},
	};
	struct cam_selection settled = *s;
	char why[CAM_WHEN_WHY_BYTES];
	int err = cam_selection_settle(&settled, source, why, sizeof(why));
	walk->selection = &settled;
	if (!err)
		err = walk_source(walk, source);
	walk->selection = s;
	return err;
}

void cam_walk_free(struct cam_walk *walk)
{
	free(walk->main_etype);
	free(walk->first);
	free(walk->last);
	free(walk->host);
	free(walk->index);
	free(walk->verdict);
	*walk = (struct cam_walk){0};
}

int cam_walk_keep_seen(const struct cam_walk *walk, struct cam_seen *out, char **strings)
{
	*out = walk->seen;
	struct cam_text *texts[] = {&out->first, &out->last, &out->host};
	size_t bytes = 1;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += texts[i]->n;
	char *p = *strings = malloc(bytes);
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		memcpy(p, texts[i]->p, texts[i]->n);
		texts[i]->p = p;
		p += texts[i]->n;
	}
	return 0;
}
