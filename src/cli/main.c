// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "--help";

	if (!strcmp(verb, "--version")) {
		printf("perfcam %s\n", PERFCAM_VERSION);
		return 0;
	}
	if (!strcmp(verb, "--help")) {
		printf("perfcam %s: a dashcam for the CPUs of a Linux host\n"
		       "usage: perfcam VERB [OPTION]...\n",
		       PERFCAM_VERSION);
		return 0;
	}
	fprintf(stderr, "perfcam: unknown verb '%s' (see perfcam --help)\n", verb);
	return EXIT_USAGE;
}
