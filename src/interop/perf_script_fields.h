// SPDX-License-Identifier: Apache-2.0
/*
 * The fields of `perf script -F`: "comm,tid,time", "+pid,-dso", "trace:comm,trace".
 *
 * perf's rules: without a sign the list replaces what was printed, with signs it changes it, and the two
 * are not mixed. A type before a colon (hw, sw, raw; trace for tracepoints) means events of that type
 * only. Names need addresses, offsets need names. Whoever says something about tracepoints, also by a sign,
 * says it about stacks, too: perf prints those of tracepoints only without -F, or with ip in it.
 */
#pragma once
#include "interop/perf_script_out.h"

/* What perf prints without -F: tracepoints have no period. */
#define CAM_PERF_DEFAULT       ((unsigned)CAM_PERF_ALL & ~(unsigned)CAM_PERF_PID)
#define CAM_PERF_TRACE_DEFAULT (CAM_PERF_DEFAULT & ~(unsigned)CAM_PERF_PERIOD)
/* … and, without their stacks, no address. */
#define CAM_PERF_TRACE_FLAT       \
	(CAM_PERF_TRACE_DEFAULT & \
	 ~(unsigned)(CAM_PERF_IP | CAM_PERF_SYM | CAM_PERF_SYMOFF | CAM_PERF_DSO))

/* Applies one -F. -EINVAL: why says what is wrong, in one line. */
int cam_perf_fields_parse(struct cam_text list, struct cam_perf_script_options *o, char *why,
			  size_t why_bytes);
/* After the last one: whether they go together. Likewise. */
int cam_perf_fields_check(const struct cam_perf_script_options *o, char *why, size_t why_bytes);
/* "comm", "pid", …: of the lowest field. */
const char *cam_perf_field_name(unsigned fields);
