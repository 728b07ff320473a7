// SPDX-License-Identifier: Apache-2.0
/*
 * From the samples of a window to counted lines, in two steps.
 *
 * Making a line's text costs a hundred times what counting a sample does, so samples are counted
 * by ids first (root as printed, stack, event type) and only distinct triples become lines. Ids
 * are the window's; lines are not: different functions, tasks and windows may give the same
 * text, and meet in folded_lines.c.
 *
 * Invariants:
 *  1. A triple's counts become lines when the table of triples is full or the window ends, so
 *     its size is bounded whatever the window holds.
 *  2. The event type to count is chosen when the first triples of the first window that has any
 *     become lines: of the types seen there the one with the lowest id, which is the one the
 *     source named first; or one that a detail names, if it came earlier. Samples that name no
 *     type (see collapse.h) count always.
 *  3. A frame's names are made once per function, or once per location where the text depends
 *     on the address or its offset: with addresses, or where printing and reading a frame back
 *     does not cut off the offset. Stacks of functions are several times fewer than of locations.
 *  4. Names depend on the root by one bit, Java or not: so there are two lists of them.
 *
 * Example: samples (task 1 "cc1", stack main;lex) ×2 and (task 2 "cc1", main;lex) ×1 are one
 * triple of count 3, hence one walk over two frames, and the line "cc1;main;lex 3".
 */
#include "interop/folded_out.h"

#include "base/vec.h"
#include "interop/folded_lines.h"

#define MAX_TRIPLES	  (1u << 18)
#define DEFAULT_MAX_BYTES ((size_t)512 << 20)

struct cam_folded {
	struct cam_folded_options o;
	struct cam_folded_lines lines;
	struct cam_folded_stats st;
	bool have_event, have_other;
	bool verbatim;			/* there were folded stacks */
	struct cam_str_id event, other; /* of lines.names */
	struct cam_buf scratch, text;
};

struct triple {
	uint32_t root; /* node of lines, times 2, plus 1 if Java */
	uint32_t stack;
	uint32_t event; /* string of lines.names, CAM_NONE: of no type */
	uint64_t weight, samples;
};

/* The names of a frame: names[from .. from + n); from = 0: not yet made. */
struct frame {
	uint32_t from, n;
};

struct fold {
	struct cam_folded *f;
	const struct cam_tables *t;
	const struct cam_tree *tree;
	const struct cam_row_filter *filter;
	struct cam_collapse_rules rules;
	bool places, has_time;
	bool weigh;	 /* count weights, not samples */
	uint32_t *roots; /* per task, as in a triple; CAM_NONE: not yet made */
	struct frame *frames[2];
	size_t n_items;
	struct cam_str_id *names;
	size_t n_names, cap_names;
	uint32_t *events;      /* per event type: what its samples without a detail are of */
	uint64_t *plain;       /* per event type: how many of those there are */
	uint64_t *first_ns;    /* and when the first was; only where the mode is text */
	uint32_t detail_event; /* the first type read from a detail, CAM_NONE, and when */
	uint64_t detail_ns;
	struct triple *triples;
	size_t n_triples, cap_triples;
	struct cam_index index;
	uint32_t *path; /* of one stack */
	size_t cap_path;
};

int cam_folded_new(const struct cam_folded_options *o, struct cam_folded **out)
{
	struct cam_folded *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->o = *o;
	if (!f->o.max_bytes)
		f->o.max_bytes = DEFAULT_MAX_BYTES;
	f->scratch = CAM_BUF(f->o.max_bytes);
	f->text = CAM_BUF(f->o.max_bytes);
	int err = cam_folded_lines_init(&f->lines, f->o.max_bytes);
	if (!err && o->event_type.n) {
		err = cam_string_intern(&f->lines.names, o->event_type, &f->event);
		f->have_event = true;
	}
	if (err) {
		cam_folded_free(f);
		return err;
	}
	*out = f;
	return 0;
}

void cam_folded_free(struct cam_folded *f)
{
	if (!f)
		return;
	cam_folded_lines_free(&f->lines);
	cam_buf_free(&f->scratch);
	cam_buf_free(&f->text);
	free(f);
}

