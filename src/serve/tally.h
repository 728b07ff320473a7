// SPDX-License-Identifier: Apache-2.0
/* How many requests there were, how they ended and how long they took: by path, for /metrics. Any thread. */
#pragma once
#include "base/out.h"

#include <stdatomic.h>
#include <stdint.h>

#define CAM_TALLY_PATHS	  32u
#define CAM_TALLY_CODES	  13u
#define CAM_TALLY_BUCKETS 7u

struct cam_tally {
	struct {
		atomic_ullong codes[CAM_TALLY_CODES];
		atomic_ullong buckets[CAM_TALLY_BUCKETS]; /* the last: longer */
		atomic_ullong sum_ns;
	} paths[CAM_TALLY_PATHS];
};

/* path: less than CAM_TALLY_PATHS. */
void cam_tally_add(struct cam_tally *t, unsigned path, unsigned code, uint64_t ns);
/* As text of Prometheus; name(i) is the path of a number, NULL: that was the last. */
void cam_tally_write(const struct cam_tally *t, const char *(*name)(unsigned i),
		     struct cam_out *out);
