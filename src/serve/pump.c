// SPDX-License-Identifier: Apache-2.0
#include "serve/pump.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUMP_BYTES  (256u << 10)
#define STACK_BYTES (2u << 20)

struct cam_pump {
	struct cam_stream stream; /* first */
	struct cam_pump_work w;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cam_out out;
	size_t from, n; /* what is in the ring */
	uint64_t written;
	bool gone, ended;
	int error; /* work()'s */
	char ring[PUMP_BYTES];
};

static bool is_wanted(const struct cam_pump *p)
{
	return !p->gone && !atomic_load(p->w.stop);
}

/* However slowly somebody reads: it ends. */
static bool is_late(const struct cam_pump *p)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > p->w.until_s;
}

/* A second at most: stopping is not told to each. */
static void wait_for_change(struct cam_pump *p)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&p->changed, &p->lock, &until);
}

static int put(struct cam_out *out, const void *bytes, size_t n)
{
	struct cam_pump *p = out->self;
	const char *from = bytes;
	int err = 0;
	pthread_mutex_lock(&p->lock);
	p->written += n;
	while (n && !err) {
		size_t at = (p->from + p->n) % PUMP_BYTES;
		size_t room = at >= p->from ? PUMP_BYTES - at : p->from - at;
		size_t some = n < room ? n : room;
		if (!is_wanted(p)) {
			err = -EPIPE;
		} else if (is_late(p)) {
			err = -ETIMEDOUT;
		} else if (p->written > p->w.max_bytes) {
			err = -EFBIG;
		} else if (p->n == PUMP_BYTES) {
			wait_for_change(p);
		} else {
			memcpy(p->ring + at, from, some);
			p->n += some;
			from += some;
			n -= some;
			pthread_cond_broadcast(&p->changed);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void *run(void *arg)
{
	struct cam_pump *p = arg;
	cam_out_init(&p->out, put, p);
	int err = p->w.work(p->w.arg, p, &p->out);
	int finished = cam_out_finish(&p->out);
	pthread_mutex_lock(&p->lock);
	p->error = err ? err : finished;
	p->ended = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static ssize_t take(struct cam_stream *s, char *room, size_t n)
{
	struct cam_pump *p = (struct cam_pump *)s;
	pthread_mutex_lock(&p->lock);
	while (!p->n && !p->ended && is_wanted(p))
		wait_for_change(p);
	bool late = is_late(p);
	size_t some = late ? 0 : p->n < PUMP_BYTES - p->from ? p->n : PUMP_BYTES - p->from;
	some = some < n ? some : n;
	memcpy(room, p->ring + p->from, some);
	p->from = (p->from + some) % PUMP_BYTES;
	p->n -= some;
	ssize_t got = some	      ? (ssize_t)some
		      : !is_wanted(p) ? -EPIPE
		      : late && p->n  ? -ETIMEDOUT
				      : p->error;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return got;
}

static void free_pump(struct cam_pump *p)
{
	p->w.done(p->w.arg);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void close_pump(struct cam_stream *s)
{
	struct cam_pump *p = (struct cam_pump *)s;
	pthread_mutex_lock(&p->lock);
	p->gone = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	free_pump(p);
}

static int start_thread(struct cam_pump *p)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);
	if (err)
		return -err;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&p->thread, &attr, run, p);
	pthread_attr_destroy(&attr);
	return -err;
}

int cam_pump_start(const struct cam_pump_work *w, struct cam_stream **out)
{
	struct cam_pump *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;
	if (!p) {
		w->done(w->arg);
		return -ENOMEM;
	}
	p->stream = (struct cam_stream){take, close_pump};
	p->w = *w;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int err = start_thread(p);
	if (err)
		free_pump(p);
	else
		*out = &p->stream;
	return err;
}

bool cam_pump_wanted(struct cam_pump *p)
{
	pthread_mutex_lock(&p->lock);
	bool wanted = is_wanted(p);
	pthread_mutex_unlock(&p->lock);
	return wanted;
}

int cam_pump_settle(struct cam_stream *s)
{
	struct cam_pump *p = (struct cam_pump *)s;
	pthread_mutex_lock(&p->lock);
	while (p->n < PUMP_BYTES && !p->ended && is_wanted(p))
		wait_for_change(p);
	int err = p->ended ? p->error : is_wanted(p) ? 0 : -EPIPE;
	pthread_mutex_unlock(&p->lock);
	if (err)
		close_pump(s);
	return err;
}
