// SPDX-License-Identifier: Apache-2.0
/*
 * What was found in a window that is sealed now (findings.h) becomes an event of the time it is about: in the annex, since
 * sealed windows never change. Of one process, or function of the kernel, TIMES are told in PER_NS: a job that has a core to
 * itself all night is no news each minute.
 */
#include "base/units.h"
#include "daemon/recorder_parts.h"

#include <string.h>
#include <xxhash.h>

#define TIMES  3u
#define PER_NS (600 * CAM_NS_PER_SEC)

/* Whether it is news; by the times it is about, so that a restart with many windows to seal tells the same. */
static bool is_news(struct cam_recorder *r, const struct cam_finding *f)
{
	uint64_t who = XXH3_64bits(f->who, strlen(f->who)) | 1;
	struct cam_recorder_found *oldest = &r->events.found[0];
	for (size_t i = 0; i < CAM_RECORDER_FOUND; i++) {
		struct cam_recorder_found *x = &r->events.found[i];
		if (x->who == who && f->time_ns < x->since_ns + PER_NS)
			return ++x->times <= TIMES;
		if (x->who == who || (oldest->who != who && x->since_ns < oldest->since_ns))
			oldest = x;
	}
	*oldest = (struct cam_recorder_found){who, f->time_ns, 1};
	return true;
}

static void take_finding(void *arg, const struct cam_finding *f)
{
	struct cam_recorder *r = arg;
	const struct cam_settings *s = r->settings;
	struct cam_store *store = cam_keeper_store(r->keeper);
	/* Of a part of what runs nobody can say how busy the rest was. */
	bool whole = !s->n_pids && s->uid == CAM_UID_ANY && !s->cgroup[0] && !s->n_cpus;
	if (!whole || !store || !is_news(r, f))
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
