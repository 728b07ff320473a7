// SPDX-License-Identifier: Apache-2.0
/* late SECONDS LIBRARY: burns half a second in early_work(), loads the library, says so, burns SECONDS in
 * its late_work(). */
#include "burn.h"

#include <dlfcn.h>
#include <stdio.h>

KEEP void early_work(uint64_t ns);

KEEP void early_work(uint64_t ns)
{
	burn_for(ns);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	early_work(500000000u);
	void *library = dlopen(argv[2], RTLD_NOW);
	void (*work)(uint64_t) = library ? (void (*)(uint64_t))dlsym(library, "late_work") : NULL;
	if (!work)
		return 1;
	printf("loaded\n");
	fflush(stdout);
	work(seconds_of(argv[1]));
	return 0;
}
