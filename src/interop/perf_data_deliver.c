// SPDX-License-Identifier: Apache-2.0
/*
 * A batch of samples, all of them resolved to numbers, to the sink.
 *
 * Invariants
 *  1. begin() is called once for a sample, before any of its definitions: so ids of the sink are taken
 *     after it, and cached with the generation they are of.
 *  2. Every sample of the file is in exactly one of: samples, malformed, refused.
 */
#include "base/units.h"
#include "interop/frame.h"
#include "interop/perf_data_reader.h"
#include "interop/perf_script_text.h"
#include "interop/trace_print.h"

#include <errno.h>
#include <linux/perf_event.h>

#define EPOCH_NS       (1000000000ull * CAM_NS_PER_SEC)
#define REFERENCE_NS   CAM_NS_PER_US
#define WRITTEN_NS     (10 * CAM_NS_PER_SEC)
#define MAX_KEPT_TASKS (1u << 17)
#define AHEAD	       8u /* samples: a chain that was met before is a miss in every cache */

bool cam_perf_reader_refused(int err)
{
	return err == -E2BIG || err == -ERANGE;
}

static bool find_anchor(const struct cam_perf_reader *r, uint64_t time_ns, struct cam_anchor *out)
{
	const struct cam_import_options *o = r->options;
	*out = (struct cam_anchor){
		.time_ns = time_ns,
		.raw_ns = CAM_TIME_NONE,
		.boottime_ns = CAM_TIME_NONE,
		.sched_ns = CAM_TIME_NONE,
	};
	if (r->meta.has_clock) {
		out->time_ns = r->meta.clock_ns;
		out->realtime_ns = (int64_t)r->meta.wall_ns;
		out->uncertainty_ns = REFERENCE_NS;
	} else if (time_ns >= EPOCH_NS && time_ns <= INT64_MAX) {
		/* It can only count from 1970. */
		out->realtime_ns = (int64_t)time_ns;
	} else if (o->began_ns) {
		out->realtime_ns = o->began_ns;
		out->uncertainty_ns = o->began_uncertain_ns;
	} else if (o->written_ns && r->meta.last_ns) {
		out->time_ns = r->meta.last_ns;
		out->realtime_ns = o->written_ns;
		out->uncertainty_ns = WRITTEN_NS;
	} else {
		return false;
	}
	return true;
}

static int report_malformed(struct cam_perf_reader *r)
{
	if (!r->unreported || !r->begun)
		return 0;
	struct cam_ledger_row row = {
		.cause = CAM_CAUSE_MALFORMED,
		.cpu = CAM_CPU_NONE,
		.from_ns = r->last_ns,
		.to_ns = r->last_ns,
		.samples = r->unreported,
	};
	r->unreported = 0;
	int err = cam_sink_lost(r->sink, &row);
	return cam_perf_reader_refused(err) ? 0 : err;
}

/* perf aligns the names of events to the longest, whether that one has samples or not. */
static int say_longest_event(struct cam_perf_reader *r)
{
	if (r->events.n < 2)
		return 0;
	const struct cam_perf_event *longest = r->events.rows;
	for (size_t i = 1; i < r->events.n; i++) {
		if (r->events.rows[i].name_n > longest->name_n)
			longest = &r->events.rows[i];
	}
	int err = cam_sink_fact(r->sink, CAM_TEXT(CAM_FACT_LONGEST_EVENT),
				(struct cam_text){longest->name, longest->name_n});
	return err == -E2BIG ? 0 : err;
}

int cam_perf_reader_begin(struct cam_perf_reader *r, uint64_t time_ns)
{
	int err = r->begun ? 0 : say_longest_event(r);
	if (!err)
		err = cam_sink_begin(r->sink, time_ns);
	if (err)
		return err;
	r->begun = true;
	struct cam_anchor anchor;
	if (!r->anchored && time_ns != CAM_TIME_NONE && find_anchor(r, time_ns, &anchor)) {
		r->anchored = true;
		err = cam_sink_anchor(r->sink, &anchor);
	}
	if (time_ns != CAM_TIME_NONE)
		r->last_ns = time_ns;
	return err ? err : report_malformed(r);
}

