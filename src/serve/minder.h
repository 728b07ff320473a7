// SPDX-License-Identifier: Apache-2.0
/*
 * Sees to it that connections come to an end: who sends a byte now and then, or takes one now and then, is never idle, and
 * would hold a place for ever. Each connection has a moment by which it must have come further; past it its socket is
 * shut down, and whoever serves it finds it closed. Where there are many, a new one takes the place of that which has waited longest
 * for a request to come: who asks at once is heard, however many say nothing.
 *
 * Thread: any; one of its own looks once a second, from cam_minder_start() on.
 */
#pragma once

#define CAM_MINDER_KEPT 64u  /* so many stay where all but the new one wait */
#define CAM_MINDER_MOST 128u /* those included that are about to leave */

struct cam_minder;
struct cam_minded;

/* -ENOMEM. */
int cam_minder_new(struct cam_minder **out);
/* -EAGAIN: no thread. */
int cam_minder_start(struct cam_minder *m);
void cam_minder_free(struct cam_minder *m);

/* From now on, waiting for a request, until it is left; the socket stays open so long. NULL: there are too many, and it is not looked at. */
struct cam_minded *cam_minder_join(struct cam_minder *m, int socket, unsigned seconds);
/* So much time from now on; 0: as much as it takes. w may be NULL. */
void cam_minder_allow(struct cam_minder *m, struct cam_minded *w, unsigned seconds);
/* As well; and it waits for the next request. */
void cam_minder_await(struct cam_minder *m, struct cam_minded *w, unsigned seconds);
void cam_minder_leave(struct cam_minder *m, struct cam_minded *w);
