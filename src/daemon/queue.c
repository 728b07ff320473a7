// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of bytes. Positions only grow; position modulo size is the place.
 *
 * Invariants: 1. A record lies in one piece: where it would wrap, a filler (length 0) takes the rest
 * of the ring. 2. The producer alone writes `head`, after the bytes (release); the consumer alone writes
 * `tail`, after it has read (release). 3. head - tail <= size. 4. An empty queue starts
 * again at the ring's beginning (`jump_from`, `jump_to`: where the consumer goes on instead): one that is
 * never more than a tenth full touches a tenth of it. There is one jump at most that the consumer has
 * not made: the queue is not empty again before it has.
 */
#include "daemon/queue.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define HEADER_BYTES 8u

struct cam_queue {
	size_t size;
	_Atomic size_t head, tail, peak;
	_Atomic size_t jump_from, jump_to;
	size_t peeked; /* bytes to drop */
	char *bytes;
};

int cam_queue_new(size_t bytes, struct cam_queue **out)
{
	if (bytes < 65536 || (bytes & (bytes - 1)))
		return -EINVAL;
	struct cam_queue *q = calloc(1, sizeof(*q));
	if (q)
		q->bytes = aligned_alloc(4096, bytes);
	if (!q || !q->bytes) {
		free(q);
		return -ENOMEM;
	}
	q->size = bytes;
	*out = q;
	return 0;
}

void cam_queue_free(struct cam_queue *q)
{
	if (!q)
		return;
	free(q->bytes);
	free(q);
}

static uint64_t *header_at(struct cam_queue *q, size_t position)
{
	return (uint64_t *)(q->bytes + (position & (q->size - 1)));
}

int cam_queue_put(struct cam_queue *q, const struct cam_raw *r)
{
	size_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	size_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	size_t jump_to = atomic_load_explicit(&q->jump_to, memory_order_relaxed);
	size_t bytes = cam_raw_packed_bytes(r) + HEADER_BYTES;
	if (head == tail && (head & (q->size - 1))) {
		jump_to = (head | (q->size - 1)) + 1;
		atomic_store_explicit(&q->jump_from, head, memory_order_relaxed);
		atomic_store_explicit(&q->jump_to, jump_to, memory_order_relaxed);
		head = jump_to;
	}
	/* What lies before a jump has been read, whether the consumer has jumped yet or not. */
	size_t oldest = tail < jump_to ? jump_to : tail;
	size_t place = head & (q->size - 1);
	size_t filler = place + bytes > q->size ? q->size - place : 0;
	if (head - oldest + filler + bytes > q->size)
		return -ENOSPC;
	if (filler)
		*header_at(q, head) = 0;
	head += filler;
	*header_at(q, head) = bytes;
	cam_raw_pack(r, header_at(q, head) + 1);
	head += bytes;
	atomic_store_explicit(&q->head, head, memory_order_release);
	if (head - oldest > atomic_load_explicit(&q->peak, memory_order_relaxed))
		atomic_store_explicit(&q->peak, head - oldest, memory_order_relaxed);
	return 0;
}

bool cam_queue_peek(struct cam_queue *q, struct cam_raw *out)
{
	size_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	size_t head = atomic_load_explicit(&q->head, memory_order_acquire);
	if (tail == head)
		return false;
	/* Written before the head that was just read. */
	if (tail == atomic_load_explicit(&q->jump_from, memory_order_relaxed) && tail)
		tail = atomic_load_explicit(&q->jump_to, memory_order_relaxed);
	atomic_store_explicit(&q->tail, tail, memory_order_release);
	size_t bytes = *header_at(q, tail);
	if (!bytes) {
		size_t place = tail & (q->size - 1);
		tail += q->size - place;
		atomic_store_explicit(&q->tail, tail, memory_order_release);
		bytes = *header_at(q, tail);
	}
	q->peeked = bytes;
	/* What put() wrote: it cannot be refused. */
	return cam_raw_unpack(header_at(q, tail) + 1, bytes - HEADER_BYTES, out) == 0;
}

void cam_queue_drop(struct cam_queue *q)
{
	size_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	atomic_store_explicit(&q->tail, tail + q->peeked, memory_order_release);
	q->peeked = 0;
}

size_t cam_queue_peak_bytes(const struct cam_queue *q)
{
	return atomic_load_explicit(&((struct cam_queue *)(uintptr_t)q)->peak,
				    memory_order_relaxed);
}
