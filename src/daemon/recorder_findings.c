// SPDX-License-Identifier: Apache-2.0
/*
 * What was found in a window that is sealed now (findings.h) becomes an event of the time it is about: in the annex, since
 * sealed windows never change. Not all of one process: cam_finding_is_news().
 */
#include "daemon/recorder_parts.h"

#include <string.h>

static void take_finding(void *arg, const struct cam_finding *f)
{
	struct cam_recorder *r = arg;
	const struct cam_settings *s = r->settings;
	struct cam_store *store = cam_keeper_store(r->keeper);
	/* Of a part of what runs nobody can say how busy the rest was. */
	bool whole = !s->n_pids && s->uid == CAM_UID_ANY && !s->cgroup[0] && !s->n_cpus;
	if (!whole || !store || !cam_finding_is_news(r->events.found, f))
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
