// SPDX-License-Identifier: Apache-2.0
/*
 * A moment as people write it, the same in every place where one is expected:
 *
 *	2026-04-15T03:14:07.25	a date; `T` or a space, seconds and fraction may be left out
 *	03:14:07		the latest such moment that has been
 *	-90s +10m		before and after now
 *	@1776222847.25		seconds since 1970
 *	boot+12345.678		the stamp of a kernel log line
 *	now
 *
 * A date or clock with no zone is local time; `Z` or an offset (+02:00) is honoured.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

/* For messages. */
#define CAM_TIME_TRY "try 03:14:07, -90s, boot+123.4, 2026-04-15T03:14:07, @1776222847 or now"

/* Seconds east of UTC at that moment (seconds since 1970). */
typedef int32_t cam_zone_fn(void *arg, int64_t sec);

/* What a moment may depend on: given, so that this room reads no clock and no zone. */
struct cam_time_world {
	int64_t now_ns; /* wall clock */
	cam_zone_fn *zone;
	void *zone_arg;
};

struct cam_time {
	int64_t ns;   /* since 1970 */
	bool of_boot; /* since a boot instead, on the kernel log's clock: windows must say when */
};

/*
 * -EINVAL, and `why`: one phrase that quotes the text and says what would be right. A local time
 * that happened twice (clocks went back) is the later one that has been, else the earlier; one that
 * never happened (clocks went forward) is refused.
 */
int cam_time_read(struct cam_text s, const struct cam_time_world *world, struct cam_time *out,
		  char *why, size_t why_bytes);
/*
 * The end of a range that begins at after_ns: a clock without a date is the first such moment behind
 * it, so that "23:50 to 00:10" needs no date. Anything else is as above.
 */
int cam_time_read_end(struct cam_text s, const struct cam_time_world *world, int64_t after_ns,
		      struct cam_time *out, char *why, size_t why_bytes);
/* Wall-clock nanoseconds: as above, where no windows are at hand, so boot+ is refused. */
int cam_time_parse(struct cam_text s, const struct cam_time_world *world, int64_t *realtime_ns,
		   char *why, size_t why_bytes);
