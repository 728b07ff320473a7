// SPDX-License-Identifier: Apache-2.0
/*
 * Alerts, which the server was told of by Alertmanager: events of the source "alert", mostly of some minutes ago. It tells of
 * each again and again; what was told lately is known.
 */
#include "base/units.h"
#include "daemon/moment.h"
#include "daemon/recorder_parts.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define LIVE_NS (30 * CAM_NS_PER_SEC) /* its window is still open, or was until a moment ago */

bool cam_recorder_may_tell(struct cam_recorder *r, struct cam_buf *reply)
{
	struct cam_limiter *l = &r->events.told;
	/* Each may be a pin, and costs the disk: 5 ms where it lies in the past. */
	l->per_second = 10;
	l->burst = 500;
	if (cam_limiter_take(l, cam_clock_now(r->clock)))
		return true;
	cam_recorder_mishap(
		r,
		"marks or alerts were refused: more than 500 at once, and then 10 a second, came");
	cam_buf_printf(reply, "too many at a time: more than 500, and then 10 a second");
	return false;
}

static bool is_known(struct cam_recorder *r, uint64_t hash)
{
	for (size_t i = 0; i < CAM_RECORDER_ALERTS; i++) {
		if (r->events.alerts[i] == hash)
			return true;
	}
	return false;
}

int cam_recorder_happened_then(struct cam_recorder *r, int64_t wall_ns, struct cam_happening *h,
			       struct cam_buf *reply)
{
	struct cam_store *s = cam_keeper_store(r->keeper);
	struct cam_moment m;
	int err = s ? cam_moment_find(cam_keeper_io(r->keeper), wall_ns, &m) : -EROFS;
	if (err == -ENOENT)
		cam_buf_printf(reply, "that time is in no window, and not in this boot");
	if (err == -ERANGE)
		cam_buf_printf(reply, "that time has not come yet");
	if (err)
		return err;
	h->time_ns = m.time_ns;
	h->uncertainty_ns = m.uncertainty_ns;
	err = cam_store_add_event(s, &m.boot_id, m.time_ns, m.uncertainty_ns,
				  cam_recorder_judge(r, h), h->source, h->text);
	if (!err && memcmp(&m.boot_id, &r->boot_id, sizeof(m.boot_id)) == 0)
		cam_recorder_act(r, h);
	return err;
}

static int keep(struct cam_recorder *r, const struct cam_control_request *q,
		struct cam_happening *h, struct cam_buf *reply)
{
	struct cam_placed at;
	uint64_t now = cam_clock_now(r->clock);
	if (cam_axis_wall(cam_intake_axis(r->events.intake), q->from_ns, now, &at) &&
	    at.time_ns + LIVE_NS > now) {
		/* A clock that is ahead. */
		h->time_ns = at.time_ns < now ? at.time_ns : now;
		h->uncertainty_ns = at.uncertainty_ns;
		return cam_recorder_happened(r, h);
	}
	return cam_recorder_happened_then(r, q->from_ns, h, reply);
}

int cam_recorder_alert(struct cam_recorder *r, const struct cam_control_request *q,
		       struct cam_text text, struct cam_buf *reply)
{
	struct cam_recorder_events *e = &r->events;
	uint64_t hash = XXH3_64bits_withSeed(text.p, text.n, (uint64_t)q->from_ns) | 1;
	if (is_known(r, hash))
		return -EEXIST;
	if (q->to_ns < 0 || q->to_ns >= CAM_SEVERITY_MAX)
		return -EINVAL;
	if (!cam_recorder_may_tell(r, reply))
		return -EAGAIN;
	struct cam_happening h = {
		.severity = (enum cam_severity)q->to_ns,
		.source = CAM_TEXT("alert"),
		.text = text,
	};
	int err = keep(r, q, &h, reply);
	if (!err)
		e->alerts[e->n_alerts++ % CAM_RECORDER_ALERTS] = hash;
	return err;
}
