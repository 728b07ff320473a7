// SPDX-License-Identifier: Apache-2.0
/*
 * Records in order of time.
 *
 * A recorder empties the rings of its CPUs one after the other, so a file is in order only by pieces.
 * After each round it writes PERF_RECORD_FINISHED_ROUND: what comes later is not older than the newest
 * record before the round *before* it. So records wait here until a round says that nothing older can
 * come. Records without a time (0) come first, in the order of the file.
 *
 * Several streams (perf record --threads writes a file a thread) have rounds of their own: what is
 * older than what all of them promise may go.
 *
 * Memory: records wait in a buffer of at most CAM_PERF_ORDER_BYTES, at most one for 64 bytes of it, since each takes
 * 48 more. When it is full, the older half goes, rounds or no rounds: as perf does.
 */
#pragma once
#include "base/index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CAM_PERF_ORDER_BYTES (64u << 20)
#define CAM_PERF_MAX_STREAMS 1024u

/* The hash of a chain is taken while its record is in the cache, and waits before it. */
#define CAM_PERF_ORDER_HASHED 0x8000u
/* What waits is no record, but a struct cam_perf_bare: all that is asked of that sample. */
#define CAM_PERF_ORDER_BARE 0x4000u
/* Nothing waits but the entry: `at` is the CPU of a sample, the event's number that of its kind (perf_data_plain.c). */
#define CAM_PERF_ORDER_PLAIN 0x2000u
#define CAM_PERF_ORDER_EVENT 0x1fffu

struct cam_perf_order_entry {
	uint64_t time_ns;
	uint32_t at; /* in words, in bytes[] */
	uint16_t n;  /* of bytes */
	uint16_t
		what; /* a sample's event plus 1, 0: not known; and whether a hash stands before it */
};

struct cam_perf_bare {
	int32_t pid, tid;
	uint32_t cpu;
	uint64_t period;
};

struct cam_perf_order {
	uint8_t *bytes;
	size_t used, cap;
	struct cam_perf_order_entry *entries; /* as they came */
	size_t n, cap_entries;
	struct cam_perf_order_entry *sorted, *scratch;
	size_t cap_sorted, cap_scratch;
	const struct cam_perf_order_entry *ready; /* sorted, and may go: n_ready of them … */
	size_t n_ready;
	uint64_t limit;	 /* … up to this time */
	uint64_t halves; /* how often it was full */
	struct cam_perf_order_stream {
		uint64_t newest;   /* of all records so far */
		uint64_t reached;  /* … at the last round */
		uint64_t promised; /* … at the round before: nothing older will come */
	} * streams;
	size_t n_streams;
};

/* -ENOMEM. */
int cam_perf_order_init(struct cam_perf_order *o, size_t n_streams);
void cam_perf_order_free(struct cam_perf_order *o);

/* Copies a record of e->n bytes, and the hash if it has one; e->at is not read. -E2BIG: full; take what is ready
 * (cam_perf_order_ready() with half) and try again. */
int cam_perf_order_add(struct cam_perf_order *o, size_t stream,
		       const struct cam_perf_order_entry *e, const void *record,
		       const struct cam_hash_128 *hash);
static inline const uint8_t *cam_perf_order_record(const struct cam_perf_order *o,
						   const struct cam_perf_order_entry *e)
{
	return o->bytes + (size_t)e->at * 8;
}
/* Of one that is CAM_PERF_ORDER_HASHED. */
static inline struct cam_hash_128 cam_perf_order_hash(const struct cam_perf_order *o,
						      const struct cam_perf_order_entry *e)
{
	struct cam_hash_128 h;
	memcpy(&h, cam_perf_order_record(o, e) - sizeof(h), sizeof(h));
	return h;
}
/* A record of that time came in this stream, and nobody waits for it. */
static inline void cam_perf_order_saw(struct cam_perf_order *o, size_t stream, uint64_t time_ns)
{
	if (time_ns > o->streams[stream].newest)
		o->streams[stream].newest = time_ns;
}
void cam_perf_order_round(struct cam_perf_order *o, size_t stream);
/* The stream has ended: it holds nothing up. */
void cam_perf_order_end(struct cam_perf_order *o, size_t stream);

enum cam_perf_order_which {
	CAM_PERF_ORDER_PROMISED,
	CAM_PERF_ORDER_HALF,
	CAM_PERF_ORDER_ALL,
};
/*
 * Sorts; ready[0 .. n_ready) may be used until cam_perf_order_drop(), which forgets them. Those of
 * one time are in the order of the file. -ENOMEM.
 */
int cam_perf_order_ready(struct cam_perf_order *o, enum cam_perf_order_which which);
void cam_perf_order_drop(struct cam_perf_order *o);
