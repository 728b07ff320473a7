// SPDX-License-Identifier: Apache-2.0
/* What the workloads share: burning CPU in the function that says so, and nowhere else. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* A function the test knows by name: with its own symbol and its own frame. */
#define KEEP	      __attribute__((noinline, noclone, used))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* For a function that calls nothing: gcc gives it no frame, whatever the options, unless it is used. */
#define OWN_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

ALWAYS_INLINE uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Seconds, as text, in nanoseconds. */
ALWAYS_INLINE uint64_t seconds_of(const char *text)
{
	return (uint64_t)(atof(text) * 1e9);
}

/* Until the calling thread has used this much CPU time; in the caller. */
ALWAYS_INLINE void burn_for(uint64_t ns)
{
	OWN_FRAME();
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	volatile uint64_t x = 1;
	do {
		for (unsigned i = 0; i < 100000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}