struct cam_folded_stats cam_folded_stats(const struct cam_folded *f)
{
	struct cam_folded_stats st = f->st;
	if (f->have_event)
		st.event = cam_string(&f->lines.names, f->event);
	if (f->have_other)
		st.other = cam_string(&f->lines.names, f->other);
	st.two_columns = f->verbatim && cam_text_equal(st.event, CAM_TEXT("before")) &&
			 cam_text_equal(st.other, CAM_TEXT("after"));
	return st;
}

/* The next piece of a text up to ';', interned; *rest.p is NULL behind the last one. */
static int next_name(struct cam_folded *f, struct cam_text *rest, struct cam_str_id *out)
{
	const char *end = memchr(rest->p, ';', rest->n);
	size_t n = end ? (size_t)(end - rest->p) : rest->n;
	int err = cam_string_intern(&f->lines.names, (struct cam_text){rest->p, n}, out);
	*rest = end ? (struct cam_text){end + 1, rest->n - n - 1} : (struct cam_text){NULL, 0};
	return err;
}

/* The text collected last; never NULL. */
static struct cam_text text_of(const struct cam_buf *b)
{
	return b->len ? (struct cam_text){(char *)b->data, b->len} : CAM_TEXT("");
}

static int make_root(struct fold *d, struct cam_text comm, int32_t pid, int32_t tid, uint32_t *out)
{
	struct cam_folded *f = d->f;
	uint32_t node = 0;
	struct cam_str_id name;
	cam_buf_clear(&f->text);
	cam_collapse_task(&d->rules, comm, pid, tid, &f->text);
	int err = cam_buf_error(&f->text);
	struct cam_text text = text_of(&f->text), rest = text;
	while (rest.p && !err) {
		err = next_name(f, &rest, &name);
		if (!err)
			err = cam_folded_lines_node(&f->lines, node, name, &node);
	}
	*out = node << 1 | cam_collapse_is_java(text);
	return err;
}

static void describe_function(const struct cam_tables *t, uint32_t func,
			      struct cam_collapse_frame *out)
{
	const struct cam_function *fn = &t->functions[func];
	out->name = cam_string(t, fn->name);
	out->kind = fn->kind;
	out->blank = !out->name.n && fn->source == CAM_NAME_IMPORTED;
	if (fn->module.v < t->n_modules)
		out->module = cam_string(t, t->modules[fn->module.v].path);
	out->address = fn->kind == CAM_FUNC_MARK ? 0 : fn->start;
	/* All unnamed code made at run time is [jit], whichever mapping it lies in. */
	out->start = fn->kind == CAM_FUNC_MARK || fn->kind == CAM_FUNC_JIT ? 0 : fn->start;
}

static struct cam_collapse_frame describe_item(const struct fold *d, uint32_t item)
{
	const struct cam_tables *t = d->t;
	struct cam_collapse_frame frame = {.offset = CAM_OFFSET_NONE};
	if (!d->places) {
		describe_function(t, item, &frame);
		return frame;
	}
	const struct cam_location *loc = &t->locations[item];
	if (loc->func.v < t->n_functions)
		describe_function(t, loc->func.v, &frame);
	if (loc->module.v && loc->module.v < t->n_modules)
		frame.module = cam_string(t, t->modules[loc->module.v].path);
	/* As sealing has it: each address a function of its own. */
	if (loc->func.v == CAM_NONE && t->modules[loc->module.v].kind == CAM_MODULE_FILE)
		frame.start = loc->address;
	frame.address = loc->address;
	frame.offset = loc->func_offset;
	return frame;
}

