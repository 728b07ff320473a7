// SPDX-License-Identifier: Apache-2.0
/* Host counters of a stretch of time → tracks; no sample is read. */
#pragma once
#include "model/cursor.h"
#include "query/progress.h"
#include "query/view_tracks.h"

#define CAM_TRACKS_MAX_BINS 4096u

/*
 * [from, to) of the wall clock in n bins. -EINVAL: no such range, or more bins than
 * CAM_TRACKS_MAX_BINS; -ENOMEM; what progress (NULL: nobody asks) answered, told in windows.
 */
int cam_tracks_build(struct cam_source *source, int64_t from_ns, int64_t to_ns, size_t n,
		     const struct cam_progress *progress, struct cam_tracks *out);
