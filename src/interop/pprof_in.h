// SPDX-License-Identifier: Apache-2.0
/*
 * A profile of pprof (profile.proto, plain or gzip) → door B. It has sums, no times: each sample of the
 * profile is one here, without a time, whose weight is its value; so it is read like folded stacks.
 *
 * Which value: cpu or another time where there is one, else the last type (what pprof shows by itself);
 * nanoseconds, and others in their own unit. Labels pid, tid, comm (or "thread"), cpu are taken where
 * they are; others are not kept. Lines of a location are frames, all but the outermost inlined. A profile
 * that perfcam wrote (comment "perfcam") gets its names back as they were.
 *
 * The decompressed profile is held in memory, at most CAM_PPROF_IN_BYTES (-EFBIG).
 */
#pragma once
#include "interop/import.h"

#define CAM_PPROF_IN_BYTES (256u << 20)

/* Whether these first bytes look like one. */
bool cam_pprof_probe(struct cam_text first);
int cam_pprof_read(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		   struct cam_import_stats *st);
