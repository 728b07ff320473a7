// SPDX-License-Identifier: Apache-2.0
/* Runs a program for a share of the time: so many milliseconds of each tenth of a second, and stops it for the rest.
 *
 *     workload_paced PERCENT PROGRAM [ARGUMENT…]
 *
 * A load that is there to be recorded need not take what other tests could use. It ends with its program, and the
 * program with it. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUND_MS 100

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000};
	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	long at_work = argc > 2 ? atol(argv[1]) : 0;
	if (at_work < 1 || at_work >= ROUND_MS)
		return 2;
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	int status = 0;
	while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
		sleep_ms(at_work);
		kill(child, SIGSTOP);
		sleep_ms(ROUND_MS - at_work);
		kill(child, SIGCONT);
	}
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
