// SPDX-License-Identifier: Apache-2.0
/*
 * A machine's clocks, set, and what is known to have happened when.
 *
 *	clocks line NAME	renames itself NAME, spins in before_line() for 0.3 s, writes NAME to
 *				/dev/kmsg, spins in after_line() for 0.3 s
 *	clocks step SECONDS	sets the wall clock, now + SECONDS
 *	clocks slew PPM		lets the clocks run so much faster than they did
 *	clocks now
 *
 * Each prints one line: its arguments, then CLOCK_MONOTONIC before and after what it did, then the wall
 * clock after it; all in nanoseconds.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <unistd.h>

#define SPIN_NS 300000000ull

KEEP void before_line(void);
KEEP void after_line(void);

KEEP void before_line(void)
{
	burn_for(SPIN_NS);
}

KEEP void after_line(void)
{
	burn_for(SPIN_NS);
}

static int line(const char *name, uint64_t *from, uint64_t *to)
{
	/* Without its newline a line is held back until another one comes. */
	char text[32];
	int n_text = snprintf(text, sizeof(text), "%s\n", name);
	int fd = open("/dev/kmsg", O_WRONLY);
	prctl(PR_SET_NAME, name);
	before_line();
	*from = clock_ns(CLOCK_MONOTONIC);
	ssize_t n = write(fd, text, (size_t)n_text);
	*to = clock_ns(CLOCK_MONOTONIC);
	after_line();
	return n < 0;
}

static int step(const char *seconds, uint64_t *from, uint64_t *to)
{
	*from = clock_ns(CLOCK_MONOTONIC);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += atoi(seconds);
	int failed = clock_settime(CLOCK_REALTIME, &t);
	*to = clock_ns(CLOCK_MONOTONIC);
	return failed;
}

static int slew(const char *ppm, uint64_t *from, uint64_t *to)
{
	struct timex t = {.modes = ADJ_FREQUENCY, .freq = atoi(ppm) * 65536l};
	*from = clock_ns(CLOCK_MONOTONIC);
	int failed = adjtimex(&t) < 0;
	*to = clock_ns(CLOCK_MONOTONIC);
	return failed;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
	uint64_t from, to;
	int failed = 0;
	from = to = clock_ns(CLOCK_MONOTONIC);
	if (!strcmp(verb, "line"))
		failed = line(what, &from, &to);
	else if (!strcmp(verb, "step"))
		failed = step(what, &from, &to);
	else if (!strcmp(verb, "slew"))
		failed = slew(what, &from, &to);
	else
		failed = strcmp(verb, "now") != 0;
	printf("%s %s %llu %llu %llu\n", verb, what, (unsigned long long)from,
	       (unsigned long long)to, (unsigned long long)clock_ns(CLOCK_REALTIME));
	return failed;
}
