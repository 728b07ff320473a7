// SPDX-License-Identifier: Apache-2.0
#include "capture/witness.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

size_t cam_witness_bytes(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

int cam_witness_open(const struct cam_kernel *k, const struct perf_event_attr *beside, uint32_t cpu,
		     struct cam_ring_budget *budget, struct cam_witness *out)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.freq = 1,
		.sample_freq = CAM_WITNESS_HZ,
		.exclude_kernel = beside->exclude_kernel,
		.exclude_hv = beside->exclude_hv,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	void *page = NULL;
	*out = CAM_WITNESS_NONE;
	if (cam_witness_bytes() > budget->max_bytes - budget->used_bytes)
		return -ENOMEM;
	int fd = k->open(k, &attr, -1, (int)cpu);
	if (fd < 0)
		return fd;
	int err = k->map_to_read(k, fd, cam_witness_bytes(), &page);
	if (err) {
		k->close(k, fd);
		return err == -EPERM ? -ENOBUFS : err;
	}
	budget->used_bytes += cam_witness_bytes();
	*out = (struct cam_witness){.fd = fd, .page = page};
	return 0;
}

int cam_witness_start(const struct cam_witness *w, const struct cam_kernel *k)
{
	return k->control(k, w->fd, PERF_EVENT_IOC_ENABLE, 0);
}

uint64_t cam_witness_count(const struct cam_witness *w)
{
	if (!w->page)
		return 0;
	return __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE) /
	       sizeof(struct perf_event_header);
}

void cam_witness_close(struct cam_witness *w, const struct cam_kernel *k,
		       struct cam_ring_budget *budget)
{
	if (w->fd < 0)
		return;
	k->unmap(k, (void *)w->page, cam_witness_bytes());
	budget->used_bytes -= cam_witness_bytes();
	k->close(k, w->fd);
	*w = CAM_WITNESS_NONE;
}
