// SPDX-License-Identifier: Apache-2.0
/* What tests of the perf source put in the host's place. */
#pragma once
#include "capture/capture.h"
#include "capture/kernel.h"

/* All borrowed until close(). */
struct cam_perf_host {
	const struct cam_kernel *kernel;
	const char *proc_root, *sys_root; /* "/proc", "/sys" */
	bool no_bpf_loop;		  /* as on a kernel before 5.17 */
};

/* cam_capture_open_perf() is this on the real host. */
int cam_perf_source_open(const struct cam_capture_options *o, const struct cam_perf_host *host,
			 struct cam_capture **out);