static int define_event(struct cam_perf_reader *r, struct cam_perf_event *e,
			struct cam_etype_id *out)
{
	if (e->sink_id && e->generation == r->sink->generation) {
		out->v = e->sink_id - 1;
		return 0;
	}
	struct cam_etype t = {.period_ns = e->period_ns,
			      .has_weight = !e->tracepoint,
			      .flat = !(e->attr.sample_type & PERF_SAMPLE_CALLCHAIN)};
	int err = r->sink->string(r->sink, (struct cam_text){e->name, e->name_n}, &t.name);
	if (!err)
		err = r->sink->etype(r->sink, &t, out);
	if (!err) {
		e->sink_id = out->v + 1;
		e->generation = r->sink->generation;
	}
	return err;
}

static int define_task(struct cam_perf_reader *r, struct cam_perf_task *k, struct cam_task_id *out)
{
	if (k->sink_id != CAM_NONE && k->generation == r->sink->generation) {
		out->v = k->sink_id;
		return 0;
	}
	const struct cam_tables *texts = &r->spaces.texts;
	struct cam_task t = {.pid = k->pid, .tid = k->tid, .uid = CAM_UID_NONE};
	int err = r->sink->string(r->sink, cam_string(texts, k->comm), &t.comm);
	if (!err)
		err = r->sink->string(r->sink, cam_string(texts, k->cgroup), &t.cgroup);
	if (!err)
		err = r->sink->task(r->sink, &t, out);
	if (!err) {
		k->sink_id = out->v;
		k->generation = r->sink->generation;
	}
	return err;
}

/* A pointer in a tracepoint to a function of the kernel's: few, but each is asked for by itself. */
static bool find_symbol(void *arg, uint64_t address, struct cam_text *name, uint64_t *offset)
{
	struct cam_perf_reader *r = arg;
	uint32_t row;
	if (!cam_perf_space_find(&r->spaces.kernel, address) ||
	    cam_perf_stacks_find(&r->stacks, &r->spaces.kernel, true, address, &row) ||
	    cam_perf_stacks_name(&r->stacks) || !r->stacks.rows[row].name.v)
		return false;
	*name = cam_perf_stacks_text(&r->stacks, row);
	*offset = r->stacks.rows[row].func_offset;
	return true;
}

/* The text of a tracepoint's fields, as perf prints it. */
static int define_detail(struct cam_perf_reader *r, const struct cam_perf_event *e,
			 const struct cam_perf_more *more, struct cam_str_id *out)
{
	if (!e->format || !more->raw)
		return 0;
	cam_buf_clear(&r->detail);
	cam_trace_print(&r->meta.formats.rows[e->format - 1], more->raw, more->raw_bytes, r->swap,
			&(struct cam_trace_symbols){r, find_symbol}, &r->detail);
	size_t n = r->detail.len;
	struct cam_text text = {(const char *)r->detail.data, n};
	/* One that ends like a head, "a: 5 cycles:", is read as one by stackcollapse. */
	if (r->options->drop_details && (!n || text.p[n - 1] != ':'))
		text = CAM_TEXT(CAM_IMPORT_TEXT_DROPPED);
	return n ? r->sink->string(r->sink, text, out) : 0;
}

