// SPDX-License-Identifier: Apache-2.0
/*
 * Processes of chosen names: who of them starts and ends, told by whoever sees processes come and go. Names are a
 * task's (15 bytes at most), by shell wildcards. Plain data, one thread; of more than CAM_WATCH_PROCESSES at a time the
 * rest is not followed, and counted.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_WATCH_NAMES	    16u
#define CAM_WATCH_NAME	    16u /* with its end */
#define CAM_WATCH_PROCESSES 1024u

struct cam_watched {
	int32_t pid; /* 0: nobody */
	char name[CAM_WATCH_NAME];
};

struct cam_process_watch {
	char names[CAM_WATCH_NAMES][CAM_WATCH_NAME];
	unsigned n_names;
	struct cam_watched processes[CAM_WATCH_PROCESSES]; /* by pid, modulo; a full turn at most */
	unsigned n_processes;
	uint64_t unfollowed;
};

/* "nginx,redis*": blanks around names do not count. -EINVAL: an empty or too long name, or too many. */
int cam_process_watch_set(struct cam_process_watch *w, struct cam_text names);
/* A process has (or has got) this name. True: it is one of those that are watched, and was not yet. */
bool cam_process_watch_begin(struct cam_process_watch *w, int32_t pid, struct cam_text name);
/* It has ended, or is another program now. True: it was watched; its name is in room. */
bool cam_process_watch_end(struct cam_process_watch *w, int32_t pid, char room[CAM_WATCH_NAME]);
/* The name under which it is watched; NULL: it is not. */
const char *cam_process_watch_name(const struct cam_process_watch *w, int32_t pid);
