// SPDX-License-Identifier: Apache-2.0
#include "cli/filters.h"

#include "cli/range.h"
#include "cli/say.h"

#include <pwd.h>

static bool user_number(void *arg, const char *name, uint32_t *uid)
{
	(void)arg;
	struct passwd *user = getpwnam(name);
	if (user)
		*uid = user->pw_uid;
	return user != NULL;
}

struct cam_select_world cam_filters_world(void)
{
	return (struct cam_select_world){.time = cam_range_world(), .user = user_number};
}

int cam_filters_set(struct cam_selection *s, const char *key, const char *value)
{
	char why[CAM_WHEN_WHY_BYTES];
	if (!value)
		return CAM_EXIT_OK;
	int err = cam_selection_set(s, cam_text_of(key), cam_text_of(value), why, sizeof(why));
	return err ? cam_refused(err, "--%s: %s", key, why) : CAM_EXIT_OK;
}

int cam_filters_apply(const struct cam_filter_options *o, struct cam_selection *s)
{
	const struct {
		const char *name;
		const struct cam_option_list *list;
	} kinds[] = {
		{"pid", &o->pid},     {"tid", &o->tid},		{"uid", &o->uid},
		{"user", &o->user},   {"cgroup", &o->cgroup},	{"exe", &o->exe},
		{"cpu", &o->cpu},     {"comm", &o->comm},	{"event-type", &o->event_type},
		{"match", &o->match}, {"exclude", &o->exclude}, {"container", &o->container},
		{"pod", &o->pod},
	};
	int status = CAM_EXIT_OK;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t i = 0; i < kinds[k].list->n && !status; i++)
			status = cam_filters_set(s, kinds[k].name, kinds[k].list->values[i]);
	}
	if (!status)
		status = cam_filters_set(s, "user-only", o->user_only ? "1" : NULL);
	if (!status)
		status = cam_filters_set(s, "kernel-only", o->kernel_only ? "1" : NULL);
	if (!status)
		status = cam_filters_set(s, "idle", o->idle ? "1" : NULL);
	if (!status)
		status = cam_filters_set(s, "no-idle", o->no_idle ? "1" : NULL);
	return status;
}
