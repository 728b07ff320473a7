// SPDX-License-Identifier: Apache-2.0
/*
 * A stream of raw records in (nearly) its own order of time: one ring of one CPU, a recorded
 * stream that is replayed, a test's list. ingest/order.c merges many.
 *
 * Sides: capture, a replay or a test implements; ingest/order calls.
 * Ownership: what take() gives is borrowed until the next take() of this stream, or until the
 * round ends, whichever comes first.
 * Thread: the drain thread.
 * Refusals: none: a record that cannot be understood is counted by the implementor and passed over
 * by peek().
 */
#pragma once
#include "model/raw.h"

struct cam_stream {
	/* The time of the next record; false: none now. */
	bool (*peek)(struct cam_stream *s, uint64_t *time_ns);
	/* The record that peek() announced. */
	void (*take)(struct cam_stream *s, struct cam_raw *out);
};
