// SPDX-License-Identifier: Apache-2.0
/*
 * Giving privileges up for good, for the processes that face the network: `serve`, and the server
 * of `run`. Called once, before threads are started, after everything that needs root is open.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/*
 * Root becomes user perfcam, else nobody, in the one group `keep` (the store's: who is in it may
 * read the store). Anybody loses all capabilities, in all five sets, and can gain none by exec.
 * Then it is tried: 0 only if user, groups and capabilities are gone and cannot be taken
 * back; else the caller must end. `who`: "perfcam (998), group perfcam (998)", for the one line at
 * start.
 */
int cam_privilege_drop(gid_t keep, char *who, size_t who_bytes);
