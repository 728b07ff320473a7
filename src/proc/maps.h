// SPDX-License-Identifier: Apache-2.0
/* The lines of /proc/PID/maps, one at a time. */
#pragma once
#include "model/raw.h"

/* The mapping and its path are borrowed for the call. Not 0 ends the reading and is its answer. */
typedef int cam_maps_fn(void *arg, const struct cam_mapping *m);

/*
 * Those of executable mappings, ascending, without overlap (what the kernel shows twice, since a
 * process maps while it is read, is shown once). process_dir: of /proc/PID. generation is 0, an
 * anonymous mapping's path "//anon" as in MMAP2 records. 0, what fn answered, or -errno.
 */
int cam_maps_read(int process_dir, cam_maps_fn *fn, void *arg);
