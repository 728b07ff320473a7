// SPDX-License-Identifier: Apache-2.0
#include "capture/rate.h"

#include <stdio.h>

uint32_t cam_rate_beat(uint32_t hz)
{
	static const uint32_t ticks[] = {100, 250, 1000};

	for (size_t i = 0; hz && i < sizeof(ticks) / sizeof(ticks[0]); i++)
		if (ticks[i] % hz == 0 || hz % ticks[i] == 0)
			return ticks[i];
	return 0;
}

void cam_rate_warning(uint32_t hz, char *text, size_t bytes)
{
	uint32_t tick = cam_rate_beat(hz);

	if (bytes)
		*text = '\0';
	if (tick)
		snprintf(text, bytes,
			 "%u Hz beats with timers of %u Hz, so that what they do is seen too often "
			 "or never: better 49, 97, 99 or 497.",
			 hz, tick);
}
