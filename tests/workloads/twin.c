// SPDX-License-Identifier: Apache-2.0
/*
 * Three programs that differ in one name only: the same addresses, where red has red_work(), blue has
 * blue_work(). Whoever takes one's file for the other's gives wrong names, and is seen. Static, so that
 * it runs in a root without libraries.
 *
 *	red SECONDS [PROGRAM ARGUMENT…]
 *
 * burns that much CPU time, then becomes the other program.
 */
#include "burn.h"

#include <unistd.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define WORK	    JOIN(COLOUR, _work)

KEEP void WORK(uint64_t ns);

KEEP void WORK(uint64_t ns)
{
	burn_for(ns);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	WORK(seconds_of(argv[1]));
	if (argc < 3)
		return 0;
	execv(argv[2], argv + 2);
	return 1;
}
