// SPDX-License-Identifier: Apache-2.0
/*
 * One BPF ring buffer as a stream of samples.
 *
 * Sides: bpf_source.c (or a test, with memory of its own) opens and runs rounds; ingest/order peeks
 * and takes through the stream.
 * Ownership: what take() gives points into the ring, until the next take() or end().
 * Thread: the drain thread.
 * Refusals: cam_bpf_ring_open(): what bpf(2) and mmap(2) say. A record that is not what it says is
 * passed over and counted in `malformed`; where the lengths themselves make no sense, everything up
 * to the round's head is.
 */
#pragma once
#include "capture/wire.h"
#include "model/stream.h"

/* Memory as the kernel lays it out: the data is mapped twice in a row, so that no record wraps. */
struct cam_bpf_ring_memory {
	unsigned long *consumer;       /* ours to write: how far we have read */
	const unsigned long *producer; /* how far the kernel has reserved */
	const char *data;
	size_t bytes; /* of the data, a power of 2 */
};

struct cam_bpf_ring {
	struct cam_stream stream; /* first */
	struct cam_bpf_ring_memory memory;
	int fd;			   /* -1: memory of the caller's own */
	uint32_t first_cpu;	   /* the CPUs that may write here */
	uint64_t position;	   /* next record to look at */
	uint64_t head;		   /* of this round */
	struct cam_wire_sample at; /* the record at position, checked, if ready */
	bool ready;
	uint64_t malformed; /* records, and rings that made no sense */
};

/* What one ring of that many bytes takes as mapped: its data twice. */
size_t cam_bpf_ring_mapped_bytes(size_t bytes, size_t page_bytes);

/* `bytes` is a power of 2 of pages. */
int cam_bpf_ring_open(size_t bytes, uint32_t first_cpu, struct cam_bpf_ring *out);
void cam_bpf_ring_use(struct cam_bpf_ring *r, const struct cam_bpf_ring_memory *m,
		      uint32_t first_cpu);
void cam_bpf_ring_close(struct cam_bpf_ring *r);

/* Notes how far the kernel has written. */
void cam_bpf_ring_begin(struct cam_bpf_ring *r);
/* Gives back what was taken. */
void cam_bpf_ring_end(struct cam_bpf_ring *r);
