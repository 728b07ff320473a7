// SPDX-License-Identifier: Apache-2.0
/*
 * A machine's clocks, set, and what is known to have happened when.
 *
 *	clocks line NAME	renames itself NAME, spins in before_line() for 0.3 s, writes NAME to
 *				/dev/kmsg, spins in after_line() for 0.3 s: time in which the machine stood still,
 *				since its host had other things to do, does not count
 *	clocks step SECONDS	sets the wall clock, now + SECONDS
 *	clocks slew PPM		lets the clocks run so much faster than they did
 *	clocks now
 *
 * Each prints one line: its arguments, then CLOCK_MONOTONIC before and after what it did (of a line: the
 * writing), the wall clock right after that, and before and after all; in nanoseconds.
 */
#include "burn.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <unistd.h>

#define STEP_NS 10000000ull
#define STEPS	30u
#define MOST_NS 20000000000ull

/* A sample is due in each step that was not interrupted for long; the others are made good for. */
ALWAYS_INLINE void spin(void)
{
	uint64_t first = clock_ns(CLOCK_MONOTONIC), from = first;
	for (unsigned n = 0; n < STEPS && from - first < MOST_NS;) {
		burn_for(STEP_NS);
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		n += now - from < 3 * STEP_NS;
		from = now;
	}
}

KEEP void before_line(void);
KEEP void after_line(void);

KEEP void before_line(void)
{
	spin();
}

KEEP void after_line(void)
{
	spin();
}

struct did {
	uint64_t from, to, wall;
};

static void begin(struct did *d)
{
	d->from = clock_ns(CLOCK_MONOTONIC);
}

static void end(struct did *d)
{
	d->to = clock_ns(CLOCK_MONOTONIC);
	d->wall = clock_ns(CLOCK_REALTIME);
}

static int line(const char *name, struct did *d)
{
	/* Without its newline a line is held back until another one comes. */
	char text[32];
	int n_text = snprintf(text, sizeof(text), "%s\n", name);
	int fd = open("/dev/kmsg", O_WRONLY);
	prctl(PR_SET_NAME, name);
	before_line();
	begin(d);
	ssize_t n = write(fd, text, (size_t)n_text);
	end(d);
	after_line();
	return n < 0;
}

static int step(const char *seconds, struct did *d)
{
	begin(d);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += atoi(seconds);
	int failed = clock_settime(CLOCK_REALTIME, &t);
	end(d);
	return failed;
}

static int slew(const char *ppm, struct did *d)
{
	struct timex t = {.modes = ADJ_FREQUENCY, .freq = atoi(ppm) * 65536l};
	begin(d);
	int failed = adjtimex(&t) < 0;
	end(d);
	return failed;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
	struct did did;
	int failed = 0;
	begin(&did);
	end(&did);
	uint64_t wall = clock_ns(CLOCK_REALTIME);
	if (!strcmp(verb, "line"))
		failed = line(what, &did);
	else if (!strcmp(verb, "step"))
		failed = step(what, &did);
	else if (!strcmp(verb, "slew"))
		failed = slew(what, &did);
	else
		failed = strcmp(verb, "now") != 0;
	printf("%s %s %llu %llu %llu %llu %llu\n", verb, what, (unsigned long long)did.from,
	       (unsigned long long)did.to, (unsigned long long)did.wall, (unsigned long long)wall,
	       (unsigned long long)clock_ns(CLOCK_REALTIME));
	return failed;
}
