// SPDX-License-Identifier: Apache-2.0
/*
 * The sort is a merge of the runs that are there: each CPU's records are in order already, so n entries
 * of k runs take n log k steps, and what is in order as a whole takes n.
 *
 * Invariants
 *  1. entries[] are in the order in which they came, ready[] sorted by time, equal times in the order in which
 *     they came. So what is left behind needs no second sort.
 *  2. A record lies at bytes + at * 8, whole (of a plain sample there is none); records start at multiples of 8, and so do hashes, right before them.
 *  3. drop() moves what is left to the front of bytes[], in the order in which it came: about a round.
 *
 * Example: times 5 9 | 3 7 | 8 (three runs) → 3 5 7 9 | 8 → 3 5 7 8 9.
 */
#include "interop/perf_data_order.h"

#include "base/vec.h"

#include <stdlib.h>

#define FIRST_BYTES (4u << 20)
#define MAX_ENTRIES (CAM_PERF_ORDER_BYTES / 64) /* three of 16 bytes each: less than the records */

int cam_perf_order_init(struct cam_perf_order *o, size_t n_streams)
{
	*o = (struct cam_perf_order){.n_streams = n_streams};
	o->streams = calloc(n_streams, sizeof(*o->streams));
	return o->streams ? 0 : -ENOMEM;
}

void cam_perf_order_free(struct cam_perf_order *o)
{
	free(o->bytes);
	free(o->entries);
	free(o->sorted);
	free(o->scratch);
	free(o->streams);
	*o = (struct cam_perf_order){0};
}

static int grow_bytes(struct cam_perf_order *o, size_t need)
{
	if (need > CAM_PERF_ORDER_BYTES)
		return -E2BIG;
	size_t cap = o->cap ? o->cap : FIRST_BYTES;
	while (cap < need)
		cap *= 2;
	uint8_t *grown = realloc(o->bytes, cap);
	if (!grown)
		return -ENOMEM;
	o->bytes = grown;
	o->cap = cap;
	return 0;
}

static size_t before(const struct cam_perf_order_entry *e)
{
	return e->what & CAM_PERF_ORDER_HASHED ? sizeof(struct cam_hash_128) : 0;
}

int cam_perf_order_add(struct cam_perf_order *o, size_t stream,
		       const struct cam_perf_order_entry *e, const void *record,
		       const struct cam_hash_128 *hash)
{
	size_t skip = before(e), room = skip + ((e->n + 7u) & ~7u);
	int err = o->used + room > o->cap ? grow_bytes(o, o->used + room) : 0;
	if (!err)
		err = cam_vec_reserve(&o->entries, &o->cap_entries, o->n + 1, sizeof(*o->entries),
				      MAX_ENTRIES);
	if (err)
		return err;
	if (skip)
		memcpy(o->bytes + o->used, hash, skip);
	if (e->what & CAM_PERF_ORDER_BARE)
		memcpy(o->bytes + o->used + skip, record, sizeof(struct cam_perf_bare));
	else
		memcpy(o->bytes + o->used + skip, record, e->n);
	o->entries[o->n] = *e;
	o->entries[o->n++].at = (uint32_t)((o->used + skip) / 8);
	o->used += room;
	cam_perf_order_saw(o, stream, e->time_ns);
	return 0;
}

void cam_perf_order_round(struct cam_perf_order *o, size_t stream)
{
	struct cam_perf_order_stream *s = &o->streams[stream];
	s->promised = s->reached;
	s->reached = s->newest;
}

void cam_perf_order_end(struct cam_perf_order *o, size_t stream)
{
	o->streams[stream].promised = UINT64_MAX;
}

/* The run that starts at `from` ends before the answer. */
static size_t run_end(const struct cam_perf_order_entry *e, size_t from, size_t n)
{
	size_t i = from + 1;
	while (i < n && e[i - 1].time_ns <= e[i].time_ns)
		i++;
	return i;
}

static void merge(const struct cam_perf_order_entry *in, size_t from, size_t middle, size_t to,
		  struct cam_perf_order_entry *out)
{
	size_t a = from, b = middle;
	for (size_t i = from; i < to; i++) {
		bool left = a < middle && (b == to || in[a].time_ns <= in[b].time_ns);
		out[i] = in[left ? a++ : b++];
	}
}

/* One pass: pairs of runs become one; true when only one is left. */
static bool merge_runs(const struct cam_perf_order_entry *in, size_t n,
		       struct cam_perf_order_entry *out)
{
	size_t from = 0, pairs = 0;
	while (from < n) {
		size_t middle = run_end(in, from, n);
		size_t to = middle < n ? run_end(in, middle, n) : n;
		merge(in, from, middle, to, out);
		from = to;
		pairs++;
	}
	return pairs <= 1;
}

static int sort(struct cam_perf_order *o)
{
	o->ready = o->entries;
	if (run_end(o->entries, 0, o->n) >= o->n)
		return 0;
	int err =
		cam_vec_reserve(&o->sorted, &o->cap_sorted, o->n, sizeof(*o->sorted), MAX_ENTRIES);
	if (!err)
		err = cam_vec_reserve(&o->scratch, &o->cap_scratch, o->n, sizeof(*o->scratch),
				      MAX_ENTRIES);
	if (err)
		return err;
	struct cam_perf_order_entry *to = o->sorted, *other = o->scratch;
	while (!merge_runs(o->ready, o->n, to)) {
		o->ready = to;
		to = other;
		other = (struct cam_perf_order_entry *)o->ready;
	}
	o->ready = to;
	return 0;
}

/* The time up to which (and with which) records may go. */
static uint64_t limit_of(const struct cam_perf_order *o, enum cam_perf_order_which which)
{
	uint64_t limit = UINT64_MAX;
	if (which == CAM_PERF_ORDER_HALF)
		return o->ready[o->n / 2].time_ns;
	for (size_t i = 0; i < o->n_streams && which == CAM_PERF_ORDER_PROMISED; i++) {
		if (o->streams[i].promised < limit)
			limit = o->streams[i].promised;
	}
	return limit;
}

int cam_perf_order_ready(struct cam_perf_order *o, enum cam_perf_order_which which)
{
	o->n_ready = 0;
	if (!o->n)
		return 0;
	int err = sort(o);
	if (err)
		return err;
	uint64_t limit = o->limit = limit_of(o, which);
	o->halves += which == CAM_PERF_ORDER_HALF;
	size_t low = 0, high = o->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (o->ready[middle].time_ns <= limit)
			low = middle + 1;
		else
			high = middle;
	}
	o->n_ready = low;
	return 0;
}

void cam_perf_order_drop(struct cam_perf_order *o)
{
	size_t left = 0, used = 0;
	if (!o->n_ready)
		return;
	/* Moved from front to back, so that none is overwritten before it has moved. */
	for (size_t i = 0; i < o->n; i++) {
		struct cam_perf_order_entry e = o->entries[i];
		if (e.time_ns <= o->limit)
			continue;
		if (e.what & CAM_PERF_ORDER_PLAIN) {
			o->entries[left++] = e;
			continue;
		}
		size_t skip = before(&e);
		memmove(o->bytes + used, o->bytes + (size_t)e.at * 8 - skip, skip + e.n);
		e.at = (uint32_t)((used + skip) / 8);
		o->entries[left++] = e;
		used += skip + ((e.n + 7u) & ~7u);
	}
	o->used = used;
	o->n = left;
	o->n_ready = 0;
}
