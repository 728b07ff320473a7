// SPDX-License-Identifier: Apache-2.0
/* Selection → flame tree. */
#pragma once
#include "query/chart.h"
#include "query/grouping.h"
#include "query/progress.h"
#include "query/select.h"
#include "query/views.h"

enum cam_weight {
	CAM_WEIGHT_SAMPLES, /* each sample counts 1 */
	CAM_WEIGHT_PERIOD,  /* each counts its weight, where its event type has any */
};

struct cam_flame_options {
	enum cam_weight weight;
	enum cam_flame_by by;	 /* what stands below the root */
	bool builds;		 /* files are told apart by their build-id, which is shown */
	struct cam_chart *chart; /* filled with the samples in their order, too; NULL: not wanted */
	size_t max_bytes;	 /* of the merged tree; 0: 1 GiB */
	const struct cam_progress *progress; /* NULL: nobody asks */
};

/*
 * Merges what the selection takes from all windows of the source. An event type "before" beside
 * one "after" (how a two-column folded file arrives) makes a differential, unless the selection
 * names event types itself.
 *
 * A window that cannot be read, or has expired, is counted in seen.unreadable and does not end
 * the view. Errors, with *out empty: -E2BIG past max_bytes, -ENOMEM.
 */
int cam_flame_build(struct cam_source *source, const struct cam_selection *s,
		    const struct cam_flame_options *o, struct cam_flame *out);
