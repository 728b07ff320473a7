// SPDX-License-Identifier: Apache-2.0
/*
 * Updates a BPF map, on one CPU, for so many seconds: while the kernel changes an element it runs no BPF program of a perf
 * event there. Elements lie far apart, so that most of that time is spent inside. Says how many updates that were; ends
 * with 77 where bpf(2) is not allowed.
 *	workload_mapping SECONDS CPU
 */
#include <linux/bpf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ELEMENTS (256u << 10)
#define A_LOOK	 1024u /* updates between two looks at the clock */

static int update(int map, uint32_t key)
{
	uint64_t value = key;
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uint64_t)(uintptr_t)&key;
	attr.value = (uint64_t)(uintptr_t)&value;
	return (int)syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned long long n = 0;
	uint32_t key = 1;
	cpu_set_t cpus;
	union bpf_attr attr;
	CPU_ZERO(&cpus);
	CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_HASH;
	attr.key_size = sizeof(key);
	attr.value_size = sizeof(uint64_t);
	attr.max_entries = ELEMENTS;
	int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (map < 0 || update(map, 0))
		return 77;
	for (; time(NULL) < end; n += A_LOOK)
		for (unsigned i = 0; i < A_LOOK; i++, key = key * 1664525u + 1013904223u)
			update(map, key >> 8 & (ELEMENTS - 1));
	printf("%llu\n", n);
	return 0;
}
