// SPDX-License-Identifier: Apache-2.0
/*
 * What a sample takes from the program it is taken of: the interrupt, the walk of its stack, the record.
 * No process's account shows it as ours, so it is measured, on this host, by letting ourselves be
 * sampled for a moment.
 */
#pragma once
#include "capture/capture.h"
#include "capture/kernel.h"

#include <stdint.h>

/* How long it takes at most, of the CPU and of the clock. */
#define CAM_BURDEN_CPU_NS  15000000u
#define CAM_BURDEN_WALL_NS 80000000u

/*
 * *ns: of one plain sample of the calling thread, the median of some dozens. -EAGAIN: the moment was not
 * a good one (too busy, or too much else interrupts here); else what the kernel says of the event.
 */
int cam_burden_measure(const struct cam_kernel *k, const char *proc_root,
		       const struct cam_capture_options *o, uint64_t *ns);
