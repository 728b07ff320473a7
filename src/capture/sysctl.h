// SPDX-License-Identifier: Apache-2.0
/* Numbers of /proc/sys. */
#pragma once
#include <stdint.h>

/* <proc_root>/sys/<name>. -EINVAL: not a number; else what open(2) and read(2) say. */
int cam_sysctl_read(const char *proc_root, const char *name, int64_t *out);
