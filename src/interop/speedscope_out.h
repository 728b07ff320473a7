// SPDX-License-Identifier: Apache-2.0
/*
 * Windows → a file of speedscope (its file-format-schema.json): a sampled profile for each thread and
 * event type, one entry a sample.
 *
 * Where samples have times, the unit is nanoseconds since the first sample of all, and every sample is at
 * its time: it lasts as long as its period, or until the next one, and an empty stack fills what is
 * between. (So the weights of a profile add up to the time from its first to its last sample.) Without
 * times, weights are counts and the unit is "none".
 *
 * A sample without frames gets a frame [unknown]: an empty stack would be no sample. Frames are functions: `name` as all views show it, `file` the module. What speedscope does not have and
 * our importer wants is in members named "perfcam", which the schema allows: of the file `clock_ns` and
 * `realtime_ns` of the first sample (texts of digits); of a profile pid, tid, comm, event, period_ns; of a
 * frame its kind. Texts as in json_out.h.
 *
 * All samples are held until the end, at most CAM_SPEEDSCOPE_BYTES; others are dropped and counted.
 */
#pragma once
#include "interop/exporter.h"

#define CAM_SPEEDSCOPE_BYTES (1ul << 30)

int cam_speedscope_out_new(struct cam_out *out, struct cam_exporter **made);
