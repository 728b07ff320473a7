// SPDX-License-Identifier: Apache-2.0
#include "serve/minder.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define STACK_BYTES (128u << 10)

struct cam_minded {
	int socket; /* -1: free */
	int64_t until_s;
	uint64_t since; /* since when it waits for a request, in order; 0: it does not */
	bool ended;
};

struct cam_minder {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool runs, stopping;
	uint64_t waits; /* that began */
	struct cam_minded places[CAM_MINDER_MOST];
};

static int64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

int cam_minder_new(struct cam_minder **out)
{
	struct cam_minder *m = calloc(1, sizeof(*m));
	pthread_condattr_t monotonic;
	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	for (unsigned i = 0; i < CAM_MINDER_MOST; i++)
		m->places[i].socket = -1;
	*out = m;
	return 0;
}

/* Whoever serves it finds it closed, and leaves. The lock is held. */
static void end(struct cam_minded *w)
{
	shutdown(w->socket, SHUT_RDWR);
	w->until_s = INT64_MAX;
	w->ended = true;
}

static void *mind(void *arg)
{
	struct cam_minder *m = arg;
	pthread_mutex_lock(&m->lock);
	while (!m->stopping) {
		const struct timespec next = {.tv_sec = now_s() + 1};
		for (unsigned i = 0; i < CAM_MINDER_MOST; i++) {
			struct cam_minded *w = &m->places[i];
			if (w->socket >= 0 && now_s() > w->until_s)
				end(w);
		}
		pthread_cond_timedwait(&m->changed, &m->lock, &next);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

int cam_minder_start(struct cam_minder *m)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	int err = -pthread_create(&m->thread, &small, mind, m);
	pthread_attr_destroy(&small);
	m->runs = !err;
	return err;
}

void cam_minder_free(struct cam_minder *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->stopping = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
	if (m->runs)
		pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

struct cam_minded *cam_minder_join(struct cam_minder *m, int socket, unsigned seconds)
{
	struct cam_minded *w = NULL, *oldest = NULL;
	unsigned n = 0;
	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < CAM_MINDER_MOST; i++) {
		struct cam_minded *p = &m->places[i];
		if (p->socket < 0) {
			w = p;
			continue;
		}
		n += !p->ended;
		if (!p->ended && p->since && (!oldest || p->since < oldest->since))
			oldest = p;
	}
	if (n >= CAM_MINDER_KEPT && oldest)
		end(oldest);
	if (w)
		*w = (struct cam_minded){socket, now_s() + seconds, ++m->waits, false};
	pthread_mutex_unlock(&m->lock);
	return w;
}

static void allow(struct cam_minder *m, struct cam_minded *w, unsigned seconds, bool waits)
{
	if (!w)
		return;
	pthread_mutex_lock(&m->lock);
	w->until_s = seconds ? now_s() + seconds : INT64_MAX;
	w->since = waits ? ++m->waits : 0;
	pthread_mutex_unlock(&m->lock);
}

void cam_minder_allow(struct cam_minder *m, struct cam_minded *w, unsigned seconds)
{
	allow(m, w, seconds, false);
}

void cam_minder_await(struct cam_minder *m, struct cam_minded *w, unsigned seconds)
{
	allow(m, w, seconds, true);
}

void cam_minder_leave(struct cam_minder *m, struct cam_minded *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&m->lock);
	w->socket = -1;
	pthread_mutex_unlock(&m->lock);
}
