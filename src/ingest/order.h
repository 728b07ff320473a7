// SPDX-License-Identifier: Apache-2.0
/*
 * Many streams into one, in order of time.
 *
 * A drain round notes its time before it reads any ring; records older than the *previous* round's
 * time cannot be joined by older ones any more and are released. An idle CPU holds nothing back.
 * Drain thread. The order is by time, then by number of the stream.
 */
#pragma once
#include "model/stream.h"

struct cam_order;
typedef void cam_raw_fn(void *arg, const struct cam_raw *r);

int cam_order_new(size_t max_streams, struct cam_order **out);
void cam_order_free(struct cam_order *o);
/* Takes from all streams what is older than before_ns. Allocates nothing. Streams beyond
 * max_streams are left alone: their records wait. */
void cam_order_release(struct cam_order *o, struct cam_stream **streams, size_t n,
		       uint64_t before_ns, cam_raw_fn *fn, void *arg);
