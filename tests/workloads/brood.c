// SPDX-License-Identifier: Apache-2.0
/*
 * brood PAUSE_MS MOST BURN_MS LAST: forks a child every so often, which forks one of its own; until there are so many, or a
 * line comes on standard input. At that line each child but the first MOST - LAST, and what it forked, burns that much
 * CPU time in brood_work(). Prints the pids of those who will, and "all" when there are as many as there may be; ends
 * when they have.
 */
#include "burn.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

KEEP void brood_work(uint64_t ns);

KEEP void brood_work(uint64_t ns)
{
	burn_for(ns);
}

static void be_child(const int go[2], uint64_t ns, bool burns)
{
	char none;
	close(go[1]);
	pid_t own = fork();
	if (burns)
		dprintf(STDOUT_FILENO, "%d\n", (int)getpid());
	/* Nobody writes: it ends when the parent closes it. */
	if (read(go[0], &none, 1) == 0 && burns)
		brood_work(ns);
	if (own > 0)
		waitpid(own, NULL, 0);
	_exit(0);
}

static bool line_comes(int ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&in, 1, ms) > 0;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	int pause_ms = atoi(argv[1]), most = atoi(argv[2]), last = atoi(argv[4]), go[2];
	uint64_t burn_ns = (uint64_t)atoi(argv[3]) * 1000000u;
	bool asked = false;
	if (pipe(go))
		return 1;
	for (int i = 0; i < most && !(asked = line_comes(pause_ms)); i++) {
		if (fork() == 0)
			be_child(go, burn_ns, i >= most - last);
	}
	dprintf(STDOUT_FILENO, "all\n");
	if (!asked)
		line_comes(-1);
	close(go[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
