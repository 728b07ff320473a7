// SPDX-License-Identifier: Apache-2.0
/*
 * A token bucket: so many at once, so many a second after that. What is refused is counted, by whoever asks.
 * Plain data; zeroed with rate and burst set it is full.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct cam_limiter {
	uint32_t per_second, burst; /* both at least 1 */
	uint64_t spent_ns;	    /* what was taken and has not been earned again, as time */
	uint64_t last_ns;
};

/* Whether one more may pass now. A clock that goes back earns nothing. */
bool cam_limiter_take(struct cam_limiter *l, uint64_t now_ns);
