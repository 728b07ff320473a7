// SPDX-License-Identifier: Apache-2.0
/* So many threads that do nothing; prints how many there are, and stays until its input ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_end(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 100, n = 0;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (; n < wanted; n++) {
		pthread_t t;
		if (pthread_create(&t, &small, wait_for_end, NULL))
			break;
	}
	printf("%d\n", n);
	fflush(stdout);
	return read(0, &n, 1) > 0;
}
