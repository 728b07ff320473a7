// SPDX-License-Identifier: Apache-2.0
/*
 * What the `#` lines of `perf script --header` say: facts about the host, the rate of each event,
 * and how the file's clock stands to wall time.
 *
 * Facts are an allow-list, under perf's own words ("hostname", "os release", "arch", …). The
 * command line is not on it: it may hold secrets.
 */
#pragma once
#include "base/units.h"
#include "interop/import.h"

#define CAM_PERF_META_EVENTS 64u

struct cam_perf_meta {
	struct {
		char name[128];
		size_t n;
		uint64_t period_ns;
	} events[CAM_PERF_META_EVENTS];
	size_t n_events;
	bool has_captured, has_last, has_reference;
	struct cam_utc captured; /* local time of whoever printed it */
	uint64_t last_ns;
	struct cam_anchor reference;
};

/* One line that starts with '#'. Errors are the sink's. */
int cam_perf_meta_line(struct cam_perf_meta *m, struct cam_text line, struct cam_sink *sink);
/* The nominal time between two samples of this event; 0: not known. */
uint64_t cam_perf_meta_period(const struct cam_perf_meta *m, struct cam_text event);
/*
 * The anchor of the file, given a sample of it: by perf's own reference time (to a microsecond);
 * or the sample's time itself, where it can only be counted from 1970; or when the file was
 * written against its last sample. False: nothing known.
 */
bool cam_perf_meta_anchor(const struct cam_perf_meta *m, const struct cam_import_options *o,
			  uint64_t sample_ns, struct cam_anchor *out);
