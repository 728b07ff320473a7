// SPDX-License-Identifier: Apache-2.0
/*
 * A moment as people write it, the same in every place where one is expected:
 *
 *	2026-04-15T03:14:07.25	a date; `T` or a space, seconds and fraction may be left out
 *	03:14:07		the latest such moment that has been
 *	-90s +10m		before and after now
 *	@1776222847.25		seconds since 1970
 *	now
 *
 * A date or clock with no zone is local time; `Z` or an offset (+02:00) is honoured.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

/* Seconds east of UTC at that moment (seconds since 1970). */
typedef int32_t cam_zone_fn(void *arg, int64_t sec);

/* What a moment may depend on: given, so that this room reads no clock and no zone. */
struct cam_time_world {
	int64_t now_ns; /* wall clock */
	cam_zone_fn *zone;
	void *zone_arg;
};

/*
 * Wall-clock nanoseconds. -EINVAL, and `why`: one phrase that quotes the text and says what would
 * be right. A local time that happened twice (clocks went back) is the later one that has been,
 * else the earlier; one that never happened (clocks went forward) is refused.
 */
int cam_time_parse(struct cam_text s, const struct cam_time_world *world, int64_t *realtime_ns,
		   char *why, size_t why_bytes);
