// SPDX-License-Identifier: Apache-2.0
/*
 * teller SECONDS TEXT: burns half of that CPU time in before_work(), writes TEXT to the kernel's log, burns
 * the rest in after_work(). Prints CLOCK_MONOTONIC and CLOCK_REALTIME just before and just after.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

KEEP void before_work(uint64_t ns);
KEEP void after_work(uint64_t ns);

KEEP void before_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void after_work(uint64_t ns)
{
	burn_for(ns);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open("/dev/kmsg", O_WRONLY) : -1;
	char line[256];
	if (fd < 0)
		return 2;
	/* Without its end the line could still be continued, and nobody could read it. */
	int bytes = snprintf(line, sizeof(line), "%.200s\n", argv[2]);
	before_work(seconds_of(argv[1]) / 2);
	uint64_t real = clock_ns(CLOCK_REALTIME), from = clock_ns(CLOCK_MONOTONIC);
	ssize_t n = write(fd, line, (size_t)bytes);
	uint64_t to = clock_ns(CLOCK_MONOTONIC);
	after_work(seconds_of(argv[1]) / 2);
	printf("%llu %llu %llu\n", (unsigned long long)from, (unsigned long long)to,
	       (unsigned long long)real);
	return n <= 0;
}