/* Invariants 3 and 4. */
static int make_frame(struct fold *d, uint32_t item, bool java, struct frame *out)
{
	struct cam_folded *f = d->f;
	struct cam_collapse_frame frame = describe_item(d, item);
	frame.java = java;
	cam_buf_clear(&f->text);
	cam_buf_clear(&f->scratch);
	size_t n = cam_collapse_frame(&d->rules, &frame, &f->scratch, &f->text), done = 0;
	int err = cam_buf_error(&f->text) ? cam_buf_error(&f->text) : cam_buf_error(&f->scratch);
	struct cam_text rest = text_of(&f->text);
	size_t from = d->n_names;
	for (; n && rest.p && !err; done++) {
		err = cam_vec_reserve(&d->names, &d->cap_names, from + done + 1, sizeof(*d->names),
				      UINT32_MAX);
		if (!err)
			err = next_name(f, &rest, &d->names[from + done]);
	}
	if (err)
		return err;
	f->st.left_out_frames += !n;
	if (d->rules.addrs && !d->places && !frame.name.n)
		f->st.entry_addresses++;
	d->n_names += done;
	*out = (struct frame){(uint32_t)from, (uint32_t)done};
	return 0;
}

/* The items of a stack, leaf first. */
static int read_path(struct fold *d, uint32_t stack, size_t *depth)
{
	size_t n = 0;
	for (uint32_t node = stack; node; node = d->tree->parent[node]) {
		int err = cam_vec_reserve(&d->path, &d->cap_path, n + 1, sizeof(*d->path),
					  CAM_MAX_ROWS);
		if (err)
			return err;
		if (d->tree->item[node] >= d->n_items)
			return -EBADMSG;
		d->path[n++] = d->tree->item[node];
	}
	*depth = n;
	return 0;
}

static int find_line(struct fold *d, const struct triple *x, uint32_t *out)
{
	size_t depth = 0;
	uint32_t node = x->root >> 1;
	struct frame *frames = d->frames[x->root & 1];
	int err = read_path(d, x->stack, &depth);
	while (depth && !err) {
		uint32_t item = d->path[--depth];
		struct frame *frame = &frames[item];
		if (!frame->from)
			err = make_frame(d, item, x->root & 1, frame);
		for (uint32_t i = 0; i < frame->n && !err; i++)
			err = cam_folded_lines_node(&d->f->lines, node, d->names[frame->from + i],
						    &node);
	}
	*out = node;
	return err;
}

/* Invariant 2. */
static void choose_event(struct fold *d)
{
	struct cam_folded *f = d->f;
	uint32_t chosen = d->detail_event;
	if (f->have_event)
		return;
	for (size_t i = 0; i < d->t->n_etypes; i++) {
		if (!d->plain[i] || d->events[i] == CAM_NONE)
			continue;
		if (chosen == CAM_NONE || d->first_ns[i] < d->detail_ns)
			chosen = d->events[i];
		break;
	}
	f->event.v = chosen;
	f->have_event = chosen != CAM_NONE;
}

static int count_triple(struct fold *d, const struct triple *x)
{
	struct cam_folded *f = d->f;
	uint32_t node;
	if (x->event != CAM_NONE && x->event != f->event.v) {
		f->st.filtered += x->samples;
		if (!f->have_other)
			f->other.v = x->event;
		f->have_other = true;
		return 0;
	}
	int err = find_line(d, x, &node);
	if (!err)
		err = cam_folded_lines_add(&f->lines, node, x->weight);
	if (err == -E2BIG) {
		f->st.dropped += x->samples;
		return 0;
	}
	if (err)
		return err;
	f->st.counted += x->samples;
	if (__builtin_add_overflow(f->st.weight, x->weight, &f->st.weight))
		f->st.weight = UINT64_MAX;
	return 0;
}

/* Invariant 1. */
static int flush(struct fold *d)
{
	int err = 0;
	choose_event(d);
	for (size_t i = 0; i < d->n_triples && !err; i++)
		err = count_triple(d, &d->triples[i]);
	d->n_triples = 0;
	cam_index_free(&d->index);
	d->index = (struct cam_index){0};
	return err;
}

static bool same_triple(const void *rows, uint32_t id, const void *key)
{
	const struct triple *a = (const struct triple *)rows + id, *b = key;
	return a->root == b->root && a->stack == b->stack && a->event == b->event;
}

