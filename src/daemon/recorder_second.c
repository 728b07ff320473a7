// SPDX-License-Identifier: Apache-2.0
/* Once a second: a clock anchor, the host's counters, its modules, what perfcam itself costs. */
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/recorder_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cam_recorder_counter(void *arg, const struct cam_counter *c)
{
	struct cam_recorder *r = arg;
	return cam_live_counter(r->live, c);
}

static void note(struct cam_recorder *r, const char *what, int err)
{
	if (err)
		cam_recorder_mishap(r, "%s: %s", what, strerror(-err));
}

void cam_recorder_clocks(struct cam_recorder *r)
{
	struct cam_clock_reading now;
	int err = cam_clock_read(r->clock, &now);
	for (unsigned i = 0; !err && i < now.n; i++) {
		cam_axis_add(cam_intake_axis(r->events.intake), &now.anchor[i]);
		err = cam_live_anchor(r->live, &now.anchor[i]);
	}
	if (!err && now.asleep_ns)
		err = cam_live_suspended(r->live, now.asleep_from_ns, now.asleep_to_ns,
					 now.asleep_ns);
	note(r, "clock anchor", err);
	if (!err && now.stepped_ns)
		cam_log("the wall clock was set %s by %.3f s; the recording's own time goes on",
			now.stepped_ns > 0 ? "forward" : "back",
			(double)(now.stepped_ns > 0 ? now.stepped_ns : -now.stepped_ns) / 1e9);
}

void cam_recorder_budget(struct cam_recorder *r)
{
	/* Set as a part of all CPUs' time; the meter counts in one CPU's. */
	r->shedder.max_ppm = (uint64_t)r->settings->max_cpu_ppm * r->capture->info.cpus;
}

/* Said and kept as an event, beside the ledger's `throttled`: the kernel took the rate down, or gave it back. */
static void follow_kernel(struct cam_recorder *r, uint64_t now_ns)
{
	uint32_t hz = cam_live_stats(r->live).source_hz, before = r->kernel_hz;
	/* What was asked for lately is not there yet. */
	bool settled = now_ns - r->shedder.changed_ns > 2 * CAM_NS_PER_SEC;
	if (!hz || hz == before || !settled)
		return;
	r->kernel_hz = hz;
	if (!before || (hz >= r->shedder.hz && before >= r->shedder.hz))
		return;
	char text[160];
	snprintf(text, sizeof(text),
		 hz < before ? "the kernel lowered the sampling rate from %u to %u Hz "
			       "(kernel.perf_event_max_sample_rate)"
			     : "the kernel allows a higher sampling rate again: from %u to %u Hz",
		 before, hz);
	cam_log("%s", text);
	note(r, "event",
	     cam_live_event(r->live, now_ns, 0, CAM_SEVERITY_WARNING, CAM_TEXT("perfcam"),
			    cam_text_of(text)));
}

/* Each second where that is far above the budget, else when the meter has been read. */
static void keep_budget(struct cam_recorder *r, uint64_t now_ns, bool metered)
{
	uint32_t before = r->shedder.hz;
	if (!(r->shedder.max_ppm && cam_shedder_look(&r->shedder, cam_meter_own_ns(), now_ns)) &&
	    !(metered && cam_shedder_step(&r->shedder, &r->meter, now_ns)))
		return;
	cam_drain_set_rate(r->drain, r->shedder.hz);
	note(r, "rate", cam_live_rate(r->live, now_ns, r->shedder.hz));
	char text[128];
	snprintf(text, sizeof(text), "%s from %u to %u Hz %s the CPU budget (max-cpu %g %%)",
		 r->shedder.hz < before ? "sampling rate lowered" : "sampling rate raised", before,
		 r->shedder.hz, r->shedder.hz < before ? "to keep" : "within",
		 r->settings->max_cpu_ppm / 1e4);
	cam_log("%s", text);
	note(r, "event",
	     cam_live_event(r->live, now_ns, 0, CAM_SEVERITY_WARNING, CAM_TEXT("perfcam"),
			    cam_text_of(text)));
}

static void measure_self(struct cam_recorder *r, uint64_t now_ns)
{
	struct cam_crew_stats crew = cam_crew_stats(r->crew);
	const pid_t pids[CAM_METER_ROLES] = {
		[CAM_METER_RECORDER] = getpid(),
		[CAM_METER_OPENER] = crew.opener_pid,
		[CAM_METER_SYMBOLISER] = crew.symboliser_pid,
		[CAM_METER_SERVER] = r->server,
		[CAM_METER_JOURNAL] = r->events.journal.helper.pid,
		[CAM_METER_CAPSULE] = r->capsules.child,
	};
	/* A sealer seldom lives long enough to be met: what it took is known when it has ended. */
	uint64_t sealed_ns = cam_keeper_stats(r->keeper).sealer_cpu_ns;
	cam_meter_add(&r->meter, CAM_METER_SEALER, sealed_ns - r->sealer_cpu_ns);
	r->sealer_cpu_ns = sealed_ns;
	cam_meter_read(&r->meter, now_ns, pids);
	const struct cam_counter own = {
		.time_ns = now_ns,
		.span_ns = r->meter.last_span_ns,
		.kind = CAM_COUNTER_OWN_CPU,
		.value = r->meter.last_ns,
	};
	note(r, "own CPU", cam_live_counter(r->live, &own));
}

/* A user who deletes a store means what is in it, not that nothing be recorded any more. */
static void look_after_store(struct cam_recorder *r)
{
	if (!cam_keeper_is_gone(r->keeper))
		return;
	/* Ended, it is whole where it was only moved. */
	cam_live_cut(r->live, r->released_ns);
	int err = cam_keeper_renew(r->keeper);
	cam_recorder_mishap(r, "%s: was deleted or moved away; %s%s", r->settings->store,
			    err ? "it cannot be made again: " : "recording goes on in a new one",
			    err ? strerror(-err) : "");
}

static void follow_modules(struct cam_recorder *r)
{
	uint64_t from, to;
	if (!cam_host_modules_changed(r->host, &from, &to))
		return;
	cam_crew_kernel_changed(r->crew, from, to);
	cam_live_kernel_changed(r->live, from, to);
}

void cam_recorder_second(struct cam_recorder *r, uint64_t now_ns)
{
	look_after_store(r);
	cam_recorder_clocks(r);
	/* The time of the reading itself: on a busy host the second may have begun a while ago. */
	now_ns = cam_clock_now(r->clock);
	note(r, "host counters", cam_host_read(r->host, now_ns));
	/* Who waits is asked of those who run most. */
	int32_t busiest[CAM_HOST_WATCHES];
	struct cam_host_watch watches[CAM_HOST_WATCHES];
	size_t n = cam_busiest_take(&r->busiest, busiest, CAM_HOST_WATCHES);
	for (size_t i = 0; i < n; i++)
		watches[i] = (struct cam_host_watch){.tid = busiest[i]};
	cam_host_watch(r->host, now_ns, watches, n);
	follow_modules(r);
	follow_kernel(r, now_ns);
	bool meters = r->last_second % CAM_METER_S == 0;
	if (meters)
		measure_self(r, now_ns);
	if (r->drain)
		keep_budget(r, now_ns, meters);
	r->minute_samples[r->last_second % 60] = cam_live_stats(r->live).samples;
	if (r->notify.watchdog_ns)
		cam_notify_alive(&r->notify);
}
