// SPDX-License-Identifier: Apache-2.0
/*
 * How a stream of samples becomes windows.
 *
 * A window is cut by timestamp, before any of the sample's definitions arrive: begin() is the only
 * place where the tables change owner, so no id ever crosses a cut. Blocks go to the journal when
 * a second of samples is together (or CAM_OPEN_WINDOW_BLOCK of them), so a crash costs about a second.
 *
 * Invariants
 *  1. Between begin() and sample() the tables only grow.
 *  2. Everything pending refers to the tables of the open window; a cut flushes first.
 *  3. A refused sample is in the ledger: dropped = sum of its rows' samples.
 *  4. Facts and anchors are kept for the life of the collector and repeated in each window, so
 *     that a window stands alone.
 *
 * Example: window_ns = 120 s, samples at 10.0, 129.9, 130.0, 131.0, 129.95, 5.0.
 * The first opens [10, 130); the third cuts it and opens [130, 250); 129.95 is late by less than
 * LATE_NS and stays in the open window; 5.0 is another recording (files put one after the other)
 * and opens a window of its own.
 */
#include "ingest/collect.h"

#include "base/units.h"
#include "base/vec.h"
#include "ingest/open_window.h"

#define BLOCK_NS CAM_NS_PER_SEC
#define LATE_NS	 CAM_NS_PER_SEC
/* Times that jump back make a window of their own this often, then stay in the open one. */
#define MAX_BACKWARD_CUTS 256u
#define MAX_EQUAL_WINDOWS 1024u
#define MAX_ANCHORS	  4096u
#define MAX_PENDING	  65536u
#define STACK_CACHE_SLOTS 65536u

struct cam_collect {
	struct cam_sink sink;
	struct cam_collect_options options;
	struct cam_collect_stats stats;
	struct cam_open_window w;

	/* The open window. */
	uint64_t start_ns, last_ns;
	uint64_t first_ns; /* of all samples; UINT64_MAX: none has a time */
	uint64_t window_samples;
	uint64_t bound_drops; /* not yet in the ledger */
	uint64_t block_start_ns;
	bool timed;   /* its samples carry times */
	bool refused; /* the sample begun last has been counted as dropped */
	uint64_t backward_cuts;

	/* Kept for every window. */
	struct cam_facts facts;
	struct cam_anchor *anchors;
	size_t n_anchors, cap_anchors;
};

static struct cam_collect *self_of(struct cam_sink *s)
{
	return s->self;
}

static int note_bound_drops(struct cam_collect *c)
{
	if (!c->bound_drops)
		return 0;
	struct cam_ledger_row row = {
		.cause = CAM_CAUSE_BOUND,
		.cpu = CAM_CPU_NONE,
		.from_ns = c->start_ns,
		.to_ns = c->last_ns,
		.samples = c->bound_drops,
	};
	int err = cam_open_window_ledger(&c->w, &row);
	if (!err)
		c->bound_drops = 0;
	return err;
}

static int flush(struct cam_collect *c)
{
	if (!c->w.begun)
		return 0;
	int err = note_bound_drops(c);
	return err ? err : cam_open_window_flush(&c->w, &c->facts);
}

int cam_collect_finish(struct cam_collect *c)
{
	if (!c->w.begun)
		return 0;
	int err = flush(c);
	if (err)
		return err;
	/* The last sample was observed: the end lies behind it. */
	uint64_t end_ns = c->timed ? c->last_ns + 1 : CAM_TIME_NONE;
	return cam_open_window_end(&c->w, end_ns, false);
}

/* The same file gives the same id; two files, or two recordings in one, different ones. */
static struct cam_boot_id foreign_boot_id(const struct cam_collect *c, uint64_t start_ns)
{
	struct cam_boot_id id;
	uint64_t a = 0xcbf29ce484222325u, b = start_ns;
	for (size_t i = 0; i < c->facts.n; i++) {
		const struct cam_buf *parts[] = {&c->facts.rows[i].key, &c->facts.rows[i].value};
		for (size_t k = 0; k < 2; k++) {
			for (size_t j = 0; j < parts[k]->len; j++)
				a = (a ^ parts[k]->data[j]) * 0x100000001b3u;
		}
	}
	memcpy(id.bytes, &a, 8);
	memcpy(id.bytes + 8, &b, 8);
	return id;
}

