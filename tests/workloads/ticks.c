// SPDX-License-Identifier: Apache-2.0
/*
 * Looks at the clock, again and again: most of its time is spent in the vdso.
 *
 *	ticks SECONDS
 */
#include "burn.h"

KEEP uint64_t tick(unsigned n)
{
	uint64_t sum = 0;
	for (; n; n--)
		sum += clock_ns(CLOCK_MONOTONIC);
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + seconds_of(argv[1]);
	volatile uint64_t sum = 0;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		sum += tick(10000);
	return 0;
}
