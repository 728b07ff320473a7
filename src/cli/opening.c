// SPDX-License-Identifier: Apache-2.0
#include "cli/opening.h"

#include "base/packet.h"
#include "cli/served.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST	   8u
#define MOST_BYTES (2ull << 30) /* of all stores together */
#define SEND_MS	   30000
#define ANSWER_MS  ((CAM_IMPORTER_SECONDS + 10) * 1000)
#define END_MS	   2000

struct opened {
	struct cam_served served; /* first */
	uint64_t bytes;
	unsigned number;
};

struct cam_opening {
	char place[PATH_MAX - 64];
	int socket;
	pthread_mutex_t lock; /* of all below */
	bool busy;	      /* a file is on its way */
	bool lost;     /* an answer did not come: nobody knows what the next one would be about */
	unsigned last; /* number */
	char label[CAM_SERVED_LABEL];
	struct opened *sources[MOST]; /* oldest first */
	unsigned n;
};

static bool wait_for(int socket, short what, int ms)
{
	struct pollfd p = {.fd = socket, .events = what};
	int n;
	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int send_packet(struct cam_opening *o, const struct cam_importer_head *h, const void *bytes,
		       size_t n)
{
	char packet[CAM_IMPORTER_PACKET];
	int err;
	memcpy(packet, h, sizeof(*h));
	if (n)
		memcpy(packet + sizeof(*h), bytes, n);
	do {
		if (!wait_for(o->socket, POLLOUT, SEND_MS))
			return -ETIMEDOUT;
		err = cam_packet_send(o->socket, packet, sizeof(*h) + n, -1);
	} while (err == -EAGAIN);
	return err;
}

/* The lock is held; nobody holds it. */
static void forget(struct cam_opening *o, struct opened *s)
{
	const struct cam_importer_head h = {.what = CAM_IMPORTER_DROP, .number = s->number};
	send_packet(o, &h, NULL, 0);
	cam_served_close(&s->served);
	free(s);
}

static void let_go(struct cam_opening *o, struct opened *s)
{
	pthread_mutex_lock(&o->lock);
	s->served.holds--;
	if (s->served.dropped && !s->served.holds)
		forget(o, s);
	pthread_mutex_unlock(&o->lock);
}

static int windows(void *self, struct cam_source **out)
{
	struct opened *s = self;
	struct cam_opening *o = s->served.owner;
	pthread_mutex_lock(&o->lock);
	s->served.holds++;
	pthread_mutex_unlock(&o->lock);
	int err = cam_served_windows(&s->served, out);
	if (err)
		let_go(o, s);
	return err;
}

static void release(void *self, struct cam_source *source)
{
	struct opened *s = self;
	cam_served_release(&s->served, source);
	let_go(s->served.owner, s);
}

/* The lock is held. */
static void drop_oldest(struct cam_opening *o)
{
	struct opened *s = o->sources[0];
	memmove(o->sources, o->sources + 1, --o->n * sizeof(struct opened *));
	s->served.dropped = true;
	if (!s->served.holds)
		forget(o, s);
}

static int hold(struct opened *s, struct cam_server_doors *out)
{
	s->served.holds++;
	*out = cam_served_doors(&s->served);
	out->windows = windows;
	out->release = release;
	return 0;
}

int cam_opening_enter(struct cam_opening *o, unsigned i, struct cam_server_doors *out)
{
	pthread_mutex_lock(&o->lock);
	int err = i < o->n ? hold(o->sources[i], out) : -ENOENT;
	pthread_mutex_unlock(&o->lock);
	return err;
}

int cam_opening_find(struct cam_opening *o, const char *id, struct cam_server_doors *out)
{
	int err = -ENOENT;
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; err && i < o->n; i++)
		if (!strcmp(o->sources[i]->served.id, id))
			err = hold(o->sources[i], out);
	pthread_mutex_unlock(&o->lock);
	return err;
}

void cam_opening_leave(struct cam_opening *o, const struct cam_server_doors *d)
{
	let_go(o, d->self);
}

struct cam_server_limits cam_opening_limits(const struct cam_opening *o)
{
	(void)o;
	return (struct cam_server_limits){.bytes = CAM_IMPORTER_FILE_BYTES, .most = MOST};
}

int cam_opening_begin(struct cam_opening *o, const struct cam_server_sent *f)
{
	size_t n = strlen(f->name);
	pthread_mutex_lock(&o->lock);
	int err = o->lost ? -EPIPE : o->busy ? -EBUSY : 0;
	o->busy = o->busy || !err;
	o->last += !err;
	pthread_mutex_unlock(&o->lock);
	if (err)
		return err;
	const struct cam_importer_head h = {
		.what = CAM_IMPORTER_BEGIN, .number = o->last, .modified_s = f->modified_s};
	snprintf(o->label, sizeof(o->label), "%s", n ? f->name : "file");
	err = send_packet(o, &h, f->name, n < CAM_IMPORTER_NAME ? n : CAM_IMPORTER_NAME);
	if (err)
		cam_opening_abort(o);
	return err;
}

int cam_opening_more(struct cam_opening *o, const void *bytes, size_t n)
{
	const struct cam_importer_head h = {.what = CAM_IMPORTER_MORE, .number = o->last};
	const char *at = bytes;
	int err = 0;
	for (size_t most = CAM_IMPORTER_PACKET - sizeof(h); n && !err;) {
		size_t some = n < most ? n : most;
		err = send_packet(o, &h, at, some);
		at += some;
		n -= some;
	}
	return err;
}