static int add_triple(struct fold *d, const struct triple *x)
{
	uint64_t hash = cam_hash_u64((uint64_t)x->root << 32 | x->stack, x->event);
	uint32_t at = cam_index_find(&d->index, hash, same_triple, d->triples, x);
	if (at != CAM_INDEX_NONE) {
		struct triple *y = &d->triples[at];
		y->samples += x->samples;
		if (__builtin_add_overflow(y->weight, x->weight, &y->weight))
			y->weight = UINT64_MAX;
		return 0;
	}
	int err = d->n_triples == MAX_TRIPLES ? flush(d) : 0;
	if (!err)
		err = cam_vec_reserve(&d->triples, &d->cap_triples, d->n_triples + 1,
				      sizeof(*d->triples), MAX_TRIPLES);
	if (!err)
		err = cam_index_reserve(&d->index);
	if (err)
		return err;
	cam_index_add(&d->index, hash, (uint32_t)d->n_triples);
	d->triples[d->n_triples++] = *x;
	return 0;
}

static uint64_t number_of(struct cam_text digits)
{
	uint64_t v = 0;
	for (size_t i = 0; i < digits.n; i++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned)(digits.p[i] - '0'), &v))
			return UINT64_MAX;
	return v;
}

/* The event and weight of a sample with a text of its own behind the event. */
static int judge_detail(struct fold *d, uint32_t detail, uint64_t time_ns, struct triple *x)
{
	struct cam_collapse_event e;
	struct cam_str_id name;
	x->event = CAM_NONE;
	x->weight = 1;
	if (!cam_collapse_event(CAM_TEXT(""), d->has_time,
				cam_string(d->t, (struct cam_str_id){detail}), &e))
		return 0;
	int err = cam_string_intern(&d->f->lines.names, e.name, &name);
	if (err)
		return err;
	x->event = name.v;
	if (d->detail_event == CAM_NONE || time_ns < d->detail_ns) {
		d->detail_event = name.v;
		d->detail_ns = time_ns;
	}
	uint64_t period = number_of(e.period);
	if (d->weigh && period)
		x->weight = period;
	return 0;
}

static int count_sample(struct fold *d, const struct cam_batch *b, size_t i)
{
	uint32_t task = b->task[i], etype = b->etype[i];
	struct triple x = {.stack = d->places ? b->place[i] : b->stack[i], .samples = 1};
	bool text = d->rules.mode == CAM_COLLAPSE_TEXT;
	if (task >= d->t->n_tasks || etype >= d->t->n_etypes || x.stack >= d->tree->n)
		return -EBADMSG;
	d->f->st.samples++;
	/* perf prints ":-1 -1/-1" for a thread that is exiting, which stackcollapse cannot read. */
	if (text && d->t->tasks[task].tid < 0) {
		d->f->st.left_out_samples++;
		return 0;
	}
	int err = 0;
	if (d->roots[task] == CAM_NONE) {
		const struct cam_task *k = &d->t->tasks[task];
		err = make_root(d, cam_string(d->t, k->comm), k->pid, k->tid, &d->roots[task]);
	}
	x.root = d->roots[task];
	if (!err && text && b->detail[i]) {
		err = judge_detail(d, b->detail[i], b->time_ns[i], &x);
	} else {
		x.event = d->events[etype];
		x.weight = b->weight && x.event != CAM_NONE ? b->weight[i] : 1;
		if (text && !x.weight)
			x.weight = 1;
		d->plain[etype]++;
		if (text && b->time_ns[i] < d->first_ns[etype])
			d->first_ns[etype] = b->time_ns[i];
	}
	if (!err)
		return add_triple(d, &x);
	d->roots[task] = CAM_NONE;
	if (err != -E2BIG)
		return err;
	d->f->st.dropped++;
	return 0;
}

static int count_batch(void *arg, const struct cam_batch *b)
{
	struct fold *d = arg;
	for (size_t i = 0; i < b->n; i++) {
		int take = d->filter->take ? d->filter->take(d->filter->self, b, i) : 1;
		if (take > 0)
			take = count_sample(d, b, i);
		if (take < 0)
			return take;
	}
	return 0;
}

