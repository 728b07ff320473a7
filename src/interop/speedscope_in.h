// SPDX-License-Identifier: Apache-2.0
/*
 * A file of speedscope → door B. Sampled profiles: each stack that is not empty is a sample at its time,
 * which is the sum of the weights before it. Evented ones: each stretch between two events in which some
 * frame is open is a sample that weighs its length. Units of time become nanoseconds; profiles in other
 * units are counts without times, like folded stacks. Every profile is a thread whose comm is its name.
 *
 * In files that perfcam wrote (members "perfcam", see speedscope_out.h) threads, events and the clock are
 * those of the window that was written. Members may come in any order; everything is held, within
 * CAM_REPLAY_BYTES.
 */
#pragma once
#include "interop/import.h"

int cam_speedscope_read(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st);
