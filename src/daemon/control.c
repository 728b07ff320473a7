// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's end of door H: a few sockets and a timer behind one epoll descriptor, which the
 * daemon's own loop watches. So the loop has one thing to watch, and an idle control costs nothing.
 *
 * Why a connection a request: nobody has to be remembered, and a client that is slow, gone or
 * hostile costs one of 16 places for at most 5 s (60 s where the recorder itself wants time).
 *
 * Invariants
 *  1. No call here waits: sockets do not block, a reply that does not fit at once is dropped.
 *  2. A handler runs only for a peer that was admitted and a request that was decoded whole.
 *  3. Each admitted request gets at most one reply, then its place is free; a ticket carries the
 *     place's serial number, so a late answer never reaches the next client of that place.
 *  4. The name `path` always leads to a socket that listens: it is bound under another name and
 *     renamed when ready. The socket is opened to its group before anybody can connect.
 *
 * Example: `perfcam snapshot` connects (place 3, serial 41), sends 24 bytes. handle() admits it,
 * calls ops->snapshot, which answers CAM_CONTROL_LATER. Two seconds later the recorder calls
 * cam_control_answer({3, 41}, 0, "web1-…-120s.pcw"): sent, closed, place 3 is free (serial 42).
 */
#include "daemon/control.h"

#include "base/units.h"
#include "daemon/control_peer.h"
#include "daemon/control_place.h"
#include "daemon/control_wire.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_NS (5 * CAM_NS_PER_SEC)
#define REPLY_NS   (60 * CAM_NS_PER_SEC)
#define PAUSE_NS   (1 * CAM_NS_PER_SEC)
#define MAX_EVENTS 32
#define ID_LISTEN  UINT32_MAX
#define ID_TIMER   (UINT32_MAX - 1)

struct client {
	int fd; /* -1: a free place */
	uint32_t serial;
	bool asked; /* its request is with the recorder */
	uint64_t deadline_ns;
	struct cam_control_peer peer;
};

