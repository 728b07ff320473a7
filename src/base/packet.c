// SPDX-License-Identifier: Apache-2.0
#include "base/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as a control message must be, with room for all descriptors. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(CAM_PACKET_FDS * sizeof(int))];
};

int cam_packet_send(int socket, const void *bytes, size_t n, int fd)
{
	return cam_packet_send_all(socket, bytes, n, (const int[CAM_PACKET_FDS]){fd, -1, -1});
}

int cam_packet_send_all(int socket, const void *bytes, size_t n, const int fds[CAM_PACKET_FDS])
{
	if (n == 0)
		return -EINVAL; /* the receiver would take it for the end */
	union control control = {0};
	struct iovec v = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	int given[CAM_PACKET_FDS];
	size_t fds_bytes = 0;
	for (size_t i = 0; i < CAM_PACKET_FDS; i++) {
		if (fds[i] < 0)
			continue;
		given[fds_bytes / sizeof(int)] = fds[i];
		fds_bytes += sizeof(int);
	}
	if (fds_bytes) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(fds_bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(c), given, fds_bytes);
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

static void have_none(int fds[CAM_PACKET_FDS])
{
	for (size_t i = 0; i < CAM_PACKET_FDS; i++)
		fds[i] = -1;
}

static void take_descriptors(struct msghdr *m, int fds[CAM_PACKET_FDS])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	have_none(fds);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), (n < CAM_PACKET_FDS ? n : CAM_PACKET_FDS) * sizeof(int));
}

static ssize_t receive(int socket, void *bytes, size_t room, size_t max_fds,
		       int fds[CAM_PACKET_FDS])
{
	union control control = {0};
	struct iovec v = {bytes, room};
	struct msghdr m;
	ssize_t n;
	/* A reset is told once, before what the dead end had still sent. */
	int resets = 0;
	have_none(fds);
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
	int got[CAM_PACKET_FDS];
	take_descriptors(&m, got);
	bool cut = m.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	for (size_t i = 0; i < CAM_PACKET_FDS; i++) {
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
	int fds[CAM_PACKET_FDS];
	ssize_t n = receive(socket, bytes, room, 1, fds);
	*fd = fds[0];
	return n;
}

ssize_t cam_packet_receive_all(int socket, void *bytes, size_t room, int fds[CAM_PACKET_FDS])
{
	return receive(socket, bytes, room, CAM_PACKET_FDS, fds);
}
