// SPDX-License-Identifier: Apache-2.0
/*
 * What Chrome, Node.js and their relatives write → door B: CPU profiles (.cpuprofile) and trace events.
 *
 * A CPU profile has a tree of nodes, and samples (numbers of nodes) at differences of time. A sample is at
 * startTime + the sum of the differences up to its own, as FlameScope places it, and weighs the time to the
 * next one. Frames are functionName, "(anonymous)" where it is empty, with the url as module; "(root)" is
 * no frame. Samples of "(idle)" are idle time of the ledger. (FlameScope's flame graph leaves out
 * "(program)" and "(garbage collector)", its heatmap counts them; here they are frames like others.)
 *
 * Trace events are slices of time with a beginning and an end ("B" and "E", or "X" with a duration), nested,
 * by thread. They are sampled at 100 Hz as FlameScope does it: each outermost slice has a sample at every
 * hundredth of a second from the one in which it begins to the one in which it ends, with the frames that
 * were open at that moment (or, in its first, at its beginning). So a slice that is shorter than that has
 * one sample, and threads that run at once have one each. Other than FlameScope: "X" slices lie in one
 * another as their times say (there each is an outermost one), and they need no tdur. Zero lengths, and a
 * tdur of 0, are left out; of slices that together need more than 2^19 samples and 1,024 an event the rest is
 * cut, and the import incomplete.
 *
 * Times are microseconds of an unnamed clock. All is held until the end, within CAM_REPLAY_BYTES.
 */
#pragma once
#include "interop/import.h"

int cam_cpuprofile_read(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st);
int cam_trace_events_read(struct cam_input *in, struct cam_sink *sink,
			  const struct cam_import_options *o, struct cam_import_stats *st);