static int define_frames(struct cam_perf_reader *r, const struct cam_perf_chain *c, uint64_t ip,
			 struct cam_loc_id *frames, size_t *n)
{
	int err = 0;
	*n = 0;
	for (size_t i = 0; i < c->n_frames && !err; i++) {
		uint32_t row = r->frames[c->first + i];
		size_t inlined = 0, room = CAM_MAX_STACK_FRAMES - *n - (c->n_frames - i) - 1;
		if (r->options->inlines)
			err = cam_perf_stacks_define_inlined(&r->stacks, row, &frames[*n], room,
							     &inlined);
		*n += inlined;
		if (!err && ip)
			err = cam_perf_stacks_define_at(&r->stacks, row, ip, &frames[(*n)++]);
		else if (!err)
			err = cam_perf_stacks_define(&r->stacks, row, &frames[(*n)++]);
	}
	if (!err && c->truncated)
		err = cam_frame_truncated(r->sink, &frames[(*n)++]);
	else if (!err && c->broken)
		err = cam_frame_broken(r->sink, &frames[(*n)++]);
	return err;
}

/* The stack of a sample: the sink's number of it, where that is known or can be had. */
static int define_stack(struct cam_perf_reader *r, const struct cam_perf_pending *p, uint64_t ip,
			struct cam_loc_id *frames, struct cam_sink_sample *s)
{
	struct cam_perf_chain none = {0}, *c = &none;
	if (p->chain != CAM_NONE)
		c = &r->chains.rows[p->chain];
	if (c->placed && c->generation == r->sink->generation) {
		s->place = c->place;
		return 0;
	}
	/* The root of all stacks, where they were not asked for. */
	if (!c->n_frames && !c->truncated && !c->broken && r->sink->stack)
		return 0;
	int err = define_frames(r, c, ip, frames, &s->n_frames);
	s->frames = frames;
	if (err || !r->sink->stack)
		return err;
	err = r->sink->stack(r->sink, frames, s->n_frames, &s->place);
	c->placed = !err;
	c->place = s->place;
	c->generation = r->sink->generation;
	s->frames = NULL;
	return err;
}

static int deliver(struct cam_perf_reader *r, const struct cam_perf_pending *p,
		   const struct cam_perf_more *more, struct cam_loc_id *frames)
{
	struct cam_sink_sample s = {.time_ns = p->time_ns, .weight = p->weight, .cpu = p->cpu};
	struct cam_perf_event *e = &r->events.rows[p->event];
	int err = cam_perf_reader_begin(r, p->time_ns);
	if (!err)
		err = define_event(r, e, &s.etype);
	if (!err)
		err = define_task(r, &r->tasks[p->task], &s.task);
	if (!err && more)
		err = define_detail(r, e, more, &s.detail);
	if (!err)
		err = define_stack(r, p, more ? more->ip : 0, frames, &s);
	return err ? err : r->sink->sample(r->sink, &s);
}

static int deliver_loss(struct cam_perf_reader *r, struct cam_ledger_row row)
{
	if (row.to_ns == CAM_TIME_NONE)
		row.from_ns = row.to_ns = r->last_ns;
	int err = cam_perf_reader_begin(r, row.to_ns);
	if (!err)
		err = cam_sink_lost(r->sink, &row);
	return cam_perf_reader_refused(err) ? 0 : err;
}

/* What was kept for the next batch goes where there is too much of it, or it means something else now. */
static void end_batch(struct cam_perf_reader *r)
{
	r->n_pending = r->n_losses = r->n_more = 0;
	r->has_bytes = false;
	if (cam_perf_stacks_trim(&r->stacks) || r->n_frames > CAM_PERF_KEPT_FRAMES ||
	    r->chains.n > CAM_PERF_MANY_CHAINS) {
		r->n_frames = 0;
		cam_perf_chains_forget(&r->chains);
	}
	r->old_frames = r->n_frames;
	if (r->n_tasks > MAX_KEPT_TASKS) {
		r->n_tasks = 0;
		r->changes++;
		cam_index_free(&r->task_index);
	}
}

