// SPDX-License-Identifier: Apache-2.0
/*
 * What somebody writes (base/out.h) as a stream that somebody else reads, at the pace of the slower one: a
 * thread that writes, and a ring of PUMP_BYTES between them. Nothing larger is ever held.
 *
 * Sides: a route starts it; the connection's thread reads and closes the stream.
 * Thread: work() and done() run on the pump's own.
 */
#pragma once
#include "base/out.h"
#include "serve/stream.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cam_pump;

struct cam_pump_work {
	/* Writes all; asks cam_pump_wanted() now and then. Its errno ends the stream as broken off. */
	int (*work)(void *arg, struct cam_pump *p, struct cam_out *out);
	void (*done)(void *arg); /* called once, when the stream is closed, or not started */
	void *arg;
	uint64_t max_bytes;	 /* more: -EFBIG */
	int64_t until_s;	 /* CLOCK_MONOTONIC; later, writing or read: -ETIMEDOUT */
	const atomic_bool *stop; /* set: nobody wants it any more; outlives the stream */
};

/* -ENOMEM, -EAGAIN: no thread; done() has been called. */
int cam_pump_start(const struct cam_pump_work *w, struct cam_stream **out);
/* false: whoever asked has gone. */
bool cam_pump_wanted(struct cam_pump *p);
/*
 * Waits until there is something to send for sure. 0; or what work() failed with, if it has before the
 * first bytes would have been sent: the stream is then closed.
 */
int cam_pump_settle(struct cam_stream *s);
