// SPDX-License-Identifier: Apache-2.0
/* Which cgroups this host has, by its mounted hierarchies: a name that was mistyped would record nothing,
 * silently. */
#pragma once
#include <stddef.h>

/*
 * `cgroup` is what --cgroup was given, as cam_parse_cgroup() leaves it: "/system.slice/x.service". One that
 * names a hierarchy too ("/memory/docker/7", where /sys/fs/cgroup/memory is one) becomes the name
 * within it, as /proc/PID/cgroup has it ("/docker/7").
 *
 * 0: it exists. -ENOENT: it does not. -EOPNOTSUPP: no hierarchy that could have it is mounted here.
 * mountinfo: /proc/self/mountinfo; root: put before the places it names ("").
 */
int cam_cgroups_find(const char *mountinfo, const char *root, char *cgroup, size_t bytes);
/* The longest part of it that exists; "/" where nothing else does. */
void cam_cgroups_nearest(const char *mountinfo, const char *root, char *cgroup, size_t bytes);
