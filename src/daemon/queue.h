// SPDX-License-Identifier: Apache-2.0
/*
 * Between the drain thread, which may not wait, and the ingest thread, which the disk may hold up:
 * a bounded queue of packed raw records.
 *
 * One producer, one consumer, no locks. What does not fit is refused whole; the producer counts it
 * (drain.c). The memory is taken once, by cam_queue_new(), and touched only as far as it fills.
 */
#pragma once
#include "model/raw.h"

struct cam_queue;

/* bytes: a power of two, at least 64 KiB. */
int cam_queue_new(size_t bytes, struct cam_queue **out);
void cam_queue_free(struct cam_queue *q);

/* Producer. -ENOSPC: full. */
int cam_queue_put(struct cam_queue *q, const struct cam_raw *r);
/* Consumer. False: empty. *out is borrowed until cam_queue_drop(), which must follow. */
bool cam_queue_peek(struct cam_queue *q, struct cam_raw *out);
void cam_queue_drop(struct cam_queue *q);
/* Any thread: the most bytes that were ever in it. */
size_t cam_queue_peak_bytes(const struct cam_queue *q);
