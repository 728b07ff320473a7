// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify.h"

#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES 1024

static int address_of(const char *path, struct cam_notify *n)
{
	size_t length = strlen(path);
	if (path[0] != '/' && path[0] != '@')
		return -EAFNOSUPPORT;
	if (length < 2 || length >= sizeof(n->address.sun_path))
		return -ENAMETOOLONG;
	n->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(n->address.sun_path, path, length);
	/* Abstract: begins with NUL, and is as long as it is; a path ends with one. */
	if (path[0] == '@')
		n->address.sun_path[0] = '\0';
	else
		length++;
	n->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return 0;
}

static uint64_t watchdog_of(const char *usec, const char *pid)
{
	char *end;
	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	errno = 0;
	unsigned long long v = strtoull(usec, &end, 10);
	if (errno || *end || end == usec || v > UINT64_MAX / CAM_NS_PER_US)
		return 0;
	return v * CAM_NS_PER_US;
}

int cam_notify_open(struct cam_notify *n)
{
	*n = (struct cam_notify){.fd = -1};
	const char *path = getenv("NOTIFY_SOCKET");
	int err = 0;
	if (path && *path) {
		err = address_of(path, n);
		if (!err)
			n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (!err && n->fd < 0)
			err = -errno;
		if (!err)
			n->watchdog_ns =
				watchdog_of(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return err;
}

void cam_notify_close(struct cam_notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static int send_text(const struct cam_notify *n, const char *text, size_t length)
{
	if (n->fd < 0)
		return 0;
	ssize_t sent = sendto(n->fd, text, length, MSG_NOSIGNAL,
			      (const struct sockaddr *)&n->address, n->address_bytes);
	return sent < 0 ? -errno : 0;
}

/* A line of its own each; a newline within the status would begin another. */
static int send_with_status(const struct cam_notify *n, const char *line, const char *status)
{
	char text[MAX_BYTES];
	int length = snprintf(text, sizeof(text), "%s%s", line, status ? "STATUS=" : "");
	size_t at = (size_t)length;
	for (const char *p = status; p && *p && at < sizeof(text) - 1; p++)
		text[at++] = (unsigned char)*p < ' ' ? ' ' : *p;
	if (status)
		text[at++] = '\n';
	return send_text(n, text, at);
}

int cam_notify_ready(const struct cam_notify *n, const char *status)
{
	return send_with_status(n, "READY=1\n", status);
}

int cam_notify_reloading(const struct cam_notify *n)
{
	struct timespec t;
	char text[MAX_BYTES];
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t usec = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / CAM_NS_PER_US;
	int length = snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu\n",
			      (unsigned long long)usec);
	return send_text(n, text, (size_t)length);
}

int cam_notify_stopping(const struct cam_notify *n)
{
	return send_with_status(n, "STOPPING=1\n", NULL);
}

int cam_notify_alive(const struct cam_notify *n)
{
	return send_with_status(n, "WATCHDOG=1\n", NULL);
}
