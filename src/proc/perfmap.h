// SPDX-License-Identifier: Apache-2.0
/*
 * Taking hold of a process's perf map: /tmp/perf-PID.map, as the process itself sees it: below its own
 * root directory, in its mount namespace, with the pid it has in its own pid namespace.
 *
 * The name can be foretold and /tmp is everybody's, so whatever is there is taken for hostile: no
 * symbolic link is followed, on no part of the way; nothing but a regular file is opened at all; it must
 * be the process's own (its effective user's) and have no other name.
 */
#pragma once
#include "model/errand.h"

/*
 * 0, *fd (close-on-exec, read only) and *key. start_ns is the process's (boot clock; 0: any) and must be
 * the same before and after. -ESRCH: no such process, or another one has its pid; -ENOENT: it has no
 * map; -ELOOP: a symbolic link is in the way; -EINVAL: no regular file; -EPERM: another user's, or one
 * with several names; else what opening said. May hang (/tmp on a dead file system).
 */
int cam_perfmap_hold(int32_t pid, uint64_t start_ns, struct cam_file_key *key, int *fd);
/* Whether /proc/PID (a descriptor) is of the process that started then: 0, or -ESRCH. */
int cam_perfmap_confirm(int dir, uint64_t start_ns);
