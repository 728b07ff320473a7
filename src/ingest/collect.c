// SPDX-License-Identifier: Apache-2.0
/*
 * How a stream of samples becomes windows.
 *
 * A window is cut by timestamp, before any of the sample's definitions arrive: begin() is the only
 * place where the tables change owner, so no id ever crosses a cut. Blocks go to the journal when
 * a second of samples is together (or BLOCK_SAMPLES of them), so a crash costs about a second.
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

#include "base/buf.h"
#include "base/units.h"
#include "base/vec.h"

#define BLOCK_NS      CAM_NS_PER_SEC
#define BLOCK_SAMPLES 8192u
#define LATE_NS	      CAM_NS_PER_SEC
/* Times that jump back make a window of their own this often, then stay in the open one. */
#define MAX_BACKWARD_CUTS 256u
#define MAX_EQUAL_WINDOWS 1024u
#define MAX_FACTS	  1024u
#define MAX_ANCHORS	  4096u
#define MAX_PENDING	  65536u
#define STACK_CACHE_SLOTS 65536u

struct fact {
	struct cam_buf key, value;
};

struct cam_collect {
	struct cam_sink sink;
	struct cam_journal *to;
	struct cam_collect_options options;
	struct cam_collect_stats stats;
	struct cam_tables tables;
	bool open;

	/* The open window. */
	uint64_t start_ns, last_ns;
	uint64_t window_samples;
	uint64_t bound_drops; /* not yet in the ledger */
	bool timed;	      /* its samples carry times */
	bool refused;	      /* the sample begun last has been counted as dropped */
	uint64_t backward_cuts;

	/* Pending for the next block. */
	struct cam_sample *samples;
	struct cam_event *events;
	struct cam_ledger_row *ledger;
	size_t n_samples, n_events, n_ledger;
	size_t cap_samples, cap_events, cap_ledger;
	uint64_t block_start_ns;

	/* Kept for every window. */
	struct fact *facts;
	struct cam_anchor *anchors;
	size_t n_facts, n_anchors, cap_facts, cap_anchors;
	size_t anchors_written;
	size_t facts_written;

	/* place + 1 by the hash of its frames; a hit is verified frame by frame. */
	uint32_t *stack_cache;
};

static struct cam_collect *self_of(struct cam_sink *s)
{
	return s->self;
}

static int add_ledger(struct cam_collect *c, const struct cam_ledger_row *row)
{
	int err = cam_vec_reserve(&c->ledger, &c->cap_ledger, c->n_ledger + 1, sizeof(*c->ledger),
				  MAX_PENDING);
	if (err)
		return err;
	c->ledger[c->n_ledger++] = *row;
	return 0;
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
	int err = add_ledger(c, &row);
	if (!err)
		c->bound_drops = 0;
	return err;
}

static struct cam_text buf_text(const struct cam_buf *b)
{
	return (struct cam_text){(const char *)b->data, b->len};
}

/* The facts not yet in this window, interned into its tables. */
static int intern_facts(struct cam_collect *c, struct cam_fact *out)
{
	for (size_t i = c->facts_written; i < c->n_facts; i++) {
		struct cam_fact *f = &out[i - c->facts_written];
		int err = cam_string_intern(&c->tables, buf_text(&c->facts[i].key), &f->key);
		if (!err)
			err = cam_string_intern(&c->tables, buf_text(&c->facts[i].value),
						&f->value);
		if (err)
			return err;
	}
	return 0;
}

static int flush(struct cam_collect *c)
{
	if (!c->open)
		return 0;
	int err = note_bound_drops(c);
	if (err)
		return err;
	size_t n_facts = c->n_facts - c->facts_written;
	struct cam_fact facts[MAX_FACTS];
	err = intern_facts(c, facts);
	if (err)
		return err;
	struct cam_block block = {
		.samples = c->samples,
		.n_samples = c->n_samples,
		.events = c->events,
		.n_events = c->n_events,
		.ledger = c->ledger,
		.n_ledger = c->n_ledger,
		.anchors = c->anchors ? c->anchors + c->anchors_written : NULL,
		.n_anchors = c->n_anchors - c->anchors_written,
		.facts = facts,
		.n_facts = n_facts,
	};
	if (!block.n_samples && !block.n_events && !block.n_ledger && !block.n_anchors &&
	    !block.n_facts)
		return 0;
	err = c->to->append(c->to, &c->tables, &block);
	if (err)
		return err;
	c->n_samples = c->n_events = c->n_ledger = 0;
	c->anchors_written = c->n_anchors;
	c->facts_written = c->n_facts;
	return 0;
}