/* The sink's ids of a chain's frames, where its stack will have to be made of them. */
static void prefetch_frames(const struct cam_perf_reader *r, uint32_t chain)
{
	if (chain == CAM_NONE || r->chains.rows[chain].placed)
		return;
	const struct cam_perf_chain *c = &r->chains.rows[chain];
	for (size_t i = 0; i < c->n_frames; i++)
		__builtin_prefetch(&r->stacks.sink_ids[r->frames[c->first + i]]);
}

static int deliver_pending(struct cam_perf_reader *r, const struct cam_perf_pending *p,
			   struct cam_loc_id *frames)
{
	const struct cam_perf_more *more = p->more ? &r->more[p->more - 1] : NULL;
	if (more && more->lost)
		return deliver_loss(r, r->losses[more->lost - 1]);
	int err = deliver(r, p, more, frames);
	r->st->samples += !err;
	r->st->truncated_stacks +=
		!err && p->chain != CAM_NONE && r->chains.rows[p->chain].truncated;
	if (!cam_perf_reader_refused(err))
		return err;
	r->st->refused_samples++;
	return 0;
}

int cam_perf_reader_deliver_now(struct cam_perf_reader *r, const struct cam_perf_pending *p)
{
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	return deliver_pending(r, p, frames);
}

int cam_perf_reader_deliver(struct cam_perf_reader *r)
{
	struct cam_loc_id frames[CAM_MAX_STACK_FRAMES];
	int err = r->n_copies ? cam_perf_reader_unwind(r) : 0;
	if (!err)
		err = cam_perf_stacks_name(&r->stacks);
	for (size_t i = 0; i < r->n_pending && !err; i++) {
		const struct cam_perf_pending *p = &r->pending[i];
		if (i + AHEAD < r->n_pending && p[AHEAD].chain != CAM_NONE)
			__builtin_prefetch(&r->chains.rows[p[AHEAD].chain]);
		if (i + AHEAD / 2 < r->n_pending)
			prefetch_frames(r, p[AHEAD / 2].chain);
		err = deliver_pending(r, p, frames);
	}
	end_batch(r);
	return err;
}

/* Where the file does not say when its last sample was taken, that is known only now. */
static int anchor_late(struct cam_perf_reader *r)
{
	struct cam_anchor anchor;
	r->meta.last_ns = r->last_ns;
	if (r->anchored || !r->begun || !r->last_ns || !find_anchor(r, r->last_ns, &anchor))
		return 0;
	r->anchored = true;
	return cam_sink_anchor(r->sink, &anchor);
}

/* Who was asked for names, and was not there. */
static void count_files(struct cam_perf_reader *r)
{
	for (size_t i = 0; i < r->spaces.n_objects; i++) {
		const struct cam_perf_object *o = &r->spaces.objects[i];
		bool named = o->kind == CAM_MODULE_FILE || o->kind == CAM_MODULE_KERNEL;
		r->st->files += named && o->file;
		r->st->files_not_here += named && o->file == CAM_NONE;
	}
}

int cam_perf_reader_finish(struct cam_perf_reader *r)
{
	int err = cam_perf_reader_deliver(r);
	count_files(r);
	if (!err)
		err = anchor_late(r);
	r->st->unknown_code = r->spaces.refused;
	/* The count at the end has those in it that were told as they happened. */
	uint64_t more = r->lost_at_end > r->lost_records ? r->lost_at_end - r->lost_records : 0;
	r->st->lost_samples += more;
	const struct cam_ledger_row row = {
		.cause = CAM_CAUSE_LOST_RING,
		.cpu = CAM_CPU_NONE,
		.from_ns = r->last_ns,
		.to_ns = r->last_ns,
		.samples = more,
	};
	if (!err && more && r->begun)
		err = cam_sink_lost(r->sink, &row);
	/* How many samples are gone with what is damaged or missing nobody knows: one, at least. */
	if ((r->st->damaged_bytes || r->st->missing_bytes) && !r->unreported)
		r->unreported = 1;
	if (!err || cam_perf_reader_refused(err))
		err = report_malformed(r);
	return err;
}
