// SPDX-License-Identifier: Apache-2.0
/*
 * Door H: whoever wants something of the running recorder asks here. Only the recorder writes
 * the store; so marks, pins, snapshots come to it, as do questions about its health.
 *
 * Sides: the CLI and the server ask (cam_control_ask); the recorder answers (cam_control_ops).
 * Handed over: one request, one reply, each one packet of a SOCK_SEQPACKET Unix socket, at most
 * 64 KiB; control_wire.h has the bytes.
 * Ownership: what a handler gets is valid during the call; what it writes into `reply` is copied.
 * Thread: a control belongs to the thread that calls cam_control_handle(). It never blocks: what
 * cannot be sent at once is dropped with its connection.
 * Refusals: the peer is not root, not the recorder's own user, not in group perfcam: -EACCES; a
 * 17th client: -EBUSY; a malformed request: -EBADMSG; of another version: -EPROTONOSUPPORT. Each is
 * answered, then closed. Nothing asked for 5 s, nothing answered for 60 s: closed. All counted.
 *
 * Where the socket is: `--control PATH`, else `control` in /run/perfcam (root) or
 * $XDG_RUNTIME_DIR/perfcam, where the store is this user's usual one; a second recorder has another
 * store, and its socket is control-HASH beside it, of the store's path. Without such a
 * directory it is `.control` in the store. Else that is a symbolic link to the socket, left by the
 * recorder: so whoever knows the store finds its recorder, wherever that put the socket.
 * Mode 0660, group perfcam where there is one.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CAM_CONTROL_MAX_BYTES (64u << 10)
#define CAM_CONTROL_CLIENTS   16
#define CAM_CONTROL_TEXT_MAX  4096u /* of a mark */
#define CAM_CONTROL_NOW	      INT64_MIN

struct cam_control_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* Identifies a request that is answered later. */
struct cam_control_ticket {
	uint32_t slot;
	uint32_t serial;
};

/* A handler's answer when the reply will come by cam_control_answer(). */
#define CAM_CONTROL_LATER 1

/* Of a pin that was taken; with what max-pinned is. */
#define CAM_PIN_PARTLY                                                                        \
	"not all of it is kept for ever: all pins together are larger than max-pinned (%s); " \
	"what does not fit goes as windows without a pin do"

struct cam_control_request {
	struct cam_control_peer peer;
	struct cam_control_ticket ticket;
	struct cam_text text;	/* of a mark; the note of a pin; names of files */
	int64_t from_ns, to_ns; /* wall clock; of a mark from_ns only, or CAM_CONTROL_NOW; of an
				 * alert to_ns is its severity */
};

/*
 * The recorder's side. Each answers 0, a negative errno, or CAM_CONTROL_LATER; `reply` (bounded, a
 * text) goes back with it: the status as JSON, a window's name, or in words why not. NULL: the
 * recorder cannot do that (-EOPNOTSUPP).
 */
typedef int cam_control_fn(void *self, const struct cam_control_request *r, struct cam_buf *reply);
struct cam_control_ops {
	cam_control_fn *mark;
	cam_control_fn *pin;
	cam_control_fn *unpin;	  /* exactly this range; -ENOENT */
	cam_control_fn *snapshot; /* reply: the name of the window that was sealed */
	cam_control_fn *status;	  /* reply: JSON, status.h */
	cam_control_fn *reload;	  /* reply: what was applied, what needs a restart */
	cam_control_fn *alert;	  /* as a mark; -EEXIST: it was told before */
	cam_control_fn *replace;  /* text: "STAGED WINDOW", store.h's cam_store_adopt() */
};

struct cam_control_counts {
	uint64_t requests;
	uint64_t refused; /* who may not, and who is one too many */
	uint64_t malformed;
	uint64_t timed_out;
	uint64_t unsent; /* replies the asker did not take */
};

struct cam_control;

/*
 * Listens. `given`: --control or "". A socket that nobody listens on any more is replaced.
 * -EADDRINUSE: somebody does. -ENOTSOCK: something else has that name. -ENAMETOOLONG. `path` is
 * where it is, also on failure, for the message.
 */
int cam_control_open(const char *store, const char *given, const struct cam_control_ops *ops,
		     void *self, struct cam_control **out, char *path, size_t path_bytes);
/* Removes socket and link, if they are still this one's. Open requests get -ESHUTDOWN. */
void cam_control_close(struct cam_control *c);
/* One descriptor for the caller's epoll, readable when there is something to handle: requests
 * and time-outs alike. */
int cam_control_fd(const struct cam_control *c);
/* Does what can be done now, at most 32 events; calls the ops. -errno: the control is broken. */
int cam_control_handle(struct cam_control *c);
/* The reply to CAM_CONTROL_LATER. -ENOENT: the asker has gone. */
int cam_control_answer(struct cam_control *c, struct cam_control_ticket ticket, int status,
		       struct cam_text text);
struct cam_control_counts cam_control_counts(const struct cam_control *c);

/* The asker's side. */
enum cam_control_verb {
	CAM_CONTROL_MARK = 1,
	CAM_CONTROL_PIN,
	CAM_CONTROL_UNPIN,
	CAM_CONTROL_SNAPSHOT,
	CAM_CONTROL_STATUS,
	CAM_CONTROL_RELOAD,
	CAM_CONTROL_REPLACE,
	CAM_CONTROL_ALERT,
};

/*
 * Asks and waits, 5 s at most (a snapshot: 60 s). 0 or a positive errno: the recorder's own
 * status, its words in *reply. Negative: it could not be asked: -ENOENT, -ECONNREFUSED (no
 * recorder runs), -EACCES (not allowed to), -ETIMEDOUT, -EBADMSG. `path`: where it looked.
 */
int cam_control_ask(const char *store, const char *given, enum cam_control_verb verb,
		    const struct cam_control_request *r, struct cam_buf *reply, char *path,
		    size_t path_bytes);
