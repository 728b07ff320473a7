// SPDX-License-Identifier: Apache-2.0
/*
 * reuse ROUNDS PID A B SECONDS: runs program A, then B, then A, …, each with the same PID and the
 * argument SECONDS. Prints, in microseconds, how long that pid was nobody's between any two.
 */
#include "burn.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	uint64_t gone = 0;
	for (int i = 0; i < 2 * atoi(argv[1]); i++) {
		char *program = argv[3 + i % 2];
		pid_t pid = fork_as(atoi(argv[2]));
		if (pid < 0) {
			perror("clone3");
			return 1;
		}
		if (!pid) {
			execl(program, program, argv[5], NULL);
			_exit(127);
		}
		if (gone)
			printf("%llu\n",
			       (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - gone) / 1000);
		int status;
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
		gone = clock_ns(CLOCK_MONOTONIC);
	}
	return 0;
}
