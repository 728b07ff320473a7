// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
	/* What was there may be longer: the rest of the line is wiped. */
	if (b->file && all)
		fprintf(stderr, "\rreading %s: %3u %%\033[K", b->file,
			(unsigned)(done < all ? done * 100 / all : 100));
	else if (b->file)
		fprintf(stderr, "\rreading %s: %llu MB\033[K", b->file,
			(unsigned long long)done / 1000000);
	else
		fprintf(stderr, "\r%3u %% of %llu samples\033[K",
			(unsigned)(all ? done * 100 / all : 0), (unsigned long long)all);
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

/* As much of a name as a line has room for; bytes that could do harm in a terminal are left out. */
static const char *shown_name(const char *path, char room[CAM_PROGRESS_NAME])
{
	const char *slash = strrchr(path, '/');
	size_t n = 0;
	for (const char *p = slash && slash[1] ? slash + 1 : path; *p; p++) {
		if (n + 1 < CAM_PROGRESS_NAME && *p >= ' ' && *p <= '~')
			room[n++] = *p;
	}
	room[n] = 0;
	return room;
}

void cam_progress_bar_read(struct cam_progress_bar *b, int fd, const char *path)
{
	struct stat about;
	cam_progress_bar_init(b);
	b->file = shown_name(strcmp(path, "-") != 0 ? path : "standard input", b->name);
	b->bytes = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
}

void cam_progress_bar_at(struct cam_progress_bar *b, uint64_t at)
{
	b->done = at > b->done ? at : b->done;
	tell(b, b->done, b->bytes);
}

void cam_progress_bar_end(struct cam_progress_bar *b)
{
	if (b->shown)
		fprintf(stderr, "\r\033[K");
	b->shown = false;
}
