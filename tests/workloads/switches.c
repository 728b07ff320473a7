// SPDX-License-Identifier: Apache-2.0
/*
 * A storm of context switches for the given seconds: on each of two CPUs two processes pass a byte to and fro over
 * pipes, and two threads a number by a futex. All four of a CPU are bound to it, so that each pass is a switch.
 * Prints how many passes there were.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUS 2

static double until;
static uint32_t *ball; /* of the threads of this process: whose turn it is */

static int goes_on(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 < until;
}

static void bind_to(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set),
			  &set); /* one CPU alone has no second: then all share it */
}

/* Who serves counts, and closes the pipe at the end. */
static uint64_t pipe_storm(void)
{
	int there[2], back[2];
	char byte = 0;
	uint64_t n = 0;
	if (pipe(there) || pipe(back))
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	for (; goes_on(); n += 2) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
	return n;
}

static void *play(void *arg)
{
	uint32_t me = *(uint32_t *)arg, other = 1 - me;
	uint64_t n = 0;
	while (goes_on()) {
		struct timespec most = {0, 10000000};
		if (__atomic_load_n(ball, __ATOMIC_ACQUIRE) != me) {
			syscall(SYS_futex, ball, FUTEX_WAIT, other, &most, NULL, 0);
			continue;
		}
		__atomic_store_n(ball, other, __ATOMIC_RELEASE);
		syscall(SYS_futex, ball, FUTEX_WAKE, 1, NULL, NULL, 0);
		n++;
	}
	return (void *)n;
}

static uint64_t futex_storm(void)
{
	static uint32_t numbers[2] = {0, 1};
	pthread_t other;
	void *theirs = NULL;
	if (pthread_create(&other, NULL, play, &numbers[1]))
		return 0;
	uint64_t mine = (uint64_t)play(&numbers[0]);
	pthread_join(other, &theirs);
	return mine + (uint64_t)theirs;
}

int main(int argc, char **argv)
{
	struct timespec t;
	uint64_t sum = 0;
	uint64_t *passes =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ball = (uint32_t *)(passes + CPUS * 2);
	clock_gettime(CLOCK_MONOTONIC, &t);
	until = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + (argc > 1 ? atof(argv[1]) : 1);
	for (int i = 0; i < CPUS * 2; i++) {
		if (fork() == 0) {
			bind_to(i / 2);
			ball += i / 2;
			passes[i] = i % 2 ? futex_storm() : pipe_storm();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < CPUS * 2; i++)
		sum += passes[i];
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
