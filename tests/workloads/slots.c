// SPDX-License-Identifier: Apache-2.0
/*
 * Numbered work: burns CPU without a pause, and in each slot of 20 ms of CLOCK_MONOTONIC in the
 * function of that slot's number (slot_10 + slot % 50). Prints, line by line, what it itself
 * knows of each slot: number, CPU time spent in it. A recording is right if it agrees.
 *	workload_slots SECONDS [CPU]
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP	__attribute__((noinline, noclone, used))
#define SLOT_NS 20000000u

static volatile uint64_t sink;

static uint64_t read_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define SLOT(n)                                           \
	static KEEP void slot_##n(uint64_t steps)         \
	{                                                 \
		uint64_t x = sink;                        \
		for (uint64_t i = 0; i < steps; i++)      \
			x = x * 6364136223846793005u + n; \
		sink = x + 0x##n;                         \
	}
#define TEN(f, t) f(t##0) f(t##1) f(t##2) f(t##3) f(t##4) f(t##5) f(t##6) f(t##7) f(t##8) f(t##9)
#define ALL(f)	  TEN(f, 1) TEN(f, 2) TEN(f, 3) TEN(f, 4) TEN(f, 5)
#define NAME(n)	  slot_##n,

ALL(SLOT)

static void (*const slots[])(uint64_t) = {ALL(NAME)};

int main(int argc, char **argv)
{
	uint64_t until =
		read_ns(CLOCK_MONOTONIC) + (uint64_t)((argc > 1 ? atof(argv[1]) : 1.0) * 1e9);
	if (argc > 2) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(atoi(argv[2]), &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	uint64_t now, slot = 0, spent = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	while ((now = read_ns(CLOCK_MONOTONIC)) < until) {
		if (now / SLOT_NS != slot) {
			uint64_t cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID);
			if (slot)
				printf("%llu %llu\n", (unsigned long long)slot,
				       (unsigned long long)(cpu - spent));
			slot = now / SLOT_NS;
			spent = cpu;
		}
		slots[slot % 50](20000);
	}
	return 0;
}
