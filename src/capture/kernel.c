// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int host_open(const struct cam_kernel *k, struct perf_event_attr *attr, int32_t tid, int cpu)
{
	(void)k;
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int host_control(const struct cam_kernel *k, int fd, unsigned long request, uint64_t arg)
{
	(void)k;
	/* This one alone takes a pointer to its number. */
	int err = request == PERF_EVENT_IOC_PERIOD ? ioctl(fd, request, &arg)
						   : ioctl(fd, request, (unsigned long)arg);
	return err < 0 ? -errno : 0;
}

static int host_count(const struct cam_kernel *k, int fd, struct cam_kernel_count *out)
{
	(void)k;
	memset(out, 0, sizeof(*out));
	ssize_t n = read(fd, out, sizeof(*out));
	if (n < 0)
		return -errno;
	return n >= (ssize_t)offsetof(struct cam_kernel_count, lost) ? 0 : -ENODATA;
}

static int map_as(int fd, size_t bytes, int protection, void **out)
{
	void *base = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	*out = base;
	return 0;
}

static int host_map(const struct cam_kernel *k, int fd, size_t bytes, void **out)
{
	(void)k;
	return map_as(fd, bytes, PROT_READ | PROT_WRITE, out);
}

static int host_map_to_read(const struct cam_kernel *k, int fd, size_t bytes, void **out)
{
	(void)k;
	return map_as(fd, bytes, PROT_READ, out);
}

static void host_unmap(const struct cam_kernel *k, void *base, size_t bytes)
{
	(void)k;
	munmap(base, bytes);
}

static void host_close(const struct cam_kernel *k, int fd)
{
	(void)k;
	close(fd);
}

static uint64_t host_now_ns(const struct cam_kernel *k)
{
	struct timespec t;
	(void)k;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const struct cam_kernel *cam_kernel_host(void)
{
	static const struct cam_kernel host = {
		.open = host_open,
		.control = host_control,
		.count = host_count,
		.map = host_map,
		.map_to_read = host_map_to_read,
		.unmap = host_unmap,
		.close = host_close,
		.now_ns = host_now_ns,
	};
	return &host;
}
