// SPDX-License-Identifier: Apache-2.0
/*
 * Taking hold of the file behind a mapping of a process: a descriptor to read it by, and its key.
 *
 * It is that file or none: deleted, replaced, in a container or not. May hang (a dead network or FUSE
 * file system): for ever, beyond SIGKILL.
 */
#pragma once
#include "model/errand.h"

#include <stdatomic.h>

/* What the caller of a function that hangs can blame. */
enum cam_file_stage {
	CAM_FILE_ASKS_PROCESS, /* the process: its memory map is locked */
	CAM_FILE_ASKS_DEVICE,  /* the file system the mapping is of */
};

/*
 * 0, *fd (close-on-exec, read only, a regular file) and *out. -ENOENT: there is none any more;
 * -ESTALE: another one is there, or it cannot be told; -EACCES: not allowed; -EINVAL: no regular
 * file. `stage` is kept up to date while it works; may be NULL.
 */
int cam_file_hold(int32_t pid, const struct cam_mapping *m, atomic_int *stage,
		  struct cam_file_tidings *out, int *fd);
/* /proc/kallsyms. The kernel shows addresses by the rights of who opened it. */
int cam_file_kallsyms(int *fd);
