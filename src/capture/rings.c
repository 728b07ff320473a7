// SPDX-License-Identifier: Apache-2.0
/*
 * A list of CPUs, one slot each (slot.c).
 *
 * Invariants: 1. The list changes in cpus() alone. 2. A CPU has at most one slot with events and at
 * most one that went and is not read to its end. 3. used_bytes of the budget is the sum of all
 * mappings of all sets that share it.
 *
 * Example: CPU 3 vanishes with 40 records in its ring. cpus() reads its last counts, queues COUNTS
 * and CPU (went) and closes its event. Its stream gives the 40 records, then these two. A later
 * cpus() finds it empty, unmaps it and takes it off the list.
 */
#include "capture/rings.h"

#include "capture/record.h"
#include "capture/slot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

struct cam_rings {
	struct cam_rings_options options;
	struct cam_slot **slots;
	size_t n, cap;
	struct cam_ring_stats closed; /* of slots that are no more */
};

void cam_rings_side_attr(struct perf_event_attr *attr, size_t ring_bytes, bool of_tids)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = CAM_RECORD_SIDE_TYPE,
		.read_format = CAM_KERNEL_READ_FORMAT,
		.disabled = 1,
		.inherit = of_tids,
		.exclude_kernel = 1, /* a dummy counts nothing; without this it needs a privilege */
		.exclude_hv = 1,
		.sample_id_all = 1,
		.mmap = 1, /* without mmap_data: executable ones only */
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = !of_tids,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(ring_bytes / 4),
	};
}

int cam_rings_new(const struct cam_rings_options *o, struct cam_rings **out)
{
	struct cam_rings *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->options = *o;
	*out = s;
	return 0;
}

static void add_stats(struct cam_ring_stats *to, const struct cam_ring_stats *from)
{
	to->records += from->records;
	to->samples += from->samples;
	to->lost += from->lost;
	to->dropped += from->dropped;
	to->unknown += from->unknown;
	to->malformed += from->malformed;
}

static void remove_slot(struct cam_rings *s, size_t i)
{
	add_stats(&s->closed, &s->slots[i]->ring.stats);
	cam_slot_close(s->slots[i], s->options.budget);
	s->slots[i] = s->slots[--s->n];
}

void cam_rings_free(struct cam_rings *s)
{
	if (!s)
		return;
	while (s->n)
		remove_slot(s, s->n - 1);
	free(s->slots);
	free(s);
}

static int find(const struct cam_rings *s, uint32_t cpu, bool gone)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->slots[i]->cpu == cpu && s->slots[i]->gone == gone)
			return (int)i;
	return -1;
}

/* Ends the slot's sampling; what an earlier one of its CPU still held is given up, and counted. */
static void retire(struct cam_rings *s, struct cam_slot *slot, uint64_t now_ns)
{
	int earlier = find(s, slot->cpu, true);
	if (earlier >= 0) {
		slot->given_up += cam_slot_give_up(s->slots[earlier]);
		remove_slot(s, (size_t)earlier);
	}
	cam_slot_retire(slot, now_ns);
}

static int add_slot(struct cam_rings *s, uint32_t cpu)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		struct cam_slot **slots = realloc(s->slots, cap * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		s->slots = slots;
		s->cap = cap;
	}
	int err = cam_slot_open(&s->options, cpu, &s->slots[s->n]);
	if (err)
		return err;
	s->n++;
	return 0;
}

/* Whether a slot was freed. */
static bool free_empty(struct cam_rings *s)
{
	size_t before = s->n;
	for (size_t i = s->n; i-- > 0;)
		if (s->slots[i]->gone && cam_slot_empty(s->slots[i]))
			remove_slot(s, i);
	return s->n != before;
}

static void retire_unwanted(struct cam_rings *s, const struct cam_cpus *wanted, uint64_t now_ns)
{
	for (size_t i = 0; i < s->n;) {
		struct cam_slot *slot = s->slots[i];
		if (slot->gone || (cam_cpus_has(wanted, slot->cpu) && !slot->dead)) {
			i++;
			continue;
		}
		retire(s, slot, now_ns);
		i = 0; /* the list may have been shuffled */
	}
}

static bool has_gone(const struct cam_rings *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->slots[i]->gone)
			return true;
	return false;
}

int cam_rings_cpus(struct cam_rings *s, const struct cam_cpus *wanted, uint64_t now_ns,
		   bool *changed)
{
	struct cam_cpus open = {0};

	*changed = free_empty(s);
	size_t before = s->n;
	retire_unwanted(s, wanted, now_ns);
	*changed |= s->n != before;
	for (size_t i = 0; i < s->n; i++)
		if (!s->slots[i]->gone)
			cam_cpus_add(&open, s->slots[i]->cpu);
	for (uint32_t cpu = cam_cpus_next(wanted, 0); cpu < CAM_CPUS_MAX;
	     cpu = cam_cpus_next(wanted, cpu + 1)) {
		if (cam_cpus_has(&open, cpu))
			continue;
		int err = add_slot(s, cpu);
		/* What a CPU that went still holds is free at the next call. */
		bool later = err == -ENOMEM && has_gone(s);
		if (err && err != -ENODEV && !later)
			return err;
		*changed |= !err;
	}
	return 0;
}

void cam_rings_dead(const struct cam_rings *s, struct cam_cpus *out)
{
	*out = (struct cam_cpus){0};
	for (size_t i = 0; i < s->n; i++)
		if (!s->slots[i]->gone && s->slots[i]->dead)
			cam_cpus_add(out, s->slots[i]->cpu);
}

uint32_t cam_rings_count(const struct cam_rings *s)
{
	uint32_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += !s->slots[i]->gone && !s->slots[i]->dead;
	return n;
}

size_t cam_rings_n_streams(const struct cam_rings *s)
{
	return s->n;
}

void cam_rings_streams(struct cam_rings *s, struct cam_stream **out)
{
	for (size_t i = 0; i < s->n; i++)
		out[i] = &s->slots[i]->stream;
}

void cam_rings_begin(struct cam_rings *s, uint64_t round_ns)
{
	for (size_t i = 0; i < s->n; i++)
		cam_slot_begin(s->slots[i], round_ns);
}

void cam_rings_ask(struct cam_rings *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->slots[i]->asked = true;
}

void cam_rings_end(struct cam_rings *s)
{
	for (size_t i = 0; i < s->n; i++)
		cam_ring_end(&s->slots[i]->ring);
}

int cam_rings_period(struct cam_rings *s, uint64_t value, uint32_t hz)
{
	s->options.attr.sample_period = value;
	s->options.hz = hz;
	int first = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->slots[i]->gone)
			continue;
		int err = cam_slot_period(s->slots[i], value);
		first = first ? first : err;
		s->slots[i]->hz = hz;
	}
	return first;
}

struct cam_ring_stats cam_rings_stats(const struct cam_rings *s)
{
	struct cam_ring_stats all = s->closed;
	for (size_t i = 0; i < s->n; i++)
		add_stats(&all, &s->slots[i]->ring.stats);
	return all;
}

void cam_rings_woken(int epoll_fd)
{
	struct epoll_event ready[64];
	int n;

	do {
		n = epoll_wait(epoll_fd, ready, 64, 0);
		for (int i = 0; i < n; i++)
			if (ready[i].events & (EPOLLHUP | EPOLLERR))
				epoll_ctl(epoll_fd, EPOLL_CTL_DEL, ready[i].data.fd, NULL);
	} while (n == 64);
}
