// SPDX-License-Identifier: Apache-2.0
/*
 * What a process is, from /proc/PID.
 *
 * Everything is read through one descriptor of /proc/PID, which means that process for ever: once it
 * has ended, reading fails, even if its number is another's by then. The start time is compared
 * before and after all the same. So is the program: all of an answer is of one, and was true at maps_read_ns.
 */
#pragma once
#include "base/buf.h"
#include "model/errand.h"

#include <sys/types.h>

#define CAM_PROCESS_MAX_MAPPINGS   16384u
#define CAM_PROCESS_MAX_TEXT_BYTES (2u << 20)

/* What was read, and its memory, which is used again. */
struct cam_process {
	struct cam_process_tidings tidings; /* mappings: all of them, perhaps for several packets */
	uint32_t left_out;		    /* mappings that did not fit */
	struct cam_mapping *mappings;
	uint32_t max_mappings;
	struct cam_buf text;
	char comm[CAM_ERRAND_MAX_COMM], exe[CAM_RAW_MAX_TEXT], cgroup[CAM_RAW_MAX_TEXT];
};

/*
 * All zero is empty. Paths are as the process sees them: without the directory that is its root, and
 * without the kernel's " (deleted)" (a memfd keeps it: its records have it too).
 * -ESRCH: no such process, or it ended. -EAGAIN: it executes one program after the other. What may not be read is empty, a uid CAM_UID_NONE.
 */
int cam_process_read(struct cam_process *p, int32_t pid, int32_t tid);
void cam_process_free(struct cam_process *p);
/* The name of a thread: bytes written to comm, or -ESRCH. */
int cam_process_comm(int32_t pid, int32_t tid, char comm[CAM_ERRAND_MAX_COMM]);

/* A descriptor (O_PATH) of /proc/PID, or -ESRCH. */
int cam_process_open(int32_t pid);
/* When it started: boot clock, in whole ticks. -ESRCH: it has ended. */
int cam_process_start(int dir, uint64_t *ns);
/* A file of it that fits: bytes read, or -errno; -ESRCH where the process has ended. */
ssize_t cam_process_file(int dir, const char *name, char *to, size_t room);
