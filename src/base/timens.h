// SPDX-License-Identifier: Apache-2.0
/*
 * Time namespaces. The kernel's samples and tracepoints carry its own clocks; clock_gettime() and what /proc says of when a process
 * started are of the namespace of who asks: ahead of the kernel's own by an offset, which is taken off before the two meet.
 */
#pragma once
#include <stdint.h>

struct cam_timens {
	int64_t mono_ns, boot_ns;
};

/* Of our own namespace, from PROC/self/timens_offsets (NULL: /proc); all 0 where that cannot be read, as on a kernel without
 * them. */
struct cam_timens cam_timens_read(const char *proc);