static int count_samples(struct fold *d, struct cam_window *w)
{
	const struct cam_row_filter *filter = d->filter;
	unsigned columns = CAM_COL_TASK | CAM_COL_ETYPE | filter->columns;
	columns |= d->places ? CAM_COL_PLACE : CAM_COL_STACK;
	if (d->rules.mode == CAM_COLLAPSE_TEXT)
		columns |= CAM_COL_DETAIL | CAM_COL_TIME;
	if (d->weigh)
		columns |= CAM_COL_WEIGHT;
	int err = 0;
	for (size_t i = 0; i < filter->n_ranges && !err; i++)
		err = w->ops->samples(w, filter->ranges[i], columns, count_batch, d);
	return err;
}

static int count_total(void *arg, const struct cam_total *t)
{
	struct fold *d = arg;
	struct triple x = {.stack = t->stack.v, .weight = t->samples, .samples = t->samples};
	if (t->etype.v >= d->t->n_etypes || x.stack >= d->tree->n)
		return -EBADMSG;
	int err = make_root(d, cam_string(d->t, t->comm), CAM_PID_NONE, CAM_PID_NONE, &x.root);
	d->f->st.samples += t->samples;
	x.event = d->events[t->etype.v];
	d->plain[t->etype.v] += t->samples;
	if (!err)
		return add_triple(d, &x);
	if (err != -E2BIG)
		return err;
	d->f->st.dropped += t->samples;
	return 0;
}

static int find_format(void *arg, const struct cam_fact *fact)
{
	struct fold *d = arg;
	struct cam_text value = cam_string(d->t, fact->value);
	/* stackcollapse's rules are for what perf prints; names of other tools are what they are. */
	if (cam_text_equal(cam_string(d->t, fact->key), CAM_TEXT("format")) &&
	    !cam_text_equal(value, CAM_TEXT("perf script")) &&
	    !cam_text_equal(value, CAM_TEXT("perf.data")))
		d->rules.mode = cam_text_equal(value, CAM_TEXT("folded")) ? CAM_COLLAPSE_VERBATIM
									  : CAM_COLLAPSE_LIVE;
	return 0;
}

/* Whether a frame's text depends on more than its function. */
static bool needs_places(const struct fold *d)
{
	const struct cam_tables *t = d->t;
	if (d->rules.addrs)
		return true;
	if (d->rules.mode != CAM_COLLAPSE_TEXT)
		return false;
	for (size_t i = 0; i < t->n_modules; i++) {
		struct cam_text path = cam_string(t, t->modules[i].path);
		if (memmem(path.p, path.n, " (", 2))
			return true;
	}
	for (size_t i = 0; i < t->n_functions; i++) {
		const struct cam_function *fn = &t->functions[i];
		struct cam_text name = cam_string(t, fn->name);
		if (memmem(name.p, name.n, "+0x", 3) ||
		    (!name.n && fn->source == CAM_NAME_IMPORTED))
			return true;
	}
	return false;
}

static int prepare_events(struct fold *d)
{
	const struct cam_tables *t = d->t;
	d->events = reallocarray(NULL, t->n_etypes + 1, sizeof(*d->events));
	d->first_ns = reallocarray(NULL, t->n_etypes + 1, sizeof(*d->first_ns));
	d->plain = calloc(t->n_etypes + 1, sizeof(*d->plain));
	if (!d->events || !d->first_ns || !d->plain)
		return -ENOMEM;
	memset(d->first_ns, 0xff, (t->n_etypes + 1) * sizeof(*d->first_ns));
	d->detail_event = CAM_NONE;
	for (size_t i = 0; i < t->n_etypes; i++) {
		struct cam_collapse_event e = {.name = cam_string(t, t->etypes[i].name)};
		struct cam_str_id name = {CAM_NONE};
		int err = 0;
		if (d->rules.mode != CAM_COLLAPSE_TEXT ||
		    cam_collapse_event(e.name, d->has_time, CAM_TEXT(""), &e))
			err = cam_string_intern(&d->f->lines.names, e.name, &name);
		if (err)
			return err;
		d->events[i] = name.v;
	}
	return 0;
}

