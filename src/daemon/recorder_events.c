// SPDX-License-Identifier: Apache-2.0
/*
 * Events of the running recorder: sources are asked with each tick, on this thread, which is not the one that
 * drains rings, and before the tick writes, so that what they have can be read at once and not a tick later. Whatever they do, a tick's work is bounded: so
 * many records of the kernel's log a second, the rest of them is passed over and counted; of logs and the journal so much a turn.
 *
 * Lines from before the start: a recorder that was here before has stored those up to its last one. Younger
 * ones fell into the time between the two, and go into the first window with their own time. On a boot that has
 * never been recorded that is the last minutes, and of the last day what is known to matter.
 */
#include "base/units.h"
#include "daemon/log.h"
#include "daemon/recorder_parts.h"
#include "model/anchor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Measured: 10,000 lines of the log take some 30 ms. */
#define KMSG_A_SECOND 20000u
#define KMSG_A_TURN   8192u
#define BACK_KNOWN_NS (86400 * CAM_NS_PER_SEC)

int cam_recorder_happened(struct cam_recorder *r, const struct cam_happening *h)
{
	int err = cam_live_event(r->live, h->time_ns, h->uncertainty_ns, cam_recorder_judge(r, h),
				 h->source, h->text);
	r->events.stored += !err;
	r->events.refused += err != 0;
	cam_recorder_act(r, h);
	return err;
}

static void take_happening(void *arg, const struct cam_happening *h)
{
	struct cam_recorder *r = arg;
	int err = cam_recorder_happened(r, h);
	if (err)
		cam_recorder_mishap(r, "an event was not kept: %s", strerror(-err));
}

struct last_lines {
	const struct cam_tables *tables;
	uint64_t kmsg_ns, journal_ns;
};

static int look_at_event(void *arg, const struct cam_event *e)
{
	struct last_lines *l = arg;
	struct cam_text source = cam_string(l->tables, e->source);
	/* Both were placed by other anchors: the same line may lie on either side. */
	if (e->time_ns + 2 * CAM_ANCHOR_SCHED_NS > l->kmsg_ns &&
	    cam_text_equal(source, CAM_TEXT("kmsg")))
		l->kmsg_ns = e->time_ns + 2 * CAM_ANCHOR_SCHED_NS;
	if (e->time_ns > l->journal_ns && cam_text_equal(source, CAM_TEXT("journal")))
		l->journal_ns = e->time_ns;
	return 0;
}

static int add_anchor(void *arg, const struct cam_anchor *a)
{
	cam_axis_add(arg, a);
	return 0;
}

/* When the last lines were stored by whoever recorded this boot before. Its anchors become ours: by those that come from now
 * on alone, a line of an hour ago would lie up to 1.8 s from where it was stored, and be taken for another one. */
static struct last_lines find_last_lines(struct cam_source *source, const struct cam_boot_id *boot,
					 struct cam_axis *axis)
{
	for (size_t i = source->ops->count(source); i > 0; i--) {
		const struct cam_window_info *info;
		struct cam_window *w;
		if (source->ops->info(source, i - 1, &info) || info->imported ||
		    memcmp(&info->boot_id, boot, sizeof(*boot)) != 0)
			continue;
		struct last_lines last = {NULL, info->start_ns, info->start_ns};
		if (source->ops->open(source, i - 1, &w) == 0) {
			if (w->ops->tables(w, &last.tables) == 0)
				w->ops->events(w, look_at_event, &last);
			w->ops->anchors(w, add_anchor, axis);
			w->ops->close(w);
		}
		return last;
	}
	return (struct last_lines){0};
}

/* On the wall clock, of whatever boot. */
static int64_t find_last_end(struct cam_source *source)
{
	int64_t last = INT64_MIN;
	for (size_t i = 0; i < source->ops->count(source); i++) {
		const struct cam_window_info *info;
		int64_t end;
		if (source->ops->info(source, i, &info) || info->realtime_ns == INT64_MIN ||
		    info->end_ns < info->start_ns ||
		    __builtin_add_overflow(info->realtime_ns, info->end_ns - info->start_ns, &end))
			continue;
		last = end > last ? end : last;
	}
	return last;
}

bool cam_recorder_has_recorded(const struct cam_recorder *r, uint64_t to_ns, int64_t from_wall_ns)
{
	/* The wall clock may have been set back since the start: what is of this start is told by its own. */
	return to_ns >= r->start_ns || from_wall_ns < r->events.recorded_until_ns;
}

