// SPDX-License-Identifier: Apache-2.0
/*
 * The other processes: how they are started, confined, spoken to, and replaced when they die.
 *
 * Sides: daemon calls the upper half, `perfcam helper ROLE` (a process of its own, started by
 * re-executing this binary) the lower half. Between them a SOCK_SEQPACKET pair: packets of at most
 * CAM_ERRAND_MAX_BYTES, at most one descriptor beside each. What a packet means is not known here.
 * Thread: one (daemon's ingest thread), and it must live as long as the helpers it started: they are
 * killed when it ends, not only when the process does. The recorder's end of the socket does not
 * block, the helper's does.
 * Refusals: send(): -EAGAIN (the socket is full), -EPIPE (it died: start another).
 */
#pragma once
#include "base/packet.h" /* how both sides speak */

#define CAM_FETCH_MAX_BYTES  (2ull << 30)
#define CAM_SYMBOLISER_BYTES (256ull << 20) /* private and writable: what it allocates */

#include <stdbool.h>
#include <sys/types.h>

enum cam_helper_role {
	CAM_HELPER_OPENER,     /* reads /proc, opens files; keeps those capabilities */
	CAM_HELPER_SYMBOLISER, /* no capabilities, no paths, seccomp */
	CAM_HELPER_SEALER,     /* store only */
	CAM_HELPER_FETCHER,    /* the network, and a file to write to */
	CAM_HELPER_JOURNAL,    /* reads systemd's journal, and nothing else */
	CAM_HELPER_ROLES,
};

const char *cam_helper_role_name(enum cam_helper_role role);

struct cam_helper {
	pid_t pid;  /* 0: not running */
	int pidfd;  /* readable when it has ended */
	int socket; /* recorder's end, non-blocking; -1 */
};

#define CAM_HELPER_NONE ((struct cam_helper){0, -1, -1})

/*
 * Takes all numbers of descriptors that are free below CAM_HELPER_FDS, so that no file of somebody else's gets one
 * (helper.c): the recorder calls it before it opens anything, and each start of a helper again. Not where fewer than
 * CAM_HELPER_FEW_FILES may be open: there, and where the kernel or a filter refuses close_range(2), the start of a helper
 * may wait for a file system that hangs.
 */
void cam_helper_reserve(void);
#define CAM_HELPER_FDS	     64u
#define CAM_HELPER_FEW_FILES 1024u

/*
 * Starts `/proc/self/exe helper ROLE args…` with its end of the socket as descriptor 3, extra_fd
 * (or -1) as 4, stdin and stdout /dev/null, stderr kept (but by the opener), all else closed;
 * killed with its parent; in a session of its
 * own, so that an interrupt at the terminal does not reach it. args: NULL-terminated, at most 16, may
 * be NULL. -ENOBUFS: the system (net.core.wmem_max) allows no packet of CAM_ERRAND_MAX_BYTES.
 */
int cam_helper_start(struct cam_helper *h, enum cam_helper_role role, int extra_fd,
		     const char *const *args);
/* Kills (if it still runs), reaps without waiting long (200 ms), closes the socket: a process that
 * cannot die is left behind, and counted by the answer -EBUSY. *status as of waitpid(); may be NULL. */
int cam_helper_stop(struct cam_helper *h, int *status);
/* Reaps if it has ended: 1, and *status; 0: still runs. The socket stays, so that its last answers
 * can be read, until cam_helper_stop(). */
int cam_helper_poll(struct cam_helper *h, int *status);

/* The lower half, first of all: niced (the sealer is also SCHED_BATCH, its I/O idle). Not before it executes: whoever started
 * it stands still until then, and would wait as one that is niced does. Where it is refused the helper runs all the same. */
void cam_helper_be_polite(enum cam_helper_role role);
/*
 * Called by the helper itself, once, before it touches anything foreign and before it
 * starts threads. Started as root, symboliser, sealer and fetcher also change to the user perfcam, else nobody;
 * the symboliser's root directory is empty. Afterwards no file can be opened (but by the opener,
 * for reading), so do first what needs one; leave by _exit(), since what libraries do at exit() may be
 * forbidden. 0, or: -EOPNOTSUPP, the kernel has no seccomp, the rest is done: the caller decides; any
 * other: go no further.
 */
enum cam_confinement {
	CAM_CONFINE_OPENER = 1, /* drop all but its four capabilities; no network, no exec */
	CAM_CONFINE_SYMBOLISER, /* seccomp: read, pread, recvmsg, sendmsg, memory, exit; 256 MiB,
				 * 64 descriptors, 60 s of CPU (then SIGXCPU: replace it) */
	CAM_CONFINE_SEALER,	/* seccomp: read and write of its descriptors, memory, exit */
	CAM_CONFINE_JAVA, /* drop all but what becoming another user in other namespaces takes;
			   * no network, no exec */
	CAM_CONFINE_FETCHER, /* no capabilities; reads files, writes none but descriptors it has; no exec;
			      * CAM_FETCH_MAX_BYTES a file, 1 GiB of memory, 120 s of CPU */
	CAM_CONFINE_SERVER,   /* through cam_confine_server() alone */
	CAM_CONFINE_JOURNAL,  /* through cam_confine_journal() alone */
	CAM_CONFINE_IMPORTER, /* through cam_confine_importer() alone */
};
int cam_confine(enum cam_confinement what);
/*
 * For the process that answers HTTP, once it listens and has dropped its privileges, before its threads
 * start: it can read files below those directories, accept connections, speak to Unix sockets, and no more; it has
 * 448 MiB of memory, stacks of threads included. Answers as above.
 */
int cam_confine_server(const int *readable, size_t n);
/* For who reads systemd's journal, once that is open: files below these directories, whoever may read them, and no
 * network, exec or writing. Answers as above. */
int cam_confine_journal(const int *directories, size_t n);
/*
 * For a program that a rule names, where it cannot be another user's: it can write, make and remove no file and look into no
 * process of this user outside of it, nor signal one where the kernel can forbid that (Linux 6.12). -EOPNOTSUPP: there is no Landlock.
 */
int cam_confine_hook(void);
/*
 * For who reads a file that somebody sent: it can read, write and make files below that directory, and no more: no other
 * file, no network, no other process; it has CAM_IMPORTER_BYTES of memory and 60 s of CPU, then SIGXCPU. Answers as
 * above.
 */
#define CAM_IMPORTER_BYTES (384ull << 20)
int cam_confine_importer(int directory);
/* Whether the kernel has Landlock. Without it there is no such confinement. */
bool cam_confine_has_landlock(void);
