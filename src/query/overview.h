// SPDX-License-Identifier: Apache-2.0
/* Everything in a stretch of time → overview; from footers, no sample is read. */
#pragma once
#include "model/cursor.h"
#include "query/progress.h"
#include "query/view_overview.h"

#define CAM_OVERVIEW_MAX_BINS 4096u

/* Where a window ends on the wall clock. false: it has none, or one that no clock shows (a damaged file). */
bool cam_overview_place(const struct cam_window_info *w, int64_t *end_ns);

/*
 * [from, to) of the wall clock in n bins. -EINVAL: no such range, or more bins than
 * CAM_OVERVIEW_MAX_BINS; -ENOMEM; what progress (NULL: nobody asks) answered, told in windows.
 */
int cam_overview_build(struct cam_source *source, int64_t from_ns, int64_t to_ns, size_t n,
		       const struct cam_progress *progress, struct cam_overview *out);
