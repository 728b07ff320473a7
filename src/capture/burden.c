// SPDX-License-Identifier: Apache-2.0
/*
 * We read the clock without a pause while the sampling event fires every PERIOD_NS on our own thread. Two
 * readings are some ten nanoseconds apart, unless something took the CPU in between. What took it for
 * SHORTEST_NS to LONGEST_NS was an interrupt (longer: another program's turn, or the hypervisor's), and
 * nearly all of them were ours: the timer tick comes at a tenth of our rate. The median is one of ours.
 *
 * Example: 15 ms, 60 samples, 71 gaps, 4 of them ticks: the 36th shortest, 9.4 us, is the answer.
 *
 * The stack is short here, so a sample of a deep one costs more. A BPF program that follows frame pointers
 * instead of the kernel costs about the same; one that unwinds by tables, more (docs/benchmarks.md).
 */
#include "capture/burden.h"

#include "capture/perf_event.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PERIOD_NS   250000u
#define HZ	    4000u
#define SHORTEST_NS 1000u
#define LONGEST_NS  200000u
#define MAX_GAPS    256u
#define FEWEST	    12u
#define RING_PAGES  16u

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static size_t collect(const struct cam_kernel *k, uint32_t gaps[MAX_GAPS])
{
	size_t n = 0;
	uint64_t before = k->now_ns(k), end = before + CAM_BURDEN_WALL_NS, ran = 0, now;
	for (; ran < CAM_BURDEN_CPU_NS && before < end && n < MAX_GAPS; before = now) {
		now = k->now_ns(k);
		uint64_t gap = now - before;
		ran += gap <= LONGEST_NS ? gap : 0;
		if (gap >= SHORTEST_NS && gap <= LONGEST_NS)
			gaps[n++] = (uint32_t)gap;
	}
	return n;
}

/* Of the records in the ring, which has not wrapped: nobody gave anything back. */
static size_t count_samples(const struct perf_event_mmap_page *page, const char *data, size_t bytes)
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	size_t n = 0;
	for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= head && at < bytes;) {
		const struct perf_event_header *h = (const void *)(data + at);
		if (h->size < sizeof(*h))
			break;
		n += h->type == PERF_RECORD_SAMPLE;
		at += h->size;
	}
	return n;
}

static int measure(const struct cam_kernel *k, int fd, uint64_t *ns)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page * RING_PAGES;
	uint32_t gaps[MAX_GAPS];
	void *base;
	int err = k->map(k, fd, page + bytes, &base);
	if (err)
		return err;
	err = k->control(k, fd, PERF_EVENT_IOC_ENABLE, 0);
	size_t n = err ? 0 : collect(k, gaps);
	k->control(k, fd, PERF_EVENT_IOC_DISABLE, 0);
	size_t samples = count_samples(base, (const char *)base + page, bytes);
	k->unmap(k, base, page + bytes);
	if (err)
		return err;
	/* Most gaps must be a sample's for the median to be one. */
	if (samples < FEWEST || n < samples / 2 || n > samples * 3 / 2)
		return -EAGAIN;
	qsort(gaps, n, sizeof(gaps[0]), compare);
	*ns = gaps[n / 2];
	return 0;
}

int cam_burden_measure(const struct cam_kernel *k, const char *proc_root,
		       const struct cam_capture_options *o, uint64_t *ns)
{
	struct cam_perf_event event;
	int err = cam_perf_event_choose(k, proc_root, o, &event);
	if (err)
		return err;
	event.attr.sample_period = event.attr.freq ? HZ : PERIOD_NS;
	event.attr.inherit = 0;
	event.attr.exclude_kernel = o->user_only;
	event.attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	event.attr.wakeup_watermark = UINT32_MAX;
	int fd = k->open(k, &event.attr, 0, -1);
	if (fd < 0)
		return fd;
	err = measure(k, fd, ns);
	k->close(k, fd);
	return err;
}
