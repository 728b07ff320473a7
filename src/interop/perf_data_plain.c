// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of which nothing counts but when they were and on which CPU: neither stacks nor tasks are asked for.
 *
 * Nearly all of a file are such, and most of the time would go into being careful with each. So they are queued, and given
 * to the sink, by the run: both functions do what the general way does (perf_data_in.c: step() and queue();
 * perf_data_records.c: a bare sample) for samples as nearly all are, and stop before the first that is not, or where there is
 * something to do first: the general way has it then. An idle CPU's samples (pid 0) are never plain.
 */
#include "interop/perf_data_reader.h"

#include <linux/perf_event.h>

#define SUSPECT_BYTES 2048u
#define AT_ONCE	      512u

/* The number of (event, period), which is nearly always that of the sample before; CAM_PERF_PLAIN_KINDS: they are too many. */
static uint32_t kind_of(struct cam_perf_plain *p, uint32_t event, uint64_t period)
{
	const struct cam_perf_plain_kind *last = &p->kinds[p->last];
	if (p->n && last->event == event && last->period == period)
		return p->last;
	uint32_t i = 0;
	while (i < p->n && (p->kinds[i].event != event || p->kinds[i].period != period))
		i++;
	if (i == CAM_PERF_PLAIN_KINDS)
		return i;
	if (i == p->n)
		p->kinds[p->n++] = (struct cam_perf_plain_kind){event, period};
	return p->last = i;
}

size_t cam_perf_plain_queue(struct cam_perf_reader *r, size_t stream, const uint8_t *p, size_t n)
{
	struct cam_perf_order *o = &r->order;
	uint64_t newest = o->streams[stream].newest;
	size_t at = 0;
	if (r->swap || n < CAM_PERF_RECORD_HEADER || !cam_perf_is_header(p, false))
		return 0;
	while (o->n < o->cap_entries) {
		const uint8_t *record = p + at;
		size_t bytes = cam_perf_load_u16(record + 6, false);
		if (cam_perf_load_u32(record, false) != PERF_RECORD_SAMPLE ||
		    bytes >= SUSPECT_BYTES || bytes + CAM_PERF_RECORD_HEADER > n - at ||
		    !cam_perf_is_header(record + bytes, false))
			break;
		const struct cam_perf_event *e =
			cam_perf_events_of(&r->events, record, bytes, true, false);
		size_t chain = e ? e->last_chain_at : 0;
		if (!chain || chain + 8 > bytes || !e->time_at || !e->cpu_at ||
		    cam_perf_load_u64(record + chain, false) > (bytes - chain - 8) / 8 ||
		    !cam_perf_load_u32(record + e->pid_at, false))
			break;
		uint64_t time_ns = cam_perf_load_u64(record + e->time_at, false);
		uint64_t period = e->period_at ? cam_perf_load_u64(record + e->period_at, false)
					       : e->attr.period;
		uint32_t kind = kind_of(&r->plain, (uint32_t)(e - r->events.rows), period);
		if (kind == CAM_PERF_PLAIN_KINDS)
			break;
		o->entries[o->n++] = (struct cam_perf_order_entry){
			.time_ns = time_ns,
			.at = cam_perf_load_u32(record + e->cpu_at, false),
			.what = (uint16_t)kind | CAM_PERF_ORDER_PLAIN,
		};
		newest = time_ns > newest ? time_ns : newest;
		at += bytes;
	}
	o->streams[stream].newest = newest;
	return at;
}

bool cam_perf_plain_leaves_out(const struct cam_perf_reader *r, const uint8_t *p, size_t bytes)
{
	if (!r->options->drop_tasks || bytes < CAM_PERF_RECORD_HEADER + 16)
		return false;
	bool kernel = (cam_perf_load_u16(p + 4, r->swap) & PERF_RECORD_MISC_CPUMODE_MASK) ==
		      PERF_RECORD_MISC_KERNEL;
	int32_t pid = (int32_t)cam_perf_load_u32(p + 8, r->swap);
	switch (cam_perf_load_u32(p, r->swap)) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return pid > 0 && !kernel;
	case PERF_RECORD_COMM:
		return pid > 0 && (int32_t)cam_perf_load_u32(p + 12, r->swap) > 0;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return pid > 0 && (int32_t)cam_perf_load_u32(p + 16, r->swap) > 0;
	default:
		return false;
	}
}

/* What the sink knows of such a sample already; false: something has to be said first, or others wait. */
static bool find_like(const struct cam_perf_reader *r, const struct cam_perf_plain_kind *k,
		      struct cam_sink_sample *like)
{
	const struct cam_perf_event *e = &r->events.rows[k->event];
	const struct cam_perf_recent *c =
		&r->recent[(uint32_t)CAM_PERF_PLAIN_TID % CAM_PERF_RECENT];
	uint32_t generation = r->sink->generation;
	if (!r->sink->alike || !r->begun || !r->anchored || r->unreported || r->n_pending ||
	    r->n_copies || r->stacks.n_asked != r->stacks.n || !e->sink_id ||
	    e->generation != generation || c->tid != CAM_PERF_PLAIN_TID ||
	    c->pid != CAM_PERF_PLAIN_TID || c->cgroup || c->changes != r->changes)
		return false;
	const struct cam_perf_task *t = &r->tasks[c->task];
	*like = (struct cam_sink_sample){.weight = e->tracepoint ? 1 : k->period,
					 .task = {t->sink_id},
					 .etype = {e->sink_id - 1}};
	return t->sink_id != CAM_NONE && t->generation == generation;
}

size_t cam_perf_plain_deliver(struct cam_perf_reader *r, const struct cam_perf_order_entry *e,
			      size_t n)
{
	struct cam_sink_sample like;
	struct cam_sink_moment moments[AT_ONCE];
	if (!find_like(r, &r->plain.kinds[e->what & CAM_PERF_ORDER_EVENT], &like))
		return 0;
	size_t run = 0;
	while (run < n && run < AT_ONCE && e[run].what == e->what) {
		moments[run] = (struct cam_sink_moment){e[run].time_ns, e[run].at};
		run++;
	}
	size_t taken = r->sink->alike(r->sink, &like, moments, run);
	if (taken)
		r->last_ns = e[taken - 1].time_ns;
	r->st->samples += taken;
	return taken;
}
