// SPDX-License-Identifier: Apache-2.0
/*
 * Sees to it that connections come to an end: who sends a byte now and then, or takes one now and then, is never idle, and
 * would hold a place for ever. Each connection has a moment by which it must have come further; past it its socket is
 * shut down, and whoever serves it finds it closed.
 *
 * Thread: any; one of its own looks once a second, from cam_minder_start() on.
 */
#pragma once

struct cam_minder;
struct cam_minded;

/* -ENOMEM. */
int cam_minder_new(struct cam_minder **out);
/* -EAGAIN: no thread. */
int cam_minder_start(struct cam_minder *m);
void cam_minder_free(struct cam_minder *m);

/* From now on, until it is left, and the socket stays open so long. NULL: there are too many, and it is not looked at. */
struct cam_minded *cam_minder_join(struct cam_minder *m, int socket, unsigned seconds);
/* So much time from now on; 0: as much as it takes. w may be NULL. */
void cam_minder_allow(struct cam_minder *m, struct cam_minded *w, unsigned seconds);
void cam_minder_leave(struct cam_minder *m, struct cam_minded *w);
