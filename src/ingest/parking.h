// SPDX-License-Identifier: Apache-2.0
/*
 * Samples that wait for an answer about their process or its files: packed, in order, bounded.
 *
 * A parked sample keeps what was true at its time: the process (its `parked` is counted), its image
 * where that was known, the thread's comm. One thread.
 */
#pragma once
#include "ingest/process.h"

struct cam_parked {
	struct cam_process *process;
	struct cam_image *image; /* held; NULL: was not known */
	uint64_t parked_ns, sampled_ns;
	uint32_t execs, epoch; /* of the process, then */
	uint32_t bytes;	       /* of this and the packed record behind it */
	bool has_comm;
	char comm[CAM_COMM_BYTES];
};

struct cam_parking {
	char *bytes;
	size_t used, cap, max;
	uint32_t n;
};

/* false: stays parked; true: it is dealt with, its holds are let go of. */
typedef bool cam_parking_fn(void *arg, struct cam_parked *p, const struct cam_raw *r);

void cam_parking_free(struct cam_parking *q);
/* Takes the holds of `head` over. -E2BIG: full; -ENOMEM. */
int cam_parking_put(struct cam_parking *q, const struct cam_parked *head, const struct cam_raw *r);
/* Each one, in order. fn must not park. */
void cam_parking_visit(struct cam_parking *q, cam_parking_fn *fn, void *arg);