static void set_free(struct cam_opening *o, bool lost)
{
	pthread_mutex_lock(&o->lock);
	o->busy = false;
	o->lost = o->lost || lost;
	pthread_mutex_unlock(&o->lock);
}

void cam_opening_abort(struct cam_opening *o)
{
	const struct cam_importer_head h = {.what = CAM_IMPORTER_DROP, .number = o->last};
	set_free(o, send_packet(o, &h, NULL, 0) != 0);
}

/* What is said begins with the program's name, which means nothing here. */
static void take_words(const char *text, size_t n, struct cam_buf *words)
{
	static const char own[] = "perfcam: ";
	while (n) {
		const char *end = memchr(text, '\n', n);
		size_t line = end ? (size_t)(end - text) : n, skip = 0;
		if (line >= sizeof(own) - 1 && !memcmp(text, own, sizeof(own) - 1))
			skip = sizeof(own) - 1;
		if (line > skip) {
			cam_buf_put(words, text + skip, line - skip);
			cam_buf_put(words, "\n", 1);
		}
		line += end != NULL;
		text += line;
		n -= line;
	}
}

static int take_answer(struct cam_opening *o, struct cam_importer_reply *r, struct cam_buf *words)
{
	union {
		struct cam_importer_reply head;
		char bytes[sizeof(struct cam_importer_reply) + CAM_IMPORTER_WORDS];
	} reply;
	int fd = -1;
	if (!wait_for(o->socket, POLLIN, ANSWER_MS))
		return -EPIPE;
	ssize_t n = cam_packet_receive(o->socket, reply.bytes, sizeof(reply.bytes), &fd);
	if (fd >= 0)
		close(fd);
	if (n < (ssize_t)sizeof(reply.head) || reply.head.words != (size_t)n - sizeof(reply.head))
		return -EPIPE;
	*r = reply.head;
	take_words(reply.bytes + sizeof(reply.head), reply.head.words, words);
	return 0;
}

/* A new source, of the file that was sent last. */
static int add(struct cam_opening *o, uint64_t bytes, struct cam_server_doors *out)
{
	char path[PATH_MAX];
	struct opened *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->served = (struct cam_served){.kind = CAM_SERVER_OPENED, .number = UINT_MAX, .owner = o};
	s->bytes = bytes;
	s->number = o->last;
	snprintf(s->served.id, sizeof(s->served.id), "o%u", o->last);
	snprintf(path, sizeof(path), "%s/%u/store", o->place, o->last);
	int err = cam_served_open(&s->served, path, o->label);
	if (err) {
		free(s);
		return err;
	}
	pthread_mutex_lock(&o->lock);
	uint64_t sum = bytes;
	for (unsigned i = 0; i < o->n; i++)
		sum += o->sources[i]->bytes;
	while (o->n && (o->n >= MOST || sum > MOST_BYTES)) {
		sum -= o->sources[0]->bytes;
		drop_oldest(o);
	}
	o->sources[o->n++] = s;
	hold(s, out);
	pthread_mutex_unlock(&o->lock);
	return 0;
}

int cam_opening_end(struct cam_opening *o, struct cam_server_doors *out, struct cam_buf *words)
{
	const struct cam_importer_head h = {.what = CAM_IMPORTER_END, .number = o->last};
	struct cam_importer_reply r = {0};
	int err = send_packet(o, &h, NULL, 0);
	if (!err)
		err = take_answer(o, &r, words);
	if (err) {
		set_free(o, true);
		return err;
	}
	err = r.status < 0 ? r.status : add(o, r.bytes, out);
	if (err && r.status >= 0)
		cam_opening_abort(o);
	else
		set_free(o, false);
	return err;
}

const char *cam_opening_place(const struct cam_opening *o)
{
	return o->place;
}

int cam_opening_new(struct cam_opening **out)
{
	const char *folder = getenv("TMPDIR");
	int ends[2];
	struct cam_opening *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	pthread_mutex_init(&o->lock, NULL);
	snprintf(o->place, sizeof(o->place), "%.4000s/perfcam-open-XXXXXX",
		 folder && *folder == '/' ? folder : "/tmp");
	int err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (err) {
		free(o);
		return err;
	}
	pid_t child = mkdtemp(o->place) ? fork() : -1;
	if (child == 0) {
		close(ends[0]);
		cam_importer_run(ends[1], o->place);
	}
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	o->socket = ends[0];
	if (err)
		cam_opening_free(o);
	else
		*out = o;
	return err;
}

void cam_opening_stop(struct cam_opening *o)
{
	if (o)
		shutdown(o->socket, SHUT_WR);
}

void cam_opening_free(struct cam_opening *o)
{
	char byte;
	if (!o)
		return;
	for (unsigned i = 0; i < o->n; i++) {
		cam_served_close(&o->sources[i]->served);
		free(o->sources[i]);
	}
	cam_opening_stop(o);
	/* Its end is the end of its socket. */
	while (wait_for(o->socket, POLLIN, END_MS) && read(o->socket, &byte, 1) > 0) {
	}
	close(o->socket);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
