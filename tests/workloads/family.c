// SPDX-License-Identifier: Apache-2.0
/*
 * family SECONDS: a parent in parent_work() with a child in elder_work(); a line on standard input makes
 * it fork another, in younger_work(), which forks one in grand_work(). Each burns that much CPU time.
 * Prints "elder PID", later "younger PID"; ends when all have.
 */
#include "burn.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

KEEP void parent_work(uint64_t ns);
KEEP void elder_work(uint64_t ns);
KEEP void younger_work(uint64_t ns);
KEEP void grand_work(uint64_t ns);

KEEP void parent_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void elder_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void younger_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void grand_work(uint64_t ns)
{
	burn_for(ns);
}

static uint64_t each_ns;

static void say(const char *name, pid_t pid)
{
	printf("%s %d\n", name, (int)pid);
	fflush(stdout);
}

static void younger(void)
{
	pid_t pid = fork();
	(pid ? younger_work : grand_work)(each_ns);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	each_ns = argc > 1 ? seconds_of(argv[1]) : 1000000000u;
	pid_t pid = fork();
	if (!pid) {
		elder_work(each_ns);
		_exit(0);
	}
	say("elder", pid);
	if (getchar() != EOF) {
		pid = fork();
		if (!pid)
			younger();
		say("younger", pid);
	}
	parent_work(each_ns);
	while (wait(NULL) > 0)
		;
	return 0;
}
