// SPDX-License-Identifier: Apache-2.0
/*
 * Whole packets over a SOCK_SEQPACKET socket, with at most one descriptor beside each; or a few.
 *
 * Both ends of a helper's socket use it (helper.h, the opener, the symboliser), and after
 * confinement it needs no system calls but sendmsg() and recvmsg(). Whether a call waits is the
 * socket's own property.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* fd: -1, or a descriptor that stays the caller's. 0, or: -EAGAIN (the socket is full), -EPIPE (the
 * other end is closed), -EMSGSIZE (larger than the socket's buffer), -EINVAL (no bytes). */
int cam_packet_send(int socket, const void *bytes, size_t n, int fd);
/*
 * Bytes received; 0: the other end is closed; -EAGAIN: none now; -EMSGSIZE: cut (it did not fit
 * `room`, had more than one descriptor, or the descriptor could not be taken), dropped. *fd is -1 or
 * a descriptor that is the caller's (close-on-exec).
 */
ssize_t cam_packet_receive(int socket, void *bytes, size_t room, int *fd);

/* The same with up to CAM_PACKET_FDS: those of `fds` that are not -1 travel, and arrive as the first ones; the others
 * are -1 there. */
#define CAM_PACKET_FDS 3
int cam_packet_send_all(int socket, const void *bytes, size_t n, const int fds[CAM_PACKET_FDS]);
ssize_t cam_packet_receive_all(int socket, void *bytes, size_t room, int fds[CAM_PACKET_FDS]);
