// SPDX-License-Identifier: Apache-2.0
#include "daemon/closer.h"

#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define TOO_LONG_NS (500 * CAM_NS_PER_MS)
#define STACK_BYTES (256u << 10)

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void *work(void *arg)
{
	struct cam_closer_worker *w = arg;
	int fd;
	/* A descriptor's number is written at once and fits: it comes whole. */
	while (read(w->closer->pipe[0], &fd, sizeof(fd)) == sizeof(fd)) {
		atomic_store(&w->since_ns, now_ns());
		close(fd);
		atomic_fetch_add(&w->closer->closed, 1);
		atomic_store(&w->since_ns, 0);
	}
	return NULL;
}

static bool start(struct cam_closer *c)
{
	struct cam_closer_worker *w = &c->workers[c->n];
	pthread_attr_t attributes;
	sigset_t all, before;
	if (c->n == CAM_CLOSER_THREADS || pthread_attr_init(&attributes))
		return false;
	w->closer = c;
	/* Signals are for the others. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = !pthread_attr_setstacksize(&attributes, STACK_BYTES) &&
		       !pthread_create(&w->thread, &attributes, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	c->n += started;
	return started;
}

/* All of them wait for servers that do not answer. */
static bool are_stuck(struct cam_closer *c)
{
	uint64_t now = now_ns();
	for (unsigned i = 0; i < c->n; i++) {
		uint64_t since = atomic_load(&c->workers[i].since_ns);
		if (!since || since + TOO_LONG_NS > now)
			return false;
	}
	return true;
}

int cam_closer_open(struct cam_closer *c)
{
	*c = (struct cam_closer){.pipe = {-1, -1}};
	if (pipe2(c->pipe, O_CLOEXEC))
		return -errno;
	/* Only who hands over must not wait. */
	return fcntl(c->pipe[1], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

void cam_closer_close(struct cam_closer *c, int fd)
{
	if (are_stuck(c))
		start(c);
	if (c->n && write(c->pipe[1], &fd, sizeof(fd)) == sizeof(fd))
		c->queued++;
	else
		close(fd);
}

uint32_t cam_closer_pending(struct cam_closer *c)
{
	return c->queued - atomic_load(&c->closed);
}

void cam_closer_free(struct cam_closer *c)
{
	if (c->pipe[1] >= 0)
		close(c->pipe[1]);
	for (unsigned i = 0; i < c->n; i++)
		pthread_join(c->workers[i].thread, NULL);
	if (c->pipe[0] >= 0)
		close(c->pipe[0]);
	*c = (struct cam_closer){.pipe = {-1, -1}};
}
