// SPDX-License-Identifier: Apache-2.0
/* Which of the lines of /proc/PID/cgroup says where a process belongs. */
#pragma once
#include "base/text.h"

/* Borrowed from `all`, the whole file; empty where there is no line. */
struct cam_text cam_cgroup_pick(struct cam_text all);
