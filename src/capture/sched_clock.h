// SPDX-License-Identifier: Apache-2.0
/*
 * sched_clock, the clock of the kernel log, from user space. For the thread that opened it, once a
 * second: a read takes a few microseconds.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cam_sched_clock {
	int fd;
	void *map; /* NULL: these privileges do not give it */
	size_t page_bytes;
	char name[16]; /* of the thread */
};

/* Never fails: where it cannot be had, every read answers false. */
void cam_sched_clock_open(struct cam_sched_clock *c);
void cam_sched_clock_close(struct cam_sched_clock *c);
bool cam_sched_clock_read(struct cam_sched_clock *c, uint64_t *ns);
