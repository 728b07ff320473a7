// SPDX-License-Identifier: Apache-2.0
/*
 * When a recording was made, by the name of its file: what the loop around perf record names its files
 * after ("perf-web1-20260415-03-12-57-120s.data": when it began), and what perf record --switch-output does
 * ("perf.data.2026041503145742": when it ended, to a hundredth). Local time of the recording's host.
 */
#pragma once
#include "base/units.h"

struct cam_perf_name {
	struct cam_utc local; /* the clock on the wall there */
	bool ended;	      /* it is the end */
};

/* A date and a time in the last part of a path; false: there are none. */
bool cam_perf_name_read(const char *path, struct cam_perf_name *out);
/*
 * Since 1970, in the zone: "UTC", "+02:00", "Europe/Berlin"; NULL: this process' own. False: there is no such
 * zone, or no such time.
 */
bool cam_perf_name_realtime(const struct cam_utc *local, const char *zone, int64_t *realtime_ns);
