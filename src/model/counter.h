// SPDX-License-Identifier: Apache-2.0
/* Host counters, read once a second: sampling shows who ran, these show who waited. */
#pragma once
#include <stdint.h>

/* What the host was doing, once a second. Times are nanoseconds within the interval. */
enum cam_counter_kind {
	CAM_COUNTER_USER, /* of one CPU: subject is its number; with nice */
	CAM_COUNTER_SYSTEM,
	CAM_COUNTER_IRQ,
	CAM_COUNTER_SOFTIRQ,
	CAM_COUNTER_STEAL,
	CAM_COUNTER_IDLE,     /* with iowait */
	CAM_COUNTER_RUNNABLE, /* of the host: subject is 0. Tasks running or waiting to run, now */
	CAM_COUNTER_SWITCHES,
	CAM_COUNTER_PSI_CPU,	     /* time in which some task waited */
	CAM_COUNTER_PSI_MEMORY,	     /* some */
	CAM_COUNTER_PSI_MEMORY_FULL, /* all */
	CAM_COUNTER_PSI_IO,
	CAM_COUNTER_PSI_IO_FULL,
	CAM_COUNTER_SOFTNET_DROPPED, /* packets */
	CAM_COUNTER_SOFTNET_SQUEEZED,
	CAM_COUNTER_MEMORY_CGROUPS, /* number, now */
	CAM_COUNTER_RUN_DELAY,	    /* of one thread: subject is its tid: time it waited to run */
	CAM_COUNTER_OWN_CPU,	    /* perfcam's own processes */
	CAM_COUNTER_GUESSED, /* of one process: samples. No longer written: they say it themselves (CAM_DETAIL_GUESSED) */
	CAM_COUNTER_MAX,
};

struct cam_counter {
	uint64_t time_ns; /* the end of its interval */
	uint64_t span_ns; /* its length; 0: a value of that instant */
	enum cam_counter_kind kind;
	uint32_t subject;
	uint64_t value;
};
