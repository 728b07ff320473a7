// SPDX-License-Identifier: Apache-2.0
/* What `serve` and the server process of `run` share: recordings that are open, a socket that listens,
 * privileges dropped, requests answered. */
#pragma once
#include "cli/served.h"
#include "daemon/settings.h"
#include "serve/guard.h"
#include "serve/server.h"

#include <pthread.h>

#define CAM_SERVING_GIVEN 64u

/* What is to be served: a store, or the directory that was made of a file. */
struct cam_given {
	const char *path, *label;
	enum cam_server_kind kind; /* a store or a file */
};

struct cam_serving {
	struct cam_settings *settings;
	struct cam_served *given;
	unsigned n_given;
	struct cam_opening *opening; /* NULL: nothing can be opened */
	char why_closed[256];
	struct cam_server *server;
	char token[CAM_TOKEN_BYTES]; /* "": none */
	int status_fd;		     /* a socket to the recorder (run); -1: by its control socket */
	pthread_mutex_t asking;	     /* held by who has a question on it */
	unsigned owed;		     /* answers that nobody waited for, and are still to come */
	int64_t asked_ms;	     /* when the last question went */
	void (*ready)(const struct cam_serving *s); /* called once it answers */
	int ready_fd;				    /* ready()'s */
};

/* Opens what is given (at least one; not copied until here) and the socket while it still may; ready() prints the URL. An
 * exit status. */
int cam_serving_open(struct cam_serving *s, struct cam_settings *settings,
		     const struct cam_given *given, unsigned n_given);
/* "http://127.0.0.1:9797/?token=…" */
void cam_serving_url(const struct cam_serving *s, char *room, size_t bytes);
/* Drops privileges, answers until SIGTERM or SIGINT. An exit status. */
int cam_serving_run(struct cam_serving *s);
void cam_serving_close(struct cam_serving *s);
