// SPDX-License-Identifier: Apache-2.0
/*
 * The symboliser: answers CAM_ERRAND_NAMES (model/errand.h) from descriptors that come with them.
 *
 * A process of its own (`perfcam helper symboliser`), because what it parses was made by strangers:
 * it opens no path, holds no privilege, and may die at any time without losing more than names.
 *   file CAM_FILE_KERNEL: a descriptor beside the errand is /proc/kallsyms, read anew; without one
 *     the last is used. -ENODATA: none was given yet (this process was just started).
 *   file CAM_FILE_VDSO: from this process's own image; a descriptor beside it is ignored.
 *   other files: a descriptor of the file comes with every errand (-EBADF: it did not).
 * Each offset asked for is answered once, in one packet or several (`more`); one without a name has
 * CAM_NAME_NONE. A file that cannot be read is answered by an error and costs no other its names.
 * An errand's work is bounded: an honest one takes milliseconds, the worst a few seconds.
 */
#pragma once
#include "model/errand.h"

#include <sys/types.h>

#define CAM_SYMBOLISER_IDLE_MS	   30000
#define CAM_SYMBOLISER_CACHE_BYTES (96u << 20)

struct cam_symboliser;

/* Copies the vdso: call it before confinement. */
struct cam_symboliser *cam_symboliser_new(void);
void cam_symboliser_free(struct cam_symboliser *s);

/* Where answers go; 0, or why no more can be sent. */
typedef int cam_symboliser_send_fn(void *arg, const void *packet, size_t bytes);

/* Answers one packet. fd (or -1) stays the caller's. -EBADMSG: the packet is no errand; other
 * errors are send's. Errands other than NAMES are answered by -EINVAL. */
int cam_symboliser_answer(struct cam_symboliser *s, const void *packet, size_t bytes, int fd,
			  cam_symboliser_send_fn *send, void *arg);

/*
 * The process's main loop, over a SOCK_SEQPACKET socket. How packets travel and how a process is
 * confined is room helper's: cam_packet_receive(), cam_packet_send(), and a wrapper of cam_confine()
 * are handed in. Confinement comes after the vdso was copied and before the first packet is read.
 * System calls made after it: poll, recvmsg, sendmsg, pread64, fstat (newfstatat with an empty
 * path), close, and the allocator's.
 * 0: idle for idle_ms, or the other end closed; else why it could not go on.
 */
struct cam_symboliser_post {
	int socket;
	int idle_ms; /* CAM_SYMBOLISER_IDLE_MS */
	ssize_t (*receive)(int socket, void *bytes, size_t room, int *fd);
	int (*send)(int socket, const void *bytes, size_t n, int fd);
	int (*confine)(void); /* NULL: not confined (tests) */
};

int cam_symboliser_run(const struct cam_symboliser_post *post);
