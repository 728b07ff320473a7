// SPDX-License-Identifier: Apache-2.0
/* Heatmap → JSON: docs/heatmap.md says what is in it. */
#pragma once
#include "base/out.h"
#include "query/view_heatmap.h"

int cam_json_heatmap_write(const struct cam_heatmap *h, struct cam_out *out);
