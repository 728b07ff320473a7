// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that rules start: this one again, as `perfcam helper WORDS`, in a session of its own and with no signal blocked. What it
 * may do, it gives up itself (cmd_helper.c). Unlike helpers (helper/helper.h) nobody speaks with it.
 */
#pragma once
#include <sys/types.h>

/*
 * argv begins with "perfcam", "helper"; ends with NULL. Its input is /dev/null. Its output is out_fd, and its errors go where the
 * caller's go; out_fd -1: both are /dev/null. *pid is to be waited for; negative errno: there is none, and it is 0.
 */
int cam_errand_child_start(const char *const *argv, char *const *env, int out_fd, pid_t *pid);
