// SPDX-License-Identifier: Apache-2.0
/*
 * A short queue of the records that a source makes itself: what was lost, counts, CPUs that came and
 * went. In order of time; merged with a ring by its owner, or a stream of its own.
 *
 * Bounded: a full queue merges the two oldest records of one kind (counts and states of CPUs: the
 * older one is dropped, the newer says it all; losses: added up). Nothing is ever refused.
 */
#pragma once
#include "model/stream.h"

#define CAM_SYNTH_RECORDS 16u

struct cam_synth {
	struct cam_stream stream;
	uint32_t n;
	struct cam_raw records[CAM_SYNTH_RECORDS];
};

void cam_synth_init(struct cam_synth *s);
/* LOST, COUNTS or CPU only: they borrow nothing. A time before the last one's is moved to it. */
void cam_synth_push(struct cam_synth *s, const struct cam_raw *r);