static int prepare(struct fold *d, struct cam_window *w)
{
	d->rules = d->f->o.rules;
	d->rules.mode = w->info.imported ? CAM_COLLAPSE_TEXT : CAM_COLLAPSE_LIVE;
	d->has_time = w->info.clock != CAM_CLOCK_ABSENT;
	int err = w->ops->tables(w, &d->t);
	if (!err && w->info.imported)
		err = w->ops->facts(w, find_format, d);
	if (err)
		return err;
	d->f->verbatim |= d->rules.mode == CAM_COLLAPSE_VERBATIM;
	/* Folded stacks have no samples of their own: their weights are the counts. */
	d->weigh = d->f->o.weight == CAM_FOLDED_PERIOD || d->rules.mode == CAM_COLLAPSE_VERBATIM;
	d->places = w->info.has_places && needs_places(d);
	d->tree = d->places ? &d->t->places : &d->t->stacks;
	d->n_items = d->places ? d->t->n_locations : d->t->n_functions;
	d->roots = reallocarray(NULL, d->t->n_tasks + 1, sizeof(*d->roots));
	d->frames[0] = calloc(d->n_items + 1, sizeof(struct frame));
	d->frames[1] = calloc(d->n_items + 1, sizeof(struct frame));
	if (!d->roots || !d->frames[0] || !d->frames[1])
		return -ENOMEM;
	memset(d->roots, 0xff, (d->t->n_tasks + 1) * sizeof(*d->roots));
	d->n_names = 1; /* so that from = 0 is none */
	err = cam_vec_reserve(&d->names, &d->cap_names, d->n_names, sizeof(*d->names), UINT32_MAX);
	return err ? err : prepare_events(d);
}

static void release(struct fold *d)
{
	free(d->roots);
	free(d->frames[0]);
	free(d->frames[1]);
	free(d->names);
	free(d->events);
	free(d->plain);
	free(d->first_ns);
	free(d->triples);
	free(d->path);
	cam_index_free(&d->index);
}

/* The window's own totals answer what depends on neither thread, period, address nor time. */
static bool totals_suffice(const struct fold *d)
{
	const struct cam_row_filter *filter = d->filter;
	return !filter->take && filter->n_ranges == 1 && d->rules.mode == CAM_COLLAPSE_LIVE &&
	       !d->places && !d->rules.with_pid && !d->rules.with_tid &&
	       d->f->o.weight == CAM_FOLDED_SAMPLES && filter->ranges[0].from_ns == 0 &&
	       filter->ranges[0].to_ns == UINT64_MAX;
}

int cam_folded_add(struct cam_folded *f, struct cam_window *w, struct cam_range range)
{
	return cam_folded_add_rows(f, w, &(struct cam_row_filter){.ranges = &range, .n_ranges = 1});
}

int cam_folded_add_rows(struct cam_folded *f, struct cam_window *w,
			const struct cam_row_filter *filter)
{
	struct fold d = {.f = f, .filter = filter};
	int err = prepare(&d, w);
	if (!err)
		err = totals_suffice(&d) ? w->ops->totals(w, count_total, &d)
					 : count_samples(&d, w);
	if (d.t && d.first_ns && d.plain) {
		int late = flush(&d);
		err = err ? err : late;
	}
	release(&d);
	f->st.windows++;
	f->st.damage.chunks += w->damage.chunks;
	f->st.damage.bytes += w->damage.bytes;
	f->st.damage.samples += w->damage.samples;
	f->st.damage.stacks += w->damage.stacks;
	return err;
}

int cam_folded_write(struct cam_folded *f, struct cam_out *out)
{
	/* Folded stacks whose counts had a fraction (folded_in.h) get it back. */
	f->lines.thousandths =
		f->verbatim && f->have_event &&
		cam_text_equal(cam_string(&f->lines.names, f->event), CAM_TEXT("thousandths"));
	return cam_folded_lines_write(&f->lines, out, &f->st.lines);
}
