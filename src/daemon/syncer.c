// SPDX-License-Identifier: Apache-2.0
#include "daemon/syncer.h"

#include "store/io.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum state { IDLE, ASKED, DONE, ENDING };

struct cam_sync_thread {
	struct cam_syncer door;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum state state;
	struct cam_file *file; /* while ASKED or DONE */
	int result;	       /* when DONE */
};

static void *sync_main(void *arg)
{
	struct cam_sync_thread *t = arg;
	prctl(PR_SET_NAME, "perfcam-sync");
	pthread_mutex_lock(&t->mutex);
	for (;;) {
		while (t->state == IDLE || t->state == DONE)
			pthread_cond_wait(&t->changed, &t->mutex);
		if (t->state == ENDING)
			break;
		struct cam_file *f = t->file;
		pthread_mutex_unlock(&t->mutex);
		int result = f->ops->fdatasync(f);
		pthread_mutex_lock(&t->mutex);
		t->result = result;
		t->state = DONE;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->mutex);
	return NULL;
}

static bool start(void *self, struct cam_file *f)
{
	struct cam_sync_thread *t = self;
	pthread_mutex_lock(&t->mutex);
	bool free = t->state == IDLE;
	if (free) {
		t->state = ASKED;
		t->file = f;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->mutex);
	return free;
}

static bool is_done(void *self, bool wait, int *result)
{
	struct cam_sync_thread *t = self;
	pthread_mutex_lock(&t->mutex);
	while (wait && t->state == ASKED)
		pthread_cond_wait(&t->changed, &t->mutex);
	bool done = t->state == DONE;
	if (done) {
		*result = t->result;
		t->state = IDLE;
	}
	pthread_mutex_unlock(&t->mutex);
	return done;
}

struct cam_sync_thread *cam_sync_thread_start(void)
{
	struct cam_sync_thread *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->door = (struct cam_syncer){.self = t, .start = start, .is_done = is_done};
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->changed, NULL);
	if (pthread_create(&t->thread, NULL, sync_main, t)) {
		free(t);
		return NULL;
	}
	return t;
}

const struct cam_syncer *cam_sync_thread_door(const struct cam_sync_thread *t)
{
	return &t->door;
}

void cam_sync_thread_free(struct cam_sync_thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->mutex);
	t->state = ENDING;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->mutex);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}
