// SPDX-License-Identifier: Apache-2.0
#include "cli/filters.h"

#include "cli/say.h"

#include <pwd.h>
#include <stdio.h>

/* A user's name becomes its number, a number is passed on; NULL: there is no such user. */
static const char *user_number(const char *value, char *room, size_t room_bytes)
{
	if (value[0] >= '0' && value[0] <= '9')
		return value;
	struct passwd *user = getpwnam(value);
	if (user)
		snprintf(room, room_bytes, "%u", (unsigned)user->pw_uid);
	return user ? room : NULL;
}

int cam_filters_apply(const struct cam_filter_options *o, struct cam_selection *s)
{
	const struct {
		const char *name;
		enum cam_filter filter;
		const struct cam_option_list *list;
	} kinds[] = {
		{"pid", CAM_FILTER_PID, &o->pid},
		{"tid", CAM_FILTER_TID, &o->tid},
		{"uid", CAM_FILTER_UID, &o->uid},
		{"user", CAM_FILTER_UID, &o->user},
		{"cgroup", CAM_FILTER_CGROUP, &o->cgroup},
		{"exe", CAM_FILTER_EXE, &o->exe},
		{"cpu", CAM_FILTER_CPU, &o->cpu},
		{"comm", CAM_FILTER_COMM, &o->comm},
		{"event-type", CAM_FILTER_ETYPE, &o->event_type},
		{"match", CAM_FILTER_MATCH, &o->match},
		{"exclude", CAM_FILTER_EXCLUDE, &o->exclude},
	};
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t i = 0; i < kinds[k].list->n; i++) {
			char why[200] = "", number[16];
			const char *given = kinds[k].list->values[i];
			const char *value = kinds[k].filter == CAM_FILTER_UID
						    ? user_number(given, number, sizeof(number))
						    : given;
			if (!value)
				return cam_usage("--%s '%s': there is no such user here; its "
						 "number will do",
						 kinds[k].name, given);
			if (cam_selection_add(s, kinds[k].filter, cam_text_of(value), why,
					      sizeof(why)))
				return cam_usage("--%s '%s': %s", kinds[k].name, given, why);
		}
	}
	if (o->user_only && o->kernel_only)
		return cam_usage("--user-only and --kernel-only exclude each other");
	if (o->idle && o->no_idle)
		return cam_usage("--idle and --no-idle exclude each other");
	s->mode = o->user_only	   ? CAM_SELECT_USER
		  : o->kernel_only ? CAM_SELECT_KERNEL
				   : CAM_SELECT_ANY_MODE;
	s->with_idle = o->idle;
	return CAM_EXIT_OK;
}
