// SPDX-License-Identifier: Apache-2.0
/* What `serve` and the server process of `run` share: a store that is open, a socket that listens,
 * privileges dropped, requests answered. */
#pragma once
#include "daemon/settings.h"
#include "serve/guard.h"
#include "serve/server.h"

#include <pthread.h>

#include <sys/stat.h>

struct cam_serving {
	struct cam_settings *settings;
	struct cam_io *io;
	struct stat directory; /* the store's, when it was opened */
	unsigned sources;      /* that read it now */
	pthread_mutex_t lock;  /* of these */
	struct cam_server *server;
	char token[CAM_TOKEN_BYTES]; /* "": none */
	int status_fd;		     /* a socket to the recorder (run); -1: by its control socket */
	pthread_mutex_t asking;	     /* held by who has a question on it */
	unsigned owed;		     /* answers that nobody waited for, and are still to come */
	int64_t asked_ms;	     /* when the last question went */
	void (*ready)(const struct cam_serving *s); /* called once it answers */
	int ready_fd;				    /* ready()'s */
};

/* Opens the store and the socket while it still may; ready() prints the URL. An exit status. */
int cam_serving_open(struct cam_serving *s, struct cam_settings *settings);
/* "http://127.0.0.1:9797/?token=…" */
void cam_serving_url(const struct cam_serving *s, char *room, size_t bytes);
/* Drops privileges, answers until SIGTERM or SIGINT. An exit status. */
int cam_serving_run(struct cam_serving *s);
void cam_serving_close(struct cam_serving *s);
