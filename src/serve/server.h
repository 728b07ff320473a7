// SPDX-License-Identifier: Apache-2.0
/*
 * The HTTP server: guards, then routes. docs/http-api.md is door F.
 *
 * Sides: cli starts it (in a process without privileges); whoever speaks HTTP on the address asks.
 * Handed over: the page, JSON, binary columns. It changes nothing itself; what is to be marked or pinned it
 * hands to the recorder.
 * Thread: each connection has its own; `doors` are called on several at a time.
 * Refusals: those of guard.h (421, 401, 403, 405). A parameter that is not understood: 400, saying why.
 * Unknown path: 404. Too many questions at a time: 503, with Retry-After. Too many connections: closed. A
 * header block beyond 16 KiB: 431.
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "query/select.h"

#include <stdbool.h>
#include <stdint.h>

struct cam_server_change {
	enum { CAM_SERVER_MARK, CAM_SERVER_PIN, CAM_SERVER_UNPIN } what;
	int64_t from_ns, to_ns; /* wall clock; of a mark from_ns only, INT64_MIN: now */
	struct cam_text text;	/* of a mark; why something is pinned */
};

struct cam_server_doors {
	void *self;
	/* The windows as they are now; released after each request. */
	int (*windows)(void *self, struct cam_source **out);
	void (*release)(void *self, struct cam_source *source);
	/*
	 * Asks the recorder to change something. `words`: what it says to it. -ENOTCONN: there is none to ask;
	 * any other errno is its refusal. NULL: there is never one.
	 */
	int (*change)(void *self, const struct cam_server_change *c, struct cam_buf *words);
	/* The recorder's status as JSON; NULL: there is none to ask. Negative errno: why not. */
	int (*status)(void *self, struct cam_buf *json);
	/* Another number when a window was added, replaced or removed; 0: not known, or just now. NULL: never. */
	uint64_t (*stamp)(void *self);
	/* Now, the local zone and users' names, for what is asked in words. */
	struct cam_select_world (*world)(void *self);
};

struct cam_server_options {
	const char *address; /* numeric */
	uint16_t port;	     /* 0: any free one */
	const char *token;   /* NULL: none is asked for */
	const char *proxy;   /* the name of a proxy with TLS before it; NULL: there is none */
	struct cam_server_doors doors;
};

struct cam_server;

/* Listens: so that privileges can be dropped between this and cam_server_start(). -EADDRINUSE … */
int cam_server_listen(const struct cam_server_options *o, struct cam_server **out);
/* Answers from now on, on a thread of its own. */
int cam_server_start(struct cam_server *s);
/* In a process that does not serve itself: closes the socket, so that it ends with the one that does. */
void cam_server_leave(struct cam_server *s);
void cam_server_stop(struct cam_server *s);
uint16_t cam_server_port(const struct cam_server *s);
