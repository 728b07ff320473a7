// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF source of capture.h, for those who want to know why it refused.
 *
 * Its scope (filter_pids) follows forks in the kernel: a process that a wanted one forks is wanted
 * from its first instruction on, so one call is enough; each call replaces the set. What does not fit
 * (CAM_WIRE_MAX_SCOPE processes alive) switches the filter off: ingest filters. -E2BIG beyond that.
 *
 * The control: beside each CPU's event stands a plain cpu-clock event (witness.h) without
 * a program, because the kernel silently skips a perf_event program while other BPF code or a bpf(2)
 * call holds that CPU. fired / hz and control / control_hz count the same busy time; where fired
 * falls behind, samples were blocked. Beyond 256 CPUs only every 2nd, 3rd … CPU has one.
 *
 * info.ring_bytes holds the control's pages too, and the ring buffers twice.
 */
#pragma once
#include "capture/perf_source.h"

/* Which step failed (a static text), and the kernel's own negative errno. */
struct cam_bpf_refusal {
	const char *step;
	int error;
	char verifier[128]; /* the last line of what the verifier had to say; "": nothing */
};

/*
 * cam_capture_open_bpf() is this on the real host; *why is set when it fails, and also when it opened but
 * the kernel refused a better form of the program (bpf_load.h): then info.unwind says what is left.
 */
int cam_bpf_source_open(const struct cam_capture_options *o, const struct cam_perf_host *host,
			struct cam_capture **out, struct cam_bpf_refusal *why);
/* "loading the program: not allowed (EPERM)", cut to fit; returns text. */
const char *cam_bpf_refusal_text(const struct cam_bpf_refusal *why, char *text, size_t bytes);
