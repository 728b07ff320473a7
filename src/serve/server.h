// SPDX-License-Identifier: Apache-2.0
/*
 * The HTTP server: guards, then routes. docs/http-api.md is door F.
 *
 * Sides: cli starts it (in a process without privileges); whoever speaks HTTP on the address asks.
 * Handed over: the page, JSON, binary columns. It changes nothing itself; what is to be marked or pinned it
 * hands to the recorder, a file that is to be opened to who reads those.
 * Thread: each connection has its own; doors and house are called on several at a time.
 * Refusals: those of guard.h (421, 401, 403, 405). A parameter that is not understood: 400, saying why.
 * Unknown path: 404. Too many questions at a time: 503, with Retry-After. Too many connections: closed. A
 * header block beyond 16 KiB: 431.
 */
#pragma once
#include "base/buf.h"
#include "base/out.h"
#include "model/cursor.h"
#include "query/progress.h"
#include "query/select.h"

#include <stdbool.h>
#include <stdint.h>

struct cam_server_change {
	enum { CAM_SERVER_MARK, CAM_SERVER_PIN, CAM_SERVER_UNPIN, CAM_SERVER_ALERT } what;
	int64_t from_ns,
		to_ns; /* wall clock; of a mark from_ns only, INT64_MIN: now; of an alert to_ns
				 * is its severity */
	struct cam_text text; /* of a mark or alert; why something is pinned */
};

/* All about a moment in one HTML file: what of, and whose filters its other times have. */
struct cam_server_capsule {
	struct cam_source *source;
	const struct cam_selection *selection; /* settled */
	/* The same filters without times, which the caller sets; 0. */
	int (*like)(const void *arg, struct cam_selection *s);
	const void *like_arg;
	const char *scope; /* in words: what was selected */
	const struct cam_progress *progress;
};

enum cam_server_kind {
	CAM_SERVER_STORE,  /* a directory, which may grow */
	CAM_SERVER_FILE,   /* given at the start */
	CAM_SERVER_OPENED, /* given by /api/open, and dropped when others come */
};

/* One source: what a store or file can be asked. */
struct cam_server_doors {
	void *self;
	const char *id, *label; /* the label may hold any bytes */
	enum cam_server_kind kind;
	unsigned
		number; /* among those that are there from the start; of one that was opened: UINT_MAX */
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
	/* Another number when something was appended, too: cheap, to be asked often. NULL: not known. */
	uint64_t (*pulse)(void *self);
	/* Writes such a file: cli/capsule.h says with which errors; NULL: nobody does. */
	int (*capsule)(void *self, const struct cam_server_capsule *c, struct cam_out *out);
	/* Now, the local zone and users' names, for what is asked in words. */
	struct cam_select_world (*world)(void *self);
};

/* A file that somebody sends. */
struct cam_server_sent {
	const char *name;   /* as they call it; "": they do not */
	int64_t modified_s; /* when it was written; 0: not said */
	uint64_t bytes;
};

/* Of files that are sent. */
struct cam_server_limits {
	uint64_t bytes;	 /* of one; 0: nothing can be opened */
	unsigned most;	 /* that are kept */
	const char *why; /* nothing can be opened */
};

/* All sources there are, and how one is added. */
struct cam_server_house {
	void *self;
	unsigned
		given; /* sources that are there from the start and stay: numbers 0 … given - 1; at least 1 */
	/* The i-th source, and the one with an id: to be left. -ENOENT. */
	int (*enter)(void *self, unsigned i, struct cam_server_doors *out);
	int (*find)(void *self, const char *id, struct cam_server_doors *out);
	void (*leave)(void *self, const struct cam_server_doors *d);
	struct cam_server_limits (*limits)(void *self);
	/*
	 * A file comes in pieces: begin, more…, then end (`out`: the new source, to be left; `words`: a line each that is
	 * worth knowing) or abort. One at a time: -EBUSY. Any error of more() and end() ends it, too; -EBADMSG: it
	 * cannot be read, *words says why; -ETIMEDOUT.
	 */
	int (*open_begin)(void *self, const struct cam_server_sent *f);
	int (*open_more)(void *self, const void *bytes, size_t n);
	int (*open_end)(void *self, struct cam_server_doors *out, struct cam_buf *words);
	void (*open_abort)(void *self);
};

struct cam_server_options {
	const char *address; /* numeric */
	uint16_t port;	     /* 0: any free one */
	const char *token;   /* NULL: none is asked for */
	const char *proxy;   /* the name of a proxy with TLS before it; NULL: there is none */
	struct cam_server_house house;
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
