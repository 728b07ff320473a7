// SPDX-License-Identifier: Apache-2.0
/* Fork-heavy: two processes compile small C files, one after the other, for the given seconds. Each
 * compilation is four programs that live some milliseconds. Prints how many there were. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char source[] = "#include <stdio.h>\n"
			     "int main(void)\n{\n\tputs(\"hello\");\n\treturn 0;\n}\n";

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compile(const char *in)
{
	int status = 1;
	pid_t pid = fork();
	if (pid == 0) {
		execlp("cc", "cc", "-x", "c", "-O1", "-c", in, "-o", "/dev/null", (char *)NULL);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) < 0 ? 1 : status;
}

static uint64_t build(const char *in, double until)
{
	uint64_t n = 0;
	while (now() < until && compile(in) == 0)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/builds-XXXXXX";
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	uint64_t *other =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = mkstemp(path);
	if (fd < 0 || other == MAP_FAILED ||
	    write(fd, source, sizeof(source) - 1) != sizeof(source) - 1)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		*other = build(path, until);
		_exit(0);
	}
	uint64_t mine = build(path, until);
	waitpid(pid, NULL, 0);
	unlink(path);
	printf("%llu\n", (unsigned long long)(mine + *other));
	return mine && *other ? 0 : 1;
}
