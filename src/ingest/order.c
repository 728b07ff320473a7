// SPDX-License-Identifier: Apache-2.0
/*
 * A merge of sorted streams with a binary heap of their heads.
 *
 * Why a heap: with 512 CPUs and two rings each, finding the oldest head by looking at all of them
 * costs 1,024 looks a record; the heap costs at most 11, and only 2 while records come from the same
 * stream as the one before (a burst of one CPU), because the head that is replaced stays on top.
 *
 * Why "older than the previous round": a ring is read up to where it was filled when the round
 * began. A record that was written into another ring in the meantime may be older than one that was
 * read, but not older than the moment the round before began, since that ring has been read past
 * that moment.
 *
 * Invariants
 *  1. Each stream that has a record older than before_ns is in the heap once, with the time that its
 *     peek() announced; no other stream is in it.
 *  2. A parent is never younger than its children; of equal times the lower stream number is older.
 *  3. Records of one stream keep their order, also where a stream breaks its promise: one that
 *     is older than its predecessor comes right behind it.
 *
 * Example: streams 0: 1 4 9, 1: 2 4, 2: none; before_ns = 9. Released: 1, 2, 4 (of 0), 4 (of 1); 9
 * stays in its stream.
 */
#include "ingest/order.h"

#include <errno.h>
#include <stdlib.h>

struct head {
	uint64_t time_ns;
	uint32_t stream;
};

struct cam_order {
	size_t max, n;
	struct head heads[];
};

int cam_order_new(size_t max_streams, struct cam_order **out)
{
	if (max_streams > UINT32_MAX / sizeof(struct head))
		return -E2BIG;
	struct cam_order *o = calloc(1, sizeof(*o) + max_streams * sizeof(struct head));
	if (!o)
		return -ENOMEM;
	o->max = max_streams;
	*out = o;
	return 0;
}

void cam_order_free(struct cam_order *o)
{
	free(o);
}

static inline bool is_older(struct head a, struct head b)
{
	return a.time_ns < b.time_ns || (a.time_ns == b.time_ns && a.stream < b.stream);
}

/* Puts a head at i or below, where it belongs. */
static void sink(struct cam_order *o, size_t i, struct head h)
{
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= o->n)
			break;
		if (child + 1 < o->n && is_older(o->heads[child + 1], o->heads[child]))
			child++;
		if (!is_older(o->heads[child], h))
			break;
		o->heads[i] = o->heads[child];
		i = child;
	}
	o->heads[i] = h;
}

static void gather(struct cam_order *o, struct cam_stream **streams, size_t n, uint64_t before_ns)
{
	uint64_t time_ns;
	o->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (streams[i]->peek(streams[i], &time_ns) && time_ns < before_ns)
			o->heads[o->n++] = (struct head){time_ns, (uint32_t)i};
	}
	for (size_t i = o->n / 2; i-- > 0;)
		sink(o, i, o->heads[i]);
}

void cam_order_release(struct cam_order *o, struct cam_stream **streams, size_t n,
		       uint64_t before_ns, cam_raw_fn *fn, void *arg)
{
	gather(o, streams, n < o->max ? n : o->max, before_ns);
	while (o->n) {
		struct head top = o->heads[0];
		struct cam_stream *s = streams[top.stream];
		struct cam_raw r;
		s->take(s, &r);
		fn(arg, &r);
		if (s->peek(s, &top.time_ns) && top.time_ns < before_ns)
			sink(o, 0, top);
		else if (--o->n)
			sink(o, 0, o->heads[o->n]);
	}
}
