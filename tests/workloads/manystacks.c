// SPDX-License-Identifier: Apache-2.0
/* Hardly ever the same stack twice: two threads go 24 calls deep through eight functions, each call
 * chosen at random (8^24 ways), and burn a little at the bottom. For the given seconds. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP  __attribute__((noinline, noclone, used))
#define DEPTH 24

static volatile uint64_t sink;
static double until;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef void step(uint64_t *random, int depth);
static step *const steps[8];

static KEEP void go(uint64_t *random, int depth)
{
	uint64_t x = *random;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*random = x;
	if (depth)
		steps[(x >> 20) & 7](random, depth - 1);
	else
		for (int i = 0; i < 3000; i++)
			sink = sink * 3 + 1;
}

#define STEP(n)                                                \
	static KEEP void step_##n(uint64_t *random, int depth) \
	{                                                      \
		go(random, depth);                             \
		sink += n;                                     \
	}
STEP(0);
STEP(1);
STEP(2);
STEP(3);
STEP(4);
STEP(5);
STEP(6);
STEP(7);

static step *const steps[8] = {step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7};

static void *wander(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg * 88172645463325252u + 1;
	while (now() < until)
		go(&random, DEPTH);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	until = now() + (argc > 1 ? atof(argv[1]) : 1);
	if (pthread_create(&other, NULL, wander, (void *)(uintptr_t)7))
		return 1;
	wander((void *)(uintptr_t)3);
	pthread_join(other, NULL);
	return 0;
}
