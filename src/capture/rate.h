// SPDX-License-Identifier: Apache-2.0
/*
 * Sampling rates that beat with the host's own timers: work that is done once a tick is then seen
 * always, or never.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The tick (100, 250 or 1000 Hz) that hz divides or is a multiple of; 0: none. */
uint32_t cam_rate_beat(uint32_t hz);
/* The warning as one sentence, cut to fit; an empty text where there is none to give. */
void cam_rate_warning(uint32_t hz, char *text, size_t bytes);
