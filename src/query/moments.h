// SPDX-License-Identifier: Apache-2.0
/* Selection → the most unusual moments in it, without anybody saying where to look. As why.h. */
#pragma once
#include "query/why.h"

/* As struct cam_why, whose findings are the moments, most unusual first; what stopped behind what ran. */
int cam_moments_build(struct cam_source *source, const struct cam_selection *s,
		      const struct cam_why_options *o, struct cam_why *out);
