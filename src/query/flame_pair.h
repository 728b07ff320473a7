// SPDX-License-Identifier: Apache-2.0
/* Two flame graphs as one, by names. */
#pragma once
#include "query/views.h"

enum cam_pair_show {
	CAM_PAIR_DIFFERENTIAL, /* widths are after's; before is beside them */
	CAM_PAIR_ELIDED,       /* what only before has, with its widths, and the frames above it */
};

/*
 * What each node had before (multiplied by factor, rounded) and after. The unit and what was seen are
 * after's. -E2BIG past max_bytes (0: 1 GiB), -ENOMEM; then *out is empty.
 */
int cam_flame_pair(const struct cam_flame *before, const struct cam_flame *after, double factor,
		   enum cam_pair_show show, size_t max_bytes, struct cam_flame *out);
