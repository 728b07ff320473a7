// SPDX-License-Identifier: Apache-2.0
/*
 * systemd's journal (--journal): a helper reads it (events/journal.h), its lines are taken with each tick. One that
 * died or gave up is started again after a while, and goes on behind the last line that was taken.
 */
#include "base/units.h"
#include "daemon/recorder_parts.h"
#include "events/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define A_TURN	  2048u
#define AGAIN_NS  CAM_NS_PER_SEC /* twice as long each time it did not live a minute */
#define MOST_NS	  (60 * CAM_NS_PER_SEC)
#define US_PER_S  INT64_C(1000000)
#define MARGIN_US (10 * US_PER_S)

void cam_recorder_open_journal(struct cam_recorder *r)
{
	struct cam_recorder_journal *j = &r->events.journal;
	j->helper = CAM_HELPER_NONE;
	j->source = cam_intake_source(r->events.intake, "journal");
}

void cam_recorder_close_journal(struct cam_recorder *r)
{
	if (r->events.journal.helper.pid)
		cam_helper_stop(&r->events.journal.helper, NULL);
}

/* From where on it is read: what is passed over where there is much of it should not be what is new. */
static int64_t since_us(const struct cam_recorder *r)
{
	const struct cam_axis *x = cam_intake_axis(r->events.intake);
	struct timespec now;
	uint64_t doubt;
	int64_t wall;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t end = now.tv_sec * US_PER_S;
	int64_t since = end - (int64_t)(CAM_EVENTS_BACK_NS / CAM_NS_PER_US);
	if (!cam_anchor_wall_of(x->anchors, x->n, r->events.journal.after_ns, &wall, &doubt))
		return since;
	int64_t known = wall / (int64_t)CAM_NS_PER_US - MARGIN_US;
	/* Behind now: the clock was set back since. */
	return known > since && known < end ? known : since;
}

static void start(struct cam_recorder *r, uint64_t now_ns)
{
	struct cam_recorder_journal *j = &r->events.journal;
	char since[32];
	snprintf(since, sizeof(since), "%" PRId64, since_us(r));
	const char *const args[] = {r->settings->journal, since, r->events.kmsg ? "" : "kernel",
				    NULL};
	j->started_ns = now_ns;
	int err = cam_helper_start(&j->helper, CAM_HELPER_JOURNAL, -1, args);
	if (err) {
		cam_recorder_mishap(r, "the journal's reader was not started: %s", strerror(-err));
		j->ended_ns = now_ns;
		j->pause_ns = MOST_NS;
	}
}

static const char *words_of(int err)
{
	switch (err) {
	case -ENOSYS:
		return "libsystemd is not installed here";
	case -ENOENT:
		return "there is no directory of a journal (/var/log/journal, /run/log/journal)";
	default:
		return strerror(-err);
	}
}

static void take_error(struct cam_recorder *r, int err)
{
	if (err == -EOVERFLOW)
		cam_recorder_mishap(
			r, "the journal grows faster than it is read: some of it was passed over");
	else
		cam_recorder_mishap(r, "--journal %s: not read: %s", r->settings->journal,
				    words_of(err));
}

static void take_line(struct cam_recorder *r, const struct cam_intake_line *l)
{
	struct cam_recorder_journal *j = &r->events.journal;
	uint64_t now = cam_clock_now(r->clock);
	struct cam_placed at;
	const struct cam_axis *axis = cam_intake_axis(r->events.intake);
	if (l->clock == CAM_INTAKE_OWN)
		at.time_ns = (uint64_t)l->stamp_ns;
	else if (l->clock == CAM_INTAKE_SCHED)
		at = cam_axis_sched(axis, (uint64_t)l->stamp_ns);
	else if (!cam_axis_wall(axis, l->stamp_ns, now, &at))
		return;
	/* Stored already, or of a time that nobody has recorded. */
	if (at.time_ns <= j->after_ns || at.time_ns + CAM_EVENTS_BACK_NS < r->start_ns)
		return;
	j->last_ns = at.time_ns > j->last_ns ? at.time_ns : j->last_ns;
	cam_intake_take(r->events.intake, j->source, l, now);
}

/* True: there may be more. */
static bool take_packet(struct cam_recorder *r)
{
	struct cam_recorder_journal *j = &r->events.journal;
	char packet[CAM_JOURNAL_PACKET_BYTES];
	struct cam_intake_line line;
	int fd;
	ssize_t n = cam_packet_receive(j->helper.socket, packet, sizeof(packet), &fd);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	int err = cam_journal_packet_read((struct cam_text){packet, (size_t)n}, &line);
	if (err)
		take_error(r, err);
	else
		take_line(r, &line);
	return true;
}

void cam_recorder_poll_journal(struct cam_recorder *r, uint64_t now_ns)
{
	struct cam_recorder_journal *j = &r->events.journal;
	if (!r->settings->journal[0])
		return;
	if (!j->helper.pid && (!j->started_ns || now_ns - j->ended_ns >= j->pause_ns)) {
		j->after_ns = j->last_ns > j->after_ns ? j->last_ns : j->after_ns;
		start(r, now_ns);
	}
	if (!j->helper.pid)
		return;
	int status, ended = cam_helper_poll(&j->helper, &status);
	for (unsigned i = 0; i < A_TURN && take_packet(r); i++) {
	}
	if (ended != 1)
		return;
	cam_recorder_mishap(r, "the journal's reader has ended (status %d); it is started again",
			    status);
	cam_helper_stop(&j->helper, NULL);
	j->ended_ns = now_ns;
	if (now_ns - j->started_ns > MOST_NS)
		j->pause_ns = AGAIN_NS;
	else
		j->pause_ns = j->pause_ns ? 2 * j->pause_ns : AGAIN_NS;
	j->pause_ns = j->pause_ns < MOST_NS ? j->pause_ns : MOST_NS;
}
