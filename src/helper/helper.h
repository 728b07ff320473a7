// SPDX-License-Identifier: Apache-2.0
/*
 * The other processes: how they are started, confined, spoken to, and replaced when they die.
 *
 * Sides: daemon calls the upper half, `perfcam helper ROLE` (a process of its own, started by
 * re-executing this binary) the lower half. Between them a SOCK_SEQPACKET pair: packets of at most
 * CAM_ERRAND_MAX_BYTES, at most one descriptor beside each. What a packet means is not known here.
 * Thread: one (daemon's ingest thread); the socket does not block.
 * Refusals: send(): -EAGAIN (the socket is full), -EPIPE (it died: start another).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cam_helper_role {
	CAM_HELPER_OPENER,     /* reads /proc, opens files; keeps those capabilities */
	CAM_HELPER_SYMBOLISER, /* no capabilities, no paths, seccomp */
	CAM_HELPER_SEALER,     /* store only, niced */
	CAM_HELPER_ROLES,
};

const char *cam_helper_role_name(enum cam_helper_role role);

struct cam_helper {
	pid_t pid;  /* 0: not running */
	int pidfd;  /* readable when it has ended */
	int socket; /* recorder's end, non-blocking; -1 */
};

/*
 * Starts `/proc/self/exe helper ROLE args…` with its end of the socket as descriptor 3, extra_fd
 * (or -1) as 4, stdin and stdout /dev/null, stderr kept, all else closed; niced unless it is the
 * opener; killed with its parent. args: NULL-terminated, may be NULL.
 */
int cam_helper_start(struct cam_helper *h, enum cam_helper_role role, int extra_fd,
		     const char *const *args);
/* Kills (if it still runs) and reaps without waiting long: a process that cannot die is left to
 * init and counted by the answer -EBUSY. *status as of waitpid(); may be NULL. */
int cam_helper_stop(struct cam_helper *h, int *status);
/* Reaps if it has ended: 1, and *status; 0: still runs. */
int cam_helper_poll(struct cam_helper *h, int *status);

int cam_packet_send(int socket, const void *bytes, size_t n, int fd);
/* Bytes received; 0: the other end is closed; -EAGAIN: none now; -EMSGSIZE: cut, dropped. *fd is -1 or a
 * descriptor that is the caller's (close-on-exec). */
ssize_t cam_packet_receive(int socket, void *bytes, size_t room, int *fd);

/* The lower half: called by the helper itself before it touches anything foreign. */
enum cam_confinement {
	CAM_CONFINE_OPENER = 1, /* drop all but its four capabilities; no network, no exec */
	CAM_CONFINE_SYMBOLISER, /* seccomp: read, pread, recvmsg, sendmsg, memory, exit; 256 MiB */
	CAM_CONFINE_SEALER,	/* seccomp: read and write of its descriptors, memory, exit */
};
int cam_confine(enum cam_confinement what);
