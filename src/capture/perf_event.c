// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of the sampling event.
 *
 * cpu-clock is opened with a period, not a frequency: the kernel makes a period of a frequency at
 * once and forgets that it was one, so that PERF_EVENT_IOC_PERIOD takes nanoseconds whatever it was
 * opened with (97 would be 97 ns, 100,000 samples a second). cycles need the frequency: the
 * kernel adapts the period to the clock speed.
 *
 * exclude_idle is used in a pid namespace only: see perf_source.c.
 */
#include "capture/perf_event.h"

#include "capture/record.h"
#include "capture/sysctl.h"

#include <errno.h>
#include <time.h>

#define DEFAULT_MAX_STACK 127u
#define COPY_BYTES	  (16u << 10)
/* Enough for a PMU to have counted something, too short to be noticed. */
#define TRIAL_NS 200000u

static void fill(struct cam_perf_event *e, const char *proc_root,
		 const struct cam_capture_options *o, bool cycles)
{
	int64_t max_stack = DEFAULT_MAX_STACK;

	if (cam_sysctl_read(proc_root, "kernel/perf_event_max_stack", &max_stack) < 0 ||
	    max_stack <= 0)
		max_stack = DEFAULT_MAX_STACK;
	if (max_stack > CAM_RAW_MAX_FRAMES)
		max_stack = CAM_RAW_MAX_FRAMES;
	e->name = cycles ? "cycles" : "cpu-clock";
	e->attr = (struct perf_event_attr){
		.size = sizeof(e->attr),
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = CAM_RECORD_SAMPLE_TYPE,
		.read_format = CAM_KERNEL_READ_FORMAT,
		.freq = cycles,
		.disabled = 1,
		.inherit = o->tids != NULL,
		.sample_id_all = 1,
		.exclude_hv = 1,
		.exclude_guest = 1, /* a guest's addresses are not ours to name */
		.exclude_idle = o->no_idle,
		.exclude_callchain_kernel = o->user_only,
		.sample_max_stack = (uint16_t)max_stack,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
	};
	if (o->unwind == CAM_UNWIND_DWARF) {
		e->attr.sample_type |= CAM_RECORD_COPY_TYPE;
		e->attr.sample_regs_user = CAM_RECORD_COPY_REGS;
		e->attr.sample_stack_user = COPY_BYTES;
		e->attr.exclude_callchain_user = 1;
	}
}

void cam_perf_event_fit(struct cam_perf_event *e, size_t ring_bytes)
{
	if (e->attr.sample_type & PERF_SAMPLE_STACK_USER)
		e->attr.sample_stack_user =
			(uint32_t)(ring_bytes / 4 < COPY_BYTES ? ring_bytes / 4 : COPY_BYTES);
}

/* Whether cycles can be sampled and really advance: a virtual PMU may accept them and count none. */
static bool counts_cycles(const struct cam_kernel *k, const struct cam_perf_event *e)
{
	struct cam_kernel_count count = {0};
	struct perf_event_attr attr = e->attr;

	attr.sample_freq = 1;
	attr.exclude_kernel = 1;
	attr.inherit = 0;
	attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	int fd = k->open(k, &attr, 0, -1);
	if (fd < 0)
		return false;
	if (k->control(k, fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
		for (uint64_t end = k->now_ns(k) + TRIAL_NS; k->now_ns(k) < end;)
			;
		k->count(k, fd, &count);
	}
	k->close(k, fd);
	return count.value > 0;
}

int cam_perf_event_choose(const struct cam_kernel *k, const char *proc_root,
			  const struct cam_capture_options *o, struct cam_perf_event *out)
{
	if (o->event != CAM_EVENT_CPU_CLOCK) {
		fill(out, proc_root, o, true);
		if (counts_cycles(k, out))
			return 0;
		if (o->event == CAM_EVENT_CYCLES)
			return -EOPNOTSUPP;
	}
	fill(out, proc_root, o, false);
	return 0;
}

uint64_t cam_perf_event_period(const struct cam_perf_event *e, uint32_t hz)
{
	return e->attr.freq ? hz : 1000000000u / hz;
}
