// SPDX-License-Identifier: Apache-2.0
/*
 * Anchors. A reading is bracketed by the window's clock: mono, wall, boot, raw, mono; then
 * sched_clock (which takes some microseconds) and mono again. Of at most five the narrowest is kept: one that
 * was interrupted does not count; one of GOOD_NS ends the search. The anchor's time is the middle of the first bracket, and what
 * sched_clock said is moved there from the middle of its own.
 *
 * Invariants:
 *  1. CLOCK_REALTIME - CLOCK_MONOTONIC changes by steps and suspends only, CLOCK_BOOTTIME -
 *     CLOCK_MONOTONIC by suspends only (all are slewed alike). A change of more than the brackets'
 *     widths is one, however it was noticed; the timer only makes it noticed at once.
 *  2. The timer is armed again before the clocks are read: a step that comes in between is found
 *     either by this reading or by the next wake-up.
 *  3. Times of anchors never go backwards.
 *
 * Example: the wall clock is set back by an hour at mono 5000.2 s. The timer wakes us at 5000.20005;
 * anchors: (5000.20005, wall as before), (5000.20005, an hour less), stepped -3600 s.
 */
#include "capture/clock.h"

#include "base/timens.h"
#include "base/units.h"
#include "model/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TRIES 5
#define GOOD_NS \
	40000 /* a twenty-fifth of what is promised; in a virtual machine 10,000 took all the tries */
#define NOISE_NS 1000 /* two clocks' roundings, and what a bracket does not show */

struct cam_clock {
	struct cam_clock_source source;
	int fd;
	struct cam_timens ahead; /* of our time namespace */
	struct cam_anchor last;
};

static int system_now(void *self, clockid_t clock, int64_t *ns)
{
	(void)self;
	struct timespec t;
	if (clock_gettime(clock, &t))
		return -errno;
	/* A wall clock beyond the year 2262 shows that one. */
	if (__builtin_mul_overflow((int64_t)t.tv_sec, (int64_t)CAM_NS_PER_SEC, ns) ||
	    __builtin_add_overflow(*ns, (int64_t)t.tv_nsec, ns))
		*ns = INT64_MAX;
	return 0;
}

static int open_under(const char *proc, const char *file)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "%s/%s", proc ? proc : "/proc", file);
	if (n > 0 && (size_t)n < sizeof(path))
		return open(path, O_RDONLY | O_CLOEXEC);
	errno = ENAMETOOLONG;
	return -1;
}

static ssize_t read_small(const char *proc, const char *file, char *bytes, size_t size)
{
	int fd = open_under(proc, file);
	if (fd < 0)
		return -errno;
	ssize_t n = pread(fd, bytes, size - 1, 0);
	int err = errno;
	close(fd);
	bytes[n > 0 ? n : 0] = '\0';
	return n < 0 ? -err : n;
}

/* Ends when the wall clock is set, else never. */
static void arm(struct cam_clock *c)
{
	struct itimerspec never = {.it_value.tv_sec = INT64_MAX / (int64_t)CAM_NS_PER_SEC};
	if (c->fd < 0)
		return;
	if (timerfd_settime(c->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL)) {
		close(c->fd);
		c->fd = -1;
	}
}

