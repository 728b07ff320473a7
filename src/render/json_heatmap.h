// SPDX-License-Identifier: Apache-2.0
/* Heatmap → JSON: docs/heatmap.md says what is in it. */
#pragma once
#include "base/out.h"
#include "query/view_heatmap.h"
#include "query/view_tracks.h"

/* tracks: host counters of the same time, NULL: none. */
int cam_json_heatmap_write(const struct cam_heatmap *h, const struct cam_tracks *tracks,
			   struct cam_out *out);
