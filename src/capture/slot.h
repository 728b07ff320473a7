// SPDX-License-Identifier: Apache-2.0
/*
 * One CPU of a set of rings (rings.h): its events, its ring, and the records made beside it, as one
 * stream. Private to rings.c and its tests.
 */
#pragma once
#include "capture/pulse.h"
#include "capture/rings.h"
#include "capture/synth.h"
#include "capture/witness.h"

struct cam_slot {
	struct cam_stream stream; /* first: the ring and the queue, merged by time */
	struct cam_ring ring;
	struct cam_synth synth;
	const struct cam_kernel *kernel;
	int epoll_fd;
	uint32_t cpu;
	uint32_t hz;
	bool side_band, watch, of_tids;
	bool gone;  /* no events any more: what is left is read */
	bool dead;  /* the kernel has killed the events */
	bool asked; /* COUNTS are due in the next round, whatever the time */

	int *fds; /* the first one's ring is everyone's */
	size_t n_fds;
	void *base;
	size_t base_bytes;
	struct cam_witness witness;

	uint64_t kernel_lost; /* as last read */
	uint64_t enabled_ns;
	uint64_t given_up; /* records of an earlier slot of this CPU that nobody read */
	uint64_t told;	   /* losses that LOST records of the queue have told */
	uint64_t round_ns, counts_ns;
	struct cam_pulse pulse; /* in bytes */
};

/*
 * Opens, maps and enables. o->attr is reduced to what the kernel knows. Errors as cam_rings_cpus();
 * -ENODEV and -ESRCH included.
 */
int cam_slot_open(struct cam_rings_options *o, uint32_t cpu, struct cam_slot **out);
void cam_slot_begin(struct cam_slot *s, uint64_t round_ns);
/* The last counts, then no events any more. */
void cam_slot_retire(struct cam_slot *s, uint64_t now_ns);
bool cam_slot_empty(struct cam_slot *s);
/* How many records are left; they are gone then. */
uint64_t cam_slot_give_up(struct cam_slot *s);
int cam_slot_period(struct cam_slot *s, uint64_t value);
void cam_slot_close(struct cam_slot *s, struct cam_ring_budget *budget);
