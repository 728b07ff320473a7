// SPDX-License-Identifier: Apache-2.0
#include "base/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as a control message must be, with room for two descriptors. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

int cam_packet_send(int socket, const void *bytes, size_t n, int fd)
{
	return cam_packet_send_two(socket, bytes, n, fd, -1);
}

int cam_packet_send_two(int socket, const void *bytes, size_t n, int fd, int second)
{
	if (n == 0)
		return -EINVAL; /* the receiver would take it for the end */
	union control control = {0};
	struct iovec v = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	if (fd >= 0) {
		const int fds[2] = {fd, second};
		size_t fds_bytes = second >= 0 ? sizeof(fds) : sizeof(fd);
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(fds_bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(c), fds, fds_bytes);
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

static void take_descriptors(struct msghdr *m, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	fds[0] = fds[1] = -1;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	if (c->cmsg_len >= CMSG_LEN(2 * sizeof(int)))
		memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
	else if (c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fds, CMSG_DATA(c), sizeof(int));
}

static ssize_t receive(int socket, void *bytes, size_t room, size_t max_fds, int fds[2])
{
	union control control = {0};
	struct iovec v = {bytes, room};
	struct msghdr m;
	ssize_t n;
	/* A reset is told once, before what the dead end had still sent. */
	int resets = 0;
	fds[0] = fds[1] = -1;
	do {
		/* CMSG_LEN, not CMSG_SPACE: in its padding the kernel would install one more. */
		m = (struct msghdr){.msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = CMSG_LEN(max_fds * sizeof(int))};
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	int got[2];
	take_descriptors(&m, got);
	bool cut = m.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	for (int i = 0; i < 2; i++) {
		if (n > 0 && !cut)
			fds[i] = got[i];
		else if (got[i] >= 0)
			close(got[i]);
	}
	if (n == 0 || cut)
		return cut ? -EMSGSIZE : 0;
	return n;
}

ssize_t cam_packet_receive(int socket, void *bytes, size_t room, int *fd)
{
	int fds[2];
	ssize_t n = receive(socket, bytes, room, 1, fds);
	*fd = fds[0];
	return n;
}

ssize_t cam_packet_receive_two(int socket, void *bytes, size_t room, int fds[2])
{
	return receive(socket, bytes, room, 2, fds);
}