int cam_clock_open(const struct cam_clock_options *o, struct cam_clock **out)
{
	struct cam_clock *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->source = o->source;
	if (!c->source.now)
		c->source.now = system_now;
	c->ahead = cam_timens_read(o->proc);
	c->last.time_ns = CAM_TIME_NONE;
	c->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	int err = c->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM) ? -errno : 0;
	arm(c);
	struct cam_clock_reading first;
	if (!err)
		err = cam_clock_read(c, &first);
	if (err) {
		cam_clock_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cam_clock_close(struct cam_clock *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

int cam_clock_fd(const struct cam_clock *c)
{
	return c->fd;
}

static int read_clock(struct cam_clock *c, clockid_t clock, int64_t *ns)
{
	int err = c->source.now(c->source.self, clock, ns);
	if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)
		*ns -= c->ahead.mono_ns;
	if (clock == CLOCK_BOOTTIME)
		*ns -= c->ahead.boot_ns;
	return err;
}

uint64_t cam_clock_now(struct cam_clock *c)
{
	int64_t ns;
	return read_clock(c, CLOCK_MONOTONIC, &ns) || ns < 0 ? 0 : (uint64_t)ns;
}

/* *width: of the whole reading. */
static int read_once(struct cam_clock *c, struct cam_anchor *out, uint64_t *width)
{
	int64_t begun, wall, boot, raw, middle, end;
	uint64_t sched;
	int err = read_clock(c, CLOCK_MONOTONIC, &begun);
	if (!err)
		err = read_clock(c, CLOCK_REALTIME, &wall);
	if (!err)
		err = read_clock(c, CLOCK_BOOTTIME, &boot);
	if (!err)
		err = read_clock(c, CLOCK_MONOTONIC_RAW, &raw);
	if (!err)
		err = read_clock(c, CLOCK_MONOTONIC, &middle);
	if (err)
		return err;
	bool has_sched = c->source.sched_clock && c->source.sched_clock(c->source.self, &sched);
	if (has_sched)
		err = read_clock(c, CLOCK_MONOTONIC, &end);
	else
		end = middle;
	int64_t time = begun + (middle - begun) / 2;
	int64_t sched_time = middle + (end - middle) / 2;
	if (err || begun < 0 || end < begun)
		return err ? err : -ERANGE;
	*width = (uint64_t)(end - begun);
	*out = (struct cam_anchor){
		.time_ns = (uint64_t)time,
		.raw_ns = (uint64_t)raw,
		.boottime_ns = (uint64_t)boot,
		.sched_ns = CAM_TIME_NONE,
		.realtime_ns = wall,
		.uncertainty_ns = (uint64_t)(middle - begun + 1) / 2,
	};
	if (has_sched && end - middle <= 2 * (int64_t)CAM_ANCHOR_SCHED_NS &&
	    sched >= (uint64_t)(sched_time - time))
		out->sched_ns = sched - (uint64_t)(sched_time - time);
	return 0;
}

static int read_narrowest(struct cam_clock *c, struct cam_anchor *out)
{
	uint64_t best = UINT64_MAX;
	int err = 0;
	for (unsigned i = 0; i < TRIES && best > GOOD_NS; i++) {
		struct cam_anchor a;
		uint64_t width;
		int e = read_once(c, &a, &width);
		err = err ? err : e;
		if (!e && width < best) {
			best = width;
			*out = a;
		}
	}
	return best == UINT64_MAX ? err : 0;
}

/* A difference that two readings' widths explain is none. */
static int64_t beyond(__int128 change, uint64_t noise)
{
	if (change <= (__int128)noise && change >= -(__int128)noise)
		return 0;
	return change > INT64_MAX ? INT64_MAX : change < -INT64_MAX ? -INT64_MAX : (int64_t)change;
}

static void compare(const struct cam_anchor *was, const struct cam_anchor *is,
		    struct cam_clock_reading *out)
{
	uint64_t noise = was->uncertainty_ns + is->uncertainty_ns + NOISE_NS;
	__int128 passed = (__int128)is->time_ns - was->time_ns;
	__int128 wall = (__int128)is->realtime_ns - was->realtime_ns - passed;
	__int128 boot = (__int128)is->boottime_ns - was->boottime_ns - passed;
	int64_t asleep = beyond(boot, noise);
	if (asleep > 0) {
		out->asleep_ns = (uint64_t)asleep;
		out->asleep_from_ns = was->time_ns;
		out->asleep_to_ns = is->time_ns;
	}
	out->stepped_ns = beyond(wall - (asleep > 0 ? asleep : 0), noise);
	__int128 shown = (__int128)was->realtime_ns + passed;
	if (!beyond(wall, noise) || shown > INT64_MAX)
		return;
	out->anchor[out->n] = *is;
	out->anchor[out->n].realtime_ns = (int64_t)shown;
	out->anchor[out->n].uncertainty_ns = noise;
	out->n++;
}

int cam_clock_read(struct cam_clock *c, struct cam_clock_reading *out)
{
	uint64_t expired;
	*out = (struct cam_clock_reading){.n = 0};
	if (c->fd >= 0 && read(c->fd, &expired, sizeof(expired)) < 0 && errno == ECANCELED)
		arm(c);
	struct cam_anchor now;
	int err = read_narrowest(c, &now);
	if (err)
		return err;
	if (c->last.time_ns != CAM_TIME_NONE) {
		if (now.time_ns < c->last.time_ns)
			return -ERANGE;
		compare(&c->last, &now, out);
	}
	out->anchor[out->n++] = now;
	c->last = now;
	return 0;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int cam_clock_boot_id(const char *proc, struct cam_boot_id *out)
{
	char text[64] = "";
	ssize_t n = read_small(proc, "sys/kernel/random/boot_id", text, sizeof(text));
	if (n < 0)
		return (int)n;
	const char *p = text;
	for (unsigned i = 0; i < sizeof(out->bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			if (*p++ != '-')
				return -EBADMSG;
		int high = hex(p[0]), low = high < 0 ? -1 : hex(p[1]);
		if (low < 0)
			return -EBADMSG;
		out->bytes[i] = (uint8_t)(high << 4 | low);
		p += 2;
	}
	return *p == '\n' || *p == '\0' ? 0 : -EBADMSG;
}