int cam_collect_finish(struct cam_collect *c)
{
	if (!c->open)
		return 0;
	int err = flush(c);
	if (err)
		return err;
	/* The last sample was observed: the end lies behind it. */
	uint64_t end_ns = c->timed ? c->last_ns + 1 : CAM_TIME_NONE;
	err = c->to->end(c->to, end_ns, false);
	if (err)
		return err;
	c->open = false;
	if (c->to->keep)
		c->to->keep(c->to, &c->tables);
	cam_tables_free(&c->tables);
	return 0;
}

/* The same file gives the same id; two files, or two recordings in one, different ones. */
static struct cam_boot_id foreign_boot_id(const struct cam_collect *c, uint64_t start_ns)
{
	struct cam_boot_id id;
	uint64_t a = 0xcbf29ce484222325u, b = start_ns;
	for (size_t i = 0; i < c->n_facts; i++) {
		const struct cam_buf *parts[] = {&c->facts[i].key, &c->facts[i].value};
		for (size_t k = 0; k < 2; k++) {
			for (size_t j = 0; j < parts[k]->len; j++)
				a = (a ^ parts[k]->data[j]) * 0x100000001b3u;
		}
	}
	memcpy(id.bytes, &a, 8);
	memcpy(id.bytes + 8, &b, 8);
	return id;
}

