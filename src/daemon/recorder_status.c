// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder_status.h"

#include "base/units.h"
#include "daemon/recorder_parts.h"
#include "helper/helper.h"

#include <string.h>
#include <unistd.h>

static uint32_t ppm_of(uint64_t cpu_ns, uint64_t ns)
{
	return ns ? (uint32_t)((double)cpu_ns * 1e6 / (double)ns) : 0;
}

static void fill_processes(const struct cam_recorder *r, uint64_t uptime_ns,
			   struct cam_status_process *p)
{
	static const char *const names[CAM_METER_ROLES] = {
		"recorder", "opener", "symboliser", "sealer", "server", "journal", "capsule",
	};
	struct cam_crew_stats crew = cam_crew_stats(r->crew);
	/* Not the meter's: that looks every few seconds only. */
	const int pids[CAM_METER_ROLES] = {
		[CAM_METER_RECORDER] = getpid(),
		[CAM_METER_OPENER] = crew.opener_pid,
		[CAM_METER_SYMBOLISER] = crew.symboliser_pid,
		[CAM_METER_SEALER] = cam_keeper_stats(r->keeper).sealer_pid,
		[CAM_METER_SERVER] = (int)r->meter.roles[CAM_METER_SERVER].pid,
		[CAM_METER_JOURNAL] = r->events.journal.helper.pid,
		[CAM_METER_CAPSULE] = r->capsules.child,
	};
	for (size_t i = 0; i < CAM_METER_ROLES; i++) {
		const struct cam_meter_reading *m = &r->meter.roles[i];
		uint64_t cpu_ns = cam_meter_cpu_now(&r->meter, (enum cam_meter_role)i, pids[i]);
		p[i] = (struct cam_status_process){
			.name = names[i],
			.pid = pids[i],
			.cpu_ns = cpu_ns,
			/* In the first minute: since the start, which is the dearest part. */
			.cpu_ppm = uptime_ns < 60 * CAM_NS_PER_SEC
					   ? ppm_of(cpu_ns, uptime_ns)
					   : ppm_of(m->minute_cpu_ns, m->minute_ns),
			.resident_bytes = cam_meter_resident(pids[i]),
		};
	}
	p[CAM_METER_OPENER].restarts = crew.opener_starts ? crew.opener_starts - 1 : 0;
	p[CAM_METER_SYMBOLISER].restarts = crew.symboliser_starts ? crew.symboliser_starts - 1 : 0;
}

#define MAX_BUDGETS 10

/* Every bound of memory there is: how many they are. */
static size_t fill_budgets(const struct cam_recorder *r, const struct cam_live_stats *l,
			   const struct cam_crew_stats *crew,
			   struct cam_status_budget b[MAX_BUDGETS])
{
	struct cam_drain_stats d = cam_drain_stats(r->drain);
	struct cam_unwinder *u = r->capture->unwinder;
	struct cam_unwinder_stats k = u ? u->stats(u) : (struct cam_unwinder_stats){0};
	const struct cam_status_budget budgets[MAX_BUDGETS] = {
		{"resident", cam_meter_resident(getpid()), CAM_RESIDENT_BYTES, 0},
		{"rings", r->capture->info.ring_bytes, 24u << 20, 0},
		{"queue", cam_queue_peak_bytes(r->queue), CAM_QUEUE_BYTES, d.refused},
		{"tables", l->table_bytes, 2 * CAM_TABLE_BYTES, l->dropped},
		{"processes", l->process_bytes, CAM_PROCESS_BYTES, 0},
		{"names", l->name_bytes, CAM_NAME_BYTES_MAX, 0},
		{"waiting samples", l->parked_bytes, l->max_parked_bytes, 0},
		{"copies of stacks", l->copy_bytes, l->max_copy_bytes, l->copies_refused},
		{"symboliser", cam_meter_resident(crew->symboliser_pid), CAM_SYMBOLISER_BYTES,
		 crew->left_out_files},
		{"tables in the kernel", k.table_bytes + k.image_bytes, k.max_bytes, k.refused},
	};
	memcpy(b, budgets, sizeof(budgets));
	return u ? MAX_BUDGETS : MAX_BUDGETS - 1;
}

static void fill_stacks(const struct cam_recorder *r, const struct cam_live_stats *l,
			struct cam_status_stacks *s)
{
	struct cam_unwinder *u = r->capture->unwinder;
	*s = (struct cam_status_stacks){
		.how = cam_text_of(r->stacks_words),
		.verifier = cam_text_of(r->verifier),
		.guessed = l->guessed,
		.copies = l->copies,
		.copies_unwound = l->copies_unwound,
		.copies_late = l->copies_late,
		.copies_refused = l->copies_refused,
		.by_tables = u != NULL,
		.tables_empty = l->tables_empty,
	};
	memcpy(s->ends, l->ends, sizeof(s->ends));
	if (!u)
		return;
	struct cam_unwinder_stats k = u->stats(u);
	s->table_bytes = k.table_bytes;
	s->image_bytes = k.image_bytes;
	s->max_bytes = k.max_bytes;
	s->copies_denied = k.copies_denied;
	s->tables = k.tables;
	s->images = k.images;
	s->processes = k.processes;
	s->evicted_tables = k.evicted_tables;
	s->evicted_images = k.evicted_images;
	s->refused = k.refused;
}

