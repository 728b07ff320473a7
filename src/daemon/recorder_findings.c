// SPDX-License-Identifier: Apache-2.0
/*
 * Cores that are kept, as events of the time it began. Twice: while it goes on, so that who watches sees it at once, in the
 * open window (who, since when; a notice); and with its length and stack when that window is sealed (findings.h; a
 * warning), in the annex, since sealed windows never change. Not all of one process: cam_finding_is_news().
 */
#include "base/units.h"
#include "daemon/recorder_parts.h"

#include <stdio.h>
#include <string.h>

#define LIVE_PER_NS (120 * CAM_NS_PER_SEC) /* in which no more are told than of a window */

/* Of a part of what runs nobody can say how busy the rest was. */
static bool sees_all(const struct cam_recorder *r)
{
	const struct cam_settings *s = r->settings;
	return !s->n_pids && s->uid == CAM_UID_ANY && !s->cgroup[0] && !s->n_cpus;
}

static void take_finding(void *arg, const struct cam_finding *f)
{
	struct cam_recorder *r = arg;
	struct cam_store *store = cam_keeper_store(r->keeper);
	if (!sees_all(r) || !store || !cam_finding_is_news(r->events.found, f))
		return;
	const struct cam_happening h = {
		.time_ns = f->time_ns,
		.severity = CAM_SEVERITY_WARNING,
		.source = CAM_TEXT(CAM_FINDING_SOURCE),
		.text = cam_text_of(f->text),
	};
	int err = cam_store_add_event(store, &f->boot_id, h.time_ns, 0, cam_recorder_judge(r, &h),
				      h.source, h.text);
	r->events.stored += !err;
	r->events.refused += err != 0;
	if (err)
		cam_recorder_mishap(r, "a finding was not kept: %s", strerror(-err));
	if (memcmp(&f->boot_id, &r->boot_id, sizeof(f->boot_id)) == 0)
		cam_recorder_act(r, &h);
}

void cam_recorder_open_findings(struct cam_recorder *r)
{
	if (!r->request->one_off)
		cam_keeper_tell(r->keeper, take_finding, r);
}

/* What one sample stands for now; 0: nobody can say (cycles), or it is not to be told. */
static uint64_t period_ns(const struct cam_recorder *r)
{
	uint32_t hz = r->shedder.hz;
	if (r->kernel_hz && r->kernel_hz < hz)
		hz = r->kernel_hz;
	bool by_time = !r->capture_of_threads && strcmp(r->capture->info.event, "cycles") != 0;
	return hz && by_time && sees_all(r) && !r->request->one_off ? CAM_NS_PER_SEC / hz : 0;
}

/* So that programs with ever other names do not fill the window. */
static bool may_tell(struct cam_recorder_events *e, uint64_t now_ns)
{
	if (now_ns - e->live_since_ns >= LIVE_PER_NS) {
		e->live_since_ns = now_ns;
		e->live_times = 0;
	}
	return e->live_times < CAM_FINDINGS_MAX && ++e->live_times;
}

static void tell(struct cam_recorder *r, const struct cam_kept_core *c, const char *name)
{
	struct cam_finding f = {.boot_id = r->boot_id, .time_ns = c->from_ns};
	double seconds = (double)c->length_ns / (double)CAM_NS_PER_SEC;
	snprintf(f.who, sizeof(f.who), "%s", name);
	snprintf(
		f.text, sizeof(f.text),
		"CPU %u has been kept by %s (pid %d) for %.1f s%s while the machine was %u %% busy",
		c->cpu, name, (int)c->pid, seconds, c->goes_on ? " so far" : "", c->busy_percent);
	const struct cam_happening h = {
		.time_ns = c->from_ns,
		.severity = CAM_SEVERITY_NOTICE,
		.source = CAM_TEXT(CAM_FINDING_SOURCE),
		.text = cam_text_of(f.text),
	};
	if (!cam_finding_is_news(r->events.told_live, &f) ||
	    !may_tell(&r->events, r->events.keeping.newest_ns))
		return;
	int err = cam_recorder_happened(r, &h);
	if (err)
		cam_recorder_mishap(r, "a finding was not kept: %s", strerror(-err));
}

void cam_recorder_poll_findings(struct cam_recorder *r)
{
	struct cam_keeping *k = &r->events.keeping;
	struct cam_kept_core c;
	char name[CAM_COMM_BYTES];
	size_t at = 0;
	cam_keeping_period(k, period_ns(r));
	while (cam_keeping_next(k, r->capture->info.cpus, &at, &c)) {
		/* Not known yet: its samples wait for the answer as well. */
		if (!cam_live_thread_name(r->live, c.pid, c.tid, name))
			continue;
		tell(r, &c, name);
		cam_keeping_told(k, &c);
	}
}
