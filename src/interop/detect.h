// SPDX-License-Identifier: Apache-2.0
/*
 * What a file is, by its first bytes. Names of files are never looked at.
 */
#pragma once
#include "base/text.h"

enum cam_format {
	CAM_FORMAT_EMPTY,	 /* no byte at all */
	CAM_FORMAT_PERF_SCRIPT,	 /* cam_perf_script_read() */
	CAM_FORMAT_FOLDED,	 /* cam_folded_read() */
	CAM_FORMAT_PERF_DATA,	 /* cam_perf_data_read() */
	CAM_FORMAT_PPROF,	 /* cam_pprof_read() */
	CAM_FORMAT_SPEEDSCOPE,	 /* cam_speedscope_read() */
	CAM_FORMAT_CPUPROFILE,	 /* cam_cpuprofile_read() */
	CAM_FORMAT_TRACE_EVENTS, /* cam_trace_events_read() */
	CAM_FORMAT_WINDOW,	 /* perfcam's own: a window or journal; the store reads it */
	CAM_FORMAT_COMPRESSED,	 /* still compressed after one layer was undone */
	CAM_FORMAT_BINARY,	 /* not a text, and none of these */
	CAM_FORMAT_UNKNOWN,	 /* a text, and none of these */
};

/* `first`: what cam_input_peek() gives, that is after decompression. */
enum cam_format cam_detect(struct cam_text first);
/* "perf script text", "folded stacks", …: for messages. */
const char *cam_format_name(enum cam_format f);