static void fill_store(struct cam_recorder *r, struct cam_status *s)
{
	struct cam_keeper_stats k = cam_keeper_stats(r->keeper);
	struct cam_io *io = cam_keeper_io(r->keeper);
	uint64_t total;
	s->windows_sealed = k.sealed;
	s->windows_waiting = k.waiting;
	s->max_bytes = r->settings->max_bytes;
	s->max_pinned_bytes = r->settings->max_pinned_bytes;
	s->oldest_realtime_ns = INT64_MIN;
	if (!io)
		return;
	io->ops->space(io, &total, &s->free_bytes);
	cam_store_pinned_bytes(io, &s->pinned_bytes);
	struct cam_source *source;
	if (cam_store_open_read(io, &source))
		return;
	size_t n = source->ops->count(source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *info;
		if (source->ops->info(source, i, &info))
			continue;
		if (!s->store_windows++)
			s->oldest_realtime_ns = info->realtime_ns;
		s->store_bytes += info->file_bytes;
		s->pins += info->pinned;
	}
	source->ops->close(source);
}

/* Of whole seconds: what has come of this one yet says nothing. */
static uint64_t samples_a_second(const struct cam_recorder *r)
{
	uint64_t span = r->last_second - r->start_ns / CAM_NS_PER_SEC;
	if (!span)
		return 0;
	/* The first second is not a whole one. */
	uint64_t ns = r->last_second * CAM_NS_PER_SEC - r->start_ns;
	if (span > 59) {
		span = 59;
		ns = span * CAM_NS_PER_SEC;
	}
	uint64_t now = r->minute_samples[r->last_second % 60];
	uint64_t then = r->minute_samples[(r->last_second - span) % 60];
	return (uint64_t)((double)(now - then) * (double)CAM_NS_PER_SEC / (double)ns + 0.5);
}

void cam_recorder_status(struct cam_recorder *r, struct cam_buf *out)
{
	struct cam_live_stats l = cam_live_stats(r->live);
	const struct cam_capture_info *i = &r->capture->info;
	struct cam_status_process processes[CAM_METER_ROLES];
	struct cam_status_budget budgets[MAX_BUDGETS];
	struct cam_status_error errors[CAM_RECORDER_ERRORS];
	struct cam_status s = {
		.store = cam_text_of(r->settings->store),
		.control = cam_text_of(r->control_path),
		.config = cam_text_of(r->settings->file),
		.since_realtime_ns = r->start_realtime_ns,
		.uptime_ns = cam_clock_now(r->clock) - r->start_ns,
		.source = i->source,
		.event = i->event,
		.why_source = cam_text_of(r->why_source),
		.hz = r->kernel_hz && r->kernel_hz < r->shedder.hz ? r->kernel_hz : r->shedder.hz,
		.wanted_hz = r->settings->hz,
		.cpus = i->cpus,
		.kernel_stacks = i->kernel_stacks,
		.rings_shrunk = i->rings_shrunk,
		.scope = cam_text_of(r->scope_words),
		.samples = l.samples,
		.max_cpu_ppm = r->settings->max_cpu_ppm,
		.shedding =
			cam_text_of(r->shedder.hz < r->shedder.wanted_hz ? "sampling rate" : ""),
		.processes = processes,
		.n_processes = CAM_METER_ROLES,
		.budgets = budgets,
		.ring_bytes = i->ring_bytes,
		.sample_ring_bytes = i->sample_ring_bytes,
		.side_ring_bytes = i->side_ring_bytes,
		.bytes_written = cam_meter_written() + cam_keeper_stats(r->keeper).sealed_bytes,
		.window_ns = r->settings->window_ns,
		.errors = errors,
		.n_errors = r->n_mishaps,
	};
	s.samples_per_second = samples_a_second(r);
	memcpy(s.by_cause, l.by_cause, sizeof(s.by_cause));
	fill_stacks(r, &l, &s.stacks);
	struct cam_crew_stats crew = cam_crew_stats(r->crew);
	s.names = (struct cam_status_names){
		.held = crew.held_files,
		.left_out = crew.left_out_files,
		.elsewhere = crew.elsewhere_files,
		.poisoned = crew.poisoned_files,
		.symbols_only = crew.symbols_only_files,
		.debug = crew.debug_files,
	};
	fill_processes(r, s.uptime_ns, processes);
	s.n_budgets = fill_budgets(r, &l, &crew, budgets);
	fill_store(r, &s);
	for (size_t k = 0; k < r->n_mishaps; k++)
		errors[k] = (struct cam_status_error){
			.realtime_ns = r->mishaps[k].realtime_ns,
			.times = r->mishaps[k].times,
			.text = cam_text_of(r->mishaps[k].text),
		};
	cam_status_write(&s, out);
}