struct cam_control {
	const struct cam_control_ops *ops;
	void *self;
	int epoll, listener, timer;
	uint64_t paused_until_ns; /* no descriptors left: try again then; 0: listening */
	gid_t group;
	struct cam_control_counts counts;
	struct cam_buf packet, reply;
	dev_t dev;
	ino_t ino;
	char path[PATH_MAX];
	char store[PATH_MAX];
	struct client clients[CAM_CONTROL_CLIENTS];
	uint8_t request[CAM_CONTROL_MAX_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static int watch(struct cam_control *c, int op, int fd, uint32_t id, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.u32 = id};
	return epoll_ctl(c->epoll, op, fd, &e) ? -errno : 0;
}

/* The timer goes off at the earliest deadline, or not at all. */
static void set_timer(struct cam_control *c)
{
	uint64_t first = c->paused_until_ns ? c->paused_until_ns : UINT64_MAX;
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd >= 0 && c->clients[i].deadline_ns < first)
			first = c->clients[i].deadline_ns;
	}
	struct itimerspec t = {0};
	if (first != UINT64_MAX) {
		t.it_value.tv_sec = (time_t)(first / CAM_NS_PER_SEC);
		t.it_value.tv_nsec = (long)(first % CAM_NS_PER_SEC);
	}
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Unread requests would make the kernel reset the connection before the reply is read. */
static void send_and_close(struct cam_control *c, int fd, int status, struct cam_text text)
{
	char byte;
	/* Not for ever: who goes on sending may have the reset. */
	for (int i = 0; i < 4 && recv(fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0; i++)
		;
	cam_buf_clear(&c->packet);
	cam_control_put_reply(&c->packet, status, text);
	if (cam_buf_error(&c->packet) ||
	    send(fd, c->packet.data, c->packet.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		c->counts.unsent++;
	close(fd);
}

static void free_place(struct client *k)
{
	k->fd = -1;
	k->serial++;
	k->asked = false;
}

static void reply(struct cam_control *c, struct client *k, int status, struct cam_text text)
{
	send_and_close(c, k->fd, status, text);
	free_place(k);
}

static void give_up(struct client *k)
{
	close(k->fd);
	free_place(k);
}

static struct client *place_for(struct cam_control *c)
{
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	}
	return NULL;
}

static void take_client(struct cam_control *c, int fd, uint64_t now)
{
	struct cam_control_peer peer = {0};
	struct client *k = place_for(c);
	int err = cam_control_admit(fd, c->group, &peer);
	if (err || !k) {
		c->counts.refused++;
		send_and_close(c, fd, err ? err : -EBUSY,
			       err ? CAM_TEXT("only root, the recorder's own user and members of "
					      "group perfcam may ask")
				   : CAM_TEXT("too many ask at the same time; try again"));
		return;
	}
	k->fd = fd;
	k->peer = peer;
	k->deadline_ns = now + REQUEST_NS;
	if (watch(c, EPOLL_CTL_ADD, fd, (uint32_t)(k - c->clients), EPOLLIN))
		give_up(k);
}

static void accept_clients(struct cam_control *c, uint64_t now)
{
	for (int i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			take_client(c, fd, now);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			/* It stays readable: without a pause the daemon's loop would spin. */
			c->paused_until_ns = now + PAUSE_NS;
			watch(c, EPOLL_CTL_MOD, c->listener, ID_LISTEN, 0);
		}
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static cam_control_fn *handler_of(const struct cam_control_ops *ops, enum cam_control_verb verb)
{
	switch (verb) {
	case CAM_CONTROL_MARK:
		return ops->mark;
	case CAM_CONTROL_PIN:
		return ops->pin;
	case CAM_CONTROL_UNPIN:
		return ops->unpin;
	case CAM_CONTROL_SNAPSHOT:
		return ops->snapshot;
	case CAM_CONTROL_STATUS:
		return ops->status;
	case CAM_CONTROL_RELOAD:
		return ops->reload;
	case CAM_CONTROL_REPLACE:
		return ops->replace;
	case CAM_CONTROL_ALERT:
		return ops->alert;
	}
	return NULL;
}

static void serve(struct cam_control *c, struct client *k, struct cam_text bytes, uint64_t now)
{
	struct cam_control_request r = {
		.peer = k->peer,
		.ticket = {(uint32_t)(k - c->clients), k->serial},
	};
	enum cam_control_verb verb;
	int err = cam_control_get_request(bytes, &verb, &r);
	if (err) {
		c->counts.malformed++;
		reply(c, k, err, CAM_TEXT("not a request of this version of perfcam"));
		return;
	}
	c->counts.requests++;
	cam_control_fn *fn = handler_of(c->ops, verb);
	if (!fn) {
		reply(c, k, -EOPNOTSUPP, CAM_TEXT("this recorder cannot do that"));
		return;
	}
	cam_buf_clear(&c->reply);
	k->asked = true;
	k->deadline_ns = now + REPLY_NS;
	err = fn(c->self, &r, &c->reply);
	if (err == CAM_CONTROL_LATER || k->serial != r.ticket.serial)
		return; /* will be, or has been answered */
	if (cam_buf_error(&c->reply))
		reply(c, k, cam_buf_error(&c->reply), CAM_TEXT("the reply did not fit"));
	else
		reply(c, k, err, (struct cam_text){(char *)c->reply.data, c->reply.len});
}

static void hear(struct cam_control *c, struct client *k, uint64_t now)
{
	ssize_t n = recv(k->fd, c->request, sizeof(c->request), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* gone, waiting or not */
		give_up(k);
	} else if (k->asked || (size_t)n > sizeof(c->request)) {
		c->counts.malformed++;
		reply(c, k, -EBADMSG, CAM_TEXT("one request a connection, of at most 64 KiB"));
	} else {
		serve(c, k, (struct cam_text){(char *)c->request, (size_t)n}, now);
	}
}

static void expire(struct cam_control *c, uint64_t now)
{
	uint64_t times;
	if (read(c->timer, &times, sizeof(times)) < 0 && errno != EAGAIN)
		return;
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		struct client *k = &c->clients[i];
		if (k->fd < 0 || k->deadline_ns > now)
			continue;
		c->counts.timed_out++;
		reply(c, k, -ETIMEDOUT,
		      k->asked ? CAM_TEXT("the recorder is still at it; see perfcam status")
			       : CAM_TEXT("nothing was asked"));
	}
	if (c->paused_until_ns && c->paused_until_ns <= now) {
		c->paused_until_ns = 0;
		watch(c, EPOLL_CTL_MOD, c->listener, ID_LISTEN, EPOLLIN);
	}
}

int cam_control_handle(struct cam_control *c)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(c->epoll, events, MAX_EVENTS, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	uint64_t now = now_ns();
	for (int i = 0; i < n; i++) {
		uint32_t id = events[i].data.u32;
		if (id == ID_TIMER)
			expire(c, now);
		else if (id < CAM_CONTROL_CLIENTS && c->clients[id].fd >= 0)
			hear(c, &c->clients[id], now);
	}
	/* Last: a place that became free in this round must not hear the round's old events. */
	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == ID_LISTEN)
			accept_clients(c, now);
	}
	set_timer(c);
	return 0;
}

