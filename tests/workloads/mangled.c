// SPDX-License-Identifier: Apache-2.0
/* mangled SECONDS: burns CPU time in a function with the symbol a C++ compiler gives to
 * shop::Till<int>::ring(std::pair<int, char const*> const&) const. */
#include "burn.h"

KEEP void ring(uint64_t ns) __asm__("_ZNK4shop4TillIiE4ringERKSt4pairIiPKcE");

KEEP void ring(uint64_t ns)
{
	burn_for(ns);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		ring(seconds_of(argv[1]));
	return 0;
}
