// SPDX-License-Identifier: Apache-2.0
/* The asker's end of door H. It may wait, but never longer than it said. */
#include "daemon/control.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/control_peer.h"
#include "daemon/control_place.h"
#include "daemon/control_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS	    5000
#define SNAPSHOT_MS 60000
#define RETRY_NS    (20 * CAM_NS_PER_MS)

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / (long)CAM_NS_PER_MS;
}

/* A full queue of a busy recorder is no refusal. */
static int connect_until(int fd, const char *path, int64_t deadline_ms)
{
	struct sockaddr_un address;
	int dir;
	int err = cam_control_place_address(path, &address, &dir);
	if (err)
		return err;
	do {
		err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
		if (err == -EAGAIN)
			nanosleep(&(struct timespec){0, (long)RETRY_NS}, NULL);
	} while ((err == -EAGAIN || err == -EINTR) && now_ms() < deadline_ms);
	if (dir >= 0)
		close(dir);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/*
 * A recorder that refuses may have closed before it saw the request: then the kernel reports the
 * reset first, once, and the reply stands behind it.
 */
static int receive_until(int fd, void *bytes, size_t room, size_t *n, int64_t deadline_ms)
{
	for (int resets = 0;;) {
		int64_t left = deadline_ms - now_ms();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -ETIMEDOUT;
		ssize_t got = recv(fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0 && errno == ECONNRESET && resets++ == 0)
			continue;
		if (got < 0)
			return -errno;
		/* It ended, or was killed, in the middle of it. */
		if (got == 0)
			return -ECONNRESET;
		if ((size_t)got > room)
			return -EBADMSG;
		*n = (size_t)got;
		return 0;
	}
}

static int ask_on(int fd, enum cam_control_verb verb, const struct cam_control_request *r)
{
	struct cam_buf packet = CAM_BUF(CAM_CONTROL_MAX_BYTES);
	cam_control_put_request(&packet, verb, r);
	int err = cam_buf_error(&packet);
	/* EPIPE: refused before it was asked; the reply says why. */
	if (!err && send(fd, packet.data, packet.len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		err = -errno;
	cam_buf_free(&packet);
	return err;
}

static int hear_on(int fd, struct cam_buf *reply, int64_t deadline_ms)
{
	char *bytes = malloc(CAM_CONTROL_MAX_BYTES);
	struct cam_text text;
	size_t n = 0;
	int status = 0;
	if (!bytes)
		return -ENOMEM;
	int err = receive_until(fd, bytes, CAM_CONTROL_MAX_BYTES, &n, deadline_ms);
	if (!err)
		err = cam_control_get_reply((struct cam_text){bytes, n}, &status, &text);
	if (!err) {
		cam_buf_put(reply, text.p, text.n);
		err = cam_buf_error(reply);
	}
	free(bytes);
	return err ? err : -status;
}

int cam_control_ask(const char *store, const char *given, enum cam_control_verb verb,
		    const struct cam_control_request *r, struct cam_buf *reply, char *path,
		    size_t path_bytes)
{
	struct stat st;
	path[0] = '\0';
	int err = cam_control_place_ask(store, given, path, path_bytes);
	if (err)
		return err;
	CAM_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int64_t deadline = now_ms() + (verb == CAM_CONTROL_SNAPSHOT ? SNAPSHOT_MS : WAIT_MS);
	err = connect_until(fd, path, deadline);
	if (!err)
		err = cam_control_trust(fd, stat(store, &st) ? geteuid() : st.st_uid);
	if (!err)
		err = ask_on(fd, verb, r);
	return err ? err : hear_on(fd, reply, deadline);
}
