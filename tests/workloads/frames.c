// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of every kind that compilers make, for those who unwind: fixed, with alloca, realigned, with
 * both (the caller's stack pointer is then kept in memory), functions that do not return, a
 * callback under qsort, a signal handler, calls through the PLT, recursion of a known depth.
 * Built in many ways by tests/unit/test_symbol_ehframe.c, and run by test_symbol_unwind.c: it goes on
 * until it is killed, or its standard input ends.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

static volatile unsigned long sum;
static jmp_buf back;

NOINLINE void leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * i;
}

NOINLINE void fixed(unsigned long n)
{
	char room[200];
	memset(room, (int)n, sizeof(room));
	leaf(n + (unsigned char)room[n % sizeof(room)]);
	sum++;
}

NOINLINE void with_alloca(unsigned long n)
{
	char *room = alloca(64 + n % 512);
	memset(room, (int)n, 64);
	fixed(n + (unsigned char)room[n % 64]);
	sum++;
}

NOINLINE void realigned(unsigned long n)
{
	char room[128] __attribute__((aligned(64)));
	memset(room, (int)n, sizeof(room));
	with_alloca((n + (unsigned char)room[n % 128]) % 1000);
	sum++;
}

NOINLINE void realigned_alloca(unsigned long n)
{
	char room[128] __attribute__((aligned(64)));
	char *more = alloca(32 + n % 256);
	memset(room, (int)n, sizeof(room));
	memset(more, (int)n, 32);
	realigned((n + (unsigned char)room[n % 128] + (unsigned char)more[n % 32]) % 1000);
	sum++;
}

NOINLINE int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	leaf((unsigned long)(x & 15));
	return (x > y) - (x < y);
}

NOINLINE void sorted(unsigned long n)
{
	int numbers[64];
	for (int i = 0; i < 64; i++)
		numbers[i] = (int)(n * 2654435761u + (unsigned int)i * 40503u) & 0xffff;
	qsort(numbers, 64, sizeof(numbers[0]), compare);
	sum += (unsigned long)numbers[0];
}

static void on_signal(int number)
{
	fixed((unsigned long)number * 16);
	sorted(sum);
}

NOINLINE void signalled(unsigned long n)
{
	raise(SIGUSR1);
	sum += n;
}

__attribute__((noreturn)) NOINLINE void leave(unsigned long n)
{
	leaf(n);
	longjmp(back, 1);
}

NOINLINE void never_returns(unsigned long n)
{
	if (!setjmp(back))
		leave(n);
}

NOINLINE void down(unsigned int depth, unsigned long n)
{
	volatile char frame[24];
	frame[n % 24] = (char)depth;
	if (depth)
		down(depth - 1, n + 1);
	else if (n % 5 == 0)
		realigned_alloca(n);
	else if (n % 5 == 1)
		sorted(n);
	else if (n % 5 == 2)
		signalled(n);
	else if (n % 5 == 3)
		never_returns(n % 400);
	else
		realigned(n);
	sum += (unsigned long)frame[n % 24];
}

int main(void)
{
	signal(SIGUSR1, on_signal);
	fputs("ready\n", stdout);
	fflush(stdout);
	for (unsigned long n = 0;; n++) {
		down((unsigned int)(n % 40), n);
		if (n % 1024 == 0 && getppid() == 1)
			return 0;
	}
}
