// SPDX-License-Identifier: Apache-2.0
/* A wall time for programs: 2026-04-15T03:14:07.250001234Z, always UTC and nine decimals. */
#pragma once
#include "base/buf.h"
#include "base/units.h"

static inline void cam_stamp_put(struct cam_buf *out, int64_t realtime_ns)
{
	struct cam_utc u = cam_utc_from_ns(realtime_ns);
	cam_buf_printf(out, "%04lld-%02d-%02dT%02d:%02d:%02d.%09uZ", (long long)u.year, u.month,
		       u.day, u.hour, u.minute, u.second, (unsigned)u.ns);
}
