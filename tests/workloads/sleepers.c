// SPDX-License-Identifier: Apache-2.0
/* So many threads that do nothing, or with "processes" so many processes; prints how many there are, and stays until its
 * input ends. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *wait_for_end(void *arg)
{
	pause();
	return arg;
}

static int start_thread(const pthread_attr_t *small)
{
	pthread_t t;
	return pthread_create(&t, small, wait_for_end, NULL);
}

static int start_process(void)
{
	pid_t pid = fork();
	if (pid)
		return pid < 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 100, n = 0;
	int processes = argc > 2 && !strcmp(argv[2], "processes");
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	while (n < wanted && !(processes ? start_process() : start_thread(&small)))
		n++;
	printf("%d\n", n);
	fflush(stdout);
	return read(0, &n, 1) > 0;
}
