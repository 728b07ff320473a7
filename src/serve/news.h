// SPDX-License-Identifier: Apache-2.0
/*
 * Who wants to know at once when something was added to the store: server-sent events (`/api/live`).
 *
 * The store is looked at once a second while anybody listens, by one of those who do; all hear the same. A listener
 * is let go after LIFE_S, and a browser comes again by itself: so none holds a thread for ever. What keeps
 * silent has a comment sent every few seconds, which also tells us who has left.
 *
 * Any thread.
 */
#pragma once
#include "serve/server.h"
#include "serve/stream.h"

#include <stdatomic.h>

#define CAM_NEWS_CLIENTS 16u

struct cam_news;

/* The doors are copied. `clients`: how many listen, to this or to another source; outlives it. -ENOMEM. */
int cam_news_new(const struct cam_server_doors *doors, atomic_uint *clients, struct cam_news **out);
/* One more who listens, until its stream is closed. -EBUSY: there are CAM_NEWS_CLIENTS; -ENOMEM. */
int cam_news_join(struct cam_news *l, struct cam_stream **out);
/* Ends all streams, from now on. */
void cam_news_stop(struct cam_news *l);
/* When all have been closed. */
void cam_news_free(struct cam_news *l);
