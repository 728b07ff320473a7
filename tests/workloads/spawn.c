// SPDX-License-Identifier: Apache-2.0
/*
 * spawn SECONDS N PROGRAM ARGUMENT…: burns that much CPU time in spawn_work(), waits for a line (or the
 * end) on standard input, then runs the program N times, one after the other, and prints each one's pid.
 */
#include "burn.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

KEEP void spawn_work(uint64_t ns);

KEEP void spawn_work(uint64_t ns)
{
	burn_for(ns);
}

int main(int argc, char **argv)
{
	static char *const empty[] = {NULL};
	if (argc < 4)
		return 2;
	spawn_work(seconds_of(argv[1]));
	getchar();
	for (int i = atoi(argv[2]); i > 0; i--) {
		pid_t pid;
		if (posix_spawn(&pid, argv[3], NULL, NULL, argv + 3, empty))
			return 1;
		printf("%d\n", (int)pid);
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}
