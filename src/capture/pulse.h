// SPDX-License-Identifier: Apache-2.0
/*
 * How much came from a CPU in a round, beside the round before. The kernel takes the events of a CPU that
 * goes and does not give them back when it returns; if it was away for less than a round, or in a
 * suspend, nothing says so but that it fell silent. Asking the event itself (read(2)) interrupts the CPU, so
 * that is done once a second, and, lest a busy CPU be missed for that long, when its pulse falls by half.
 *
 * Example: 48 samples a round of 500 ms. The CPU blinks 100 ms into a round: 10 come, it is asked at once.
 * 400 ms into it: 39 come, then none: asked 600 ms after the blink. So never later than 750 ms.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Shorter rounds say nothing; nor does so little in a round. */
#define CAM_PULSE_MIN_NS 100000000u
#define CAM_PULSE_MIN	 8u

struct cam_pulse {
	uint64_t round_ns, total, grown;
};

/* total: of samples, or of bytes, since ever; of the round that begins now. */
static inline bool cam_pulse_fell(struct cam_pulse *p, uint64_t round_ns, uint64_t total)
{
	if (round_ns - p->round_ns < CAM_PULSE_MIN_NS)
		return false;
	uint64_t before = p->grown;
	*p = (struct cam_pulse){.round_ns = round_ns, .total = total, .grown = total - p->total};
	return before >= CAM_PULSE_MIN && p->grown < before / 2;
}