static struct cam_text host_of(const struct cam_collect *c)
{
	for (size_t i = c->facts.n; i-- > 0;) {
		if (cam_text_equal(cam_facts_text(&c->facts.rows[i].key), CAM_TEXT("hostname")))
			return cam_facts_text(&c->facts.rows[i].value);
	}
	return c->options.host;
}

static int open_window(struct cam_collect *c, uint64_t time_ns)
{
	struct cam_window_head head = {
		.clock = time_ns == CAM_TIME_NONE ? CAM_CLOCK_ABSENT : c->options.clock,
		.start_ns = time_ns,
		/* A guess from the first sample; sealing falls back to 1 where it is wrong. */
		.time_unit_ns = time_ns % CAM_NS_PER_US == 0 ? CAM_NS_PER_US : 1,
		.keep_places = c->options.imported,
		.imported = c->options.imported,
	};
	int err = cam_open_window_start(&c->w);
	if (err)
		return err;
	c->sink.generation++;
	head.boot_id = foreign_boot_id(c, time_ns);
	c->w.n_anchors = 0;
	for (size_t i = 0; i < c->n_anchors && !err; i++)
		err = cam_open_window_anchor(&c->w, &c->anchors[i]);
	if (!err)
		err = cam_open_window_begin(&c->w, &head, host_of(c));
	if (err) {
		cam_tables_free(&c->w.tables);
		c->w.started = false;
		return err;
	}
	c->timed = time_ns != CAM_TIME_NONE;
	c->start_ns = c->last_ns = c->block_start_ns = time_ns;
	c->window_samples = 0;
	c->stats.windows++;
	return 0;
}

/* 0: stays; 1: cut; -ERANGE: refuse. */
static int must_cut(struct cam_collect *c, uint64_t time_ns)
{
	const struct cam_collect_options *o = &c->options;
	if (o->max_samples && c->window_samples >= o->max_samples)
		return 1;
	/* Tables grow by doubling: below half of the bound, one more sample cannot pass it. */
	if (c->w.tables.bytes > o->max_table_bytes / 2)
		return 1;
	/* Nobody's clock stands there, and what lies behind it could not be counted. */
	if (time_ns != CAM_TIME_NONE && time_ns > INT64_MAX)
		return -ERANGE;
	/* Without a time there is no place for it among samples that have one. */
	if (c->timed && time_ns == CAM_TIME_NONE)
		return -ERANGE;
	/* Sparse times would cut a window at every sample: windows get longer as they get many. */
	uint64_t window_ns = o->window_ns;
	for (uint32_t n = c->stats.windows; n > MAX_EQUAL_WINDOWS && window_ns < UINT64_MAX / 16;
	     n /= 2)
		window_ns *= 16;
	if (!window_ns || !c->timed)
		return 0;
	if (time_ns >= c->start_ns)
		return time_ns - c->start_ns >= window_ns;
	if (c->start_ns - time_ns <= LATE_NS)
		return 0;
	if (c->backward_cuts >= MAX_BACKWARD_CUTS)
		return 0;
	c->backward_cuts++;
	return 1;
}

static int collect_begin(struct cam_sink *s, uint64_t time_ns)
{
	struct cam_collect *c = self_of(s);
	c->refused = false;
	if (c->w.begun) {
		int cut = must_cut(c, time_ns);
		if (cut < 0) {
			c->stats.dropped++;
			c->bound_drops++;
			return cut;
		}
		if (cut) {
			int err = cam_collect_finish(c);
			if (err)
				return err;
		}
	}
	return c->w.begun ? 0 : open_window(c, time_ns);
}

/* A sample is refused once, however many of its definitions are. */
static int count_refusal(struct cam_collect *c, int err)
{
	if (err == -E2BIG && !c->refused) {
		c->refused = true;
		c->stats.dropped++;
		c->bound_drops++;
	}
	return err;
}

