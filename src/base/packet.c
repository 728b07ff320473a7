// SPDX-License-Identifier: Apache-2.0
#include "base/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as a control message must be, with room for one descriptor. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int cam_packet_send(int socket, const void *bytes, size_t n, int fd)
{
	if (n == 0)
		return -EINVAL; /* the receiver would take it for the end */
	union control control = {0};
	struct iovec v = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	ssize_t sent;
	do {
		sent = sendmsg(socket, &m, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 0;
	switch (errno) {
	case ECONNRESET:
	case ENOTCONN:
		return -EPIPE;
	case ENOBUFS:
	case ETOOMANYREFS: /* too many descriptors are on their way already */
		return -EAGAIN;
	default:
		return -errno;
	}
}

static int take_descriptor(struct msghdr *m)
{
	int fd = -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

ssize_t cam_packet_receive(int socket, void *bytes, size_t room, int *fd)
{
	union control control = {0};
	struct iovec v = {bytes, room};
	struct msghdr m;
	ssize_t n;
	/* A reset is told once, before what the dead end had still sent. */
	int resets = 0;
	*fd = -1;
	do {
		/* CMSG_LEN, not CMSG_SPACE: in its padding the kernel would install a second one. */
		m = (struct msghdr){.msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = CMSG_LEN(sizeof(int))};
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	int got = take_descriptor(&m);
	bool cut = m.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	if (n == 0 || cut) {
		if (got >= 0)
			close(got);
		return cut ? -EMSGSIZE : 0;
	}
	*fd = got;
	return n;
}
