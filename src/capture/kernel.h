// SPDX-License-Identifier: Apache-2.0
/*
 * The system calls that capture makes, as a table: so that tests play CPUs that go and come,
 * limits of locked memory and kernels without this or that.
 */
#pragma once
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* What read(2) of an event gives; `lost` only where the kernel has PERF_FORMAT_LOST (6.0). */
struct cam_kernel_count {
	uint64_t value;
	uint64_t enabled_ns, running_ns;
	uint64_t id;
	uint64_t lost;
};

#define CAM_KERNEL_READ_FORMAT                                                              \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | \
	 PERF_FORMAT_LOST)

/* What can fail answers a negative errno. */
struct cam_kernel {
	/* A descriptor, close-on-exec. */
	int (*open)(const struct cam_kernel *k, struct perf_event_attr *attr, int32_t tid, int cpu);
	int (*control)(const struct cam_kernel *k, int fd, unsigned long request, uint64_t arg);
	/* The event's read_format is CAM_KERNEL_READ_FORMAT, or that without PERF_FORMAT_LOST. */
	int (*count)(const struct cam_kernel *k, int fd, struct cam_kernel_count *out);
	int (*map)(const struct cam_kernel *k, int fd, size_t bytes, void **out);
	/* Only to be read: the kernel writes on, over what nobody has read. */
	int (*map_to_read)(const struct cam_kernel *k, int fd, size_t bytes, void **out);
	void (*unmap)(const struct cam_kernel *k, void *base, size_t bytes);
	void (*close)(const struct cam_kernel *k, int fd);
	uint64_t (*now_ns)(const struct cam_kernel *k); /* CLOCK_MONOTONIC */
};

/* The real one. */
const struct cam_kernel *cam_kernel_host(void);
