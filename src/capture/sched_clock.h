// SPDX-License-Identifier: Apache-2.0
/*
 * sched_clock, the clock of the kernel log, from user space: through the page of a perf event of
 * our own that counts nothing. Any thread, a few dozen nanoseconds a read.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct cam_sched_clock {
	int fd;
	void *page; /* NULL: this machine or these privileges do not give it */
};

/* Never fails: where it cannot be had, every read answers false. */
void cam_sched_clock_open(struct cam_sched_clock *c);
void cam_sched_clock_close(struct cam_sched_clock *c);
bool cam_sched_clock_read(const struct cam_sched_clock *c, uint64_t *ns);