/* Definitions before the first begin() have no window to live in. */
#define DEFINE(fn, row_type, id_type, intern)                                                   \
	static int fn(struct cam_sink *s, row_type row, id_type *out)                           \
	{                                                                                       \
		struct cam_collect *c = self_of(s);                                             \
		return c->w.begun ? count_refusal(c, intern(&c->w.tables, row, out)) : -EINVAL; \
	}
DEFINE(collect_string, struct cam_text, struct cam_str_id, cam_string_intern)
DEFINE(collect_module, const struct cam_module *, struct cam_module_id, cam_module_intern)
DEFINE(collect_function, const struct cam_function *, struct cam_func_id, cam_function_intern)
DEFINE(collect_location, const struct cam_location *, struct cam_loc_id, cam_location_intern)
DEFINE(collect_task, const struct cam_task *, struct cam_task_id, cam_task_intern)
DEFINE(collect_etype, const struct cam_etype *, struct cam_etype_id, cam_etype_intern)

static bool frames_in_range(const struct cam_tables *t, const struct cam_loc_id *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (frames[i].v >= t->n_locations)
			return false;
	}
	return true;
}

static bool ids_in_range(const struct cam_tables *t, const struct cam_sink_sample *s)
{
	if (s->task.v >= t->n_tasks || s->etype.v >= t->n_etypes || s->detail.v >= t->strings.n)
		return false;
	return s->frames ? frames_in_range(t, s->frames, s->n_frames) : s->place.v < t->places.n;
}

static int collect_stack(struct cam_sink *s, const struct cam_loc_id *frames, size_t n,
			 struct cam_place_id *out)
{
	struct cam_collect *c = self_of(s);
	if (!c->w.begun || !frames_in_range(&c->w.tables, frames, n))
		return -EINVAL;
	return count_refusal(c, cam_open_window_place(&c->w, frames, n, out));
}

static int collect_sample(struct cam_sink *s, const struct cam_sink_sample *in)
{
	struct cam_collect *c = self_of(s);
	if (!c->w.begun || !ids_in_range(&c->w.tables, in))
		return -EINVAL;
	bool timed = c->timed;
	if (timed && in->time_ns == CAM_TIME_NONE)
		return -EINVAL;
	int err = 0;
	if (c->w.n_samples >= CAM_OPEN_WINDOW_BLOCK ||
	    (timed && c->w.n_samples && in->time_ns >= c->block_start_ns + BLOCK_NS))
		err = flush(c);
	if (err)
		return err;
	if (c->w.n_samples == 0)
		c->block_start_ns = in->time_ns;
	struct cam_sample out = {
		.time_ns = timed ? in->time_ns : CAM_TIME_NONE,
		.weight = in->weight,
		.cpu = in->cpu,
		.task = in->task,
		.etype = in->etype,
		.detail = in->detail,
		.place = in->place,
	};
	if (in->frames)
		err = cam_open_window_place(&c->w, in->frames, in->n_frames, &out.place);
	if (!err)
		err = cam_open_window_sample(&c->w, &out);
	if (err)
		return count_refusal(c, err);
	c->window_samples++;
	c->stats.samples++;
	if (timed && in->time_ns > c->last_ns)
		c->last_ns = in->time_ns;
	if (timed && in->time_ns < c->first_ns)
		c->first_ns = in->time_ns;
	return 0;
}

