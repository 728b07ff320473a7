// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include "base/units.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define QUIET_NS (int64_t) CAM_NS_PER_SEC
#define EVERY_NS (int64_t)(200 * CAM_NS_PER_MS)

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * (int64_t)CAM_NS_PER_SEC + t.tv_nsec;
}

static int tell(void *arg, uint64_t done, uint64_t all)
{
	struct cam_progress_bar *b = arg;
	int64_t now = b->terminal ? now_ns() : 0;
	if (!b->terminal || now - b->started_ns < QUIET_NS || now - b->shown_ns < EVERY_NS)
		return 0;
	b->shown_ns = now;
	b->shown = true;
	fprintf(stderr, "\r%3u %% of %llu samples", (unsigned)(all ? done * 100 / all : 0),
		(unsigned long long)all);
	return 0;
}

void cam_progress_bar_init(struct cam_progress_bar *b)
{
	*b = (struct cam_progress_bar){
		.progress = {tell, b},
		.started_ns = now_ns(),
		.terminal = isatty(STDERR_FILENO),
	};
}

void cam_progress_bar_end(struct cam_progress_bar *b)
{
	if (b->shown)
		fprintf(stderr, "\r\033[K");
	b->shown = false;
}
