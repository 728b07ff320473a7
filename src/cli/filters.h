// SPDX-License-Identifier: Apache-2.0
/* The filters of the selection grammar as options, the same for every verb that shows samples. */
#pragma once
#include "cli/options.h"
#include "query/select.h"

struct cam_filter_options {
	struct cam_option_list pid, tid, uid, user, cpu, comm, exe, cgroup, container, pod,
		event_type, match, exclude;
	bool user_only, kernel_only, idle, no_idle;
};

// clang-format off
#define CAM_FILTER_OPTIONS(o, idle_help, no_idle_help, event_help)                                        \
	{"pid", 0, CAM_OPTION_LIST, &(o).pid, "PID,PID", "only these processes"},                         \
	{"tid", 0, CAM_OPTION_LIST, &(o).tid, "TID,TID", "only these threads"},                           \
	{"comm", 0, CAM_OPTION_LIST, &(o).comm, "NAME", "only this command (* ? [] allowed)"},            \
	{"user", 0, CAM_OPTION_LIST, &(o).user, "NAME", "only this user, by name or number"},             \
	{"uid", 0, CAM_OPTION_LIST, &(o).uid, "UID", "the same"},                                         \
	{"cgroup", 0, CAM_OPTION_LIST, &(o).cgroup, "PATH", "only this cgroup and those below it"},       \
	{"container", 0, CAM_OPTION_LIST, &(o).container, "ID", "only this container, by the beginning of its id"},\
	{"pod", 0, CAM_OPTION_LIST, &(o).pod, "UID", "only this pod, by the beginning of its uid"},       \
	{"exe", 0, CAM_OPTION_LIST, &(o).exe, "PATH", "only this program: a path, or its last part"},     \
	{"cpu", 0, CAM_OPTION_LIST, &(o).cpu, "LIST", "only these CPUs: 0-3,8"},                          \
	{"event-type", 0, CAM_OPTION_LIST, &(o).event_type, "EV", event_help},                            \
	{"match", 0, CAM_OPTION_LIST, &(o).match, "RE", "only stacks with a frame that matches"},         \
	{"exclude", 0, CAM_OPTION_LIST, &(o).exclude, "RE", "no stacks with such a frame"},               \
	{"user-only", 0, CAM_OPTION_FLAG, &(o).user_only, NULL, "only samples in user space"},            \
	{"kernel-only", 0, CAM_OPTION_FLAG, &(o).kernel_only, NULL, "only samples in the kernel"},        \
	{"idle", 0, CAM_OPTION_FLAG, &(o).idle, NULL, idle_help},                                         \
	{"no-idle", 0, CAM_OPTION_FLAG, &(o).no_idle, NULL, no_idle_help}
// clang-format on

/* What a written selection depends on here: the clock, the local zone, the users. */
struct cam_select_world cam_filters_world(void);
/* Exit status: OK, or USAGE after saying which value is wrong and why. */
int cam_filters_apply(const struct cam_filter_options *o, struct cam_selection *s);
/* The same for one key of the grammar; NULL is not given. */
int cam_filters_set(struct cam_selection *s, const char *key, const char *value);
