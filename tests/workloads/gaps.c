// SPDX-License-Identifier: Apache-2.0
/*
 * What interrupts take from a program that only computes: reads the clock without a pause, on one
 * CPU, and adds up the gaps between two readings that are as long as an interrupt's (1 to 200 us;
 * longer ones are other programs' turns). Prints the gaps, their sum in ns, and the ns in which
 * it ran.
 *	workload_gaps SECONDS CPU
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SHORTEST_NS 1000u
#define LONGEST_NS  200000u

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	uint64_t before = now_ns(), gaps = 0, sum = 0, ran = 0, now;
	uint64_t until = before + (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	for (; before < until; before = now) {
		now = now_ns();
		uint64_t gap = now - before;
		ran += gap <= LONGEST_NS ? gap : 0;
		if (gap >= SHORTEST_NS && gap <= LONGEST_NS) {
			gaps++;
			sum += gap;
		}
	}
	printf("%llu %llu %llu\n", (unsigned long long)gaps, (unsigned long long)sum,
	       (unsigned long long)ran);
	return 0;
}
