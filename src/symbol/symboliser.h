// SPDX-License-Identifier: Apache-2.0
/*
 * The symboliser: answers CAM_ERRAND_NAMES and _TABLE (model/errand.h) from descriptors that come with
 * them, CAM_ERRAND_OUTLINE from the head of such a file, and CAM_ERRAND_UNWIND from the tables it has made.
 *
 * A process of its own (`perfcam helper symboliser`), because what it parses was made by strangers:
 * it opens no path, holds no privilege, and may die at any time without losing more than names.
 *   file CAM_FILE_KERNEL: a descriptor beside the errand is /proc/kallsyms, read anew; without one
 *     the last is used. -ENODATA: none was given yet (this process was just started).
 *   file CAM_FILE_VDSO: from this process's own image; a descriptor beside it is ignored.
 *   other files: a descriptor of the file comes with every errand (-EBADF: it did not). Maps of code
 *     made at run time (format) are read on with each errand, also with one without offsets.
 * Each offset asked for is answered once, in one packet or several (`more`); one without a name has
 * CAM_NAME_NONE, and the start of its function where .eh_frame_hdr knows that, else itself. Where the file has DWARF
 * a name comes with source lines and what is inlined there; the function itself is called as .symtab calls it, its own or
 * that of the debug file, which is believed only if it is this file's, as is the supplement (companion.h). A table
 * goes out in pieces and is kept, packed, by its file's number, until FORGET; the least recently used
 * make room. A file that cannot be read is answered by an error and costs no other its names.
 * An errand's work is bounded: an honest one takes milliseconds, the worst a few seconds. Before the process has used up
 * the CPU time it is allowed it ends by itself, between two errands.
 */
#pragma once
#include "base/packet.h"
#include "model/errand.h"

#define CAM_SYMBOLISER_IDLE_MS 30000
/* Together with code made at run time (jit_cache.h) more than the process may have: when memory is short, what can be
 * read again goes. */
#define CAM_SYMBOLISER_CACHE_BYTES (48u << 20)
#define CAM_SYMBOLISER_DWARF_BYTES (48u << 20)
#define CAM_SYMBOLISER_TABLE_BYTES (48u << 20)

struct cam_symboliser;

/* Copies the vdso: call it before confinement. */
struct cam_symboliser *cam_symboliser_new(void);
void cam_symboliser_free(struct cam_symboliser *s);

/* Where answers go; 0, or why no more can be sent. */
typedef int cam_symboliser_send_fn(void *arg, const void *packet, size_t bytes);

/* Answers one packet. fd (or -1) stays the caller's. -EBADMSG: the packet is no errand; other
 * errors are send's. Errands of others are answered by -EINVAL. */
int cam_symboliser_answer(struct cam_symboliser *s, const void *packet, size_t bytes, int fd,
			  cam_symboliser_send_fn *send, void *arg);
/* The same with all descriptors that came along: the file, its debug file, the supplement (model/errand.h); -1: none. */
int cam_symboliser_answer_with(struct cam_symboliser *s, const void *packet, size_t bytes,
			       const int fds[CAM_PACKET_FDS], cam_symboliser_send_fn *send,
			       void *arg);

/*
 * The process's main loop, over a SOCK_SEQPACKET socket. `confine` (a wrapper of room helper's
 * cam_confine(); NULL in tests) is called after the vdso was copied and before the first packet is
 * read; system calls made after it: poll, recvmsg, sendmsg, pread64, fstat, close, the allocator's.
 * 0: no work for idle_ms (CAM_SYMBOLISER_IDLE_MS), or the other end closed; else why it could not
 * go on.
 */
int cam_symboliser_run(int socket, int idle_ms, int (*confine)(void));