static int intern_host(struct cam_collect *c, struct cam_str_id *out)
{
	struct cam_text host = c->options.host;
	for (size_t i = 0; i < c->n_facts; i++) {
		if (cam_text_equal(buf_text(&c->facts[i].key), CAM_TEXT("hostname")))
			host = buf_text(&c->facts[i].value);
	}
	return cam_string_intern(&c->tables, host, out);
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
	int err = cam_tables_init(&c->tables, c->options.max_table_bytes);
	if (err)
		return err;
	c->sink.generation++;
	head.boot_id = foreign_boot_id(c, time_ns);
	err = intern_host(c, &head.host);
	if (!err)
		err = c->to->begin(c->to, &c->tables, &head);
	if (err) {
		cam_tables_free(&c->tables);
		return err;
	}
	memset(c->stack_cache, 0, STACK_CACHE_SLOTS * sizeof(*c->stack_cache));
	c->open = true;
	c->timed = time_ns != CAM_TIME_NONE;
	c->start_ns = c->last_ns = c->block_start_ns = time_ns;
	c->window_samples = 0;
	c->anchors_written = c->facts_written = 0;
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
	if (c->tables.bytes > o->max_table_bytes / 2)
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
	if (c->open) {
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
	return c->open ? 0 : open_window(c, time_ns);
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
#define DEFINE(fn, row_type, id_type, intern)                                              \
	static int fn(struct cam_sink *s, row_type row, id_type *out)                      \
	{                                                                                  \
		struct cam_collect *c = self_of(s);                                        \
		return c->open ? count_refusal(c, intern(&c->tables, row, out)) : -EINVAL; \
	}
DEFINE(collect_string, struct cam_text, struct cam_str_id, cam_string_intern)
DEFINE(collect_module, const struct cam_module *, struct cam_module_id, cam_module_intern)
DEFINE(collect_function, const struct cam_function *, struct cam_func_id, cam_function_intern)
DEFINE(collect_location, const struct cam_location *, struct cam_loc_id, cam_location_intern)
DEFINE(collect_task, const struct cam_task *, struct cam_task_id, cam_task_intern)
DEFINE(collect_etype, const struct cam_etype *, struct cam_etype_id, cam_etype_intern)

static bool place_is(const struct cam_tables *t, uint32_t place, const struct cam_loc_id *frames,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (place == 0 || t->places.item[place] != frames[i].v)
			return false;
		place = t->places.parent[place];
	}
	return place == 0;
}

static int find_place(struct cam_collect *c, const struct cam_sink_sample *s,
		      struct cam_place_id *out)
{
	uint64_t hash = cam_hash(s->frames, s->n_frames * sizeof(*s->frames));
	uint32_t *slot = &c->stack_cache[hash % STACK_CACHE_SLOTS];
	if (*slot && place_is(&c->tables, *slot - 1, s->frames, s->n_frames)) {
		out->v = *slot - 1;
		return 0;
	}
	int err = cam_place_intern(&c->tables, s->frames, s->n_frames, out);
	if (!err)
		*slot = out->v + 1;
	return err;
}

static bool ids_in_range(const struct cam_tables *t, const struct cam_sink_sample *s)
{
	if (s->task.v >= t->n_tasks || s->etype.v >= t->n_etypes || s->detail.v >= t->strings.n)
		return false;
	for (size_t i = 0; i < s->n_frames; i++) {
		if (s->frames[i].v >= t->n_locations)
			return false;
	}
	return true;
}

static int collect_sample(struct cam_sink *s, const struct cam_sink_sample *in)
{
	struct cam_collect *c = self_of(s);
	if (!c->open || !ids_in_range(&c->tables, in))
		return -EINVAL;
	bool timed = c->timed;
	if (timed && in->time_ns == CAM_TIME_NONE)
		return -EINVAL;
	int err = 0;
	if (c->n_samples >= BLOCK_SAMPLES ||
	    (timed && c->n_samples && in->time_ns >= c->block_start_ns + BLOCK_NS))
		err = flush(c);
	if (err)
		return err;
	if (c->n_samples == 0)
		c->block_start_ns = in->time_ns;
	struct cam_sample out = {
		.time_ns = timed ? in->time_ns : CAM_TIME_NONE,
		.weight = in->weight,
		.cpu = in->cpu,
		.task = in->task,
		.etype = in->etype,
		.detail = in->detail,
	};
	err = find_place(c, in, &out.place);
	if (!err)
		err = cam_vec_reserve(&c->samples, &c->cap_samples, c->n_samples + 1,
				      sizeof(*c->samples), BLOCK_SAMPLES + 1);
	if (err)
		return count_refusal(c, err);
	c->samples[c->n_samples++] = out;
	c->window_samples++;
	c->stats.samples++;
	if (timed && in->time_ns > c->last_ns)
		c->last_ns = in->time_ns;
	return 0;
}

static int collect_lost(struct cam_sink *s, const struct cam_ledger_row *row)
{
	struct cam_collect *c = self_of(s);
	if (row->cause >= CAM_CAUSE_MAX)
		return -EINVAL;
	return add_ledger(c, row);
}

static int collect_anchor(struct cam_sink *s, const struct cam_anchor *a)
{
	struct cam_collect *c = self_of(s);
	int err = cam_vec_reserve(&c->anchors, &c->cap_anchors, c->n_anchors + 1,
				  sizeof(*c->anchors), MAX_ANCHORS);
	if (!err)
		c->anchors[c->n_anchors++] = *a;
	return err;
}

static int collect_event(struct cam_sink *s, const struct cam_event *e)
{
	struct cam_collect *c = self_of(s);
	if (!c->open || e->source.v >= c->tables.strings.n || e->text.v >= c->tables.strings.n ||
	    e->severity >= CAM_SEVERITY_MAX)
		return -EINVAL;
	int err = cam_vec_reserve(&c->events, &c->cap_events, c->n_events + 1, sizeof(*c->events),
				  MAX_PENDING);
	if (!err)
		c->events[c->n_events++] = *e;
	return err;
}

static int collect_fact(struct cam_sink *s, struct cam_text key, struct cam_text value)
{
	struct cam_collect *c = self_of(s);
	int err = cam_vec_reserve(&c->facts, &c->cap_facts, c->n_facts + 1, sizeof(*c->facts),
				  MAX_FACTS);
	if (err)
		return err;
	struct fact f = {.key = CAM_BUF(4096), .value = CAM_BUF(65536)};
	cam_buf_put(&f.key, key.p, key.n);
	cam_buf_put(&f.value, value.p, value.n);
	err = cam_buf_error(&f.key) ? cam_buf_error(&f.key) : cam_buf_error(&f.value);
	if (err) {
		cam_buf_free(&f.key);
		cam_buf_free(&f.value);
		return err;
	}
	c->facts[c->n_facts++] = f;
	return 0;
}

int cam_collect_new(struct cam_journal *to, const struct cam_collect_options *o,
		    struct cam_collect **out)
{
	struct cam_collect *c = calloc(1, sizeof(*c));
	if (c)
		c->stack_cache = calloc(STACK_CACHE_SLOTS, sizeof(*c->stack_cache));
	if (!c || !c->stack_cache) {
		free(c);
		return -ENOMEM;
	}
	c->to = to;
	c->options = *o;
	c->sink = (struct cam_sink){
		.self = c,
		.begin = collect_begin,
		.string = collect_string,
		.module = collect_module,
		.function = collect_function,
		.location = collect_location,
		.task = collect_task,
		.etype = collect_etype,
		.sample = collect_sample,
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
	cam_tables_free(&c->tables);
	for (size_t i = 0; i < c->n_facts; i++) {
		cam_buf_free(&c->facts[i].key);
		cam_buf_free(&c->facts[i].value);
	}
	free(c->facts);
	free(c->anchors);
	free(c->samples);
	free(c->events);
	free(c->ledger);
	free(c->stack_cache);
	free(c);
}

struct cam_sink *cam_collect_sink(struct cam_collect *c)
{
	return &c->sink;
}

struct cam_collect_stats cam_collect_stats(const struct cam_collect *c)
{
	return c->stats;
}