/* Those that neither begin a window or a block nor end one. */
static size_t collect_alike(struct cam_sink *s, const struct cam_sink_sample *like,
			    const struct cam_sink_moment *at, size_t n)
{
	struct cam_collect *c = self_of(s);
	const struct cam_collect_options *o = &c->options;
	if (!c->w.begun || !c->timed || !c->w.n_samples || like->frames ||
	    !ids_in_range(&c->w.tables, like) || c->w.tables.bytes > o->max_table_bytes / 2)
		return 0;
	uint64_t end_ns = c->block_start_ns + BLOCK_NS, start_ns = o->window_ns ? c->start_ns : 0;
	if (o->window_ns && end_ns - start_ns > o->window_ns)
		end_ns = start_ns + o->window_ns;
	end_ns = end_ns > INT64_MAX ? INT64_MAX : end_ns;
	size_t room = CAM_OPEN_WINDOW_BLOCK - c->w.n_samples, i = 0;
	n = n < room ? n : room;
	if (o->max_samples && n > o->max_samples - c->window_samples)
		n = o->max_samples - c->window_samples;
	struct cam_sample out = {.weight = like->weight,
				 .task = like->task,
				 .etype = like->etype,
				 .detail = like->detail,
				 .place = like->place};
	for (; i < n && at[i].time_ns >= start_ns && at[i].time_ns < end_ns; i++) {
		out.time_ns = at[i].time_ns;
		out.cpu = at[i].cpu;
		if (cam_open_window_sample(&c->w, &out))
			break;
		c->last_ns = out.time_ns > c->last_ns ? out.time_ns : c->last_ns;
		c->first_ns = out.time_ns < c->first_ns ? out.time_ns : c->first_ns;
	}
	c->refused = false;
	c->window_samples += i;
	c->stats.samples += i;
	return i;
}

static int collect_lost(struct cam_sink *s, const struct cam_ledger_row *row)
{
	struct cam_collect *c = self_of(s);
	if (row->cause >= CAM_CAUSE_MAX)
		return -EINVAL;
	return cam_open_window_ledger(&c->w, row);
}

static int collect_anchor(struct cam_sink *s, const struct cam_anchor *a)
{
	struct cam_collect *c = self_of(s);
	int err = cam_vec_reserve(&c->anchors, &c->cap_anchors, c->n_anchors + 1,
				  sizeof(*c->anchors), MAX_ANCHORS);
	if (!err && c->w.begun)
		err = cam_open_window_anchor(&c->w, a);
	if (!err)
		c->anchors[c->n_anchors++] = *a;
	return err;
}

static int collect_event(struct cam_sink *s, const struct cam_event *e)
{
	struct cam_collect *c = self_of(s);
	size_t strings = c->w.tables.strings.n;
	if (!c->w.begun || e->source.v >= strings || e->text.v >= strings ||
	    e->severity >= CAM_SEVERITY_MAX)
		return -EINVAL;
	return cam_open_window_event(&c->w, e);
}

static int collect_fact(struct cam_sink *s, struct cam_text key, struct cam_text value)
{
	return cam_facts_add(&self_of(s)->facts, key, value);
}

int cam_collect_new(struct cam_journal *to, const struct cam_collect_options *o,
		    struct cam_collect **out)
{
	struct cam_collect *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	const struct cam_open_window_options window = {
		.max_table_bytes = o->max_table_bytes,
		.max_samples = CAM_OPEN_WINDOW_BLOCK + 1,
		.max_rows = MAX_PENDING,
		.place_slots = STACK_CACHE_SLOTS,
	};
	int err = cam_open_window_init(&c->w, to, &window);
	if (err) {
		free(c);
		return err;
	}
	c->options = *o;
	c->first_ns = UINT64_MAX;
	c->sink = (struct cam_sink){
		.self = c,
		.begin = collect_begin,
		.string = collect_string,
		.module = collect_module,
		.function = collect_function,
		.location = collect_location,
		.task = collect_task,
		.etype = collect_etype,
		.stack = collect_stack,
		.sample = collect_sample,
		.alike = collect_alike,
		.lost = collect_lost,
		.anchor = collect_anchor,
		.event = collect_event,
		.fact = collect_fact,
	};
	*out = c;
	return 0;
}

void cam_collect_free(struct cam_collect *c)
{
	if (!c)
		return;
	cam_open_window_free(&c->w);
	cam_facts_free(&c->facts);
	free(c->anchors);
	free(c);
}

struct cam_sink *cam_collect_sink(struct cam_collect *c)
{
	return &c->sink;
}

struct cam_collect_stats cam_collect_stats(const struct cam_collect *c)
{
	struct cam_collect_stats st = c->stats;
	if (!c->n_anchors && c->first_ns < c->last_ns)
		st.unplaced_ns = c->last_ns - c->first_ns;
	return st;
}
