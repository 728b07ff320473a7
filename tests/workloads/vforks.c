// SPDX-License-Identifier: Apache-2.0
/* A storm of vforks for the given seconds, by two processes; prints how many there were. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static uint64_t storm(double until)
{
	volatile uint64_t n = 0; /* vfork returns twice */
	for (; now() < until; n++) {
		pid_t pid = vfork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return n;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	uint64_t *other =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (pid == 0) {
		*other = storm(until);
		_exit(0);
	}
	uint64_t mine = storm(until);
	waitpid(pid, NULL, 0);
	printf("%llu\n", (unsigned long long)(mine + *other));
	return 0;
}
