// SPDX-License-Identifier: Apache-2.0
/*
 * Reader of one perf ring.
 *
 * The kernel's page holds two counters that only grow: data_head, how many bytes it has ever
 * written, and data_tail, how many we have given back. It writes records of whole 8 bytes, never
 * over what lies between the two; a record that does not fit is lost.
 *
 * Why decode in peek(): the merge asks for the time of each stream's next record first, and
 * unknown or broken records must not be announced. What peek() decoded is kept for take().
 *
 * Invariants:
 * 1. given back (page->data_tail) <= next_at <= head <= data_head, and head - data_tail <= bytes.
 * 2. Of the records between data_tail and head at most one wraps around the end of the data (two
 *    would together be longer than the ring), so one buffer is enough for all that is borrowed
 *    between two calls of end().
 * 3. A header whose size is not a multiple of 8, smaller than a header or longer than what is left
 *    tells no more where the next record begins: all up to head is passed over, counted once.
 * 4. head is read with acquire before any byte of data, data_tail is written with release after the
 *    last.
 *
 * Example, 4096 bytes: data_tail = 8000, head = 8240. The record at 8000 lies at offset 3904 and
 * has 240 bytes: 192 from the end and 48 from the beginning are put together in `wrapped`.
 */
#include "capture/ring.h"

#include "capture/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BYTES	 4096u
#define MAX_RECORD_BYTES 65536u /* header.size has 16 bits */

static const struct perf_event_header *contiguous(struct cam_ring *r, uint64_t at, size_t bytes)
{
	size_t offset = at & (r->bytes - 1);
	size_t to_end = r->bytes - offset;

	if (bytes <= to_end)
		return (const struct perf_event_header *)(r->data + offset);
	memcpy(r->wrapped, r->data + offset, to_end);
	memcpy(r->wrapped + to_end, r->data, bytes - to_end);
	return (const struct perf_event_header *)r->wrapped;
}

/* Records are multiples of 8 and so is the ring: a header itself never wraps. */
static const struct perf_event_header *next_record(struct cam_ring *r)
{
	uint64_t left = r->head - r->next_at;
	if (!left)
		return NULL;
	const struct perf_event_header *h = contiguous(r, r->next_at, sizeof(*h));
	if (left < sizeof(*h) || h->size < sizeof(*h) || h->size % 8 || h->size > left) {
		r->stats.malformed++;
		r->next_at = r->head;
		return NULL;
	}
	return contiguous(r, r->next_at, h->size);
}

/* Whether the decoded record is one to announce. */
static bool accept(struct cam_ring *r, const struct perf_event_header *h)
{
	switch (cam_record_decode(h, r->options.max_stack, r->options.copies, &r->next)) {
	case CAM_RECORD_OK:
		break;
	case CAM_RECORD_MALFORMED:
		r->stats.malformed++;
		return false;
	default:
		r->stats.unknown++;
		return false;
	}
	if (r->next.type != CAM_RAW_LOST)
		return true;
	r->next.lost.side_band = r->options.side_band;
	r->next.lost.from_ns = r->last_round_ns;
	if (h->type == PERF_RECORD_LOST_SAMPLES) {
		r->stats.dropped += r->next.lost.records;
		return true;
	}
	r->stats.lost += r->next.lost.records;
	r->tight = true;
	return !r->options.exact_lost;
}

static bool ring_peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct cam_ring *r = (struct cam_ring *)s;
	const struct perf_event_header *h;

	while (!r->announced && (h = next_record(r))) {
		r->end_at = r->next_at + h->size;
		r->announced = accept(r, h);
		if (!r->announced)
			r->next_at = r->end_at;
	}
	if (r->announced)
		*time_ns = r->next.time_ns;
	return r->announced;
}

static void ring_take(struct cam_stream *s, struct cam_raw *out)
{
	struct cam_ring *r = (struct cam_ring *)s;

	*out = r->next;
	r->next_at = r->end_at;
	r->announced = false;
	r->stats.records++;
	r->stats.samples += out->type == CAM_RAW_SAMPLE;
}

int cam_ring_init(struct cam_ring *r, const struct cam_ring_options *o,
		  struct perf_event_mmap_page *page, const void *data, size_t bytes)
{
	memset(r, 0, sizeof(*r));
	if (bytes < MIN_BYTES || (bytes & (bytes - 1)))
		return -EINVAL;
	r->wrapped = malloc(bytes < MAX_RECORD_BYTES ? bytes : MAX_RECORD_BYTES);
	if (!r->wrapped)
		return -ENOMEM;
	r->stream = (struct cam_stream){.peek = ring_peek, .take = ring_take};
	r->options = *o;
	r->page = page;
	r->data = data;
	r->bytes = bytes;
	r->head = r->next_at = page->data_tail & ~7ull;
	return 0;
}

void cam_ring_free(struct cam_ring *r)
{
	free(r->wrapped);
	memset(r, 0, sizeof(*r));
}

/* How far the kernel has written; notes whether the next record may not have fitted. */
static uint64_t look(struct cam_ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t given = r->page->data_tail; /* only we write it */

	if (head - given + r->options.max_record_bytes >= r->bytes)
		r->tight = true;
	return head;
}

void cam_ring_begin(struct cam_ring *r, uint64_t round_ns)
{
	r->last_round_ns = r->round_ns;
	r->round_ns = round_ns;
	uint64_t head = look(r);
	if (head % 8 || head - r->page->data_tail > r->bytes) {
		r->stats.malformed++;
		r->announced = false;
		r->next_at = head & ~7ull;
	}
	r->head = head & ~7ull;
}

void cam_ring_end(struct cam_ring *r)
{
	if (r->next_at == r->page->data_tail)
		return;
	look(r); /* the ring may have filled up since begin(), which giving back would hide */
	__atomic_store_n(&r->page->data_tail, r->next_at, __ATOMIC_RELEASE);
}