int cam_recorder_open_events(struct cam_recorder *r)
{
	struct cam_recorder_events *e = &r->events;
	struct cam_io *io = cam_keeper_io(r->keeper);
	struct cam_source *source;
	e->recorded_until_ns = INT64_MIN;
	int err = cam_intake_new(take_happening, r, &e->intake);
	if (!err)
		err = cam_recorder_load_rules(r);
	if (!err)
		err = cam_recorder_open_watch(r);
	if (err)
		return err;
	cam_recorder_open_logs(r);
	cam_recorder_open_journal(r);
	cam_recorder_open_findings(r);
	e->kmsg_source = cam_intake_source(e->intake, "kmsg");
	err = cam_kmsg_open(NULL, r->request->one_off, &e->kmsg);
	if (err)
		cam_log("/dev/kmsg: %s: the kernel's log will not be among the events%s",
			strerror(-err),
			err == -EPERM || err == -EACCES ? "; CAP_SYSLOG allows it" : "");
	if (r->request->one_off)
		e->journal.after_ns = cam_clock_now(r->clock);
	if (!io || r->request->one_off || cam_store_open_read(io, &source))
		return 0;
	struct last_lines last = find_last_lines(source, &r->boot_id, cam_intake_axis(e->intake));
	e->kmsg_after_ns = last.kmsg_ns;
	e->journal.after_ns = last.journal_ns;
	e->recorded_until_ns = find_last_end(source);
	source->ops->close(source);
	return 0;
}

void cam_recorder_close_events(struct cam_recorder *r)
{
	if (r->keeper)
		cam_keeper_tell(r->keeper, NULL, NULL);
	free(r->events.watch);
	cam_keeping_free(&r->events.keeping);
	cam_recorder_close_logs(r);
	cam_recorder_close_journal(r);
	cam_recorder_close_rules(r);
	cam_kmsg_close(r->events.kmsg);
	cam_intake_free(r->events.intake);
	r->events = (struct cam_recorder_events){0};
}

/* Whether a line from before the start is of use. */
static bool is_news(const struct cam_recorder *r, const struct cam_kmsg_record *line)
{
	uint64_t then = cam_axis_sched(cam_intake_axis(r->events.intake), line->sched_ns).time_ns;
	if (then >= r->start_ns)
		return true;
	uint64_t ago = r->start_ns - then;
	return then > r->events.kmsg_after_ns &&
	       (ago < CAM_EVENTS_BACK_NS || (ago < BACK_KNOWN_NS && cam_event_kind_of(line->text)));
}

static void take_line(void *arg, const struct cam_kmsg_record *line)
{
	struct cam_recorder *r = arg;
	const struct cam_intake_line l = {
		.clock = CAM_INTAKE_SCHED,
		.stamp_ns = (int64_t)line->sched_ns,
		.severity = line->severity,
		.text = line->text,
	};
	if (is_news(r, line))
		cam_intake_take(r->events.intake, r->events.kmsg_source, &l,
				cam_clock_now(r->clock));
}

/* An old line may not begin the first window. */
static bool has_window(const struct cam_recorder *r)
{
	return cam_live_stats(r->live).windows > 0;
}

static void poll_kmsg(struct cam_recorder *r)
{
	struct cam_recorder_events *e = &r->events;
	if (!e->kmsg || !cam_kmsg_is_ready(e->kmsg))
		return;
	/* Then the lines lie between two anchors. */
	cam_recorder_clocks(r);
	if (e->kmsg_second != r->last_second) {
		e->kmsg_second = r->last_second;
		e->kmsg_read = 0;
	}
	uint64_t before = cam_kmsg_counts(e->kmsg).lines;
	int more = cam_kmsg_read(e->kmsg, KMSG_A_TURN, take_line, r);
	struct cam_kmsg_counts counts = cam_kmsg_counts(e->kmsg);
	e->kmsg_read += counts.lines - before;
	cam_intake_lost(e->intake, e->kmsg_source, counts.missed - e->kmsg_missed);
	cam_intake_skipped(e->intake, e->kmsg_source, counts.skipped - e->kmsg_skipped);
	e->kmsg_missed = counts.missed;
	e->kmsg_skipped = counts.skipped;
	if (more > 0 && e->kmsg_read >= KMSG_A_SECOND)
		cam_kmsg_skip(e->kmsg);
	if (more < 0) {
		cam_recorder_mishap(r, "/dev/kmsg: %s: the kernel's log is not read any more",
				    strerror(-more));
		cam_kmsg_close(e->kmsg);
		e->kmsg = NULL;
	}
}

void cam_recorder_poll_sources(struct cam_recorder *r, uint64_t now_ns)
{
	if (!has_window(r))
		return;
	poll_kmsg(r);
	cam_recorder_poll_logs(r, now_ns);
	cam_recorder_poll_journal(r, now_ns);
	cam_recorder_poll_findings(r);
}

void cam_recorder_poll_events(struct cam_recorder *r, uint64_t now_ns, bool last)
{
	if (!has_window(r))
		return;
	cam_intake_report(r->events.intake, now_ns, last);
	cam_recorder_poll_rules(r, now_ns, last);
}
