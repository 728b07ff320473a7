// SPDX-License-Identifier: Apache-2.0
/*
 * perf's default clock is the kernel log's (measured: they differ by the time the write takes). The
 * page of a perf mapping says how to compute it from the time-stamp counter, but not in a virtual
 * machine, whose sched_clock is its hypervisor's. So we let the kernel stamp a record: an event of
 * our own thread that counts nothing reports renamings, and renaming a thread to the name it has
 * changes nothing and makes one.
 *
 * Samples of software events share their time between clocks (recorder.md, pitfall 10); side-band
 * records, as this one, are stamped for each event by its own clock.
 */
#include "capture/sched_clock.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void cam_sched_clock_open(struct cam_sched_clock *c)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.comm = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	c->map = NULL;
	c->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd < 0)
		return;
	void *map = mmap(NULL, 2 * c->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	prctl(PR_GET_NAME, c->name);
	if (map != MAP_FAILED)
		c->map = map;
}

void cam_sched_clock_close(struct cam_sched_clock *c)
{
	if (c->map)
		munmap(c->map, 2 * c->page_bytes);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct cam_sched_clock){.fd = -1};
}

/* The time is the last word of a record that carries nothing else behind its own fields. */
static bool last_stamp(struct cam_sched_clock *c, uint64_t *ns)
{
	struct perf_event_mmap_page *page = c->map;
	const char *data = (const char *)c->map + c->page_bytes;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	bool found = head != page->data_tail && head >= sizeof(*ns);
	if (found) /* records are multiples of 8 bytes, so the word does not wrap */
		memcpy(ns, data + ((head - sizeof(*ns)) & (c->page_bytes - 1)), sizeof(*ns));
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return found;
}

bool cam_sched_clock_read(struct cam_sched_clock *c, uint64_t *ns)
{
	return c->map && !prctl(PR_SET_NAME, c->name) && last_stamp(c, ns);
}
