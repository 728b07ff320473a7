// SPDX-License-Identifier: Apache-2.0
/*
 * One mmap ring of a perf event as a stream of raw records. The ring is the buffer: what is not
 * taken stays in it, what was taken is given back to the kernel in end().
 *
 * Sides: the kernel writes, this reads; rings.c (or a test, on plain memory) owns the mapping.
 * Ownership: a taken record lies in the ring itself, or, where it wraps around the ring's end, in one
 * buffer of this ring; both hold until the next end(), which is later than the stream door asks.
 * Thread: one, the drain thread. Nothing is allocated after init().
 * Counted in `stats`: what could not be understood.
 */
#pragma once
#include "model/stream.h"

#include <linux/perf_event.h>

struct cam_ring_stats {
	uint64_t records; /* taken */
	uint64_t samples; /* …of these, samples */
	uint64_t lost;	  /* what LOST records said; they are given only without exact_lost */
	uint64_t dropped; /* what LOST_SAMPLES records said: the hardware's own losses */
	uint64_t unknown; /* types that are not known, or not wanted */
	uint64_t
		malformed; /* records that broke their own lengths, and rings that lost their sync */
};

struct cam_ring_options {
	uint32_t max_stack; /* attr.sample_max_stack, 0: not known */
	bool copies;	    /* samples bring registers and stack (record.h) */
	/* The longest record that this ring's events can write; see tight. */
	size_t max_record_bytes;
	bool side_band;	 /* what a LOST record is about */
	bool exact_lost; /* the owner reads PERF_FORMAT_LOST: LOST records are counted, not given */
};

/* Owned by the caller, but private to ring.c except `stream`, `stats` and `tight`. */
struct cam_ring {
	struct cam_stream stream;
	struct cam_ring_stats stats;
	/*
	 * Since the owner last cleared it there was a moment at which the longest record may not
	 * have fitted, or a LOST record came: records may have been lost. While it is false none
	 * were, and PERF_FORMAT_LOST need not be read (that interrupts the CPU).
	 */
	bool tight;

	struct cam_ring_options options;
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes;	  /* of data, a power of two */
	uint64_t head;	  /* how far the kernel had written when the round began */
	uint64_t next_at; /* the record after the last one taken */
	uint64_t end_at;  /* where the announced record ends */
	uint64_t last_round_ns, round_ns;
	bool announced;
	struct cam_raw next;
	uint8_t *wrapped;
};

/*
 * The kernel's page and the data behind it are borrowed until free(). -EINVAL: bytes is no power
 * of two, or less than 4 KiB. -ENOMEM.
 */
int cam_ring_init(struct cam_ring *r, const struct cam_ring_options *o,
		  struct perf_event_mmap_page *page, const void *data, size_t bytes);
/* Frees what the ring allocated, not the mapping. Harmless on a zeroed struct. */
void cam_ring_free(struct cam_ring *r);

/* Notes how far the ring is filled: peek() sees what was there now. */
void cam_ring_begin(struct cam_ring *r, uint64_t round_ns);
/* Gives what was taken back to the kernel. */
void cam_ring_end(struct cam_ring *r);
