// SPDX-License-Identifier: Apache-2.0
/*
 * How far long work is: told now and then, from the thread that does it. A non-zero answer ends the
 * work, which returns it: -EINTR is the one to give.
 */
#pragma once
#include <stdint.h>

struct cam_progress {
	int (*tell)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};
