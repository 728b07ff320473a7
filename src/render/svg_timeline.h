// SPDX-License-Identifier: Apache-2.0
/* Overview → one SVG: how busy the machine was over some time, what happened in it, and which part is meant. */
#pragma once
#include "base/out.h"
#include "query/view_moment.h"
#include "query/view_overview.h"
#include "render/heat_axis.h"

struct cam_svg_timeline {
	const struct cam_overview *overview;
	int64_t from_ns, to_ns; /* what is meant, on the wall clock */
	const struct cam_moment_event *events;
	size_t n_events;
	struct cam_heat_zone zone;
};

/* Unobserved time is hatched, never empty. The stream's error, or 0; the same input gives the same bytes. */
int cam_svg_timeline_write(const struct cam_svg_timeline *t, struct cam_out *out);
