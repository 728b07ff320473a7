// SPDX-License-Identifier: Apache-2.0
/* Burns CPU for the given seconds of its own CPU time: three parts in three(), one in one(). The
 * functions are known to the test by name and by their shares. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone, used))

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(uint64_t steps)
{
	/* gcc gives a leaf function no frame of its own, whatever the options, unless it is used. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	uint64_t x = sink;
	for (uint64_t i = 0; i < steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

KEEP void three(uint64_t steps);
KEEP void one(uint64_t steps);

KEEP void three(uint64_t steps)
{
	burn(3 * steps);
}

KEEP void one(uint64_t steps)
{
	burn(steps);
}

int main(int argc, char **argv)
{
	uint64_t until = cpu_ns() + (uint64_t)((argc > 1 ? atof(argv[1]) : 1.0) * 1e9);
	while (cpu_ns() < until) {
		three(100000);
		one(100000);
	}
	return 0;
}
