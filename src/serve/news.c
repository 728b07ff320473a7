// SPDX-License-Identifier: Apache-2.0
#include "serve/news.h"

#include "serve/facts.h"
#include "serve/routes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEEL_MS	   200	/* whether something was appended: cheap */
#define LOOK_MS	   500	/* at least between two looks at all windows */
#define OLD_MS	   5000 /* a look is made anew, whatever was felt */
#define KEEP_MS	   3000
#define LIFE_S	   600
#define TEXT_BYTES 512

struct cam_news {
	struct cam_server_doors doors;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_uint *clients;
	bool stopping, looking; /* looking: one of them does */
	int64_t next_look_ms, looked_ms;
	uint64_t pulse;	  /* when it was last looked */
	uint64_t edition; /* of the text; 0: there is none yet */
	char text[TEXT_BYTES];
};

struct client {
	struct cam_stream stream; /* first */
	struct cam_news *news;
	uint64_t seen; /* edition */
	int64_t keep_ms, until_ms;
};

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What there is, as one event. false: it does not fit, or cannot be read now. */
static bool look(const struct cam_server_doors *doors, char text[TEXT_BYTES])
{
	struct cam_source *source;
	struct cam_facts f;
	struct cam_buf data = CAM_BUF(TEXT_BYTES - 64);
	struct cam_out out;
	if (doors->windows(doors->self, &source))
		return false;
	cam_facts_gather(source, &f);
	doors->release(doors->self, source);
	cam_out_to_buf(&out, &data);
	struct cam_json j = {&out, false};
	cam_json_open(&j, NULL, '{');
	cam_answer_seconds(&j, "from", f.from_ns);
	cam_answer_seconds(&j, "to", f.to_ns);
	cam_json_u64(&j, "windows", f.windows);
	cam_json_u64(&j, "sealed", f.sealed);
	cam_json_u64(&j, "samples", f.samples);
	cam_json_u64(&j, "events", f.events);
	cam_json_u64(&j, "bytes", f.bytes);
	cam_json_close(&j, '}');
	bool fits = !cam_out_finish(&out);
	if (fits)
		snprintf(text, TEXT_BYTES, "event: store\ndata: %.*s\n\n", (int)data.len,
			 (const char *)data.data);
	cam_buf_free(&data);
	return fits;
}

/* The lock is held, and let go meanwhile. */
static void look_for_all(struct cam_news *l)
{
	char text[TEXT_BYTES];
	l->looking = true;
	pthread_mutex_unlock(&l->lock);
	/* Before the look: what is appended meanwhile is felt the next time. */
	uint64_t pulse = l->doors.pulse ? l->doors.pulse(l->doors.self) : 0;
	bool due = pulse != l->pulse || now_ms() - l->looked_ms >= (pulse ? OLD_MS : LOOK_MS);
	bool known = due && look(&l->doors, text);
	pthread_mutex_lock(&l->lock);
	l->looking = false;
	l->next_look_ms = now_ms() + (due ? LOOK_MS : FEEL_MS);
	if (due) {
		l->pulse = pulse;
		l->looked_ms = now_ms();
	}
	if (known && strcmp(text, l->text) != 0) {
		memcpy(l->text, text, sizeof(text));
		l->edition++;
	}
	pthread_cond_broadcast(&l->changed);
}

static void wait_until(struct cam_news *l, int64_t ms)
{
	const struct timespec until = {.tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000) * 1000000};
	pthread_cond_timedwait(&l->changed, &l->lock, &until);
}

static ssize_t say(char *room, size_t n, const char *text)
{
	size_t bytes = strnlen(text, TEXT_BYTES);
	if (bytes > n)
		return -E2BIG;
	memcpy(room, text, bytes);
	return (ssize_t)bytes;
}

static ssize_t read_news(struct cam_stream *s, char *room, size_t n)
{
	struct client *c = (struct client *)s;
	struct cam_news *l = c->news;
	ssize_t bytes = 0;
	pthread_mutex_lock(&l->lock);
	while (!bytes && !l->stopping) {
		int64_t now = now_ms();
		if (now >= c->until_ms)
			break;
		if (c->seen != l->edition) {
			c->seen = l->edition;
			bytes = say(room, n, l->text);
		} else if (!l->looking && now >= l->next_look_ms) {
			look_for_all(l);
		} else if (now >= c->keep_ms) {
			bytes = say(room, n, ":\n\n");
		} else {
			wait_until(l, !l->looking && l->next_look_ms < c->keep_ms ? l->next_look_ms
										  : c->keep_ms);
		}
	}
	c->keep_ms = now_ms() + KEEP_MS;
	pthread_mutex_unlock(&l->lock);
	return bytes;
}

static void leave(struct cam_stream *s)
{
	struct client *c = (struct client *)s;
	atomic_fetch_sub(c->news->clients, 1);
	free(c);
}

int cam_news_new(const struct cam_server_doors *doors, atomic_uint *clients, struct cam_news **out)
{
	struct cam_news *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;
	if (!l)
		return -ENOMEM;
	l->doors = *doors;
	l->clients = clients;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*out = l;
	return 0;
}

int cam_news_join(struct cam_news *l, struct cam_stream **out)
{
	struct client *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	bool stopping = l->stopping;
	pthread_mutex_unlock(&l->lock);
	if (atomic_fetch_add(l->clients, 1) >= CAM_NEWS_CLIENTS || stopping) {
		atomic_fetch_sub(l->clients, 1);
		free(c);
		return -EBUSY;
	}
	c->stream = (struct cam_stream){read_news, leave};
	c->news = l;
	c->keep_ms = now_ms() + KEEP_MS;
	c->until_ms = now_ms() + LIFE_S * 1000ll;
	*out = &c->stream;
	return 0;
}

void cam_news_stop(struct cam_news *l)
{
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void cam_news_free(struct cam_news *l)
{
	if (!l)
		return;
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
