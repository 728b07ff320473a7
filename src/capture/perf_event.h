// SPDX-License-Identifier: Apache-2.0
/*
 * The sampling event: which one, and its attributes.
 *
 * cpu-clock is a timer of each CPU: exact in time, but blind while interrupts are off (that time lands
 * on the instruction that allows them again). cycles comes as an interrupt that nothing masks, where
 * there is a PMU; a CPU that idles counts no cycles and gives no samples.
 */
#pragma once
#include "capture/capture.h"
#include "capture/kernel.h"

struct cam_perf_event {
	const char *name;	     /* "cpu-clock", "cycles" */
	struct perf_event_attr attr; /* without sample_period and wakeup_watermark */
};

/* -EOPNOTSUPP: cycles were asked for and are not to be had. */
int cam_perf_event_choose(const struct cam_kernel *k, const char *proc_root,
			  const struct cam_capture_options *o, struct cam_perf_event *out);
/* Copies of user stacks (CAM_UNWIND_DWARF), as large as this ring can hold some of. */
void cam_perf_event_fit(struct cam_perf_event *e, size_t ring_bytes);
/* What attr.sample_period (or sample_freq) and PERF_EVENT_IOC_PERIOD take for this rate. */
uint64_t cam_perf_event_period(const struct cam_perf_event *e, uint32_t hz);
