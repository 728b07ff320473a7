// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel publishes in the first page of a perf mapping how it makes sched_clock of the
 * time-stamp counter: zero + counter * mult >> shift, valid where cap_user_time_zero is set. The
 * page carries a sequence number (`lock`) that changes while it is being written.
 */
#include "capture/sched_clock.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

void cam_sched_clock_open(struct cam_sched_clock *c)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	c->page = NULL;
	c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd < 0)
		return;
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, c->fd, 0);
	if (page != MAP_FAILED)
		c->page = page;
}

void cam_sched_clock_close(struct cam_sched_clock *c)
{
	if (c->page)
		munmap(c->page, (size_t)sysconf(_SC_PAGESIZE));
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct cam_sched_clock){.fd = -1};
}

bool cam_sched_clock_read(const struct cam_sched_clock *c, uint64_t *ns)
{
#if defined(__x86_64__)
	const volatile struct perf_event_mmap_page *p = c->page;
	if (!p || !p->cap_user_time_zero)
		return false;
	for (int attempt = 0; attempt < 16; attempt++) {
		uint32_t before = p->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		uint64_t counter = __rdtsc();
		uint64_t zero = p->time_zero;
		uint32_t mult = p->time_mult;
		unsigned shift = p->time_shift & 63;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before != p->lock || (before & 1))
			continue;
		uint64_t whole = counter >> shift, rest = counter & ((1ull << shift) - 1);
		*ns = zero + whole * mult + ((rest * mult) >> shift);
		return true;
	}
	return false;
#else
	(void)c;
	(void)ns;
	return false;
#endif
}
