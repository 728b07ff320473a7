// SPDX-License-Identifier: Apache-2.0
/* Numbers of /proc/sys. */
#pragma once
#include <stdint.h>

/* <proc_root>/sys/<name>. -EINVAL: not a number; else what open(2) and read(2) say. */
int cam_sysctl_read(const char *proc_root, const char *name, int64_t *out);
/* The same for one that is read often: *fd, -1 at first, stays open, the caller's to close. */
int cam_sysctl_reread(int *fd, const char *proc_root, const char *name, int64_t *out);
