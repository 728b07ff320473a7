// SPDX-License-Identifier: Apache-2.0
/* trapped SECONDS: burns CPU time in on_trap(), a signal handler, below trapped(), whose first instruction is what was
 * interrupted, below main(). The byte before it is of before(). */
#include "burn.h"

#include <signal.h>
#include <unistd.h>

#ifdef __x86_64__
#define TRAP "ud2\n"
#else
#define TRAP "udf #0\n"
#endif

void trapped(void);
__asm__(".text\n"
	".type before, @function\n"
	"before:\n"
	".cfi_startproc\n"
	"	ret\n"
	".cfi_endproc\n"
	".size before, . - before\n"
	".type trapped, @function\n"
	"trapped:\n"
	".cfi_startproc\n"
	"	" TRAP ".cfi_endproc\n"
	".size trapped, . - trapped\n");

static uint64_t ns;

KEEP void on_trap(int number);

KEEP void on_trap(int number)
{
	(void)number;
	burn_for(ns);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	ns = seconds_of(argv[1]);
	signal(SIGILL, on_trap);
	trapped();
	return 1;
}
