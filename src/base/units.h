// SPDX-License-Identifier: Apache-2.0
/* Durations, sizes and UTC dates as people write them. No function here reads a clock. */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_NS_PER_SEC 1000000000ull
#define CAM_NS_PER_MS  1000000ull
#define CAM_NS_PER_US  1000ull

/* A wall time, or one of a clock, that much later; at either end of all time it stays there. Files of others say any time;
 * INT64_MIN, which nobody means, is never the sum. */
static inline int64_t cam_time_add(int64_t at_ns, __int128 by_ns)
{
	__int128 sum = at_ns + by_ns;
	return sum > INT64_MAX ? INT64_MAX : sum <= INT64_MIN ? INT64_MIN + 1 : (int64_t)sum;
}

/* A time that a file system says of a file, which may be any: one that does not fit into 64 bits still tells two from each other. */
static inline int64_t cam_file_time(int64_t seconds, int64_t ns)
{
	return (int64_t)((uint64_t)seconds * CAM_NS_PER_SEC + (uint64_t)ns);
}

/* "250ms", "90s", "2m", "1.5h", "12h", "7d" → nanoseconds; a bare number is seconds. -EINVAL. */
int cam_duration_parse(struct cam_text s, uint64_t *ns);
/* "64K", "2G", "1.5T", "4096" → bytes (powers of 1024). -EINVAL, -ERANGE. */
int cam_size_parse(struct cam_text s, uint64_t *bytes);

/* A civil date in UTC. */
struct cam_utc {
	int64_t year;
	int month, day, hour, minute, second;
	uint32_t ns;
};

/* Any signed count of nanoseconds since 1970, without the C library's time zone. */
struct cam_utc cam_utc_from_ns(int64_t realtime_ns);
/* -ERANGE where the nanoseconds do not fit into 64 bits; -EINVAL for month 13 and the like. */
int cam_utc_to_ns(const struct cam_utc *utc, int64_t *realtime_ns);
