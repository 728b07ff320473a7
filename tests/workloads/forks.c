// SPDX-License-Identifier: Apache-2.0
/* forks N SECONDS: N children, two at a time, each burning that much CPU time: every other one calls
 * itself "even" and works in even_work(), the rest "odd" in odd_work(). */
#include "burn.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

KEEP void even_work(uint64_t ns);
KEEP void odd_work(uint64_t ns);

KEEP void even_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void odd_work(uint64_t ns)
{
	burn_for(ns);
}

static void child(unsigned number, uint64_t ns)
{
	prctl(PR_SET_NAME, number % 2 ? "odd" : "even");
	(number % 2 ? odd_work : even_work)(ns);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	unsigned n = (unsigned)atoi(argv[1]);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (!pid)
			child(i, seconds_of(argv[2]));
		if (i)
			wait(NULL);
	}
	return wait(NULL) < 0;
}