int cam_control_answer(struct cam_control *c, struct cam_control_ticket ticket, int status,
		       struct cam_text text)
{
	if (ticket.slot >= CAM_CONTROL_CLIENTS)
		return -ENOENT;
	struct client *k = &c->clients[ticket.slot];
	if (k->fd < 0 || k->serial != ticket.serial || !k->asked)
		return -ENOENT;
	if (text.n > CAM_CONTROL_REPLY_MAX)
		text.n = CAM_CONTROL_REPLY_MAX;
	reply(c, k, status, text);
	return 0;
}

/* 0: the name is free, or nobody listens there any more. */
static int probe(const char *path, const struct sockaddr_un *address)
{
	struct stat st;
	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -ENOTSOCK;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int err = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	close(fd);
	return err == -ECONNREFUSED || err == -ENOENT ? 0 : -EADDRINUSE;
}

/* Bound, opened to the group, listening; all under a name that nobody looks for. */
static int listen_aside(struct cam_control *c, const char *aside)
{
	struct sockaddr_un address;
	struct stat st = {0};
	int dir;
	int err = cam_control_place_address(aside, &address, &dir);
	if (err)
		return err;
	unlink(aside);
	if (bind(c->listener, (struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	else if (c->group != CAM_GID_NONE && lchown(aside, (uid_t)-1, c->group) && errno != EPERM)
		err = -errno;
	else if (chmod(aside, 0660) || listen(c->listener, CAM_CONTROL_CLIENTS) ||
		 lstat(aside, &st))
		err = -errno;
	if (dir >= 0)
		close(dir);
	if (err)
		return err;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	return 0;
}

static int listen_at(struct cam_control *c)
{
	struct sockaddr_un address;
	char aside[PATH_MAX];
	int dir, n = snprintf(aside, sizeof(aside), "%s.%d", c->path, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof(aside))
		return -ENAMETOOLONG;
	int err = cam_control_place_address(c->path, &address, &dir);
	if (err)
		return err;
	err = probe(c->path, &address);
	if (dir >= 0)
		close(dir);
	if (err)
		return err;
	err = listen_aside(c, aside);
	if (!err && rename(aside, c->path))
		err = -errno;
	if (err)
		unlink(aside);
	return err;
}

static int set_up(struct cam_control *c)
{
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->epoll < 0 || c->timer < 0 || c->listener < 0)
		return -errno;
	int err = listen_at(c);
	if (!err)
		err = watch(c, EPOLL_CTL_ADD, c->listener, ID_LISTEN, EPOLLIN);
	if (!err)
		err = watch(c, EPOLL_CTL_ADD, c->timer, ID_TIMER, EPOLLIN);
	return err;
}

int cam_control_open(const char *store, const char *given, const struct cam_control_ops *ops,
		     void *self, struct cam_control **out, char *path, size_t path_bytes)
{
	path[0] = '\0';
	struct cam_control *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->ops = ops;
	c->self = self;
	c->epoll = c->timer = c->listener = -1;
	c->group = cam_control_group();
	c->packet = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	c->reply = CAM_BUF(CAM_CONTROL_REPLY_MAX);
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
	int n = snprintf(c->store, sizeof(c->store), "%s", store);
	int err = n < 0 || (size_t)n >= sizeof(c->store) ? -ENAMETOOLONG : 0;
	if (!err)
		err = cam_control_place_listen(store, given, c->path, sizeof(c->path));
	snprintf(path, path_bytes, "%s", c->path);
	if (!err)
		err = set_up(c);
	/* Without the link the usual place is still found; a full disk must not end this. */
	if (!err)
		cam_control_place_link(store, c->path);
	if (err) {
		cam_control_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cam_control_close(struct cam_control *c)
{
	struct stat st;
	if (!c)
		return;
	for (size_t i = 0; i < CAM_CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd >= 0)
			reply(c, &c->clients[i], -ESHUTDOWN, CAM_TEXT("the recorder is stopping"));
	}
	if (c->ino && lstat(c->path, &st) == 0 && st.st_dev == c->dev && st.st_ino == c->ino) {
		unlink(c->path);
		cam_control_place_unlink(c->store, c->path);
	}
	const int fds[] = {c->listener, c->timer, c->epoll};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	cam_buf_free(&c->packet);
	cam_buf_free(&c->reply);
	free(c);
}

int cam_control_fd(const struct cam_control *c)
{
	return c->epoll;
}

struct cam_control_counts cam_control_counts(const struct cam_control *c)
{
	return c->counts;
}
