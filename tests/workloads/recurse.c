// SPDX-License-Identifier: Apache-2.0
/* recurse SECONDS DEPTH: burns CPU time in bottom(), below exactly DEPTH frames of recurse(), below
 * main(). */
#include "burn.h"

KEEP uint64_t bottom(uint64_t ns);
KEEP uint64_t recurse(uint64_t ns, unsigned depth);

KEEP uint64_t bottom(uint64_t ns)
{
	burn_for(ns);
	return ns;
}

KEEP uint64_t recurse(uint64_t ns, unsigned depth)
{
	/* The sum keeps the call from being the last thing done. */
	return (depth > 1 ? recurse(ns, depth - 1) : bottom(ns)) + depth;
}

int main(int argc, char **argv)
{
	return argc > 2 && recurse(seconds_of(argv[1]), (unsigned)atoi(argv[2])) == 0;
}
