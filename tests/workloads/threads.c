// SPDX-License-Identifier: Apache-2.0
/*
 * threads SECONDS: threads "red", "blue" and "turning", each burning that much CPU time in red_work(),
 * blue_work(), and half each in before_work() and, by then called "turned", after_work(). Prints
 * "NAME TID" of each as it begins.
 */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

KEEP void red_work(uint64_t ns);
KEEP void blue_work(uint64_t ns);
KEEP void before_work(uint64_t ns);
KEEP void after_work(uint64_t ns);

KEEP void red_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void blue_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void before_work(uint64_t ns)
{
	burn_for(ns);
}

KEEP void after_work(uint64_t ns)
{
	burn_for(ns);
}

static uint64_t each_ns;

static void call_me(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	printf("%s %d\n", name, (int)gettid());
	fflush(stdout);
}

static void *red(void *arg)
{
	call_me("red");
	red_work(each_ns);
	return arg;
}

static void *blue(void *arg)
{
	call_me("blue");
	blue_work(each_ns);
	return arg;
}

static void *turning(void *arg)
{
	call_me("turning");
	before_work(each_ns / 2);
	call_me("turned");
	after_work(each_ns / 2);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const bodies[])(void *) = {red, blue, turning};
	pthread_t threads[3];
	each_ns = argc > 1 ? seconds_of(argv[1]) : 1000000000u;
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&threads[i], NULL, bodies[i], NULL))
			return 1;
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
