// SPDX-License-Identifier: Apache-2.0
/*
 * The opener: the process that reads /proc/PID and opens files, so that the recorder never does.
 *
 * How daemon uses it: cam_helper_start(OPENER); in the child, `perfcam helper opener`:
 *	err = cam_confine(CAM_CONFINE_OPENER);	-EOPNOTSUPP: may go on, any other: stop
 *	err = cam_opener_run(3, -1);
 *	_exit(err ? 1 : 0);			not exit(): a thread may be stuck for ever
 * The recorder then sends packed errands (PROCESS, THREAD, FILE, JIT, DEBUG, KALLSYMS) and gets packed tidings, in
 * any order, each errand answered exactly once (a PROCESS by several packets, `more` in all but the
 * last), within CAM_OPENER_GIVE_UP_MS and a little. A FILE, JIT, DEBUG or KALLSYMS without an error comes with its
 * descriptor. Nothing is sent that was not asked for.
 *
 * An errand can hang for ever. It delays others by at most about CAM_OPENER_SLOW_MS, is answered with
 * -ETIMEDOUT, and its thread is left behind and replaced; while that hangs, files of its device (or
 * that process, if its memory map is what hangs) are refused with -ETIMEDOUT, untried; when it comes
 * back they are tried again. After CAM_OPENER_MAX_STUCK no more threads are replaced: once the last
 * is stuck everything is refused. An opener with a stuck thread cannot be killed:
 * cam_helper_stop() answers -EBUSY and leaves it behind.
 */
#pragma once

enum {
	CAM_OPENER_WORKERS = 4,
	CAM_OPENER_MAX_STUCK = 8,
	CAM_OPENER_SLOW_MS = 50,
	CAM_OPENER_GIVE_UP_MS = 1500, /* below the recorder's own patience */
	CAM_OPENER_MAX_QUEUE = 256,   /* then it stops reading, and the recorder gets -EAGAIN */
};

/* java: a socket of who asks JVMs (java.h); -1: nobody does.
 * Until the other end of the socket closes: 0. -EBUSY: it closed, and threads are left behind; their
 * memory is not freed. Or why it could not begin. */
int cam_opener_run(int socket, int java);
