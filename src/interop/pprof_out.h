// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → a profile of pprof (profile.proto of github.com/google/pprof), as bare protobuf: whoever
 * writes it to a file compresses it with gzip, which is what its readers expect.
 *
 * Values of a sample: samples/count; cpu/nanoseconds, where the event is a clock or the time between two
 * samples is known; and EVENT/count for each event type whose samples carry a count of their own, at most
 * CAM_PPROF_EVENTS. Samples of one stack, thread, CPU and event are one: pprof keeps no times. Labels:
 * pid, tid, cpu, uid (numbers), comm, exe, cgroup, event (texts); what is not known is left out.
 * Mappings are modules with their build-ids; a location is an address (0: not known) with its function
 * and those inlined there, innermost first. Names are as all views show them, UTF-8: other bytes are
 * escaped (base/escape.h, all of its flags), which the comment "perfcam" tells our importer.
 * time_nanos is the wall clock of the first sample, duration_nanos reaches to the last.
 *
 * Memory follows what is distinct, at most CAM_PPROF_BYTES; samples for which there is no room are dropped
 * and counted.
 */
#pragma once
#include "interop/exporter.h"

#define CAM_PPROF_EVENTS 6u
#define CAM_PPROF_BYTES	 (512u << 20)

int cam_pprof_out_new(struct cam_out *out, struct cam_exporter **made);
