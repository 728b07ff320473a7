// SPDX-License-Identifier: Apache-2.0
/*
 * How far a loop over every bit, byte or call goes at a time. `make test` takes every 31st, and where a sanitizer makes
 * each of them five to ten times slower every 61st; `make test-long` goes through all of them (PERFCAM_EVERY=1). Both are
 * prime to 8 and to the sizes of blocks: every bit of a byte and every place in a block comes up. Where the loop begins
 * is another place each time: it is printed, and PERFCAM_EVERY_FROM repeats it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef __has_feature /* gcc */
#define __has_feature(x) 0
#endif
#define EVERY	   (every_number("PERFCAM_EVERY", __has_feature(address_sanitizer) ? 61u : 31u))
#define EVERY_FROM (every_from(EVERY))

static inline unsigned every_number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	int n = text ? atoi(text) : 0;
	return n > 0 ? (unsigned)n : otherwise;
}

/* Where to begin, from 0 to EVERY - 1: the same in all loops of one run. */
static inline unsigned every_from(unsigned every)
{
	static unsigned from, chosen;
	if (!chosen) {
		from = every_number("PERFCAM_EVERY_FROM",
				    (unsigned)time(NULL) * 31 + (unsigned)getpid());
		chosen = 1;
		printf("# PERFCAM_EVERY=%u PERFCAM_EVERY_FROM=%u\n", every, from % every + every);
	}
	return from % every;
}
